"""Every fault of a skin's file, and of several skins together, by file and line, with the fix."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from worldprobe.benchmarks.worldsense.skins.meaning import Fault, meaning_faults, question_faults, same_wordings, text_fault
from worldprobe.errors import UserError
from worldprobe.settings import Keys, Source, check
from worldprobe.settings.blocks import Block, Text, absent
from worldprobe.settings.documents import dotted, place

#: Clause -> the placeholders that it contains, each once.
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
    """The faults of one skin's file."""
    skin, found = check(SkinFile, source.document, [source])
    yield from found
    if skin is None:
        return
    document = skin.model_dump()
    yield from _missing(document, source)
    yield from _entity_faults(document["entities"], source)
    sound = set()
    for keys, text, wanted in _texts(document):
        fault = _placeholder_fault(text, wanted)
        if fault is None:
            sound.add(keys)
            fault = text_fault(text) or _mark_fault(text)
        if fault is not None:
            yield _at(source, keys, *fault)
    yield from _question_faults(document, source)
    yield from _same_words(document, source)
    clauses, foreign = (
        {name: text for name, text in document.get(group, {}).items() if (group, name) in sound}
        for group in ("clauses", "foreign")
    )
    for keys, problem, fix in meaning_faults(clauses, foreign, document.get("listing")):
        yield _at(source, keys, problem, fix)


def _texts(document: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str, set[str]]]:
    """Keys, words and placeholders of everything that sentences are built from."""
    yield ("situation",), document["situation"], {"number"}
    if "listing" in document:
        yield ("listing",), document["listing"], set()
    for name, text in document["clauses"].items():
        yield ("clauses", name), text, set(PLACEHOLDERS[name])
    for name, text in document.get("foreign", {}).items():
        yield ("foreign", name), text, {"x", "y"}


def _missing(document: dict[str, Any], source: Source) -> Iterator[UserError]:
    planar = document["domain"] == "planar"
    if planar != (document["use"] == "ood-problem"):
        yield _at(source, ("use",), "planar skins are for ood-problem, and only they are.", "Change use or domain.")
    wanted, others = (PLANAR_CLAUSES, LINEAR_CLAUSES) if planar else (LINEAR_CLAUSES, PLANAR_CLAUSES)
    for clause in wanted:
        if clause not in document["clauses"]:
            converse = {"before": "after", "after": "before"}.get(clause)
            why = f" (the converse of {converse})" if converse else ""
            where = place(("clauses",), [source])
            yield UserError(where, f"clauses.{clause}: missing{why}.", "Add the clause.")
    for clause in others:
        if clause in document["clauses"]:
            yield _at(source, ("clauses", clause), f"{document['domain']} skins have no such clause.", "Remove it.")
    for key in ("listing", "foreign"):
        if planar and key in document:
            yield _at(source, (key,), "planar skins have no such key.", "Remove it.")
        if not planar and key not in document:
            yield UserError(place((), [source]), f"{key}: missing.", "Add the key.")


def _entity_faults(entities: list[str], source: Source) -> Iterator[UserError]:
    seen: dict[str, str] = {}
    for number, entity in enumerate(entities):
        where = place(("entities", number), [source])
        words = " ".join(entity.split())
        folded = unicodedata.normalize("NFKC", words).casefold()
        if entity != words or not entity.isprintable() or re.search(r"[{}\n,.:;?!‘’“”\"]", entity):
            yield UserError(where, f"entities[{number}]: {entity!r} contains blanks or marks that break sentences.", "Reword it.")
        if joined := re.search(r"\b(?:and|or)\b", folded):
            problem = f'entities[{number}]: {entity!r} contains "{joined.group()}", which reads as two entities.'
            yield UserError(where, problem, "Reword it.")
        if folded in seen:
            yield UserError(
                where, f"entities[{number}]: {entity!r} reads as {seen[folded]!r} does.", "Give each entity its own name."
            )
        for other, written in seen.items():
            short, long = sorted((other, folded), key=len)
            if short != long and re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long):
                problem = f"entities[{number}]: {entity!r} and {written!r} cannot be told apart in a sentence."
                yield UserError(where, problem, "Rename one of them.")
        seen[folded] = entity


def _mark_fault(text: str) -> Fault | None:
    if mark := re.search(r"[:;?!‘“”\"]|[.,]$", text):
        return f"{text!r} contains the mark {mark.group()}, which breaks the sentence that is built from it.", "Reword it."
    return None


def _placeholder_fault(text: str, wanted: set[str]) -> Fault | None:
    written = ", ".join(f"{{{name}}}" for name in sorted(wanted))
    only = f"Use braces for {written} only." if wanted else "Remove the braces."
    try:
        fields = [field for field in string.Formatter().parse(text) if field[1] is not None]
    except ValueError:
        return f"{text!r} has an unpaired brace.", only
    found = [str(name) for _, name, _, _ in fields]
    for _, name, form, conversion in fields:
        if form or conversion:
            return f"{text!r} says in braces how to write {name}.", f"Write {{{name}}} only." if wanted else only
    for name in sorted(wanted):
        if found.count(name) != 1:
            times = "does not contain" if name not in found else "contains more than once"
            return f"{text!r} {times} {{{name}}}.", f"Use each of {written} once."
    extra = next((name for name in found if name not in wanted), None)
    return None if extra is None else (f"{text!r} contains {{{extra}}}, which means nothing here.", only)


def _question_faults(document: dict[str, Any], source: Source) -> Iterator[UserError]:
    for kind, wordings in document["questions"].items():
        own = source.document.get("questions", {}).get(kind, {})
        for wording, lines in wordings.items():
            if wording not in own:
                continue  # a default of the schema
            wrong = _placeholder_fault("\n".join(lines), QUESTION_PLACEHOLDERS[kind])
            for number, fault in question_faults(kind, lines) if wrong is None else [(None, wrong)]:
                keys = ("questions", kind, wording, *(() if number is None else (number,)))
                yield _at(source, keys, *fault)
        if own and same_wordings(wordings):
            problem = "both wordings have the same words."
            yield _at(source, ("questions", kind), problem, "Word one of them in another way.")


def _same_words(document: dict[str, Any], source: Source) -> Iterator[UserError]:
    for group in ("clauses", "foreign"):
        seen: dict[str, str] = {}
        for name, clause in document.get(group, {}).items():
            text = _without_names(clause)  # x and y exchanged are the same words
            if text in seen:
                yield _at(source, (group, name), f"has the same words as {group}.{seen[text]}.", "Write what it means.")
            seen[text] = name
    clauses = set(map(_without_names, document["clauses"].values()))
    for name, text in document.get("foreign", {}).items():
        if _without_names(text) in clauses:
            yield _at(source, ("foreign", name), "is a relation of the skin itself.", "Choose a relation of another kind.")


def _without_names(clause: str) -> str:
    return re.sub(r"\{\w+\}", "{}", " ".join(clause.split())).casefold()


def read_skin(source: Source) -> dict[str, Any]:
    """A skin's file without faults, with the usual questions where it has none of its own."""
    return SkinFile.model_validate(source.document).model_dump()


def faults_between(sources: Sequence[Source]) -> Iterator[tuple[Source, UserError]]:
    """The faults of skins that are right by themselves, next to each other: the skin at fault, and the fault.

    Args:
        sources: the files, each without a fault of its own.
    """
    documents = [read_skin(source) for source in sources]
    tested = {_folded(entity): d["name"] for d in documents if d["use"] in ("test", "test-new") for entity in d["entities"]}
    named: dict[str, tuple[str, str]] = {}
    worded: dict[tuple[str, ...], str] = {}
    for source, document in zip(sources, documents, strict=True):
        name, use = document["name"], document["use"]
        words = (document["situation"], *document["clauses"].values(), *document["entities"])
        if name.casefold() in named:
            other, file = named[name.casefold()]
            yield source, _at(source, ("name",), f"{name} is also the name in {file} ({other}).", "Choose another name.")
        elif words in worded:
            yield (
                source,
                _at(source, ("name",), f"all its words are those of {worded[words]}.", "Change them, or remove the skin."),
            )
        named.setdefault(name.casefold(), (name, source.name))
        worded.setdefault(words, name)
        for number, entity in enumerate(document["entities"] if use == "train" else ()):
            if _folded(entity) in tested:
                problem = f"entities[{number}]: {entity!r} is also an entity of the test skin {tested[_folded(entity)]}."
                yield (
                    source,
                    UserError(place(("entities", number), [source]), problem, "Give the training skin entities of its own."),
                )
                break


def _folded(entity: str) -> str:
    return unicodedata.normalize("NFKC", entity).casefold()


def _at(source: Source, keys: Keys, problem: str, fix: str) -> UserError:
    return UserError(place(keys, [source]), f"{dotted(keys)}: {problem}", fix)
