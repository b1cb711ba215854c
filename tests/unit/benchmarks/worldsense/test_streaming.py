"""Sets are streamed: few batches exist at a time, a kill leaves what was there, and the dialogues
load as they are.
"""

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY, DISGUISES
from worldprobe.benchmarks.worldsense.trials import sets
from worldprobe.benchmarks.worldsense.trials.files import read_batches, read_trials, write_set
from worldprobe.cli import main
from worldprobe.provenance import Provenance

N_BATCHES = 24
SMALL = ["generate", "train-10k", "--sizes", "3", "--problems", "Infer.trivial", "--per-cell", "4"]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> tuple[sets.SetPlan, list[sets.Block]]:
    """A set of many small batches: one round each."""
    monkeypatch.setattr(sets, "TRIALS_PER_BATCH", 1)
    plan = sets.plan_set("train-1m", sizes=[3], problems=["Infer.trivial"], per_cell=N_BATCHES)
    return plan, sets.blocks_of(plan, read_skins())


class Watch:
    """Counts the batches that are in memory."""

    def __init__(self) -> None:
        self.seen = self.alive = self.most = 0

    def follow(self, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            weakref.finalize(frame, self.forget)
            self.seen += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
            yield frame

    def forget(self) -> None:
        self.alive -= 1


def test_writing_and_reading_a_set_of_many_batches_keep_two_at_most(
    batches, tmp_path: Path
) -> None:
    writing, reading = Watch(), Watch()
    place, chat = tmp_path / "t.parquet", tmp_path / "t.jsonl.gz"
    n_trials = write_set(
        writing.follow(sets.stream_set(*batches, seed=0)), place, Provenance(method=1), chat
    )
    assert (writing.seen, n_trials) == (N_BATCHES, sum(map(len, sets.stream_set(*batches, seed=0))))
    assert writing.most <= 2
    assert sum(map(len, reading.follow(read_batches(place)))) == n_trials
    assert reading.seen == N_BATCHES
    assert reading.most <= 2


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_processes_are_a_few_batches_ahead_at_most_and_make_the_same_trials(
    batches, monkeypatch, processes: int
) -> None:
    made = 0

    class Executor:
        """Makes a batch when it is asked for it, as the fastest processes would."""

        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> "Executor":
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, make, bounds) -> Future[pd.DataFrame]:
            nonlocal made
            made += 1
            future: Future[pd.DataFrame] = Future()
            future.set_result(make(bounds))
            return future

    monkeypatch.setattr(sets, "ProcessPoolExecutor", Executor)
    alone = pd.concat(sets.stream_set(*batches, seed=0), ignore_index=True)
    together = []
    for number, batch in enumerate(sets.stream_set(*batches, seed=0, processes=processes)):
        assert made <= number + processes + 1
        together.append(batch)
    assert made == N_BATCHES
    pd.testing.assert_frame_equal(pd.concat(together, ignore_index=True), alone)


KILLED_IN_ITS_SECOND_BATCH = """
import os, signal, sys
from worldprobe.benchmarks.worldsense.trials import sets
from worldprobe.cli import main

make = sets._make_rounds
def make_until_killed(plan, blocks, seed, bounds):
    if bounds[0] > 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return make(plan, blocks, seed, bounds)
sets._make_rounds, sets.TRIALS_PER_BATCH = make_until_killed, 1
main(sys.argv[1:])
"""


def test_a_kill_in_the_middle_leaves_what_was_there_and_the_next_run_tidies_up(
    tmp_path: Path,
) -> None:
    table, chat = tmp_path / "t.parquet", tmp_path / "t.jsonl.gz"
    places = ["--out", str(table), "--dialogues-out", str(chat)]
    assert main(["worldsense", *SMALL, *places]) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    command = [
        sys.executable,
        "-c",
        KILLED_IN_ITS_SECOND_BATCH,
        "worldsense",
        *SMALL,
        "--seed",
        "1",
        *places,
    ]
    killed = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    left = {path.name for path in tmp_path.iterdir()} - set(before)
    assert len(left) == 2
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert main(["worldsense", *SMALL, *places]) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


KILLED_WHILE_WORKERS_WAIT = """
import os, signal, sys
from multiprocessing import active_children
from worldprobe.benchmarks.worldsense.trials import sets
from worldprobe.benchmarks.worldsense.skins.skins import read_skins

if __name__ == "__main__":
    sets.TRIALS_PER_BATCH = 1
    plan = sets.plan_set("train-10k", sizes=[3], problems=["Infer.trivial"])
    batches = sets.stream_set(plan, sets.blocks_of(plan, read_skins()), 0, 2)
    next(batches)
    with open(sys.argv[1], "w") as file:
        print(*(child.pid for child in active_children()), file=file)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_processes_of_a_killed_command_end(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED_WHILE_WORKERS_WAIT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    numbers = tmp_path / "workers"
    try:  # the workers inherit the pipe: reading ends when the last of them has ended
        command = [sys.executable, script, numbers]
        killed = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        for worker in numbers.read_text().split():
            os.kill(int(worker), signal.SIGKILL)
        raise
    assert killed.returncode == -signal.SIGKILL
    assert len(numbers.read_text().split()) == 2


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError])
def test_a_failure_in_the_middle_leaves_both_files_as_they_were(
    tmp_path: Path, monkeypatch, fault
) -> None:
    places = ["--out", str(tmp_path / "t.parquet"), "--dialogues-out", str(tmp_path / "t.jsonl.gz")]
    assert main(["worldsense", *SMALL, *places]) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    stream_set = sets.stream_set

    def stream_until_it_fails(*arguments: object) -> Iterator[pd.DataFrame]:
        yield next(stream_set(*arguments))
        raise fault("in the middle")

    monkeypatch.setattr(sets, "TRIALS_PER_BATCH", 1)
    monkeypatch.setattr(sets, "stream_set", stream_until_it_fails)
    if fault is KeyboardInterrupt:
        assert main(["worldsense", *SMALL, "--seed", "1", *places]) == 130
    else:
        with pytest.raises(RuntimeError):
            main(["worldsense", *SMALL, "--seed", "1", *places])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_gold_answers_are_in_disguise_in_every_file_but_the_dialogues(tmp_path: Path) -> None:
    table, official = tmp_path / "t.parquet", tmp_path / "t.jsonl"
    assert main(["worldsense", *SMALL, "--out", str(table)]) == 0
    assert main(["worldsense", "export", str(table), "--out", str(official)]) == 0
    trials = read_trials(table)
    assert set(trials["gold"]) <= set(DISGUISES)
    assert not set(trials["gold"]) & set(ANSWER_OF.values())
    lines = official.read_text().splitlines()
    assert len(lines) == len(trials)
    assert all(CANARY in line and '"goldresp_obfusc":"' in line for line in lines)
    assert CANARY.encode() in table.read_bytes()


def test_datasets_loads_the_dialogues_as_they_are(tmp_path: Path) -> None:
    datasets = pytest.importorskip(
        "datasets", reason="datasets is not installed (pinned in envs/requirements-peers.txt)"
    )
    table, chat = tmp_path / "t.parquet", tmp_path / "t.jsonl.gz"
    assert main(["worldsense", *SMALL, "--out", str(table), "--dialogues-out", str(chat)]) == 0
    loaded = datasets.load_dataset(
        "json", data_files=str(chat), split="train", cache_dir=str(tmp_path / "cache")
    )
    trials = read_trials(table)
    assert loaded.column_names == ["id", "messages", "canary"]
    assert [int(key) for key in loaded["id"]] == trials["trial_id"].tolist()
    read = [
        [(turn["role"], turn["content"]) for turn in messages] for messages in loaded["messages"]
    ]
    answers = trials["gold"].map(ANSWER_OF)
    assert read == [
        [("user", text), ("assistant", answer)]
        for text, answer in zip(trials["text"], answers, strict=True)
    ]
