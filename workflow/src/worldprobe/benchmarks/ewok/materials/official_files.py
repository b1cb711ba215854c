"""Items in the original's own file format, read from CSV or the hub's Parquet."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from worldprobe.archives import Archive
from worldprobe.benchmarks.ewok.materials.duplicates import flag_duplicates
from worldprobe.benchmarks.ewok.materials.materials import canary_lines
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_TYPES,
    OFFICIAL_TEXTS,
    TARGET_CONTRASTS,
    normalize_text,
    normalize_texts,
)
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER

#: The original's names of our columns, in its order; the rest are its ids.
DESIGN = {
    "ConceptA": "concept_a",
    "ConceptB": "concept_b",
    "Target1": "target1",
    "Target2": "target2",
    "TargetDiff": "target_contrast",
    "Context1": "context1",
    "Context2": "context2",
    "ContextDiff": "context_contrast",
    "ContextType": "context_type",
}
#: Items whose file names no canary are EWoK's until somebody shows the contrary: they stay
#: protected.
ASSUMED_CANARY = (
    "# EWoK canary: not in the imported file; items in EWoK's format are treated as EWoK's own"
)
#: What the release's texts get where the file has another's canary only.
RELEASE_CANARY = "# EWoK canary: not in the imported file, whose texts are those of EWoK-core-1.0"
#: In an archive of `items export --format hf`: the table.
EXPORTED_ROWS = "rows.parquet"
PASSWORD_HINT = "Set WORLDPROBE_EXPORT_PASSWORD or WORLDPROBE_MATERIALS_PASSWORD."
SUFFIXES = (".csv", ".parquet")
_WANTED = ("Domain", *DESIGN)
_IDS = ("MetaTemplateID", "TemplateID")
_VERSION = re.compile(r"(?:^|/)version-(\d{1,6})/[^/]*$")
_TESTSUITE = re.compile(r"(?:^|/)testsuite-[^/]+\.csv$")
#: Columns of the original whose cells are one of a few words.
_WORDS = {"ContextType": CONTEXT_TYPES, "TargetDiff": TARGET_CONTRASTS}


@dataclass(frozen=True)
class ReadItems:
    """The items that were read.

    Attributes:
        items: contracts.Items; fillers are unknown, so ``fillers`` is an empty object.
        canary: canary lines of the files; ``ASSUMED_CANARY`` is among them where any file has none.
        made_up: which of ``ids`` and ``versions`` the files lack, so that places were counted
            instead.
        n_normalized: texts that ``normalize_text`` changed.
    """

    items: pd.DataFrame
    canary: str
    made_up: tuple[str, ...]
    n_normalized: int = 0


def read_items(path: Path, password: str | None = None) -> ReadItems:
    """Read a CSV or Parquet file, or a folder or ZIP archive of them.

    Args:
        path: a ``.csv`` or ``.parquet`` file, or a folder or ``.zip`` with ``testsuite-*.csv`` (or
            Parquet) files.
        password: of the archive.

    Raises:
        UserError: nothing to read, a column is missing, a cell is not what its column promises, or
            an item occurs twice.
    """
    if path.is_file() and path.suffix not in (*SUFFIXES, ".zip") and not zipfile.is_zipfile(path):
        fix = "Save it as CSV or Parquet in EWoK's format, with that ending."
        raise UserError(path, f"does not end in {', '.join(SUFFIXES)} or .zip.", fix)
    is_one = path.is_file() and path.suffix in SUFFIXES
    parts, canaries, n_normalized = [], [], 0
    for name, content in _files(path, password):
        where = str(path) if is_one else f"{path}, {name}"
        frame, canary = (
            _read_csv(where, content) if name.endswith(".csv") else _read_parquet(where, content)
        )
        n_normalized += _check_cells(where, frame)
        version = _VERSION.search(path.resolve().as_posix() if is_one else name)
        origins = pd.Series(
            [f"{where}, {row}" for row in frame.index], frame.index, dtype=object
        )  # a name may not be UTF-8
        parts.append(frame.assign(place=origins, folder=version[1] if version else ""))
        canaries += canary or [ASSUMED_CANARY]
    rows = pd.concat(parts, ignore_index=True)
    items, made_up = _to_items(rows)
    repeated = items["item_id"].duplicated()
    if repeated.any():
        second = items[repeated].iloc[0]
        first = items[items["item_id"] == second["item_id"]].iloc[0]
        problem = f"is item {second['item_id']} again, which {first['place']} has."
        raise UserError(
            second["place"],
            problem,
            "Import one version at a time, or give the files a column Version.",
        )
    lines = "\n".join(dict.fromkeys(canaries))
    return ReadItems(flag_duplicates(items.drop(columns="place")), lines, made_up, n_normalized)


def _files(path: Path, password: str | None) -> Iterator[tuple[str, bytes]]:
    if path.is_file() and path.suffix in SUFFIXES:
        try:
            yield path.name, path.read_bytes()
        except OSError as error:
            raise UserError(
                path, f"cannot be read ({error.strerror}).", "Check the file and your rights."
            ) from error
        return
    archive = Archive(path, password, PASSWORD_HINT)
    tables = [name for name in archive.names if name.endswith(".parquet")]
    names = [name for name in archive.names if _TESTSUITE.search(name)] or tables
    if not names:
        raise UserError(
            path,
            "contains no testsuite-*.csv and no .parquet file.",
            "Give the file or folder with the items.",
        )
    if tables and names != tables:
        LOGGER.warning(
            "%s: CSV files are read, and %d .parquet files next to them are not", path, len(tables)
        )
    for name in names:
        yield name, archive.read(name)


def _read_csv(where: str, content: bytes) -> tuple[pd.DataFrame, list[str]]:
    frame = read_frame(where, content)
    return frame.set_axis([f"line {line}" for line in frame.index]), canary_lines(content)


def _read_parquet(where: str, content: bytes) -> tuple[pd.DataFrame, list[str]]:
    """All cells as text, as in CSV."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(io.BytesIO(content))
        columns = {
            name: table[name].cast(arrow.string()).fill_null("").to_pylist()
            for name in table.column_names
        }
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UserError(
            where, "is not a readable Parquet file of plain columns.", "Download it again."
        ) from error
    canary = (table.schema.metadata or {}).get(b"canary", b"").decode(errors="replace")
    index = [f"row {number}" for number in range(1, table.num_rows + 1)]
    return pd.DataFrame(columns, index=index, dtype="str"), [
        line for line in canary.splitlines() if "canary" in line.lower()
    ]


def _check_cells(where: str, frame: pd.DataFrame) -> int:
    """Columns that are needed, and cells that are what their column promises; how many texts were
    normalized.

    Raises:
        UserError: naming the first that is missing or wrong.
    """
    for column in _WANTED:
        if column not in frame:
            problem = f'has no column "{column}"' + did_you_mean(column, frame.columns)
            raise UserError(where, problem, f"It needs the columns {', '.join(_WANTED)}.")
    if frame.empty:
        raise UserError(where, "contains no items.", "Give a file with a row per item.")
    frame["Domain"] = frame["Domain"].str.replace("_", "-")
    for column in ("ConceptA", "ConceptB", "ContextDiff"):
        frame[column] = frame[column].map(normalize_text)
    n_normalized = normalize_texts(frame, OFFICIAL_TEXTS, where)
    checks = [(column, r"(?s).*\S.*", "is empty") for column in ("ConceptA", *OFFICIAL_TEXTS)]
    checks += [
        (column, r"[^\0]*", "contains a null character") for column in ("ConceptA", *OFFICIAL_TEXTS)
    ]
    checks += [("Domain", r"[A-Za-z0-9-]+", "is not a domain's name")]
    checks += [
        (column, "|".join(words), f"is not one of {', '.join(words)}")
        for column, words in _WORDS.items()
    ]
    checks += [
        (column, r"0*[1-9]\d{0,8}", "is not a whole number from 1")
        for column in _IDS
        if column in frame
    ]
    checks += [("Version", r"\d{1,9}", "is not a whole number")] if "Version" in frame else []
    for column, pattern, problem in checks:
        is_right = frame[column].str.fullmatch(pattern)
        if not is_right.all():
            cell = f"{where}, {frame.index[~is_right][0]}, column {column}"
            raise UserError(cell, f"the cell {problem}.", "Correct it in the file.")
    return n_normalized


def _to_items(rows: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Our columns, and what was counted because the files lack it.

    Ids are then places in the domain, and versions places among the rows of a template, whose
    samples follow one another in the original's files.
    """
    items = rows.rename(columns=DESIGN | {"Domain": "domain"})[
        ["domain", *DESIGN.values(), "place"]
    ]
    items["concept_b"] = items["concept_b"].where(~items["concept_b"].isin(["", "-"]), None)
    items["context_contrast"] = items["context_contrast"].where(
        items["context_contrast"] != "", None
    )
    made_up = []
    versions = rows["Version"] if "Version" in rows else rows["folder"]
    is_known = bool((versions.notna() & (versions != "")).all())
    items["version"] = versions.astype("int64") if is_known else 0
    if set(_IDS) <= set(rows) and rows[list(_IDS)].notna().all(axis=None):
        items["meta_template"], items["template"] = (rows[name].astype("int64") for name in _IDS)
    else:
        made_up.append("ids")
        items["meta_template"], items["template"] = (
            items.groupby(["domain", "version"]).cumcount() + 1,
            1,
        )
    template = ["domain", "meta_template", "template"]
    if (
        "Version" not in rows
        and items["version"].nunique() == 1
        and items.duplicated(template).any()
    ):
        items["version"] = items.groupby(template).cumcount()
        is_known = False
    if not is_known:
        made_up.append("versions")
    items["fillers"], items["tags"] = (
        "{}",
        rows["ItemTags"].fillna("") if "ItemTags" in rows else "",
    )
    numbers = [items[column].astype(str) for column in (*template[1:], "version")]
    items["item_id"] = items["domain"] + "_" + numbers[0] + "_" + numbers[1] + "_v" + numbers[2]
    return items, tuple(made_up)
