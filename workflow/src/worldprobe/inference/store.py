"""Answers on disk, one store per engine identity, keyed by question: a question is asked once,
whichever study wants it.

A store is a folder named by the digest of everything about the engine that can change an answer. It
contains

* ``identity.json``: that identity, and the canary lines of the materials whose items were asked
  (answers may repeat their words);
* ``list-*.json``: questions that were asked together. What an engine computes together moves sums
  by float noise, so a run that was interrupted continues with the same list and gives the same
  bytes;
* ``part-*.jsonl``: finished answers, written whole, with the process that computed them, its
  seconds and the canary lines in the first line.

Parts and lists are named by the digest of their content. One that is damaged is ignored and its
answers are computed again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.errors import MachineError, UserError
from worldprobe.files import write_text
from worldprobe.log import LOGGER

if TYPE_CHECKING:
    from worldprobe.models.engine import Engine


@dataclass(frozen=True)
class StoredPart:
    """The first line of a part.

    Attributes:
        questions: name of the list of questions that were asked together.
        process: facts of the process that computed the answers; see ``EngineFacts.process``.
        seconds: the process's time since the part before, or since it began to load the model.
        devices: GPUs (or processes on CPUs) that it took.
    """

    questions: str
    process: Mapping[str, Any]
    seconds: float
    devices: int


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer of the store: plain JSON, and the part that it comes from."""

    answer: Any
    part: StoredPart


class Store:
    """The answers of one engine identity.

    Args:
        root: folder of all stores, for example results/.answers.
        identity: whatever about the engine can move an answer; must survive JSON.
        process: facts of this process, recorded with each answer that it computes.
        devices: GPUs that this process takes.
        canary: canary of the items that are asked.
        since: monotonic time at which this process began to load the model; now, if not given.
        kept_since: answers of before this time (seconds since 1970) do not count: they are asked
            again, and replaced.
    """

    def __init__(
        self,
        root: Path | str,
        identity: Mapping[str, Any],
        process: Mapping[str, Any] | None = None,
        devices: int = 1,
        canary: str | None = None,
        since: float | None = None,
        kept_since: float = 0.0,
    ) -> None:
        self.identity = json.loads(json.dumps(identity))
        self.name = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[
            :32
        ]
        self.folder = Path(root) / self.name
        self.process, self.devices = json.loads(json.dumps(process or {})), devices
        self.since = time.monotonic() if since is None else since
        self.kept_since = kept_since
        self.canaries = {canary} if canary else set()
        self._seen: set[str] = set()
        self._kept: dict[str, Kept] = {}
        self._number = 0

    def load(self) -> Mapping[str, Kept]:
        """Question -> answer, of all whole parts; where two answer one question, the later part
        counts, once known the known one.

        Raises:
            UserError: the identity in the folder is not this engine's.
        """
        self._check_identity()
        new: dict[str, Kept] = {}
        for path in sorted(self.folder.glob("part-*.jsonl")):
            if path.name in self._seen:
                continue
            self._seen.add(path.name)
            self._number = max(self._number, int(path.name.split("-")[1]))
            if path.stat().st_mtime < self.kept_since:
                continue
            part = _read_part(path)
            if part is None:
                LOGGER.warning("%s is damaged and ignored: its answers are computed again", path)
                continue
            new |= part
        for question, kept in new.items():
            self._kept.setdefault(question, kept)
        return self._kept

    def write(self, questions: str, answers: Mapping[str, Any]) -> None:
        """Put answers on disk as one whole file.

        Args:
            questions: name of the list that they belong to.
            answers: question -> answer as plain JSON.
        """
        self._write_identity()
        stored = self.load()  # also what another process wrote meanwhile
        answers = {
            question: answer for question, answer in answers.items() if question not in stored
        }
        if not answers:
            return
        now = time.monotonic()
        part = StoredPart(questions, self.process, round(now - self.since, 3), self.devices)
        self.since = now
        head = {
            "questions": part.questions,
            "process": part.process,
            "seconds": part.seconds,
            "devices": part.devices,
        }
        head |= {"canary": sorted(self.canaries)} if self.canaries else {}
        text = "".join(
            json.dumps(line) + "\n"
            for line in (head, *([key, answers[key]] for key in sorted(answers)))
        )
        self._number += 1
        path = self.folder / f"part-{self._number:06d}-{_digest(text.encode())}.jsonl"
        write_text(path, text)
        self._seen.add(path.name)
        for question, answer in answers.items():
            self._kept.setdefault(question, Kept(json.loads(json.dumps(answer)), part))

    def begin(self, questions: Sequence[str]) -> str:
        """Note a list of questions that are asked together; returns its name."""
        self._write_identity()
        text = json.dumps(list(questions)) + "\n"
        name = _digest(text.encode())
        path = self.folder / f"list-{name}.json"
        if _read_list(path) is None:
            write_text(path, text)
        return name

    def unfinished(self, wanted: Collection[str]) -> Iterator[tuple[str, list[str]]]:
        """Lists of earlier runs that are not finished and that ask nothing but what is wanted: name
        and questions.
        """
        wanted = set(wanted)
        for path in sorted(self.folder.glob("list-*.json")):
            questions = _read_list(path)
            if questions is None:
                LOGGER.warning("%s is damaged and ignored", path)
            elif wanted.issuperset(questions) and not self._kept.keys() >= set(questions):
                yield path.stem.removeprefix("list-"), questions

    def add_canary(self, canary: str | None) -> None:
        """Items with this canary are asked too."""
        if canary:
            self.canaries.add(canary)

    def _check_identity(self) -> None:
        path = self.folder / "identity.json"
        if not path.is_file():
            return
        recorded = _read_identity(path)
        if recorded is None:
            LOGGER.warning("%s is damaged and is written again", path)
            self._write_identity()
        elif recorded["identity"] != self.identity:
            problem = (
                "describes another engine or model: the folder contains answers of another engine"
                " under this one's name."
            )
            raise UserError(
                str(path), problem, "Remove this folder; its questions are asked again."
            )
        elif not self.canaries <= set(recorded["canary"]):
            self._write_identity()  # also where every answer is known already

    def _write_identity(self) -> None:
        path = self.folder / "identity.json"
        recorded = _read_identity(path)
        canaries = set(recorded["canary"]) if recorded else set()
        if recorded is None or not self.canaries <= canaries:
            write_text(
                path,
                json.dumps(
                    {"canary": sorted(canaries | self.canaries), "identity": self.identity},
                    indent=1,
                )
                + "\n",
            )


def open_store(
    root: Path | str,
    engine: Engine,
    since: float | None = None,
    kept_since: float = 0.0,
) -> Store:
    """The store of a loaded engine; see ``Store``."""
    facts = engine.facts
    return Store(
        root,
        facts.identity(),
        facts.process(),
        facts.devices,
        since=since,
        kept_since=kept_since,
    )


def read_parts(folder: Path) -> list[tuple[StoredPart, list[Any]]]:
    """All whole parts of a store's folder, each with its answers as plain JSON."""
    parts = [_read_part(path) for path in sorted(folder.glob("part-*.jsonl"))]
    return [
        (next(iter(kept.values())).part, [entry.answer for entry in kept.values()])
        for kept in parts
        if kept
    ]


def _read_identity(path: Path) -> dict[str, Any] | None:
    try:
        recorded: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return recorded


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read_lines(path: Path) -> list[Any] | None:
    """The lines of a file whose name ends in its digest, or None where the digest does not fit."""
    try:
        content = path.read_bytes()
    except OSError as error:
        problem = f"holds answers and cannot be read ({error.strerror})."
        fix = "Ask its owner to allow it (chmod -R g+rX), or keep answers elsewhere: --answers."
        raise MachineError(path, problem, fix) from error
    is_whole = path.stem.endswith(f"-{_digest(content)}")
    return [json.loads(line) for line in content.split(b"\n")[:-1]] if is_whole else None


def _read_part(path: Path) -> dict[str, Kept] | None:
    lines = _read_lines(path)
    if not lines:
        return None
    head, *answers = lines
    part = StoredPart(head["questions"], head["process"], head["seconds"], head["devices"])
    return {question: Kept(answer, part) for question, answer in answers}


def _read_list(path: Path) -> list[str] | None:
    lines = _read_lines(path) if path.exists() else None
    return lines[0] if lines else None
