"""One printed table in four forms: CSV for programs, LaTeX (booktabs) for papers, Markdown for
people, JSON for the report.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.files import read_text, write_text

ABSENT = "–"
EN_DASH = "–"
MINUS = "−"
#: Rows that fit on a page; longer tables break across pages in LaTeX.
LONGEST_FLOAT = 45
#: Width of A4 between margins of 2 cm, in points.
LINE = 484.0
#: LaTeX's sizes in points, and the space beside a column.
SIZES = {
    "": (10, 6),
    "\\small": (9, 4),
    "\\footnotesize": (8, 4),
    "\\scriptsize": (7, 2),
    "\\tiny": (5, 2),
}
#: Mean width of a letter in units of its size; a digit has exactly this one.
LETTER = 0.5
#: Makes a float as narrow as the line, and none wider.
FIT = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"

#: LaTeX's special characters and the typographic ones that our own labels use.
LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    EN_DASH: "--",
    MINUS: "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "σ": r"$\sigma$",
    "→": r"$\rightarrow$",
}


def latex(text: str) -> str:
    r"""Text that LaTeX prints literally.

    >>> latex("gemma_1.1 & co, 0.942–0.957")
    'gemma\\_1.1 \\& co, 0.942--0.957'
    >>> latex("tiny--v2, a``b")
    'tiny-{}-v2, a`{}`b'
    >>> latex("p ≥ 95%")
    'p $\\geq$ 95\\%'
    >>> latex("")
    ''
    """
    pairs = zip(
        text, f"{text[1:]} ", strict=False
    )  # of two hyphens, or quotes, LaTeX would make one sign
    shown = "".join(
        LATEX_ESCAPES.get(letter, letter) + ("{}" if letter == after and letter in "-'`" else "")
        for letter, after in pairs
    )
    return (
        f"{{}}{shown}" if text.lstrip()[:1] in ("[", "*") else shown
    )  # else an option of the row above


def markdown(text: str) -> str:
    r"""Text that a Markdown table cell shows literally.

    >>> markdown("a|b_c *")
    'a\\|b\\_c \\*'
    """
    return "".join("\\" + c if c in "\\|*_`<>[]#" else c for c in text)


def is_absent(value: Any) -> bool:
    """Whether a cell has nothing to show."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def decimals(places: int) -> Callable[[Any], str]:
    """A formatter of fixed decimals with a true minus sign.

    >>> decimals(3)(0.65), decimals(2)(-0.04), decimals(2)(-0.001), decimals(3)(float("nan"))
    ('0.650', '−0.04', '0.00', '–')
    """

    def shown(value: Any) -> str:
        if is_absent(value):
            return ABSENT
        text = f"{round(value, 9):.{places}f}"  # half a last place is rounded alike after any sum
        if text.startswith("-"):
            text = MINUS + text[1:] if float(text) != 0 else text[1:]
        return text

    return shown


def whole_number(value: Any) -> str:
    """Digits in groups of three from five digits on.

    >>> whole_number(874), whole_number(4374), whole_number(175000)
    ('874', '4374', '175,000')
    """
    if is_absent(value):
        return ABSENT
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"


def as_text(value: Any) -> str:
    """A label, unchanged."""
    return ABSENT if is_absent(value) or value == "" else str(value)


def percent(share: Any) -> str:
    """A share in percent.

    >>> percent(0.1234), percent(0.0004), percent(None)
    ('12.3', '< 0.1', '–')
    """
    if is_absent(share):
        return ABSENT
    return "< 0.1" if 0 < share < 0.0005 else f"{100 * share:.1f}"


def show_p(value: Any) -> str:
    """A probability, never printed as zero.

    >>> show_p(0.0321), show_p(1e-9), show_p(1.0)
    ('0.032', '< 0.001', '1.000')
    """
    if is_absent(value):
        return ABSENT
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def span(low: Any, high: Any, places: int = 3) -> str:
    """A range with an en dash, as the paper prints it.

    >>> span(0.942, 0.957)
    '0.942–0.957'
    """
    if is_absent(low) or is_absent(high):
        return ABSENT
    joint = EN_DASH if low >= 0 and high >= 0 else " to "
    return f"{decimals(places)(low)}{joint}{decimals(places)(high)}"


@dataclass(frozen=True)
class SheetColumn:
    """A printed column.

    Attributes:
        heading: as printed.
        cells: names of the CSV columns it shows; several are given to ``show`` together.
        show: values of the cells -> printed text.
        is_number: right-aligned.
        over: heading shared with its neighbours.
        once: LaTeX leaves the text out where the line above has the same.
        letters: LaTeX breaks longer texts into lines of about so many; 0: never.
    """

    heading: str
    cells: tuple[str, ...]
    show: Callable[..., str] = as_text
    is_number: bool = True
    over: str = ""
    once: bool = False
    letters: int = 0

    @property
    def align(self) -> str:
        """As LaTeX aligns it."""
        if self.letters:
            return f">{{\\raggedright\\arraybackslash}}p{{{LETTER * self.letters:g}em}}"
        return "r" if self.is_number else "l"


def number_column(
    heading: str, cell: str, show: Callable[..., str] | None = None, over: str = ""
) -> SheetColumn:
    """A column of numbers, of three decimals where ``show`` does not say otherwise."""
    return SheetColumn(heading, (cell,), show or decimals(3), over=over)


def text_column(
    heading: str,
    cell: str,
    show: Callable[..., str] = as_text,
    once: bool = False,
    letters: int = 0,
) -> SheetColumn:
    """A column of text, aligned on the left."""
    return SheetColumn(heading, (cell,), show, is_number=False, once=once, letters=letters)


#: Columns of most tables.
MODEL = text_column("Model", "name")
MODEL_ONCE = text_column("Model", "name", once=True)
INTERVAL = SheetColumn("95% interval", ("ci_low", "ci_high"), span)


#: A difference of accuracies that a test would find.
DETECTABLE = SheetColumn(
    "Detectable",
    ("detectable",),
    lambda value: ABSENT if is_absent(value) or value > 1 else decimals(3)(value),
)
#: Two models side by side, their difference and its test.
PAIR_COLUMNS = (
    text_column("Model A", "name_a"),
    text_column("Model B", "name_b"),
    number_column("A", "mean_a"),
    number_column("B", "mean_b"),
    number_column("A − B", "difference"),
    INTERVAL,
    number_column("p", "p", show_p),
    number_column("p (Holm)", "p_holm", show_p),
    DETECTABLE,
)
MORE_THAN_POSSIBLE = (
    "Detectable: the smallest true effect that 80% of such studies would find (p < 0.05); a"
    " dash: even the largest possible one would be found less often."
)


@dataclass(frozen=True)
class Sheet:
    """A table ready to print.

    Attributes:
        title: the caption's first sentence.
        frame: one row per line with every number at full precision; written as the CSV.
        columns: what is printed of it.
        notes: what a reader must know, below the table.
        finding: one sentence that stands for the table; the report folds the table below it.
        group: CSV column whose changes draw a thin rule.
        hidden: columns of ``frame`` that only serve the printing and stay out of the CSV.
        printed: row numbers that LaTeX and Markdown show; None: all of them.
        quotes: it shows text of items.
    """

    title: str
    frame: pd.DataFrame
    columns: tuple[SheetColumn, ...]
    notes: tuple[str, ...] = ()
    finding: str = ""
    group: str | None = None
    hidden: tuple[str, ...] = ()
    printed: tuple[int, ...] | None = None
    quotes: bool = False

    def shown(self) -> pd.DataFrame:
        """The rows that LaTeX and Markdown show."""
        return self.frame if self.printed is None else self.frame.loc[list(self.printed)]

    def cells(self) -> list[list[str]]:
        """The printed text, row by row."""
        records = self.shown().to_dict("records")
        rows = [
            [column.show(*(row[name] for name in column.cells)) for column in self.columns]
            for row in records
        ]
        for number, column in enumerate(self.columns):
            if column.show is span and any(" to " in row[number] for row in rows):
                for row in rows:  # one way of writing intervals in a column
                    low, dash, high = row[number].partition(EN_DASH)
                    row[number] = f"{low} to {high}" if low and dash else row[number]
        return rows

    def breaks(self) -> set[int]:
        """Row numbers above which a thin rule is drawn."""
        if self.group is None:
            return set()
        values = self.shown()[self.group].tolist()
        return {i for i in range(1, len(values)) if values[i] != values[i - 1]}

    def to_csv(self) -> str:
        """Every number at full precision (9 significant digits), UTF-8, one header line."""
        return self.frame.drop(columns=list(self.hidden)).to_csv(
            index=False, float_format="%.9g", lineterminator="\n"
        )

    def to_latex(self, name: str) -> str:
        r"""A ``table`` float with ``booktabs`` rules; one of many rows is a ``longtable``, which
        breaks across pages.

        Args:
            name: of its label.
        """
        is_long = len(self.shown()) > LONGEST_FLOAT
        small, space = self._latex_size(list(SIZES)[2:] if is_long else list(SIZES)[:4])
        small += f"\\setlength{{\\tabcolsep}}{{{space}pt}}"
        align = "@{}" + "".join(column.align for column in self.columns) + "@{}"
        packages = ",array" * any(column.letters for column in self.columns)
        caption = f"\\caption{{{latex(self.title)}}}\\label{{tab:{name}}}"
        head = ["\\toprule"]
        if any(column.over for column in self.columns):
            head += _latex_spans(self.columns)
        head += [" & ".join(latex(column.heading) for column in self.columns) + r" \\", "\\midrule"]
        rows = [*self._latex_rows(), "\\bottomrule"]
        notes = " ".join(latex(note) for note in (self.finding, *self.notes) if note)
        if is_long:
            lines = [
                f"% needs \\usepackage{{booktabs,longtable{packages}}}",
                f"{{{small}\\begin{{longtable}}{{{align}}}",
                f"{caption}\\\\",
                *head,
                "\\endfirsthead",
                *head,
                "\\endhead",
                *rows,
                f"\\end{{longtable}}\\noindent {notes}\\par}}",
            ]
        else:
            lines = [
                f"% needs \\usepackage{{booktabs,graphicx{packages}}}",
                f"\\begin{{table}}\\centering{small}",
                f"{caption}\\smallskip",
                f"{FIT}\n\\begin{{tabular}}{{{align}}}",
                *head,
                *rows,
                "\\end{tabular}}",
                "\\par\\medskip\\begin{minipage}{\\linewidth}\\footnotesize",
                f"{notes}\\end{{minipage}}",
                "\\end{table}",
            ]
        if any(re.search(r"[\u3400-\u9fff]", line) for line in lines):
            lines.insert(0, "% needs \\usepackage{ctex}, and XeLaTeX or LuaLaTeX")
        return "\n".join([*lines, ""])

    def _latex_size(self, sizes: Sequence[str]) -> tuple[str, int]:
        """The largest of some sizes at which the table is as wide as the line at most, by the
        number of letters, or the smallest; and the space beside a column.
        """
        rows = [[column.heading for column in self.columns], *self.cells()]
        letters = sum(
            column.letters or max(len(row[index]) for row in rows)
            for index, column in enumerate(self.columns)
        )
        for size in sizes:
            points, space = SIZES[size]
            if LETTER * points * letters + 2 * space * (len(self.columns) - 1) <= LINE:
                break
        return size, space

    def _latex_rows(self) -> list[str]:
        """The body's lines, with a little space between groups."""
        lines: list[str] = []
        breaks, above = self.breaks(), [""] * len(self.columns)
        for number, row in enumerate(self.cells()):
            if number in breaks:
                lines.append("\\addlinespace")
            shown = [
                "" if c.once and above[i] == row[i] else row[i] for i, c in enumerate(self.columns)
            ]
            lines.append(" & ".join(latex(cell) for cell in shown) + r" \\")
            above = row
        return lines

    def to_markdown(self) -> str:
        """A GitHub table with its title above and its notes below; columns padded, so that it reads
        as plain text too.
        """
        headings = [
            f"{column.over}: {column.heading}" if column.over else column.heading
            for column in self.columns
        ]
        rows = [[markdown(cell) for cell in row] for row in [headings, *self.cells()]]
        widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(headings))]
        numbers = [column.is_number for column in self.columns]

        def line(cells: Sequence[str]) -> str:
            padded = (
                c.rjust(w) if n else c.ljust(w)
                for c, w, n in zip(cells, widths, numbers, strict=True)
            )
            return f"| {' | '.join(padded)} |"

        ruler = (
            "|"
            + "|".join(
                f"{'-' * (w + 1)}:" if n else f"{'-' * (w + 2)}"
                for w, n in zip(widths, numbers, strict=True)
            )
            + "|"
        )
        text = [
            f"**{markdown(self.title)}**",
            "",
            line(rows[0]),
            ruler,
            *(line(row) for row in rows[1:]),
        ]
        if notes := [note for note in (self.finding, *self.notes) if note]:
            text += ["", " ".join(markdown(note) for note in notes)]
        return "\n".join([*text, ""])

    def printed_as(self, name: str) -> PrintedTable:
        """The printed table, as the report shows it."""
        columns = tuple(PrintedColumn(c.heading, c.over, c.is_number) for c in self.columns)
        breaks, notes = sorted(self.breaks()), " ".join(self.notes)
        return PrintedTable(
            name, self.title, columns, self.cells(), breaks, notes, self.finding, self.quotes
        )

    def to_json(self) -> str:
        """The printed table as JSON, as the report reads it."""
        return json.dumps(asdict(self.printed_as("")), ensure_ascii=False, indent=1) + "\n"

    def write(self, paths: Sequence[Path | str]) -> None:
        """Write each path in the form that its suffix names.

        Raises:
            UserError: a suffix other than .csv, .tex, .md, .json.
        """
        forms = {".csv": self.to_csv, ".tex": None, ".md": self.to_markdown, ".json": self.to_json}
        for path in map(Path, paths):
            if path.suffix not in forms:
                problem = f'"{path.suffix}" is not a form of a table.'
                raise UserError(path, problem, f"Give names that end in {', '.join(forms)}.")
        for path in map(Path, paths):
            form = forms[path.suffix]
            write_text(path, form() if form else self.to_latex(path.stem))


def _latex_spans(columns: Sequence[SheetColumn]) -> list[str]:
    """The line of shared headings and the partial rules under them."""
    cells, rules, at = [], [], 1
    while at <= len(columns):
        over = columns[at - 1].over
        width = 1
        while at - 1 + width < len(columns) and over and columns[at - 1 + width].over == over:
            width += 1
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{latex(over)}}}" if over else "")
        if over:
            rules.append(f"\\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [" & ".join(cells) + r" \\", "".join(rules)]


@dataclass(frozen=True)
class PrintedTable:
    """A printed table.

    Attributes:
        name: stem of its file.
        title: caption.
        columns: heading, heading shared with neighbours, and whether numbers are right-aligned.
        rows: cells as printed.
        breaks: row numbers above which a thin rule is drawn.
        notes: text below it.
        finding: the sentence that stands for it, if there is one.
        quotes: it shows text of items.
    """

    name: str
    title: str
    columns: tuple[PrintedColumn, ...]
    rows: list[list[str]]
    breaks: Sequence[int]
    notes: str
    finding: str = ""
    quotes: bool = False

    def spans(self) -> list[tuple[str, int]]:
        """Shared headings and how many columns each spans; empty where no column shares one."""
        if not any(column.over for column in self.columns):
            return []
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and column.over and spans[-1][0] == column.over:
                spans[-1] = (column.over, spans[-1][1] + 1)
            else:
                spans.append((column.over, 1))
        return spans


@dataclass(frozen=True)
class PrintedColumn:
    """A column of a printed table."""

    heading: str
    over: str
    is_number: bool


def read_printed(path: Path | str) -> PrintedTable:
    """Read one table that ``worldprobe table NAME ... --out NAME.json`` wrote.

    Raises:
        UserError: the file cannot be read, or is none of these.
    """
    text = read_text(path, "Print the table first, or leave it out.")
    try:
        printed = json.loads(text)
        columns = tuple(PrintedColumn(**column) for column in printed["columns"])
        return PrintedTable(**printed | {"name": Path(path).stem, "columns": columns})
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            path, "is not a printed table.", "Give the .json file that `worldprobe table` wrote."
        ) from error
