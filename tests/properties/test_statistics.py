"""What must hold of judgements, means and tests whatever the numbers are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.comparisons import stars
from worldprobe.benchmarks.ewok.analysis.judge import judge_scores, judge_target_scores
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
from worldprobe.benchmarks.ewok.vocabulary import RELIABILITY

LOGPROBS = st.lists(st.integers(-30, -1).map(float), min_size=8, max_size=8)


def scores(values, ids=("toy-world_1_1_v0", "toy-world_2_1_v0")):
    places = [(i, t, c) for i in ids for t in (1, 2) for c in (1, 2)]
    rows = [
        {"item_id": i, "target": t, "context": c, "logprob": v}
        for (i, t, c), v in zip(places, values, strict=True)
    ]
    return pd.DataFrame(rows).assign(n_tokens=3, flags="")


def judged(values):
    items = simulate_items(2, 1, seed=0, domains=["toy-world"])
    return judge_target_scores(items, scores(values), "m").table


@settings(max_examples=25, deadline=None)
@given(LOGPROBS)
def test_naming_the_contexts_the_other_way_round_mirrors_every_accuracy(values):
    swapped = np.array(values).reshape(4, 2)[:, ::-1].ravel()
    np.testing.assert_array_equal(judged(values)["accuracy"], 1 - judged(list(swapped))["accuracy"])


@settings(max_examples=25, deadline=None)
@given(LOGPROBS, st.floats(0.1, 10))
def test_only_the_order_of_scores_matters(values, factor):
    scaled = [v * factor for v in values]
    np.testing.assert_array_equal(judged(values)["accuracy"], judged(scaled)["accuracy"])


@given(
    st.lists(st.tuples(st.floats(allow_nan=True), st.floats(allow_nan=True)), min_size=1),
    st.floats(0, 5),
)
def test_every_pair_is_exactly_one_of_right_wrong_tied_or_missing(pairs, near_tie):
    accuracy, is_tie, is_near_tie, is_missing = judge_scores(*np.array(pairs).T, near_tie)
    kinds = np.stack([accuracy == 1, accuracy == 0, is_tie, is_missing])
    assert (kinds.sum(axis=0) == 1).all()
    assert not (is_near_tie & (is_tie | is_missing)).any()


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(2, 9), st.floats(0, 0.5))
@pytest.mark.long
def test_means_lie_in_their_range_and_groups_make_up_the_whole(
    seed, n_versions, n_templates, share_tied
):
    items = simulate_items(n_templates, n_versions, seed)
    rows = simulate_judgements(
        items, np.zeros((1, len(items), 2)), ["m"], "logprobs", seed, share_tied
    )
    table = item_means(rows)
    means = table[(table["condition"] == "all") & (table["grouping"] != RELIABILITY)]
    assert (means["low"] <= means["mean"] + 1e-9).all()
    assert (means["mean"] <= means["high"] + 1e-9).all()
    assert (means["ci_low"].isna() | (means["ci_low"] <= means["ci_high"])).all()
    by_metric = means.set_index(["metric", "grouping", "group"])["mean"]
    assert by_metric["strict"]["overall"]["all"] <= by_metric["accuracy"]["overall"]["all"] + 1e-9
    whole = table.query("grouping == 'overall' and metric == 'accuracy'").set_index("condition")
    for grouping in ("domain", "context_type", "context_contrast", "target_contrast"):
        parts = table[
            (table["grouping"] == grouping)
            & (table["metric"] == "accuracy")
            & (table["condition"] != "all")
        ]
        weighted = (parts["mean"] * parts["n"]).groupby(parts["condition"]).sum() / parts.groupby(
            "condition"
        )["n"].sum()
        np.testing.assert_allclose(weighted, whole.loc[weighted.index, "mean"], atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 0.5, 1]), st.sampled_from([0, 0.5, 1])),
        min_size=4,
        max_size=30,
    )
)
def test_a_comparison_turned_round_has_the_same_p_and_the_opposite_difference(pairs):
    first, second = np.array(pairs, float).T
    number = np.arange(len(pairs))
    forth, back = (
        crossed_means(np.array([values]), number // 2, number % 2)
        for values in (first - second, second - first)
    )
    np.testing.assert_array_equal(forth.p, back.p)
    np.testing.assert_array_equal(forth.status, back.status)
    np.testing.assert_allclose(forth.mean, -back.mean, atol=1e-12)
    np.testing.assert_allclose(forth.ci_low, -back.ci_high, atol=1e-12)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_p_never_has_fewer_stars(one, other):
    low, high = sorted([one, other])
    assert len(stars(low)) >= len(stars(high))
