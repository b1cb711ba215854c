"""Notebooks: committed without outputs, and they run from beginning to end."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest

from worldprobe.report.page import read_fragment

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_become_fragments_that_the_report_takes(path, finished_run, tmp_path, monkeypatch):
    pytest.importorskip("ipykernel")
    exporters = pytest.importorskip("nbconvert")
    from nbconvert.preprocessors import ExecutePreprocessor

    monkeypatch.setenv("WORLDPROBE_STUDY", str(finished_run))
    monkeypatch.setenv("WORLDPROBE_REGISTRY", str(finished_run / "models.yaml"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "workflow" / "src"), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(path.parent)}})
    html, _resources = exporters.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    (tmp_path / "fragment.html").write_text(html)
    assert len(read_fragment(tmp_path / "fragment.html")) > 1000
    assert "Traceback" not in html
