"""Reading the files of a study with people, and refusing those that do not belong together."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError
from worldprobe.human.contracts import ListKeys, StudyLists
from worldprobe.human.lists import digest_lists


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
        UserError: not an answer key.
    """
    key = read_table(path, ListKeys)
    digest = read_provenance(path).details.get("lists_digest")
    if not isinstance(digest, str):
        raise UserError(path, "does not say which lists it belongs to.", "Make lists and key again with `human lists`.")
    return key, digest
