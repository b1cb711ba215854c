"""Conditions of a study: paired by template, the first as the reference."""

import numpy as np
import pytest

from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.contracts import validate
from worldprobe_lab.condition_comparisons import compare_conditions
from worldprobe_lab.contracts import ConditionComparisons


def condition(level, n_versions=2, models=("ant", "bee"), n_templates=60, seed=0):
    items = simulate_items(n_templates, n_versions, seed=1)
    return simulate_judgements(
        items, np.full((len(models), len(items), 2), level), models, "logprobs", seed
    )


def test_a_templates_value_is_the_mean_of_its_items_and_only_common_templates_are_paired():
    main, nonce = condition(1.5, n_versions=3), condition(-1.5, n_versions=4, seed=1)
    nonce = nonce[nonce["meta_template"] > 2]
    table = validate(compare_conditions({"main": main, "nonce": nonce}), ConditionComparisons)
    row = table.query("model_a == 'ant' and grouping == 'overall'").iloc[0]
    common = main[main["meta_template"] > 2]
    expected = (
        common[common["model"] == "ant"]
        .groupby(["domain", "meta_template"])["accuracy"]
        .mean()
        .mean()
    )
    assert row["mean_b"] == pytest.approx(expected)
    assert (row["condition_b"], row["condition_a"], row["n"]) == ("main", "nonce", 54)
    assert (row["n_items_b"], row["n_items_a"]) == (162, 216)
    assert row["difference"] == pytest.approx(row["mean_a"] - row["mean_b"])
    assert row["p_holm"] < 0.05
    assert row["finding"] == "the condition hurts"
    assert not (table["p_holm"] < table["p"]).any()


def test_the_spread_is_that_of_the_versions_means_over_the_common_templates():
    main, nonce = condition(1.0), condition(-1.0, n_versions=3, seed=1)
    nonce = nonce[nonce["meta_template"] > 2]
    table = compare_conditions({"main": main, "nonce": nonce})
    row = table.query("model_a == 'ant' and grouping == 'overall'").iloc[0]
    for side, judged, n_versions in (("b", main, 2), ("a", nonce, 3)):
        common = judged[(judged["model"] == "ant") & (judged["meta_template"] > 2)]
        means = common.groupby("version")["accuracy"].mean()
        found = [row[f"{name}_{side}"] for name in ("low", "high", "n_versions")]
        assert found == [pytest.approx(means.min()), pytest.approx(means.max()), n_versions]
        assert row[f"low_{side}"] < row[f"mean_{side}"] < row[f"high_{side}"]
    alone = compare_conditions({"main": condition(1.0, n_versions=1), "nonce": nonce}).iloc[0]
    assert alone["low_b"] == alone["high_b"] == pytest.approx(alone["mean_b"])


def test_every_other_condition_is_compared_with_the_first_for_models_that_both_have():
    conditions = {
        "main": condition(0.5),
        "names": condition(0.5, seed=3),
        "nonce": condition(0.5, models=["bee", "cat"], seed=4),
    }
    table = compare_conditions(conditions).query("grouping == 'overall'")
    found = set(zip(table["condition_a"], table["model_a"], strict=True))
    assert found == {("names", "ant"), ("names", "bee"), ("nonce", "bee")}
    assert set(table["condition_b"]) == {"main"}


def test_conditions_with_equal_answers_are_not_told_apart():
    rows = condition(0.5)
    table = compare_conditions({"main": rows, "copy": rows})
    assert (table["status"] == "no_spread").all()
    assert table["p"].isna().all()


def kind_versions(numbers, seed, sd_version=0.3, n_templates=240):
    """One model on items whose fillings are kind to it or not, version by version."""
    items = simulate_items(n_templates, max(numbers) + 1, seed=1, domains=["garden"])
    items = items[items["version"].isin(numbers)].reset_index(drop=True)
    random = np.random.default_rng(seed)
    luck = random.normal(0, sd_version, (20, max(numbers) + 1))[:, items["version"].to_numpy()]
    return simulate_judgements(
        items,
        (0.3 + luck)[:, :, None].repeat(2, axis=2),
        [f"m{i:02}" for i in range(20)],
        "logprobs",
        seed,
    )


@pytest.mark.parametrize(
    ("first", "second"), [((0, 1, 2), (0, 1, 2)), ((0, 1, 2), (1, 2, 3, 4, 5))]
)
@pytest.mark.long
def test_conditions_whose_versions_were_lucky_are_not_told_apart(first, second):
    """Versions of the same numbers are pairs, others are not: both are right."""
    conditions = {"main": kind_versions(first, 1), "other": kind_versions(second, 2)}
    overall = "grouping == 'overall'"
    assert (compare_conditions(conditions).query(overall)["p"] < 0.05).mean() <= 0.1  # 20 models
    said_own = {name: rows.assign(filling="own") for name, rows in conditions.items()}
    assert (compare_conditions(said_own).query(overall)["p"] < 0.05).mean() <= 0.2


def test_one_version_in_a_condition_leaves_no_test_unless_each_item_has_its_own_fillings():
    conditions = {"one": condition(0.5, n_versions=1), "five": condition(0.5, n_versions=5, seed=2)}
    table = validate(compare_conditions(conditions), ConditionComparisons)
    assert set(table["status"]) == {"one_version"}
    assert table["p"].isna().all()
    assert table["ci_low"].notna().all()
    assert "about these fillings only" in table["finding"].iloc[0]
    own = compare_conditions(
        {name: rows.assign(filling="own") for name, rows in conditions.items()}
    )
    assert set(own["status"]) == {"ok"}


def test_targets_that_one_condition_lacks_are_left_out_of_both_and_counted():
    """Unread answers to the harder targets made the same answers "help"."""
    main = condition(0.5, models=["ant", "bee"])
    easy = main["target"] == 1
    main["accuracy"] = np.where(easy, 1.0, 0.0)
    unread = main.assign(
        accuracy=main["accuracy"].where(easy), status=np.where(easy, "ok", "missing")
    )
    table = validate(compare_conditions({"main": main, "unread": unread}), ConditionComparisons)
    row = table.query("model_a == 'ant' and grouping == 'overall'").iloc[0]
    assert row["difference"] == 0
    assert (row["n_targets"], row["n_missing_a"], row["n_missing_b"]) == (120, 120, 0)


@pytest.mark.parametrize("filling", ["shared", "own"])
def test_equal_answers_never_differ_whatever_one_condition_lacks(filling):
    """With own fillings, or a target without a common version, versions were not paired."""
    main = condition(0.5, n_versions=3).assign(filling=filling)
    wrong = (main["accuracy"] == 0) & (main["version"] > 0)
    alone = (main["meta_template"] == 1) & (main["target"] == 1)
    lost = (wrong & (main.index % 3 == 0)) | (alone & (main["version"] > 0))
    other = main.assign(
        accuracy=main["accuracy"].mask(lost), status=np.where(lost, "missing", "ok")
    )
    first = main.assign(accuracy=main["accuracy"].mask(alone & (main["version"] == 0)))
    table = compare_conditions({"main": first, "other": other})
    assert (table["difference"] == 0).all()
    assert (table["n_missing_a"] > 0).any()
