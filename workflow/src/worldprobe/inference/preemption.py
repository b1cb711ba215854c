"""SIGTERM: what is finished goes to disk whole, nothing half-written stays, and the exit status
asks for the command again.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from worldprobe.log import LOGGER

#: Exit status of a run that was asked to stop (EX_TEMPFAIL): the same command continues later.
PREEMPTED = 75


class Preempted(SystemExit):
    """SIGTERM came: what was being computed is dropped, what was finished is on disk."""

    def __init__(self) -> None:
        super().__init__(PREEMPTED)


class Preemption:
    """While it is open, SIGTERM raises ``Preempted`` at once, or at the end of a held section."""

    def __init__(self) -> None:
        self.is_held = False
        self.has_come = False
        self.before: Any = None

    def __enter__(self) -> Preemption:
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGTERM, self._come)
        return self

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGTERM, self.before)

    def _come(self, number: int, frame: FrameType | None) -> None:
        self.has_come = True
        LOGGER.warning(
            "asked to stop: finished work is kept, the same command continues from there"
        )
        if not self.is_held:
            raise Preempted

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let a part be written whole before the process ends."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
        if self.has_come:
            raise Preempted
