"""Lessons in reading, which a small model learns before it is fine-tuned
(docs/extras/worldsense_training.md).

* ``copy``: a list of names and invented words, and parts of it once more. It teaches to find a word
  again.
* ``judge``: a description and statements about it, each with TRUE, FALSE or UNKNOWN behind it.
* ``asked``: the same with the benchmark's own questions and answers, as the model is asked later.
* ``written``: one of its questions about inference in motion, to be answered after the order has
  been written, as it was at first and after each change that counts; then statements about the last
  order. Half of the stories begin with another than the "first" change, so that the words for all
  are learned from stories of few.

Entities are those of training skins. Relations are those of training skins, or invented: words that
mean nothing, of which the description alone says what they relate, and that two of them are each
other's converse. So no lesson has a relation or an entity of a test.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from worldprobe.benchmarks.worldsense.problems.problems import (
    base_descriptions,
    incomplete_descriptions,
)
from worldprobe.benchmarks.worldsense.problems.worlds import (
    UNKNOWN,
    UPDATES,
    Description,
    Relation,
    before,
    changed,
    decide_query,
    is_between,
    is_true,
    run,
)
from worldprobe.benchmarks.worldsense.skins.rendering import (
    NUMBERS,
    ORDINALS,
    SEVERAL,
    STORY_TEXTS,
    render_clause,
    render_moment,
    render_opposite,
    render_story,
)
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS, CANARY, WORDINGS
from worldprobe.errors import UserError
from worldprobe_lab.motion import draw_story
from worldprobe_training.trainings import ReadingLessons

ENTITIES, OTHERS = 12, 16
#: Words of lessons and of the prompt sets for small models that no skin contains.
OWN = ("two", "UNKNOWN", "Answer:", "Order:", "to", "from")
#: Words that many skins share whatever their relation.
GRAMMAR = ("in between", "between", "exactly one of", "and", "not")
#: Invented words: more than there are tokens for them, so that each token is many words, and of
#: either side of a relation.
N_INVENTED = 240
_BORDER = re.compile(
    r"\{\w+\}|[‘’]|\b("
    + "|".join(
        (*GRAMMAR, *sorted({a for of in ANSWERS.values() for a in of}, key=len, reverse=True))
    )
    + r")\b"
)


def tokens_of_skins(skins: Iterable[Skin]) -> dict[str, str]:
    """Every phrase of some skins and every invented word -> the token as which it is read.

    >>> from worldprobe.benchmarks.worldsense.skins.skins import read_skins
    >>> found = tokens_of_skins(read_skins())
    >>> found["before"], found["is richer than"] in found, found["and"]
    ('before', False, 'and')
    """
    skins = list(skins)
    questions = {
        line
        for skin in skins
        for of in skin.questions.values()
        for text in of.values()
        for line in text.split("\n")
    }
    answers = {answer for of in ANSWERS.values() for answer in of}
    phrases = {
        *NUMBERS.values(),
        SEVERAL,
        *OWN,
        *GRAMMAR,
        *answers,
        *pieces_of(questions),
        *pieces_of(STORY_TEXTS),
    }
    for skin in skins:
        phrases |= set(pieces_of(spoken(skin))) if skin.use == "train" else set()
    tokens = {phrase: phrase for phrase in sorted(phrases)}
    for skin in skins:
        _share(tokens, skin.entities, "entity", ENTITIES)
        _share(tokens, dict.fromkeys(pieces_of(words_of_skin(skin))), "word", OTHERS)
        _share(tokens, dict.fromkeys(pieces_of(skin.motion.values())), "change", OTHERS)
    for word in invented_words():
        _share(tokens, [word], "word", OTHERS)
    return tokens


def words_of_skin(skin: Skin) -> list[str]:
    """Every text of a skin that is its own where nothing changes, but for its entities."""
    return [*skin.clauses.values(), *skin.foreign.values(), skin.situation, skin.listing]


def spoken(skin: Skin) -> list[str]:
    """The same, and what it says where things change."""
    return [*words_of_skin(skin), *skin.motion.values()]


@cache
def invented_words() -> tuple[str, ...]:
    """Words that mean nothing: three syllables of a consonant and a vowel, and an end that no
    English word has.

    >>> len(invented_words()), len(set(invented_words()))
    (240, 240)
    """
    rng = random.Random(0)
    words: dict[str, None] = {}
    while len(words) < N_INVENTED:
        words[
            "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)) + "zk"
        ] = None
    return tuple(words)


def _share(tokens: dict[str, str], phrases: Iterable[str], kind: str, number: int) -> None:
    """Give phrases that have none a shared token, no two of them the same."""
    phrases = list(phrases)
    used = {tokens[phrase] for phrase in phrases if phrase in tokens}
    for phrase in phrases:
        if phrase in tokens:
            continue
        order = [f"{kind} {index}" for index in random.Random(phrase).sample(range(number), number)]
        tokens[phrase] = next((token for token in order if token not in used), order[0])
        used.add(tokens[phrase])


def pieces_of(texts: Iterable[str]) -> Iterator[str]:
    """The constant parts of texts."""
    for text in texts:
        for piece in _BORDER.split(text):
            if piece and piece.strip():
                yield piece.strip()


NUMBER_WORDS = {2: "two", **NUMBERS}
#: Words of a list that is copied, and how many parts of it are.
LISTED, PARTS = (2, 6), 6
VERDICTS = {"all": "TRUE", "none": "FALSE", "some": "UNKNOWN"}
#: How a ternary relation names its three entities.
TERNARY = (
    *(
        "{m} %s between {x} and {y}",
        "{m} %s in between {x} and {y}",
        "{m} %s {x} and {y}",
        "{m} %s exactly one of {x} and {y}",
    ),
    *("{m} %s in between {x} %s and {y} %s", "{m} %s {x} %s {y}", "%s {m} in between {x} and {y}"),
)


#: A lesson: texts, and whether each is what the model is to say.
ReadingLesson = list[tuple[str, bool]]


def draw_lessons(how: ReadingLessons, skins: Sequence[Skin]) -> Iterator[ReadingLesson]:
    """Lessons; the first of more lessons are the same.

    Args:
        how: what is drawn, and how many.
        skins: those for training lend their words and entities.
    """
    rng = random.Random(how.seed)
    training = [
        skin for skin in skins if skin.use == "train" and (not how.skins or skin.name in how.skins)
    ]
    tokens = tokens_of_skins(skins)
    kinds, weights, sizes = list(how.kinds), list(how.kinds.values()), sorted(how.sizes)
    for _ in range(how.number):
        skin, size = rng.choice(training), rng.choice(sizes)
        if rng.random() < how.invented:
            skin = invent_skin(rng, skin, tokens, is_varied=size > 2)
        kind = rng.choices(kinds, weights)[0]
        # One entity that is not described would soon be an old acquaintance, so there are as many
        # as statements where possible.
        names = rng.sample(
            skin.entities,
            min(len(skin.entities), max(entities_needed(size), size + how.statements)),
        )
        if kind == "copy":
            yield _copied(rng, skin, tokens)
        elif kind == "written":
            yield _written(rng, how, size, names, skin)
        else:
            yield _told(rng, how, kind == "asked", size, names, skin)


def invent_skin(rng: random.Random, skin: Skin, tokens: dict[str, str], is_varied: bool) -> Skin:
    """A skin with another's entities and questions, and invented words for everything else, no two
    of them the same token.

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


def lesson_lines(how: ReadingLessons, skins: Sequence[Skin]) -> Iterator[str]:
    """Lessons as lines of JSON: each a dialogue whose answers all count, and that is read as plain
    text.

    Args:
        how: what is drawn, and how many.
        skins: all that there are.

    Raises:
        UserError: there is no skin for training, one has too few entities, or a test's words are in
            a lesson.
    """
    lesson_skins = [skin for skin in skins if skin.use not in ("ood-problem", "test-new")]
    size = max(how.sizes)
    for skin in lesson_skins:
        if len(skin.entities) < entities_needed(size):
            problem = (
                f"has {len(skin.entities)} entities; size {size} needs {entities_needed(size)}."
            )
            raise UserError(f"skin {skin.name}", problem, "Add entities, or choose smaller sizes.")
    if not any(skin.use == "train" for skin in lesson_skins):
        raise UserError(
            "--skin-folder", "contains no skin for training.", "Add one with `use: train`."
        )
    check = LessonCheck(lesson_skins)
    for number, lesson in enumerate(draw_lessons(how, lesson_skins)):
        messages = [
            {"role": "assistant" if is_said else "user", "content": text}
            for text, is_said in check.checked(lesson)
        ]
        row = {"id": f"{how.seed}-{number}", "plain": True, "messages": messages, "canary": CANARY}
        yield json.dumps(row, ensure_ascii=False)


def _copied(rng: random.Random, skin: Skin, tokens: dict[str, str]) -> ReadingLesson:
    mixed = {
        tokens[word]: word
        for word in (*skin.entities, *rng.sample(invented_words(), len(skin.entities)))
    }
    listed = rng.sample(sorted(mixed.values()), rng.randint(*LISTED))
    lesson: ReadingLesson = []
    prefix = " ".join(listed)
    for _ in range(PARTS):
        first = rng.randrange(len(listed) - 1)
        last = rng.randint(first + 2, len(listed))
        lesson += [
            (f"{prefix}: {listed[first]}", False),
            (" ".join(listed[first + 1 : last]), True),
        ]
        prefix = ""
    return lesson


def _begun(
    rng: random.Random,
    how: ReadingLessons,
    description: Description,
    number: int,
    names: Sequence[str],
    skin: Skin,
) -> tuple[str, list[bool]]:
    """How so many entities are at first, and which clauses say so by the converse."""
    stated = rng.sample(description, len(description))
    flips = [rng.random() < how.converse for _ in stated]
    clauses = [
        render_clause(relation, names, skin, flip)
        for relation, flip in zip(stated, flips, strict=True)
    ]
    begun = ", ".join(clauses[:-1])
    return (
        (
            f"{skin.situation.format(number=NUMBER_WORDS[number])}:"
            f" {begun}{' and ' if begun else ''}{clauses[-1]}."
        ),
        flips,
    )


def _written(
    rng: random.Random, how: ReadingLessons, size: int, names: Sequence[str], skin: Skin
) -> ReadingLesson:
    description, changes = _drawn(rng, how, size)
    skin = skin.in_motion()
    n_described = len(description) + 1 if changes else size
    story, _ = _begun(rng, how, description, n_described, names, skin)
    moments: list[Relation | None] = [None]
    if len(changes) > 1 and rng.random() < 0.5:
        moments = [
            Relation("at", (rng.randrange(1, len(changes)),)),
            Relation("without", (rng.randint(1, len(changes)),)),
        ]
    moment = rng.choice(
        [candidate for candidate in moments if decided_orders(n_described, changes, candidate)]
        or [None]
    )
    orders = decided_orders(n_described, changes, moment)
    later = rng.randint(0, len(ORDINALS) - len(changes)) if rng.random() < 0.5 else 0
    text = render_story(
        story, changes, names, skin, "", render_moment(moment, len(changes), skin.stories)
    )
    asked = []
    for _ in range(how.statements):
        query = before(*rng.sample(orders[-1][1], 2))
        verdict = VERDICTS["all" if is_true(query, orders[-1][1]) else "none"]
        asked.append((render_clause(query, names, skin, rng.random() < how.converse), verdict))
    (clause, verdict), *more = asked
    text = (
        skin.questions["Infer"][rng.choice(WORDINGS)].format(description=text, query=clause)
        + "\nOrder:"
    )
    lines = [" ".join(names[entity] for entity in order) for _, order in orders]
    reply = "\n".join(
        f"{ORDINALS[n - 1].capitalize()} change: {line}" if n else line
        for (n, _), line in zip(orders, lines, strict=True)
    )
    lesson = [
        (_postponed(text, later), False),
        (_postponed(f"{reply}\nAnswer: {verdict}", later), True),
    ]
    for clause, verdict in more:
        lesson += [(f"\n{clause}", False), (verdict, True)]
    return lesson


def decided_orders(
    number: int, changes: Description, moment: Relation | None
) -> list[tuple[int, tuple[int, ...]]]:
    """The order at first, and after each change that counts, by its number; empty where one cannot
    be made.
    """
    order = tuple(range(number))
    orders = [(0, order)]
    for turn, change in enumerate(changes, 1):
        kind, entities = moment or (None, ())
        if kind == "at" and turn > entities[0]:
            break
        if kind == "without" and turn == entities[0]:
            continue
        after = changed(order, change)
        if after is None:
            return []
        order = after
        orders.append((turn, order))
    return orders


def _postponed(text: str, later: int) -> str:
    """A text in which the first change is called by a later number."""
    for number in range(len(ORDINALS) - later - 1, -1, -1):
        was, now = ORDINALS[number], ORDINALS[number + later]
        text = text.replace(f"{was.capitalize()} change:", f"{now.capitalize()} change:")
        text = text.replace(f"after the {was} change,", f"after the {now} change,").replace(
            f"that the {was} change", f"that the {now} change"
        )
    return text


def _told(
    rng: random.Random,
    how: ReadingLessons,
    is_asked: bool,
    size: int,
    names: Sequence[str],
    skin: Skin,
) -> ReadingLesson:
    description, changes = _drawn(rng, how, size)
    skin = skin.in_motion() if any(how.updates) else skin
    n_described = len(description) + 1 if changes else size
    story, flips = _begun(rng, how, description, n_described, names[:size], skin)
    lines = render_story(
        story, changes, names, skin, "", render_moment(None, len(changes), skin.stories)
    ).split("\n")
    # Texts, and after how many changes statements follow each.
    moments = [("\n".join(lines), len(changes))]
    if changes and rng.random() < how.each:
        parts = [lines[0], "\n".join(lines[1:3]), *lines[3:-1]]
        parts[-1] += f"\n{lines[-1]}"
        moments = [(part, number) for number, part in enumerate(parts)]
    lesson: ReadingLesson = []
    for story, number in moments:
        there = run(tuple(range(n_described)), changes[:number]) or ()
        for _ in range(how.statements):
            query, verdict = _statement(rng, how, size, (*description, *changes[:number]), there)
            named = [*names[:size], rng.choice(names[size:])]
            flip = rng.random() < how.converse
            if how.changes == 1 and size == 2:
                flip = flips[0] if verdict == "TRUE" else flip
            clause = render_clause(query, named, skin, flip)
            text = f"{story}\n{clause}"
            if is_asked:
                # What is undecided is asked about in the form that has an answer for it, and then
                # so are as many others.
                kind = "Compl" if verdict == "UNKNOWN" or rng.random() < how.unknown else "Infer"
                verdict = (
                    {"TRUE": "1", "FALSE": "2", "UNKNOWN": "3"}[verdict]
                    if kind == "Compl"
                    else verdict
                )
                opposite = render_opposite(query, named, skin, flip)
                text = skin.questions[kind][rng.choice(WORDINGS)].format(
                    description=story, query=clause, opposite=opposite
                )
                text += "\nAnswer:"
            lesson += [(text, False), (verdict, True)]
            story = ""
    return lesson


def _drawn(rng: random.Random, how: ReadingLessons, size: int) -> tuple[Description, Description]:
    """A description, and what changes after it."""
    number = rng.choice(sorted(how.updates)) if any(how.updates) else 0
    if not number:
        return rng.choice(_descriptions(size, rng.choice(how.complexities))), ()
    drawn = None
    draws = np.random.default_rng(rng.getrandbits(63))
    while drawn is None:
        drawn = draw_story(draws, size, number)
    facts = tuple(relation for relation in drawn if relation.kind not in UPDATES)
    return facts, drawn[len(facts) :]


def _statement(
    rng: random.Random,
    how: ReadingLessons,
    size: int,
    description: Description,
    there: Sequence[int],
) -> tuple[Relation, str]:
    """A statement about a description, and what is to be said of it."""
    if size > 2 and rng.random() < how.ternary:
        query = is_between(*rng.sample(there, 3))
    else:
        query = before(*rng.sample(there, 2))
        while (
            size > 2
            and abs(query.entities[0] - query.entities[1]) == 1
            and rng.random() < how.indirect
        ):
            query = before(*rng.sample(there, 2))
    if rng.random() < how.unknown:
        entities = list(query.entities)
        entities[rng.randrange(len(entities))] = UNKNOWN
        return Relation(query.kind, tuple(entities)), "UNKNOWN"
    return query, VERDICTS[_decide(size, description, query)]


@cache
def _descriptions(size: int, complexity: str) -> tuple[Description, ...]:
    if size == 2:
        return ((before(0, 1),),)
    return (
        incomplete_descriptions(size)
        if complexity == "incomplete"
        else base_descriptions(size, int(complexity))
    )


@lru_cache(maxsize=1 << 16)
def _decide(size: int, description: Description, query: Relation) -> str:
    return decide_query(size, description, query)


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
            {
                _words(text)
                for skin in skins
                if skin.use in uses
                for text in (*skin.entities, *pieces_of(spoken(skin)))
            }
            for uses in (TESTED, ("train",))
        )
        self.tested = tested - trained - set(map(_words, (*GRAMMAR, *FUNCTION)))
        # A training skin's phrase is looked for too: it may contain a test's, as "Cousin Emily"
        # does.
        self.phrases: dict[str, list[tuple[str, ...]]] = {}
        for phrase in sorted(
            filter(None, self.tested | trained), key=lambda phrase: (-len(phrase), phrase)
        ):
            self.phrases.setdefault(phrase[0], []).append(phrase)

    def found_in(self, texts: Iterable[str]) -> str | None:
        """The first phrase of a test in some texts."""
        words = _words("\n".join(texts))
        position = 0
        while position < len(words):
            here = self.phrases.get(words[position], ())
            phrase = next(
                (
                    candidate
                    for candidate in here
                    if words[position : position + len(candidate)] == candidate
                ),
                words[position : position + 1],
            )
            if phrase in self.tested:
                return " ".join(phrase)
            position += len(phrase)
        return None

    def checked(self, lesson: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
        """A lesson.

        Raises:
            UserError: a phrase of a test is in it.
        """
        phrase = self.found_in([text for text, _ in lesson])
        if phrase:
            problem = f"contains {phrase!r}, which only tests have."
            raise UserError(
                "write-lessons",
                problem,
                "Take skins for training (`use: train`) whose words no test has.",
            )
        return lesson


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))
