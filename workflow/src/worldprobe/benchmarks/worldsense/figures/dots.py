"""A row per model, a mark per value: the paper's Figures 3, 4 and 5, readable with one model and with twenty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.worldsense.outputs import has_several_promptings, has_several_sets, is_asked
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    PROMPTINGS,
    SUMMARIES,
    interval_ends,
    main_promptings,
    main_set,
    of_main,
    pick,
    place,
    problems_of,
    prompting_name,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import SETS
from worldprobe.contracts.results import OVERALL
from worldprobe.report import style
from worldprobe.report.model_names import Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COLUMNS = ("panel", "model", "name", "family", "colour", "mark", "mean", "ci_low", "ci_high")
ACCURACY, BIAS, AMPLITUDE = "accuracy", "bias", "size of the bias"
#: Marks that differ in form and colour.
MARKS = ("o", "s", "^", "D", "v", "P")
MARK_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SET_NAMES = {"test-new": "new words", "ood-size": "six entities", "ood-query": "first, last", "ood-problem": "plane"}


@figure(
    name="worldsense_problems",
    inputs=[SUMMARIES],
    title="Accuracy and bias",
    section="problems",
    caption="Accuracy and response bias by problem with 95% intervals over skins. A bias of 1: always TRUE, "
    "POSSIBLE or KNOWN; of −1: always FALSE, IMPOSSIBLE or UNKNOWN. WorldSense, Figure 3.",
    when=is_asked,
)
def problems(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy and bias by problem (Figure 3)."""
    parts = []
    for measure in (ACCURACY, BIAS):
        rows = of_main(pick(summaries, "problem", measure, columns=("problem",)))
        parts.append(rows.assign(panel=measure, mark=rows["problem"]))
    rows = pd.concat(parts, ignore_index=True)
    order = {name: number for number, name in enumerate(problems_of(rows))}
    return _tidy(rows.sort_values("problem", key=lambda column: column.map(order), kind="stable"), roster)


@figure(
    name="worldsense_promptings",
    inputs=[SUMMARIES],
    title="Ways of asking",
    section="promptings",
    caption="Accuracy over all problems, and size of the response bias averaged over them, by way of asking, with 95% "
    "intervals over skins. WorldSense, Figure 4.",
    when=(is_asked, has_several_promptings),
)
def promptings(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy over all problems and mean size of the problems' biases, by prompting (Figure 4)."""
    name = main_set(summaries)
    accuracy = pick(summaries, OVERALL)
    rows = _with_amplitude(accuracy[accuracy["condition"] == name], summaries[summaries["condition"] == name])
    order = {name: place(PROMPTINGS, name) for name in rows["eval_type"]}
    rows = rows.sort_values("eval_type", key=lambda column: column.map(order), kind="stable")
    return _tidy(rows.assign(mark=rows["eval_type"].map(prompting_name)), roster)


@figure(
    name="worldsense_sets",
    inputs=[SUMMARIES],
    title="Sets",
    section="sets",
    caption="Accuracy and size of the response bias by set with 95% intervals over skins; the test set is split "
    "by whether the training sets have a skin's relation. WorldSense, Figure 5.",
    when=(is_asked, has_several_sets),
)
def sets(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy and size of the bias by set, the test set's skins split by whether the training sets have them (Figure 5)."""
    main = main_promptings(summaries)
    summaries = summaries[summaries["eval_type"] == summaries["model"].map(main)]
    by_training = pick(summaries, "intraining", columns=("intraining",))
    parts = by_training[by_training["condition"] == "test"]
    words = {"ind": "seen relations", "ood": "new relations"}
    parts = parts.assign(condition=[f"test, {words.get(name, name)}" for name in parts["intraining"]])
    rows = pd.concat([parts, pick(summaries, OVERALL).query("condition != 'test'")], ignore_index=True)
    rows = _with_amplitude(rows, summaries)
    rank = {name: place(SETS, name.partition(",")[0]) for name in rows["condition"]}
    rows = rows.sort_values("condition", key=lambda column: column.map(rank), kind="stable")
    return _tidy(rows.assign(mark=rows["condition"].map(lambda name: SET_NAMES.get(name, name))), roster)


def _with_amplitude(accuracy: pd.DataFrame, summaries: pd.DataFrame) -> pd.DataFrame:
    """Rows of accuracy and of the mean size of the problems' biases.

    Problems share skins, so their errors may add up: the ends are means of the problems' ends, the most that they can be. Where a
    problem's interval contains 0, the size of its bias may be 0.
    """
    bias = pick(summaries, "problem", BIAS)
    ends = interval_ends(bias)
    sizes = bias.assign(mean=bias["mean"].abs(), ci_high=ends.abs().max(axis=1, skipna=False))
    sizes["ci_low"] = ends.abs().min(axis=1, skipna=False).mask(ends["ci_low"] * ends["ci_high"] < 0, 0)
    means = sizes.groupby(["condition", "eval_type", "model"], sort=False)[["mean", "ci_low", "ci_high"]]
    amplitude = means.mean(skipna=False).reset_index()
    return pd.concat([accuracy.assign(panel=ACCURACY), amplitude.assign(panel=AMPLITUDE)], ignore_index=True)


def _tidy(rows: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    return style.with_identity(rows, roster)[list(COLUMNS)].reset_index(drop=True)


@problems.drawn_by
@promptings.drawn_by
@sets.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Two panels next to each other: accuracy, and bias or its size."""
    models = list(dict.fromkeys(frame["model"]))
    names = dict(zip(frame["model"], frame["name"], strict=True))
    marks = list(dict.fromkeys(frame["mark"]))
    size = style.BODY if width == "double" else style.SMALL
    shown = {model: style.shortened(names[model], size, 1.5) for model in models}
    left = style.widest(shown.values(), size) + 0.12
    tall = min(0.34, max(0.24, 4.8 / len(models))) * len(models) + 0.1
    columns = 3 if len(marks) > 4 or width == "single" else len(marks)
    foot = 0.26 + 0.14 * -(-(len(marks) + 1) // columns)
    figure, grid, _ = style.grid(width, 2, 2, tall, left, gap=0.2, foot=foot)
    place_of = {model: number for number, model in enumerate(models)}
    for number, (axes, panel) in enumerate(zip(grid, dict.fromkeys(frame["panel"]), strict=False)):
        rows, around = frame[frame["panel"] == panel], 0.5 if panel == ACCURACY else 0.0
        for row in range(0, len(models), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="#F4F4F4", lw=0, zorder=0.1)
        style.dash(axes, around)
        for nth, mark in enumerate(marks):
            here = rows[rows["mark"] == mark]
            y = here["model"].map(place_of).astype(float) + 0.72 * ((nth + 0.5) / len(marks) - 0.5)
            style.dots(axes, y, here, _colour(mark, nth), marker=_form(nth), size=13)
        style.panel_letter(axes, "AB"[number], title="  " + panel, size=size)
        style.name_rows(axes, [shown[model] for model in models], size, number == 0)
        axes.set_xlim(*style.fitting_limits(rows, ["mean", "ci_low", "ci_high"], around))
    handles = [style.mark(_form(n), _colour(mark, n), PROBLEM_NAMES.get(mark, mark)) for n, mark in enumerate(marks)]
    style.legend(figure, [*handles, style.chance_line("chance, no bias")], columns, size)
    return figure


def _form(number: int) -> str:
    return MARKS[number % len(MARKS)]


def _colour(mark: str, number: int) -> str:
    """The problems have a colour for each type, pale for the trivial control."""
    types = {"Infer": "#0072B2", "Consist": "#D55E00", "Compl": "#009E73"}
    kind, _, condition = mark.partition(".")
    if kind in types:
        return style.with_lightness(types[kind], 0.45) if condition == "trivial" else types[kind]
    return MARK_COLOURS[number % len(MARK_COLOURS)]
