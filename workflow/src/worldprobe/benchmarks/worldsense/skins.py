"""Skins: the words that turn entities and relations into sentences (paper, Section 3.2; ``resources/skins``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldprobe.benchmarks.worldsense.skin_faults import faults_between, faults_of
from worldprobe.config import Source, read_yaml, with_defaults
from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import RESOURCES

FOLDER = RESOURCES / "skins"
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Skin:
    """One skin, with the defaults of its schema filled in.

    Attributes:
        name: as it is called in the sets.
        domain: spatial, temporal, scalar or planar.
        use: test, train or ood-problem.
        in_training: whether the training sets contain a test skin's relation.
        relation_of: the test skin whose relation a training skin has, if any.
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
    in_training: bool
    relation_of: str | None
    entities: tuple[str, ...]
    situation: str
    listing: str
    clauses: dict[str, str]
    foreign: dict[str, str]
    questions: dict[str, dict[str, str]]
    path: str = field(default="", repr=False, compare=False)


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
            faults.append(fault)
    wrong = {fault.where.partition(", line ")[0] for fault in faults}
    skins = [_skin(with_defaults(source.document, "skin"), source.name) for source in right if source.name not in wrong]
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


def entities_needed(size: int) -> int:
    """How many entities a skin needs for problems of a size: one is left over that the description does not mention.

    >>> entities_needed(8)
    9
    """
    return size + 1
