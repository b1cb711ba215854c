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


@pytest.mark.long
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
            made = TABLES["markdown"](json.loads(path.read_text())["rows"])
            assert made.splitlines()[:2] == match[0].splitlines()[2:4]
            compared += 1
    assert compared == 3
    facts = json.loads((tmp_path / "equally_good.json").read_text())
    assert set(facts["numbers"]) == set(
        re.findall(r"simulations/equally_good\.(\w+)", (ROOT / "docs" / "claims.md").read_text())
    )
    assert facts["settings"] == {"size": "other", "studies": 4}
    assert {"date", "versions"} <= facts.keys()


def test_a_table_that_no_program_makes_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "coverege")
    assert done.returncode == 2
    assert "no table coverege" in done.stderr


def test_a_page_has_what_was_measured_at_its_size_and_is_compared_with_it(tmp_path: Path) -> None:
    """A quick run replaces nothing."""
    page, results = tmp_path / "docs" / "page.md", tmp_path / "results"
    (results / "simulations").mkdir(parents=True)
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    page.write_text(
        "<!--table:simulations/x-->\n\n| b |\n\n<!--/table-->\n"
        "<!--measured:simulations/x.studies-->0<!---->"
    )
    facts = {"settings": {"size": "page", "studies": 1000}, "rows": [{"a": "2%"}]}
    place = results / "simulations" / "x.json"
    place.write_text(json.dumps(facts))
    TABLES["main"](results, tmp_path)
    text = page.read_text()
    assert "\n\n| a |\n|---:|\n| 2% |\n\n<!--/table-->" in text
    assert ">1,000<" in text
    place.write_text(json.dumps({"settings": {"size": "quick"}, "rows": [{"a": "9%"}]}))
    TABLES["main"](results, tmp_path)
    assert page.read_text() == text
    assert TABLES["differences"](tmp_path) == []
    page.write_text(text.replace("2%", "3%"))
    assert TABLES["differences"](tmp_path) == ["docs/page.md"]


@pytest.mark.slow
def test_every_table_is_made(tmp_path: Path) -> None:
    done = run(tmp_path, "--studies", "2")
    assert done.returncode == 0, done.stderr
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    cited = set(re.findall(r"<!--(?:table|measured):simulations/(\w+)", pages))
    assert cited == {path.stem for path in tmp_path.glob("*.json")}


def test_pages_of_one_name_are_both_compared(tmp_path: Path) -> None:
    """docs/worldsense.md hid docs/appendix/worldsense.md, or the other way around."""
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    kept = {"a/b": {"settings": {"studies": 9}, "numbers": {"c": "5%"}}}
    (tmp_path / "docs" / "pictures" / "measured.json").write_text(json.dumps(kept))
    for folder in ("appendix", "extras"):
        (tmp_path / "docs" / folder).mkdir()
        for number, name in ((4, "same.md"), (5, "own.md")):
            text = f"<!--measured:a/b.c-->{number if folder == 'appendix' else 5}%<!---->"
            (tmp_path / "docs" / folder / name).write_text(text)
    assert TABLES["differences"](tmp_path) == ["docs/appendix/same.md"]


@pytest.mark.parametrize(
    "page",
    [
        "<!--table:a/b-->\n\n| 1 |\n",
        "<!--table:a/b-->\n| 1 |\n\n<!--/table-->",
        "<!--table:a/b-->\n\n| 1 |\n\nText.\n\n<!--table:a/d-->\n\n| 2 |\n\n<!--/table-->",
        "<!--measured:a/b.c-->below <1%<!---->",
        "<!--measured:a/b.c-->5%",
    ],
)
def test_a_mark_that_is_not_closed_is_told(page: str) -> None:
    """What it showed never changed again, or the text up to the next table went."""
    with pytest.raises(ValueError, match=r"not closed.*a/"):
        TABLES["filled"](page, {})


def test_a_column_with_a_negative_number_is_a_column_of_numbers() -> None:
    assert TABLES["markdown"]([{"n": "-0.09"}]).splitlines()[1] == "|---:|"


@pytest.mark.long
def test_versions_that_are_said_to_differ_by_three_points_do() -> None:
    """They differed by 2.3: the log odds were those of a mean of 0.5."""
    code = (
        "import claims, numpy as np; from dataclasses import replace\n"
        "from studies import intercept, mean_of\n"
        "of, draw = claims.THREE_POINTS, np.random.default_rng(0).standard_normal(2000)\n"
        "middle, inside = intercept(claims.MIDDLE, of.whole), replace(of, version=0.0).whole\n"
        "print(np.std([mean_of(middle + of.version * one, inside) for one in draw]))"
    )
    folder = ROOT / "docs" / "simulations"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    assert float(done.stdout) == pytest.approx(0.03, abs=0.001)
