"""Simulated studies, of which every table of these programs is made.

Models judge templates of pairs of concepts in versions, two targets of each item. The log odds of a
right answer vary normally by pair, template, item, version and pair and version, for all models
alike or for each. ``python docs/simulations`` makes the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri

#: The most values that are drawn at a time.
CHUNK = 4_000_000


class Table(NamedTuple):
    """A table of a page: what makes it of so many simulated studies, and how many a quick run and
    the page take.
    """

    make: Callable[[int], Any]
    quick: int
    page: int


TABLES: dict[str, Table] = {}


def table(quick: int, page: int) -> Callable[[Callable[[int], Any]], Callable[[int], Any]]:
    """Declare what makes a table; its name is the function's."""

    def declare(make: Callable[[int], Any]) -> Callable[[int], Any]:
        TABLES[make.__name__] = Table(make, quick, page)
        return make

    return declare


@dataclass(frozen=True)
class Spread:
    """Standard deviations of log odds."""

    pair: float = 0.0
    template: float = 0.0
    item: float = 0.0
    version: float = 0.0
    cell: float = 0.0

    @property
    def whole(self) -> float:
        """Of one answer's log odds."""
        return float(np.linalg.norm(astuple(self)))

    def draw(self, rng: np.random.Generator, n: int, pair: np.ndarray, versions: int) -> np.ndarray:
        """Log odds around 0, shape (n, templates, versions).

        Args:
            rng: random numbers.
            n: number of studies.
            pair: of each template.
            versions: their number.
        """

        def normal(sd: float, *shape: int) -> np.ndarray | float:
            return sd * rng.standard_normal((n, *shape), dtype=np.float32) if sd else 0.0

        n_pairs, n_templates = int(pair.max()) + 1, len(pair)
        drawn = np.zeros((n, n_templates, versions), np.float32)
        drawn += normal(self.template, n_templates, 1)
        drawn += normal(self.item, n_templates, versions)
        drawn += normal(self.version, 1, versions)
        for sd, width in ((self.pair, 1), (self.cell, versions)):
            if sd:
                drawn += np.asarray(normal(sd, n_pairs, width))[:, pair]
        return drawn


def intercept(accuracy: float, spread: float) -> float:
    """Log odds whose mean accuracy is this, where log odds have this standard deviation."""
    return float(brentq(lambda middle: mean_of(middle, spread) - accuracy, -20, 20))


def mean_of(middle: float, spread: float) -> float:
    """The mean accuracy around these log odds."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    return float(weights @ expit(middle + spread * points) / weights.sum())


def accuracies(rng: np.random.Generator, log_odds: np.ndarray) -> np.ndarray:
    """Of items: means of two targets."""
    right = expit(log_odds)
    return sum((rng.random(right.shape, dtype=np.float32) < right) / np.float32(2) for _ in "12")


def pairs(n_pairs: int, kind: str = "equal") -> np.ndarray:
    """The pair of each template: 6 templates a pair, or from 1 to about 24 with a mean of about 6,
    or one pair with half of all.
    """
    sizes = {
        "equal": np.full(n_pairs, 6),
        "skewed": np.clip(
            np.round(4.4 * np.exp(0.8 * ndtri((np.arange(n_pairs) + 0.5) / n_pairs))), 1, 24
        ).astype(int),
        "one has half": np.r_[6 * (n_pairs - 1), np.full(n_pairs - 1, 6)],
    }[kind]
    return np.repeat(np.arange(n_pairs), sizes)


def labels(pair: np.ndarray, versions: int) -> tuple[np.ndarray, np.ndarray]:
    """Pair and version of each item."""
    return np.repeat(pair, versions), np.tile(np.arange(versions), len(pair))


def chunks(n: int, n_values: int) -> list[int]:
    """Numbers of studies to draw at a time, together n."""
    size = max(min(CHUNK // n_values, n), 1)
    return [min(size, n - start) for start in range(0, n, size)]


def percent(share: float, places: int = 1) -> str:
    """As pages print it.

    >>> percent(0.0523), percent(0.5, 0), percent(float("nan"))
    ('5.2%', '50%', '')
    """
    return "" if np.isnan(share) else f"{100 * share:.{places}f}%"
