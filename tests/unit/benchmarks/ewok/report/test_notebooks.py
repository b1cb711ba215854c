"""Notebooks: committed without outputs, and they run from beginning to end."""

from __future__ import annotations

import html
import os
import shutil
from pathlib import Path

import nbformat
import pytest

from worldprobe.benchmarks.ewok import contracts
from worldprobe.benchmarks.ewok.analysis.compare import numbers_in_words
from worldprobe.cli import main
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import Provenance

ROOT = Path(__file__).parents[5]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, marks=[pytest.mark.slow] if path.stem.startswith("3") else [], id=path.stem
        )
        for path in NOTEBOOKS
    ],
)
def test_notebooks_run_and_become_fragments_that_the_report_takes(
    path, finished_run, tmp_path, monkeypatch
):
    pytest.importorskip("ipykernel")
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(ROOT / "workflow" / "src"), os.environ.get("PYTHONPATH", "")]),
    )
    before = path.read_bytes()
    out = tmp_path / "fragment.html"
    arguments = [
        "--results",
        str(finished_run),
        "--registry",
        str(finished_run / "models.yaml"),
        "--out",
        str(out),
    ]
    assert main(["notebook", "run", str(path), *arguments]) == 0
    assert path.read_bytes() == before
    assert len(out.read_text()) > 1000
    assert "Traceback" not in out.read_text()


def run_notebook(name, folder, out, monkeypatch):
    pytest.importorskip("ipykernel")
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(ROOT / "workflow" / "src"), os.environ.get("PYTHONPATH", "")]),
    )
    arguments = [
        "--results",
        str(folder),
        "--registry",
        str(folder / "models.yaml"),
        "--out",
        str(out),
    ]
    assert main(["notebook", "run", str(ROOT / "notebooks" / name), *arguments]) == 0
    return html.unescape(out.read_text())


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
    )
    (row,) = table[wanted].to_dict("records")
    assert row["interval_over"] in ("pairs of concepts", "pairs of concepts and versions")
    assert numbers_in_words(row) in shown


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


def test_a_notebook_that_fails_says_why_and_writes_nothing(tmp_path, capsys):
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("raise ValueError('no such concept')")]
    )
    nbformat.write(notebook, tmp_path / "broken.ipynb")
    assert (
        main(["notebook", "run", str(tmp_path / "broken.ipynb"), "--out", str(tmp_path / "x.html")])
        == 2
    )
    assert "ValueError: no such concept" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("content", [b"no JSON", b"\xff\xfe"])
def test_a_file_that_is_not_a_notebook_is_refused(content, tmp_path, capsys):
    path = tmp_path / "n.ipynb"
    path.write_bytes(content)
    assert main(["notebook", "run", str(path), "--out", str(tmp_path / "n.html")]) == 2
    said = capsys.readouterr().err
    assert "n.ipynb" in said
    assert "is not a notebook" in said or "is not UTF-8" in said
    assert not (tmp_path / "n.html").exists()
