"""The control models' table: what they learned of pairings that they have seen, and of new ones, by what the targets swap."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import table
from worldprobe.benchmarks.ewok.contracts import ControlAccuracies
from worldprobe.benchmarks.ewok.study import has_generalisation
from worldprobe.benchmarks.ewok.vocabulary import TARGET_CONTRASTS
from worldprobe.report.model_names import Roster
from worldprobe.report.sentences import ranging
from worldprobe.report.sheet import Column, Sheet, decimals

#: Names of the kinds of templates and fillers, in the order of the lines.
_TEMPLATES = {"held_in": "in the stories", "new_pairing": "new pairing", "new_context": "new context"}
_FILLERS = {"seen": "all seen", "some_unseen": "some new"}


@table(
    inputs=[ControlAccuracies],
    title="Seen and held out",
    section="controls",
    caption="Accuracy of the control models by what their stories told and by how the two targets of a template differ. A "
    "concept swap exchanges the concept (chases, flees from), a variable swap who is who (A chases B, B chases A).",
    when=has_generalisation,
)
def control_accuracy(accuracies: pd.DataFrame, roster: Roster) -> Sheet:
    """A line per model, kind of template and kind of filler; columns by what the two targets swap.

    Args:
        accuracies: ControlAccuracies.
        roster: names and order of the models.
    """
    shown = accuracies[accuracies["templates"].isin(_TEMPLATES) & accuracies["fillers"].isin(_FILLERS)]
    keys = ["model", "templates", "fillers"]
    wide = shown.pivot(index=keys, columns="targets", values=["mean", "n_items"])
    wide = wide.set_axis(["_".join(names).replace(" ", "_") for names in wide.columns.tolist()], axis=1)
    order = pd.MultiIndex.from_product([roster.in_order(shown["model"].unique()), _TEMPLATES, _FILLERS], names=keys)
    wide = wide[wide["n_items_all"] > 0]
    frame = wide.reindex(order[order.isin(wide.index)]).reset_index()
    frame.insert(1, "name", [roster[model].name for model in frame["model"]])
    columns = [
        column
        for targets in ("all", *TARGET_CONTRASTS)
        for column in (
            Column("accuracy", (f"mean_{targets.replace(' ', '_')}",), decimals(3), over=_heading(targets)),
            Column("items", (f"n_items_{targets.replace(' ', '_')}",), _count, over=_heading(targets)),
        )
    ]
    return Sheet(
        title="What the control models learned, by what their stories told and by what the targets swap.",
        frame=frame,
        columns=(
            Column("Model", ("name",), is_number=False, once=True),
            Column("Pairing", ("templates",), lambda name: _TEMPLATES[name], is_number=False, once=True),
            Column("Fillers", ("fillers",), lambda name: _FILLERS[name], is_number=False),
            *columns,
        ),
        label="control_accuracy",
        notes=(
            "New pairing: no story joins these contexts and targets, though each is in other stories. New context: one of the "
            "contexts is in no story. Chance is one half.",
            *_say_what_was_learned(accuracies, roster),
        ),
        group="model",
    )


def _say_what_was_learned(accuracies: pd.DataFrame, roster: Roster) -> list[str]:
    """The range over models on seen pairings of each swap, and why one may be harder to learn than the other."""
    is_seen = (accuracies["templates"] == "held_in") & (accuracies["fillers"] == "seen") & accuracies["mean"].notna()
    ranges = []
    for contrast in TARGET_CONTRASTS:
        means = accuracies[is_seen & (accuracies["targets"] == contrast)].set_index("model")["mean"]
        if means.empty:
            return []
        ranges.append(ranging(means.rename(index=lambda model: roster[model].name), f"means of {contrast}s"))
    return [
        f"On seen pairings with seen fillers, {'; '.join(ranges)}.",
        "The two orders of a variable swap consist of the same words, so that a model must tie each name to its place in the "
        "context and both to what happens there.",
    ]


def _heading(targets: str) -> str:
    return "All" if targets == "all" else f"{targets.capitalize()}s"


def _count(value: float) -> str:
    return "–" if pd.isna(value) else f"{int(value)}"
