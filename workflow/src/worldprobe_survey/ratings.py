"""People's finished ratings of items, read from a CSV (EWoK, Section 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from worldprobe.archives import Archive
from worldprobe.benchmarks.ewok.vocabulary import TEXTS, normalize_text
from worldprobe.commented_csv import CsvError, read_frame, read_rows
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: What a rating is about.
QUESTION = ["item_id", "target", "context"]
_LONG = [*QUESTION, "rating"]
_WIDE = {f"response_mean_target{t}_context{c}": (t, c) for t in (1, 2) for c in (1, 2)}
PASSWORD_HINT = "Set WORLDPROBE_MATERIALS_PASSWORD."
#: Decimals of means: more than people give, fewer than sums of decimal fractions are exact to.
DECIMALS = 12
#: What a missing rating may look like.
_MISSING = ("", "na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class MatchedRatings:
    """Ratings of items, averaged over raters.

    Attributes:
        table: contracts.Ratings.
        n_ratings: ratings in the file that are of these items and not missing.
        n_unknown: items of the file that are not in the items table; they are left out.
        n_unrated: items of the table that the file does not rate.
    """

    table: pd.DataFrame
    n_ratings: int
    n_unknown: int
    n_unrated: int


def read_ratings(
    path: Path,
    items: pd.DataFrame,
    scale: tuple[float, float] = (1, 5),
    password: str | None = None,
) -> MatchedRatings:
    """Read ratings and average those of the same question.

    Two forms are known. Long: columns item_id, target, context, rating, a row per rating; with a
    column ``rater`` no rater may rate a question twice, and a column that may be a rater's under
    another name is asked about. Wide: item_id or the four texts (Context1, Context2, Target1,
    Target2), and response_mean_target1_context1 to response_mean_target2_context2, a row per item.
    Names of columns may be in any case; lines above the header that start with ``#`` are left out.

    Args:
        path: CSV; or the .zip of the authors' results, of which the CSVs with such columns count.
        items: contracts.Items; ratings are matched to them by id, or by the four texts (then to all
            items that have them).
        scale: the lowest and the highest rating that could be given.
        password: of the .zip.

    Raises:
        UserError: an unknown form, a cell that is not a number on the scale, a rating given twice,
            or no item in common.
    """
    if path.suffix == ".zip":
        frame = _released(path, password)
    else:
        try:
            content = path.read_bytes()
        except OSError as error:
            problem = f"cannot be read ({error.strerror})."
            raise UserError(path, problem, "Check the path.") from error
        frame = read_frame(path, content)
        frame.columns = [str(name).strip().lower() for name in frame.columns]
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise UserError(path, f'has the column "{repeated[0]}" twice.', "Keep one of the two.")
    if set(_LONG) <= set(frame):
        ratings, n_unknown = _from_long(path, frame, items, scale)
    else:
        ratings, n_unknown = _from_wide(path, frame, items, scale)
    if ratings.empty:
        raise UserError(
            path,
            "rates no item of the items table.",
            "Give the table of the items that were rated.",
        )
    n_unrated = len(items) - ratings["item_id"].nunique()
    return MatchedRatings(
        _average(ratings), int(ratings["rating"].notna().sum()), n_unknown, n_unrated
    )


def _released(path: Path, password: str | None) -> pd.DataFrame:
    """All CSVs of the authors' results that have people's mean ratings, one below the other; rows
    that are there twice count once, as in their analysis.

    Raises:
        UserError: there is none, or the archive cannot be read.
    """
    archive = Archive(path, password, PASSWORD_HINT)
    frames = []
    for name in archive.names:
        if not name.endswith(".csv") or "__MACOSX" in name:
            continue
        where, content = f"{path}, {name}", archive.read(name)
        try:
            header = next(read_rows(where, content), (0, []))[1]
        except CsvError:  # the archive has other files
            continue
        columns = {str(column).strip().lower() for column in header}
        if columns.issuperset(_WIDE):
            frame = read_frame(where, content)
            frame.columns = [str(column).strip().lower() for column in frame.columns]
            frames.append(frame[[*(text for text in TEXTS if text in frame), *_WIDE]])
    if not frames:
        raise UserError(
            path,
            "contains no CSV with people's mean ratings.",
            f"It needs the columns {', '.join(_WIDE)}.",
        )
    return pd.concat(frames, ignore_index=True).drop_duplicates().reset_index(drop=True)


def _from_long(
    path: Path, frame: pd.DataFrame, items: pd.DataFrame, scale: tuple[float, float]
) -> tuple[pd.DataFrame, int]:
    """One row per rating."""
    rows = pd.DataFrame(
        {
            "item_id": frame["item_id"].str.strip(),
            "target": _one_or_two(path, frame, "target"),
            "context": _one_or_two(path, frame, "context"),
            "rating": _on_scale(path, frame, "rating", scale),
            "n_raters": 1.0,
        }
    )
    _ask_about_raters(path, frame)
    if "rater" in frame:
        who = rows.assign(rater=frame["rater"].map(_as_person))[["rater", *QUESTION]]
        _refuse_repeated(
            path, who, "rated by the same rater", "Keep one rating per rater and question."
        )
    is_known = rows["item_id"].isin(set(items["item_id"]))
    return rows[is_known], int(rows.loc[~is_known, "item_id"].nunique())


def _as_person(cell: str) -> str:
    """A rater's name or number, however it is typed.

    >>> _as_person(" P1 ") == _as_person("p1"), _as_person("7.0")
    (True, '7')
    """
    return re.sub(r"(?<=\d)\.0+$", "", normalize_text(cell)).casefold()


#: Parts of names that columns of people have in what recruiters, survey tools and annotators
#: export.
_PEOPLE = re.compile(
    r"rater|annotat|label+er|listener|reader|turker|candidate|participant|partic|subj|worker|respon[ds]|user|person|people|"
    r"prolific|judge|coder|evaluator|informant|proband|teilnehm|submission|session|assignment|id$|^name|initials|e-?mail"
)
_NOT_PEOPLE = re.compile(
    r"time|(?<!candi)date|duration|item|template|question|trial|list(?!ener)|stimul|domain|context|target|concept|version"
)

#: Share of rows in which a column of raters' numbers may have a number again that the same question
#: had.
MOST_REPEATED = 0.1


def _ask_about_raters(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a file in which some column may name the rater: two ratings by one person would count
    as two people's.

    A column counts as one by its name, or where texts in it recur and tell the ratings of one
    question apart; where whole numbers do, as nearly all ratings of a question have another one.
    """
    others = sorted(set(map(str, frame)) - {*_LONG, *TEXTS, "rater"})
    for name in [] if "rater" in frame else others:
        cells = frame[name].str.strip()
        numbers = pd.to_numeric(cells, errors="coerce")
        is_text = numbers.isna().any()
        is_number = (
            bool((numbers % 1 == 0).all())
            and frame.duplicated([*QUESTION, name]).mean() < MOST_REPEATED
        )
        is_recurring = cells.nunique() <= len(frame) / 2
        is_repeated = frame.duplicated(QUESTION, keep=False)
        is_telling = (
            is_repeated.any()
            and frame[is_repeated].groupby(QUESTION)[name].nunique().gt(1).mean() > 0.5
        )
        is_named = _PEOPLE.search(name) and not _NOT_PEOPLE.search(name)
        is_like = is_text or (is_number and not _NOT_PEOPLE.search(name))
        if is_named or (is_like and is_recurring and is_telling):
            problem = (
                f'has no column "rater", but "{name}", which may say who rated; two ratings by one'
                " person would count twice."
            )
            raise UserError(
                path, problem, f'Rename "{name}" to "rater" if it does, else delete it.'
            )
    if others:
        LOGGER.info("ignored columns: %s", ", ".join(others))


def _from_wide(
    path: Path, frame: pd.DataFrame, items: pd.DataFrame, scale: tuple[float, float]
) -> tuple[pd.DataFrame, int]:
    """One row per target and context from one row per item; how many people gave the ratings of a
    mean is not known.
    """
    _require_columns(path, frame)
    if "item_id" in frame:
        keyed = frame.assign(item_id=frame["item_id"].str.strip())
        _refuse_repeated(
            path,
            keyed[["item_id"]],
            "rated",
            "In this form each item has one row; see the command's help.",
        )
        item_keys = items[["item_id"]]
        key = ["item_id"]
    else:
        key = list(TEXTS)
        keyed = frame.assign(**{text: frame[text].map(normalize_text) for text in key})
        item_keys = items[["item_id"]].assign(
            **{text: items[text].map(normalize_text) for text in key}
        )
    numbers = pd.DataFrame({name: _on_scale(path, frame, name, scale) for name in _WIDE})
    keyed = pd.concat([keyed[key], numbers], axis=1)
    matched = keyed.merge(item_keys, on=key)
    n_unknown = len(
        keyed[key]
        .drop_duplicates()
        .merge(item_keys[key].drop_duplicates(), on=key, how="left_anti")
    )
    parts = [
        pd.DataFrame(
            {
                "item_id": matched["item_id"],
                "target": t,
                "context": c,
                "rating": matched[name],
                "n_raters": np.nan,
            }
        )
        for name, (t, c) in _WIDE.items()
    ]
    return pd.concat(parts, ignore_index=True), n_unknown


def _require_columns(path: Path, frame: pd.DataFrame) -> None:
    looks_long = "rating" in frame or {"target", "context"} <= set(frame)
    absent = [name for name in (_LONG if looks_long else _WIDE) if name not in frame]
    if not absent and "item_id" not in frame and not set(TEXTS) <= set(frame):
        absent = ["item_id, or context1, context2, target1 and target2"]
    if absent:
        columns = ", ".join(f'"{name}"' for name in list(frame.columns)[:12])
        raise UserError(
            path,
            f"has no column {absent[0]}; it has {columns}.",
            "Write the columns item_id, target, context, rating; or see the other form in the"
            " command's help.",
        )


def _one_or_two(path: Path, frame: pd.DataFrame, column: str) -> pd.Series:
    numbers = pd.to_numeric(frame[column].str.strip(), errors="coerce")
    _refuse_cells(path, frame[column], ~numbers.isin([1, 2]), f"is not a {column}", "Write 1 or 2.")
    return numbers.astype("int64")


def _on_scale(
    path: Path, frame: pd.DataFrame, column: str, scale: tuple[float, float]
) -> pd.Series:
    cells = frame[column].str.strip()
    is_missing = cells.str.lower().isin(_MISSING)
    numbers = pd.to_numeric(cells.where(~is_missing, None), errors="coerce").astype("float64")
    is_bad = ~is_missing & ~np.isfinite(numbers)
    _refuse_cells(
        path,
        frame[column],
        is_bad,
        "is not a rating",
        "Write numbers with a point; leave a missing rating empty.",
    )
    is_off = ~is_missing & ~numbers.between(*scale)
    low, high = scale
    fix = "Correct it, or state the scale that people used: --scale LOWEST HIGHEST."
    _refuse_cells(path, frame[column], is_off, f"is not on the scale from {low:g} to {high:g}", fix)
    return numbers


def _refuse_cells(path: Path, cells: pd.Series, is_bad: pd.Series, problem: str, fix: str) -> None:
    bad = cells[is_bad]
    if len(bad):
        more = f"; so are {len(bad) - 1} more cells of this column" if len(bad) > 1 else ""
        raise UserError(
            f"{path}, line {bad.index[0]}", f'{cells.name}: "{bad.iloc[0]}" {problem}{more}.', fix
        )


def _refuse_repeated(path: Path, keys: pd.DataFrame, how: str, fix: str) -> None:
    again = keys.duplicated()
    if again.any():
        line = keys.index[again][0]
        row = keys.loc[line]
        first = keys.index[(keys == row).all(axis=1)][0]
        name = ", ".join(str(row[column]) for column in keys if column != "rater")
        raise UserError(
            f"{path}, line {line}", f"{name} is {how} twice; the first time in line {first}.", fix
        )


def _average(ratings: pd.DataFrame) -> pd.DataFrame:
    """Mean, number of raters and standard deviation (n - 1) of each question's ratings; missing
    ones do not count.
    """
    given = ratings.assign(
        n_raters=ratings["n_raters"].where(ratings["rating"].notna(), 0.0 * ratings["n_raters"])
    )
    groups = given.groupby(QUESTION, sort=True)
    # Rounded: 0.1 and 0.5 are rated as high as 0.2 and 0.4, though their sums differ in the last
    # bit.
    table = groups["rating"].agg(rating="mean", sd="std").round(DECIMALS)
    table["n_raters"] = groups["n_raters"].sum(min_count=1)
    # Of means whose raters are not counted, only the mean is known.
    table.loc[table["n_raters"].isna(), "sd"] = np.nan
    columns: Sequence[str] = [*QUESTION, "rating", "n_raters", "sd"]
    return table.reset_index()[list(columns)].astype(
        {"rating": "float64", "n_raters": "float64", "sd": "float64"}
    )
