"""Displays of how control models answer about what they had read: the files of a study, table and
figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.benchmark import Registry, Section, Study, figure, table
from worldprobe.benchmarks.ewok.outputs import judgements
from worldprobe.benchmarks.ewok.study import has_logprobs, is_released
from worldprobe.benchmarks.ewok.vocabulary import TARGET_CONTRASTS
from worldprobe.paths import BUILTIN, edition
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Roster, sort_by
from worldprobe.report.sheet import (
    MODEL_ONCE,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    text_column,
)
from worldprobe_training.contracts import ControlAccuracies

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def control_models(study: Study, registry: Registry) -> list[str]:
    """The models of the study that this pipeline trains itself."""
    return [model for model in study["models"] if registry[model].get("control")]


def has_generalisation(study: Study, registry: Registry) -> bool:
    """Whether what control models had seen can be distinguished from what is new to them."""
    is_theirs = (
        edition(study["ewok"]["materials"]["source"]) == BUILTIN
    )  # the edition that their stories are written from
    return (
        has_logprobs(study)
        and bool(control_models(study, registry))
        and is_theirs
        and not is_released(study)
    )


def has_doses(study: Study, registry: Registry) -> bool:
    """Whether control models read items more or less often."""
    return len(set(study["controls"]["doses"])) > 1


def control_judgements(study: Study, registry: Registry) -> list[str]:
    """Judgements of the control models' log probabilities."""
    controls = {**study, "models": control_models(study, registry)}
    return judgements(controls, ["logprobs"]) if has_generalisation(study, registry) else []


def readings(study: Study, registry: Registry) -> list[str]:
    """The documents that each control model reads, as ``controls measure`` takes them."""
    return [
        f"{model}={','.join(registry[model]['control']['reads'])}"
        for model in control_models(study, registry)
    ]


SECTION = Section(
    "controls",
    "What the control models know",
    "We know exactly what the control models have read, so their scores show what this measure"
    " reports for ignorance, memorisation and learning.",
)
#: Names of what a model had read, as lines of the table.
READ = {
    "read": "the item itself",
    "new_filling": "its template, other fillings",
    "new_template": "its concepts, other templates",
    "new_concept": "nothing of it (held out)",
}


@table(
    inputs=[ControlAccuracies],
    title="Read and not read",
    section="controls",
    caption=(
        "Accuracy of the control models by how much of an item was in the training texts, and by"
        " how its two targets differ: in the concept (chases, flees from) or in who is who (A"
        " chases B, B chases A). In brackets: 95% intervals over pairs of concepts."
    ),
    when=has_generalisation,
)
def control_accuracy(
    accuracies: pd.DataFrame, roster: Roster, provenance: Provenance | None = None
) -> Sheet:
    """A line per model, what it had read and how often; columns by what the two targets swap.

    Args:
        accuracies: ControlAccuracies.
        roster: names and order of the models.
        provenance: of that table, with the number of items.
    """
    keys = ["model", "group", "dose"]
    wide = accuracies.pivot(
        index=keys, columns="targets", values=["mean", "ci_low", "ci_high", "n_items"]
    )
    wide = wide.set_axis(
        ["_".join(names).replace(" ", "_") for names in wide.columns.tolist()], axis=1
    ).reset_index()
    wide = sort_by(wide.sort_values("dose", kind="stable"), "group", READ)
    frame = sort_by(wide, "model", roster.in_order(wide["model"])).reset_index(drop=True)
    frame.insert(1, "name", roster.names(frame["model"]))
    columns = []
    for targets in ("all", *TARGET_CONTRASTS):
        if (name := targets.replace(" ", "_")) and f"mean_{name}" in frame:
            heading = "All" if targets == "all" else f"{targets.capitalize()}s"
            shown = tuple(f"{kind}_{name}" for kind in ("mean", "ci_low", "ci_high"))
            columns += [
                SheetColumn("accuracy", shown, _with_interval, over=heading),
                number_column("items", f"n_items_{name}", _count, over=heading),
            ]
    doses = [number_column("Times", "dose", str)] if frame["dose"].max() > 1 else []
    return Sheet(
        title=(
            "Accuracy of the control models by how much of an item was in the training texts, and"
            " by target contrast."
        ),
        frame=frame,
        columns=(
            MODEL_ONCE,
            text_column("Training texts have", "group", lambda name: READ[name], once=bool(doses)),
            *doses,
            *columns,
        ),
        notes=(
            "An untrained model read no text; its items are sorted by what the other controls read."
            " The last row of each model covers held-out items, whose situations and concepts"
            " occur in no training text. Chance is 0.5."
            f" {_left_out(accuracies, provenance)}are in no row: they are neither known nor new,"
            " because they share situations or words with the training stories.",
            *_note_below_chance(accuracies, roster),
            *_note_gains(by_dose(accuracies)),
        ),
        group="model",
    )


def _left_out(accuracies: pd.DataFrame, provenance: Provenance | None) -> str:
    """How many items are in no row of a model."""
    n_items = provenance.details.get("n_items") if provenance else None
    if n_items is None:
        return "Other items "
    shown = accuracies[accuracies["targets"] == "all"].groupby("model")["n_items"].sum()
    fewest, most = n_items - int(shown.max()), n_items - int(shown.min())
    return f"{fewest:,}{f' to {most:,}' if most > fewest else ''} of {n_items:,} items "


def _note_below_chance(accuracies: pd.DataFrame, roster: Roster) -> list[str]:
    """How many intervals are below chance: what a model learned points the wrong way there."""
    is_untrained = accuracies["model"].map(lambda model: roster[model].is_untrained).astype(bool)
    rows = accuracies[accuracies["ci_high"].notna() & ~is_untrained]
    n_below = int((rows["ci_high"] < 0.5).sum())
    note = (
        f"Intervals below chance: {n_below} of {len(rows)} ({0.025 * len(rows):.1f} expected). One"
        " template of a pair of concepts can teach the wrong answer to another."
    )
    return [note] * (n_below > 0)


def by_dose(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of models that read items by how often these occurred: mean over models, with a t
    interval over them.

    Returns:
        group (those of ``READ``, and ``gain``: items that were read minus their templates with
        other fillings, in each model), dose, mean, ci_low, ci_high (missing of one model),
        n_models. Nothing where all models have one dose.
    """
    from scipy import stats

    rows = accuracies[(accuracies["targets"] == "all") & accuracies["mean"].notna()]
    of_doses = (
        rows[(rows["group"] == "read") & (rows["dose"] > 0)].groupby("model")["dose"].nunique()
    )
    rows = rows.loc[
        rows["model"].isin(of_doses.index[of_doses > 1]), ["model", "group", "dose", "mean"]
    ]
    if rows.empty:
        return pd.DataFrame(columns=["group", "dose", "mean", "ci_low", "ci_high", "n_models"])
    means = {
        group: part.set_index(["model", "dose"])["mean"] for group, part in rows.groupby("group")
    }
    gains = (means["read"] - means["new_filling"]).dropna().reset_index().assign(group="gain")
    made = (
        pd.concat([rows, gains])
        .groupby(["group", "dose"])["mean"]
        .agg(["mean", "sem", "count"])
        .reset_index()
    )
    reach = made["sem"] * stats.t.ppf(0.975, (made["count"] - 1).clip(lower=1))
    made["ci_low"], made["ci_high"] = made["mean"] - reach, made["mean"] + reach
    return made.rename(columns={"count": "n_models"})[
        ["group", "dose", "mean", "ci_low", "ci_high", "n_models"]
    ]


def _note_gains(doses: pd.DataFrame) -> list[str]:
    """Gain in accuracy of items that were read so many times over the same templates with other
    fillings.
    """
    gains = doses[doses["group"] == "gain"].to_dict("records")
    shown = [
        f"{_with_interval(row['mean'], row['ci_low'], row['ci_high'])} if read {row['dose']}×"
        for row in gains
    ]
    note = (
        "Gain from a leak (accuracy on items that were read, minus accuracy on the same templates"
        f" with other fillings; mean and 95% interval over trainings): {', '.join(shown)}."
    )
    return [note] * (len(gains) > 0)


def _with_interval(mean: float, low: float, high: float) -> str:
    """The mean, and the interval in brackets.

    >>> (
    ...     _with_interval(0.961, 0.94, 0.98),
    ...     _with_interval(1.0, float("nan"), float("nan")),
    ...     _with_interval(*[float("nan")] * 3),
    ... )
    ('0.961 (0.940–0.980)', '1.000', '–')
    """
    if pd.isna(mean):
        return "–"
    return decimals(3)(mean) + (
        "" if pd.isna(low) else f" ({decimals(3)(low)}–{decimals(3)(high)})"
    )


def _count(value: float) -> str:
    return "–" if pd.isna(value) else f"{int(value)}"


#: What a model had read, with mark and colour.
READ_LOOKS = {
    "read": ("the item itself", "o", style.INK),
    "new_filling": ("its template, other fillings", "D", "#4D4D4D"),
    "new_template": ("its concepts, other templates", "^", "#7A7A7A"),
    "new_concept": ("nothing of it", "s", "#A3A3A3"),
}


@figure(
    inputs=[ControlAccuracies],
    title="Read and not read",
    section="controls",
    caption=(
        "Accuracy of the control models by how much of an item was in the training texts, with 95%"
        " intervals over pairs of concepts. Dashed line: chance."
    ),
    when=has_generalisation,
)
def controls(accuracies: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """A row per model, what it had read and how often."""
    rows = style.with_identity(accuracies[accuracies["targets"] == "all"], roster)
    columns = [
        "model",
        "name",
        "colour",
        "group",
        "dose",
        "mean",
        "ci_low",
        "ci_high",
        "n_items",
        "n_pairs",
        "n_missing",
    ]
    return rows[columns].reset_index(drop=True)


@controls.drawn_by
def draw_controls(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A line per model with a mark and its number for each kind, and for each dose where there are
    several.
    """
    models = list(dict.fromkeys(frame["model"]))
    names = style.names(frame)
    size = style.label_size(width)
    left = style.widest(names.values(), size) + 0.1
    figure, (axes,), _ = style.grid(
        width, 1, 1, 0.44 * len(models), left, head=0.06, foot=0.64, right=0.3
    )
    for row, (group, (_, mark, colour)) in enumerate(READ_LOOKS.items()):
        part = frame[(frame["group"] == group) & frame["mean"].notna()]
        y = np.array([models.index(model) + (row - 1.5) * 0.2 for model in part["model"]])
        style.dots(axes, y, part, colour, marker=mark)
        ends = part["ci_high"].fillna(part["mean"])
        for height, end, mean in zip(y, ends, part["mean"], strict=True):
            axes.text(end + 0.008, height, f"{mean:.2f}", va="center", fontsize=size, color=colour)
    style.dash(axes)
    low = min(0.4, float(frame[["mean", "ci_low"]].min().min()) - 0.01)
    axes.set_xlim(low, 1.01)
    style.name_rows(axes, [names[model] for model in models], size)
    axes.tick_params(axis="x", labelsize=size)
    axes.set_xlabel("accuracy", fontsize=size)
    return _with_legend(figure, frame, width)


def _with_legend(figure: Figure, frame: pd.DataFrame, width: str) -> Figure:
    """The figure with a legend of what a model had read."""
    handles = [
        style.mark(mark, colour, label)
        for group, (label, mark, colour) in READ_LOOKS.items()
        if group in set(frame["group"])
    ]
    columns, size = (5, style.BODY) if width == "double" else (2, style.SMALL)
    handles += [*style.hollow(frame), style.chance_line("chance")]
    style.legend(figure, handles, columns, size)
    return figure


@figure(
    inputs=[ControlAccuracies],
    title="What a leak does",
    section="controls",
    caption=(
        "Accuracy of control models by how often they had read the items of a pair of concepts: on"
        " these items, on their templates with other fillings, on other templates of the pair, and"
        " on held-out concepts. Means and 95% intervals over trainings; dashed line: chance."
    ),
    when=(has_generalisation, has_doses),
)
def doses(accuracies: pd.DataFrame) -> pd.DataFrame:
    """A row per kind of item and dose, and the gain of items that were read."""
    return by_dose(accuracies)


@doses.drawn_by
def draw_doses(frame: pd.DataFrame, width: str = "single") -> Figure:
    """A line per kind of item, over doses at equal distances; what was read begins where nothing
    had been read.
    """
    size = style.label_size(width)
    left, foot = 0.42, 0.8
    frame = frame.astype(
        {"dose": int, "mean": float, "ci_low": float, "ci_high": float}
    )  # also where it has no rows
    figure, panels, _ = style.grid(width, 1, 1, 1.7, left, foot=foot)
    axes = panels[0]
    positions = {dose: position for position, dose in enumerate(sorted(set(frame["dose"])))}
    never = frame[(frame["group"] == "new_filling") & (frame["dose"] == 0)]
    for group, (_, mark, colour) in READ_LOOKS.items():
        rows = frame[frame["group"] == group].sort_values("dose")
        rows = pd.concat([never, rows]) if group == "read" else rows
        style.line(axes, rows["dose"].map(positions), rows, colour, mark)
    style.dash(axes, across=True)
    axes.set_xticks(range(len(positions)), [str(dose) for dose in positions])
    axes.tick_params(labelsize=size)
    axes.set_ylabel("accuracy", fontsize=size)
    axes.set_xlabel("times that items of the pair of concepts were read", fontsize=size)
    return _with_legend(figure, frame, width)
