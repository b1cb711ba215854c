"""Human plausibility ratings from a CSV, matched to items (EWoK, Section 4: people rate how well a target fits a context)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from worldprobe.errors import UserError

TEXTS = ["context1", "context2", "target1", "target2"]


def read_ratings(path: Path, items: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Read ratings, already averaged over raters.

    Two forms are known. Long: columns item_id, target, context, rating. Wide: item_id or the four texts (Context1, Context2,
    Target1, Target2, in any case), and response_mean_target1_context1 to response_mean_target2_context2. Lines that start with
    ``#`` above the header are left out.

    Args:
        path: CSV.
        items: contracts.Items; every rating must be of one of them, by id or by its four texts.

    Returns:
        contracts.Ratings, and how many of the file's items the table does not have (they are left out).

    Raises:
        UserError: unknown form, numbers that are none, or no item in common.
    """
    try:
        with open(path, encoding="utf-8-sig") as stream:
            skipped = 0
            while stream.readline().startswith("#"):
                skipped += 1
        frame = pd.read_csv(path, skiprows=skipped, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UserError(path, "is no readable CSV.", "Save it as CSV in UTF-8.") from error
    frame.columns = frame.columns.str.lower()
    if {"item_id", "target", "context", "rating"} <= set(frame):
        long = frame[["item_id", "target", "context", "rating"]]
    else:
        long = _from_wide(path, frame, items)
    number = pd.to_numeric(long["rating"], errors="coerce")
    bad = number.isna() & ~long["rating"].str.strip().isin(["", "NA", "nan"])
    if bad.any():
        raise UserError(path, f'"{long["rating"][bad].iloc[0]}" is no rating.', "Write numbers; leave a missing rating empty.")
    ratings = long.assign(rating=number, target=long["target"].astype(int), context=long["context"].astype(int))
    known = ratings["item_id"].isin(set(items["item_id"]))
    if not known.any():
        raise UserError(path, "has no item of the items table.", "Give the items that were rated.")
    unknown = ratings.loc[~known, "item_id"].nunique()
    return ratings[known].drop_duplicates(["item_id", "target", "context"]).reset_index(drop=True), int(unknown)


def _from_wide(path: Path, frame: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """One row per target and context from one row per item."""
    columns = {f"response_mean_target{t}_context{c}": (t, c) for t in (1, 2) for c in (1, 2)}
    absent = [name for name in columns if name not in frame]
    by_id = "item_id" in frame
    if absent or not (by_id or set(TEXTS) <= set(frame)):
        wanted = absent[0] if absent else "item_id, or context1, context2, target1 and target2"
        raise UserError(path, f"has no column {wanted}.", "See the two forms in the command's help.")
    if not by_id:
        named = items[["item_id", *TEXTS]].drop_duplicates(TEXTS)
        frame = frame.drop(columns="item_id", errors="ignore").merge(named, on=TEXTS, how="left")
        frame["item_id"] = frame["item_id"].where(frame["item_id"].notna(), "unknown " + frame.index.astype(str))
    parts = [
        pd.DataFrame({"item_id": frame["item_id"], "target": t, "context": c, "rating": frame[name]})
        for name, (t, c) in columns.items()
    ]
    return pd.concat(parts, ignore_index=True)
