"""The table and the figure of families with a level, and the table of what their levels have in
common.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Templates
from worldprobe.benchmarks.ewok.materials.compile import compile_families
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.contracts import validate
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe.report.model_names import Roster
from worldprobe_authoring.displays import materials_families
from worldprobe_lab.contracts import FamilyLevels
from worldprobe_lab.families import families, family_accuracy


@pytest.fixture
def levels() -> pd.DataFrame:
    """Two models and word2vec, two families; accuracy falls by 0.1 from level to level for one
    of them.
    """
    rows = []
    for model, eval_type, fall in (
        ("small", "logprobs", 0.0),
        ("large", "logprobs", 0.1),
        ("word2vec", "word2vec", 0.0),
    ):
        for family, at in (("ratio", (1, 3, 5)), ("depth", (1, 2, 3)), ("own", (1, 2))):
            row = {
                "model": model,
                "eval_type": eval_type,
                "family": family,
                "n_bases": 20,
                "n_items": 60,
                "status": "ok",
            }
            row |= {"n_ties": 0, "n_missing": 0, "detectable": 0.03}
            for place, level in enumerate(at):
                mean = 0.8 - fall * place
                rows.append(
                    row
                    | {
                        "level": level,
                        "mean": mean,
                        "ci_low": mean - 0.05,
                        "ci_high": mean + 0.05,
                        "p": np.nan,
                    }
                )
            rows.append(
                row
                | {
                    "level": np.nan,
                    "mean": -fall,
                    "ci_low": -fall - 0.02,
                    "ci_high": -fall + 0.02,
                    "p": 0.2,
                }
            )
    return validate(pd.DataFrame(rows).astype({"level": "Int64"}), FamilyLevels)


def test_the_table_has_a_row_per_family_and_model_with_levels_in_order_and_the_slope(levels):
    frame = family_accuracy(levels, Roster()).frame
    assert list(dict.fromkeys(frame["family"])) == ["depth", "ratio", "own"]
    row = frame[(frame["family"] == "ratio") & (frame["model"] == "large")].iloc[0]
    assert row[["level_1", "level_2", "level_3", "slope"]].tolist() == pytest.approx(
        [0.8, 0.7, 0.6, -0.1]
    )
    assert np.isnan(frame[frame["family"] == "own"].iloc[0]["level_3"])
    assert set(frame["model"]) == {"small", "large", "word2vec"}


def test_the_figure_has_every_level(levels):
    tidy = families(levels, Roster())
    assert len(tidy) == 3 * 8
    assert set(tidy[tidy["panel"] == "depth"]["axis"]) == {"steps of inference"}


def test_the_table_of_levels_counts_bases_words_and_what_bare_words_reach():
    templates = validate(compile_families(read_materials(EDITIONS[BUILTIN], RIGHT)), Templates)
    frame = materials_families(templates).frame
    assert frame["n_bases"].min() >= 20
    pulled = (frame["family"] == "distraction") & (frame["level"] == 2)
    assert frame["shared_words"][~pulled].between(0.44, 0.56).all()
    assert (frame["shared_words"][pulled] < 0.1).all()
    assert frame[frame["family"] == "ratio"]["n_words"].nunique() == 1
