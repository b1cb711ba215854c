"""Notebooks: committed without outputs, and they run from beginning to end."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest

from worldprobe.cli import main

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
    [pytest.param(path, marks=[pytest.mark.slow] if path.stem.startswith("3") else [], id=path.stem) for path in NOTEBOOKS],
)
def test_notebooks_run_and_become_fragments_that_the_report_takes(path, finished_run, tmp_path, monkeypatch):
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "workflow" / "src"), os.environ.get("PYTHONPATH", "")]))
    before = path.read_bytes()
    out = tmp_path / "fragment.html"
    arguments = ["--results", str(finished_run), "--registry", str(finished_run / "models.yaml"), "--out", str(out)]
    assert main(["notebook", "run", str(path), *arguments]) == 0
    assert path.read_bytes() == before
    assert len(out.read_text()) > 1000
    assert "Traceback" not in out.read_text()


def test_a_notebook_that_fails_says_why_and_writes_nothing(tmp_path, capsys):
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("raise ValueError('no such concept')")])
    nbformat.write(notebook, tmp_path / "broken.ipynb")
    assert main(["notebook", "run", str(tmp_path / "broken.ipynb"), "--out", str(tmp_path / "x.html")]) == 2
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
