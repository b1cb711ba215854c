"""One log per job: a line every ten seconds, a bar only where a person is watching."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from types import TracebackType

LOGGER = logging.getLogger("worldprobe")
SECONDS_BETWEEN_LINES = 10.0
#: Units that come with less than a pause between them were finished together, and are all there
#: after the longest burst; seconds.
PAUSE = 0.01
LONGEST_BURST = 0.5
#: So many points in the later half of the time so far tell how fast work is done now.
FEWEST_POINTS = 20
#: No more than these last seconds tell it: a long run on a machine that becomes busy would be told
#: wrong for as long again.
LATEST = 300.0


class _StandardError(logging.StreamHandler):
    """Writes to what standard error is at that moment, as it may be redirected."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def configure(verbose: bool = False) -> None:
    """Send the log to standard error, once."""
    if not LOGGER.handlers:
        handler = _StandardError()
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
        )
        LOGGER.addHandler(handler)
        LOGGER.propagate = False
    LOGGER.setLevel(logging.DEBUG if verbose else logging.INFO)


class Progress:
    """Counts finished units: done/total, rate and time left, as lines in a file or one bar on a
    terminal.

    Units may differ in what they cost, and may be finished many at once. Time left is therefore
    computed from the share of all work that is done, as of the end of what was finished together: a
    line is written when the next units come. Machines become busy and idle, so the later half of
    the time so far counts, and of that the last five minutes.

    Args:
        what: what is being done, e.g. "Scoring gpt2".
        total: units in all.
        unit: the unit's name in the plural.
        done: units that an earlier run already finished; they do not count into the rate.
        prepares: the first units to come took all preparations too, so time left is told by the
            later ones alone.
    """

    def __init__(
        self, what: str, total: int, unit: str = "items", done: int = 0, prepares: bool = False
    ) -> None:
        self.what, self.total, self.unit, self.prepares = what, total, unit, prepares
        self.done, self.already = done, done
        self.share = 0.0
        self.first: tuple[float, float] | None = None
        self.points: deque[tuple[float, float]] = deque(maxlen=100_000)
        self.started = self.last = self.latest = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        if self.already:
            LOGGER.info(
                "%s: %d of %d %s are finished already",
                self.what,
                self.already,
                self.total,
                self.unit,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_terminal and self.done > self.already:
            self._draw()
            sys.stderr.write("\n")
        elif kind is None:
            LOGGER.info("%s", self.line())

    def seconds_left(self) -> float | None:
        """Estimated seconds until all is done; None before enough is."""
        began, before = self.first if self.first and self.prepares else (self.started, 0.0)
        if self.share <= before or (self.prepares and self.first is None):
            return None
        since = max((began + self.latest) / 2, self.latest - LATEST)
        while len(self.points) > 1 and self.points[1][0] <= since:
            self.points.popleft()
        if self.points and began < self.points[0][0] <= since and len(self.points) >= FEWEST_POINTS:
            began, before = self.points[0]
        now, done = time.monotonic(), self.share - before
        needed = (self.latest - began) / done * (1 - self.share) - (now - self.latest)
        step = done / (len(self.points) + 1)
        # What takes longer than a step has until now slows all that follows: as if it ended now.
        slowed = (now - began) / (done + step) * (1 - self.share - step)
        return max(needed, slowed, 0.0)

    def line(self) -> str:
        """The present state in words."""
        rate = (self.done - self.already) / max(time.monotonic() - self.started, 1e-9)
        left = self.seconds_left()
        later = "" if left is None or self.done >= self.total else f", {left:.0f} s left"
        return f"{self.what}: {self.done}/{self.total} {self.unit}, {rate:.1f}/s{later}"

    def advance(self, count: int = 1, share: float | None = None) -> None:
        """Count finished units and report when it is time to.

        Args:
            count: units.
            share: of this run's work, how much is done with them; the units', where all cost the
                same.
        """
        now = time.monotonic()
        waited = now - self.last - (0.2 if self.is_terminal else SECONDS_BETWEEN_LINES)
        if self.first is None and self.share and now - self.latest >= PAUSE:
            self.first = self.latest, self.share
        if self.done == self.already:
            self.last = now
        elif waited >= LONGEST_BURST or (waited >= 0 and now - self.latest >= PAUSE):
            if self.is_terminal:
                self._draw()
            else:
                LOGGER.info("%s", self.line())
            self.last = now
        self.done += count
        if share is None:
            share = (self.done - self.already) / max(self.total - self.already, 1)
        if share != self.share:
            if now > self.latest and self.share:
                self.points.append((self.latest, self.share))
            self.share, self.latest = share, now

    def skip(self, count: int = 1) -> None:
        """Count units that an earlier run finished: they say nothing about the time that others
        take.
        """
        self.done, self.already = self.done + count, self.already + count
        self.share = (self.done - self.already) / max(self.total - self.already, 1)
        if not self.share:
            self.started = self.latest = time.monotonic()

    def _draw(self) -> None:
        filled = int(30 * self.done / max(self.total, 1))
        sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {self.line()}\033[K")
        sys.stderr.flush()
