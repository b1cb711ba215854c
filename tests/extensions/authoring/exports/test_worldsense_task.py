"""The exported task asks lm-evaluation-harness what `constrained` asks, with the paper's
averages, and its samples come back.
"""

from __future__ import annotations

import json
import random
import sys
import types
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import read_questions
from worldprobe.benchmarks.worldsense.analysis.statistics import compute_statistics
from worldprobe.benchmarks.worldsense.contracts import Responses
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.provenance import REHEARSAL_MARK
from worldprobe_authoring.task_folders import BENCHMARK

TASK = "worldprobe_ws"


@pytest.fixture(scope="module")
def trial_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("worldsense_lm_eval") / "trials.parquet"
    line = f"worldsense generate test --sizes 3 4 --per-cell 1 --skins tall/short --out {path}"
    assert run(f"{line} --problems Infer.normal Consist.normal Compl.normal Compl.trivial") == 0
    return path


@pytest.fixture(scope="module")
def task(trial_table: Path) -> Path:
    folder = trial_table.parent / "task"
    line = f"worldsense export {trial_table} --format lm-eval --task {TASK} --out {folder}".split()
    assert main(line) == 0
    return folder


class Rows(list):
    """As much of datasets.Dataset as the task needs."""

    from_list = classmethod(lambda cls, rows: cls(rows))
    to_list = list.copy


@pytest.fixture
def utils(task: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The exported ``utils.py``."""
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(Dataset=Rows))
    module: dict[str, Any] = {"__file__": str(task / "utils.py")}
    exec(compile((task / "utils.py").read_text(), "utils.py", "exec"), module)
    return types.SimpleNamespace(**module)


def log_run(task: Path, utils: Any, folder: Path) -> dict[str, dict[str, float]]:
    """Write what lm-eval would, of a model that draws its log probabilities; the means of each
    task's metrics.
    """
    rng = random.Random(7)
    folder.mkdir(parents=True)
    names = sorted(path.stem for path in task.glob(f"{TASK}_*.yaml"))
    stated = {
        "n-shot": dict.fromkeys(names, 0),
        "configs": {name: {"metadata": {BENCHMARK: "worldsense"}} for name in names},
    }
    facts = {
        "model_name": "lab/tiny",
        "config": {"model_dtype": "torch.float32"},
        "lm_eval_version": "0.4.13",
    }
    (folder / "results_2026-01-01.json").write_text(json.dumps(stated | facts))
    means = {}
    for name in names:
        lines, judged = [], []
        for doc in utils.load_trials(name)["test"]:
            values = [-rng.choice([1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]) for _ in doc["choices"]]
            judged.append(utils.judge(doc, [(value, False) for value in values]))
            asked = {
                f"gen_args_{k}": {"arg_0": doc["prompt"], "arg_1": f" {c}"}
                for k, c in enumerate(doc["choices"])
            }
            lines.append(
                {
                    "doc": doc,
                    "arguments": asked,
                    "filtered_resps": [[str(v), "False"] for v in values],
                }
            )
        (folder / f"samples_{name}_2026-01-01.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines)
        )
        means[name] = pd.DataFrame(judged).mean().to_dict()
    return means


def overall(trial_table: Path, responses: Path) -> dict[str, float]:
    """worldprobe's accuracy and bias over everything."""
    questions = read_questions(trial_table)
    statistics = compute_statistics(questions, read_series([responses], questions))
    whole = (
        (statistics["gold"] == "released")
        & (statistics["problemname"] == "all")
        & (statistics["domain"] == "all")
    )
    rows = statistics[whole & (statistics["intraining"] == "all")]
    return dict(zip(rows["measure"], rows["mean"], strict=True))


def test_the_tasks_means_are_the_papers_and_samples_give_the_same_answers(
    trial_table: Path, task: Path, utils: Any, tmp_path: Path
) -> None:
    means = log_run(task, utils, tmp_path / "out")
    responses = tmp_path / "responses.parquet"
    line = f"worldsense import-samples {trial_table} {tmp_path / 'out'} --model tiny --out {responses}".split()
    assert main(line) == 0
    ours = overall(trial_table, responses)
    for metric, measure in (("acc", "accuracy"), ("bias", "bias")):
        assert sum(mean[metric] for mean in means.values()) / len(means) == pytest.approx(
            ours[measure], abs=1e-12
        )
    frame = read_table(responses, Responses)
    n_ties = (frame["status"] == "invalid").sum()
    assert (
        n_ties
        == sum(
            round(mean["tie"] * len(utils.load_trials(name)["test"]))
            for name, mean in means.items()
        )
        > 0
    )
    made = read_provenance(responses)
    assert (made.model, made.engine, made.dtype) == ("tiny", "lm-eval", "float32")
    assert "canary" in str(made.canary)


def test_what_lm_eval_logged_of_a_rehearsal_is_still_of_it(
    trial_table: Path, task: Path, utils: Any, tmp_path: Path
) -> None:
    log_run(task, utils, tmp_path / "rehearsal" / "out")
    (tmp_path / "rehearsal" / REHEARSAL_MARK).touch()
    responses = tmp_path / "responses.parquet"
    line = f"worldsense import-samples {trial_table} {tmp_path / 'rehearsal' / 'out'}"
    assert run(f"{line} --model tiny --out {responses}") == 0
    assert read_provenance(responses).details["rehearsal"] is True


@pytest.mark.parametrize("odd", [float("nan"), float("-inf")])
def test_a_trial_without_finite_numbers_is_counted_as_missing_and_as_wrong(
    utils: Any, odd: float
) -> None:
    doc = utils.load_trials(f"{TASK}_infer_normal_3")["test"][0]
    judged = utils.judge(doc, [(odd, False) for _ in doc["choices"]])
    assert judged == {"acc": 0.0, "bias": 0.0, "tie": 0.0, "missing": 1.0}


@pytest.mark.slow
def test_lm_eval_chooses_what_we_choose(
    trial_table: Path, task: Path, tiny_checkpoint: Any, tmp_path: Path, run_lm_eval: Any
) -> None:
    checkpoint, table = str(tiny_checkpoint("llama", "sentencepiece")), str(trial_table)
    run_lm_eval(task, TASK, checkpoint, tmp_path / "out")
    theirs, ours = tmp_path / "theirs.parquet", tmp_path / "ours.parquet"
    assert run(f"worldsense import-samples {table} {tmp_path / 'out'} --out {theirs}") == 0
    line = f"worldsense ask {table} --checkpoint {checkpoint} --model ours"
    assert run(f"{line} --prompting constrained_sum --out {ours}") == 0
    both = read_table(ours, Responses).merge(
        read_table(theirs, Responses), on="trial_id", suffixes=("", "_theirs")
    )
    assert len(both) == len(pd.read_parquet(trial_table))
    assert (both["margin"] - both["margin_theirs"]).abs().max() < 1e-4
    clear = both["margin"] > 1e-3
    assert (both["answer"] == both["answer_theirs"])[clear].all()
    [written] = (tmp_path / "out").rglob("results_*.json")
    stated = json.loads(written.read_text())["results"][TASK]
    for metric, measure in (("acc", "accuracy"), ("bias", "bias")):
        assert stated[f"{metric},none"] == pytest.approx(
            overall(trial_table, theirs)[measure], abs=1e-12
        )
