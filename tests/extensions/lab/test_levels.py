"""Accuracy by level of families, and slopes within bases: numbers by hand, an effect that is
found, a null that is not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from simulated_judgements import simulate_judgements
from worldprobe.contracts import validate
from worldprobe.report.model_names import Roster
from worldprobe_lab.contracts import FamilyLevels
from worldprobe_lab.families import family_accuracy
from worldprobe_lab.levels import measure_families

LEVELS = (0, 1, 2)


def judged(seed: int, shares: dict[str, tuple[float, ...]], n_bases: int = 24, n_versions: int = 3):
    """Items of one family, and judgements of models that are right at each level with these
    probabilities.
    """
    axes = [range(n_bases), LEVELS, range(n_versions)]
    items = pd.MultiIndex.from_product(axes, names=["number", "level", "version"]).to_frame(
        index=False
    )
    items["meta_template"], items["template"] = 1001 + items["number"], 1 + items["level"]
    parts = items[["meta_template", "template", "version"]].astype(str)
    ids = (
        "social-relations_"
        + parts["meta_template"]
        + "_"
        + parts["template"]
        + "_v"
        + parts["version"]
    )
    number = items["number"].astype(str)
    items = items.assign(item_id=ids, family="negation", base="b" + number)
    design = {
        "context_contrast": "other",
        "context_type": "indirect",
        "target_contrast": "concept swap",
    }
    designed = items[["item_id", "version", "meta_template", "template"]].assign(
        domain="social-relations", concept_a="a" + number, concept_b="b" + number, **design
    )
    share = np.clip(np.array(list(shares.values()))[:, items["level"], None], 1e-9, 1 - 1e-9)
    log_odds = np.log(share / (1 - share)).repeat(2, axis=2)
    judgements = simulate_judgements(designed, log_odds, list(shares), "logprobs", seed)
    return judgements, items[["item_id", "family", "base", "level", "version"]]


def slope_of(table: pd.DataFrame, model: str) -> pd.Series:
    return table[(table["model"] == model) & table["level"].isna()].iloc[0]


def test_means_and_slope_are_those_computed_by_hand():
    judgements, items = judged(0, {"m": (1.0, 1.0, 0.0), "n": (0.0, 1.0, 1.0)}, n_bases=3)
    table = validate(measure_families(judgements, items), FamilyLevels)
    m = table[table["model"] == "m"]
    assert m["mean"].tolist() == [1.0, 1.0, 0.0, pytest.approx(-0.5)]
    assert m["n_items"].tolist() == [9, 9, 9, 27]
    assert (m["n_bases"] == 3).all()
    assert slope_of(table, "n")["mean"] == pytest.approx(0.5)
    assert (table["status"] == "no_spread").all()


def test_a_planted_slope_is_found_and_its_interval_covers_it():
    judgements, items = judged(1, {"m": (0.9, 0.75, 0.6)})
    found = slope_of(measure_families(judgements, items), "m")
    assert found["ci_low"] < -0.15 < found["ci_high"] < 0
    assert found["p"] < 0.01


def test_without_an_effect_one_slope_in_twenty_is_below_five_percent():
    judgements, items = judged(2, {f"m{i}": (0.5, 0.5, 0.5) for i in range(120)}, n_versions=2)
    table = measure_families(judgements, items)
    p = table[table["level"].isna()]["p"]
    assert 0.0 <= (p < 0.05).mean() <= 0.11
    assert 0.35 < (p < 0.5).mean() < 0.65


def test_a_missing_answer_takes_its_base_and_version_out_of_the_slope_only():
    judgements, items = judged(4, {"m": (1.0, 1.0, 0.0)}, n_bases=3, n_versions=1)
    gone = judgements["item_id"] == "social-relations_1001_3_v0"
    lost = judgements.assign(
        accuracy=judgements["accuracy"].where(~gone),
        status=judgements["status"].where(~gone, "missing_score"),
    )
    table = measure_families(lost, items)
    assert slope_of(table, "m")[["mean", "n_bases", "n_missing"]].tolist() == [-0.5, 2, 2]
    assert table[table["level"] == 2].iloc[0]["n_missing"] == 2


def test_kinds_are_contrasted_and_who_ignores_what_the_person_knows_has_nothing_of_belief():
    """The slope of `belief` was -0.5 for a reader who says where the thing is, 0 for one who says
    where it was put.
    """
    readers = {"is": (1.0, 1.0, 0.0), "was": (1.0, 0.0, 1.0), "sees": (1.0, 1.0, 1.0)}
    judgements, items = judged(0, readers, n_bases=4)
    belief = measure_families(judgements, items.assign(family="belief"))
    assert [slope_of(belief, name)["mean"] for name in readers] == [0.0, 0.0, 0.5]
    distraction = measure_families(judgements, items.assign(family="distraction"))
    assert [slope_of(distraction, name)["mean"] for name in readers] == [-1.0, 1.0, 0.0]


def test_a_family_of_somebody_elses_with_the_same_name_and_other_levels_has_a_slope():
    judgements, items = judged(0, {"m": (1.0, 1.0, 0.0)}, n_bases=4)
    theirs = items.assign(family="belief", level=items["level"] + 2)
    table = measure_families(judgements, theirs)
    assert slope_of(table, "m")["mean"] == -0.5
    notes = " ".join(family_accuracy(table, Roster({})).notes)
    assert "belief: 2, 3, 4." in notes
    assert "no slope" not in notes
