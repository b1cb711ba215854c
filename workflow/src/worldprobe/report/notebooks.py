"""Notebooks, run from beginning to end and turned into fragments of the report."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from worldprobe.errors import UserError
from worldprobe.files import read_text

NOTEBOOK_FIX = "Give an .ipynb file, e.g. from notebooks/."
#: Seconds that a cell may take; the notebooks read finished tables, so they are quick.
LONGEST_CELL = 300


def run_notebook(path: Path | str, settings: Mapping[str, str]) -> str:
    """Run a notebook in its own folder and return it as HTML without head, scripts or anything to fetch.

    What its cells log, with times of day, is left out: the same notebook gives the same bytes.

    Args:
        path: an .ipynb file; it is read, never written.
        settings: environment variables that the notebook reads, e.g. ``WORLDPROBE_STUDY``.

    Raises:
        UserError: the file cannot be read or is not a notebook, there is no kernel to run it, or a cell failed.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbconvert import HTMLExporter

    path = Path(path).resolve()
    try:
        notebook = nbformat.reads(read_text(path, NOTEBOOK_FIX), as_version=4)
    except nbformat.reader.NotJSONError as error:
        raise UserError(path, "is not a notebook.", NOTEBOOK_FIX) from error
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=LONGEST_CELL, kernel_name="python3", resources=resources)
    try:
        client.execute(env={**os.environ, **settings})
    except CellExecutionError as error:
        problem = f"a cell failed: {error.ename}: {error.evalue}."
        raise UserError(
            path, problem, "Open it in Jupyter and run it cell by cell; check that the study has finished."
        ) from error
    for cell in notebook.cells:
        if "outputs" in cell:
            cell["outputs"] = [one for one in cell["outputs"] if one.get("name") != "stderr"]
    html, _resources = HTMLExporter(
        template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True
    ).from_notebook_node(notebook)
    return number_table_ids(str(html))


def number_table_ids(html: str) -> str:
    """Replace pandas' random table ids by their numbers, so that the same notebook gives the same bytes.

    >>> number_table_ids('<style>#T_0f3a9 td {}</style><table id="T_0f3a9"></table><table id="T_b01c2"></table>')
    '<style>#T_1 td {}</style><table id="T_1"></table><table id="T_2"></table>'
    """
    random_id = re.compile(r"\bT_[0-9a-f]{5}(?![0-9a-zA-Z])")
    numbers = {found: f"T_{number}" for number, found in enumerate(dict.fromkeys(random_id.findall(html)), start=1)}
    return random_id.sub(lambda match: numbers[match.group(0)], html)
