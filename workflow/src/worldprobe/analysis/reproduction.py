"""Published numbers next to ours: within rounding or not, and why not where it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.contracts import Table
from worldprobe.errors import UserError

#: Why nothing of a rehearsal is compared.
REHEARSAL = "a rehearsal: stand-ins answered in the models' places"
FIX = "Correct it, or leave out --published to take worldprobe's own copy."


@dataclass
class Finding:
    """Ours for one published number: a value or text, or why there is none.

    Attributes:
        value: ours; missing where there is none, or where the number is text.
        text: ours, where what is printed is no number.
        status: where it cannot be compared: not_run or not_comparable.
        reason: why not, or why it may differ.
        scale: what the value is multiplied by before it is printed, e.g. 100 for percent.
    """

    value: float = np.nan
    text: str | None = None
    status: str = ""
    reason: str = ""
    scale: float = 1.0


@dataclass
class Checked:
    """A benchmark's published numbers next to ours.

    Attributes:
        table: contracts.results.Reproduction, or the benchmark's own form of it.
        contract: which.
        inputs: what it is computed from.
        details: for its provenance; ``summary`` is the table in words.
    """

    table: pd.DataFrame
    contract: type[Table]
    inputs: Mapping[str, Path]
    details: dict[str, Any] = field(default_factory=dict)


def read_numbers(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """A table of published numbers, as text but for ``digits``, the decimals that a number was
    rounded to (missing: it is text).

    Args:
        path: CSV.
        columns: that it must have, ``printed`` and ``digits`` among them.

    Raises:
        UserError: it is missing or not in this form; names the line of a cell that is not a number.
    """
    try:
        numbers = pd.read_csv(path, dtype=str, keep_default_na=False)
    except FileNotFoundError as error:
        raise UserError(
            path, "there is no such file.", f"Give the folder with {path.name}."
        ) from error
    except (OSError, ValueError) as error:
        raise UserError(path, "cannot be read as CSV in UTF-8.", FIX) from error
    if tuple(numbers.columns) != tuple(columns):
        raise UserError(
            path,
            f"has the columns {', '.join(numbers.columns)}.",
            f"They must be {', '.join(columns)}.",
        )
    digits = pd.to_numeric(numbers["digits"], errors="coerce")
    is_number = digits.notna()
    bad = {
        "digits": (numbers["digits"] != "") & ~(digits % 1 == 0),
        "printed": is_number & pd.to_numeric(numbers["printed"], errors="coerce").isna(),
    }
    for column, is_bad in bad.items():
        if is_bad.any():
            row = int(is_bad.argmax())  # the header is line 1
            problem = f'{column}: "{numbers[column][row]}" is not a number.'
            raise UserError(f"{path}, line {row + 2}", problem, FIX)
    return numbers.assign(digits=digits.astype("Int64"))


def compare_numbers(
    numbers: pd.DataFrame, find: Callable[[dict[str, Any]], Finding]
) -> pd.DataFrame:
    """Every published number next to ours.

    A number is within rounding when ours differs from the printed one by at most half a unit of its
    last digit.

    Args:
        numbers: block, quantity, model, eval_type, condition, group, printed, digits.
        find: a row of them -> ours.

    Returns:
        contracts.results.Reproduction.
    """
    records = [
        {str(key): value for key, value in row.items()} for row in numbers.to_dict("records")
    ]
    table = pd.DataFrame([_compare(number, find(number)) for number in records])
    table.insert(0, "position", np.arange(len(table)))
    return table


def summary_line(table: pd.DataFrame) -> str:
    """The table in one sentence."""
    counts = table["status"].value_counts()
    within, differs = int(counts.get("within_rounding", 0)), int(counts.get("differs", 0))
    others = (
        f"{counts.get('not_run', 0)} not run, {counts.get('not_comparable', 0)} not comparable."
    )
    if not within + differs:
        return f"No published number has one of ours to compare: {others}"
    return f"{within} of {within + differs} published numbers within rounding; {others}"


def _compare(number: dict[str, Any], finding: Finding) -> dict[str, Any]:
    row: dict[str, Any] = {
        key: number[key] for key in ("block", "quantity", "condition", "printed")
    }
    row |= {key: number[key] or None for key in ("model", "eval_type", "group")}
    row |= {
        "ours": finding.value,
        "ours_printed": finding.text or "",
        "published": np.nan,
        "difference": np.nan,
        "tolerance": np.nan,
    }
    is_within = finding.text == number["printed"]
    if not pd.isna(number["digits"]):
        digits = int(number["digits"])
        row |= {
            "published": float(number["printed"]) / finding.scale,
            "tolerance": 0.5 * 10.0**-digits / finding.scale,
        }
        if not np.isnan(finding.value):
            row |= {
                "ours_printed": f"{finding.value * finding.scale:.{digits}f}",
                "difference": finding.value - row["published"],
            }
        is_within = abs(row["difference"]) <= row["tolerance"] + 1e-9
    status = finding.status or ("within_rounding" if is_within else "differs")
    return row | {"status": status, "reason": "" if status == "within_rounding" else finding.reason}
