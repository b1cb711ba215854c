"""The article: every number a macro, every macro a number of the tables, and LaTeX that TeX
takes.
"""

import re
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from markupsafe import Markup

from worldprobe.cli import main
from worldprobe.report.crate import Methods
from worldprobe.report.page import Part, ShownPart, ShownSection
from worldprobe.report.paper import Numbers, key_of, write_paper
from worldprobe.report.sheet import Column, PrintedColumn, PrintedTable, Sheet


def table(rows):
    columns = (
        PrintedColumn("Model", "", False),
        PrintedColumn("Mean", "EWoK", True),
        PrintedColumn("95% interval", "EWoK", True),
    )
    return PrintedTable(
        "mean_accuracy",
        "Accuracy over 5 versions; chance is 0.5.",
        columns,
        rows,
        frozenset({1}),
        "Ties: 3 & more.",
        "",
    )


@pytest.fixture
def shown():
    part = Part(
        question="Does it know?",
        who="Asked: 5 models.",
        lead="GPT-2_xl has a mean accuracy of 0.688 (95% interval 0.648 to 0.730).",
        more=["word2vec reaches 0.546."],
        facts=[("5", "models"), ("2,580", "items")],
        methods=Methods(["The test set had 2,580 items in 11 domains."], {}, []),
        cite="Someone (2024), arXiv 2405.09605.",
    )
    rows = [["Llama-3 8B", "0.620", "0.591–0.650"], ["Llama-3 8 B", "−0.688", "–"]]
    return ShownPart(
        "ewok",
        "EWoK",
        part,
        [ShownSection("accuracy", "Accuracy", "What it says.", [], [table(rows)], Markup(""))],
    )


def expand(paper, numbers):
    """The article with each macro replaced by what it stands for."""
    known = dict(re.findall(r"\\setresult\{([^}]*)\}\{(.*)\}", numbers))
    body = paper.split("\\begin{document}")[1]
    used = re.findall(r"\\result\{([^}]*)\}", body)
    assert sorted(used) == sorted(known), "every macro is used once and every used one is defined"
    return re.sub(r"\\result\{([^}]*)\}", lambda found: known[found[1]], body)


@pytest.mark.parametrize("name", ["[ours] Llama", "*Qwen", " [x]", "中"])
def test_a_row_that_begins_like_an_option_of_latex_is_a_row(shown, tmp_path, name):
    """yihui/knitr #1595: after a row's end LaTeX takes [ours] for a length. Of a letter that it
    lacks the name is in brackets.
    """
    section = shown.sections[0]
    rows = [[name, "0.620", "0.591–0.650"], [name, "0.1", "–"]]
    section = replace(section, tables=[replace(section.tables[0], rows=rows)])
    paper, _numbers = write_paper([replace(shown, sections=[section])], "default", [], tmp_path)
    frame = pd.DataFrame({"name": [name, name], "mean": [0.1, 0.2]})
    sheet = Sheet(
        "title", frame, (Column("Model", ("name",)), Column("Mean", ("mean",))), group="mean"
    )
    for text in (paper, sheet.to_latex("t")):
        assert not re.search(r"(\\\\|\\(midrule|addlinespace|toprule))\s*[\[*]", text)


def test_no_number_of_the_text_is_typed(shown, tmp_path):
    paper, numbers = write_paper([shown], "default", [], tmp_path)
    body = re.sub(
        r"\\result\{[^}]*\}|\\multicolumn\{\d+\}", "", paper.split("\\begin{document}")[1]
    )
    left = re.findall(r"(?<![\w-])\d+(?:[.,]\d+)*(?![\w-])", body)
    assert set(left) <= {
        "3",
        "8",
        "95",
    }, "digits that are parts of names and headings"  # Llama-3 8B, 95% interval
    text = expand(paper, numbers)
    assert "0.688 (95\\% interval 0.648 to 0.730)" in text
    assert "0.620 & 0.591--0.650" in text
    assert "$-$0.688" in text
    assert "word2vec reaches" in text


def test_a_number_is_named_by_table_row_and_column(shown, tmp_path):
    _, numbers = write_paper([shown], "default", [], tmp_path)
    assert "\\setresult{ewok/mean_accuracy/Llama-3 8B/EWoK/Mean}{0.620}" in numbers
    assert "\\setresult{ewok/mean_accuracy/Llama-3 8 B/EWoK/Mean}{$-$0.688}" in numbers
    assert "\\setresult{ewok/lead}{GPT-2\\_xl has" in numbers


@pytest.mark.parametrize(
    "parts", [("x²", "é"), ("", ""), ("Ünïcode", "3.5%"), ("a&b", "{#}"), ("~\\", "|")]
)
def test_any_name_makes_a_macro_that_tex_takes(parts):
    assert re.fullmatch(r"[\w .,:()/+-]*", key_of(*parts))
    numbers = Numbers()
    assert numbers.define("1", *parts) != numbers.define("2", *parts)


def test_sections_about_the_making_and_long_tables_are_left_to_the_report(shown, tmp_path):
    section = shown.sections[0]
    long = replace(section.tables[0], name="long", rows=[["a", "0.1", "–"]] * 31)
    paper, _ = write_paper(
        [replace(shown, sections=[replace(section, tables=[long, section.tables[0]])])],
        "",
        [],
        tmp_path,
    )
    assert "mean_accuracy" in paper
    assert "long" not in paper.split("\\begin{document}")[1]
    folded, _ = write_paper(
        [replace(shown, sections=[replace(section, is_folded=True)])], "", [], tmp_path
    )
    assert "tabular" not in folded.split("\\begin{document}")[1]


@pytest.mark.parametrize("n_rows", [0, 31])
def test_a_section_without_a_table_that_can_be_printed_has_no_heading(shown, tmp_path, n_rows):
    """ "Published numbers: every number that the paper prints, next to ours" stood above a table
    without rows.
    """
    section = shown.sections[0]
    empty = replace(
        section,
        title="Published",
        tables=[replace(section.tables[0], name="empty", rows=[["a", "0.1", "–"]] * n_rows)],
    )
    paper, _ = write_paper([replace(shown, sections=[section, empty])], "", [], tmp_path)
    assert "Published" not in paper.split("\\begin{document}")[1]


def test_same_study_same_bytes(shown, tmp_path):
    assert write_paper([shown], "default", [], tmp_path) == write_paper(
        [shown], "default", [], tmp_path
    )


def test_without_latexmk_three_lines_say_what_to_do(shown, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "paper.tex").write_text("x")
    assert (
        main(
            ["paper", "typeset", str(tmp_path / "paper.tex"), "--out", str(tmp_path / "paper.pdf")]
        )
        == 2
    )
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 3
    assert "apt-get install latexmk" in said[2]
    assert not (tmp_path / "paper.pdf").exists()


@pytest.mark.skipif(
    shutil.which("latexmk") is None,
    reason="latexmk is not installed, so the paper cannot be typeset here",
)
def test_tex_takes_the_article_twice_with_equal_bytes_and_names_a_mistake(shown, tmp_path, capsys):
    paper, numbers = write_paper([shown], "a_study & more", [], tmp_path)
    (tmp_path / "paper.tex").write_text(paper)
    (tmp_path / "numbers.tex").write_text(numbers)
    outs = [tmp_path / "one.pdf", tmp_path / "two.pdf"]
    for out in outs:
        assert main(["paper", "typeset", str(tmp_path / "paper.tex"), "--out", str(out)]) == 0, (
            capsys.readouterr().err
        )
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "numbers.tex",
        "one.pdf",
        "paper.tex",
        "two.pdf",
    ]
    (tmp_path / "numbers.tex").write_text("")
    assert main(["paper", "typeset", str(tmp_path / "paper.tex"), "--out", str(outs[0])]) == 2
    assert "Undefined control sequence" in capsys.readouterr().err
