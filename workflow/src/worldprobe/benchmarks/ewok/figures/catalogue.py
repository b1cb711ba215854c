"""Every figure by name: the tables it reads, the options it takes, how its tidy table is made and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from worldprobe.benchmarks.ewok import contracts
from worldprobe.benchmarks.ewok.figures import agreement, by_domain, concepts, controls, design, paradigms, scaling, scatter
from worldprobe.contracts import Table


@dataclass(frozen=True)
class Plan:
    """A figure.

    Attributes:
        inputs: argument name -> contract, in the order in which ``tidy`` takes them (the roster follows).
        tidy: contract tables and roster -> tidy table.
        draw: tidy table -> figure; takes ``width``.
        options: keyword arguments of ``tidy`` that the command line offers.
    """

    inputs: Mapping[str, type[Table]]
    tidy: Callable[..., pd.DataFrame]
    draw: Callable[..., Figure]
    options: tuple[str, ...] = ()


_SUMMARIES = {"summaries": contracts.Summaries}

FIGURES: dict[str, Plan] = {
    "accuracy_by_domain": Plan(_SUMMARIES, by_domain.tidy, by_domain.draw, ("eval_type",)),
    "design_features": Plan(_SUMMARIES | {"correlations": contracts.Correlations}, design.tidy, design.draw, ("eval_type",)),
    "paradigms": Plan(_SUMMARIES, paradigms.tidy_paradigms, paradigms.draw_paradigms, ("setup",)),
    "agreement": Plan({"agreements": contracts.Agreements}, agreement.tidy, agreement.draw, ("setup",)),
    "surface_feature": Plan(
        {"feature_means": contracts.FeatureMeans, "correlations": contracts.Correlations},
        scatter.tidy,
        scatter.draw,
        ("feature", "eval_type"),
    ),
    "setups_by_model": Plan(_SUMMARIES, partial(paradigms.tidy_setups, by="model"), paradigms.draw_setups, ("metric",)),
    "setups_by_domain": Plan(_SUMMARIES, partial(paradigms.tidy_setups, by="domain"), paradigms.draw_setups, ("metric",)),
    "concepts": Plan(_SUMMARIES, concepts.tidy, concepts.draw, ("eval_type",)),
    "scaling": Plan(_SUMMARIES, scaling.tidy, scaling.draw, ("eval_type",)),
    "controls": Plan({"control_accuracies": contracts.ControlAccuracies}, controls.tidy, controls.draw),
}
