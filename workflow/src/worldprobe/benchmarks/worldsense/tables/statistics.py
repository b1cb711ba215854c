"""Pairs of models, consistency across skins, and the paper's printed numbers next to ours."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.worldsense.analysis.reproduction import SOURCE
from worldprobe.benchmarks.worldsense.contracts import Comparisons, Reproduction
from worldprobe.benchmarks.worldsense.outputs import has_pairs, is_asked
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    PROMPTINGS,
    SUMMARIES,
    main_set,
    of_main,
    pick,
    place,
    sorted_by,
)
from worldprobe.contracts.results import OVERALL
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import Column, Sheet, as_text, decimals, p_value, span, whole_number


@table(
    name="worldsense_comparisons",
    inputs=[Input(Comparisons, name="comparisons")],
    title="Pairs of models",
    section="pairs",
    caption="Each pair of models: the difference of their accuracies on the same tuples, with interval and p over skins and "
    "abstract problems, and Holm's correction; pairs with a rule are corrected apart.",
    when=(is_asked, has_pairs),
)
def comparisons(table: pd.DataFrame, roster: Roster) -> Sheet:
    """Every pair of models, over all problems."""
    table = table.rename(columns={"condition_a": "condition"})
    name = main_set(table) if len(table) else ""
    rows = table[(table["grouping"] == OVERALL) & (table["condition"] == name)]
    order = {model: number for number, model in enumerate(roster.in_order([*table["model_a"], *table["model_b"]]))}
    rank = [
        (place(PROMPTINGS, prompting), order[a], order[b])
        for prompting, a, b in zip(rows["eval_type"], rows["model_a"], rows["model_b"], strict=True)
    ]
    rows = sorted_by(rows, rank)
    frame = rows.assign(name_a=[roster[m].name for m in rows["model_a"]], name_b=[roster[m].name for m in rows["model_b"]])
    return Sheet(
        title=f"WorldSense ({name}): pairs of models on the same tuples.",
        frame=frame,
        columns=(
            Column("Prompting", ("eval_type",), as_text, is_number=False, once=True),
            Column("Model A", ("name_a",), is_number=False, once=True),
            Column("Model B", ("name_b",), is_number=False),
            Column("A", ("mean_a",), decimals(3)),
            Column("B", ("mean_b",), decimals(3)),
            Column("A − B", ("difference",), decimals(3)),
            Column("95% interval", ("ci_low", "ci_high"), span),
            Column("p (Holm)", ("p_holm",), p_value),
            Column("Found in 80%", ("detectable",), decimals(3)),
            Column("Skins", ("n_clusters",), whole_number),
            Column("Tuples", ("n",), whole_number),
        ),
        label="worldsense-comparisons",
        notes=(
            "Interval and p are for other skins and abstract problems than these: Student's t of the differences between skins, "
            "with one degree of freedom less than skins. A model that is better in these skins need not be so in others. "
            "Found in 80%: the smallest true difference for which p is below 0.05 in 80% of such samples.",
        ),
        group="eval_type",
    )


@table(
    name="worldsense_consistency",
    inputs=[SUMMARIES],
    title="Consistency across skins",
    section="skins",
    caption="How often one abstract problem gets the same answer in different skins, beyond chance, and what accuracy "
    "explains of it.",
    when=is_asked,
)
def consistency(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """How often one abstract problem gets the same answer in different skins, beyond chance, and what accuracy explains of it."""
    from worldprobe.benchmarks.worldsense.analysis.consistency import FEWEST

    if not (summaries["metric"] == "consistency").any():  # trials in the words of one skin, for example
        return _no_consistency(of_main(pick(summaries, OVERALL)), roster)
    rows, explained = (
        pd.concat([of_main(pick(summaries, grouping, metric)) for grouping in ("problem", OVERALL)], ignore_index=True)
        for metric in ("consistency", "explained")
    )
    frame = rows.merge(
        explained[["model", "group", "mean", "ci_low", "ci_high"]], on=["model", "group"], suffixes=("", "_explained")
    )
    problems = [*PROBLEM_NAMES, "all"]
    models = roster.in_order(frame["model"])
    ranks = [(models.index(model), problems.index(group)) for model, group in zip(frame["model"], frame["group"], strict=True)]
    frame = sorted_by(frame, ranks)
    frame["name"] = [roster[model].name for model in frame["model"]]
    return Sheet(
        title=f"WorldSense ({main_set(rows)}): consistency across skins.",
        frame=frame,
        columns=(
            Column("Model", ("name",), is_number=False, once=True),
            Column("Problem", ("group",), lambda name: PROBLEM_NAMES.get(str(name), "Average"), is_number=False),
            Column("Abstract trials", ("n",), whole_number),
            Column("Consistency", ("mean",), decimals(2)),
            Column("95% interval", ("ci_low", "ci_high"), span),
            Column("From accuracy", ("mean_explained",), decimals(2)),
            Column("95% of draws", ("ci_low_explained", "ci_high_explained"), span),
            Column("", ("status",), lambda status: _WHY_NOT.get(str(status), ""), is_number=False),
        ),
        label="worldsense-consistency",
        notes=(
            "Agreement of the answers to one abstract problem in two skins, beyond that of answers as frequent in the same "
            "pairs, whatever the question: 0 is chance, 1 is always. It needs no gold answer; invalid answers never agree. The "
            "interval is over skins or abstract trials, whichever is wider.",
            "From accuracy: the same after answers within a problem, size, complexity, query form and gold answer were exchanged "
            "at random. A consistency within 95% of these draws is no more than being right more often in some kinds of trials.",
            f"At least {FEWEST} abstract trials in several skins are needed; an average has all problems or is missing.",
        ),
        group="name",
    )


_WHY_NOT = {
    "too_few_pairs": "too few pairs",
    "one_answer": "one answer throughout",
    "missing_problem": "a problem is missing",
    "one_cluster": "one skin",
    "no_spread": "all skins alike",
}


def _no_consistency(overall: pd.DataFrame, roster: Roster) -> Sheet:
    """The models without a number, and why."""
    models = roster.in_order(overall["model"])
    return Sheet(
        title=f"WorldSense ({main_set(overall)}): consistency across skins.",
        frame=pd.DataFrame({"model": models, "name": [roster[model].name for model in models], "average": float("nan")}),
        columns=(Column("Model", ("name",), is_number=False), Column("Average", ("average",), decimals(2))),
        label="worldsense-consistency",
        notes=("No abstract problem occurs in more than one skin, so there is nothing to compare.",),
    )


@table(
    name="worldsense_reproduction",
    inputs=[Input(Reproduction, name="reproduction")],
    title="Published numbers",
    section="published",
    caption="The numbers that the WorldSense paper prints in tables and text, next to those of this run.",
    when=is_asked,
)
def reproduction(table: pd.DataFrame, provenance: Provenance, roster: Roster) -> Sheet:
    """Every printed number next to ours."""
    known = {
        "within_rounding": "equal as printed",
        "differs": "differs",
        "not_run": "not run",
        "not_comparable": "not comparable",
    }
    frame = table.assign(shown=table["status"].map(known))
    compared = table["status"].isin(["within_rounding", "differs"])
    return Sheet(
        title="WorldSense: every number that the paper prints in tables and text, next to that of this run.",
        frame=frame,
        columns=(
            Column("Table", ("block",), lambda name: str(name).removeprefix("table"), is_number=False, once=True),
            Column("Model", ("model",), is_number=False, once=True),
            Column("Prompting", ("eval_type",), is_number=False, once=True),
            Column("Group", ("group",), is_number=False),
            Column("Quantity", ("quantity",), is_number=False),
            Column("Paper", ("printed",)),
            Column("Ours", ("ours_printed",)),
            Column("", ("shown",), is_number=False),
        ),
        label="worldsense-reproduction",
        notes=(
            str(provenance.details.get("summary", "")),
            f"Source: {SOURCE}. Only numbers of models that were run are printed.",
        ),
        group="block",
        hidden=("shown",),
        printed=tuple(table.index[compared]) if compared.any() else tuple(table.index[:0]),
    )
