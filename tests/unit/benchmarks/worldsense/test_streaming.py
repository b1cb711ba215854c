"""Sets are streamed: few batches exist at a time, a kill leaves what was there, and the
dialogues load as they are.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from command_line import run
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY, DISGUISES
from worldprobe.benchmarks.worldsense.trials.files import read_trials

SMALL = "worldsense generate train-10k --sizes 3 --problems Infer.trivial --per-cell 4"


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


def test_a_kill_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    table, chat = tmp_path / "t.parquet", tmp_path / "t.jsonl.gz"
    line = f"{SMALL} --out {table} --dialogues-out {chat}"
    assert run(line) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    command = [sys.executable, "-c", KILLED_IN_ITS_SECOND_BATCH, *line.split(), "--seed=1"]
    killed = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    left = {path.name for path in tmp_path.iterdir()} - set(before)
    assert len(left) == 2
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_gold_answers_are_in_disguise_in_every_file_but_the_dialogues(tmp_path: Path) -> None:
    table, official = tmp_path / "t.parquet", tmp_path / "t.jsonl"
    assert run(f"{SMALL} --out {table}") == 0
    assert run(f"worldsense export {table} --out {official}") == 0
    trials = read_trials(table)
    assert set(trials["gold"]) <= set(DISGUISES)
    assert not set(trials["gold"]) & set(ANSWER_OF.values())
    lines = official.read_text().splitlines()
    assert len(lines) == len(trials)
    assert all(CANARY in line and '"goldresp_obfusc":"' in line for line in lines)
    assert CANARY.encode() in table.read_bytes()
