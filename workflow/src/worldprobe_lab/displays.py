"""How large a study must be, and domains by partial pooling."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, figure, table
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, in_words
from worldprobe.benchmarks.ewok.study import has_logprobs, has_versions
from worldprobe.contracts.results import OVERALL
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import Column, Sheet, decimals, span, whole_number
from worldprobe_lab.contracts import Orders, Plans, PooledMeans

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANS = Input(Plans, "plans.parquet")
POOLED_MEANS = Input(PooledMeans, "pooled_means.parquet")
ORDERS = Input(Orders, "orders.parquet")
#: A probability from which an order is stated.
SURE = 0.95


@table(
    inputs=[PLANS],
    title="What a study of another size would find",
    section="planning",
    caption=(
        "How many versions find a difference of two models, by number of pairs of concepts, and the"
        " smallest difference that this study's own size finds, overall and in each domain;"
        " variances are those of this study's models."
    ),
    when=(has_logprobs, has_versions),
)
def study_sizes(plans: pd.DataFrame, provenance: Provenance) -> Sheet:
    """Versions needed, by group and number of clusters, with the smallest difference for several
    numbers of versions.

    Args:
        plans: the Plans table.
        provenance: of that table, with the power that is wanted.
    """
    from worldprobe_lab.planning import versions_needed

    power = float(provenance.details.get("power", 0.8))
    frame = versions_needed(plans, power).sort_values(
        "grouping", key=lambda names: names != OVERALL, kind="stable"
    )
    shown = [number for number in (3, 5, 10) if number in set(plans["n_versions"])]
    for number in shown:
        rows = plans[plans["n_versions"] == number].set_index(["grouping", "group", "n_clusters"])[
            "detectable"
        ]
        frame[f"with_{number}"] = [
            rows[key] for key in zip(frame.grouping, frame.group, frame.n_clusters, strict=True)
        ]
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
            Column("Power with these", ("power",), decimals(2)),
            Column("95% interval", ("power_low", "power_high"), partial(span, places=2)),
            *(
                Column(f"{number} versions", (f"with_{number}",), decimals(3), over="Found in 80%")
                for number in shown
            ),
        ),
        notes=(
            (
                f"Two-sided tests at 5%, of one comparison. Versions needed: for {points:g} points."
                " Found in 80%: the difference that about 80% of such studies find. The interval"
                " of the power is as wide as the few pairs of concepts and versions of this study"
                " leave it; where it is wide, the other numbers are as rough."
            ),
        ),
        group="where",
    )


@table(
    inputs=[POOLED_MEANS, ORDERS],
    title="Domains by partial pooling",
    section="concepts",
    caption=(
        "Accuracy of each model in each domain: as it is, and drawn to the mean of all domains as"
        " far as chance sets domains apart, with an interval and the ranks that are possible."
    ),
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def pooled_domains(
    means: pd.DataFrame,
    orders: pd.DataFrame,
    roster: Roster,
    provenance: Provenance | None = None,
    eval_type: str = "logprobs",
) -> Sheet:
    """Plain and pooled accuracy by domain, with the interval, possible ranks and the domains that
    are certainly harder or easier.

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
            "pooled_means",
            f"there are none by {eval_type}.",
            f"Choose one of: {', '.join(sorted(set(means.eval_type)))}.",
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
    rows = (
        rows.sort_values(["order", "pooled"], kind="stable")
        .drop(columns="order")
        .reset_index(drop=True)
    )
    n_pairs = len(orders[orders.eval_type == eval_type])
    is_one_version = bool(provenance and provenance.details.get("one_version"))
    surely = () if is_one_version else ("harder", "easier")
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
            *(
                Column(side, (side,), whole_number, over="Domains that are surely")
                for side in surely
            ),
        ),
        notes=(
            f"Interval and ranks (95%) are for other {drawn_units(provenance)} than these"
            f"{', with the fillings of this one version' if is_one_version else ''}. "
            + (
                "Which domain is harder is not said: with one version of fixed fillings, 16% of"
                " orders that seem sure are wrong. "
                if is_one_version
                else (
                    f"Surely: with a probability of {SURE:.0%} or more; {len(sure)} of {n_pairs}"
                    " orders of two domains are sure. An order of two means that is not sure"
                    " should not be stated. "
                )
            )
            + "The interval of the lowest (or highest) domain is drawn to the mean of all and"
            " misses more often than 5%: 11 to 25% in simulations, up to half where one domain"
            " alone is apart.",
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


@figure(
    inputs=[PLANS],
    title="Power against versions",
    section="planning",
    caption=(
        "How often a study of two models finds a difference (p < 0.05), by its numbers of versions"
        " and of pairs of concepts, with the variances of this study's models. Bands: 95%, as these"
        " are known from few pairs and versions only. Dashed: 80%."
    ),
    when=(has_logprobs, has_versions),
)
def study_power(plans: pd.DataFrame) -> pd.DataFrame:
    """The rows of all domains together.

    Args:
        plans: the Plans table.
    """
    return plans[plans.grouping == OVERALL].reset_index(drop=True)


@study_power.drawn_by
def draw_planning(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A line for each number of pairs of concepts."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    size = style.BODY if width == "double" else style.SMALL
    numbers = sorted(frame.n_clusters.unique())
    right = style.widest([f"{number} pairs" for number in numbers], size) + 0.42
    plot = (style.WIDTHS[width] - 0.45 - right, 2.4 if width == "double" else 1.9)
    figure = style.canvas(width, plot[1] + 0.08 + 0.4)
    axes = style.axes_at(figure, 0.45, 0.08, *plot)
    axes.axhline(0.8, color=style.INK, lw=0.6, dashes=(3, 2), zorder=1)
    colours = style.family_colours([f"{number} pairs" for number in numbers])
    for place, (number, colour) in enumerate(zip(numbers, colours.values(), strict=True)):
        rows = frame[frame.n_clusters == number].sort_values("n_versions")
        mark = style.shape(place)
        axes.fill_between(
            rows.n_versions, rows.power_low, rows.power_high, color=colour, alpha=0.12, lw=0
        )
        axes.plot(
            rows.n_versions,
            rows.power,
            color=colour,
            marker=mark,
            ms=3.5,
            mec="white",
            mew=0.4,
            lw=0.9,
            zorder=3,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([2, 3, 5, 10, 20, 50]))
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, 1.02)
    axes.tick_params(labelsize=size)
    axes.set_xlabel("versions", fontsize=size)
    axes.set_ylabel(f"power for {100 * frame.difference.iloc[0]:g} points", fontsize=size)
    handles = [
        style.handle(
            marker=style.shape(place), ms=4, color=colour, mec="white", mew=0.4, lw=0.9, label=label
        )
        for place, (label, colour) in enumerate(colours.items())
    ]
    figure.legend(
        handles=handles,
        loc="upper right",
        fontsize=size,
        bbox_to_anchor=(0.999, 0.99),
        borderaxespad=0.1,
    )
    return figure
