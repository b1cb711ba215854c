"""How large a study must be, and domains by partial pooling."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, Section, Study, figure, table
from worldprobe.benchmarks.ewok.analysis.panel import TWO_VERSIONS, count_clusters, drawn_units
from worldprobe.benchmarks.ewok.options import EVAL_TYPE
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import has_logprobs, has_pairs, is_released
from worldprobe.contracts.results import OVERALL
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.lines import name_ends
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import (
    INTERVAL,
    MODEL_ONCE,
    Sheet,
    SheetColumn,
    as_text,
    decimals,
    number_column,
    span,
    text_column,
    whole_number,
)
from worldprobe_lab.contracts import Orders, Plans, PooledMeans

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECTION = Section(
    "planning",
    "Size of a study",
    "How many items a study needs to find a difference between two models.",
)


def has_versions(study: Study) -> bool:
    """Whether models are compared on several items of each template."""
    items = study["ewok"]["conditions"][next(iter(study["ewok"]["conditions"]))]["items"]
    first, _, last = str(items["versions"]).partition("-")
    are_several = (
        items["per_template"] > 1 if items["mode"] == "independent" else last not in ("", first)
    )
    return has_pairs(study) and (is_released(study) or are_several)


PLANS = Input(Plans, "plans.parquet")
POOLED_MEANS = Input(PooledMeans, "pooled_means.parquet")
ORDERS = Input(Orders, "orders.parquet")
#: A probability from which an order is stated.
SURE = 0.95


@table(
    inputs=[PLANS],
    title="Size of a study",
    section="planning",
    caption=(
        "Versions of the items needed to find a difference between two models, by number of pairs"
        " of concepts, overall and in each domain, with this study's variances."
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
    is_two = bool(provenance.details.get("own_fillings") and (frame["n_versions"] == 2).any())
    most, points = int(plans["n_versions"].max()), 100 * float(plans["difference"].iloc[0])
    frame["needed"] = [str(number) if number else f"over {most}" for number in frame["n_versions"]]
    return Sheet(
        title=f"Studies that find a difference of {points:g} points with a power of {power:.0%}.",
        frame=frame.drop(columns="n_versions"),
        columns=(
            text_column("Domain", "where", once=True),
            number_column("Pairs of concepts", "n_clusters", whole_number),
            number_column("Templates", "n_templates", whole_number),
            number_column("Versions needed", "needed", as_text),
            number_column("Power with these", "power", decimals(2)),
            SheetColumn("95% interval", ("power_low", "power_high"), partial(span, places=2)),
            *(
                number_column(f"{number} versions", f"with_{number}", over="Detectable")
                for number in shown
            ),
        ),
        notes=(
            (
                f"One two-sided test at 5%. Versions needed: for {points:g} points. Detectable: the"
                " difference that 80% of such studies would find. Where the interval of the power"
                " is wide, the other numbers are as rough: this study has few pairs of concepts and"
                " versions."
            ),
            *[TWO_VERSIONS] * is_two,
        ),
        finding=_sizes_finding(frame[frame.grouping == OVERALL], points, power),
        group="where",
    )


@table(
    inputs=[POOLED_MEANS, ORDERS],
    title="Domains by partial pooling",
    section="concepts",
    caption=(
        "Accuracy of each model in each domain, plain and partially pooled, with intervals and"
        " possible ranks."
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
    positions = {model: number for number, model in enumerate(roster.in_order(rows.model))}
    rows = rows.assign(
        name=roster.names(rows.model),
        domain=rows.group.map(in_words),
        order=rows.model.map(positions),
        harder=_count(rows, sure, "higher"),
        easier=_count(rows, sure, "lower"),
    )
    # Where no order is decided, domains are not put in one.
    inner = "pooled" if len(sure) else "group"
    rows = (
        rows.sort_values(["order", inner], kind="stable")
        .drop(columns="order")
        .reset_index(drop=True)
    )
    n_pairs, n_models = len(orders[orders.eval_type == eval_type]), len(positions)
    is_one_version = bool(provenance and provenance.details.get("one_version"))
    surely = () if is_one_version else ("harder", "easier")
    return Sheet(
        title="Accuracy by domain, partially pooled.",
        frame=rows,
        columns=(
            MODEL_ONCE,
            text_column("Domain", "domain"),
            number_column("Mean", "mean"),
            number_column("Pooled", "pooled"),
            INTERVAL,
            SheetColumn("Rank (1: hardest)", ("rank_low", "rank_high"), _ranks),
            *(
                number_column(side, side, whole_number, over="Domains decided to be")
                for side in surely
            ),
        ),
        notes=(
            f"Pooling draws each mean towards that of all domains. Intervals and ranks (95%)"
            f" generalise to other {drawn_units(provenance)}"
            f"{', with the fillings of this one version' if is_one_version else ''}. In simulations"
            " the interval of the domain that is printed lowest misses in 3 to 13%; that of the one"
            " that truly is the lowest or highest in 11 to 25%, in up to 50% if a single domain"
            " differs from all others.",
        ),
        finding=(
            "We do not say which domain is harder: with one version of fixed fillings, 16% of"
            " orders that seem sure are wrong."
            if is_one_version
            else f"Which of two domains is harder is decided (probability ≥ {SURE:.0%}) for"
            f" {len(sure)} of {n_pairs} pairs of domains ({n_pairs // n_models} per model); do not"
            f" rank {'the others' if len(sure) else 'domains'}."
        ),
        group="model",
    )


def _sizes_finding(overall: pd.DataFrame, points: float, power: float) -> str:
    """How many versions are needed over all domains, as a sentence."""
    ordered = overall.sort_values("n_clusters")
    needed = [
        f"{enough} with {count_clusters(int(number))}"
        for enough, number in zip(ordered["needed"], ordered["n_clusters"], strict=True)
    ]
    return f"Versions that find {points:g} points with a power of {power:.0%}: {', '.join(needed)}."


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
        "Power to find a difference between two models (p < 0.05) by number of versions and pairs"
        " of concepts, with this study's variances. Bands: 95% intervals; dashed line: 80%."
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
    """A line for each number of pairs of concepts, with that number at its end; numbers that find
    the difference in every case share one.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    size = style.label_size(width)
    least = frame.groupby("n_clusters")["power"].min()
    certain = list(least.index[least >= SURE_POWER])
    numbers = [number for number in least.index if number not in certain[1:]]
    labels = [count_clusters(number) + " or more" * (number in certain) for number in numbers]
    tall, right = 2.2 if width == "double" else 1.9, style.widest(labels, size) + 0.22
    figure, (axes,), _ = style.grid(width, 1, 1, tall, 0.45, head=0.1, foot=0.4, right=right)
    axes.axhline(0.8, color=style.INK, lw=0.6, dashes=(3, 2), zorder=1)
    axes.set_ylim(0, 1.02)
    ends = []
    colours = style.family_colours(labels)
    for number, label in zip(numbers, labels, strict=True):
        rows, colour = frame[frame.n_clusters == number].sort_values("n_versions"), colours[label]
        axes.fill_between(
            rows.n_versions, rows.power_low, rows.power_high, color=colour, alpha=0.12, lw=0
        )
        axes.plot(rows.n_versions, rows.power, color=colour, marker="o", ms=3, lw=0.9, zorder=3)
        ends.append((float(rows.power.iloc[-1]), label, colour))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([2, 3, 5, 10, 20, 50]))
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=size)
    axes.set_xlabel("versions of the items", fontsize=size)
    points = f"{100 * frame.difference.iloc[0]:g} points"
    axes.set_ylabel(f"share of studies that find {points}", fontsize=size)
    name_ends(axes, ends, size, tall)
    return figure


#: A power that a figure does not tell from 1.
SURE_POWER = 0.995
