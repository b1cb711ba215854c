"""Searches a folder for protected sentences, and for files of materials, items and answers that carry no canary."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from worldprobe.archives import LARGEST
from worldprobe.benchmarks.ewok.passing_on.canaries import is_part_of_store, lacks_canary
from worldprobe.benchmarks.ewok.passing_on.texts import contents, files_below
from worldprobe.benchmarks.ewok.passing_on.wordings import Wordings
from worldprobe.errors import UserError
from worldprobe.log import Progress


@dataclass
class Findings:
    """What a search found; nothing of the texts themselves.

    Attributes:
        sentences: place -> number of different protected sentences there.
        without_canary: places.
        unread: place -> why it could not be searched.
        encrypted: number of members of archives that are encrypted, as they should be.
        n_files: how many files were searched.
    """

    sentences: dict[str, int] = field(default_factory=dict)
    without_canary: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    encrypted: int = 0
    n_files: int = 0

    def is_clean(self) -> bool:
        """Whether everything was searched and nothing found."""
        return not (self.sentences or self.without_canary or self.unread)


def search_folder(folder: Path, wordings: Wordings | None) -> Findings:
    """Search every file of a folder, hidden ones, tables and archives included.

    Args:
        folder: a folder, or a single file.
        wordings: of the protected materials; None: look for canaries only.

    Raises:
        UserError: there is no such folder.
    """
    if not folder.exists():
        raise UserError(folder, "there is no such folder.", "Check the path.")
    findings = Findings()

    def skip(error: OSError) -> None:
        findings.unread[os.path.relpath(error.filename, folder)] = f"cannot be listed ({error.strerror})"

    paths = [folder] if folder.is_file() else list(files_below(folder, skip))
    findings.n_files = len(paths)
    with Progress("Searching", len(paths), "files") as progress:
        for path in paths:
            name = path.name if path == folder else path.relative_to(folder).as_posix()
            _search_file(path, name, wordings, findings)
            progress.advance()
    return findings


def _search_file(path: Path, name: str, wordings: Wordings | None, findings: Findings) -> None:
    try:
        if path.stat().st_size <= LARGEST and lacks_canary(path.as_posix(), path.read_bytes(), _identity(path)):
            findings.without_canary.append(name)
    except OSError as error:
        findings.unread[name] = f"cannot be read ({error.strerror})"
        return
    found: dict[str, set[int]] = {}
    for content in contents(path, name) if wordings is not None else ():
        if content.text is None:
            findings.unread[content.place] = content.problem
        elif content.problem:
            findings.encrypted += 1
        elif wordings is not None:
            found.setdefault(content.place, set()).update(wordings.find(content.text))
    findings.sentences |= {place: len(numbers) for place, numbers in found.items() if numbers}


def _identity(path: Path) -> bytes | None:
    """What the store of answers that a file belongs to says of itself."""
    beside = path.with_name("identity.json")
    return beside.read_bytes() if is_part_of_store(path.name) and beside.is_file() else None
