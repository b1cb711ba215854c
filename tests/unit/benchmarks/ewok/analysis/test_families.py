"""Accuracy by level of families, and slopes within bases: numbers by hand, an effect that is found,
a null that is not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.analysis.summarize import measure_families
from worldprobe.benchmarks.ewok.contracts import FamilyLevels
from worldprobe.contracts import validate
from worldprobe.errors import UserError

LEVELS = (0, 1, 2)


def judged(
    rng: np.random.Generator,
    shares: dict[str, tuple[float, ...]],
    n_bases: int = 24,
    n_versions: int = 3,
):
    """Items of one family, and judgements of models that are right at each level with these
    probabilities.
    """
    rows, judgements = [], []
    for base in range(n_bases):
        for place, level in enumerate(LEVELS, start=1):
            for version in range(n_versions):
                item = f"social-relations_{1001 + base}_{place}_v{version}"
                rows.append(
                    {
                        "item_id": item,
                        "family": "negation",
                        "base": f"b{base}",
                        "level": level,
                        "version": version,
                    }
                )
                for model, share in shares.items():
                    for target in (1, 2):
                        judgements.append(
                            {
                                "item_id": item,
                                "target": target,
                                "model": model,
                                "eval_type": "logprobs",
                                "accuracy": float(rng.random() < share[place - 1]),
                                "is_tie": False,
                                "is_near_tie": False,
                                "status": "ok",
                                "domain": "social-relations",
                                "version": version,
                                "meta_template": 1001 + base,
                                "template": place,
                                "concept_a": f"a{base}",
                                "concept_b": f"b{base}",
                                "context_contrast": "other",
                                "context_type": "indirect",
                                "target_contrast": "concept swap",
                            }
                        )
    return pd.DataFrame(judgements), pd.DataFrame(rows)


def slope_of(table: pd.DataFrame, model: str) -> pd.Series:
    return table[(table["model"] == model) & table["level"].isna()].iloc[0]


def test_means_and_slope_are_those_computed_by_hand():
    judgements, items = judged(
        np.random.default_rng(0), {"m": (1.0, 1.0, 0.0), "n": (0.0, 1.0, 1.0)}, n_bases=3
    )
    table = validate(measure_families(judgements, items), FamilyLevels)
    m = table[table["model"] == "m"]
    assert m["mean"].tolist() == [1.0, 1.0, 0.0, pytest.approx(-0.5)]
    assert m["n_items"].tolist() == [9, 9, 9, 27]
    assert (m["n_bases"] == 3).all()
    assert slope_of(table, "n")["mean"] == pytest.approx(0.5)
    assert (table["status"] == "no_spread").all()


def test_a_planted_slope_is_found_and_its_interval_covers_it():
    judgements, items = judged(np.random.default_rng(1), {"m": (0.9, 0.75, 0.6)})
    found = slope_of(measure_families(judgements, items), "m")
    assert found["ci_low"] < -0.15 < found["ci_high"] < 0
    assert found["p"] < 0.01


def test_without_an_effect_one_slope_in_twenty_is_below_five_percent():
    rng = np.random.default_rng(2)
    judgements, items = judged(rng, {f"m{i}": (0.5, 0.5, 0.5) for i in range(120)}, n_versions=2)
    table = measure_families(judgements, items)
    p = table[table["level"].isna()]["p"]
    assert 0.0 <= (p < 0.05).mean() <= 0.11
    assert 0.35 < (p < 0.5).mean() < 0.65


def test_a_base_that_is_easy_at_all_levels_moves_no_slope():
    judgements, items = judged(np.random.default_rng(3), {"m": (0.5, 0.5, 0.5)}, n_bases=6)
    before = slope_of(measure_families(judgements, items), "m")["mean"]
    is_easy = judgements["meta_template"] == 1001
    flat = judgements.assign(accuracy=judgements["accuracy"].where(~is_easy, 0.0))
    raised = judgements.assign(accuracy=judgements["accuracy"].where(~is_easy, 1.0))
    slopes = [slope_of(measure_families(j, items), "m")["mean"] for j in (flat, raised)]
    assert slopes[0] == pytest.approx(slopes[1])
    assert np.isfinite(before)


def test_a_missing_answer_takes_its_base_and_version_out_of_the_slope_only():
    judgements, items = judged(
        np.random.default_rng(4), {"m": (1.0, 1.0, 0.0)}, n_bases=3, n_versions=1
    )
    gone = judgements["item_id"] == "social-relations_1001_3_v0"
    lost = judgements.assign(
        accuracy=judgements["accuracy"].where(~gone),
        status=judgements["status"].where(~gone, "missing_score"),
    )
    table = measure_families(lost, items)
    assert slope_of(table, "m")[["mean", "n_bases", "n_missing"]].tolist() == [-0.5, 2, 2]
    assert table[table["level"] == 2].iloc[0]["n_missing"] == 2


def test_items_without_family_are_one_error():
    judgements, items = judged(np.random.default_rng(5), {"m": (1.0, 1.0, 0.0)}, n_bases=2)
    items.loc[0, "family"] = None
    with pytest.raises(UserError, match="of no family"):
        measure_families(judgements, items)
