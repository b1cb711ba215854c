"""Lessons in reading: descriptions in the words of skins, and what follows from them (docs/worldsense.md, "A model that reads").

A small model is trained on them before it is fine-tuned. No lesson contains a question of the benchmark or one of its answers:

* ``retell``: the description's own clauses once more, in another order. It teaches to find a name again.
* ``order``: the entities in their order. It teaches which of two is first.
* ``judge``: statements, each with true, false, or open (where the description does not decide it).
* ``listed``: the same about entities that are listed in their order.

Relations and entities are those of all skins, as a language model knows the words of a test. The sentence that begins a
description is always a training skin's: so no lesson contains a description of a test.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from worldprobe.benchmarks.worldsense.problems import base_descriptions, incomplete_descriptions
from worldprobe.benchmarks.worldsense.render import NUMBERS, render_clause
from worldprobe.benchmarks.worldsense.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.solver import decide
from worldprobe.benchmarks.worldsense.worlds import UNKNOWN, Description, Relation, before, between

Kind = Literal["retell", "order", "judge", "listed"]
KINDS: tuple[Kind, ...] = ("retell", "order", "judge", "listed")
#: Complexities as the problems have them (specification, Section 2); incomplete: descriptions that leave several worlds.
COMPLEXITIES = ("0", "1", "2", "incomplete")
FEWEST, MOST = 2, 8
NUMBER_WORDS = {2: "two", **NUMBERS}


@dataclass(frozen=True)
class LessonPlan:
    """What lessons are drawn.

    Attributes:
        kinds: kind -> share of the lessons; the shares' sum need not be 1.
        sizes: numbers of entities, each as often.
        complexities: of descriptions, each as often; with two entities there is 0 only.
        statements: statements of a lesson that judges.
        ternary: share of the statements that have three entities.
        unknown: share of the statements that are about an entity which the description does not mention, drawn anew for each.
        extremes: share of the others that say who is first or last of all, where there are three entities or more.
        converse: share of all clauses that are put by the converse, in descriptions and statements.
        borrowed: share of the lessons whose entities come from all skins.
        quoted: share of the lessons that quote statements, with the verdict behind ``Answer:`` instead of a colon.
    """

    kinds: tuple[tuple[Kind, float], ...]
    sizes: tuple[int, ...]
    complexities: tuple[str, ...] = ("0",)
    statements: int = 5
    ternary: float = 0.35
    unknown: float = 0.3
    extremes: float = 0.05
    converse: float = 0.5
    borrowed: float = 0.5
    quoted: float = 0.0


#: A lesson: texts, and whether each is what the model is to say.
ReadingLesson = list[tuple[str, bool]]


def draw_lessons(plan: LessonPlan, skins: Sequence[Skin], number: int, seed: int) -> Iterator[ReadingLesson]:
    """Lessons of a plan; the first of more lessons are the same.

    Args:
        plan: what is drawn.
        skins: whose words and entities; some of them are for training.
        number: how many.
        seed: of all draws.
    """
    rng = random.Random(seed)
    pool = sorted({entity for skin in skins for entity in skin.entities})
    situations = sorted(skin.situation for skin in skins if skin.use == "train")
    kinds, weights = zip(*plan.kinds, strict=True)
    for _ in range(number):
        skin, size = rng.choice(skins), rng.choice(plan.sizes)
        kind = rng.choices(kinds, weights)[0]
        complexity = rng.choice([one for one in plan.complexities if kind == "judge" or one != "incomplete"] or ["0"])
        entities = pool if rng.random() < plan.borrowed else skin.entities
        # One entity that is not described would soon be an old acquaintance, so there are as many as statements where possible.
        names = rng.sample(entities, min(len(entities), max(entities_needed(size), size + plan.statements)))
        yield _draw(rng, plan, kind, size, complexity, names, skin, rng.choice(situations))


def write_lesson(lesson: ReadingLesson, name: str, canary: str) -> str:
    """A lesson as a line of JSON: a dialogue whose answers all count, and that is read as plain text."""
    messages = [{"role": "assistant" if is_answer else "user", "content": text} for text, is_answer in lesson]
    return json.dumps({"id": name, "plain": True, "messages": messages, "canary": canary}, ensure_ascii=False)


def _draw(
    rng: random.Random,
    plan: LessonPlan,
    kind: Kind,
    size: int,
    complexity: str,
    names: Sequence[str],
    skin: Skin,
    situation: str,
) -> ReadingLesson:
    description = rng.choice(_descriptions(size, complexity))
    stated = rng.sample(description, len(description))
    clauses = [render_clause(relation, names[:size], skin, rng.random() < plan.converse) for relation in stated]
    begun = ", ".join(clauses[:-1])
    opening = situation.format(number=NUMBER_WORDS[size])
    told = f"{opening}: {begun}{' and ' if begun else ''}{clauses[-1]}."
    if kind == "order":
        lesson: ReadingLesson = [(f"{told} {skin.listing}:\n-", False), (names[0], True)]
        for name in names[1:size]:
            lesson += [("\n-", False), (name, True)]
        return lesson
    if kind == "retell":
        lesson = []
        for place, clause in enumerate(rng.sample(clauses, len(clauses))):
            known, asked = _cut_behind_name(clause, names[:size])
            lesson += [(f"{',' if place else told} {known}", False), (asked, True)]
        return lesson
    if kind == "listed":
        description = _descriptions(size, "0")[0]
        told = "\n- ".join((f"{opening}. {skin.listing}:", *names[:size]))
    lesson = []
    begin, end = ("‘", "’\nAnswer:") if rng.random() < plan.quoted else ("", ":")
    for place in range(plan.statements):
        query, verdict = _statement(rng, plan, size, description)
        named = [*names[:size], rng.choice(names[size:])]
        clause = render_clause(query, named, skin, rng.random() < plan.converse)
        lesson += [(f"{'' if place else told}\n{begin}{clause}{end}", False), (verdict, True)]
    return lesson


def _statement(rng: random.Random, plan: LessonPlan, size: int, description: Description) -> tuple[Relation, str]:
    """A statement about a description, and what is to be said of it."""
    if size > 2 and rng.random() < plan.ternary:
        query = between(*rng.sample(range(size), 3))
    else:
        query = before(*rng.sample(range(size), 2))
    if rng.random() < plan.unknown:
        entities = list(query.entities)
        entities[rng.randrange(len(entities))] = UNKNOWN
        return Relation(query.kind, tuple(entities)), "open"
    if size > 2 and rng.random() < plan.extremes:
        query = Relation(rng.choice(("first", "last")), (rng.choice((0, size - 1, rng.randrange(size))),))
    return query, {"all": "true", "none": "false", "some": "open"}[_decide(size, description, query)]


def _cut_behind_name(clause: str, names: Sequence[str]) -> tuple[str, str]:
    """A clause up to the first entity that it names, and the rest."""
    places = {clause.find(name): name for name in names if name in clause}
    first = min(places)
    end = first + len(max((name for name in names if clause.startswith(name, first)), key=len))
    return clause[:end], clause[end:].lstrip()


@cache
def _descriptions(size: int, complexity: str) -> tuple[Description, ...]:
    if size == 2:
        return ((before(0, 1),),)
    return incomplete_descriptions(size) if complexity == "incomplete" else base_descriptions(size, int(complexity))


@lru_cache(maxsize=1 << 16)
def _decide(size: int, description: Description, query: Relation) -> str:
    return decide(size, description, query)
