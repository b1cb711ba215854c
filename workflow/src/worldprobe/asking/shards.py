"""Answers on disk as they come, named by what made them: a second run, on any machine, goes on where the first one ended.

The folder's name is a digest of everything that can move an answer (queries, checkpoint, dtype, start convention, method, package
versions), so old answers are never mixed with new ones. Each shard is one whole file, named by its content.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from worldprobe.files import write_text
from worldprobe.log import LOGGER, Progress

#: Exit status of a run that was asked to stop (EX_TEMPFAIL): the same command goes on later.
PREEMPTED = 75
#: How much work a sudden end may cost; WORLDPROBE_SECONDS_PER_SHARD changes it where ends are more frequent.
SECONDS_PER_SHARD = float(os.environ.get("WORLDPROBE_SECONDS_PER_SHARD", "20"))
#: Answers per shard at most, so that very fast engines do not hold many in memory.
ANSWERS_PER_SHARD = 50_000

Answer = TypeVar("Answer")


class Preempted(SystemExit):
    """SIGTERM came: the running batch is dropped, finished answers are on disk."""

    def __init__(self) -> None:
        super().__init__(PREEMPTED)


class Shards:
    """The answers to one list of questions.

    Args:
        root: the folder of all shards, e.g. results/.shards.
        identity: whatever can move an answer; must survive JSON.
    """

    def __init__(self, root: Path | str, identity: Mapping[str, Any]) -> None:
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        self.folder = Path(root) / hashlib.sha256(text.encode()).hexdigest()[:32]
        self.identity = text

    def load(self) -> dict[int, Any]:
        """Index of the question -> answer as plain JSON; a file that is no whole shard of this list is ignored."""
        answers: dict[int, Any] = {}
        for path in sorted(self.folder.glob("shard-*.jsonl")):
            text = path.read_text(encoding="utf-8")
            if path.name != _shard_name(text):
                LOGGER.warning("%s is damaged and ignored", path)
                continue
            answers |= dict(map(json.loads, text.splitlines()))
        return answers

    def write(self, answers: Mapping[int, Any]) -> None:
        """Put answers on disk as one whole file."""
        if not answers:
            return
        if not (self.folder / "identity.json").exists():
            write_text(self.folder / "identity.json", self.identity + "\n")
        text = "".join(json.dumps([index, answers[index]], ensure_ascii=False) + "\n" for index in sorted(answers))
        write_text(self.folder / _shard_name(text), text)


def _shard_name(text: str) -> str:
    return f"shard-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"


def collect(
    ask: Callable[[Collection[int]], Iterator[tuple[int, Answer]]],
    total: int,
    shards: Shards,
    to_json: Callable[[Answer], Any],
    from_json: Callable[[Any], Answer],
    progress: Progress | None = None,
) -> list[Answer]:
    """All answers in the order of the questions, those of earlier runs from their shards.

    Args:
        ask: given the indexes to skip, yields (index, answer) in any order.
        total: number of questions.
        shards: where answers are kept.
        to_json: answer -> plain JSON; the file's floats are exact.
        from_json: the inverse.
        progress: counts answers in units of its own total.

    Raises:
        Preempted: SIGTERM came; what was finished is on disk.
    """
    known = {index: from_json(answer) for index, answer in shards.load().items() if index < total}
    if len(known) == total:
        LOGGER.info("%s: all answers are on disk already", progress.what if progress else shards.folder.name)
        return [known[i] for i in range(total)]
    fresh: dict[int, Any] = {}
    last = time.monotonic()
    reported = 0
    if progress:
        progress.done = progress.already = reported = progress.total * len(known) // total
    with progress or contextlib.nullcontext(), _Preemption() as preemption:
        try:
            for index, answer in ask(frozenset(known)):
                known[index] = answer
                fresh[index] = to_json(answer)
                if len(fresh) >= ANSWERS_PER_SHARD or time.monotonic() - last >= SECONDS_PER_SHARD:
                    with preemption.held():
                        shards.write(fresh)
                        fresh = {}
                    last = time.monotonic()
                if progress and (now := progress.total * len(known) // total) > reported:
                    progress.advance(now - reported)
                    reported = now
        finally:
            with preemption.held():
                shards.write(fresh)
    return [known[i] for i in range(total)]


class _Preemption:
    """While it is open, SIGTERM raises ``Preempted`` at once, or at the end of a held section."""

    def __init__(self) -> None:
        self.is_held = False
        self.has_come = False
        self.before: Any = None

    def __enter__(self) -> _Preemption:
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGTERM, self._come)
        return self

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGTERM, self.before)

    def _come(self, number: int, frame: FrameType | None) -> None:
        self.has_come = True
        LOGGER.warning("asked to stop: finished answers are kept, the same command goes on from there")
        if not self.is_held:
            raise Preempted

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let a shard be written whole before the process ends."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
        if self.has_come:
            raise Preempted
