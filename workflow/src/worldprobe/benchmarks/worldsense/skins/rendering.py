"""Abstract problems as text in the words of a skin (paper, Section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.skins.skins import FORMER_STORIES, Skin, StoryWords
from worldprobe.benchmarks.worldsense.skins.vocabulary import problem_type

NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
#: In place of the number, where an entity that is not described is asked about.
SEVERAL = "several"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
SEEN = "In the end, {clause}."
#: Everything that stories say whatever the skin, in any version.
STORY_TEXTS = (
    *(SEEN, *ORDINALS, *(f"{ordinal.capitalize()} change:" for ordinal in ORDINALS)),
    *(
        text.replace("{gloss}", gloss)
        for words in (StoryWords(), FORMER_STORIES)
        for gloss in ("", words.gloss)
        for text in (
            words.one,
            words.several,
            f"{words.label}:",
            *(text for texts in words.moments.values() for text in texts),
        )
    ),
)


def render_clause(relation: worlds.Relation, names: Sequence[str], skin: Skin, flip: bool) -> str:
    """One relation as a clause.

    Args:
        relation: any relation; entity i is called ``names[i]``, the unknown one ``names[-1]``.
        names: the entities' names by index, and one name more.
        skin: the words.
        flip: binary: say it by the converse; ternary and planar: exchange the interchangeable
            entities.
    """
    kind, entities = relation
    if kind in ("before", "foreign"):
        a, b = names[entities[0]], names[entities[1]]
        clauses = skin.clauses if kind == "before" else skin.foreign
        return _fill(clauses["after"], b, a) if flip else _fill(clauses["before"], a, b)
    if kind == "between":
        m, a, b = names[entities[0]], names[entities[1]], names[entities[2]]
        return (
            _fill(skin.clauses["between"], b, a, m)
            if flip
            else _fill(skin.clauses["between"], a, b, m)
        )
    if kind in ("first", "last"):
        return skin.clauses[kind].format(x=names[entities[0]])
    return _fill(skin.clauses[kind], names[entities[flip]], names[entities[not flip]])


@lru_cache(maxsize=1 << 17)
def _fill(clause: str, x: str, y: str, m: str = "") -> str:
    return clause.format(x=x, y=y, m=m)


def render_opposite(relation: worlds.Relation, names: Sequence[str], skin: Skin, flip: bool) -> str:
    """The contradiction of ``render_clause`` of the same arguments: the converse of the same
    subject, or "outside of".
    """
    kind, entities = relation
    if kind in ("before", "foreign"):
        a, b = names[entities[0]], names[entities[1]]
        clauses = skin.clauses if kind == "before" else skin.foreign
        return _fill(clauses["before"], b, a) if flip else _fill(clauses["after"], a, b)
    if kind != "between":
        raise ValueError(f"a {kind} relation has no opposite in words")
    m, a, b = (names[e] for e in entities)
    return (
        _fill(skin.clauses["outside"], b, a, m) if flip else _fill(skin.clauses["outside"], a, b, m)
    )


def render_description(
    clauses: Sequence[str], size: int, skin: Skin, is_counted: bool = True
) -> str:
    """The situation and its clauses as one sentence; ``is_counted``: with the number of
    entities.
    """
    situation = skin.situation.format(number=NUMBERS[size] if is_counted else SEVERAL)
    listed = ", ".join(clauses[:-1])
    return f"{situation}: {listed}{' and ' if listed else ''}{clauses[-1]}."


def render_story(
    described: str,
    changes: Sequence[worlds.Relation],
    names: Sequence[str],
    skin: Skin,
    seen: str,
    moment: str,
) -> str:
    """A description, what changes, and what is seen in the end or which moment is asked about.

    Args:
        described: the description.
        changes: the updates; nothing is added where there is none.
        names: the entities' names by index.
        skin: the words.
        seen: a clause; empty where a moment is asked about.
        moment: the sentence of ``render_moment``.
    """
    if not changes:
        return described
    words = skin.stories
    sentences = [
        skin.motion[kind].format(
            **{key: names[entity] for key, entity in zip("xy", entities, strict=False)}
        )
        for kind, entities in changes
    ]
    gloss = (
        words.gloss
        if words.is_always_glossed or any("directly" in change for change in sentences)
        else ""
    )
    number = ("", "two", *NUMBERS.values())[len(changes) - 1]
    introduced = (words.one if len(changes) == 1 else words.several).format(
        number=number, gloss=gloss
    )
    lines = [
        f"{label}: {change}."
        for label, change in zip(label_changes(len(changes), words), sentences, strict=True)
    ]
    return "\n".join([described, introduced, *lines, SEEN.format(clause=seen) if seen else moment])


def label_changes(n_changes: int, words: StoryWords) -> list[str]:
    """Names of the changes of a story."""
    return (
        [words.label]
        if n_changes == 1
        else [f"{ordinal.capitalize()} change" for ordinal in ORDINALS[:n_changes]]
    )


def render_moment(moment: worlds.Relation | None, n_changes: int, words: StoryWords) -> str:
    """The state that a question is about, in words."""
    number = 0 if moment is None else moment.entities[0]
    kind = (
        "after all"
        if moment is None
        else "before"
        if moment.kind == "at" and not number
        else moment.kind
    )
    return words.moments[kind][n_changes > 1].format(ordinal=ORDINALS[number - 1])


def render_listing(names: Sequence[str], skin: Skin) -> str:
    """The entities as a list in their order, for Infer.trivial."""
    situation = skin.situation.format(number=NUMBERS[len(names)])
    return f"{situation}. {skin.listing}:\n" + "\n".join(f"- {name}" for name in names)


def render_question(
    problem: str, wording: str, skin: Skin, description: str, query: str, opposite: str
) -> str:
    """The whole text that a model reads."""
    return skin.questions[problem_type(problem)][wording].format(
        description=description, query=query, opposite=opposite
    )


_KINDS: dict[str, worlds.Kind] = {"parallel": "parallel", "perpendicular": "perpendicular"}


def read_planar_text(
    text: str, entities: Sequence[str]
) -> tuple[worlds.Description, worlds.Relation]:
    """The description and the query of a question about lines, as its words state them.

    A relation is an entity's name, ``parallel`` or ``perpendicular``, and another entity's name, in
    this order; the query is the last one.

    Raises:
        ValueError: fewer than two relations are found, or words that belong to none.

    >>> read_planar_text(
    ...     "Ash Lane is parallel to Elm Lane."
    ...     " Is it true that Elm Lane is perpendicular to Ash Lane?",
    ...     ["Ash Lane", "Elm Lane"],
    ... )[1]
    Relation(kind='perpendicular', entities=(1, 0))
    """
    names = "|".join(re.escape(name) for name in sorted(entities, key=len, reverse=True))
    matches = re.findall(rf"(?<!\w)(?:({names})(?!\w)|(parallel|perpendicular)\b)", text)
    tokens = [name or kind for name, kind in matches]
    index = {name: number for number, name in enumerate(entities)}
    relations: list[worlds.Relation] = []
    n_kinds = 0
    position = 0
    while position < len(tokens):
        first, word, second = (*tokens[position : position + 3], "", "", "")[:3]
        if first in index and word in _KINDS and second in index and first != second:
            relations.append(worlds.Relation(_KINDS[word], (index[first], index[second])))
            position += 3
        else:
            n_kinds += first in _KINDS
            position += 1
    if len(relations) < 2 or n_kinds:
        raise ValueError(
            "the text does not state relations as 'A is parallel (perpendicular) to B'"
        )
    return tuple(relations[:-1]), relations[-1]
