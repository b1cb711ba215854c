"""The exported task asks lm-evaluation-harness our questions, and its samples are read back to
the same judgements.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from command_line import run
from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Summaries, TargetScores
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.contracts.results import ALL
from worldprobe.provenance import Provenance
from worldprobe_authoring.task_folders import BENCHMARK, VARIABLE

CONTROLS = sorted(Path("results/controls").glob("*/models/*/control_taught"))


@pytest.fixture(scope="module")
def item_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few items of two domains and two versions of unequal size."""
    folder = tmp_path_factory.mktemp("lm_eval")
    whole = folder / "whole.parquet"
    assert run(f"items build builtin --versions 0-1 --out {whole}") == 0
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
    line = (
        f"items export {item_table} --format lm-eval --task worldprobe_few --out {folder}".split()
    )
    assert main(line) == 0
    return folder


def read_back(item_table: Path, out: Path, name: str) -> pd.DataFrame:
    scores, judged = out.parent / f"{name}.parquet", out.parent / f"{name}_judged.parquet"
    assert run(f"import lm-eval {item_table} {out} --model {name} --out {scores}") == 0
    assert run(f"judge {item_table} {scores} --out {judged}") == 0
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
    line = (
        f"score logprobs {item_table} --checkpoint {checkpoint} --model ours --out {scores}".split()
    )
    assert main(line) == 0
    assert run(f"judge {item_table} {scores} --out {judged}") == 0
    ours = read_table(judged, Judgements).sort_values(["item_id", "target"]).reset_index(drop=True)
    both = read_table(scores, TargetScores).merge(
        read_table(tmp_path / "theirs.parquet", TargetScores), on=["item_id", "target", "context"]
    )
    assert len(both) == 2 * len(theirs)
    assert (both["logprob_x"] - both["logprob_y"]).abs().max() < 1e-4
    close = ours["is_near_tie"] | ours["is_tie"] | theirs["is_near_tie"] | theirs["is_tie"]
    assert (ours["accuracy"] == theirs["accuracy"])[~close].all()
    assert run(f"summarize {tmp_path / 'theirs_judged.parquet'} --out {summaries}") == 0
    means = read_table(summaries, Summaries)
    means = means[means["condition"] == ALL]
    paired = means[(means["metric"] == "pairing") & (means["grouping"] == "overall")]
    means = means[means["metric"] == "accuracy"]
    [written] = out.rglob("results_*.json")
    stated = json.loads(written.read_text())["results"]["worldprobe_few"]
    assert stated["acc,none"] == pytest.approx(
        means.loc[means["grouping"] == "overall", "mean"].iloc[0], abs=1e-12
    )
    assert stated["pairing,none"] == pytest.approx(paired["mean"].iloc[0], abs=1e-12)
    for row in means[means["grouping"] == "domain"].itertuples():
        assert stated[f"acc_{row.group},none"] == pytest.approx(row.mean, abs=1e-12)
    made = read_provenance(tmp_path / "theirs.parquet")
    assert (made.engine, made.dtype, made.packages["lm_eval"]) == ("lm-eval", "float32", "0.4.13")


@pytest.mark.parametrize("odd", [float("nan"), float("-inf"), float("inf")])
def test_a_target_without_two_finite_numbers_is_left_out_and_counted(
    task: Path, monkeypatch: pytest.MonkeyPatch, odd: float
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", types.ModuleType("datasets"))
    module: dict[str, Any] = {"__file__": str(task / "utils.py")}
    exec(compile((task / "utils.py").read_text(), "utils.py", "exec"), module)
    doc = {"item_id": "one", "label": 0, "domain": "garden"}
    assert module["judge"](doc, [(odd, False), (-2.0, False)]) == {"missing": 1.0}
    tied = module["judge"](doc, [(-2.0, False), (-2.0, False)])
    assert (tied["acc"], tied["tie"]) == (0.5, 1.0)
    assert module["judge"](doc, [(-1.0, False), (-2.0, False)]) == {
        "acc": 1.0,
        "tie": 0.0,
        "missing": 0.0,
        "acc_garden": 1.0,
        "pairing": ["one", -1.0, -2.0],
    }
    # One context pulls both targets by 3: one target is wrong, and the pairing right. An item of
    # one target has no pairing, and a contrast of 0 counts one half.
    of_one, of_tied = [["one", -1.0, -2.0], ["one", -6.0, -5.5]], [["tied", 0.3, 0.1]] * 2
    assert module["pairing"]([*of_one, ["half", -1.0, -9.0]]) == 1.0
    assert module["pairing"]([*of_one, of_tied[0], ["tied", 0.1, 0.3]]) == 0.75
    assert math.isnan(module["pairing"]([["half", -1.0, -9.0]]))
    assert "missing" in [
        one["metric"]
        for one in yaml.safe_load((task / "group.yaml").read_text())["aggregate_metric_list"]
    ]


def lines_of(items: pd.DataFrame, *ids: str) -> list[dict[str, Any]]:
    """Samples as lm-eval logs them, with these names in their documents."""
    lines = []
    for row in items.to_dict("records"):
        for target in (1, 2):
            pairs = [
                {"arg_0": row[f"context{k}"], "arg_1": f" {row[f'target{target}']}"} for k in (1, 2)
            ]
            doc = {name: row[name] for name in ids} | {"target": target}
            asked = {f"gen_args_{k}": pair for k, pair in enumerate(pairs)}
            answered = [["-3.5", "False"], ["-4.5", "False"]]
            lines.append({"doc": doc, "arguments": asked, "filtered_resps": answered})
    return lines


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
    lines = lines_of(read_table(item_table, Items), "item_id")
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
        ("samples", '"arg_1": " ', '"arg_1": "', "line 1"),
        ("samples", "_v0", "_v7", "not among these items"),
        ("samples", '"target": 2', '"target": 1', "line 2"),
        ("samples", '"-4.5", "False"]]}\n', '"-4.5", "Fal', "line 1"),
    ],
)
def test_samples_of_another_question_are_refused(
    item_table: Path, logged: Path, capsys, file, old, new, words
) -> None:
    [path] = [path for path in logged.rglob(f"{file}_*") if "hellaswag" not in path.name]
    text, out = path.read_text(), logged.parent / "no.parquet"
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert run(f"import lm-eval {item_table} {logged} --out {out}") == 2
    assert words in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "adds", "words"),
    [
        ({}, False, "began with nothing, where worldprobe begins them with <bos>"),
        ("dtype=float32", False, "add_bos_token is to be True"),
        ({"add_bos_token": True}, False, ""),
        ({}, True, ""),
        ({"add_bos_token": False}, True, "add_bos_token is to be True"),
    ],
)
def test_lm_eval_3430_samples_without_the_start_token_of_the_models_own_scoring_are_refused(
    item_table: Path,
    logged: Path,
    tiny_checkpoint: Any,
    capsys: pytest.CaptureFixture[str],
    arguments: Any,
    adds: bool,
    words: str,
) -> None:
    from tokenizers import Tokenizer, processors

    folder = Path(shutil.copytree(tiny_checkpoint("gemma"), logged.parent / "gemma"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        path = folder / name
        path.write_text(path.read_text().replace("<|endoftext|>", "<bos>"))
    if adds:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<bos> $A", special_tokens=[("<bos>", tokenizer.token_to_id("<bos>"))]
        )
        tokenizer.save(str(folder / "tokenizer.json"))
    [path] = logged.rglob("results_*")
    result = json.loads(path.read_text()) | {"model_name": str(folder)}
    result["config"]["model_args"] = arguments
    path.write_text(json.dumps(result))
    code = run(f"import lm-eval {item_table} {logged} --out {logged.parent / 'scores.parquet'}")
    said = capsys.readouterr().err
    assert code == (2 if words else 0)
    assert words in " ".join(said.split())
    assert "cannot be checked" not in said


def test_samples_of_texts_with_separators_of_lines_and_without_ids_are_read(
    item_table: Path, logged: Path, tmp_path: Path
) -> None:
    """lm-eval leaves U+2028 in a line as it is; the gated dataset names no items, and two
    versions may have the same texts.
    """
    items = read_table(item_table, Items).iloc[:2].copy()
    items["context1"] = "Ana paints\u2028the crate. \N{SNOWMAN}"
    for column in ("context2", "target1", "target2"):
        items[column] = items[column].iloc[0]
    write_table(items, Items, tmp_path / "odd_items.parquet", Provenance())
    [path] = logged.rglob("samples_worldprobe*")
    lines = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines_of(items)]
    path.write_text("".join(lines))
    assert len(read_back(tmp_path / "odd_items.parquet", logged, "odd")) == 4


def test_items_of_ewoks_own_materials_leave_encrypted_only(
    item_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, out = tmp_path / "items.parquet", tmp_path / "task"
    frame = read_table(item_table, Items)
    write_table(frame, Items, items, Provenance(canary="# EWoK canary 0000"))
    line = f"items export {items} --format lm-eval --task worldprobe_few --out {out}".split()
    assert main(line) == 2
    monkeypatch.delenv(VARIABLE, raising=False)
    assert main([*line, "--encrypt"]) == 2
    assert not out.exists()
    monkeypatch.setenv(VARIABLE, "hunter2secret")
    assert main([*line, "--encrypt"]) == 0
    content = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    texts = [
        text for name in ("context1", "context2", "target1", "target2") for text in frame[name]
    ]
    assert not any(text.encode() in content for text in [*texts, "hunter2secret"])


def test_a_task_for_the_gated_dataset_names_it(tmp_path: Path) -> None:
    line = f"items export --format lm-eval --task worldprobe_few --hub --out {tmp_path / 'task'}".split()
    assert main(line) == 0
    common = (tmp_path / "task" / "_common_yaml").read_text()
    assert "dataset_path: ewok-core/ewok-core-1.0" in common
    assert "revision: 34d912a608066c92e2990a0328ffc3bd9a716042" in common
