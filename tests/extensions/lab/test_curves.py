"""Learning curves: bands, onsets with censoring, falls, agreement between seeds, and pairs of
trainings; a short simulation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worldprobe.contracts import write_table
from worldprobe.contracts.results import ALL
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe_lab.contracts import (
    ALL_SEEDS,
    ALREADY,
    NEVER,
    NONE,
    OPEN,
    REACHED,
    OrderAgreements,
)
from worldprobe_lab.curves import (
    agree_on_order,
    compare_series,
    crossing,
    differences,
    estimate_curves,
    fall_of,
    onset_of,
    trace,
)

STEPS = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])


def curve_of(means: list[float], spread: float = 0.02, pairs: int = 30):
    rng = np.random.default_rng(1)
    cluster, version = np.repeat(np.arange(pairs), 3), np.tile(np.arange(3), pairs)
    values = (
        np.array(means)[:, None]
        + rng.normal(0, spread, (1, len(cluster)))
        + rng.normal(0, spread, (len(means), len(cluster)))
    )
    return estimate_curves(STEPS, values[None], cluster, version)


def cells(
    means: dict[tuple[str, str], list[float]], group: str = "all", grouping: str = "overall"
) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = []
    for (model, seed), curve in means.items():
        for step, mean in zip(STEPS, curve, strict=True):
            for cluster in range(30):
                row = {
                    "series": model.split(".")[0],
                    "model": model,
                    "seed": seed,
                    "step": step,
                    "eval_type": "logprobs",
                }
                row |= {
                    "grouping": grouping,
                    "group": group,
                    "cluster": str(cluster),
                    "condition": "",
                    "stratum": "",
                }
                rows.append(
                    row | {"mean": float(np.clip(mean + rng.normal(0, 0.03), 0, 1)), "n": 4}
                )
    return pd.DataFrame(rows)


def test_a_band_is_wider_than_the_interval_at_one_checkpoint():
    curve = curve_of([0.5, 0.5, 0.5, 0.6, 0.7])
    assert 1.05 < curve.factor < 1.6
    assert (curve.half > 0).all()


@pytest.mark.parametrize(
    ("means", "status"),
    [
        ([0.5, 0.5, 0.5, 0.7, 0.8], REACHED),
        ([0.5, 0.5, 0.5, 0.5, 0.5], NEVER),
        ([0.7, 0.7, 0.7, 0.8, 0.8], ALREADY),
        ([0.5, 0.5, 0.5, 0.5, 0.56], OPEN),
    ],
)
def test_an_onset_is_found_or_censored(means, status):
    found = onset_of(curve_of(means), level=0.56)
    assert found["status"] == status
    if status == REACHED:
        assert 10 < found["ci_low"] <= found["onset"] <= found["ci_high"] < 100
    if status == OPEN:
        assert np.isnan(found["ci_high"])
    if status in (NEVER, ALREADY):
        assert np.isnan(found["onset"])


def test_a_curve_that_falls_below_the_level_again_has_no_onset_before():
    assert crossing(STEPS, np.array([0.5, 0.7, 0.5, 0.5, 0.7]), 0.6) > 100


def test_a_fall_is_told_only_where_chance_does_not_explain_it():
    found = fall_of(curve_of([0.5, 0.6, 0.8, 0.8, 0.7]))
    assert found["fall"] == pytest.approx(0.1, abs=0.02)
    assert found["fall_to"] == 1000
    assert fall_of(curve_of([0.5, 0.6, 0.8, 0.8, 0.799]))["fall"] == 0


def test_a_curve_that_is_too_uncertain_to_show_an_onset_is_not_called_unlearned():
    curve = curve_of([0.5, 0.5, 0.8, 0.85, 0.85], spread=0.2, pairs=3)
    assert np.isnan(onset_of(curve)["level"]), "it was printed, up to 2.457"
    assert onset_of(curve)["status"] == NONE
    assert onset_of(curve, level=0.7)["status"] == OPEN, "a level that somebody chose is theirs"
    few, enough = (curve_of([0.5, 0.5, 0.8, 0.85, 0.85], pairs=number) for number in (7, 8))
    assert [onset_of(one)["status"] for one in (few, enough)] == [
        OPEN,
        REACHED,
    ], "of few pairs, only narrow bands would tell"
    assert np.isnan([onset_of(few)["ci_low"], onset_of(few)["ci_high"]]).all()
    assert onset_of(few)["onset"] == pytest.approx(onset_of(enough)["onset"], rel=0.1)


def test_a_checkpoint_at_which_all_clusters_are_alike_has_no_band():
    """It was drawn as a line without any width, as if it were exact."""
    table = cells({("a", "one"): [0.5, 0.5, 0.5, 0.7, 0.8]})
    table.loc[table["step"] == 0, "mean"] = 0.5
    curves, onsets = trace(table, "steps", {})
    first, *others = curves.sort_values("step").to_dict("records")
    ends = ["ci_low", "ci_high", "band_low", "band_high"]
    assert first["status"] == "no_spread"
    assert np.isnan([first[end] for end in ends]).all()
    assert not np.isnan([one[end] for one in others for end in ends]).any()
    assert onsets["status"].tolist() == [REACHED]


def test_two_checkpoints_at_which_all_clusters_are_alike_say_nothing_of_a_fall():
    cluster = np.arange(8)
    values = np.stack([np.full(8, 0.7), np.full(8, 0.6), 0.5 + 0.04 * np.arange(8)])
    assert fall_of(estimate_curves(np.array([1.0, 2, 3]), values[None], cluster))["fall"] == 0


def test_bands_and_falls_of_six_pairs_of_concepts_hold_too(measurement):
    simulate = measurement("learning_curves").simulate
    few = simulate(100, onset=np.inf, pairs=6, versions=1)
    assert few["forgets"] <= 0.12
    assert few["band"] >= 0.89


def test_seeds_have_a_mean_curve_whose_interval_knows_how_far_they_differ():
    low, high = [0.5, 0.5, 0.5, 0.6, 0.7], [0.5, 0.5, 0.5, 0.7, 0.8]
    curves, onsets = trace(
        cells({("a", "0"): low, ("a.seed-1", "1"): high, ("a.seed-2", "2"): low}),
        "steps",
        {"overall": "skins"},
    )
    last = curves[curves["step"] == 1000].set_index("seed")
    assert set(onsets["seed"]) == {"0", "1", "2", ALL_SEEDS}
    assert last.loc[ALL_SEEDS, "between_seeds"] == pytest.approx(0.058, abs=0.01)
    width = last["ci_high"] - last["ci_low"]
    assert width[ALL_SEEDS] > 3 * width["0"]
    assert last.loc[ALL_SEEDS, "interval_over"] == "skins and seeds"


def trainings_of(
    order: dict[str, list[float]], clusters: int = 6
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Onsets and cells of trainings whose groups rise one after the other.

    Args:
        order: training -> where each of its groups rises: a place in ``STEPS``.
        clusters: of each group.
    """
    rows = [
        {"model": model, "series": model, "step": STEPS[step], "group": str(group)}
        | {"cluster": str(cluster)}
        | {"mean": float(np.clip(0.5 + 0.3 * (step >= place), 0, 1))}
        for model, places in order.items()
        for group, place in enumerate(places)
        for cluster in range(clusters)
        for step in range(len(STEPS))
    ]
    same = {"seed": "one", "eval_type": "logprobs", "grouping": "domain", "n": 4}
    table = pd.DataFrame(rows).assign(**same, condition="", stratum="")
    keys = table[["series", "model", "seed", "eval_type", "grouping", "group"]].drop_duplicates()
    return keys.assign(level=0.6, status=REACHED), table


def test_trainings_agree_on_the_order_of_onsets():
    places = [1.0, 2.0, 3.0, 4.0, 1.0, 9.0]
    same = agree_on_order(*trainings_of({"a": places, "b": places})).iloc[0]
    assert (
        same["correlation"],
        same["same_items"],
        same["level"],
        same["n"],
        same["n_onsets"],
    ) == (
        *(pytest.approx(1),) * 2,
        0.6,
        6,
        5,
    )
    other = agree_on_order(*trainings_of({"a": places, "b": [4.0, 3.0, 2.0, 1.0, 4.0, 9.0]})).iloc[
        0
    ]
    assert other["ci_low"] < other["correlation"] < 0 < other["ci_high"]
    few = agree_on_order(*trainings_of({"a": places[:4], "b": places[:4]})).iloc[0]
    assert np.isnan([few["correlation"], few["ci_low"], few["same_items"]]).all()
    single = agree_on_order(*trainings_of({"a": places, "b": places}, clusters=1)).iloc[0]
    assert single["n"] == 0, "one cluster has no halves"


@pytest.mark.long
def test_trainings_on_the_same_items_are_not_alike_for_that(measurement):
    """Groups that are truly alike had a similar order in 40% of studies."""
    found = measurement("onset_order").simulate(20)
    assert found["same_items"] > 0.25
    assert abs(found["correlation"]) < 0.2
    assert found["claimed"] <= 0.15


def test_onsets_are_compared_at_one_level_alone():
    onsets, table = trainings_of({name: [1.0, 2.0, 3.0, 4.0, 1.0, 9.0] for name in "ab"})
    onsets["level"] = np.linspace(0.55, 0.7, len(onsets))
    assert agree_on_order(onsets, table)["level"].tolist() == [pytest.approx(0.625)]


def test_two_series_are_compared_at_each_checkpoint_and_over_all_with_one_correction():
    table = compare_series(
        cells({("a", "one"): [0.5, 0.5, 0.5, 0.7, 0.8], ("b", "one"): [0.5, 0.5, 0.5, 0.5, 0.8]})
    )
    found = table.set_index("condition_a")
    assert list(found.index) == ["0", "1", "10", "100", "1000", ALL]
    assert found.loc["100", "p_holm"] < 0.001
    assert (found.loc[["0", "1", "10", "1000"], "p_holm"] > 0.05).all()
    assert (found["p_holm"] >= found["p"]).all()
    (pair,) = differences(table)
    assert (pair["differing"], pair["n_checkpoints"]) == (["100"], 5)
    assert pair["mean"]["difference"] == found.loc[ALL, "difference"]
    with pytest.raises(UserError, match="no two trainings"):
        compare_series(cells({("a", "one"): [0.5, 0.5, 0.5, 0.7, 0.8]}))


def test_of_three_trainings_all_pairs_and_checkpoints_are_corrected_together():
    table = compare_series(cells({(name, "one"): [0.5, 0.5, 0.5, 0.6, 0.7] for name in "abc"}))
    assert len(table) == 3 * 6
    least = table.loc[table["p"].idxmin()]
    assert least["p_holm"] == pytest.approx(min(18 * least["p"], 1))


def test_means_over_seeds_of_two_series_are_compared_with_one_another(tmp_path):
    curve, found = [0.5, 0.5, 0.5, 0.6, 0.7], []
    for series in "ab":
        names = {(series, "0"): curve, (f"{series}.seed-1", "1"): curve}
        parts = [cells(names, f"d{number}", "domain") for number in range(6)]
        found.append((trace(pd.concat(parts), "steps", {})[1], pd.concat(parts)))
    onsets, every = (pd.concat(tables) for tables in zip(*found, strict=True))
    table = agree_on_order(onsets, every)
    assert len(table) == 7  # pairs of four trainings, and one of two means
    assert (table["seed_a"] == ALL_SEEDS).sum() == (table["seed_b"] == ALL_SEEDS).sum() == 1
    write_table(table, OrderAgreements, tmp_path / "order.parquet", Provenance())


def test_bands_and_onsets_hold_what_they_say_in_a_short_simulation(measurement):
    found = measurement("learning_curves").simulate(100, onset=100.0)
    assert found["band"] >= 0.9
    assert found["onset"] >= 0.9
    assert found["never"] <= 0.05
    assert found["forgets"] <= 0.08
