"""Problems and sets of trials beside the paper's, which extensions add: what they state of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from worldprobe.extensions import additions


@dataclass(frozen=True)
class SetPlan:
    """Composition of a set.

    Attributes:
        name: as in the command.
        stream: what its tuples are drawn from; sets of one stream share their beginning.
        use: which skins.
        problems: which problems.
        sizes: numbers of entities.
        per_cell: tuples of each block (problem, size, complexity, skin, wording), that is, rounds.
        spread: tuples by which neighbouring skins are apart in the list of abstract tuples.
        complexities: which complexities; all where it is empty.
    """

    name: str
    stream: str
    use: str
    problems: tuple[str, ...]
    sizes: tuple[int, ...]
    per_cell: int
    spread: int
    complexities: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProblemFamily:
    """Problems that a computation has chosen, and their sets.

    Attributes:
        name: how names of its sets end.
        titles: name of each problem -> how tables call it.
        chosen: file of the abstract problems, CSV.
        complexities: of descriptions.
        plans: its sets.
        n_trials: of its whole test set.
        note: what a table of problems says of it.
        arities: arguments of a query.
        control: the problem among them that needs no reasoning; "": there is none.
        control_asks: what that one asks.
        is_moving: worlds change; complexity is then the number of updates.
    """

    name: str
    titles: Mapping[str, str]
    chosen: Path
    complexities: tuple[int, ...]
    plans: tuple[SetPlan, ...]
    n_trials: int
    note: str
    arities: tuple[int, ...] = (2, 3)
    control: str = ""
    control_asks: str = ""
    is_moving: bool = False

    @property
    def problems(self) -> tuple[str, ...]:
        """Names of the problems, in the order of tables."""
        return tuple(self.titles)


@cache
def problem_families() -> tuple[ProblemFamily, ...]:
    """The families that extensions add."""
    return tuple(additions("worldsense.problem_families"))
