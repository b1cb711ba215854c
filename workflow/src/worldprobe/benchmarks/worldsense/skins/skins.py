"""Skins: the words that turn entities and relations into sentences (paper, Section 3.2;
``resources/skins``).

First a skin's file with its faults, then the skins as the rest of the package uses them, and last
the groups by which the paper averages: domains, and whether the training sets have the relation
(Section 5.4). The paper's test skins, and those that only the release has, are listed, so that an
analysis need not read fifty files; any other skin is looked up in its file.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS, DOMAINS
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.paths import RESOURCES
from worldprobe.settings import Source, check, read_yaml
from worldprobe.settings.blocks import Block, Text, absent
from worldprobe.settings.documents import dotted, find_decomposed, find_line

if TYPE_CHECKING:
    import pandas as pd

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
    """A relation of another kind and its converse, for the questions of Compl.trivial that nothing
    decides.
    """

    before: str
    """Clause of the foreign relation, with {x} as subject."""

    after: str
    """Clause of the foreign relation's converse, with {x} as subject."""


class Motion(Block):
    """What is said where things change: updates, and whatever has to be said otherwise because
    things can change. In an update, "directly" means that none of the others is in between.
    """

    situation: str | None = absent()
    """The skin's `situation`, if it has to be said otherwise."""

    before: str | None = absent()
    """The clause `before`, if it has to be said otherwise."""

    after: str | None = absent()
    """The clause `after`, if it has to be said otherwise."""

    move_before: str
    """Clause that says {x} comes to a place directly before {y}."""

    move_after: str
    """Clause that says {x} comes to a place directly after {y}."""

    exchange: str
    """Clause that says {x} and {y} get each other's places."""

    leave: str
    """Clause that says {x} is no longer there."""

    join_before: str
    """Clause that says {x}, who was not there, comes to a place directly before {y}."""

    join_after: str
    """Clause that says {x}, who was not there, comes to a place directly after {y}."""


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
    """A skin of WorldSense: the words of one relation and its entities; a file in
    `resources/skins`.
    """

    name: str = Field(pattern="^[A-Za-z0-9_/-]+$")
    """Name of the skin in the sets, of letters, digits, dashes, slashes and underscores, e.g.
    tall/short.
    """

    domain: Literal["spatial", "temporal", "scalar", "other", "planar"]
    """What the relation is about; other: neither space, time nor a scale; planar: lines in the
    plane.
    """

    use: Literal["test", "test-new", "train", "ood-problem"]
    """Sets that use the skin."""

    entities: list[Annotated[str, Field(pattern=r"^\S(.*\S)?$")]] = Field(min_length=4)
    """Names of entities with their articles, without spaces around them, one more than the largest
    problem has.
    """

    situation: str = Field(pattern=r"\{number\}")
    """A sentence without final period that introduces {number} entities."""

    listing: Text | None = absent()
    """Words that introduce an ordered list of the entities, like From left to right."""

    clauses: Clauses

    foreign: Foreign | None = absent()
    """A relation of another kind and its converse, for the questions of Compl.trivial that nothing
    decides.
    """

    questions: Questions = Questions()

    motion: Motion | None = absent()
    """What is said where things change; a skin without it is in no set of worlds in motion."""


def faults_of(source: Source) -> Iterator[UserError]:
    """Faults in one skin's file. Whether its sentences can be misread is seen once they are
    rendered.
    """
    skin, skin_faults = check(SkinFile, source.document, [source])
    yield from skin_faults
    if skin is None:
        return
    document = skin.model_dump()
    for faults in (
        _missing(document),
        _entity_faults(document["entities"]),
        _wording_faults(document),
    ):
        yield from (at_key(source, fault) for fault in faults)


def _missing(document: dict[str, Any]) -> Iterator[Fault]:
    planar = document["domain"] == "planar"
    if planar != (document["use"] == "ood-problem"):
        yield (
            ("use",),
            "planar skins are for ood-problem, and only they are.",
            "Change use or domain.",
        )
    wanted, others = (
        (PLANAR_CLAUSES, LINEAR_CLAUSES) if planar else (LINEAR_CLAUSES, PLANAR_CLAUSES)
    )
    for clause in wanted:
        if clause not in document["clauses"]:
            yield ("clauses", clause), "missing.", "Add the clause."
    for clause in others:
        if clause in document["clauses"]:
            yield (
                ("clauses", clause),
                f"{document['domain']} skins have no such clause.",
                "Remove it.",
            )
    for key in ("listing", "foreign"):
        if planar == (key in document):
            yield (
                (key,),
                *(
                    ("planar skins have no such key.", "Remove it.")
                    if planar
                    else ("missing.", "Add the key.")
                ),
            )


def _entity_faults(entities: list[str]) -> Iterator[Fault]:
    """Entities that a reader could not tell apart in a sentence, or with braces in them."""
    for number, entity in enumerate(entities):
        if re.search(r"[{}]", entity):
            problem = f"{entity!r} has braces, which would stand in the sentences."
            yield ("entities", number), problem, "Write the name; entities have no placeholders."
        for other in entities[:number]:
            short, long = sorted((entity.casefold(), other.casefold()), key=len)
            if re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long):
                yield (
                    ("entities", number),
                    f"{entity!r} and {other!r} cannot be told apart in a sentence.",
                    "Rename one of them.",
                )


def _wording_faults(document: dict[str, Any]) -> Iterator[Fault]:
    """Clauses and questions without their placeholders, and those that would say something else
    than the gold answer assumes.
    """
    yield from _placeholder_faults(("situation",), document["situation"], {"number"})
    seen: dict[str, str] = {}
    for group in ("clauses", "foreign"):
        for name, text in document.get(group, {}).items():
            wanted = PLACEHOLDERS[name]
            faults = list(_placeholder_faults((group, name), text, set(wanted)))
            yield from faults
            if not faults and (subject := re.findall(r"\{(\w)\}", text)[0]) != wanted[0]:
                yield (
                    (group, name),
                    f"{text!r} names {{{subject}}} before {{{wanted[0]}}}.",
                    f"Make {{{wanted[0]}}} the subject.",
                )
            words = re.sub(
                r"\{\w+\}", "{}", " ".join(text.split())
            ).casefold()  # x and y exchanged are the same words
            if words in seen:
                yield (group, name), f"has the same words as {seen[words]}.", "Write what it means."
            seen[words] = f"{group}.{name}"
    for name, text in document.get("motion", {}).items():
        needed = {"situation": {"number"}, "leave": {"x"}}.get(name, {"x", "y"})
        yield from _placeholder_faults(("motion", name), text, needed)
    for kind, wordings in document["questions"].items():
        for wording, lines in wordings.items():
            keys, text = ("questions", kind, wording), "\n".join(lines)
            yield from _placeholder_faults(keys, text, QUESTION_PLACEHOLDERS[kind])
            for answer in ANSWERS[kind]:
                if not re.search(rf"(?<!\w){answer}(?!\w)", text):
                    yield (
                        keys,
                        f"does not name the answer {answer}.",
                        f"Name {', '.join(ANSWERS[kind])}.",
                    )
            if kind == "Compl" and not _names_alternatives(text):
                problem = "{query} is not alternative 1, or {opposite} is not alternative 2."
                yield keys, problem, "Write (1) {query}, (2) {opposite}."


def _placeholder_faults(keys: tuple[str, ...], text: str, wanted: set[str]) -> Iterator[Fault]:
    try:
        placeholders = sorted(
            str(name) for _, name, _, _ in string.Formatter().parse(text) if name is not None
        )
    except ValueError:
        placeholders = ["an unpaired brace"]
    if placeholders != sorted(wanted):
        written = ", ".join(f"{{{name}}}" for name in sorted(wanted))
        yield (
            keys,
            f"{text!r} does not contain {written}, each once and nothing else in braces.",
            f"Use each of {written} once.",
        )


def _names_alternatives(text: str) -> bool:
    """Whether the number next to {query} is 1 and that next to {opposite} is 2, before them or
    after them.
    """
    before = [
        re.findall(r"[123]", text.partition(name)[0])[-1:] for name in ("{query}", "{opposite}")
    ]
    after = [
        re.findall(r"[123]", text.partition(name)[2])[:1] for name in ("{query}", "{opposite}")
    ]
    return [["1"], ["2"]] in (before, after)


def read_skin(source: Source) -> dict[str, Any]:
    """A skin's file without faults, with the usual questions where it has none of its own."""
    return SkinFile.model_validate(source.document).model_dump()


def faults_between(sources: Sequence[Source]) -> Iterator[tuple[Source, Fault]]:
    """Names given twice, and training skins that share an entity with a test skin: the skin at
    fault, and the fault.
    """
    documents = [source.document for source in sources]
    tested = {
        entity.casefold(): d["name"]
        for d in documents
        if d["use"] in ("test", "test-new")
        for entity in d["entities"]
    }
    named: dict[str, str] = {}
    for source, document in zip(sources, documents, strict=True):
        name = document["name"]
        first = named.setdefault(name.casefold(), source.name)
        if first != source.name:
            yield (
                source,
                (("name",), f"{name} is also the name in {first}.", "Choose another name."),
            )
        for number, entity in enumerate(document["entities"] if document["use"] == "train" else ()):
            if skin := tested.get(entity.casefold()):
                problem = f"{entity!r} is also an entity of the test skin {skin}."
                yield (
                    source,
                    (("entities", number), problem, "Give the training skin entities of its own."),
                )


def at_key(source: Source, fault: Fault) -> UserError:
    """A fault with its file, and the line of its key or of what would contain it."""
    keys, problem, fix = fault
    return UserError(find_line(keys, [source]), f"{dotted(keys)}: {problem}", fix)


FOLDER = RESOURCES / "skins"
SUFFIXES = (".yaml", ".yml")
#: Versions of the sets' wording; the folder ``versions`` has what each former one said otherwise
#: than the next one.
VERSIONS = (1, 2, 3, 4)


@dataclass(frozen=True)
class StoryWords:
    """Words of stories of changes that all skins share.

    Attributes:
        one: introduces one change.
        several: introduces ``{number}`` changes.
        gloss: of "directly", for ``{gloss}``.
        is_always_glossed: also where no change says "directly".
        label: of the only change.
        is_quoted: a story whose possibility is asked stands in the question's quotation marks,
            though it has several lines.
        moments: what is asked about, with a single change, and with several.
    """

    one: str = "Then there is one change{gloss}:"
    several: str = "Then there are {number} changes, one after another{gloss}:"
    gloss: str = " (“directly” means with none of the others in between)"
    is_always_glossed: bool = False
    label: str = "Change"
    is_quoted: bool = False
    moments: Mapping[str, tuple[str, str]] = field(
        default_factory=lambda: {
            "after all": (
                "Consider how things are after the change.",
                "Consider how things are after all changes.",
            ),
            "before": (
                "Imagine that the change has not been made yet.",
                "Imagine that no change has been made yet.",
            ),
            "at": (
                "",
                "Imagine that the {ordinal} change has just been made, and no later one yet.",
            ),
            "without": (
                "Suppose that the change is left out, and consider how things are then.",
                (
                    "Suppose that the {ordinal} change is left out and all the others are made in"
                    " their order, as they are described, and consider how things are then."
                ),
            ),
        }
    )


#: Until version 2: past moments with questions in the present tense, and a change that "had not
#: been made".
FORMER_STORIES = StoryWords(
    is_always_glossed=True,
    label="First change",
    is_quoted=True,
    moments={
        "after all": (
            "Consider how things are after the change.",
            "Consider how things are after all changes.",
        ),
        "before": (
            "Consider how things were before the change.",
            "Consider how things were before the first change.",
        ),
        "at": (
            "",
            "Consider how things were right after the {ordinal} change, before any later one.",
        ),
        "without": (
            "Suppose that the change had not been made, and consider how things would be then.",
            (
                "Suppose that the {ordinal} change had not been made, but all the others had, and"
                " consider how things would be then."
            ),
        ),
    },
)


@dataclass(frozen=True)
class Skin:
    """One skin, with the defaults of its schema filled in.

    Attributes:
        name: as it is called in the sets.
        domain: spatial, temporal, scalar, other or planar.
        use: test, test-new, train or ood-problem.
        entities: names with their articles.
        situation: introduces ``{number}`` entities.
        listing: introduces an ordered list; empty for planar skins.
        clauses: clause -> its words.
        foreign: a relation of another kind, ``before`` and ``after``; empty for planar skins.
        questions: problem type -> wording -> text.
        motion: what is said where things change; empty where the skin does not say it.
        stories: what stories say whatever the skin.
        counts_always: until version 3: the number of entities is said also where one is asked
            about that is not among them (Compl.trivial).
        path: its file, for messages.
    """

    name: str
    domain: str
    use: str
    entities: tuple[str, ...]
    situation: str
    listing: str
    clauses: dict[str, str]
    foreign: dict[str, str]
    questions: dict[str, dict[str, str]]
    motion: dict[str, str] = field(default_factory=dict, repr=False)
    stories: StoryWords = field(default=StoryWords(), repr=False)
    counts_always: bool = False
    path: str = field(default="", repr=False, compare=False)

    def in_motion(self) -> Skin:
        """The skin as it speaks of things that change."""
        clauses = {name: self.motion[name] for name in ("before", "after") if name in self.motion}
        questions = self.questions
        if not self.stories.is_quoted:
            consist = {
                wording: re.sub(r" ?‘(\{description\})’", _on_lines, text)
                for wording, text in questions["Consist"].items()
            }
            questions = questions | {"Consist": consist}
        situation = self.motion.get("situation", self.situation)
        return replace(
            self, situation=situation, clauses=self.clauses | clauses, questions=questions
        )


def _on_lines(quoted: re.Match[str]) -> str:
    return ("\n" if quoted[0].startswith(" ") else "") + quoted[1]


def read_skins(folder: Path | str = FOLDER, version: int = VERSIONS[-1]) -> list[Skin]:
    """All skins of a folder, sorted by use, domain and name; our own folder is read once.

    Args:
        folder: of YAML files.
        version: of the wording; in version 1 there was no set test-new.

    Raises:
        UserError: the first fault, by file and line.
    """
    return list(_own_skins(version)) if folder == FOLDER else _read_skins(folder, version)


@cache
def _own_skins(version: int) -> tuple[Skin, ...]:
    return tuple(_read_skins(FOLDER, version))


def _read_skins(folder: Path | str, version: int) -> list[Skin]:
    skins, faults = check_skins(folder)
    if faults:
        first, more = faults[0], len(faults) - 1
        raise UserError(
            first.where,
            first.problem,
            first.fix + (f" ({more} more: worldprobe worldsense skins check)" if more else ""),
        )
    for former in reversed(range(version, VERSIONS[-1])):
        skins = _former(skins, former)
    return skins


def read_all_wordings(folder: Path | str = FOLDER) -> list[Skin]:
    """The skins of a folder in every version of the wording, the newest first, to read texts by."""
    return [skin for version in reversed(VERSIONS) for skin in read_skins(folder, version)]


def check_skins(folder: Path | str = FOLDER) -> tuple[list[Skin], list[UserError]]:
    """The skins of a folder (or of one file) that are right, and all faults of the others.

    One file is compared with the right skins next to it, whose own faults are not counted.

    Raises:
        UserError: there is no skin at all.
    """
    root = Path(folder)
    paths = skin_files(root) if root.is_dir() else [root]
    if not paths:
        raise UserError(
            folder, "contains no skin.", "Give a folder of .yaml files, or one such file."
        )
    right, faults = _right_sources(paths)
    others = (
        []
        if root.is_dir()
        else [path for path in skin_files(root.parent) if path.resolve() != root.resolve()]
    )
    for source, fault in faults_between(_right_sources(others)[0] + right if right else []):
        if source in right:
            faults.append(at_key(source, fault))
    wrong = {fault.where.partition(", line ")[0] for fault in faults}
    skins = [_skin(read_skin(source), source.name) for source in right if source.name not in wrong]
    return sorted(skins, key=lambda skin: (skin.use, skin.domain, skin.name)), faults


def skin_files(folder: Path | str) -> list[Path]:
    """The files of a folder that are skins."""
    return sorted(path for suffix in SUFFIXES for path in Path(folder).glob(f"*{suffix}"))


def _right_sources(paths: Iterable[Path]) -> tuple[list[Source], list[UserError]]:
    """The files without a fault of their own, and the faults of the others."""
    right: list[Source] = []
    faults: list[UserError] = []
    for path in paths:
        try:
            source = read_yaml(path)
            own_faults = list(faults_of(source))
            own_faults += [
                fault for fault in [find_decomposed(str(path), path.read_bytes())] if fault
            ]
        except UserError as error:
            own_faults = [error]
        else:
            right += [] if own_faults else [source]
        faults += own_faults
    return right, faults


def _skin(document: dict[str, Any], path: str) -> Skin:
    return Skin(
        path=path,
        name=document["name"],
        domain=document["domain"],
        use=document["use"],
        entities=tuple(document["entities"]),
        situation=document["situation"],
        listing=document.get("listing", ""),
        clauses=document["clauses"],
        foreign=document.get("foreign", {}),
        questions={
            kind: {wording: "\n".join(lines) for wording, lines in wordings.items()}
            for kind, wordings in document["questions"].items()
        },
        motion=document.get("motion", {}),
    )


def _former(skins: Sequence[Skin], version: int) -> list[Skin]:
    """Skins of the next version in this one; version 1 had no set test-new."""
    former, now = (
        read_yaml(FOLDER / "versions" / f"{version}.yaml").document,
        Questions().model_dump(),
    )
    return [
        _in_former(skin, former, now, version)
        for skin in skins
        if version > 1 or skin.use != "test-new"
    ]


def _in_former(skin: Skin, former: dict[str, Any], now: dict[str, Any], version: int) -> Skin:
    """A skin in a former version; of a user's skin, only the questions that it leaves to us were
    others.
    """
    former_words = (
        former["skins"].get(skin.name, {})
        if Path(skin.path).resolve().parent == FOLDER.resolve()
        else {}
    )
    asked = former.get("questions", {})
    questions = {
        kind: {
            wording: (
                "\n".join(asked.get(kind, {}).get(wording, now[kind][wording]))
                if text == "\n".join(now[kind][wording])
                else text
            )
            for wording, text in wordings.items()
        }
        for kind, wordings in skin.questions.items()
    }
    words = {
        group: getattr(skin, group) | former_words.get(group, {})
        for group in ("clauses", "foreign", "motion")
    }
    entities, situation = (
        tuple(former_words.get("entities", skin.entities)),
        former_words.get("situation", skin.situation),
    )
    return replace(
        skin,
        entities=entities,
        situation=situation,
        questions=questions,
        stories=skin.stories if version > 2 else FORMER_STORIES,
        counts_always=True,
        **words,
    )


def entities_needed(size: int) -> int:
    """How many entities a skin needs for problems of a size: one is left over that the description
    does not mention.

    >>> entities_needed(8)
    9
    """
    return size + 1


#: Values of ``intraining``: relation in the training sets, not in them, skins of the training sets
#: themselves, and the skins of test-new, none of whose relation words the training sets have.
IN, OUT, MEMORISED, NEW = "ind", "ood", "memorization", "new"
TRAININGS = (IN, OUT, MEMORISED, NEW)


class SkinGroup(NamedTuple):
    """The groups of a skin; None where it belongs to none, as the skins of lines in the plane
    do.
    """

    domain: str | None
    training: str | None


_TEST = {
    "spatial": (
        "obj_LeftRight",
        "people_LeftRight",
        "obj_FrontBack",
        "people_FrontBack",
        "obj_AboveBelow",
        "people_AboveBelow",
    ),
    "temporal": ("trips", "courses", "activities", "shopping", "conversation", "race"),
    "scalar": (
        "old/young",
        "tall/short",
        "rich/poor",
        "faster/slower",
        "happier/sadder",
        "stronger/weaker",
    ),
}
#: The training skins as the released memorisation set calls them.
_RELEASED_TRAINING = {
    "temporal": (
        "activities_theater",
        "birthorder",
        "conversation_colleagues",
        "detective",
        "grocery_store_list",
        "plantation",
        "race_car",
        "renovation",
        "trips_countries",
    ),
    "scalar": (
        "Big/Small/boxes",
        "Heavy/Light/furniture",
        "High/Low/mountains",
        "fast/slow/horses",
        "happy/sad/dog",
        "loud/quiet/neighbors",
        "old/young/cats",
        "tall/short/buildings",
        "warm/cool/rivers",
    ),
}
#: The skins of the released lines in the plane belong to no group.
_RELEASED_PLANAR = (
    "parallel_perpendicular_canals",
    "parallel_perpendicular_drawing",
    "parallel_perpendicular_city",
)
_TRAINED = {
    "old/young",
    "tall/short",
    "faster/slower",
    "happier/sadder",
    "trips",
    "activities",
    "conversation",
    "race",
}
#: The test skins in the order of the paper's Table 3.
TEST_SKINS = tuple(skin for skins in _TEST.values() for skin in skins)
KNOWN = {
    skin: SkinGroup(domain, IN if skin in _TRAINED else OUT)
    for domain, skins in _TEST.items()
    for skin in skins
}
KNOWN |= {
    skin: SkinGroup(domain, MEMORISED)
    for domain, skins in _RELEASED_TRAINING.items()
    for skin in skins
}
KNOWN |= dict.fromkeys(_RELEASED_PLANAR, SkinGroup(None, None))


def group_skins(names: Iterable[str], folder: Path | str | None = None) -> dict[str, SkinGroup]:
    """The groups of skins by name; one that is known nowhere belongs to none.

    Args:
        names: of skins.
        folder: of further skins; None: those of the repository.

    Raises:
        UserError: a skin of the folder is at fault.

    >>> group_skins(["trips"])["trips"]
    SkinGroup(domain='temporal', training='ind')
    """
    wanted = list(names)
    groups = dict(KNOWN)
    if folder is not None or any(name not in KNOWN for name in wanted):
        groups |= _of_folder(folder)
    if unknown := [name for name in wanted if name not in groups]:
        LOGGER.warning(
            "skins that are not known here have no domain, and are in no average by domain: %s",
            ", ".join(unknown),
        )
    return {name: groups.get(name, SkinGroup(None, None)) for name in wanted}


def _of_folder(folder: Path | str | None) -> dict[str, SkinGroup]:
    skins = read_skins(folder or FOLDER)
    trained = {relation_words(skin) for skin in skins if skin.use == "train"}
    groups = {}
    for skin in skins:
        training = {
            "test": IN if relation_words(skin) in trained else OUT,
            "train": MEMORISED,
            "test-new": NEW,
        }.get(skin.use)
        groups[skin.name] = (
            SkinGroup(skin.domain, training) if skin.domain in DOMAINS else SkinGroup(None, None)
        )
    return groups


def tabulate_skins(folder: Path | str = FOLDER, version: int = VERSIONS[-1]) -> pd.DataFrame:
    """The words of all skins of a folder, a row each, as the contract ``Skins`` says."""
    import pandas as pd

    skins = read_skins(folder, version)
    groups = group_skins([skin.name for skin in skins], folder)
    rows = []
    for skin in skins:
        clauses = {
            clause: re.sub(r"\{(\w)\}", lambda slot: slot[1].upper(), text)
            for clause, text in skin.clauses.items()
        }
        relation, converse = PLANAR_CLAUSES if skin.domain == "planar" else ("before", "after")
        rows.append(
            {"skin": skin.name, "domain": skin.domain, "use": skin.use}
            | {"training": groups[skin.name].training, "relation": clauses[relation]}
            | {"converse": clauses[converse], "ternary": clauses.get("between")}
            | {"entities": json.dumps(skin.entities, ensure_ascii=False)}
        )
    frame = pd.DataFrame(rows).astype({"training": "str", "ternary": "str"})
    return frame.sort_values("skin", ignore_index=True)


def relation_words(skin: Skin) -> frozenset[str]:
    """The words of a skin's binary relation and its converse, without names.

    >>> from worldprobe.benchmarks.worldsense.skins.skins import read_skins
    >>> (trips,) = (
    ...     skin for skin in read_skins() if skin.name == "trips"
    ... )  # Bob visited {x} before {y}
    >>> sorted(relation_words(trips))
    ['after', 'before', 'visited']
    """
    text = re.sub(
        r"\{\w\}", " ", f"{skin.clauses.get('before', '')} {skin.clauses.get('after', '')}"
    )
    return frozenset(re.findall(r"(?<!\w)[a-z]+(?!\w)", text))
