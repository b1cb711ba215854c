"""The draft of a results section: the sentences of the report that hold for a study, each number
with the cell of the table that it is from; below them how the study was done, and what to cite.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from worldprobe import __version__
from worldprobe.analysis.reliability import RELIABLE
from worldprobe.analysis.sign_flips import FEWEST
from worldprobe.errors import UserError
from worldprobe.files import write_text
from worldprobe.report.findings import CORRECTED, STANDING
from worldprobe.report.origins import REHEARSAL, Methods
from worldprobe.report.page import ShownPart, asset
from worldprobe.report.sentences import CitedCell, CitedSentence, equals
from worldprobe.report.sheet import latex, markdown

ABOUT = (
    "Draft of a results section, from the tables of this study. Edit it: each number leads to the"
    " row and column that it is from. A sentence is left out where its mean has no interval or one"
    " from too few clusters, where a difference does not hold after correction, where near ties"
    " decide, where an untrained control is not at chance, or where domains do not differ reliably."
)
#: How numbers are marked in LaTeX: file, line, column, and the number, which alone is printed.
MACRO = r"\providecommand{\fromcell}[4]{#4}"
_TITLE = "Results"
Tables = Mapping[str, tuple[str, pd.DataFrame]]


@dataclass(frozen=True)
class ResultsPart:
    """A benchmark's part of the draft.

    Attributes:
        title: of the benchmark.
        sentences: that hold.
        left_out: the others, each with the reason.
        methods: as the report has them.
        cite: the benchmark's paper, in words.
        tables: name -> path from the draft to its CSV file, and this file's cells as text.
        notices: what a reader must know first.
        published: a row for each model that others made, as ``Methods.models``.
    """

    title: str
    sentences: Sequence[CitedSentence]
    left_out: Sequence[tuple[str, str]]
    methods: Methods
    cite: str
    tables: Tables
    notices: Sequence[str] = ()
    published: Sequence[Mapping[str, str]] = ()


def read_cells(paths: Iterable[Path | str], beside: Path) -> Tables:
    """The cells of printed tables, from the CSV files beside their other forms.

    Args:
        paths: any form of each.
        beside: folder of the draft.

    Raises:
        UserError: a table has no CSV file.
    """
    tables = {}
    for path in map(Path, paths):
        file = path.with_suffix(".csv")
        if not file.is_file():
            raise UserError(file, "is missing.", "Print the table as CSV, too.")
        frame = pd.read_csv(file, dtype=str, keep_default_na=False)
        tables[path.stem] = (os.path.relpath(file, beside), frame)
    return tables


def results_part(shown: ShownPart, tables: Tables) -> ResultsPart:
    """The sentences of a part of the report, sorted into those that hold and the others.

    Args:
        shown: the part.
        tables: of ``read_cells``.
    """
    said = [*shown.part.findings, *shown.part.further]
    sentences = [
        text if isinstance(text, CitedSentence) else CitedSentence(text) for text in said if text
    ]
    is_rehearsal = REHEARSAL in shown.part.notices.values()
    reasons = {
        sentence: "a rehearsal has no results" if is_rehearsal else why_left_out(sentence, tables)
        for sentence in sentences
    }
    return ResultsPart(
        shown.title,
        [sentence for sentence, why in reasons.items() if not why],
        [(sentence, why) for sentence, why in reasons.items() if why],
        shown.part.methods,
        shown.part.cite,
        tables,
        list(shown.part.notices.values()),
        [row for row in shown.part.methods.models if row["name"] not in shown.part.apart],
    )


def why_left_out(sentence: CitedSentence, tables: Tables) -> str:
    """The condition of a sentence that fails, or an empty string."""
    if not sentence.cells:
        return "it has no number of a table"
    is_off = any(_is_off(frame) for _, frame in tables.values())
    for text, cell in sentence.cells:
        if cell.table not in tables:
            return f"table {cell.table} is not printed"
        frame = tables[cell.table][1]
        if not cell.is_in(frame):
            return f"table {cell.table} has no row of {text}"
        if not equals(text, cell.value(frame)):
            return f"{text} is not what table {cell.table} has"
        rows = cell.rows(frame)
        if "reliability" in rows and not (_numbers(rows["reliability"]) >= RELIABLE).all():
            return (
                "the profile over domains is not shown to be reliable (split-half reliability below"
                f" {RELIABLE:g}, or not known)"
            )
        if _are_few(rows):
            return f"its interval is from fewer than {FEWEST} clusters"
        if cell.what == "cell" and (why := _why_not(rows.iloc[0], sentence)):
            return why
        if is_off and not _is_untrained(rows):
            return "an untrained control is not at chance"
    return ""


def _why_not(row: pd.Series[str], sentence: str) -> str:
    """Why nothing is said of a row, or an empty string."""
    if not row.get("ci_low", ""):
        return "it has no interval"
    if STANDING["near ties"] in row.get("against", "") or "near ties" in row.get("finding", ""):
        return "near ties decide"
    if "p" in row.index and not row.get("p_holm"):
        return "it is not corrected for the number of comparisons"
    holm = float(_numbers(pd.Series([row.get("p_holm", "0")])).iloc[0])
    if any(verb in sentence for verb in (" is better than ", " beats ")) and not holm < CORRECTED:
        return "the difference does not hold after Holm's correction"
    return ""


def _are_few(rows: pd.DataFrame) -> bool:
    """Whether one of the rows that a number is from has an interval from few clusters."""
    if not {"ci_low", "n_clusters"} <= set(rows.columns):
        return False
    return bool(((rows["ci_low"] != "") & (_numbers(rows["n_clusters"]) < FEWEST)).any())


def _numbers(cells: pd.Series) -> pd.Series[float]:
    """Cells as numbers; missing where they are empty or edited."""
    return pd.to_numeric(cells, errors="coerce")


def _is_untrained(rows: pd.DataFrame) -> bool:
    return "kind" in rows and bool((rows["kind"] == "untrained control model").all())


def _is_off(frame: pd.DataFrame) -> bool:
    """Whether an untrained control differs from chance, so that other means may, too."""
    if not {"kind", "against"} <= set(frame.columns):
        return False
    untrained = frame[frame["kind"] == "untrained control model"]
    return bool(untrained["against"].isin(["above", "below"]).any())


def _place(cell: CitedCell, tables: Tables) -> tuple[str, int, str, str]:
    """File, line (0: several), column and row of a number, in words."""
    file, frame = tables[cell.table]
    rows = cell.rows(frame)
    if cell.what != "cell":
        what = {"mean": "mean of", "count": "number of"}[cell.what]
        return file, 0, cell.column, f"{what} {len(rows)} rows" if cell.what == "mean" else "rows"
    names = [rows.iloc[0][name] for name in ("name", "name_a", "name_b") if name in rows]
    return file, int(rows.index[0]) + 2, cell.column, " and ".join(names)


def as_markdown(parts: Sequence[ResultsPart], study: str) -> str:
    """The draft in Markdown; each number is a link to the line of its table's CSV file."""

    def linked(text: str, cell: CitedCell, tables: Tables) -> str:
        file, line, column, row = _place(cell, tables)
        anchor = f"#L{line}" if line else ""
        return f'[{markdown(text)}]({file}{anchor} "{row}, {column}")'

    lines = [f"# {_TITLE}: study {study}" if study else f"# {_TITLE}", "", f"<!-- {ABOUT} -->", ""]
    for part in parts:
        lines += [f"## {part.title}", "", *(f"> {markdown(text)}\n" for text in part.notices)]
        for sentence in part.sentences:
            shown = (
                linked(text, cell, part.tables) if cell else markdown(text)
                for text, cell in sentence.parts
            )
            lines += ["".join(shown), ""]
        lines += [f"<!-- Left out, as {why}: {text} -->" for text, why in part.left_out]
        lines += ["", "### Methods", "", markdown(_one_paragraph(part.methods.text)), ""]
    keys = ", ".join(f"`{key}`" for key in cited_works(parts))
    lines += [f"References, in the .bib file beside this page: {keys}.", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def as_latex(parts: Sequence[ResultsPart], study: str) -> str:
    r"""The draft in LaTeX: a fragment for \input; the tables that it refers to are beside it."""
    used = [
        tables[cell.table][0].removesuffix(".csv")
        for part in parts
        for tables in [part.tables]
        for sentence in part.sentences
        for _, cell in sentence.cells
    ]
    lines = [f"% {_TITLE} of study {study}", f"% {ABOUT}", MACRO]
    lines += [f"% \\input{{{file}}}" for file in dict.fromkeys(used)]
    for part in parts:
        lines += ["", f"\\subsection*{{{latex(part.title)}}}", *map(latex, part.notices)]
        for sentence in part.sentences:
            lines += ["", _sentence_in_latex(sentence, part.tables)]
        lines += [f"% Left out, as {why}: {text}" for text, why in part.left_out]
        lines += ["", "\\paragraph{Methods.}", latex(_one_paragraph(part.methods.text))]
    return "\n".join([*lines, "", f"\\nocite{{{','.join(cited_works(parts))}}}", ""])


def _sentence_in_latex(sentence: CitedSentence, tables: Tables) -> str:
    shown = ""
    for text, cell in sentence.parts:
        if cell:
            file, line, column, _ = _place(cell, tables)
            shown += f"\\fromcell{{{file}}}{{{line or 'all'}}}{{{column}}}{{{latex(text)}}}"
        else:
            shown += latex(text)
    named = dict.fromkeys(cell.table for _, cell in sentence.cells)
    references = ", ".join(f"Table~\\ref{{tab:{name}}}" for name in named)
    return f"{shown.removesuffix('.')} ({references})."


def _one_paragraph(text: str) -> str:
    return " ".join(str(Markup(text).unescape()).split())


def as_bibtex(parts: Sequence[ResultsPart]) -> str:
    """What to cite: the benchmarks, worldprobe, the models, and the methods that are named."""
    return "\n\n".join([*cited_works(parts).values(), ""])


def cited_works(parts: Sequence[ResultsPart]) -> dict[str, str]:
    """Key -> BibTeX entry: those of ``assets/references.bib`` whose first author and year the
    texts name, the benchmarks' and the models'.
    """
    named = " ".join(_one_paragraph(f"{part.methods.text} {part.cite}") for part in parts)
    works = {}
    for key, entry in _entries(asset("references.bib")):
        surname, year = (
            re.search(pattern, entry)[1]  # type: ignore[index]  # our own entries have both
            for pattern in (r"author = \{([^,]+),", r"year = \{(\d{4})\}")
        )
        if re.search(rf"{surname}\b.{{0,60}}?{year}", named):
            works[key] = entry
    works["worldprobe"] = (
        "@software{worldprobe,\n  title = {worldprobe},\n  author = {{The worldprobe authors}},\n"
        f"  version = {{{__version__}}}\n}}"
    )
    for part in parts:
        for row in part.published:
            key = re.sub(r"\W+", "-", row["name"]).strip("-").lower()
            works[f"model:{key}"] = (
                f"@misc{{model:{key},\n  title = {{{latex(row['name'])}}},\n"
                f"  note = {{{latex(row['checkpoint'])}, revision {latex(row['revision'])}}}\n}}"
            )
    return works


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for entry in re.findall(r"^@.*?^\}", text, re.DOTALL | re.MULTILINE):
        yield entry.partition("{")[2].partition(",")[0], entry


def write_results_section(
    parts: Sequence[ResultsPart], study: str, paths: Sequence[Path | str]
) -> None:
    """Write each path in the form that its suffix names.

    Raises:
        UserError: a suffix other than .md, .tex, .bib.
    """
    forms = {
        ".md": lambda: as_markdown(parts, study),
        ".tex": lambda: as_latex(parts, study),
        ".bib": lambda: as_bibtex(parts),
    }
    for path in map(Path, paths):
        if path.suffix not in forms:
            problem = f'"{path.suffix}" is not a form of a results section.'
            raise UserError(path, problem, f"Give names that end in {', '.join(forms)}.")
    for path in map(Path, paths):
        write_text(path, forms[path.suffix]())
