"""Agreement across skins, and accuracy by depth, skin and the places asked about: beside the
WorldSense paper's tables and figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Study, figure, table
from worldprobe.benchmarks.worldsense import selection
from worldprobe.benchmarks.worldsense.figures import by_axis
from worldprobe.benchmarks.worldsense.outputs import asked_sets, has_any, is_asked, main_set
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    SUMMARIES,
    language_models,
    of_main,
    pick,
    present_problems,
    sorted_by,
)
from worldprobe.benchmarks.worldsense.skins import vocabulary
from worldprobe.benchmarks.worldsense.skins.skins import TEST_SKINS
from worldprobe.benchmarks.worldsense.tables import problem_column
from worldprobe.contracts.results import OVERALL
from worldprobe.errors import TooLittleError, UserError
from worldprobe.report import style
from worldprobe.report.lines import draw_lines
from worldprobe.report.model_names import Roster, sort_by
from worldprobe.report.sheet import (
    INTERVAL,
    MODEL,
    MODEL_ONCE,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    span,
    text_column,
    whole_number,
)
from worldprobe_lab.problem_families import HARD
from worldprobe_lab.setups import map_around_chance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def has_normal_problems(study: Study) -> bool:
    """Whether the main set has a problem that needs a world in mind."""
    return has_any(
        study,
        main_set(asked_sets(study)),
        (*vocabulary.NORMAL, *HARD.problems, "Infer.extrema", "Infer.parallel"),
    )


def has_places(study: Study) -> bool:
    """Whether questions of the main set are about two places in a line."""
    return has_any(study, main_set(asked_sets(study)), ("Infer.normal", "Consist.normal"))


@figure(
    name="worldsense_depth",
    inputs=[SUMMARIES],
    title="Depth and open worlds",
    section="difficulty",
    caption=(
        "Accuracy by the fewest relations that decide a trial, and by the number of worlds that the"
        " description leaves open, with 95% intervals over skins, each alone; grey: rules, and of"
        " more than six models those nowhere shown to differ from chance."
    ),
    when=(is_asked, has_normal_problems),
)
def depth(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """By relations that must be combined, for the normal problems, and by worlds left open.

    Raises:
        UserError: the set has none of these problems.
    """
    rows = of_main(pick(summaries, "problem_depth", columns=("problem", "depth")))
    by_depth = rows.assign(
        panel=rows["problem"].map(PROBLEM_NAMES),
        axis="relations to combine",
        x=rows["depth"].astype(int),
    )
    normal = [
        "Infer.normal",
        "Consist.normal",
        "Compl.normal",
        "Infer.extrema",
        "Infer.parallel",
        *HARD.problems,
    ]
    by_depth = by_depth[by_depth["problem"].isin(normal)]
    by_depth = sort_by(by_depth, "problem", normal)
    worlds = of_main(pick(summaries, "problem_worlds", columns=("problem", "worlds")))
    worlds = worlds[worlds["problem"] == "Compl.normal"]
    by_worlds = worlds.assign(
        panel=PROBLEM_NAMES["Compl.normal"], axis="worlds left open", x=worlds["worlds"].astype(int)
    )
    both = pd.concat([by_depth, by_worlds], ignore_index=True)
    if both.empty:
        raise UserError(
            "summaries",
            "contain no normal problem.",
            "Add one to the study, or leave this figure out.",
        )
    return by_axis(both, roster)


depth.drawn_by(draw_lines)

#: Short headings of the problems.
HEADINGS = {name: title.replace(", ", ",\n") for name, title in PROBLEM_NAMES.items()}


#: Tuples of a cell, on average, from which on its colour says more than luck.
FEWEST_TUPLES = 8


def _refuse_few(rows: pd.DataFrame, cell: str) -> None:
    """Refuse cells that are of few tuples on average."""
    mean = float(rows["n"].mean()) if len(rows) else 0.0
    if len(rows) and mean < FEWEST_TUPLES:
        problem = (
            f"each {cell} has {mean:.1f} tuples on average, of which the mean is mostly luck"
            f" (at least: {FEWEST_TUPLES})."
        )
        raise TooLittleError("summaries", problem, "Ask about more trials.")


@figure(
    name="worldsense_skins",
    inputs=[SUMMARIES],
    title="Skins by problem",
    section="skins",
    caption="Accuracy by skin and problem, averaged over models. White is chance.",
    when=is_asked,
)
def skins(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy by skin and problem, the mean over models; rules of known behaviour stay out where
    there are others.

    Raises:
        TooLittleError: a cell is of few tuples.
    """
    rows = of_main(pick(summaries, "problem_skin", columns=("problem", "skin")))
    rows = rows[rows["model"].isin(language_models(list(rows["model"].unique()), roster))]
    _refuse_few(rows, "skin and problem")
    means = (
        rows.groupby(["skin", "problem"], sort=False)["mean"].agg(["mean", "count"]).reset_index()
    )
    skins = sorted(
        set(means["skin"]),
        key=lambda name: (TEST_SKINS.index(name) if name in TEST_SKINS else 99, name),
    )
    problems = present_problems(means)
    ranks = [
        (skins.index(s), problems.index(p))
        for s, p in zip(means["skin"], means["problem"], strict=True)
    ]
    return sorted_by(means, ranks).rename(columns={"count": "n_models"})


@skins.drawn_by
def draw_skins(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Numbers on colours."""
    skins, problems = list(dict.fromkeys(frame["skin"])), present_problems(frame)
    wide = frame.pivot(index="skin", columns="problem", values="mean")
    matrix = wide.reindex(index=skins, columns=problems).rename(columns=HEADINGS)
    matrix.index = matrix.index.str.replace("_", ", ")
    return map_around_chance(matrix, width, 0.16, 0.36)[0]


@figure(
    name="worldsense_places",
    inputs=[SUMMARIES],
    title="Places asked about",
    section="difficulty",
    caption=(
        "Accuracy of binary questions by the two places in the line that they ask about (1: the"
        " first), averaged over models."
    ),
    when=(is_asked, has_places),
)
def places(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy by problem, size and the two places that are asked about, the mean over models.

    Raises:
        UserError: no question is about two places.
        TooLittleError: a cell is of few tuples.
    """
    rows = of_main(pick(summaries, "problem_size_places", columns=("problem", "size", "places")))
    rows = rows[rows["model"].isin(language_models(list(rows["model"].unique()), roster))]
    rows = rows[rows["problem"].isin(("Infer.normal", "Consist.normal"))]
    if rows.empty:
        raise UserError("summaries", "no question asks about two places.", "Leave this figure out.")
    _refuse_few(rows, "pair of places")
    means = (
        rows.groupby(["problem", "size", "places"], sort=True)["mean"]
        .agg(["mean", "count"])
        .reset_index()
    )
    entities = means["places"].str.split("-", expand=True).astype(int)
    means = means.assign(
        first=entities[0], second=entities[1], wrong=1 - means["mean"], n_models=means["count"]
    )
    order = {name: number for number, name in enumerate(present_problems(means))}
    means = means.sort_values(
        ["problem", "size"], key=lambda c: c.map(order) if c.name == "problem" else c, kind="stable"
    )
    return (
        means[["problem", "size", "first", "second", "wrong", "n_models"]]
        .astype({"size": int})
        .reset_index(drop=True)
    )


@places.drawn_by
def draw_places(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A triangle for each problem and size: accuracy of questions about each pair of places."""
    panels = list(dict.fromkeys(zip(frame["problem"], frame["size"], strict=True)))
    most = int(frame["size"].max()) - 2
    width = width if len(panels) > 3 else "single"
    size = style.label_size(width)
    columns = min(len(panels), 6 if width == "double" else 3)
    tall = min(0.3 * most, (style.WIDTHS[width] - 0.5) / columns - 0.3)
    figure, grid, _ = style.grid(
        width, len(panels), columns, tall, 0.42, gap=0.3, head=0.68, foot=0.36, top=0.5
    )
    for number, (axes, (problem, entities)) in enumerate(zip(grid, panels, strict=True)):
        here = frame[(frame["problem"] == problem) & (frame["size"] == entities)]
        matrix = 1 - here.pivot(index="first", columns="second", values="wrong")
        style.draw_matrix(axes, matrix, size, style.numbers(matrix))
        axes.set_title(f"{PROBLEM_NAMES[problem]},\n{entities} entities", fontsize=size, pad=4)
        axes.set_xlabel("second place", fontsize=size)
        if number % columns == 0:
            axes.set_ylabel("first place", fontsize=size)
    style.corner_note(figure, f"{style.AROUND_CHANCE_WORDS}, grey: not asked", size)
    return figure


@table(
    name="worldsense_consistency",
    inputs=[selection.SUMMARIES],
    title="Agreement across skins",
    section="skins",
    caption=(
        "How often a model gives the same answer to one abstract trial in two skins, corrected for"
        " chance, and how much of that its accuracy explains."
    ),
    when=is_asked,
)
def consistency(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """How often a model gives the same answer to one abstract trial in two skins, corrected for
    chance, and how much of that its accuracy explains.
    """
    from worldprobe_lab.consistency import FEWEST

    if not (
        summaries["metric"] == "consistency"
    ).any():  # trials in the words of one skin, for example
        return _no_consistency(selection.of_main(selection.pick(summaries, OVERALL)), roster)
    rows, explained = (
        pd.concat(
            [
                selection.of_main(selection.pick(summaries, grouping, metric))
                for grouping in ("problem", OVERALL)
            ],
            ignore_index=True,
        )
        for metric in ("consistency", "explained")
    )
    frame = rows.merge(
        explained[["model", "group", "mean", "ci_low", "ci_high"]],
        on=["model", "group"],
        suffixes=("", "_explained"),
    )
    problems = [*selection.PROBLEM_NAMES, "all"]
    models = roster.in_order(frame["model"])
    ranks = [
        (models.index(model), problems.index(group))
        for model, group in zip(frame["model"], frame["group"], strict=True)
    ]
    frame = selection.sorted_by(frame, ranks)
    frame["name"] = roster.names(frame["model"])
    return Sheet(
        title=f"WorldSense ({selection.main_set(rows)}): agreement across skins.",
        frame=frame,
        columns=(
            MODEL_ONCE,
            problem_column("group", once=False),
            number_column("Abstract trials", "n", whole_number),
            number_column("Agreement", "mean", decimals(2)),
            INTERVAL,
            number_column("From accuracy", "mean_explained", decimals(2)),
            SheetColumn("95% of draws", ("ci_low_explained", "ci_high_explained"), span),
            text_column("", "status", lambda status: _WHY_NOT.get(str(status), "")),
        ),
        notes=(
            "Agreement is corrected for chance (Scott's pi): 0 is chance, 1 is always. Invalid"
            " answers never agree. The interval is over skins or abstract trials, whichever is"
            " wider.",
            "From accuracy: the same after answers were exchanged at random within a problem,"
            " size, complexity, query form and gold answer. An agreement within 95% of these"
            " draws only reflects higher accuracy in some kinds of trials.",
            f"Needs {FEWEST} abstract trials in several skins; an average needs all problems.",
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
    """The models without a number; nothing of them is printed."""
    models = roster.in_order(overall["model"])
    return Sheet(
        title=f"WorldSense ({selection.main_set(overall)}): agreement across skins.",
        frame=pd.DataFrame(
            {
                "model": models,
                "name": roster.names(models),
                "average": float("nan"),
            }
        ),
        columns=(MODEL,),
        printed=(),
        notes=("No abstract problem occurs in more than one skin.",),
    )
