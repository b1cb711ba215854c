"""The rules that answer trials without a model: ours, and what extensions add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from worldprobe.extensions import additions

_SOLVERS = "worldprobe.benchmarks.worldsense.inference.reference_solvers"


@dataclass(frozen=True)
class KnownRule:
    """A rule that models are compared with.

    Attributes:
        name: checkpoint of its card; as a model it is called ``rule_NAME``.
        function: "module:attribute" of a function that answers a ``Statement`` and its text.
        meaning: what it does, for the report.
        baseline: how evaluations name it among their baselines; "": it is none, since it combines
            clauses or looks at none.
        learns: it makes the function from the skins of the trials instead.
    """

    name: str
    function: str
    meaning: str
    baseline: str = ""
    learns: bool = False

    @property
    def model(self) -> str:
        """Its id as a model."""
        return f"rule_{self.name}"


_OWN = (
    KnownRule("solver", f"{_SOLVERS}:answer_exactly", "reads the text; must always be right."),
    KnownRule("random", f"{_SOLVERS}:draw", "answers at random; must be at chance."),
    KnownRule(
        "positive",
        f"{_SOLVERS}:affirm",
        "always answers TRUE, POSSIBLE or 1; must be at chance.",
    ),
    KnownRule(
        "mention", f"{_SOLVERS}:believe_mention", "shows what the order of mention gives away."
    ),
    KnownRule("query", f"{_SOLVERS}:read_query", "shows what the question alone gives away."),
    KnownRule(
        "counting",
        f"{_SOLVERS}:count_mentions",
        "counts mentions and matches single clauses, without combining two.",
        baseline="Counting (rule)",
    ),
)


@cache
def known_rules() -> Mapping[str, KnownRule]:
    """Name of a rule -> the rule. Baselines: a model must beat the first of them."""
    return {rule.name: rule for rule in (*_OWN, *additions("worldsense.rules"))}


def baseline_rules() -> list[KnownRule]:
    """Those that chain no clauses."""
    return [rule for rule in known_rules().values() if rule.baseline]
