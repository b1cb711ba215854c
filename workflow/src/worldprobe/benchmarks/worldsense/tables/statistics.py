"""Pairs of models, consistency across skins, and the paper's printed numbers next to ours."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.worldsense.published import SOURCE
from worldprobe.benchmarks.worldsense.selection import PROBLEM_NAMES, PROMPTINGS, main_set, of_main, pick, place, problems_of
from worldprobe.present.roster import Roster
from worldprobe.present.sheet import Column, Sheet, as_text, decimals, p_value, span, whole_number
from worldprobe.provenance import Provenance


def comparisons(table: pd.DataFrame, roster: Roster) -> Sheet:
    """Every pair of models, over all problems."""
    name = main_set(table) if len(table) else ""
    rows = table[(table["problem"] == "all") & (table["set"] == name)]
    order = {model: number for number, model in enumerate(roster.in_order([*table["model_a"], *table["model_b"]]))}
    rank = [
        (place(PROMPTINGS, prompting), order[a], order[b])
        for prompting, a, b in zip(rows["prompting"], rows["model_a"], rows["model_b"], strict=True)
    ]
    rows = rows.iloc[sorted(range(len(rows)), key=lambda number: rank[number])].reset_index(drop=True)
    frame = rows.assign(name_a=[roster[m].name for m in rows["model_a"]], name_b=[roster[m].name for m in rows["model_b"]])
    return Sheet(
        title=f"WorldSense ({name}): pairs of models, compared tuple by tuple.",
        frame=frame,
        columns=(
            Column("Prompting", ("prompting",), as_text, is_number=False, once=True),
            Column("Model A", ("name_a",), is_number=False, once=True),
            Column("Model B", ("name_b",), is_number=False),
            Column("A", ("mean_a",), decimals(3)),
            Column("B", ("mean_b",), decimals(3)),
            Column("A − B", ("difference",), decimals(3)),
            Column("95% interval", ("ci_low", "ci_high"), span),
            Column("p (Holm)", ("p_corrected",), p_value),
            Column("Tuples", ("n_tuples",), whole_number),
        ),
        label="worldsense-comparisons",
        notes=("Bootstrap interval over tuples, and a paired test that flips the signs of tuples.",),
        group="prompting",
    )


def consistency(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """How often one abstract problem gets the same answer in different skins, beyond chance, by problem."""
    if not (summaries["measure"] == "consistency").any():  # trials in the words of one skin, for example
        return _no_consistency(of_main(pick(summaries, "all")), roster)
    rows = of_main(pick(summaries, "problem", "consistency", columns=("problem",)))
    average = of_main(pick(summaries, "all", "consistency")).set_index("model")["mean"]
    names = problems_of(rows)
    wide = rows.pivot(index="model", columns="problem", values="mean").reindex(columns=names)
    frame = wide.loc[roster.in_order(wide.index)].reset_index()
    frame.insert(1, "name", [roster[model].name for model in frame["model"]])
    frame["average"] = frame["model"].map(average)
    return Sheet(
        title=f"WorldSense ({main_set(rows)}): consistency across skins.",
        frame=frame,
        columns=(
            Column("Model", ("name",), is_number=False),
            *(Column(PROBLEM_NAMES[name], (name,), decimals(2)) for name in names),
            Column("Average", ("average",), decimals(2)),
        ),
        label="worldsense-consistency",
        notes=(
            "Agreement of the answers to one abstract problem in two skins, beyond that of a model that gives the same answers "
            "as often but whatever the question: 0 is chance, 1 is always. It needs no gold answer.",
        ),
    )


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
        title="WorldSense: every number that the paper's tables print, next to that of this run.",
        frame=frame,
        columns=(
            Column("Table", ("table",), lambda name: str(name).removeprefix("table"), is_number=False, once=True),
            Column("Model", ("model",), is_number=False, once=True),
            Column("Prompting", ("prompting",), is_number=False, once=True),
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
        group="table",
        hidden=("shown",),
        printed=tuple(table.index[compared]) if compared.any() else tuple(table.index[:0]),
    )
