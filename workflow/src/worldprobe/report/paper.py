"""A study as a short article in LaTeX, in which every number is a macro, named by what it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worldprobe.report.page import ShownPart, ShownSection
from worldprobe.report.sheet import LATEX_ESCAPES, PrintedTable, latex

DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
#: A number in a sentence; digits that are part of a name (GPT-2, word2vec) are not.
NUMBER = re.compile(r"(?<![\w.−-])[−+]?\d[\d,]*(?:\.\d+)*(?![\w]|-\w)")

HEAD = r"""% Written by `worldprobe paper write`. Every number is a macro of numbers.tex.
\documentclass[10pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{mathptmx,textcomp,booktabs,longtable,graphicx}
\usepackage[margin=2.2cm]{geometry}
\usepackage[hidelinks]{hyperref}
\pdftrailerid{} % same paper, same bytes
\emergencystretch=3em
\input{numbers.tex}
"""


def macro_name(*parts: str) -> str:
    r"""What a number is called: words in a row, digits spelled, as LaTeX allows letters only.

    >>> macro_name("ewok", "mean_accuracy", "GPT-2 control, small", "95% interval")
    'EwokMeanAccuracyGPTTwoControlSmallNineFiveInterval'
    """
    words = re.findall(r"[A-Za-z]+|\d", " ".join(unicodedata.normalize("NFKD", part) for part in parts))
    return "".join(DIGITS[int(word)] if word.isdigit() else word[0].upper() + word[1:] for word in words)


@dataclass
class Numbers:
    """The macros of one article, in the order of their use.

    Attributes:
        values: macro -> the number, as LaTeX prints it.
        meanings: macro -> what it is, for the comment next to it.
    """

    values: dict[str, str] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)

    def define(self, value: str, *parts: str) -> str:
        r"""The macro of a number, ready for a sentence; a second number of the same name has a letter more.

        >>> numbers = Numbers()
        >>> numbers.define("0.65", "mean"), numbers.define("0.7", "mean"), sorted(numbers.values)
        ('\\Mean{}', '\\MeanB{}', ['Mean', 'MeanB'])
        """
        base = macro_name(*parts) or "Number"
        name, count = base, 1
        while name in self.values:
            count += 1
            name = base + _letters(count)
        self.values[name] = _latex(value)
        self.meanings[name] = ", ".join(" ".join(part.split()) for part in parts)
        return f"\\{name}{{}}"

    def text(self, sentence: str, *parts: str) -> str:
        """A sentence for LaTeX with a macro for each number in it."""
        pieces, end = [], 0
        for found in NUMBER.finditer(sentence):
            pieces += [
                _latex(sentence[end : found.start()]),
                self.define(found[0], *parts, _last_words(sentence[: found.start()])),
            ]
            end = found.end()
        return "".join([*pieces, _latex(sentence[end:])])

    def file(self) -> str:
        """The content of numbers.tex."""
        lines = ["% Written by `worldprobe paper write`: every number of paper.tex, named by what it is."]
        lines += [f"\\newcommand{{\\{name}}}{{{value}}} % {self.meanings[name]}" for name, value in self.values.items()]
        return "\n".join(lines) + "\n"


def _letters(count: int) -> str:
    """2 -> B, 27 -> AA.

    >>> _letters(2), _letters(27)
    ('B', 'AA')
    """
    text = ""
    while count:
        count, rest = divmod(count - 1, 26)
        text = chr(65 + rest) + text
    return text


def _last_words(text: str) -> str:
    """What comes before a number, as a part of its name."""
    return " ".join(re.findall(r"[A-Za-z]+", text)[-3:])


def _latex(text: str) -> str:
    """Text for LaTeX; a character that its fonts lack is named."""
    shown = []
    for character in text:
        known = character in LATEX_ESCAPES or character.isascii() or character in "‘’“”…—" or ord(character) < 256
        shown.append(latex(character) if known else f"[{unicodedata.name(character, 'character').lower()}]")
    return "".join(shown)


def write_paper(parts: Sequence[ShownPart], study: str, figures: Sequence[Path], folder: Path) -> tuple[str, str]:
    """The article and its numbers.

    Args:
        parts: the benchmarks' parts, as the report shows them.
        study: name of the study.
        figures: the figures' files, whose PDFs are next to them.
        folder: where the article will be, so that it finds the figures.

    Returns:
        The contents of paper.tex and numbers.tex.
    """
    numbers = Numbers()
    pictures = {path.stem: _relative(path.with_suffix(".pdf"), folder) for path in figures}
    title = "What do language models know about the world?" if len(parts) > 1 else parts[0].part.question
    lines = [
        HEAD,
        f"\\title{{{_latex(title)}}}",
        f"\\author{{Study \\texttt{{{_latex(study)}}}}}",
        "\\date{}",
        "\\begin{document}",
    ]
    lines += ["\\maketitle", "\\begin{abstract}"]
    for shown in parts:
        lines.append(f"{_latex(shown.title)}: {numbers.text(shown.part.lead, shown.name, 'abstract')}")
    lines += ["\\end{abstract}", ""]
    for shown in parts:
        lines += _part(shown, numbers, pictures)
    lines.append("\\end{document}")
    return "\n".join(lines) + "\n", numbers.file()


def _part(shown: ShownPart, numbers: Numbers, pictures: dict[str, str]) -> list[str]:
    part, name = shown.part, shown.name
    lines = [f"\\section{{{_latex(shown.title)}}}", ""]
    lines += [numbers.text(sentence, name, "results") for sentence in (part.lead, *part.more)]
    counted = ", ".join(f"{numbers.define(number, name, 'count of', what)} {_latex(what)}" for number, what in part.facts)
    lines += [f"The study has {counted}." if counted else "", "", "\\subsection{Methods}", ""]
    lines += [numbers.text(sentence, name, "methods") for sentence in part.methods.sentences]
    lines += ["", f"Please cite: {numbers.text(part.cite, name, 'citation')}", ""]
    for section in part_sections(shown):
        lines += [f"\\subsection{{{_latex(section.title)}}}", "", numbers.text(section.intro, name, section.id), ""]
        for picture in section.figures:
            caption = numbers.text(picture.caption, name, picture.name, "caption")
            lines += ["\\begin{figure}[htbp]", "  \\centering"]
            lines += [
                f"  \\includegraphics[width=\\linewidth,height=0.8\\textheight,keepaspectratio]{{{pictures[picture.name]}}}"
            ]
            lines += [f"  \\caption{{{caption}}}", "\\end{figure}", ""]
        for table in section.tables:
            lines += _table(table, name, numbers)
    lines += ["\\clearpage", ""]
    return lines


def part_sections(shown: ShownPart) -> list[ShownSection]:
    """The sections with a figure or a table; what only markup shows stays in the report."""
    return [section for section in shown.sections if section.figures or section.tables]


def _table(table: PrintedTable, benchmark: str, numbers: Numbers) -> list[str]:
    """A printed table whose number cells are macros, over several pages where it is long."""
    n_labels = next((at for at, column in enumerate(table.columns) if column.is_number), len(table.columns))
    form = "".join("r" if column.is_number else "l" for column in table.columns)
    heads = []
    if table.spans():
        spans = [(numbers.text(over, benchmark, table.name, "heading"), width) for over, width in table.spans()]
        heads.append(" & ".join(f"\\multicolumn{{{width}}}{{c}}{{{over}}}" for over, width in spans) + r" \\")
    heads.append(" & ".join(numbers.text(one.heading, benchmark, table.name, "heading") for one in table.columns) + r" \\")
    caption = f"\\caption{{{numbers.text(table.title, benchmark, table.name, 'title')}}}"
    rows = []
    for at, row in enumerate(table.rows):
        label = " ".join(row[:n_labels])
        cells = [
            numbers.define(cell, benchmark, table.name, label, column.over, column.heading)
            if column.is_number and re.search(r"\d", cell)
            else _latex(cell)
            for cell, column in zip(row, table.columns, strict=True)
        ]
        rows += [r"\addlinespace"] if at in table.breaks and at else []
        rows.append(" & ".join(cells) + r" \\")
    notes = f"{{\\footnotesize {numbers.text(table.notes, benchmark, table.name, 'notes')}\\par}}" if table.notes else ""
    size = r"\scriptsize" if len(table.columns) > 6 else r"\small"
    begin = f"\\begin{{longtable}}{{@{{}}{form}@{{}}}}"
    head = [f"{caption}\\\\", r"\toprule", *heads, r"\midrule", r"\endfirsthead", r"\toprule", *heads, r"\midrule", r"\endhead"]
    tabcolsep = r"\setlength{\tabcolsep}{3pt}" if len(table.columns) > 8 else ""
    return [f"{{{size}{tabcolsep}", begin, *head, *rows, r"\bottomrule", r"\end{longtable}", notes, "}", ""]


def _relative(path: Path, folder: Path) -> str:
    """A file as seen from a folder."""
    import os

    return Path(os.path.relpath(path, folder)).as_posix()
