"""What a study can find, and what holds of single domains."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, in_words
from worldprobe.benchmarks.ewok.study import has_logprobs, has_versions
from worldprobe.contracts.results import OVERALL, Orders, Plans, PooledMeans
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import Column, Sheet, decimals, span, whole_number

PLANS = Input(Plans, "plans.parquet")
POOLED_MEANS = Input(PooledMeans, "pooled_means.parquet")
ORDERS = Input(Orders, "orders.parquet")
#: A probability from which an order is stated.
SURE = 0.95


@table(
    inputs=[PLANS],
    title="What a study of another size would find",
    section="planning",
    caption="How many versions find a difference of two models, by number of pairs of concepts, and the smallest difference that "
    "this study's own size finds, overall and in each domain; variances are those of this study's models.",
    when=(has_logprobs, has_versions),
)
def study_sizes(plans: pd.DataFrame, provenance: Provenance) -> Sheet:
    """Versions needed, by group and number of clusters, with the smallest difference for several numbers of versions.

    Args:
        plans: the Plans table.
        provenance: of that table, with the power that is wanted.
    """
    from worldprobe.benchmarks.ewok.analysis.planning import versions_needed

    power = float(provenance.details.get("power", 0.8))
    frame = versions_needed(plans, power)
    shown = [number for number in (3, 5, 10) if number in set(plans["n_versions"])]
    for number in shown:
        rows = plans[plans["n_versions"] == number].set_index(["grouping", "group", "n_clusters"])["detectable"]
        frame[f"with_{number}"] = [rows[key] for key in zip(frame.grouping, frame.group, frame.n_clusters, strict=True)]
    frame["where"] = [
        "all domains" if grouping == OVERALL else in_words(group)
        for grouping, group in zip(frame.grouping, frame.group, strict=True)
    ]
    most, points = int(plans["n_versions"].max()), 100 * float(plans["difference"].iloc[0])
    frame["needed"] = [str(number) if number else f"over {most}" for number in frame["n_versions"]]
    return Sheet(
        title=f"Studies that find a difference of {points:g} points in {power:.0%} of cases.",
        frame=frame.drop(columns="n_versions"),
        columns=(
            Column("Domain", ("where",), is_number=False, once=True),
            Column("Pairs of concepts", ("n_clusters",), whole_number),
            Column("Templates", ("n_templates",), whole_number),
            Column("Versions needed", ("needed",)),
            *(Column(f"{number} versions", (f"with_{number}",), decimals(3), over="Found in 80%") for number in shown),
        ),
        label="study-sizes",
        notes=(
            f"Two-sided tests at 5%, of one comparison. Versions needed: for {points:g} points. Found in 80%: the difference "
            "that 80% of such studies find. The variances are estimates: rough ones, where this study has few versions.",
        ),
        group="where",
    )


@table(
    inputs=[POOLED_MEANS, ORDERS],
    title="Domains by partial pooling",
    section="concepts",
    caption="Accuracy of each model in each domain: as it is, and drawn to the mean of all domains as far as chance sets domains "
    "apart, with an interval and the ranks that are possible.",
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def pooled_domains(
    means: pd.DataFrame, orders: pd.DataFrame, roster: Roster, provenance: Provenance | None = None, eval_type: str = "logprobs"
) -> Sheet:
    """Plain and pooled accuracy by domain, with the interval, possible ranks and the domains that are certainly harder or easier.

    Args:
        means: the PooledMeans table.
        orders: the Orders table.
        roster: names and order of the models.
        provenance: of the PooledMeans table, with what its intervals are over.
        eval_type: way of asking.

    Raises:
        UserError: nothing was asked in this way.
    """
    rows = means[(means.grouping == "domain") & (means.eval_type == eval_type)]
    if rows.empty:
        raise UserError(
            "pooled_means", f"there are none by {eval_type}.", f"Choose one of: {', '.join(sorted(set(means.eval_type)))}."
        )
    sure = orders[(orders.eval_type == eval_type) & (orders.probability >= SURE)]
    place = {model: number for number, model in enumerate(roster.in_order(rows.model))}
    rows = rows.assign(
        name=[roster[model].name for model in rows.model],
        domain=rows.group.map(in_words),
        order=rows.model.map(place),
        harder=_count(rows, sure, "higher"),
        easier=_count(rows, sure, "lower"),
    )
    rows = rows.sort_values(["order", "pooled"], kind="stable").drop(columns="order").reset_index(drop=True)
    n_pairs = len(orders[orders.eval_type == eval_type])
    return Sheet(
        title="Accuracy by domain, partially pooled.",
        frame=rows,
        columns=(
            Column("Model", ("name",), is_number=False, once=True),
            Column("Domain", ("domain",), is_number=False),
            Column("Mean", ("mean",), decimals(3)),
            Column("Pooled", ("pooled",), decimals(3)),
            Column("95% interval", ("ci_low", "ci_high"), span),
            Column("Rank (1: hardest)", ("rank_low", "rank_high"), _ranks),
            Column("harder", ("harder",), whole_number, over="Domains that are surely"),
            Column("easier", ("easier",), whole_number, over="Domains that are surely"),
        ),
        label="pooled-domains",
        notes=(
            f"Interval and ranks (95%) are for other {drawn_units(provenance)} than these"
            f"{', with the fillings of this one version' if provenance and provenance.details.get('one_version') else ''}. "
            f"Surely: with a probability of {SURE:.0%} or more; {len(sure)} of {n_pairs} orders of two domains are sure. "
            "An order of two means that is not sure should not be stated.",
        ),
        group="model",
    )


def _count(rows: pd.DataFrame, sure: pd.DataFrame, side: str) -> list[int]:
    """For each model and domain, in how many sure orders the domain is on this side."""
    numbers = sure.groupby(["model", side]).size().to_dict()
    return [int(numbers.get(key, 0)) for key in zip(rows.model, rows.group, strict=True)]


def _ranks(low: float, high: float) -> str:
    """Possible ranks.

    >>> _ranks(1, 1), _ranks(2, 7)
    ('1', '2 to 7')
    """
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
