"""The tables of results that every benchmark shares; a benchmark adds columns of its own to them by
inheriting.

A series is a model, asked in one way (``eval_type``: an eval type of EWoK, a prompting of
WorldSense) under one ``condition`` (a version of EWoK's items, a set of WorldSense's trials).
``all`` is the mean over conditions, or over groups.
"""

from __future__ import annotations

from worldprobe.contracts import Table, column

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
    """What responses come to: one row per unit, series and metric; everything behind it is the same
    for every benchmark.

    A benchmark inherits this table under a name of its own; the columns that it adds are what means
    are also taken by.
    """

    model: str = column(min_length=1)
    eval_type: str = column(min_length=1, description="How the model was asked.")
    condition: str = column(min_length=1, description="A set of units; each has means of its own.")
    metric: str = column(min_length=1)
    unit: str = column(min_length=1, description="An item, a tuple, ...: what is averaged.")
    cluster: str = column(
        min_length=1,
        description="Units of one cluster are not independent; clusters are a random factor.",
    )
    value: float = column(ge=-1, le=1, nullable=True, description="Missing: see status.")
    status: str = column(description="ok, or why there is no value.")


class Summaries(
    Table,
    name="summaries",
    version=4,
    key=["model", "eval_type", "condition", "metric", "grouping", "group"],
):
    """Means of a metric, overall and by group."""

    model: str = column(min_length=1)
    eval_type: str = column(min_length=1, description="How the model was asked.")
    condition: str = column(
        min_length=1, description="A version, a set of trials, ...; all: the mean over them."
    )
    metric: str = column(min_length=1)
    grouping: str = column(
        min_length=1, description="What units are grouped by; overall: not at all."
    )
    group: str = column(description="all, or values of the grouping, joined by |.")
    mean: float = column(ge=-1, le=1, nullable=True)
    std_error: float = column(
        ge=0, nullable=True, description="Of the mean, for other clusters than these."
    )
    ci_low: float = column(
        ge=-1, le=1, nullable=True, description="95% interval, for other clusters than these."
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    interval_over: str = column(
        description="What the interval takes as random factors; empty: there is none."
    )
    status: str = column(
        isin=STATUSES, description="What the interval is about, or why there is none."
    )
    n: int = column(ge=0, description="Units: items, tuples, ...")
    n_clusters: int = column(ge=0, description="Clusters that the interval is from.")


class Reproduction(Table, name="reproduction", version=2, key=["position"]):
    """Every published number next to ours."""

    position: int = column(ge=0)
    block: str = column(description="Published table: table1, text, ...")
    quantity: str
    model: str = column(nullable=True)
    eval_type: str = column(nullable=True)
    condition: str
    group: str = column(nullable=True)
    printed: str = column(description="As printed.")
    published: float = column(
        nullable=True, description="The same, in the unit of ours; missing where it is text."
    )
    ours: float = column(nullable=True)
    ours_printed: str = column(
        description="Ours, rounded as the published number is; empty where there is none."
    )
    difference: float = column(nullable=True, description="ours - published.")
    tolerance: float = column(nullable=True, description="Half a unit of the last printed digit.")
    status: str = column(isin=("within_rounding", "differs", "not_run", "not_comparable"))
    reason: str = column(description="Why not, where it is known; empty otherwise.")


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
    condition_a: str = column(min_length=1, description="all: over conditions.")
    condition_b: str = column(min_length=1)
    grouping: str = column(min_length=1)
    group: str
    mean_a: float = column(ge=-1, le=1)
    mean_b: float = column(ge=-1, le=1)
    difference: float = column(ge=-1, le=1, description="mean_a - mean_b.")
    ci_low: float = column(
        ge=-1, le=1, nullable=True, description="95%, for other clusters than these."
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    interval_over: str = column(description="What interval and test take as random factors.")
    p: float = column(
        ge=0,
        le=1,
        nullable=True,
        description="Two-sided, of no difference; missing where status is not ok.",
    )
    p_holm: float = column(
        ge=0, le=1, nullable=True, description="Holm's correction over what is read together."
    )
    detectable: float = column(
        ge=0,
        nullable=True,
        description=(
            "The smallest true difference that this test finds (p < 0.05) in 80% of such samples."
        ),
    )
    status: str = column(
        isin=STATUSES, description="What the interval is about, or why there is none."
    )
    n: int = column(gt=0, description="Units that both have.")
    n_clusters: int = column(gt=0)


def over_in_words(units: str, over_versions: bool) -> str:
    """What an interval is over.

    >>> over_in_words("pairs of concepts", True), over_in_words("templates", False)
    ('pairs of concepts and versions', 'templates')
    """
    return units + (" and versions" if over_versions else "")
