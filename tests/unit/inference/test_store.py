"""Answers survive: resumed after any end, asked once whatever wants them, never mixed with what
something else made.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.inference import requests as module
from worldprobe.inference import store as storing
from worldprobe.inference.preemption import PREEMPTED
from worldprobe.inference.requests import collect, describe_origins
from worldprobe.inference.store import Store
from worldprobe.provenance import Provenance
from worldprobe.report.runtimes import cost, cost_by_model

SOURCE = Path(module.__file__).resolve().parents[2]
TEN = [f"q{i}" for i in range(10)]
ODD = "one\u2028two\u2029three\u0085four\x0bfive\x0c\r\n \ud83d six"


def squares(asked, stop_before=None):
    """An engine of squares, last question first, that notes what it is asked, and can die."""

    def ask(questions, skip):
        for place in reversed(range(len(questions))):
            if questions[place] == stop_before:
                raise KeyboardInterrupt
            if place not in skip:
                asked.append(questions[place])
                yield place, int(questions[place][1:]) ** 2

    return ask


def answers(found):
    return [kept.answer for kept in found]


def test_an_interrupted_run_continues_and_asks_nothing_twice(tmp_path):
    asked: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        collect(TEN, squares(asked, stop_before="q4"), Store(tmp_path, {"a": 1}))
    assert asked == ["q9", "q8", "q7", "q6", "q5"]
    assert answers(collect(TEN, squares(asked), Store(tmp_path, {"a": 1}))) == [
        i * i for i in range(10)
    ]
    assert sorted(asked) == TEN, "each question is asked once over both runs"
    collect(TEN, squares(asked), Store(tmp_path, {"a": 1}))
    assert len(asked) == 10, "a third run asks nothing"


def test_one_more_question_asks_only_what_is_new_and_the_origins_say_so(tmp_path):
    asked: list[str] = []
    collect(TEN, squares(asked), Store(tmp_path, {}))
    asked.clear()
    store = Store(tmp_path, {})
    found = collect([*TEN, "q11"], squares(asked), store)
    assert asked == ["q11"]
    assert [entry["answers"] for entry in describe_origins(found, store)["made_by"]] in (
        [10, 1],
        [1, 10],
    )


def test_an_interrupted_list_is_finished_as_it_was_begun_though_more_is_wanted_by_then(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(TEN, squares([], stop_before="q4"), Store(tmp_path, {}))
    lists: list[tuple[int, int]] = []

    def ask(questions, skip):
        lists.append((len(questions), len(skip)))
        yield from squares([])(questions, skip)

    collect([*TEN, "q11", "q12"], ask, Store(tmp_path, {}))
    assert lists == [
        (10, 5),
        (2, 0),
    ], "the old list whole, with what it knows skipped; then the new questions"


def test_answers_of_before_a_time_are_asked_again_and_the_new_ones_count_from_then_on(tmp_path):
    collect(TEN, squares([]), Store(tmp_path, {}))
    for path in tmp_path.glob("*/part-*"):
        os.utime(path, (1000, 1000))
    asked: list[str] = []

    def cubes(questions, skip, stop_before=None):
        for place, answered in squares(asked, stop_before)(questions, skip):
            yield place, answered * int(questions[place][1:])

    with pytest.raises(KeyboardInterrupt):
        collect(
            TEN,
            lambda questions, skip: cubes(questions, skip, "q4"),
            Store(tmp_path, {}, kept_since=2000),
        )
    assert answers(collect(TEN, cubes, Store(tmp_path, {}, kept_since=2000))) == [
        i**3 for i in range(10)
    ]
    assert sorted(asked) == TEN, "a second attempt of the same run goes on where the first ended"
    assert answers(collect(TEN, squares(asked), Store(tmp_path, {}))) == [i**3 for i in range(10)]
    assert len(asked) == 10


def test_an_interrupted_run_and_one_that_was_not_have_the_same_origins(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(TEN, squares([], stop_before="q4"), Store(tmp_path / "a", {}, {"device": "cpu"}))
    stores = [Store(tmp_path / name, {}, {"device": "cpu"}) for name in "ab"]
    one, other = (describe_origins(collect(TEN, squares([]), store), store) for store in stores)
    assert one == other
    elsewhere = Store(tmp_path / "c", {}, {"device": "cuda"})
    with pytest.raises(KeyboardInterrupt):
        collect(TEN, squares([], stop_before="q4"), elsewhere)
    later = Store(tmp_path / "c", {}, {"device": "cpu"})
    made = describe_origins(collect(TEN, squares([]), later), later)["made_by"]
    assert {entry["process"]["device"]: entry["answers"] for entry in made} == {"cpu": 5, "cuda": 5}


@pytest.mark.parametrize("change", [{"dtype": "bfloat16"}, {"mode": "plain"}, {"extra": None}])
def test_another_identity_never_meets_old_answers(tmp_path, change):
    identity = {"dtype": "float32", "mode": "tries"}
    collect(TEN, squares([]), Store(tmp_path, identity))
    assert Store(tmp_path, identity | change).load() == {}
    assert len(Store(tmp_path, dict(reversed(identity.items()))).load()) == 10


@pytest.mark.parametrize("text", [ODD, "", "\ufffd", "\x00"])
def test_no_character_of_an_answer_blocks_the_next_run(tmp_path, text):
    Store(tmp_path, {}).write("list", {"a": [text], "b": 1e-17})
    assert {q: kept.answer for q, kept in Store(tmp_path, {}).load().items()} == {
        "a": [text],
        "b": 1e-17,
    }


def spoil_bytes(path):
    path.write_bytes(b"\xff" + path.read_bytes()[1:])


@pytest.mark.parametrize(
    "spoil",
    [spoil_bytes, lambda p: p.write_bytes(b""), lambda p: p.write_bytes(p.read_bytes()[:-5])],
    ids=["not UTF-8", "empty", "cut"],
)
def test_any_damaged_part_is_ignored_with_a_warning_and_computed_again(
    tmp_path, spoil, caplog, monkeypatch
):
    monkeypatch.setattr(storing.LOGGER, "propagate", True)
    store = Store(tmp_path, {})
    collect(TEN, squares([]), store)
    (victim,) = store.folder.glob("part-*")
    spoil(victim)
    (store.folder / ".part-1.jsonl.host.1.part").write_text("[7, 7]\n")
    asked: list[str] = []
    assert answers(collect(TEN, squares(asked), Store(tmp_path, {}))) == [i * i for i in range(10)]
    assert len(asked) == 10
    assert "damaged and ignored" in caplog.text
    again: list[str] = []
    collect(TEN, squares(again), Store(tmp_path, {}))
    assert again == []


def test_answers_that_may_not_be_read_are_named(tmp_path, monkeypatch):
    """L5: two people share a checkout, one has umask 077: a traceback."""
    store = Store(tmp_path, {})
    collect(TEN, squares([]), store)
    (part,) = store.folder.glob("part-*")

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(type(part), "read_bytes", refuse)
    with pytest.raises(UserError, match="cannot be read") as caught:
        Store(tmp_path, {}).load()
    assert str(part) in caught.value.lines()


def test_a_damaged_list_is_noted_again(tmp_path):
    store = Store(tmp_path, {})
    name = store.begin(TEN)
    (store.folder / f"list-{name}.json").write_bytes(b"\xff")
    assert answers(collect(TEN, squares([]), Store(tmp_path, {}))) == [i * i for i in range(10)]
    assert json.loads((store.folder / f"list-{name}.json").read_text()) == TEN


def test_the_identity_file_holds_the_canary_of_every_item_table(tmp_path):
    store = Store(tmp_path, {"a": 1}, canary="canary one")
    store.write("list", {"a": 1})
    second = Store(tmp_path, {"a": 1}, canary="canary two")
    second.write("list", {"b": 1})
    found = json.loads((store.folder / "identity.json").read_text())
    assert found == {"canary": ["canary one", "canary two"], "identity": {"a": 1}}


def test_the_cost_counts_every_attempt_once(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(
            TEN,
            squares([], stop_before="q4"),
            Store(tmp_path, {}, {"device": "cuda"}, 2, since=time.monotonic() - 100),
        )
    store = Store(tmp_path, {}, {"device": "cuda"}, 2, since=time.monotonic() - 10)
    origins = describe_origins(collect(TEN, squares([]), store), store)
    spent = cost(tmp_path, [origins, origins])
    assert spent.answers == 10
    assert spent.seconds == pytest.approx(110, abs=2)
    assert spent.device_seconds == {"cuda": pytest.approx(220, abs=4)}
    tables = [
        Provenance(model="m", details={"answers": origins}),
        Provenance(model="m"),
        Provenance(details={"answers": origins}),
    ]
    gone = Provenance(
        model="gone", details={"answers": {"store": "no-such-store", "made_by": origins["made_by"]}}
    )
    assert cost_by_model(tmp_path, [*tables, tables[0], gone]) == {"m": spent}


def test_the_cost_counts_tokens_that_were_read_and_written(tmp_path):
    said = {
        "written": ["four", "end", 2, False, None],
        "thought first": ["four", "end", 2, False, None, "hm", 5, 30],
        "scored, its prompt not known": [-1.5, 3, []],
        "scored": [-1.5, 3, [], 20],
        "scored token by token": [-1.5, 2, [], [-1.0, -0.5], ["a", "b"], 9],
        "nothing said": ["", "end", 0, False, None, "", 0, 11],
    }

    def ask(chosen, skip):
        yield from ((place, said[name]) for place, name in enumerate(chosen) if place not in skip)

    store = Store(tmp_path, {})
    origins = describe_origins(collect(sorted(said), ask, store), store)
    spent = cost(tmp_path, [origins])
    assert (spent.answers, spent.prompt_tokens, spent.completion_tokens) == (6, 70, 9)


def test_answers_go_to_disk_while_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ANSWERS_PER_PART", 3)
    on_disk = []

    def ask(questions, skip):
        for place in range(len(questions)):
            on_disk.append(len(Store(tmp_path, {}).load()))
            yield place, place

    collect(TEN[:7], ask, Store(tmp_path, {}))
    assert on_disk == [0, 0, 0, 3, 3, 3, 6]


SLOW = """
import sys, time
from worldprobe.inference import requests
from worldprobe.inference import store
def ask(questions, skip):
    for i in range(100):
        if i not in skip:
            time.sleep(0.02)
            print(i, flush=True)
            yield i, i * 0.1
requests.collect([f"q{i}" for i in range(100)], ask, store.Store(sys.argv[1], {}))
"""


def run_and_stop(folder: Path, number: signal.Signals) -> tuple[int, list[int]]:
    environment = os.environ | {"PYTHONPATH": str(SOURCE), module.VARIABLE: "0.2"}
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    asked = [int(process.stdout.readline()) for _ in range(30)]
    process.send_signal(number)
    rest, _ = process.communicate(timeout=30)
    return process.returncode, asked + [int(line) for line in rest.split()]


def test_sigterm_keeps_what_is_finished_and_exits_with_a_code_to_retry(tmp_path):
    code, asked = run_and_stop(tmp_path, signal.SIGTERM)
    assert code == PREEMPTED == 75
    assert 29 <= len(asked) < 100
    kept = Store(tmp_path, {}).load()
    assert len(asked) - 1 <= len(kept) <= len(asked)
    assert all(one.answer == int(question[1:]) * 0.1 for question, one in kept.items())


def test_kill_9_loses_at_most_the_current_part(tmp_path):
    code, asked = run_and_stop(tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    kept = Store(tmp_path, {}).load()
    assert len(kept) >= 10, (
        f"{len(kept)} of {len(asked)} answers, at 50 answers and 5 parts a second"
    )
    assert all(one.answer == int(question[1:]) * 0.1 for question, one in kept.items())


def test_sigterm_inside_a_write_lets_the_part_become_whole(tmp_path, monkeypatch):
    written = storing.write_text
    ready = []

    def slow(path, text):
        if path.name.startswith("part-") and not ready:
            ready.append(path)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
        written(path, text)

    monkeypatch.setattr(storing, "write_text", slow)
    monkeypatch.setattr(module, "ANSWERS_PER_PART", 2)
    with pytest.raises(SystemExit) as stop:
        collect(TEN, squares([]), Store(tmp_path, {}))
    assert stop.value.code == PREEMPTED
    assert {q: kept.answer for q, kept in Store(tmp_path, {}).load().items()} == {
        "q9": 81,
        "q8": 64,
    }


def test_of_two_processes_that_answer_one_question_the_earlier_counts_in_both_and_later(tmp_path):
    slow, quick = Store(tmp_path, {"a": 1}), Store(tmp_path, {"a": 1})
    slow.load()
    for number in range(3):
        quick.write("quick", {f"q{number}": "quick"})
    slow.write("slow", {"q0": "slow", "q9": "slow"})
    later = {question: kept.answer for question, kept in Store(tmp_path, {"a": 1}).load().items()}
    assert later == {"q0": "quick", "q1": "quick", "q2": "quick", "q9": "slow"}
    assert {question: kept.answer for question, kept in slow.load().items()} == later


def test_the_canary_of_further_materials_is_noted_though_nothing_new_is_asked(tmp_path):
    collect(TEN, squares([]), Store(tmp_path, {"a": 1}, canary="first"))
    store = Store(tmp_path, {"a": 1}, canary="second")
    collect(TEN, squares([]), store)
    assert json.loads((store.folder / "identity.json").read_text())["canary"] == ["first", "second"]
