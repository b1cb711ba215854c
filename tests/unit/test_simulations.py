"""Programs of docs/simulations, of a few studies each."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = runpy.run_path(str(ROOT / "docs" / "measured_tables.py"))


def run(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "simulations"), *words, "--out", str(tmp_path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_tables_have_the_columns_of_the_pages(tmp_path: Path) -> None:
    """Quick ones here; the others are run where they are changed."""
    names = ["equal_models", "skins", "equally_good", "interval_of_version", "people_coverage"]
    done = run(tmp_path, *names, "--studies", "4")
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "methods.md").read_text()
    compared = 0
    for match in TABLES["TABLE"].finditer(page):
        path = tmp_path / f"{match[1].partition('/')[2]}.json"
        if path.is_file():
            made = TABLES["markdown"](json.loads(path.read_text())["table"])
            assert made.splitlines()[:2] == match[0].splitlines()[2:4]
            compared += 1
    assert compared == 3
    facts = json.loads((tmp_path / "equally_good.json").read_text())
    assert set(facts["numbers"]) == set(
        re.findall(r"simulations/equally_good\.(\w+)", (ROOT / "docs" / "claims.md").read_text())
    )
    assert {"studies", "size", "versions", "python"} <= facts.keys()


def test_a_table_that_no_program_makes_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "coverege")
    assert done.returncode == 2
    assert "no table coverege" in done.stderr


def test_places_of_programs_that_did_not_run_stay() -> None:
    page = "<!--table:simulations/x-->\n\n| a |\n|---|\n| 1 |\n\n<!--/table-->"
    assert TABLES["filled"](page, {}) == page
    facts = {"table": {"columns": ["a"], "data": [["2%"]]}, "studies": 1000, "size": "page"}
    assert "| 2% |" in TABLES["filled"](page, {"simulations/x": facts})
    mark = "<!--measured:simulations/x.studies-->0<!---->"
    assert ">1,000<" in TABLES["filled"](mark, {"simulations/x": facts})


def test_a_result_of_a_quick_run_is_no_number_of_a_page(tmp_path: Path) -> None:
    (tmp_path / "simulations").mkdir()
    (tmp_path / "simulations" / "x.json").write_text(json.dumps({"size": "quick"}))
    assert TABLES["read_measured"](tmp_path) == {}


@pytest.mark.slow
def test_every_table_is_made(tmp_path: Path) -> None:
    done = run(tmp_path, "--studies", "2")
    assert done.returncode == 0, done.stderr
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    cited = set(re.findall(r"<!--(?:table|measured):simulations/(\w+)", pages))
    assert cited == {path.stem for path in tmp_path.glob("*.json")}
