"""Lessons in reading, which a small model learns before it is fine-tuned (docs/background/worldsense_training.md).

* ``copy``: a list of names and invented words, and parts of it once more. It teaches to find a word again.
* ``judge``: a description and statements about it, each with TRUE, FALSE or UNKNOWN behind it.
* ``asked``: the same with the benchmark's own questions and answers, as the model is asked later.

Entities are those of training skins. Relations are those of training skins, or invented: words that mean nothing, of which the
description alone says what they relate, and that two of them are each other's converse. So no lesson has a relation or an
entity of a test.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from worldprobe.benchmarks.worldsense.problems.problems import base_descriptions, incomplete_descriptions
from worldprobe.benchmarks.worldsense.problems.solver import decide
from worldprobe.benchmarks.worldsense.problems.worlds import UNKNOWN, Description, Relation, before, between
from worldprobe.benchmarks.worldsense.skins.rendering import NUMBERS, render_clause, render_opposite
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS, WORDINGS
from worldprobe.errors import UserError

ENTITIES, OTHERS = 12, 16
#: Words of lessons and of the prompt sets for small models that no skin contains.
OWN = ("two", "UNKNOWN", "Answer:", "to", "from")
#: Words that many skins share whatever their relation.
GRAMMAR = ("in between", "between", "exactly one of", "and", "not")
#: Invented words: more than there are tokens for them, so that each token is many words, and of either side of a relation.
N_INVENTED = 240
_BORDER = re.compile(
    r"\{\w+\}|[‘’]|\b("
    + "|".join((*GRAMMAR, *sorted({a for of in ANSWERS.values() for a in of}, key=len, reverse=True)))
    + r")\b"
)


def tokens_of(skins: Iterable[Skin]) -> dict[str, str]:
    """Every phrase of some skins and every invented word -> the token as which it is read.

    >>> from worldprobe.benchmarks.worldsense.skins.skins import read_skins
    >>> found = tokens_of(read_skins())
    >>> found["before"], found["is richer than"] in found, found["and"]
    ('before', False, 'and')
    """
    skins = list(skins)
    questions = {line for skin in skins for of in skin.questions.values() for text in of.values() for line in text.split("\n")}
    answers = {answer for of in ANSWERS.values() for answer in of}
    known = {*NUMBERS.values(), *OWN, *GRAMMAR, *answers, *pieces_of(questions)}
    for skin in skins:
        known |= set(pieces_of(words_of(skin))) if skin.use == "train" else set()
    found = {phrase: phrase for phrase in sorted(known)}
    for skin in skins:
        _share(found, skin.entities, "entity", ENTITIES)
        _share(found, dict.fromkeys(pieces_of(words_of(skin))), "word", OTHERS)
    for word in invented_words():
        _share(found, [word], "word", OTHERS)
    return found


def words_of(skin: Skin) -> list[str]:
    """Every text of a skin that is its own, but for its entities."""
    return [*skin.clauses.values(), *skin.foreign.values(), skin.situation, skin.listing]


@cache
def invented_words() -> tuple[str, ...]:
    """Words that mean nothing: three syllables of a consonant and a vowel, and an end that no English word has.

    >>> len(invented_words()), len(set(invented_words()))
    (240, 240)
    """
    rng = random.Random(0)
    found: dict[str, None] = {}
    while len(found) < N_INVENTED:
        found["".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)) + "zk"] = None
    return tuple(found)


def _share(found: dict[str, str], phrases: Iterable[str], kind: str, number: int) -> None:
    """Give phrases that have none a shared token, no two of them the same."""
    phrases = list(phrases)
    used = {found[phrase] for phrase in phrases if phrase in found}
    for phrase in phrases:
        if phrase in found:
            continue
        order = [f"{kind} {place}" for place in random.Random(phrase).sample(range(number), number)]
        found[phrase] = next((token for token in order if token not in used), order[0])
        used.add(found[phrase])


def pieces_of(texts: Iterable[str]) -> Iterator[str]:
    """The constant parts of texts."""
    for text in texts:
        for piece in _BORDER.split(text):
            if piece and piece.strip():
                yield piece.strip()


Kind = Literal["copy", "judge", "asked"]
KINDS: tuple[Kind, ...] = ("copy", "judge", "asked")
#: Complexities as the problems have them (specification, Section 2); incomplete: descriptions that leave several worlds.
COMPLEXITIES = ("0", "1", "2", "incomplete")
NUMBER_WORDS = {2: "two", **NUMBERS}
#: Words of a list that is copied, and how many parts of it are.
LISTED, PARTS = (2, 6), 6
VERDICTS = {"all": "TRUE", "none": "FALSE", "some": "UNKNOWN"}
#: How a ternary relation names its three entities.
TERNARY = (
    *("{m} %s between {x} and {y}", "{m} %s in between {x} and {y}", "{m} %s {x} and {y}", "{m} %s exactly one of {x} and {y}"),
    *("{m} %s in between {x} %s and {y} %s", "{m} %s {x} %s {y}", "%s {m} in between {x} and {y}"),
)


@dataclass(frozen=True)
class LessonPlan:
    """What lessons are drawn.

    Attributes:
        kinds: kind -> share of the lessons; the shares' sum need not be 1.
        sizes: numbers of entities, each as often.
        complexities: of descriptions, each as often; with two entities there is 0 only.
        statements: statements or questions of a lesson.
        ternary: share of the statements that have three entities.
        unknown: share of the statements that are about an entity which the description does not mention, drawn anew for each.
        converse: share of all clauses that are put by the converse, in descriptions and statements.
        changes: 1: with two entities, a statement may exchange them or be put by the converse, but not both; 2: both.
        indirect: with three entities or more, share of the statements about neighbors in the order that are drawn again, until
            they are about others: most descriptions state how neighbors stand.
        invented: share of the lessons whose relation is invented.
    """

    kinds: tuple[tuple[Kind, float], ...]
    sizes: tuple[int, ...]
    complexities: tuple[str, ...] = ("0",)
    statements: int = 5
    ternary: float = 0.35
    unknown: float = 0.3
    converse: float = 0.5
    changes: int = 2
    indirect: float = 0.0
    invented: float = 0.0


#: A lesson: texts, and whether each is what the model is to say.
ReadingLesson = list[tuple[str, bool]]


def draw_lessons(plan: LessonPlan, skins: Sequence[Skin], number: int, seed: int) -> Iterator[ReadingLesson]:
    """Lessons of a plan; the first of more lessons are the same.

    Args:
        plan: what is drawn.
        skins: those for training lend their words and entities.
        number: how many.
        seed: of all draws.
    """
    rng = random.Random(seed)
    training = [skin for skin in skins if skin.use == "train"]
    tokens = tokens_of(skins)
    kinds, weights = zip(*plan.kinds, strict=True)
    for _ in range(number):
        skin, size = rng.choice(training), rng.choice(plan.sizes)
        if rng.random() < plan.invented:
            skin = invent_skin(rng, skin, tokens, is_varied=size > 2)
        kind = rng.choices(kinds, weights)[0]
        # One entity that is not described would soon be an old acquaintance, so there are as many as statements where possible.
        names = rng.sample(skin.entities, min(len(skin.entities), max(entities_needed(size), size + plan.statements)))
        yield _copied(rng, skin, tokens) if kind == "copy" else _told(rng, plan, kind == "asked", size, names, skin)


def invent_skin(rng: random.Random, skin: Skin, tokens: dict[str, str], is_varied: bool) -> Skin:
    """A skin with another's entities and questions, and invented words for everything else, no two of them the same token.

    Varied: some clauses begin with a word, as "Bob visited {x} before {y}" does.
    """
    words: dict[str, str] = {}
    while len(words) < 8:
        word = rng.choice(invented_words())
        words.setdefault(tokens[word], word)
    one, other, begin, end, *more = words.values()
    ternary = rng.choice(TERNARY)
    ternary = ternary % tuple(more[: ternary.count("%s")])
    opening = f"{begin} " if is_varied and rng.random() < 0.3 else ""
    clauses = {
        "before": f"{opening}{{x}} {one} {{y}}",
        "after": f"{opening}{{x}} {other} {{y}}",
        "between": opening + ternary,
        "outside": opening + ternary.replace("{m}", "{m} not", 1),
    }
    return replace(skin, name="invented", situation=f"{begin} {{number}} {end}", clauses=clauses)


def write_lesson(lesson: ReadingLesson, name: str, canary: str) -> str:
    """A lesson as a line of JSON: a dialogue whose answers all count, and that is read as plain text."""
    messages = [{"role": "assistant" if is_answer else "user", "content": text} for text, is_answer in lesson]
    return json.dumps({"id": name, "plain": True, "messages": messages, "canary": canary}, ensure_ascii=False)


def _copied(rng: random.Random, skin: Skin, tokens: dict[str, str]) -> ReadingLesson:
    mixed = {tokens[word]: word for word in (*skin.entities, *rng.sample(invented_words(), len(skin.entities)))}
    listed = rng.sample(sorted(mixed.values()), rng.randint(*LISTED))
    lesson: ReadingLesson = []
    known = " ".join(listed)
    for _ in range(PARTS):
        first = rng.randrange(len(listed) - 1)
        last = rng.randint(first + 2, len(listed))
        lesson += [(f"{known}: {listed[first]}", False), (" ".join(listed[first + 1 : last]), True)]
        known = ""
    return lesson


def _told(rng: random.Random, plan: LessonPlan, is_asked: bool, size: int, names: Sequence[str], skin: Skin) -> ReadingLesson:
    description = rng.choice(_descriptions(size, rng.choice(plan.complexities)))
    stated = rng.sample(description, len(description))
    flips = [rng.random() < plan.converse for _ in stated]
    clauses = [render_clause(relation, names[:size], skin, flip) for relation, flip in zip(stated, flips, strict=True)]
    begun = ", ".join(clauses[:-1])
    told = f"{skin.situation.format(number=NUMBER_WORDS[size])}: {begun}{' and ' if begun else ''}{clauses[-1]}."
    lesson: ReadingLesson = []
    for _ in range(plan.statements):
        query, verdict = _statement(rng, plan, size, description)
        named = [*names[:size], rng.choice(names[size:])]
        flip = rng.random() < plan.converse
        if plan.changes == 1 and size == 2:
            flip = flips[0] if verdict == "TRUE" else flip
        clause = render_clause(query, named, skin, flip)
        text = f"{told}\n{clause}"
        if is_asked:
            # What is undecided is asked about in the form that has an answer for it, and then so are as many others.
            kind = "Compl" if verdict == "UNKNOWN" or rng.random() < plan.unknown else "Infer"
            verdict = {"TRUE": "1", "FALSE": "2", "UNKNOWN": "3"}[verdict] if kind == "Compl" else verdict
            opposite = render_opposite(query, named, skin, flip)
            text = skin.questions[kind][rng.choice(WORDINGS)].format(description=told, query=clause, opposite=opposite)
            text += "\nAnswer:"
        lesson += [(text, False), (verdict, True)]
        told = ""
    return lesson


def _statement(rng: random.Random, plan: LessonPlan, size: int, description: Description) -> tuple[Relation, str]:
    """A statement about a description, and what is to be said of it."""
    if size > 2 and rng.random() < plan.ternary:
        query = between(*rng.sample(range(size), 3))
    else:
        query = before(*rng.sample(range(size), 2))
        while size > 2 and abs(query.entities[0] - query.entities[1]) == 1 and rng.random() < plan.indirect:
            query = before(*rng.sample(range(size), 2))
    if rng.random() < plan.unknown:
        entities = list(query.entities)
        entities[rng.randrange(len(entities))] = UNKNOWN
        return Relation(query.kind, tuple(entities)), "UNKNOWN"
    return query, VERDICTS[_decide(size, description, query)]


@cache
def _descriptions(size: int, complexity: str) -> tuple[Description, ...]:
    if size == 2:
        return ((before(0, 1),),)
    return incomplete_descriptions(size) if complexity == "incomplete" else base_descriptions(size, int(complexity))


@lru_cache(maxsize=1 << 16)
def _decide(size: int, description: Description, query: Relation) -> str:
    return decide(size, description, query)


#: Uses of skins that only tests have.
TESTED = ("test", "test-new")
#: Pieces of tests' sentences that say nothing by themselves.
FUNCTION = ("is", "was", "did", "does", "to", "from", "of")


class LessonCheck:
    """Finds the words of tests in lessons."""

    def __init__(self, skins: Iterable[Skin]) -> None:
        """Read the tests' entities and words, and take from them what a training skin says too."""
        skins = list(skins)
        tested, trained = (
            {_words(text) for skin in skins if skin.use in uses for text in (*skin.entities, *pieces_of(words_of(skin)))}
            for uses in (TESTED, ("train",))
        )
        self.tested = tested - trained - set(map(_words, (*GRAMMAR, *FUNCTION)))
        # A training skin's phrase is looked for too: it may contain a test's, as "Cousin Emily" does.
        self.phrases: dict[str, list[tuple[str, ...]]] = {}
        for phrase in sorted(self.tested | trained, key=lambda phrase: (-len(phrase), phrase)):
            self.phrases.setdefault(phrase[0], []).append(phrase)

    def found_in(self, texts: Iterable[str]) -> str | None:
        """The first phrase of a test in some texts."""
        words = _words("\n".join(texts))
        place = 0
        while place < len(words):
            here = self.phrases.get(words[place], ())
            phrase = next((one for one in here if words[place : place + len(one)] == one), words[place : place + 1])
            if phrase in self.tested:
                return " ".join(phrase)
            place += len(phrase)
        return None

    def checked(self, lesson: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
        """A lesson.

        Raises:
            UserError: a phrase of a test is in it.
        """
        found = self.found_in([text for text, _ in lesson])
        if found:
            problem = f"contains {found!r}, which only tests have."
            raise UserError("write-lessons", problem, "Take skins for training (`use: train`) whose words no test has.")
        return lesson


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))
