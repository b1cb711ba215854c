"""What templates say about each other: repeated questions, sides exchanged, and contexts that call for what another rules out."""

from __future__ import annotations

import re

import pandas as pd

from worldprobe.benchmarks.ewok.materials.placeholders import KEY
from worldprobe.benchmarks.ewok.materials.problems import Place, Problems
from worldprobe.benchmarks.ewok.vocabulary import TEXTS

_COUPLE = re.compile(r"(\{[^}]*\}) and (\{[^}]*\})")


def check_templates(templates: pd.DataFrame, problems: Problems) -> None:
    """Warn of templates that contradict or repeat one another.

    Args:
        templates: a templates table, without missing texts.
        problems: where warnings go; they name template ids only.
    """
    asked: dict[tuple[str, ...], str] = {}
    fits: dict[tuple[str, ...], str] = {}
    clashes: dict[tuple[str, ...], str] = {}
    columns = [templates[column].tolist() for column in ("template_id", "domain", *TEXTS)]
    for template_id, domain, context1, context2, target1, target2 in zip(*columns, strict=True):
        for texts in ((context1, context2, target1, target2), (context2, context1, target2, target1)):
            first = asked.setdefault((domain, *texts), template_id)
            if first != template_id:
                _warn(problems, template_id, f"asks the same as {first}, perhaps with its two sides exchanged.")
        for book, pairs in (
            (fits, ((context1, target1), (context2, target2))),
            (clashes, ((context1, target2), (context2, target1))),
        ):
            for context, target in pairs:
                book.setdefault(impersonal(context, target), template_id)
    for pair in fits.keys() & clashes.keys():
        fitting, clashing = fits[pair], clashes[pair]
        problem = f"rules out a target after a context that calls for it in {fitting}: the sides of one of them are exchanged."
        if fitting == clashing:
            problem = "rules out a target after the context that calls for it: its two sides say the same."
        _warn(problems, clashing, problem)


def _warn(problems: Problems, template_id: str, problem: str) -> None:
    problems.warn(Place("templates", 0, template_id), problem, "Look at the contexts, and at symmetric, of these concepts.")


def impersonal(*texts: str) -> tuple[str, ...]:
    """The texts with their variables renumbered in the order in which they appear, and "X and Y" the same as "Y and X".

    >>> impersonal("{agent2} sees {agent1}", "{agent1} waves")
    ('{agent_0:} sees {agent_1:}', '{agent_1:} waves')
    """
    names: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        variable, _, restrictions = found[1].partition(":")
        return names.setdefault(variable, f"{{{variable.rstrip('0123456789')}_{len(names)}:{restrictions}}}")

    return tuple(KEY.sub(rename, _COUPLE.sub(lambda m: " and ".join(sorted(m.groups())), text)) for text in texts)
