"""Time left, by a clock that the test moves: machines become busy and idle."""

from types import SimpleNamespace

import numpy as np
import pytest

from worldprobe import log
from worldprobe.inference.requests import Generate, Work
from worldprobe.models.engine import Decoding, EngineFacts

HOUR = 3600.0


@pytest.fixture
def run(monkeypatch):
    """A run of batches of three seconds, each as many times slower as the load says: seconds since
    its beginning, and by what share of the time that was left it was told wrong.
    """
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def simulate(load):
        rng, clock.now = np.random.default_rng(0), 0.0
        progress, told = log.Progress("Scoring", 1000, prepares=True), []
        clock.now += 20.0  # loading and packing
        for batch in range(int(HOUR / 3)):
            clock.now += 3 * load(clock.now) * rng.lognormal(0, 0.15)
            progress.advance(0, (batch + 1) * 3 / HOUR)
            told.append((clock.now, progress.seconds_left()))
        times = np.array([now for now, _ in told])
        left = clock.now - times
        estimates = np.array([np.nan if one is None else one for _, one in told])
        is_shown = (times > 60) & (left > 60)
        return times[is_shown], np.abs(estimates / np.maximum(left, 1) - 1)[is_shown]

    return simulate


@pytest.mark.parametrize("load", [1.0, 4.0])
def test_time_left_is_right_from_the_first_minute_on(run, load):
    _, wrong = run(lambda _: load)
    assert wrong.max() < 0.25


@pytest.mark.parametrize(("before", "after"), [(1.0, 4.0), (4.0, 1.0)])
def test_a_machine_that_becomes_busy_or_idle_is_followed_within_minutes(run, before, after):
    """It was wrong fourfold for half an hour."""
    changed = HOUR / 2
    times, wrong = run(lambda now: before if now < changed else after)
    assert wrong[times > changed + 6 * 60].max() < 0.25


def test_replies_that_were_read_together_count_once_all_are_written(monkeypatch):
    """Fifty prompts are read in two minutes, then answered within one, the short replies first."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: clock.now))
    facts = EngineFacts("model", None, "0", "writer", "float32", {}, 100, {})
    ids = [str(number) for number in range(400)]
    work = Work(dict.fromkeys(ids, Generate("a prompt of a trial" * 9, Decoding(40))), facts)
    work.begin(ids)
    progress, told = log.Progress("Asking", 400), []
    for place, one in enumerate(ids):
        clock.now += 120 if place % 50 == 0 else 60 / 49
        work.n_waiting = 49 - place % 50
        progress.advance(1, work.finish(one, ["yes", "end", place % 50 * 40 // 50, False, None]))
        told.append((clock.now, progress.seconds_left()))
    shown = [(now, left) for now, left in told if left is not None and clock.now - now > 60]
    assert shown[0][0] == pytest.approx(180)
    wrong = [abs(left / (clock.now - now) - 1) for now, left in shown]
    assert max(wrong) < 0.25


def test_time_left_grows_while_a_batch_takes_longer_than_those_before(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: clock.now))
    progress = log.Progress("Asking", 8)
    for _ in range(3):
        clock.now += 60
        progress.advance(1)
    clock.now += 60
    assert progress.seconds_left() == pytest.approx(240)
    clock.now += 240
    assert progress.seconds_left() == pytest.approx(480), "four such fours, as if it ended now"
