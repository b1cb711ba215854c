"""A notebook gives the same page however often it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldprobe.report.page import run_notebook

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")


def test_what_cells_log_is_left_out_and_what_they_print_stays(tmp_path: Path) -> None:
    code = "import sys, time\nprint(time.time_ns(), file=sys.stderr)\nprint('shown')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbformat.write(notebook, tmp_path / "timed.ipynb")
    once, again = (run_notebook(tmp_path / "timed.ipynb", {}) for _ in range(2))
    assert once == again
    assert "shown" in once
