"""Skins: the words that turn entities and relations into sentences (paper, Section 3.2; ``resources/skins``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from worldprobe.benchmarks.worldsense.skins.skin_file import Questions, at_key, faults_between, faults_of, read_skin
from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import RESOURCES
from worldprobe.settings import Source, read_yaml

FOLDER = RESOURCES / "skins"
SUFFIXES = (".yaml", ".yml")
#: Versions of the sets' wording, and what version 1 said otherwise: its questions, and the words of our skins.
VERSIONS = (1, 2)
VERSION_1 = FOLDER / "versions" / "1.yaml"


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
    path: str = field(default="", repr=False, compare=False)


def read_skins(folder: Path | str = FOLDER, version: int = VERSIONS[-1]) -> list[Skin]:
    """All skins of a folder, sorted by use, domain and name.

    Args:
        folder: of YAML files.
        version: of the wording; in version 1 there was no set test-new.

    Raises:
        UserError: the first fault, by file and line.
    """
    skins, faults = check_skins(folder)
    if faults:
        first, more = faults[0], len(faults) - 1
        raise UserError(
            first.where, first.problem, first.fix + (f" ({more} more: worldprobe worldsense skins check)" if more else "")
        )
    return skins if version == VERSIONS[-1] else [_former(skin) for skin in skins if skin.use != "test-new"]


def read_all_wordings(folder: Path | str = FOLDER) -> list[Skin]:
    """The skins of a folder in every version of the wording, the newest first, to read texts by."""
    return [skin for version in reversed(VERSIONS) for skin in read_skins(folder, version)]


def check_skins(folder: Path | str = FOLDER) -> tuple[list[Skin], list[UserError]]:
    """The skins of a folder (or of one file) that are right, and all faults of the others.

    One file is compared with the right skins next to it, whose own faults are not counted.

    Raises:
        UserError: there is no skin at all.
    """
    place = Path(folder)
    paths = skin_files(place) if place.is_dir() else [place]
    if not paths:
        raise UserError(folder, "contains no skin.", "Give a folder of .yaml files, or one such file.")
    right, faults = _right_sources(paths)
    others = [] if place.is_dir() else [path for path in skin_files(place.parent) if path.resolve() != place.resolve()]
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
            found = list(faults_of(source))
        except UserError as error:
            found = [error]
        else:
            right += [] if found else [source]
        faults += found
    return right, faults


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
    )


def _former(skin: Skin) -> Skin:
    """A skin in version 1; of a user's skin, only the questions that it leaves to us were others."""
    former = read_yaml(VERSION_1).document
    now = Questions().model_dump()
    own = former["skins"].get(skin.name, {}) if Path(skin.path).resolve().parent == FOLDER.resolve() else {}
    questions = {
        kind: {
            wording: "\n".join(former["questions"].get(kind, {}).get(wording, now[kind][wording]))
            if text == "\n".join(now[kind][wording])
            else text
            for wording, text in wordings.items()
        }
        for kind, wordings in skin.questions.items()
    }
    return replace(
        skin,
        entities=tuple(own.get("entities", skin.entities)),
        situation=own.get("situation", skin.situation),
        clauses=skin.clauses | own.get("clauses", {}),
        foreign=skin.foreign | own.get("foreign", {}),
        questions=questions,
    )


def entities_needed(size: int) -> int:
    """How many entities a skin needs for problems of a size: one is left over that the description does not mention.

    >>> entities_needed(8)
    9
    """
    return size + 1
