"""An export of a survey: a folder with three tables, as Parquet for us and as CSV for spreadsheets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from worldprobe.contracts import Table, read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.human.contracts import Demographics, ListKeys, Participants, RawRatings, StudyLists
from worldprobe.human.lists import digest_lists
from worldprobe.provenance import Provenance

#: File -> table; demographics may be missing where none were asked.
FILES: dict[str, type[Table]] = {"raw_ratings": RawRatings, "participants": Participants, "demographics": Demographics}
#: Where a spreadsheet would see the beginning of a formula (OWASP, CSV injection): in full width too, and after a character that
#: divides cells where it is set up for another language.
_FORMULA = re.compile("(?:^|(?<=[;,|\t\r\n]))(?=[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])")


@dataclass(frozen=True)
class Export:
    """What came back.

    Attributes:
        raw: contracts.RawRatings.
        participants: contracts.Participants.
        demographics: contracts.Demographics; None where the folder has none.
    """

    raw: pd.DataFrame
    participants: pd.DataFrame
    demographics: pd.DataFrame | None


def read_export(folder: Path | str) -> Export:
    """Read the tables of an export.

    Raises:
        UserError: the folder or one of its tables is missing or damaged.
    """
    place = Path(folder)
    if not (place / "raw_ratings.parquet").is_file():
        raise UserError(place, "has no raw_ratings.parquet.", "Give the folder that `human export` or `human simulate` wrote.")
    people = place / "demographics.parquet"
    return Export(
        read_table(place / "raw_ratings.parquet", RawRatings),
        read_table(place / "participants.parquet", Participants),
        read_table(people, Demographics, allow_empty=True) if people.is_file() else None,
    )


def write_export(folder: Path, export: Export, provenance: Provenance) -> None:
    """Write the tables into a folder, each as Parquet and as CSV.

    Args:
        folder: an existing folder, e.g. of ``files.whole_folder``.
        export: the tables.
        provenance: what made them.
    """
    frames = {"raw_ratings": export.raw, "participants": export.participants, "demographics": export.demographics}
    for name, frame in frames.items():
        if frame is not None:
            write_table(frame, FILES[name], folder / f"{name}.parquet", provenance)
            (folder / f"{name}.csv").write_text(as_csv(validate(frame, FILES[name])), encoding="utf-8", newline="")


def as_csv(frame: pd.DataFrame) -> str:
    """A table as CSV whose cells no spreadsheet takes for formulas."""
    safe = frame.copy()
    for name in safe.select_dtypes(exclude=["number", "bool"]):
        safe[name] = safe[name].map(neutralize, na_action="ignore")
    return str(safe.to_csv(index=False, lineterminator="\n"))


def neutralize(cell: object) -> str:
    """A cell with an apostrophe in front where a spreadsheet would compute it instead of showing it.

    >>> neutralize("=1+1"), neutralize("Chile;=1+1"), neutralize("Guinea-Bissau")
    ("'=1+1", "Chile;'=1+1", 'Guinea-Bissau')
    """
    return _FORMULA.sub("'", str(cell))


def read_lists(path: Path | str) -> tuple[pd.DataFrame, str]:
    """The lists and their digest.

    Returns:
        contracts.StudyLists, and the digest of the set.

    Raises:
        UserError: not a table of lists, or its rows are not those that the digest in its provenance is of.
    """
    trials = read_table(path, StudyLists)
    digest = digest_lists(trials)
    if read_provenance(path).details.get("lists_digest") != digest:
        raise UserError(path, "its rows do not have the digest that it states.", "Make the lists again with `human lists`.")
    return trials, digest


def read_key(path: Path | str) -> tuple[pd.DataFrame, str]:
    """The answer key, and the digest of the lists that it belongs to.

    Returns:
        contracts.ListKeys, and the digest of the set of lists.

    Raises:
        UserError: not an answer key, or one whose answers were changed.
    """
    key = read_table(path, ListKeys)
    fits = key["target"] == key["context"]
    right = fits.map({True: 5, False: 1}).where(key["eval_type"] == "likert", fits.map({True: 1, False: 2}))
    if len(wrong := key[(key["kind"] == "test") & (key["expected"] != right)]):
        problem = (
            f"expects {len(wrong)} answers that are not those of the contexts and targets, first of {wrong['item_id'].iloc[0]}."
        )
        raise UserError(path, problem, "Give the key as `human lists` wrote it.")
    digest = read_provenance(path).details.get("lists_digest")
    if not isinstance(digest, str):
        raise UserError(path, "does not say which lists it belongs to.", "Make lists and key again with `human lists`.")
    return key, digest
