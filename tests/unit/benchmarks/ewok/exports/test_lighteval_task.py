"""The exported file asks lighteval our questions, and says for which tokenizers it does."""

from __future__ import annotations

import math
import runpy
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
from worldprobe.benchmarks.ewok.analysis.summarize import summarize
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL


def export(items: Path, out: Path, *options: str) -> int:
    return main(
        ["items", "export", str(items), "--format", "lighteval", *options, "--out", str(out)]
    )


def load(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the exported file, with stand-ins for what it imports of lighteval."""
    from types import ModuleType, SimpleNamespace

    for name in (
        "metrics.sample_preparator",
        "metrics.utils.metric_utils",
        "tasks.lighteval_task",
        "tasks.requests",
    ):
        module: Any = ModuleType(f"lighteval.{name}")
        module.Preparator = object
        module.CorpusLevelMetric = module.LightevalTaskConfig = module.Doc = lambda **given: (
            SimpleNamespace(**given)
        )
        module.SamplingMethod = SimpleNamespace(LOGPROBS="logprobs")
        monkeypatch.setitem(sys.modules, f"lighteval.{name}", module)
    return runpy.run_path(str(path))


def scores_of(items: pd.DataFrame) -> pd.DataFrame:
    """Invented log probabilities of two items, one version each: a tie, and one that is missing."""
    rows = [
        (item, target, context)
        for item in items["item_id"]
        for target in (1, 2)
        for context in (1, 2)
    ]
    frame = pd.DataFrame(rows, columns=["item_id", "target", "context"])
    frame["logprob"] = [0.0, -2.0, -4.0, math.nan, -3.0, -3.0, -4.0, -2.0]
    return frame.assign(n_tokens=1, flags="")


def test_every_target_is_asked_after_both_contexts_and_judged_as_ours(
    item_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert export(item_table, tmp_path / "out", "--task", "worldprobe_mine") == 0
    assert {
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("[!.]*.*")
    } == {
        "README.md",
        "worldprobe_mine.py",
        "questions/test.parquet",
    }
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "byte-level and Metaspace tokenizers" in readme
    assert str(read_provenance(item_table).canary) in readme
    names = load(tmp_path / "out" / "worldprobe_mine.py", monkeypatch)
    [task] = names["TASKS_TABLE"]
    assert (task.name, task.hf_repo) == (
        "worldprobe_mine",
        str((tmp_path / "out" / "questions").resolve()),
    )
    items = read_table(item_table, Items)
    asked = pd.read_parquet(tmp_path / "out" / "questions" / "test.parquet").to_dict("records")
    documents = [task.prompt_function(row, "worldprobe_mine") for row in asked]
    wanted = {
        (getattr(item, f"context{context}"), " " + getattr(item, f"target{target}"))
        for item in items.itertuples()
        for target in (1, 2)
        for context in (1, 2)
    }
    assert {(one.query, one.choices[0]) for one in documents} == wanted
    assert len(documents) == 4 * len(items)
    scores = scores_of(items)
    known = scores.set_index(["item_id", "target", "context"])["logprob"]
    [metric] = task.metrics
    keys = ("item_id", "target", "context")
    prepared = [
        {**one.specific, "logprob": known[tuple(one.specific[key] for key in keys)]}
        for one in documents
    ]
    means = metric.corpus_level_fn(prepared[::-1])
    judged = judge_target_scores(items, scores, "ours").table
    ours = summarize(judged)
    ours = ours[(ours["metric"] == "accuracy") & (ours["condition"] == ALL)].set_index("grouping")[
        "mean"
    ]
    assert means["acc"] == pytest.approx(ours.loc["overall"], abs=1e-12)
    assert means["acc_garden-work"] == pytest.approx(ours.loc["domain"], abs=1e-12)
    assert means["tie"] == pytest.approx(
        judged[judged["status"] == "ok"]["is_tie"].mean(), abs=1e-12
    )
    assert (means["acc"], means["tie"]) == (0.875, 1 / 3)
    assert means["n_missing"] == (judged["status"] != "ok").sum() == 1


@pytest.mark.parametrize(
    ("kind", "is_same"), [("byte_level", True), ("sentencepiece", True), ("prepended", False)]
)
def test_the_check_knows_the_tokenizers_that_are_asked_something_else(
    item_table: Path,
    tmp_path: Path,
    tiny_tokenizer: Any,
    kind: str,
    is_same: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert export(item_table, tmp_path / "out") == 0
    names = load(tmp_path / "out" / "worldprobe_items.py", monkeypatch)
    pairs = names["questions"]()
    assert names["count_different"](tiny_tokenizer(kind), pairs) == (0 if is_same else len(pairs))


def test_protected_items_do_not_leave_this_way(
    protected_table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert export(protected_table, tmp_path / "out") == 2
    assert "--format lm-eval with --encrypt" in capsys.readouterr().err
    monkeypatch.setenv("WORLDPROBE_EXPORT_PASSWORD", "hunter2secret")
    assert export(protected_table, tmp_path / "out", "--encrypt") == 2
    assert "plain files only" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
