"""Families of templates whose levels differ in one thing: accuracy by level with the slope, and what levels have in common."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.contracts import FamilyLevels, Templates
from worldprobe.benchmarks.ewok.frequency import words
from worldprobe.benchmarks.ewok.materials.balance import bag_of_words
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, YARDSTICK_TYPES
from worldprobe.benchmarks.ewok.study import has_families
from worldprobe.errors import UserError
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import Column, Sheet, decimals, p_value, span, whole_number

FAMILY_LEVELS = Input(FamilyLevels, "families.parquet")
#: Family of ours -> what its level counts.
LEVEL_NAMES = {
    "depth": "steps of inference",
    "negation": "negations",
    "ratio": "smaller number, to nine",
    "entities": "people",
    "distraction": "no, neutral, distracting sentence",
    "belief": "no change, seen, unseen",
}


def pick_levels(levels: pd.DataFrame, eval_type: str) -> pd.DataFrame:
    """The rows of one eval_type, with those of humans and word2vec; families in our order.

    Raises:
        UserError: there is none of this eval_type.
    """
    is_yardstick = levels["model"].map(YARDSTICK_TYPES).eq(levels["eval_type"])
    if not (levels["eval_type"] == eval_type).any():
        known = ", ".join(sorted(levels["eval_type"].unique()))
        raise UserError("--eval-type", f'"{eval_type}" was not asked about families.', f"Choose one of: {known}.")
    order = [*LEVEL_NAMES, *sorted(set(levels["family"]) - set(LEVEL_NAMES))]
    rows = levels[is_yardstick | (levels["eval_type"] == eval_type)]
    return rows.sort_values("family", key=lambda column: column.map(order.index), kind="stable")


@table(
    inputs=[FAMILY_LEVELS],
    title="Families",
    section="families",
    caption="Accuracy at each level of each family, and its slope: the change of accuracy per unit of the level, within bases.",
    when=has_families,
    options=[EVAL_TYPE],
)
def family_accuracy(levels: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> Sheet:
    """A row per family and model: accuracy at each level from the lowest, the slope, its interval and test.

    Args:
        levels: FamilyLevels.
        roster: names and order of the models.
        eval_type: way of asking.
    """
    rows = pick_levels(levels, eval_type)
    means = rows[rows["level"].notna()]
    means = means.assign(place=means.groupby("family")["level"].rank(method="dense").astype(int))
    wide = means.pivot(index=["family", "model"], columns="place", values="mean")
    wide.columns = [f"level_{place}" for place in wide.columns]
    slopes = rows[rows["level"].isna()].rename(columns={"mean": "slope"})
    frame = slopes.merge(wide.reset_index(), on=["family", "model"], validate="one_to_one")
    order = roster.in_order(frame["model"].unique())
    frame = frame.assign(name=[roster[model].name for model in frame["model"]], place=frame["model"].map(order.index))
    families = list(dict.fromkeys(rows["family"]))
    frame = frame.assign(order=frame["family"].map(families.index)).sort_values(["order", "place"], kind="stable")
    frame = frame[["family", "model", "name", *wide.columns, "slope", "ci_low", "ci_high", "p", "n_bases", "n_items"]]
    at = {family: ", ".join(map(str, sorted(part["level"].unique()))) for family, part in means.groupby("family")}
    said = [f"{family}: {at[family]}" + (f" ({LEVEL_NAMES[family]})" if family in LEVEL_NAMES else "") for family in families]
    return Sheet(
        title="Accuracy by level of each family, and the slope over levels.",
        frame=frame.reset_index(drop=True),
        columns=(
            Column("Family", ("family",), is_number=False, once=True),
            Column("Model", ("name",), is_number=False),
            *(
                Column(str(place), (name,), decimals(3), over="Accuracy, levels from the lowest")
                for place, name in enumerate(wide.columns, start=1)
            ),
            Column("Slope", ("slope",), decimals(3)),
            Column("95% interval", ("ci_low", "ci_high"), span),
            Column("p", ("p",), p_value),
            Column("Bases", ("n_bases",), whole_number),
        ),
        label="family_accuracy",
        notes=(
            f"Levels are {'; '.join(said)}.",
            "The templates of a base have the same targets and fillers at all levels and differ in the level alone. Slope: "
            "change of accuracy per unit of the level, by least squares within bases. Interval and p (two-sided, slope 0): "
            "bases are samples of more. Chance is one half.",
        ),
        group="family",
    )


@table(
    inputs=[Input(Templates, "family_templates.parquet")],
    title="Levels of families",
    section="materials",
    caption="What the levels of a family have in common and in what they differ: length, and how far models of bare words get.",
    when=has_families,
)
def materials_families(templates: pd.DataFrame) -> Sheet:
    """A row per family and level: bases, domains, words of a context, and the accuracy of models of bare words.

    Args:
        templates: Templates, those of families.
    """
    lines = []
    for (family, level), rows in templates.groupby(["family", "level"], sort=True):
        n_words = [len(words(text)) for text in (*rows["context1"], *rows["context2"])]
        bare = bag_of_words(rows).set_index("domain").loc["all"]
        counts = (rows["base"].nunique(), rows["domain"].nunique(), sum(n_words) / len(n_words))
        lines.append((family, level, *counts, bare["shared_words"], bare["side_words"]))
    names = ["family", "level", "n_bases", "n_domains", "n_words", "shared_words", "side_words"]
    return Sheet(
        title="The levels of families: their number, length, and the accuracy of models of bare words.",
        frame=pd.DataFrame(lines, columns=names),
        columns=(
            Column("Family", ("family",), is_number=False, once=True),
            Column("Level", ("level",), whole_number),
            Column("Bases", ("n_bases",), whole_number),
            Column("Domains", ("n_domains",), whole_number),
            Column("Words of a context", ("n_words",), decimals(1)),
            Column("shared words", ("shared_words",), decimals(3), over="Accuracy from"),
            Column("sides' words", ("side_words",), decimals(3), over="Accuracy from"),
        ),
        label="materials_families",
        notes=(
            "Shared words: the context that has more words in common with the target. Sides' words: which words go with which "
            "side, learned from all other pairs of concepts. Chance is one half.",
        ),
        group="family",
    )
