"""One log per job: a line every ten seconds, a bar only where a person is watching."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType

LOGGER = logging.getLogger("worldprobe")
SECONDS_BETWEEN_LINES = 10.0


class _StandardError(logging.StreamHandler):
    """Writes to what standard error is at that moment, as it may be redirected."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def configure(verbose: bool = False) -> None:
    """Send the log to standard error, once."""
    if not LOGGER.handlers:
        handler = _StandardError()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S"))
        LOGGER.addHandler(handler)
        LOGGER.propagate = False
    LOGGER.setLevel(logging.DEBUG if verbose else logging.INFO)


class Progress:
    """Counts finished units: done/total, rate and time left, as lines in a file or one bar on a terminal.

    Args:
        problem: what is being done, e.g. "Scoring gpt2".
        total: units in all.
        unit: the unit's name in the plural.
        done: units that an earlier run already finished; they do not count into the rate.
    """

    def __init__(self, what: str, total: int, unit: str = "items", done: int = 0) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done, self.already = done, done
        self.started = self.last = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        if self.already:
            LOGGER.info("%s: %d of %d %s are finished already", self.what, self.already, self.total, self.unit)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.is_terminal and self.done > self.already:
            sys.stderr.write("\n")
        elif kind is None:
            LOGGER.info("%s", self.line())

    def line(self) -> str:
        """The present state in words."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        rate = (self.done - self.already) / seconds
        left = f", {(self.total - self.done) / rate:.0f} s left" if rate > 0 and self.done < self.total else ""
        return f"{self.what}: {self.done}/{self.total} {self.unit}, {rate:.1f}/s{left}"

    def advance(self, count: int = 1) -> None:
        """Count finished units and report when it is time to."""
        self.done += count
        now = time.monotonic()
        if self.is_terminal and (now - self.last >= 0.2 or self.done >= self.total):
            filled = int(30 * self.done / max(self.total, 1))
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {self.line()}\033[K")
            sys.stderr.flush()
            self.last = now
        elif not self.is_terminal and now - self.last >= SECONDS_BETWEEN_LINES:
            LOGGER.info("%s", self.line())
            self.last = now
