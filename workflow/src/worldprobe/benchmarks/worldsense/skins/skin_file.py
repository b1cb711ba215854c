"""A skin's file: its keys, and its faults by file and line, with the fix."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS
from worldprobe.errors import UserError
from worldprobe.settings import Source, check
from worldprobe.settings.blocks import Block, Text, absent
from worldprobe.settings.documents import dotted, place

#: Clause -> the placeholders that it contains, each once; the first is its subject.
PLACEHOLDERS = {
    "before": "xy",
    "after": "xy",
    "between": "mxy",
    "outside": "mxy",
    "first": "x",
    "last": "x",
    "parallel": "xy",
    "perpendicular": "xy",
}
PLANAR_CLAUSES = ("parallel", "perpendicular")
LINEAR_CLAUSES = tuple(clause for clause in PLACEHOLDERS if clause not in PLANAR_CLAUSES)
QUESTION_PLACEHOLDERS = {
    "Infer": {"description", "query"},
    "Consist": {"description"},
    "Compl": {"description", "query", "opposite"},
}
#: Key, what is wrong, and the fix.
Fault = tuple[tuple[str | int, ...], str, str]


_Lines = Annotated[list[Text], Field(min_length=1)]


class Clauses(Block):
    """The relations in words."""

    before: str | None = absent()
    """Clause that says {x} is before {y}, with {x} as subject."""

    after: str | None = absent()
    """Clause that says {x} is after {y}, with {x} as subject."""

    between: str | None = absent()
    """Clause that says {m} is between {x} and {y}."""

    outside: str | None = absent()
    """Clause that says {m} is not between {x} and {y}."""

    first: str | None = absent()
    """Clause that says {x} is the first of all."""

    last: str | None = absent()
    """Clause that says {x} is the last of all."""

    parallel: str | None = absent()
    """Clause that says {x} is parallel to {y}."""

    perpendicular: str | None = absent()
    """Clause that says {x} is perpendicular to {y}."""


class Foreign(Block):
    """A relation of another kind and its converse, for the questions of Compl.trivial that nothing decides."""

    before: str
    """Clause of the foreign relation, with {x} as subject."""

    after: str
    """Clause of the foreign relation's converse, with {x} as subject."""


class InferWordings(Block):
    """The two wordings of Infer problems."""

    directQ1: _Lines = [
        "{description}",
        "Is the sentence ‘{query}’ TRUE or FALSE?",
        "Answer with one word, ‘TRUE’ or ‘FALSE’, and nothing else.",
    ]
    """Lines of the question, with {description} and {query}."""

    directQ2: _Lines = [
        "{description}",
        "Answer with one word, ‘TRUE’ or ‘FALSE’, and nothing else.",
        "Is the following sentence TRUE or FALSE? ‘{query}’",
    ]
    """Lines of the question, with {description} and {query}."""


class ConsistWordings(Block):
    """The two wordings of Consist problems."""

    directQ1: _Lines = [
        "Someone says: ‘{description}’",
        "Is the situation described here POSSIBLE or IMPOSSIBLE?",
        "Answer with one word, ‘POSSIBLE’ or ‘IMPOSSIBLE’, and nothing else.",
    ]
    """Lines of the question, with {description}."""

    directQ2: _Lines = [
        "Answer with one word, ‘POSSIBLE’ or ‘IMPOSSIBLE’, and nothing else.",
        "Is the following situation POSSIBLE or IMPOSSIBLE?",
        "‘{description}’",
    ]
    """Lines of the question, with {description}."""


class ComplWordings(Block):
    """The two wordings of Compl problems."""

    directQ1: _Lines = [
        "{description}",
        "Which is right: (1) {query}, (2) {opposite}, or (3) it is impossible to decide?",
        "Answer with the number only, ‘1’, ‘2’ or ‘3’.",
    ]
    """Lines of the question, with {description}, {query} and {opposite}."""

    directQ2: _Lines = [
        "{description}",
        "Answer with the number only, ‘1’, ‘2’ or ‘3’.",
        "Which of these is right? (1) {query}; (2) {opposite}; (3) it is impossible to decide.",
    ]
    """Lines of the question, with {description}, {query} and {opposite}."""


class Questions(Block):
    """Two wordings of each type of question, as lists of lines; a skin may have its own."""

    Infer: InferWordings = InferWordings()
    Consist: ConsistWordings = ConsistWordings()
    Compl: ComplWordings = ComplWordings()


class SkinFile(Block):
    """A skin of WorldSense: the words of one relation and its entities; a file in `resources/skins`."""

    name: str = Field(pattern="^[A-Za-z0-9_/-]+$")
    """Name of the skin in the sets, of letters, digits, dashes, slashes and underscores, e.g. tall/short."""

    domain: Literal["spatial", "temporal", "scalar", "other", "planar"]
    """What the relation is about; other: neither space, time nor a scale; planar: lines in the plane."""

    use: Literal["test", "test-new", "train", "ood-problem"]
    """Sets that use the skin."""

    entities: list[Annotated[str, Field(pattern=r"^\S(.*\S)?$")]] = Field(min_length=4)
    """Names of entities with their articles, without spaces around them, one more than the largest problem has."""

    situation: str = Field(pattern=r"\{number\}")
    """A sentence without final period that introduces {number} entities."""

    listing: Text | None = absent()
    """Words that introduce an ordered list of the entities, like From left to right."""

    clauses: Clauses

    foreign: Foreign | None = absent()
    """A relation of another kind and its converse, for the questions of Compl.trivial that nothing decides."""

    questions: Questions = Questions()


def faults_of(source: Source) -> Iterator[UserError]:
    """What is wrong with one skin's file. Whether its sentences can be misread is seen once they are rendered."""
    skin, found = check(SkinFile, source.document, [source])
    yield from found
    if skin is None:
        return
    document = skin.model_dump()
    for faults in (_missing(document), _entity_faults(document["entities"]), _wording_faults(document)):
        yield from (at_key(source, fault) for fault in faults)


def _missing(document: dict[str, Any]) -> Iterator[Fault]:
    planar = document["domain"] == "planar"
    if planar != (document["use"] == "ood-problem"):
        yield ("use",), "planar skins are for ood-problem, and only they are.", "Change use or domain."
    wanted, others = (PLANAR_CLAUSES, LINEAR_CLAUSES) if planar else (LINEAR_CLAUSES, PLANAR_CLAUSES)
    for clause in wanted:
        if clause not in document["clauses"]:
            yield ("clauses", clause), "missing.", "Add the clause."
    for clause in others:
        if clause in document["clauses"]:
            yield ("clauses", clause), f"{document['domain']} skins have no such clause.", "Remove it."
    for key in ("listing", "foreign"):
        if planar == (key in document):
            yield (key,), *(("planar skins have no such key.", "Remove it.") if planar else ("missing.", "Add the key."))


def _entity_faults(entities: list[str]) -> Iterator[Fault]:
    """Entities that a reader could not tell apart in a sentence."""
    for number, entity in enumerate(entities):
        for other in entities[:number]:
            short, long = sorted((entity.casefold(), other.casefold()), key=len)
            if re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long):
                yield ("entities", number), f"{entity!r} and {other!r} cannot be told apart in a sentence.", "Rename one of them."


def _wording_faults(document: dict[str, Any]) -> Iterator[Fault]:
    """Clauses and questions without their placeholders, and those that would say something else than the gold answer assumes."""
    yield from _placeholder_faults(("situation",), document["situation"], {"number"})
    seen: dict[str, str] = {}
    for group in ("clauses", "foreign"):
        for name, text in document.get(group, {}).items():
            wanted = PLACEHOLDERS[name]
            faults = list(_placeholder_faults((group, name), text, set(wanted)))
            yield from faults
            if not faults and (subject := re.findall(r"\{(\w)\}", text)[0]) != wanted[0]:
                yield (group, name), f"{text!r} names {{{subject}}} before {{{wanted[0]}}}.", f"Make {{{wanted[0]}}} the subject."
            words = re.sub(r"\{\w+\}", "{}", " ".join(text.split())).casefold()  # x and y exchanged are the same words
            if words in seen:
                yield (group, name), f"has the same words as {seen[words]}.", "Write what it means."
            seen[words] = f"{group}.{name}"
    for kind, wordings in document["questions"].items():
        for wording, lines in wordings.items():
            keys, text = ("questions", kind, wording), "\n".join(lines)
            yield from _placeholder_faults(keys, text, QUESTION_PLACEHOLDERS[kind])
            for answer in ANSWERS[kind]:
                if not re.search(rf"(?<!\w){answer}(?!\w)", text):
                    yield keys, f"does not name the answer {answer}.", f"Name {', '.join(ANSWERS[kind])}."
            if kind == "Compl" and not _names_alternatives(text):
                problem = "{query} is not alternative 1, or {opposite} is not alternative 2."
                yield keys, problem, "Write (1) {query}, (2) {opposite}."


def _placeholder_faults(keys: tuple[str, ...], text: str, wanted: set[str]) -> Iterator[Fault]:
    try:
        found = sorted(str(name) for _, name, _, _ in string.Formatter().parse(text) if name is not None)
    except ValueError:
        found = ["an unpaired brace"]
    if found != sorted(wanted):
        written = ", ".join(f"{{{name}}}" for name in sorted(wanted))
        yield keys, f"{text!r} does not contain {written}, each once and nothing else in braces.", f"Use each of {written} once."


def _names_alternatives(text: str) -> bool:
    """Whether the number next to {query} is 1 and that next to {opposite} is 2, before them or after them."""
    before = [re.findall(r"[123]", text.partition(name)[0])[-1:] for name in ("{query}", "{opposite}")]
    after = [re.findall(r"[123]", text.partition(name)[2])[:1] for name in ("{query}", "{opposite}")]
    return [["1"], ["2"]] in (before, after)


def read_skin(source: Source) -> dict[str, Any]:
    """A skin's file without faults, with the usual questions where it has none of its own."""
    return SkinFile.model_validate(source.document).model_dump()


def faults_between(sources: Sequence[Source]) -> Iterator[tuple[Source, Fault]]:
    """Names given twice, and training skins that share an entity with a test skin: the skin at fault, and the fault."""
    documents = [source.document for source in sources]
    tested = {entity.casefold(): d["name"] for d in documents if d["use"] in ("test", "test-new") for entity in d["entities"]}
    named: dict[str, str] = {}
    for source, document in zip(sources, documents, strict=True):
        name = document["name"]
        first = named.setdefault(name.casefold(), source.name)
        if first != source.name:
            yield source, (("name",), f"{name} is also the name in {first}.", "Choose another name.")
        for number, entity in enumerate(document["entities"] if document["use"] == "train" else ()):
            if skin := tested.get(entity.casefold()):
                problem = f"{entity!r} is also an entity of the test skin {skin}."
                yield source, (("entities", number), problem, "Give the training skin entities of its own.")


def at_key(source: Source, fault: Fault) -> UserError:
    """A fault with its file, and the line of its key or of what would contain it."""
    keys, problem, fix = fault
    return UserError(place(keys, [source]), f"{dotted(keys)}: {problem}", fix)
