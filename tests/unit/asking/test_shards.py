"""Finished work survives: resumed after any end, never mixed with what something else made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from worldprobe.asking import shards as module
from worldprobe.asking.shards import PREEMPTED, Shards, collect

SOURCE = Path(module.__file__).resolve().parents[2]


def same(answer):
    return answer


def squares(asked, stop_before=None):
    """An engine of squares that notes what it is asked, and can die."""

    def ask(skip):
        for i in range(9, -1, -1):
            if i == stop_before:
                raise KeyboardInterrupt
            if i not in skip:
                asked.append(i)
                yield i, i * i

    return ask


def test_an_interrupted_run_goes_on_and_asks_nothing_twice(tmp_path):
    asked: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        collect(squares(asked, stop_before=4), 10, Shards(tmp_path, {"a": 1}), same, same)
    assert asked == [9, 8, 7, 6, 5]
    assert collect(squares(asked), 10, Shards(tmp_path, {"a": 1}), same, same) == [i * i for i in range(10)]
    assert sorted(asked) == list(range(10)), "each question is asked once over both runs"
    assert collect(squares(asked), 10, Shards(tmp_path, {"a": 1}), same, same)[3] == 9
    assert len(asked) == 10, "a third run asks nothing"


@pytest.mark.parametrize("change", [{"dtype": "bfloat16"}, {"revision": "b"}, {"queries": "y"}, {"extra": None}])
def test_another_dtype_revision_or_list_of_queries_never_meets_old_answers(tmp_path, change):
    identity = {"dtype": "float32", "revision": "a", "queries": "x"}
    collect(squares([]), 10, Shards(tmp_path, identity), same, same)
    assert Shards(tmp_path, identity | change).load() == {}
    assert len(Shards(tmp_path, dict(reversed(identity.items()))).load()) == 10


def test_a_damaged_or_half_written_shard_is_ignored(tmp_path):
    shards = Shards(tmp_path, {})
    shards.write({0: 0.1, 1: 1e-17})
    shards.write({2: 4})
    assert shards.load() == {0: 0.1, 1: 1e-17, 2: 4}
    victim = next(p for p in shards.folder.glob("shard-*") if "1e-17" in p.read_text())
    victim.write_text(victim.read_text()[:-5])
    (shards.folder / ".shard-0.jsonl.host.1.part").write_text("[7, 7]\n")
    assert shards.load() == {2: 4}


def test_answers_go_to_disk_while_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ANSWERS_PER_SHARD", 3)
    shards = Shards(tmp_path, {})
    on_disk = []

    def ask(skip):
        for i in range(7):
            on_disk.append(len(shards.load()))
            yield i, i

    collect(ask, 7, shards, same, same)
    assert on_disk == [0, 0, 0, 3, 3, 3, 6]


SLOW = """
import sys, time
from worldprobe.asking import shards
shards.SECONDS_PER_SHARD = 0.2
def ask(skip):
    for i in range(100):
        if i not in skip:
            time.sleep(0.02)
            print(i, flush=True)
            yield i, i * 0.1
shards.collect(ask, 100, shards.Shards(sys.argv[1], {}), float, float)
"""


def run_and_stop(folder: Path, number: signal.Signals) -> tuple[int, list[int]]:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(folder)], stdout=subprocess.PIPE, text=True, env=environment)
    asked = [int(process.stdout.readline()) for _ in range(30)]
    process.send_signal(number)
    rest, _ = process.communicate(timeout=30)
    return process.returncode, asked + [int(line) for line in rest.split()]


def test_sigterm_keeps_what_is_finished_and_exits_with_a_code_to_retry(tmp_path):
    code, asked = run_and_stop(tmp_path, signal.SIGTERM)
    assert code == PREEMPTED == 75
    assert 29 <= len(asked) < 100
    kept = Shards(tmp_path, {}).load()
    assert len(asked) - 1 <= len(kept) <= len(asked)
    assert all(kept[i] == i * 0.1 for i in kept)


def test_kill_9_loses_at_most_the_current_shard(tmp_path):
    code, asked = run_and_stop(tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    kept = Shards(tmp_path, {}).load()
    assert len(kept) >= 10, f"{len(kept)} of {len(asked)} answers, at 50 answers and 5 shards a second"
    assert all(kept[i] == i * 0.1 for i in kept)


def test_sigterm_inside_a_write_lets_the_shard_become_whole(tmp_path, monkeypatch):
    written = module.write_text

    def slow(path, text):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
        written(path, text)

    monkeypatch.setattr(module, "write_text", slow)
    monkeypatch.setattr(module, "ANSWERS_PER_SHARD", 2)
    with pytest.raises(SystemExit) as stop:
        collect(squares([]), 10, Shards(tmp_path, {}), same, same)
    assert stop.value.code == PREEMPTED
    assert Shards(tmp_path, {}).load() == {9: 81, 8: 64}
