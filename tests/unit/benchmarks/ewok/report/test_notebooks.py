"""Notebooks run from beginning to end, and say what the report says."""

from __future__ import annotations

import html
import os
import shutil
from pathlib import Path

import pytest

from worldprobe.benchmarks.ewok import contracts
from worldprobe.cli import main
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import Provenance

ROOT = Path(__file__).parents[5]
TUTORIAL = ROOT / "notebooks" / "3_add_a_concept.ipynb"


def run_notebook(path, folder, out, monkeypatch):
    pytest.importorskip("ipykernel")
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(ROOT / "workflow" / "src"), os.environ.get("PYTHONPATH", "")]),
    )
    arguments = f"--results {folder} --registry {folder / 'models.yaml'} --out {out}".split()
    assert main(["notebook", "run", str(ROOT / "notebooks" / path), *arguments]) == 0
    return html.unescape(out.read_text())


@pytest.mark.long
def test_the_notebook_and_the_report_have_one_p_for_one_comparison(
    finished_run, tmp_path, monkeypatch
):
    """Each item has its own fillings, which the judgements say: nobody has to tell the notebook."""
    files = sorted((finished_run / "judgements/main/logprobs").glob("*.parquet"))
    models = [path.stem for path in files[:2]]
    monkeypatch.setenv("WORLDPROBE_MODELS", ",".join(models))
    shown = run_notebook(
        "2_compare_two_models.ipynb", finished_run, tmp_path / "n.html", monkeypatch
    )
    assert main(["compare", *map(str, files), "--out", str(tmp_path / "c.parquet")]) == 0
    table = read_table(tmp_path / "c.parquet", contracts.Comparisons)
    wanted = (
        (table["grouping"] == "overall")
        & (table["model_a"] == models[0])
        & (table["model_b"] == models[1])
        & (table["metric"] == "accuracy")
    )
    (row,) = table[wanted].to_dict("records")
    assert row["interval_over"] in ("pairs of concepts", "pairs of concepts and versions")
    assert f"{row['difference']:.4f}" in shown
    assert row["finding"].partition(",")[0] in shown


@pytest.mark.slow
def test_the_tutorial_of_concepts_runs_and_stays_as_it_is(finished_run, tmp_path, monkeypatch):
    before = TUTORIAL.read_bytes()
    assert "Traceback" not in run_notebook(TUTORIAL, finished_run, tmp_path / "n.html", monkeypatch)
    assert TUTORIAL.read_bytes() == before


@pytest.mark.long
def test_concepts_without_an_interval_are_neither_right_nor_wrong(
    finished_run, tmp_path, monkeypatch
):
    """Of an untrained model, whose concepts are at 0.5, 65 of 720 were called reliably right."""
    summaries = read_table(finished_run / "summaries.parquet", contracts.Summaries)
    is_concept = (summaries["grouping"] == "concept") & (summaries["metric"] == "accuracy")
    is_meant = is_concept & (summaries["model"] == "control_untrained")
    assert is_meant.any()
    summaries.loc[is_meant, ["mean", "ci_low", "ci_high"]] = 0.5, 0.3, 0.7
    none = summaries[is_meant].index[::2]
    summaries.loc[none, ["ci_low", "ci_high"]] = float("nan")
    shutil.copytree(finished_run, tmp_path / "run")
    write_table(summaries, contracts.Summaries, tmp_path / "run/summaries.parquet", Provenance())
    monkeypatch.setenv("WORLDPROBE_MODEL", "control_untrained")
    shown = run_notebook(
        "1_explore_failures_by_concept.ipynb", tmp_path / "run", tmp_path / "n.html", monkeypatch
    )
    assert "<strong>0</strong> lie below" in shown
    assert "<strong>0</strong> above" in shown
    assert f"<strong>{len(none)}</strong> have no" in shown
