"""Collects the answers to a list of questions: what the store has is reused, the rest is asked and kept as it comes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from worldprobe.errors import UserError
from worldprobe.inference.preemption import Preemption
from worldprobe.inference.store import Kept, Store
from worldprobe.log import LOGGER, Progress

#: Seconds of work that a sudden end may cost; the environment variable changes it where ends are more frequent.
SECONDS_PER_PART = 20.0
VARIABLE = "WORLDPROBE_SECONDS_PER_SHARD"
#: Answers per part at most, so that very fast engines do not hold many in memory.
ANSWERS_PER_PART = 50_000

#: Given questions that are asked together, and the places of those that are known, yields (place, answer as plain JSON).
Ask = Callable[[Sequence[str], Collection[int]], Iterator[tuple[int, Any]]]


def seconds_per_part() -> float:
    """How often answers go to disk.

    Raises:
        UserError: the environment variable is not a number of seconds.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return SECONDS_PER_PART
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86_400:
        raise UserError(f"{VARIABLE}={text}", "is not a number of seconds.", "Set it to a number such as 20, or unset it.")
    return seconds


def collect(questions: Sequence[str], ask: Ask, store: Store, progress: Progress | None = None) -> list[Kept]:
    """All answers in the order of the questions.

    What is not known is asked in lists that are noted on disk first; a list that an earlier run began and did not finish is
    finished as it was begun, so that an interrupted run gives the same bytes as one that was not.

    Args:
        questions: distinct ids of questions.
        ask: asks an engine.
        store: where answers are kept.
        progress: counts answers in units of its own total.

    Raises:
        UserError: the environment variable for the interval is not a number.
        Preempted: SIGTERM came; what was finished is on disk.
    """
    seconds = seconds_per_part()
    known = store.load()
    count = sum(question in known for question in questions)
    if count == len(questions):
        LOGGER.info("%s: all answers are on disk already", progress.what if progress else store.name)
        return [known[question] for question in questions]
    if progress:
        progress.done = progress.already = progress.total * count // len(questions)
    with progress or contextlib.nullcontext(), Preemption() as preemption:
        for name, members in _lists(questions, store):
            _ask_list(name, members, ask, store, preemption, seconds, _Reporter(progress, questions, store))
    return [known[question] for question in questions]


def _lists(questions: Sequence[str], store: Store) -> Iterator[tuple[str, Sequence[str]]]:
    """Lists to ask: those that were begun, then one of all that is in none of them."""
    yield from store.unfinished(questions)
    known = store.load()
    rest = [question for question in questions if question not in known]
    if rest:
        yield store.begin(rest), rest


class _Reporter:
    """Advances the progress by what the store has, in units of the progress."""

    def __init__(self, progress: Progress | None, questions: Sequence[str], store: Store) -> None:
        known = store.load()
        self.progress, self.total = progress, len(questions)
        self.count = sum(question in known for question in questions)

    def advance(self) -> None:
        self.count += 1
        if self.progress and (now := self.progress.total * self.count // self.total) > self.progress.done:
            self.progress.advance(now - self.progress.done)


def _ask_list(
    name: str, members: Sequence[str], ask: Ask, store: Store, preemption: Preemption, seconds: float, reporter: _Reporter
) -> None:
    known = store.load()
    fresh: dict[str, Any] = {}
    last = time.monotonic()
    try:
        for place, answer in ask(members, frozenset(k for k, question in enumerate(members) if question in known)):
            fresh[members[place]] = answer
            if len(fresh) >= ANSWERS_PER_PART or time.monotonic() - last >= seconds:
                with preemption.held():
                    store.write(name, fresh)
                    fresh = {}
                last = time.monotonic()
            reporter.advance()
    finally:
        with preemption.held():
            store.write(name, fresh)
