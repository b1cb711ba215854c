r"""A study as a short article in LaTeX, whose numbers and texts have names:
``\result{ewok/mean_accuracy/GPT-2/Mean}``.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worldprobe.report.page import QUESTION, ShownPart, ShownSection
from worldprobe.report.sheet import LATEX_ESCAPES, PrintedTable, latex

#: Rows of the longest table of an article; longer ones are for the report.
MOST_ROWS = 30
HEAD = r"""% Written by `worldprobe paper write`. \result{...} is a number or text of numbers.tex.
\documentclass[9pt,a4paper]{extarticle}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{mathptmx,textcomp,booktabs,graphicx}
\usepackage[margin=2cm]{geometry}
\usepackage[hidelinks]{hyperref}
\pdftrailerid{} % same paper, same bytes
\emergencystretch=3em
\renewcommand{\topfraction}{0.95}
\renewcommand{\textfraction}{0.05}
\renewcommand{\floatpagefraction}{0.9}
\newsavebox{\content}
\newcommand{\fitted}[1]{\savebox{\content}{#1}\ifdim\wd\content>\linewidth%
  \resizebox{\linewidth}{!}{\usebox{\content}}\else\usebox{\content}\fi}
\input{numbers.tex}
"""
NUMBERS_HEAD = r"""% Written by `worldprobe paper write`: what paper.tex says, by its name.
\makeatletter
\newcommand{\setresult}[2]{\@namedef{result:#1}{#2}}
\DeclareRobustCommand{\result}[1]{\@ifundefined{result:#1}%
  {\PackageError{worldprobe}{no result "#1"}{}}{\@nameuse{result:#1}}}
\makeatother
"""


def key_of(*parts: str) -> str:
    """What a number or text is called: where it is, each part as it is written there, in characters
    that TeX takes in a name.

    >>> key_of("ewok", "mean_accuracy", "GPT-2 control, small", "95% interval")
    'ewok/mean_accuracy/GPT-2 control, small/95 interval'
    """
    plain = (
        unicodedata.normalize("NFKD", part).encode("ascii", "ignore").decode()
        for part in parts
        if part
    )
    return "/".join(" ".join(re.sub(r"[^\w .,:()+-]", "", part).split()) for part in plain)


@dataclass
class Numbers:
    """The numbers and texts of an article by name, in the order of their use."""

    values: dict[str, str] = field(default_factory=dict)

    def define(self, value: str, *parts: str) -> str:
        r"""The macro of a number or a text; a second one of the same name is counted.

        >>> numbers = Numbers()
        >>> numbers.define("0.65", "mean"), numbers.define("0.7", "mean")
        ('\\result{mean}', '\\result{mean (2)}')
        """
        name, count = key_of(*parts), 1
        while name in self.values:
            count += 1
            name = f"{key_of(*parts)} ({count})"
        self.values[name] = _latex(value)
        return f"\\result{{{name}}}"

    def file(self) -> str:
        """The content of numbers.tex."""
        return NUMBERS_HEAD + "".join(
            f"\\setresult{{{name}}}{{{value}}}\n" for name, value in self.values.items()
        )


def _latex(text: str) -> str:
    """Text for LaTeX; a character that its fonts lack is named."""

    def is_known(character: str) -> bool:
        return character in LATEX_ESCAPES or character in "‘’“”…—" or ord(character) < 256

    return latex(
        "".join(
            one if is_known(one) else f"[{unicodedata.name(one, 'character').lower()}]"
            for one in text
        )
    )


def write_paper(
    parts: Sequence[ShownPart], study: str, figures: Sequence[Path], folder: Path
) -> tuple[str, str]:
    """The article and its numbers: of each section that is not about the study's making, the first
    figure and the first table.

    Args:
        parts: the benchmarks' parts, as the report shows them.
        study: name of the study.
        figures: the figures' files, whose PDFs are next to them.
        folder: where the article will be, so that it finds the figures.

    Returns:
        The contents of paper.tex and numbers.tex.
    """
    numbers = Numbers()
    pictures = {
        path.stem: Path(os.path.relpath(path.with_suffix(".pdf"), folder)).as_posix()
        for path in figures
    }
    lines = [
        f"{HEAD}\\title{{{_latex(QUESTION if len(parts) > 1 else parts[0].part.question)}}}",
        f"\\author{{Study \\texttt{{{_latex(study)}}}}}",
        "\\date{}\n\\begin{document}\n\\maketitle\n\\begin{abstract}",
        *(
            f"{_latex(shown.title)}: {numbers.define(shown.part.lead, shown.name, 'lead')}"
            for shown in parts
        ),
        "\\end{abstract}\n",
    ]
    for shown in parts:
        lines += _part(shown, numbers, pictures)
    return "\n".join([*lines, "\\end{document}\n"]), numbers.file()


def _part(shown: ShownPart, numbers: Numbers, pictures: dict[str, str]) -> list[str]:
    part, name = shown.part, shown.name
    counted = ", ".join(
        f"{numbers.define(number, name, what)} {_latex(what)}" for number, what in part.facts
    )
    lines = [
        f"\\section{{{_latex(shown.title)}}}",
        numbers.define(f"{part.who} {part.lead}", name, "findings"),
    ]
    lines += [
        numbers.define(sentence, name, f"finding {place}")
        for place, sentence in enumerate(part.more, 1)
    ]
    lines += [f"The study has {counted}." if counted else "", "", "\\paragraph{Methods.}"]
    lines += [
        numbers.define(part.methods.text, name, "methods"),
        f"Please cite: {numbers.define(part.cite, name, 'cite')}",
        "",
    ]
    for section in shown.sections:
        if not section.is_folded and (section.figures or _short(section)):
            lines += _section(section, name, numbers, pictures)
    return lines


def _short(section: ShownSection) -> list[PrintedTable]:
    """The tables that have rows, and few enough for a page."""
    return [table for table in section.tables if 0 < len(table.rows) <= MOST_ROWS]


def _section(
    section: ShownSection, name: str, numbers: Numbers, pictures: dict[str, str]
) -> list[str]:
    lines = [f"\\subsection{{{_latex(section.title)}}}", _latex(section.intro), ""]
    for picture in section.figures[:1]:
        size = "width=\\linewidth,height=0.3\\textheight,keepaspectratio"
        lines += [
            "\\begin{figure}[htbp]\\centering",
            f"\\includegraphics[{size}]{{{pictures[picture.name]}}}",
        ]
        lines += [
            f"\\caption{{{numbers.define(picture.caption, name, picture.name, 'caption')}}}",
            "\\end{figure}",
            "",
        ]
    for table in _short(section)[:1]:
        lines += _table(table, name, numbers)
    return lines


def _table(table: PrintedTable, benchmark: str, numbers: Numbers) -> list[str]:
    """A printed table whose number cells are macros, no wider than the text."""
    n_labels = next(
        (at for at, column in enumerate(table.columns) if column.is_number), len(table.columns)
    )
    heads = [" & ".join(_latex(one.heading) for one in table.columns) + r" \\"]
    if table.spans():
        heads.insert(
            0,
            " & ".join(f"\\multicolumn{{{n}}}{{c}}{{{_latex(over)}}}" for over, n in table.spans())
            + r" \\",
        )
    rows = []
    for at, row in enumerate(table.rows):
        label = ", ".join(cell for cell in row[:n_labels] if cell)
        cells = [
            (
                numbers.define(cell, benchmark, table.name, label, column.over, column.heading)
                if column.is_number and re.search(r"\d", cell)
                else _latex(cell)
            )
            for cell, column in zip(row, table.columns, strict=True)
        ]
        rows += [r"\addlinespace"] * (at in table.breaks and at > 0)
        rows.append(" & ".join(cells) + r" \\")
    form = "".join("r" if column.is_number else "l" for column in table.columns)
    notes = numbers.define(table.notes, benchmark, table.name, "notes") if table.notes else ""
    return [
        "\\begin{table}[htbp]\\centering\\small",
        f"\\caption{{{numbers.define(table.title, benchmark, table.name, 'caption')}}}\\smallskip",
        f"\\fitted{{\\begin{{tabular}}{{@{{}}{form}@{{}}}}\\toprule",
        *heads,
        r"\midrule",
        *rows,
        r"\bottomrule\end{tabular}}",
        *([f"\\par\\smallskip{{\\footnotesize {notes}\\par}}"] if notes else []),
        "\\end{table}\n",
    ]
