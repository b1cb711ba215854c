"""WorldSense's figures: the paper's Figures 3 to 6, readable with one model and with twenty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.worldsense import outputs
from worldprobe.benchmarks.worldsense.selection import (
    PROMPTINGS,
    SUMMARIES,
    main_promptings,
    main_set,
    of_main,
    pick,
    present_problems,
    prompting_name,
    rank_of_name,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import SETS
from worldprobe.contracts.results import OVERALL
from worldprobe.report import style
from worldprobe.report.lines import draw_lines
from worldprobe.report.model_names import Roster, sort_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("panel", "model", "name", "family", "colour", "mark", "mean", "ci_low", "ci_high")
ACCURACY, BIAS, AMPLITUDE = "accuracy", "bias", "size of the bias"
SET_NAMES = {
    "test-new": "new words",
    "ood-size": "six entities",
    "ood-query": "first, last",
    "ood-problem": "plane",
}


@figure(
    name="worldsense_problems",
    inputs=[SUMMARIES],
    title="Accuracy and bias",
    section="problems",
    caption=(
        "Accuracy and response bias by problem, with 95% intervals over skins, each alone; grey:"
        " rules. A bias of 1: always TRUE, POSSIBLE or KNOWN; of −1: always FALSE, IMPOSSIBLE or"
        " UNKNOWN. Like Figure 3 of the WorldSense paper."
    ),
    when=outputs.is_asked,
)
def problems(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy and bias by problem (Figure 3)."""
    parts = []
    for measure in (ACCURACY, BIAS):
        rows = of_main(pick(summaries, "problem", measure, columns=("problem",)))
        parts.append(rows.assign(panel=measure, mark=rows["problem"]))
    rows = pd.concat(parts, ignore_index=True)
    return _tidy(sort_by(rows, "problem", present_problems(rows)), roster)


@figure(
    name="worldsense_promptings",
    inputs=[SUMMARIES],
    title="Ways of asking",
    section="promptings",
    caption=(
        "Accuracy, and mean size of the response bias, by way of asking, with 95% intervals over"
        " skins; paler: ways that other figures do not show, often of a sample. Like Figure 4 of"
        " the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_several_promptings),
)
def promptings(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy over all problems and mean size of the problems' biases, by prompting (Figure 4)."""
    name = main_set(summaries)
    accuracy = pick(summaries, OVERALL)
    rows = _with_amplitude(
        accuracy[accuracy["condition"] == name], summaries[summaries["condition"] == name]
    )
    order = {name: rank_of_name(PROMPTINGS, name) for name in rows["eval_type"]}
    rows = rows.sort_values("eval_type", key=lambda column: column.map(order), kind="stable")
    main = rows["model"].map(main_promptings(accuracy[accuracy["condition"] == name]))
    rows = rows.assign(
        mark=rows["eval_type"].map(prompting_name), is_main=(rows["eval_type"] == main).astype(str)
    )
    return _tidy(rows, roster, "is_main")


@figure(
    name="worldsense_sets",
    inputs=[SUMMARIES],
    title="Sets",
    section="sets",
    caption=(
        "Accuracy, and mean size of the response bias, by set, with 95% intervals over skins; the"
        " test set is split into relations seen in the training sets and new ones."
        " Like Figure 5 of the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_several_sets),
)
def sets(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy and size of the bias by set, the test set's skins split by whether the training sets
    have them (Figure 5).
    """
    main = main_promptings(summaries)
    summaries = summaries[summaries["eval_type"] == summaries["model"].map(main)]
    by_training = pick(summaries, "intraining", columns=("intraining",))
    parts = by_training[by_training["condition"] == "test"]
    words = {"ind": "seen relations", "ood": "new relations"}
    parts = parts.assign(
        condition=[f"test, {words.get(name, name)}" for name in parts["intraining"]]
    )
    rows = pd.concat(
        [parts, pick(summaries, OVERALL).query("condition != 'test'")], ignore_index=True
    )
    rows = _with_amplitude(rows, summaries)
    rank = {name: rank_of_name(SETS, name.partition(",")[0]) for name in rows["condition"]}
    rows = rows.sort_values("condition", key=lambda column: column.map(rank), kind="stable")
    return _tidy(
        rows.assign(mark=rows["condition"].map(lambda name: SET_NAMES.get(name, name))), roster
    )


def _with_amplitude(accuracy: pd.DataFrame, summaries: pd.DataFrame) -> pd.DataFrame:
    """Rows of accuracy and of the mean size of the problems' biases.

    Problems share skins, so their errors may add up: the ends are means of the problems' ends, the
    most that they can be. Where a problem's interval contains 0, the size of its bias may be 0.
    """
    bias = pick(summaries, "problem", BIAS)
    ends = bias[["ci_low", "ci_high"]]
    sizes = bias.assign(mean=bias["mean"].abs(), ci_high=ends.abs().max(axis=1, skipna=False))
    sizes["ci_low"] = (
        ends.abs().min(axis=1, skipna=False).mask(ends["ci_low"] * ends["ci_high"] < 0, 0)
    )
    means = sizes.groupby(["condition", "eval_type", "model"], sort=False)[
        ["mean", "ci_low", "ci_high"]
    ]
    amplitude = means.mean(skipna=False).reset_index()
    return pd.concat(
        [accuracy.assign(panel=ACCURACY), amplitude.assign(panel=AMPLITUDE)], ignore_index=True
    )


def _tidy(rows: pd.DataFrame, roster: Roster, *more: str) -> pd.DataFrame:
    return style.with_identity(rows, roster)[[*COLUMNS, *more]].reset_index(drop=True)


@problems.drawn_by
def draw_problems(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A panel for each kind of problem and measure, a line per model: filled marks for normal
    problems, open ones for their trivial variants; rules are grey, and what is no rule is bold.
    """
    models = list(dict.fromkeys(frame["model"]))
    names = style.names(frame)
    parts = frame["mark"].str.split(".", expand=True)
    frame = frame.assign(kind=parts[0], condition=parts[1], is_rule=style.are_rules(frame))
    kinds = list(dict.fromkeys(frame["kind"]))
    conditions = sorted(set(frame["condition"]), key=lambda name: (name != "trivial", name))
    size = style.label_size(width)
    shown = {model: style.shortened(names[model], size, 1.5) for model in models}
    left = 1.06 * style.widest(shown.values(), size) + 0.12
    tall = min(0.22, max(0.17, 3.6 / len(models))) * len(models) + 0.06
    columns = 2 * len(kinds) if width == "double" else len(kinds)
    figure, grid, _ = style.grid(
        width, 2 * len(kinds), columns, tall, left, gap=0.14, head=0.5, foot=0.64, top=0.22
    )
    panels = [(measure, kind) for measure in (ACCURACY, BIAS) for kind in kinds]
    for number, (axes, (measure, kind)) in enumerate(zip(grid, panels, strict=True)):
        rows = frame[(frame["panel"] == measure) & (frame["kind"] == kind)]
        chance = 0.5 if measure == ACCURACY else 0.0
        style.dash(axes, chance)
        for nth, condition in enumerate(conditions):
            here = rows[rows["condition"] == condition]
            y = here["model"].map(models.index).astype(float) + 0.5 * (
                (nth + 0.5) / len(conditions) - 0.5
            )
            for is_rule, dot, lw in ((True, 9, 0.6), (False, 18, 1.4)):
                part = here[here["is_rule"] == is_rule]
                if part.empty:
                    continue
                colours = part["colour"].tolist()
                faces = ["white"] * len(part) if condition == "trivial" else colours
                look: dict[str, Any] = {"marker": style.shape(nth), "size": dot, "lw": lw}
                style.dots(axes, y[part.index], part, colours, faces=faces, **look)
        style.name_rows(axes, [shown[model] for model in models], size, number % columns == 0)
        _bold_models(axes, models, frame)
        axes.set_xlim(*((-0.05, 1.05) if measure == ACCURACY else (-1.1, 1.1)))
        axes.set_xticks([0, 0.5, 1] if measure == ACCURACY else [-1, 0, 1])
        axes.tick_params(axis="x", labelsize=size)
        axes.set_title(KINDS.get(kind, kind), fontsize=size)
        axes.set_xlabel(measure, fontsize=size)
    handles = [
        style.mark(
            style.shape(nth),
            "white" if condition == "trivial" else style.SOFT_INK,
            CONDITIONS.get(condition, condition),
            mec=style.SOFT_INK,
        )
        for nth, condition in enumerate(conditions)
    ]
    grey = [style.mark("o", style.RULE_COLOUR, "rule")] * bool(frame["is_rule"].any())
    style.legend(
        figure,
        [*handles, *grey, *style.hollow(frame), style.chance_line("chance, no bias")],
        4 if width == "double" else 2,
        size,
    )
    return figure


def _bold_models(axes: Axes, models: Sequence[str], frame: pd.DataFrame) -> None:
    """Names of what is no rule stand out: they have the column ``is_rule``."""
    rules = set(frame.loc[frame["is_rule"], "model"])
    for label, model in zip(axes.get_yticklabels(), models, strict=False):
        label.set_fontweight("normal" if model in rules else "bold")


#: Kinds and conditions of problems, in words.
KINDS = {"Infer": "Inference", "Consist": "Consistency", "Compl": "Completeness"}
CONDITIONS = {"normal": "problem", "trivial": "its trivial variant"}


def _shades(marks: Sequence[str], main: str) -> dict[str, float]:
    """How much lighter each way of asking, or set, is than the colour of its model: the main one is
    not.

    >>> _shades(["basic", "constrained"], "constrained")
    {'constrained': 0.0, 'basic': 0.55}
    """
    order = [main, *(mark for mark in marks if mark != main)]
    return {mark: 0.55 * nth / max(len(marks) - 1, 1) for nth, mark in enumerate(order)}


@promptings.drawn_by
def draw_promptings(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The way of asking by which models are shown elsewhere in full colour, others paler."""
    shown = frame.loc[frame["is_main"] == "True", "mark"]
    return draw_dots(frame, width, str(shown.mode().iloc[0]))


@sets.drawn_by
def draw_dots(frame: pd.DataFrame, width: str = "double", main: str = "") -> Figure:
    """Two panels next to each other: accuracy, and size of the bias; rules are thin and grey, and
    what is no rule is bold.

    Args:
        frame: the tidy table.
        width: "single" or "double".
        main: mark in full colour; the first by default.
    """
    models = list(dict.fromkeys(frame["model"]))
    names = style.names(frame)
    marks = list(dict.fromkeys(frame["mark"]))
    frame = frame.assign(is_rule=style.are_rules(frame))
    size = style.label_size(width)
    shown = {model: style.shortened(names[model], size, 1.5) for model in models}
    left = 1.06 * style.widest(shown.values(), size) + 0.12
    tall = min(0.34, max(0.24, 4.8 / len(models))) * len(models) + 0.1
    columns = 3 if len(marks) > 4 or width == "single" else len(marks)
    foot = 0.26 + 0.14 * -(-(len(marks) + 1) // columns)
    figure, grid, _ = style.grid(width, 2, 2, tall, left, gap=0.2, foot=foot)
    shades = _shades(marks, main or marks[0])
    for number, (axes, panel) in enumerate(zip(grid, dict.fromkeys(frame["panel"]), strict=False)):
        rows, around = frame[frame["panel"] == panel], 0.5 if panel == ACCURACY else 0.0
        for row in range(0, len(models), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="#F4F4F4", lw=0, zorder=0.1)
        style.dash(axes, around)
        for nth, mark in enumerate(marks):
            here = rows[rows["mark"] == mark]
            y = here["model"].map(models.index).astype(float) + 0.72 * (
                (nth + 0.5) / len(marks) - 0.5
            )
            for is_rule, dot, lw in ((True, 9, 0.6), (False, 16, 1.2)):
                part = here[here["is_rule"] == is_rule]
                colours = [style.with_lightness(one, shades[mark]) for one in part["colour"]]
                look: dict[str, Any] = {"marker": style.shape(nth), "size": dot, "lw": lw}
                if len(part):
                    style.dots(axes, y[part.index], part, colours, **look)
        style.panel_letter(axes, "AB"[number], title="  " + panel, size=size)
        style.name_rows(axes, [shown[model] for model in models], size, number == 0)
        _bold_models(axes, models, frame)
        axes.set_xlim(*style.fitting_limits(rows, ["mean", "ci_low", "ci_high"], around))
    handles = [
        style.mark(style.shape(n), style.with_lightness(style.SOFT_INK, shades[mark]), mark)
        for n, mark in enumerate(marks)
    ]
    handles += [style.mark("o", style.RULE_COLOUR, "rule")] * bool(frame["is_rule"].any())
    handles += [*style.hollow(frame), style.chance_line("chance, no bias")]
    style.legend(figure, handles, max(columns, -(-len(handles) // 2)), size)
    return figure


AXIS_COLUMNS = (
    "panel",
    "axis",
    "model",
    "name",
    "family",
    "colour",
    "x",
    "mean",
    "ci_low",
    "ci_high",
    "n",
)
MORE = 2


@figure(
    name="worldsense_size",
    inputs=[SUMMARIES],
    title="Size and complexity",
    section="difficulty",
    caption=(
        "Accuracy by number of entities and of ternary relations (of description and query), for"
        " normal problems and their trivial variants, with 95% intervals over skins, each alone;"
        " grey: rules, and of more than six models those nowhere shown to differ from chance; an"
        " axis with one value is left out. Like Figure 6 of the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_controls),
)
def size(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """By number of entities and of ternary relations, normal problems and their trivial variants
    apart (Figure 6).
    """
    parts = []
    for grouping, column, axis in (
        ("variant_size", "size", "entities"),
        ("variant_ternary", "ternary", "ternary relations"),
    ):
        rows = of_main(pick(summaries, grouping, columns=("variant", column)))
        parts.append(
            rows.assign(panel=rows["variant"] + " problems", axis=axis, x=rows[column].astype(int))
        )
    return by_axis(pd.concat(parts, ignore_index=True), roster)


def by_axis(rows: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Rows of ``panel``, ``axis`` and ``x`` as ``draw_lines`` draws them."""
    rows = rows.assign(order=pd.factorize(rows["panel"] + rows["axis"])[0])
    named = style.with_identity(rows, roster).sort_values(["order"], kind="stable")
    return named[list(AXIS_COLUMNS)].reset_index(drop=True)


@size.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A panel for each problem and axis."""
    figure = draw_lines(frame, width)
    for axes in figure.axes:
        if axes.get_xlabel() == "ternary relations":
            axes.set_xticks([0, 1, MORE], ["0", "1", "2 or more"])
    return figure
