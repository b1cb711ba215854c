"""Means, ranges, counts and intervals."""

import math
import statistics

import numpy as np
import pandas as pd
import pytest

from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.analysis.panel import build_panel, interval_notes
from worldprobe.benchmarks.ewok.analysis.summarize import (
    item_means,
    metric_values,
)
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.tables.accuracy import mean_accuracy
from worldprobe.benchmarks.ewok.tables.models import contexts_by_model
from worldprobe.contracts import validate
from worldprobe.report.model_names import Roster


@pytest.fixture(scope="module")
def judgements():
    items = simulate_items(42, 3, seed=5)
    drawn = np.random.default_rng(0).normal(0.6, 1, (2, len(items), 2))
    tables = [
        simulate_judgements(items, drawn, ["ant", "bee"], e, seed=i, share_tied=0.1)
        for i, e in enumerate(["logprobs", "likert_free_two"])
    ]
    table = pd.concat(tables, ignore_index=True)
    lost = table.index[(table["model"] == "bee") & (table["eval_type"] == "logprobs")][:5]
    table.loc[lost, ["accuracy", "is_tie", "status"]] = [np.nan, False, "missing_score"]
    is_lost = table["item_id"].isin(table.loc[lost, "item_id"]) & (table["model"] == "bee")
    table.loc[is_lost & (table["eval_type"] == "logprobs"), "pairing"] = np.nan
    return table


@pytest.fixture(scope="module")
def means(judgements):
    return item_means(judgements)


def by_hand(rows, model, eval_type, grouping, group, metric):
    """The specification, one item after the other, without arrays."""
    items, paired = {}, {}
    for row in rows.to_dict("records"):
        if (row["model"], row["eval_type"]) != (model, eval_type):
            continue
        belongs = {
            "overall": True,
            "domain": row["domain"] == group,
            "context_contrast": row["context_contrast"] == group,
            "concept": (
                group
                in (
                    f"{row['domain']}/{row['concept_a']}",
                    f"{row['domain']}/{row['concept_b']}",
                )
            ),
        }[grouping]
        if belongs:
            items.setdefault((row["version"], row["item_id"]), {})[row["target"]] = row["accuracy"]
            paired[row["version"], row["item_id"]] = row["pairing"]
    versions = {}
    for (version, item), targets in items.items():
        known = [v for v in targets.values() if not math.isnan(v)]
        value = paired[version, item] if metric == "pairing" else math.nan
        if metric == "accuracy" and known:
            value = sum(known) / len(known)
        elif metric == "strict" and known:
            value = sum(v == 1 for v in known) / len(known)
        elif metric == "both_right" and len(known) == 2:
            value = float(known == [1, 1])
        elif metric == "context_sensitivity" and len(known) == 2:
            if eval_type.startswith(
                "likert"
            ):  # signs of T1's and T2's differences between the two contexts
                signs = [{1: 1, 0.5: 0, 0: -1}[targets[1]], {1: -1, 0.5: 0, 0: 1}[targets[2]]]
                value = float(signs in ([1, -1], [-1, 1], [0, 1], [0, -1], [1, 0], [-1, 0]))
            else:
                value = float(targets[1] == targets[2] != 0.5)
        if not math.isnan(value):
            versions.setdefault(version, []).append(value)
    means = {version: statistics.fmean(values) for version, values in versions.items()}
    return statistics.fmean(means.values()), min(means.values()), max(means.values()), len(items)


@pytest.mark.parametrize(
    "metric", ["accuracy", "strict", "both_right", "context_sensitivity", "pairing"]
)
@pytest.mark.parametrize(
    ("grouping", "group"),
    [
        ("overall", "all"),
        ("domain", "domain-b"),
        ("context_contrast", "negation"),
        ("concept", "domain-b/concept3x"),
    ],
)
def test_means_ranges_and_counts_are_those_of_a_plain_loop(
    judgements, means, metric, grouping, group
):
    for model, eval_type in [("ant", "logprobs"), ("bee", "logprobs"), ("bee", "likert_free_two")]:
        row = means.query(
            "model == @model and eval_type == @eval_type and metric == @metric and grouping =="
            " @grouping and group == @group"
        )
        row = row[row["condition"] == "all"].iloc[0]
        expected = by_hand(judgements, model, eval_type, grouping, group, metric)
        assert (row["mean"], row["low"], row["high"], row["n"]) == pytest.approx(expected, abs=1e-6)


def test_pairs_of_concepts_can_weigh_equally(judgements):
    """Pairs have one item to many: the mean of their means beside the mean over items."""
    rows = judgements[(judgements["model"] == "ant") & (judgements["eval_type"] == "logprobs")]
    of_pair = ["domain", "concept_a", "version"]
    is_first = rows["item_id"] == rows.groupby(of_pair)["item_id"].transform("first")
    uneven = rows[(rows["concept_a"] == rows["concept_a"].iloc[0]) | is_first]
    items = uneven.groupby(["domain", "concept_a", "concept_b", "version", "item_id"], dropna=False)
    pairs = items["accuracy"].mean().groupby(level=[0, 1, 2, 3], dropna=False)
    assert pairs.size().nunique() > 1
    over = item_means(uneven).query("metric == 'accuracy' and condition == 'all'")
    found = over.set_index("grouping")["mean"]
    expected = pairs.mean().groupby(level=3).mean().mean()
    assert found["concept pairs"] == pytest.approx(expected)
    assert found["overall"] != pytest.approx(expected)


def test_a_pair_of_concepts_weighs_the_same_however_many_of_its_scores_are_missing(judgements):
    """Its items without a score, and those that only other models were asked, do not weigh."""
    rows = judgements[judgements["eval_type"] == "logprobs"].copy()
    is_bee, of_pair = rows["model"] == "bee", rows["concept_a"] == rows["concept_a"].iloc[0]
    is_first = rows["template"].eq(1) & rows["meta_template"].eq(1)
    rows.loc[is_bee & of_pair & ~is_first, ["accuracy", "status"]] = [np.nan, "missing_score"]
    rows = rows[~(is_bee & (rows["concept_a"] == "concept1") & (rows["meta_template"] > 2))]
    whole = item_means(rows).query("metric == 'accuracy' and condition == 'all'")
    found = whole[whole["grouping"] == "concept pairs"].set_index("model")["mean"]
    for model, its in rows.groupby("model"):
        items = its.groupby(
            ["domain", "concept_a", "concept_b", "version", "item_id"], dropna=False
        )
        pairs = items["accuracy"].mean().groupby(level=[0, 1, 2, 3], dropna=False).mean()
        assert found[model] == pytest.approx(pairs.groupby(level=3).mean().mean(), abs=1e-6)


def test_domains_can_weigh_equally_as_in_babylm(judgements):
    """A version whose domains have unequal numbers of items, so that both averages differ."""
    first = judgements["domain"].min()
    few = judgements[
        (judgements["domain"] != first) | (judgements["template"] == judgements["template"].min())
    ]
    keys = ["model", "eval_type", "metric", "condition"]
    plain, equal = (item_means(few, average=average) for average in ("items", "domains"))
    rows = equal[equal["grouping"] == "overall"].set_index(keys)
    domains = (
        equal[(equal["grouping"] == "domain") & (equal["condition"] != "all")]
        .groupby(keys)["mean"]
        .mean()
    )
    assert np.allclose(rows.loc[domains.index, "mean"], domains, atol=1e-12)
    over = rows.xs("all", level="condition")["mean"]
    assert np.allclose(over, domains.groupby(keys[:3]).mean().loc[over.index], atol=1e-12)
    assert rows["ci_low"].isna().all()
    others = plain["grouping"] != "overall"
    pd.testing.assert_frame_equal(plain[others], equal[others])
    assert not np.allclose(plain[~others]["mean"], equal[~others]["mean"])


def test_a_missing_score_is_counted_and_never_a_zero(judgements, means):
    row = means.query(
        "model == 'bee' and eval_type == 'logprobs' and metric == 'accuracy' and grouping =="
        " 'overall' and condition == 'all'"
    )
    assert row["n_missing"].tolist() == [5]
    alone = judgements.query("model == 'bee' and eval_type == 'logprobs'").assign(
        status="missing_score", accuracy=np.nan, is_tie=False, pairing=np.nan
    )
    nothing = item_means(alone)
    assert nothing["mean"].isna().all()
    assert nothing["ci_low"].isna().all()


def test_ties_are_counted_where_they_are(judgements, means):
    table = means.query("model == 'ant' and eval_type == 'logprobs' and metric == 'accuracy'")
    mine = judgements.query("model == 'ant' and eval_type == 'logprobs'")
    assert (
        table.query("grouping == 'overall' and condition == '1'")["n_ties"].item()
        == mine.query("version == 1")["is_tie"].sum()
    )
    by_domain = table.query("grouping == 'domain' and condition == 'all'").set_index("group")[
        "n_ties"
    ]
    assert by_domain.to_dict() == mine.groupby("domain")["is_tie"].sum().to_dict()


def test_intervals_depend_neither_on_the_order_nor_on_other_models(judgements, means):
    bee = judgements[judgements["model"] == "bee"].sample(frac=1, random_state=0)
    together = means[means["model"] == "bee"].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        validate(item_means(bee), Summaries), validate(together, Summaries)
    )
    whole = means.query("condition == 'all' and grouping == 'overall'")
    assert (whole["ci_low"] < whole["mean"]).all()
    assert (whole["mean"] < whole["ci_high"]).all()


def test_intervals_cover_the_truth_as_often_as_they_promise():
    """Templates and versions vary and so do the items; 95% intervals may be somewhat wide,
    never clearly narrow.
    """
    n_templates, n_versions, n_studies = 60, 5, 80
    rng = np.random.default_rng(11)
    items = simulate_items(n_templates, n_versions, seed=1, domains=["domain-a"])
    template = np.repeat(np.arange(n_templates), n_versions)
    version = np.tile(np.arange(n_versions), n_templates)
    truth = np.mean(1 / (1 + np.exp(-(0.8 + rng.normal(0, np.hypot(1.0, 0.2), 400_000)))))
    log_odds = (
        0.8
        + rng.normal(0, 1, (n_studies, n_templates))[:, template]
        + rng.normal(0, 0.2, (n_studies, n_versions))[:, version]
    )
    studies = [
        f"study-{number:02}" for number in range(n_studies)
    ]  # a model each: its interval does not depend on the others
    table = simulate_judgements(
        items, log_odds[:, :, None].repeat(2, axis=2), studies, "logprobs", seed=0
    )
    rows = item_means(table).query(
        "metric == 'accuracy' and grouping == 'overall' and condition == 'all'"
    )
    assert sorted(rows["model"]) == studies
    covered = ((rows["ci_low"] <= truth) & (truth <= rows["ci_high"])).sum()
    assert 0.90 <= covered / n_studies <= 1.0


def test_neither_unread_answers_nor_a_model_without_preference_are_context_sensitive():
    """A model that always answers "1" has a half for both targets with swapped contexts."""
    items = simulate_items(3, 1, seed=0)
    for eval_type in ("logprobs", "choice_free_two", "likert_free_two"):
        table = simulate_judgements(
            items, np.zeros((1, 3, 2)), ["m"], eval_type, seed=0, share_tied=1.0
        )
        assert metric_values(build_panel(table))[3].tolist() == [[0.0, 0.0, 0.0]]
    table = simulate_judgements(items, np.full((1, 3, 2), -50.0), ["m"], "likert_free_two", seed=0)
    assert metric_values(build_panel(table))[3].tolist() == [[1.0, 1.0, 1.0]]
    table["status"] = "missing_response"
    assert metric_values(build_panel(table))[3].tolist() == [[0.0, 0.0, 0.0]]


def test_intervals_know_that_templates_of_one_pair_of_concepts_share_sentences():
    """Accuracy depends on the pair of concepts alone: only few independent values, whatever the
    number of templates.
    """
    items = simulate_items(210, 1, seed=1, domains=["domain-a"])
    taste = np.random.default_rng(4).normal(
        0, 4, items.groupby(["concept_a", "concept_b"], dropna=False).ngroups
    )
    code = items.groupby(["concept_a", "concept_b"], dropna=False).ngroup().to_numpy()
    table = simulate_judgements(
        items, taste[code][None, :, None].repeat(2, axis=2), ["m"], "logprobs", seed=1
    )
    wanted = "metric == 'accuracy' and condition == 'all' and grouping in ('overall', 'concept')"
    pairs, templates = (
        item_means(table, cluster=c).query(wanted) for c in ("concept_pair", "template")
    )
    width, finer = (
        (t["ci_high"] - t["ci_low"])[t["grouping"] == "overall"].item() for t in (pairs, templates)
    )
    assert width > 2 * finer
    pd.testing.assert_frame_equal(
        pairs[pairs["grouping"] == "concept"], templates[templates["grouping"] == "concept"]
    )


def test_versions_that_differ_are_said_to_beside_an_interval_that_leaves_them_out(judgements):
    """The test of versions was computed and thrown away: the interval of own fillings held in 44 to
    77% where versions differ.
    """
    random = np.random.default_rng(4)
    shift = np.array([0.0, 1.5, -1.5])[judgements["version"]]
    kind = random.random(len(judgements)) < 1 / (1 + np.exp(-0.5 - shift))
    rows = judgements.assign(filling="own", accuracy=kind.astype(float), status="ok")
    planted = validate(item_means(rows), Summaries)
    overall = planted.query("grouping == 'overall' and condition == 'all' and metric == 'accuracy'")
    assert (overall["p_versions"] < 0.001).all()
    assert planted.query("condition != 'all'")["p_versions"].isna().all()
    notes = interval_notes(overall, overall["model"])
    assert "ant: versions differ more than chance (p < 0.001): the interval is about" in notes[0]
    assert not interval_notes(overall.assign(p_versions=0.3))
    roster = Roster({})
    for table in (mean_accuracy(planted, roster), contexts_by_model(planted, roster)):
        assert "versions differ more than chance" in " ".join(table.notes)
    shared = item_means(rows.assign(filling="shared"))
    of_shared = shared.query("grouping == 'overall' and condition == 'all'")
    assert "versions differ" not in " ".join(interval_notes(of_shared))


def test_means_of_fewer_than_six_pairs_of_concepts_have_a_warning(judgements):
    few = judgements[judgements["concept_a"].isin(["concept1", "concept2"])]
    few = few[few["domain"] == "domain-a"]
    overall = item_means(few).query("grouping == 'overall' and condition == 'all'")
    assert (overall["n_clusters"] < 6).all()
    assert "from fewer than 6 pairs of concepts" in interval_notes(overall)[0]
