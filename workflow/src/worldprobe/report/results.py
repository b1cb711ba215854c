"""``result.json``, the result of evaluating one model: its schema, and its numbers as a list that every export reads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldprobe.config import Source, complaints
from worldprobe.errors import UserError
from worldprobe.files import read_text

#: Raised when a key changes its meaning or is removed.
SCHEMA_VERSION = 1
#: Standard normal quantile of a 95% interval.
Z95 = 1.96
REPAIR = "Give a result.json that `worldprobe evaluate` of this release wrote, or evaluate the model again."


@dataclass(frozen=True)
class Score:
    """One number of a result.

    Attributes:
        benchmark: whose it is.
        group: ``overall``, or a domain or problem.
        metric: what it measures.
        value: the number; None where there is none.
        low, high: the ends of its 95% interval.
        n: of how many items or tuples.
        unit: what ``n`` counts.
        bounds: the smallest and the largest possible value.
        items: digest of what was asked; scores can be ranked only where it is equal.
        asked: how it was asked and averaged, in words, in the order in which they are shown.
        counts: what else was counted, e.g. ties.
        release: the hub's dataset with exactly what was asked, as ``.eval_results`` names it, if there is one.
        interval: how the interval was found: ``bootstrap`` or ``analytic``.
    """

    benchmark: str
    group: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    unit: str
    bounds: tuple[float, float]
    items: str
    asked: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)
    release: Mapping[str, str] | None = None
    interval: str = "bootstrap"

    @property
    def stderr(self) -> float | None:
        """The standard error that the interval implies."""
        return standard_error(self.low, self.high)


def standard_error(low: float | None, high: float | None) -> float | None:
    """The width of a 95% interval divided by 2 x 1.96.

    >>> round(standard_error(0.402, 0.598), 3), standard_error(None, 0.5)
    (0.05, None)
    """
    if low is None or high is None or not math.isfinite(high - low):
        return None
    return (high - low) / (2 * Z95)


def check_result(document: Any, name: str = "result.json") -> dict[str, Any]:
    """A result that follows the schema.

    Raises:
        UserError: it does not; names the key.
    """
    if isinstance(document, dict) and document.get("schema_version") != SCHEMA_VERSION:
        found = document.get("schema_version", "none")
        raise UserError(name, f"schema_version is {found}; this release reads {SCHEMA_VERSION}.", REPAIR)
    if found := complaints(document, "result", [Source(name, document, {})]):
        raise UserError(name, found[0].problem, REPAIR)
    return dict(document)


def read_result(path: Path) -> dict[str, Any]:
    """Read and check a ``result.json``.

    Raises:
        UserError: it cannot be read, is not JSON, or does not follow the schema.
    """
    try:
        document = json.loads(read_text(path, REPAIR), parse_constant=_refuse)
    except ValueError as error:
        raise UserError(path, "is not valid JSON.", REPAIR) from error
    return check_result(document, str(path))


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
