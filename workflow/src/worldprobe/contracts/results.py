"""The tables of results that every benchmark shares; a benchmark adds columns of its own to them by inheriting.

A series is a model, asked in one way (``eval_type``: an eval type of EWoK, a prompting of WorldSense) under one ``condition`` (a
version of EWoK's items, a set of WorldSense's trials). ``all`` is the mean over conditions, or over groups.
"""

from __future__ import annotations

from worldprobe.contracts.tables import Table, column

#: The condition of means over all conditions, and the group of those over all units.
ALL = "all"
#: The grouping of means over all units.
OVERALL = "overall"
#: Joins the values of a group that is made by several columns.
JOINT = "|"
#: What there is to say of an interval (``analysis.clusters``); none: none was computed.
STATUSES = ("ok", "one_version", "one_cluster", "no_spread", "no_values", "none")


class Summaries(Table):
    """Means of a metric, overall and by group."""

    model: str = column(min_length=1)
    eval_type: str = column(min_length=1, description="How the model was asked.")
    condition: str = column(min_length=1, description="A version, a set of trials, ...; all: the mean over them.")
    metric: str = column(min_length=1)
    grouping: str = column(min_length=1, description="What units are grouped by; overall: not at all.")
    group: str = column(description="all, or values of the grouping, joined by |.")
    mean: float = column(ge=-1, le=1, nullable=True)
    ci_low: float = column(ge=-1, le=1, nullable=True, description="95% interval, for other clusters than these.")
    ci_high: float = column(ge=-1, le=1, nullable=True)
    interval_over: str = column(description="What the interval takes as samples of more; empty: there is none.")
    status: str = column(isin=STATUSES, description="What the interval is about, or why there is none.")
    n: int = column(ge=0, description="Units: items, tuples, ...")
    n_clusters: int = column(ge=0, description="Clusters that the interval is from.")

    class Config(Table.Config):
        name = "summaries"
        unique = ["model", "eval_type", "condition", "metric", "grouping", "group"]
        metadata = {"version": 3, "key": ["model", "eval_type", "condition", "metric", "grouping", "group"]}
