"""Families of templates in a study: which files they are measured from, their table and figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, Section, Study, figure, table
from worldprobe.benchmarks.ewok.options import EVAL_TYPE
from worldprobe.benchmarks.ewok.outputs import baseline_judgements, judgements, paths
from worldprobe.benchmarks.ewok.selection import BASELINE_TYPES
from worldprobe.benchmarks.ewok.study import family_conditions, has_families
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.lines import draw_lines
from worldprobe.report.model_names import Roster, sort_by
from worldprobe.report.sheet import (
    DETECTABLE,
    INTERVAL,
    MODEL,
    MORE_THAN_POSSIBLE,
    Sheet,
    number_column,
    show_p,
    text_column,
    whole_number,
)
from worldprobe_lab.contracts import FamilyLevels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def family_items(study: Study) -> list[str]:
    """The items of families, where a study has them."""
    return [paths(study).items(condition) for condition in family_conditions(study)]


def family_judgements(study: Study) -> list[str]:
    """Judgements about families: of models, and of baselines."""
    paths_of_models, paths_of_baselines = [], []
    for condition in family_conditions(study):
        paths_of_models += judgements(study, condition=condition)
        paths_of_baselines += baseline_judgements(study, condition)
    return paths_of_models + paths_of_baselines


SECTION = Section(
    "families",
    "Families of templates",
    "A family's templates differ in one thing alone, its level. Does accuracy fall from level"
    " to level?",
)
FAMILY_LEVELS = Input(FamilyLevels, "families.parquet")


#: Family of ours -> what its level counts.
LEVEL_NAMES = {
    "depth": "steps of inference",
    "negation": "negations",
    "ratio": "smaller number; its ratio to the next, or size",
    "entities": "people",
    "distraction": "no, neutral, distracting sentence",
    "belief": "no change, seen, unseen, unseen and told",
}
#: Families whose levels are kinds (``levels.KINDS``) -> what stands in place of the slope.
CONTRASTS = {
    "belief": "the mean of levels 1 and 2 less 0.5 (who ignores what the person knows has 0)",
    "distraction": "level 2 less level 1",
}


def pick_levels(levels: pd.DataFrame, eval_type: str) -> pd.DataFrame:
    """The rows of one eval_type, with those of humans and baselines; families in our order.

    Raises:
        UserError: there is none of this eval_type.
    """
    is_baseline = levels["model"].map(BASELINE_TYPES).eq(levels["eval_type"])
    if not (levels["eval_type"] == eval_type).any():
        eval_types = ", ".join(sorted(levels["eval_type"].unique()))
        raise UserError(
            "--eval-type",
            f'families were not asked by "{eval_type}".',
            f"Choose one of: {eval_types}.",
        )
    order = [*LEVEL_NAMES, *sorted(set(levels["family"]) - set(LEVEL_NAMES))]
    rows = levels[is_baseline | (levels["eval_type"] == eval_type)]
    return sort_by(rows, "family", order)


@table(
    inputs=[FAMILY_LEVELS],
    title="Families",
    section="families",
    caption=(
        "Accuracy at each level of each family, and the slope: change of accuracy per level within"
        " bases; where levels are kinds, a contrast of them."
    ),
    when=has_families,
    options=[EVAL_TYPE],
)
def family_accuracy(levels: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> Sheet:
    """A row per family and model: accuracy at each level from the lowest, the slope, its interval
    and test.

    Args:
        levels: FamilyLevels.
        roster: names and order of the models.
        eval_type: way of asking.
    """
    from worldprobe_lab.levels import KINDS, kinds_of  # SciPy, which Snakemake need not load

    rows = pick_levels(levels, eval_type)
    means = rows[rows["level"].notna()]
    means = means.assign(place=means.groupby("family")["level"].rank(method="dense").astype(int))
    wide = means.pivot(index=["family", "model"], columns="place", values="mean")
    wide.columns = [f"level_{number}" for number in wide.columns]
    slopes = rows[rows["level"].isna()].rename(columns={"mean": "slope"})
    frame = slopes.merge(wide.reset_index(), on=["family", "model"], validate="one_to_one")
    order = roster.in_order(frame["model"].unique())
    frame = frame.assign(name=roster.names(frame["model"]))
    families = list(dict.fromkeys(rows["family"]))
    frame = sort_by(sort_by(frame, "model", order), "family", families)
    frame = frame[
        [
            "family",
            "model",
            "name",
            *wide.columns,
            "slope",
            "ci_low",
            "ci_high",
            "p",
            "detectable",
            "n_bases",
            "n_items",
        ]
    ]
    at = {family: sorted(part["level"].unique()) for family, part in means.groupby("family")}
    contrasts = [family for family in families if kinds_of(family, at[family])]
    names = {
        family: name
        for family, name in LEVEL_NAMES.items()
        if family not in KINDS or family in contrasts
    }
    descriptions = [
        f"{family}: {', '.join(map(str, at[family]))}"
        + (f" ({names[family]})" if family in names else "")
        for family in families
    ]
    return Sheet(
        title="Accuracy by level of each family, and the slope over levels or their contrast.",
        frame=frame.reset_index(drop=True),
        columns=(
            text_column("Family", "family", once=True),
            MODEL,
            *(
                number_column(str(number), name, over="Accuracy, levels from the lowest")
                for number, name in enumerate(wide.columns, start=1)
            ),
            number_column("Slope or contrast", "slope"),
            INTERVAL,
            number_column("p", "p", show_p),
            DETECTABLE,
            number_column("Bases", "n_bases", whole_number),
        ),
        notes=(
            f"Levels are {'; '.join(descriptions)}.",
            *(f"{name}: no slope, but {CONTRASTS[name]}." for name in contrasts),
            (
                "The templates of a base have the same targets and fillers at all levels. Slope:"
                " change of accuracy per level, by least squares within bases. Interval and"
                " two-sided p; random factor: bases. p values are not corrected for the number of"
                " slopes. Chance is 0.5."
            ),
            MORE_THAN_POSSIBLE,
        ),
        group="family",
    )


@figure(
    inputs=[FAMILY_LEVELS],
    title="Families",
    section="families",
    caption=(
        "Accuracy of each model by level of each family, with 95% intervals over bases; grey: at"
        " chance throughout."
    ),
    when=has_families,
    options=[EVAL_TYPE],
)
def families(levels: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """A row per family, model and level.

    Args:
        levels: FamilyLevels.
        roster: names and order of the models.
        eval_type: way of asking.
    """
    rows = pick_levels(levels, eval_type)
    order = list(dict.fromkeys(rows["family"]))
    rows = rows[rows["level"].notna()].rename(columns={"family": "panel"})
    named = style.with_identity(
        rows.assign(axis=rows["panel"].map(LEVEL_NAMES).fillna("level")), roster
    )
    named = sort_by(named, "panel", order)
    columns = [
        "panel",
        "axis",
        "level",
        "model",
        "name",
        "colour",
        "mean",
        "ci_low",
        "ci_high",
        "n_bases",
        "n_items",
    ]
    return named[columns].reset_index(drop=True)


@families.drawn_by
def draw_families(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A panel for each family."""
    return draw_lines(frame.rename(columns={"level": "x"}).astype({"x": float}), width)
