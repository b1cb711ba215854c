"""The tables of results that every benchmark shares; a benchmark adds columns of its own to them by
inheriting.

A series is a model, asked in one way (``eval_type``: an eval type of EWoK, a prompting of
WorldSense) under one ``condition`` (a version of EWoK's items, a set of WorldSense's trials).
``all`` is the mean over conditions, or over groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.contracts import Table, column, read_tables
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

#: The condition of means over all conditions, and the group of those over all units.
ALL = "all"
#: The grouping of means over all units.
OVERALL = "overall"
#: Joins the values of a group that is made by several columns.
JOINT = "|"
#: What there is to say of an interval (``analysis.clusters``); none: none was computed.
STATUSES = ("ok", "one_version", "one_cluster", "no_spread", "no_values", "none")


class Scores(
    Table, name="scores", version=1, key=["model", "eval_type", "condition", "metric", "unit"]
):
    """Scores of responses: one row per unit, series and metric; everything behind it is the same
    for every benchmark.

    A benchmark inherits this table under a name of its own; means are also taken by the columns
    that it adds, those of measurements (float) excepted.
    """

    model: str = column(min_length=1)
    eval_type: str = column("How the model was asked.", min_length=1)
    condition: str = column("A set of units; each has means of its own.", min_length=1)
    metric: str = column(min_length=1)
    unit: str = column("An item, a tuple, ...: what is averaged.", min_length=1)
    cluster: str = column(
        "Units of one cluster are not independent; clusters are a random factor.", min_length=1
    )
    value: float = column("Missing: see status.", ge=-1, le=1, nullable=True)
    status: str = column("ok, or why there is no value.")

    @classmethod
    def groupings(cls) -> list[str]:
        """The columns that means are also taken by."""
        return [
            name
            for name, declared in cls.columns.items()
            if name not in Scores.columns and declared.kind != "float"
        ]


def read_distinct(
    paths: Sequence[Path], contract: type[Table], columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read tables of one kind as one frame, in which every key is once: of what two tables have,
    one would count twice, or hide the other.

    Args:
        paths: the tables.
        contract: of them; its key has a model and an eval_type.
        columns: read these only, which have the key; None: all.

    Raises:
        UserError: as ``read_tables``, or two tables have answers of a model to the same questions.
    """
    key = list(contract.Config.key)
    rows = read_tables(paths, contract, columns)
    again = rows.duplicated(key)
    if not again.any():
        return rows
    row = rows.loc[again, key].iloc[0].astype(str)
    files = [
        path
        for path in paths
        if (read_tables([path], contract, key).astype(str) == row).all(axis=1).any()
    ]
    problem = f"has answers of {row['model']} ({row['eval_type']}) a second time, after {files[0]}"
    fix = "Give each table once, and one table for each model and way of asking."
    raise UserError(files[-1], f"{problem}.", fix)


class Summaries(
    Table,
    name="summaries",
    version=4,
    key=["model", "eval_type", "condition", "metric", "grouping", "group"],
):
    """Means of a metric, overall and by group."""

    model: str = column(min_length=1)
    eval_type: str = column("How the model was asked.", min_length=1)
    condition: str = column(
        "A version, a set of trials, ...; all: the mean over them.", min_length=1
    )
    metric: str = column(min_length=1)
    grouping: str = column("What units are grouped by; overall: not at all.", min_length=1)
    group: str = column("all, or values of the grouping, joined by |.")
    mean: float = column(ge=-1, le=1, nullable=True)
    std_error: float = column("Of the mean, for other clusters than these.", ge=0, nullable=True)
    ci_low: float = column(
        "95% interval, for other clusters than these.", ge=-1, le=1, nullable=True
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    interval_over: str = column("What the interval takes as random factors; empty: there is none.")
    status: str = column("What the interval is about, or why there is none.", isin=STATUSES)
    n: int = column("Units: items, tuples, ...", ge=0)
    n_clusters: int = column("Clusters that the interval is from.", ge=0)


class Reproduction(Table, name="reproduction", version=2, key=["position"]):
    """Every published number next to ours."""

    position: int = column(ge=0)
    block: str = column("Published table: table1, text, ...")
    quantity: str
    model: str = column(nullable=True)
    eval_type: str = column(nullable=True)
    condition: str
    group: str = column(nullable=True)
    printed: str = column("As printed.")
    published: float = column(
        "The same, in the unit of ours; missing where it is text.", nullable=True
    )
    ours: float = column(nullable=True)
    ours_printed: str = column(
        "Ours, rounded as the published number is; empty where there is none."
    )
    difference: float = column("ours - published.", nullable=True)
    tolerance: float = column("Half a unit of the last printed digit.", nullable=True)
    status: str = column(isin=("within_rounding", "differs", "not_run", "not_comparable"))
    reason: str = column("Why not, where it is known; empty otherwise.")


class Comparisons(
    Table,
    name="comparisons",
    version=5,
    key=["eval_type", "condition_a", "condition_b", "model_a", "model_b", "grouping", "group"],
):
    """Two series on the same units: difference of their means, interval and test."""

    model_a: str = column(min_length=1)
    model_b: str = column(min_length=1)
    eval_type: str = column(min_length=1)
    condition_a: str = column("all: over conditions.", min_length=1)
    condition_b: str = column(min_length=1)
    grouping: str = column(min_length=1)
    group: str
    mean_a: float = column(ge=-1, le=1)
    mean_b: float = column(ge=-1, le=1)
    difference: float = column("mean_a - mean_b.", ge=-1, le=1)
    ci_low: float = column("95%, for other clusters than these.", ge=-1, le=1, nullable=True)
    ci_high: float = column(ge=-1, le=1, nullable=True)
    interval_over: str = column("What interval and test take as random factors.")
    p: float = column(
        "Two-sided, of no difference; missing where status is not ok.", ge=0, le=1, nullable=True
    )
    p_holm: float = column(
        "Holm's correction over what is read together.", ge=0, le=1, nullable=True
    )
    test: str = column(
        "What p and interval are by: Student's t, or flips of signs where clusters are unequal.",
        optional=True,
        isin=("t", "sign_flips", ""),
    )
    detectable: float = column(
        "The smallest true difference that this test finds (p < 0.05) in 80% of such samples.",
        ge=0,
        nullable=True,
    )
    status: str = column("What the interval is about, or why there is none.", isin=STATUSES)
    n: int = column("Units that both have.", gt=0)
    n_clusters: int = column(gt=0)
    finding: str = column("What may be said.", optional=True)


def over_in_words(units: str, over_versions: bool) -> str:
    """The random units of an interval, in words.

    >>> over_in_words("pairs of concepts", True), over_in_words("templates", False)
    ('pairs of concepts and versions', 'templates')
    """
    return units + (" and versions" if over_versions else "")
