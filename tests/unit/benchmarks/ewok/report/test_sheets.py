"""What a table becomes: a sentence, a fold, nothing, or LaTeX that fits the page."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.ewok.benchmark import BENCHMARK as EWOK
from worldprobe.report import sheet
from worldprobe.report.findings import against_chance, models_sheet
from worldprobe.report.model_names import Roster
from worldprobe.report.page import (
    LONGEST_TABLE,
    Material,
    ReportPage,
    ShownPart,
    ShownSection,
    build_part,
    render_report,
)
from worldprobe.report.sheet import Sheet, SheetColumn, read_printed


def table_of(n_rows: int, width: int = 4, n_columns: int = 2, finding: str = "") -> Sheet:
    frame = pd.DataFrame({f"c{k}": ["x" * width] * n_rows for k in range(n_columns)})
    columns = tuple(SheetColumn(name, (name,)) for name in frame)
    return Sheet("Title.", frame, columns, notes=("A note.",), finding=finding)


@pytest.fixture
def material(small_study) -> Material:
    return Material(small_study.folder / "summaries.parquet", small_study.roster)


@pytest.mark.parametrize(
    ("n_rows", "finding", "is_folded"),
    [
        (LONGEST_TABLE, "", False),
        (LONGEST_TABLE + 1, "", True),
        (2, "Nothing differs.", True),
    ],
)
@pytest.mark.long
def test_a_long_table_and_one_with_a_sentence_are_folded(material, n_rows, finding, is_folded):
    shown = build_part(EWOK, material)
    table = table_of(n_rows, finding=finding).printed_as("mine")
    section = ShownSection("more", "More", "", [], [table], "")
    text = render_report(ReportPage([ShownPart(shown.name, shown.title, shown.part, [section])]))
    (figure,) = re.findall(r'<figure class="sheet">(?:(?!</figure>).)*xxxx.*?</figure>', text, re.S)
    assert ("<details><summary>" in figure) == is_folded
    assert finding in figure


@pytest.mark.long
def test_a_table_without_rows_is_not_shown_and_has_no_section(material):
    tables = [table_of(n_rows).printed_as(f"t{n_rows}") for n_rows in (0, 3)]
    (section,) = [one for one in build_part(EWOK, material, tables).sections if one.id == "more"]
    assert [table.name for table in section.tables] == ["t3"]
    assert "more" not in {one.id for one in build_part(EWOK, material, tables[:1]).sections}


@pytest.mark.parametrize(("mean", "says"), [(0.51, True), (0.7, False)])
def test_a_table_of_models_that_are_all_at_chance_is_a_sentence(mean, says):
    rows = pd.DataFrame({"model": ["a", "b"], "mean": [0.5, mean]})
    rows = rows.assign(ci_low=rows["mean"] - 0.05, ci_high=rows["mean"] + 0.05)
    found = models_sheet(against_chance(rows, ["a", "b"], Roster())).finding
    assert ("0.500–0.510" in found) == says == bool(found)


def test_a_wide_table_is_small_and_never_wider_than_the_line():
    narrow, wide = table_of(3), table_of(3, width=40, n_columns=8)
    assert sheet.FIT in narrow.to_latex("t")
    assert "scriptsize" not in narrow.to_latex("t")
    assert "scriptsize" in wide.to_latex("t")
    broken = replace(wide, columns=tuple(replace(one, letters=10) for one in wide.columns))
    assert "p{5em}" in broken.to_latex("t"), "its lines are broken"
    assert "scriptsize" not in broken.to_latex("t")
    long = table_of(sheet.LONGEST_FLOAT + 1, width=22, n_columns=8).to_latex("t")
    assert "longtable" in long
    assert "tiny" in long, "a table that breaks across pages cannot be resized"


@pytest.mark.long
def test_a_page_prints_its_own_tables_as_the_command_does_and_a_given_one_once(
    material, small_study, tmp_path
):
    """They were sheets of the page alone, which no command printed and no study wrote."""
    shown = build_part(EWOK, material)
    in_sections = [table for section in shown.sections for table in section.tables]
    by_name = {table.name: table for table in [*shown.tables, *in_sections]}
    assert [table.name for table in shown.tables] == ["models_against_chance"]
    assert list(by_name) == [display.name for display in EWOK.page.tables][:3]
    for name, table in by_name.items():
        path = tmp_path / f"{name}.json"
        names = f"--registry {small_study.registry_path}"
        assert run(f"table {name} {material.summary} {names} --out {path}") == 0
        assert read_printed(path) == table
    given = replace(by_name["models_against_chance"], title="As the study printed it.")
    (first,) = build_part(EWOK, material, [given]).tables
    assert first.title == given.title


def test_a_study_prints_the_tables_of_its_page_by_the_way_of_asking_that_its_headline_is_about():
    study = {"ewok": {"eval_types": ["likert_constrained_two", "logprobs"]}}
    chosen = [display.chosen(study) for display in EWOK.page.tables]
    assert chosen == [{"eval_type": "likert_constrained_two"}] * 4
    assert {display.name for display in EWOK.page.tables} <= {each.name for each in EWOK.displays}


def test_a_column_of_intervals_has_one_way_of_writing_them():
    """One had "0.030–0.092" above "−0.029 to 0.030"."""
    ends = pd.DataFrame({"ci_low": [0.03, -0.029, None], "ci_high": [0.092, 0.03, None]})
    mixed = Sheet("Title.", ends, (sheet.INTERVAL,))
    assert mixed.cells() == [["0.030 to 0.092"], ["−0.029 to 0.030"], ["–"]]
    assert Sheet("Title.", ends[::2], (sheet.INTERVAL,)).cells() == [["0.030–0.092"], ["–"]]
