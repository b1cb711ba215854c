"""Rendering: abstract problems as text, in the words of a skin (paper, Section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from worldprobe.benchmarks.worldsense.problems.worlds import Relation
from worldprobe.benchmarks.worldsense.skins.skins import Skin
from worldprobe.benchmarks.worldsense.skins.vocabulary import problem_type

NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def render_clause(relation: Relation, names: Sequence[str], skin: Skin, flip: bool) -> str:
    """One relation as a clause.

    Args:
        relation: any relation; entity i is called ``names[i]``, the unknown one ``names[-1]``.
        names: the entities' names by index, and one name more.
        skin: the words.
        flip: binary: say it by the converse; ternary and planar: exchange the interchangeable entities.
    """
    kind, entities = relation
    if kind in ("before", "foreign"):
        a, b = names[entities[0]], names[entities[1]]
        clauses = skin.clauses if kind == "before" else skin.foreign
        return _fill(clauses["after"], b, a) if flip else _fill(clauses["before"], a, b)
    if kind == "between":
        m, a, b = names[entities[0]], names[entities[1]], names[entities[2]]
        return _fill(skin.clauses["between"], b, a, m) if flip else _fill(skin.clauses["between"], a, b, m)
    if kind in ("first", "last"):
        return skin.clauses[kind].format(x=names[entities[0]])
    return _fill(skin.clauses[kind], names[entities[flip]], names[entities[not flip]])


@lru_cache(maxsize=1 << 17)
def _fill(clause: str, x: str, y: str, m: str = "") -> str:
    return clause.format(x=x, y=y, m=m)


def render_opposite(relation: Relation, names: Sequence[str], skin: Skin, flip: bool) -> str:
    """What contradicts ``render_clause`` of the same arguments: the converse of the same subject, or "outside of"."""
    kind, entities = relation
    if kind in ("before", "foreign"):
        a, b = names[entities[0]], names[entities[1]]
        clauses = skin.clauses if kind == "before" else skin.foreign
        return _fill(clauses["before"], b, a) if flip else _fill(clauses["after"], a, b)
    if kind != "between":
        raise ValueError(f"a {kind} relation has no opposite in words")
    m, a, b = (names[e] for e in entities)
    return _fill(skin.clauses["outside"], b, a, m) if flip else _fill(skin.clauses["outside"], a, b, m)


def render_description(clauses: Sequence[str], size: int, skin: Skin) -> str:
    """The situation and its clauses as one sentence."""
    situation = skin.situation.format(number=NUMBERS[size])
    listed = ", ".join(clauses[:-1])
    return f"{situation}: {listed}{' and ' if listed else ''}{clauses[-1]}."


def render_listing(names: Sequence[str], skin: Skin) -> str:
    """The entities as a list in their order, for Infer.trivial."""
    situation = skin.situation.format(number=NUMBERS[len(names)])
    return f"{situation}. {skin.listing}:\n" + "\n".join(f"- {name}" for name in names)


def render_question(problem: str, wording: str, skin: Skin, description: str, query: str, opposite: str) -> str:
    """The whole text that a model reads."""
    return skin.questions[problem_type(problem)][wording].format(description=description, query=query, opposite=opposite)
