"""Skins: the words that turn entities and relations into sentences (paper, Section 3.2; ``resources/skins``)."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.config import Source, complaints, read_yaml, with_defaults
from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import RESOURCES

FOLDER = RESOURCES / "skins"
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

_VERBS = {"is": "are", "was": "were", "has": "have", "lives": "live", "does": "do"}
_WRONG_ARTICLE = re.compile(
    r"\b(?:a (?!eu|uni|one|us[ei])(?=[aeiou])|an (?!hour|honest|honor|heir)(?=[^aeiou\W]))\w+", re.IGNORECASE
)
_DOUBLED = re.compile(r"\b([a-z]+) \1\b", re.IGNORECASE)


@dataclass(frozen=True)
class Skin:
    """One skin, with the defaults of its schema filled in.

    Attributes:
        name: as it is called in the sets.
        domain: spatial, temporal, scalar or planar.
        use: test, train or ood-problem.
        in_training: whether the training sets contain a test skin's relation.
        entities: names with their articles.
        situation: introduces ``{number}`` entities.
        listing: introduces an ordered list; empty for planar skins.
        clauses: clause -> its words.
        foreign: a relation of another kind, ``before`` and ``after``; empty for planar skins.
        questions: problem type -> wording -> text.
    """

    name: str
    domain: str
    use: str
    in_training: bool
    relation_of: str | None
    entities: tuple[str, ...]
    situation: str
    listing: str
    clauses: dict[str, str]
    foreign: dict[str, str]
    questions: dict[str, dict[str, str]]


def read_skins(folder: Path | str = FOLDER) -> list[Skin]:
    """All skins of a folder, sorted by use, domain and name.

    Raises:
        UserError: the first fault, by file and line.
    """
    skins, faults = check_skins(folder)
    if faults:
        first, more = faults[0], len(faults) - 1
        raise UserError(
            first.where, first.problem, first.fix + (f" ({more} more: worldprobe worldsense skins check)" if more else "")
        )
    return skins


def check_skins(folder: Path | str = FOLDER) -> tuple[list[Skin], list[UserError]]:
    """The skins of a folder (or of one file) that are right, and all faults of the others.

    Raises:
        UserError: there is no skin at all.
    """
    paths = sorted(Path(folder).glob("*.yaml")) if Path(folder).is_dir() else [Path(folder)]
    if not paths:
        raise UserError(folder, "contains no skin.", "Give a folder of .yaml files, or one such file.")
    skins: list[Skin] = []
    faults: list[UserError] = []
    named: dict[str, str] = {}
    for path in paths:
        source = None
        try:
            source = read_yaml(path)
            found = list(_faults(source))
        except UserError as error:
            found = [error]
        if source is not None and not found:
            skin = _skin(with_defaults(source.document, "skin"))
            if skin.name in named:
                where = _place(source, "name")
                found = [UserError(where, f"name: {skin.name} is also the name in {named[skin.name]}.", "Choose another name.")]
            named.setdefault(skin.name, str(path))
            skins.append(skin)
        faults += found
    return sorted(skins, key=lambda skin: (skin.use, skin.domain, skin.name)), faults


def choose_skins(skins: Iterable[Skin], names: Iterable[str]) -> list[Skin]:
    """The skins of these names, in their order in the set.

    Raises:
        UserError: a name is not known.
    """
    known = {skin.name: skin for skin in skins}
    chosen = set(names)
    for name in chosen:
        if name not in known:
            raise UserError(
                "--skins", f"{name!r} is not a skin of this set{did_you_mean(name, known)}", f"Choose from {', '.join(known)}."
            )
    return [skin for skin in known.values() if skin.name in chosen]


def _skin(document: dict[str, Any]) -> Skin:
    return Skin(
        name=document["name"],
        domain=document["domain"],
        use=document["use"],
        in_training=document["in_training"],
        relation_of=document["relation_of"],
        entities=tuple(document["entities"]),
        situation=document["situation"],
        listing=document.get("listing", ""),
        clauses=document["clauses"],
        foreign=document.get("foreign", {}),
        questions={
            kind: {wording: "\n".join(lines) for wording, lines in wordings.items()}
            for kind, wordings in document["questions"].items()
        },
    )


def _faults(source: Source) -> Iterator[UserError]:
    found = complaints(source.document, "skin", [source])
    if found:
        yield from found
        return
    document = source.document
    yield from _missing(document, source)
    yield from _entity_faults(document["entities"], source)
    questions = [
        (("questions", kind, wording), "\n".join(lines), QUESTION_PLACEHOLDERS[kind])
        for kind, wordings in document.get("questions", {}).items()
        for wording, lines in wordings.items()
    ]
    clauses = [(("clauses", name), text, set(PLACEHOLDERS[name])) for name, text in document["clauses"].items()]
    foreign = [(("foreign", name), text, {"x", "y"}) for name, text in document.get("foreign", {}).items()]
    situation: list[tuple[tuple[str, ...], str, set[str]]] = [(("situation",), document["situation"], {"number"})]
    for keys, text, wanted in situation + clauses + foreign + questions:
        fault = _placeholder_fault(text, wanted)
        if fault is None and keys[0] != "questions":
            fault = _sentence_fault(text, document, is_clause=keys[0] != "situation")
        if fault is not None:
            yield UserError(_place(source, *keys), f"{'.'.join(keys)}: {fault[0]}", fault[1])
    yield from _same_words(document, source)


def _missing(document: dict[str, Any], source: Source) -> Iterator[UserError]:
    planar = document["domain"] == "planar"
    if planar != (document["use"] == "ood-problem"):
        yield UserError(
            _place(source, "use"), "use: planar skins are for ood-problem, and only they are.", "Change use or domain."
        )
    wanted, others = (PLANAR_CLAUSES, LINEAR_CLAUSES) if planar else (LINEAR_CLAUSES, PLANAR_CLAUSES)
    for clause in wanted:
        if clause not in document["clauses"]:
            converse = {"before": "after", "after": "before"}.get(clause)
            why = f" (the converse of {converse})" if converse else ""
            yield UserError(_place(source, "clauses"), f"clauses.{clause}: missing{why}.", "Add the clause.")
    for clause in others:
        if clause in document["clauses"]:
            where = _place(source, "clauses", clause)
            yield UserError(where, f"clauses.{clause}: {document['domain']} skins have no such clause.", "Remove it.")
    for key in () if planar else ("listing", "foreign"):
        if key not in document:
            yield UserError(_place(source), f"{key}: missing.", "Add the key.")


def _entity_faults(entities: list[str], source: Source) -> Iterator[UserError]:
    seen: dict[str, str] = {}
    for number, entity in enumerate(entities):
        where = _place(source, "entities", number)
        words = " ".join(entity.split())
        folded = unicodedata.normalize("NFKC", words).casefold()
        if entity != words or not entity.isprintable() or re.search(r"[{}\n,.:;?!‘’]", entity):
            yield UserError(where, f"entities[{number}]: {entity!r} contains blanks or marks that break sentences.", "Reword it.")
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


def _placeholder_fault(text: str, wanted: set[str]) -> tuple[str, str] | None:
    written = ", ".join(f"{{{name}}}" for name in sorted(wanted))
    try:
        fields = [field for field in string.Formatter().parse(text) if field[1] is not None]
    except ValueError:
        return f"{text!r} has an unpaired brace.", f"Use braces for {written} only."
    found = [str(name) for _, name, _, _ in fields]
    for _, name, form, conversion in fields:
        if form or conversion:
            return f"{text!r} says in braces how to write {name}.", f"Write {{{name}}} only."
    for name in sorted(wanted):
        if found.count(name) != 1:
            times = "does not contain" if name not in found else "contains more than once"
            return f"{text!r} {times} {{{name}}}.", f"Use each of {written} once."
    extra = next((name for name in found if name not in wanted), None)
    return None if extra is None else (f"{text!r} contains {{{extra}}}, which means nothing here.", f"Use {written} only.")


def _sentence_fault(text: str, document: dict[str, Any], *, is_clause: bool) -> tuple[str, str] | None:
    if text != " ".join(text.split()) or text[-1] in ".,:;?!":
        return f"{text!r} has doubled or outer blanks, or ends with a mark.", "Remove them; sentences are built from it."
    rendered = [text] if not is_clause else [_fill(text, document["entities"][n:] + document["entities"][:n]) for n in range(3)]
    for sentence in rendered + [_fill(text, [entity] * 3) for entity in document["entities"] if is_clause]:
        wrong = _WRONG_ARTICLE.search(sentence)
        if wrong:
            return f"{sentence!r} has the wrong article in {wrong.group()!r}.", "Write a or an as it is spoken."
    for sentence in rendered:
        doubled = _DOUBLED.search(sentence)
        if doubled:
            return (
                f"{sentence!r} repeats {doubled.group(1)!r}.",
                "Write the article in the entities or in the clauses, not in both.",
            )
    return _agreement_fault(text, document) if is_clause else None


def _agreement_fault(text: str, document: dict[str, Any]) -> tuple[str, str] | None:
    subject = re.match(r"\{x\} (\w+)", text) or re.match(r"\{m\} (\w+)", text)
    verb = subject.group(1) if subject else ""
    plural = document.get("number", "singular") == "plural"
    wrong, right = (_VERBS, "plural") if plural else ({v: k for k, v in _VERBS.items()}, "singular")
    if verb in wrong:
        return f'{text!r}: "{verb}" does not agree with {right} entities.', f'Write "{wrong[verb]}", or change number.'
    if verb in _VERBS and not plural:
        for entity in document["entities"]:
            head = re.split(r" (?:of|from|on|in|with) ", entity)[0].split()[-1]
            if re.search(r"[^suic'’]s$", head) and head.islower():
                sentence = _fill(text, [entity, *document["entities"]])
                return f"{sentence!r}: the verb does not agree with {entity!r}.", "Name one thing, or say number: plural."
    return None


def _same_words(document: dict[str, Any], source: Source) -> Iterator[UserError]:
    for group in ("clauses", "foreign"):
        seen: dict[str, str] = {}
        for name, clause in document.get(group, {}).items():
            text = re.sub(r"\{\w+\}", "{}", clause).casefold()  # x and y exchanged are the same words
            if text in seen:
                where = _place(source, group, name)
                yield UserError(where, f"{group}.{name}: has the same words as {group}.{seen[text]}.", "Write what it means.")
            seen[text] = name
    clauses = set(document["clauses"].values())
    for name, text in document.get("foreign", {}).items():
        if text in clauses:
            where = _place(source, "foreign", name)
            yield UserError(where, f"foreign.{name}: is a relation of the skin itself.", "Choose a relation of another kind.")


def _fill(text: str, entities: list[str]) -> str:
    return text.format(**{name: entities[n % len(entities)] for n, name in enumerate("xym")})


def _place(source: Source, *keys: str | int) -> str:
    for length in range(len(keys), -1, -1):
        if place := source.place(tuple(keys[:length])):
            return place
    return source.name


def entities_needed(size: int) -> int:
    """How many entities a skin needs for problems of a size: one is left over that the description does not mention.

    >>> entities_needed(8)
    9
    """
    return size + 1
