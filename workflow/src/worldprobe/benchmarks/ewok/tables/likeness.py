"""How far models' preferences follow people's, below what the noise of people's ratings permits."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.ewok.analysis.clusters import drawn_units
from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, way_of
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import Column, Sheet, decimals, span, whole_number

CEILING = "noise_ceiling"


def likeness_to_people(likeness: pd.DataFrame, roster: Roster, provenance: Provenance | None = None) -> Sheet:
    """A row per model under one for the noise ceiling; two columns per way of asking.

    Args:
        likeness: contracts.Likeness.
        roster: names and order of the models.
        provenance: of the table; it says what was drawn for the intervals.
    """
    models = roster.in_order(likeness["model"])
    ways = [name for name in EVAL_TYPES if name in set(likeness["eval_type"])]
    frame = pd.DataFrame({"model": [CEILING, *models], "kind": ["ceiling", *("model" for _ in models)]})
    frame["name"] = ["Noise ceiling", *(roster[model].name for model in models)]
    columns = [Column("Model", ("name",), is_number=False)]
    for way in ways:
        part = likeness[likeness["eval_type"] == way].set_index("model")
        for name in ("r", "ci_low", "ci_high", "n"):
            frame[f"{way}_{name}"] = [float("nan"), *(part[name].get(model, float("nan")) for model in models)]
        # The ceiling is that of the targets with answers; models without some of them differ a little.
        frame.loc[0, f"{way}_r"] = part["ceiling"].median()
        over = ", ".join((in_words(way_of(way).paradigm), *way_of(way).short))
        columns += [
            Column("r", (f"{way}_r",), decimals(3), over=over),
            Column("95% interval", (f"{way}_ci_low", f"{way}_ci_high"), span, over=over),
        ]
    n = likeness["n"]
    how_many = whole_number(n.max()) if n.min() == n.max() else f"{whole_number(n.min())} to {whole_number(n.max())}"
    return Sheet(
        title="Correlation of models' preferences with those of people.",
        frame=frame,
        columns=tuple(columns),
        label="likeness-to-people",
        notes=(
            f"Pearson's r over {how_many} targets, of the difference between the two contexts: people's mean ratings, and the "
            "model's log probabilities or ratings.",
            "Noise ceiling: what a model of people without noise would reach, from the number of raters and their standard "
            "deviation; a dash: these are not known.",
            f"Interval: 95% bootstrap over {drawn_units(provenance)}.",
        ),
        group="kind",
    )
