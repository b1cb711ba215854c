"""The article: every number a macro, every macro a number of the tables, and LaTeX that TeX
takes.
"""

import re
import shutil

import pytest
from markupsafe import Markup

from worldprobe.cli import main
from worldprobe.report.origins import Methods
from worldprobe.report.page import Part, ShownPart, ShownSection
from worldprobe.report.paper import write_paper
from worldprobe.report.sheet import PrintedColumn, PrintedTable


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
