"""Models have different looks in every figure that tells them apart by a colour and a mark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.figures.accuracy import draw_families, draw_scaling
from worldprobe.benchmarks.worldsense.figures import draw_lines, draw_training
from worldprobe.contracts.series import ALL_SEEDS
from worldprobe.report import style
from worldprobe.report.learning_curves import draw_curves
from worldprobe.report.model_names import Roster, read_roster

CARDS = read_roster(Path(__file__).parents[3] / "config" / "models.yaml")
CONTROLS = [name for name, model in CARDS.models.items() if model.family == "control"]
RULES = [name for name, model in CARDS.models.items() if model.family == "rule"]
STUDIES = {
    "a study of all controls and rules": (CARDS, CONTROLS + RULES),
    "models that no registry knows": (Roster(), [f"model{n}" for n in range(20)]),
    "the default study": (CARDS, [*CONTROLS[:4], *RULES]),
}


def rows_of(roster: Roster, models: list[str], **columns: object) -> pd.DataFrame:
    """A row for each model at each of two places."""
    rows = pd.DataFrame(
        {
            "model": models,
            "mean": 0.6,
            "ci_low": 0.5,
            "ci_high": 0.7,
            "low": 0.5,
            "high": 0.7,
            **columns,
        }
    )
    return style.with_identity(
        pd.concat([rows.assign(x=1, level=1, step=1), rows.assign(x=2, level=2, step=2)]), roster
    )


def size_and_depth(roster: Roster, models: list[str]) -> pd.DataFrame:
    return rows_of(roster, models, panel="Infer", axis="entities")


def families(roster: Roster, models: list[str]) -> pd.DataFrame:
    return rows_of(roster, models, panel="depth", axis="level")


def scaling(roster: Roster, models: list[str]) -> pd.DataFrame:
    return rows_of(roster, models, eval_type="logprobs").assign(parameters=1e6, family="control")


def training(roster: Roster, models: list[str]) -> pd.DataFrame:
    return rows_of(roster, models, loss=2.0, learning_rate=0.1)


def curves(roster: Roster, models: list[str]) -> pd.DataFrame:
    from worldprobe.report.learning_curves import _named

    rows = pd.DataFrame(
        {
            "series": models,
            "model": models,
            "seed": ALL_SEEDS,
            "grouping": "overall",
            "group": "all",
        }
    )
    rows = rows.assign(unit="steps", mean=0.6, band_low=0.5, band_high=0.7, low=0.5, high=0.7)
    return _named(pd.concat([rows.assign(step=1.0), rows.assign(step=10.0)]), roster)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize(
    ("draw", "build"),
    [
        (draw_lines, size_and_depth),
        (draw_families, families),
        (draw_scaling, scaling),
        (draw_training, training),
        (draw_curves, curves),
    ],
    ids=[
        "worldsense_size, _depth, _motion",
        "families",
        "scaling",
        "worldsense_training",
        "learning_curves",
    ],
)
def test_no_two_models_look_alike_and_a_cards_colour_is_kept(
    draw: Callable[..., object], build: Callable[..., pd.DataFrame], study: str
) -> None:
    """Untrained = Counting = a blue dot: the untrained model seemed to score 0.86 to 1.0."""
    roster, models = STUDIES[study]
    style.apply_settings()
    figure = draw(build(roster, models))
    handles = [
        one
        for one in figure.legends[0].legend_handles
        if one.get_label() not in ("chance", "humans, range")
    ]
    looks = {one.get_label(): (one.get_color(), one.get_marker()) for one in handles}
    assert len(looks) == len(handles) == len({roster[model].name for model in models})
    assert len(set(looks.values())) == len(looks)
    untrained = looks.get("Untrained")
    assert untrained is None or untrained[0] == CARDS["control_untrained"].colour
