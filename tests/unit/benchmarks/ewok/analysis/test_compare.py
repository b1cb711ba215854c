"""Paired tests, correlations and the agreement of two ways of asking."""

import numpy as np
import pandas as pd
import pytest

from command_line import run
from simulated_judgements import simulate_features, simulate_items, simulate_judgements
from worldprobe.analysis.comparisons import describe_finding
from worldprobe.benchmarks.ewok.analysis.compare import (
    compare_on_items,
    pairs_without_items,
)
from worldprobe.benchmarks.ewok.analysis.judge import judge_responses
from worldprobe.benchmarks.ewok.analysis.panel import TWO_VERSIONS
from worldprobe.benchmarks.ewok.analysis.summarize import (
    correlate_with_features,
    correlation,
    cross_preferences,
)
from worldprobe.benchmarks.ewok.contracts import Agreements, Comparisons, Judgements
from worldprobe.benchmarks.ewok.tables.statistics import comparisons
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.page import render_template


def two_models(difference, n_templates=120, seed=0):
    items = simulate_items(n_templates, 4, seed)
    common = np.random.default_rng(seed).normal(0.5, 1, (1, len(items), 2))
    return simulate_judgements(
        items, common + np.array([difference, 0.0])[:, None, None], ["ant", "bee"], "logprobs", seed
    )


def shared_fillings(n_versions, sd_version, sd_pair=0.4, n_models=2, n_templates=240):
    """Equally good models; the fillings of a version are kind to each of them by its own amount."""
    items = simulate_items(n_templates, n_versions, 1)
    random = np.random.default_rng(n_versions)
    version = items["version"].to_numpy()
    pair = items.groupby(["domain", "concept_a", "concept_b"], dropna=False).ngroup().to_numpy()
    taste = random.normal(0, sd_pair, (n_models, pair.max() + 1))[:, pair]
    taste = taste + random.normal(0, sd_version, (n_models, n_versions))[:, version]
    names = [f"m{i:02}" for i in range(n_models)]
    return simulate_judgements(
        items, (0.2 + taste)[:, :, None].repeat(2, axis=2), names, "logprobs", n_versions
    )


@pytest.mark.parametrize("n_versions", [2, 3, 5])
@pytest.mark.long
def test_versions_that_favour_one_model_are_not_taken_for_its_merit(n_versions):
    rows = shared_fillings(n_versions, 0.3, n_models=20)
    wanted = "grouping == 'overall'"
    table = compare_on_items(rows).query(wanted)
    assert ((table["p"] < 0.05) == ((table["ci_low"] > 0) | (table["ci_high"] < 0))).all()
    assert (table["p"] < 0.05).mean() <= 0.08  # 190 pairs of 20 models
    as_own = compare_on_items(rows.assign(filling="own")).query(
        wanted
    )  # said to be own, and yet versions differ
    assert (as_own["p"] < 0.05).mean() <= (
        0.2 if n_versions == 2 else 0.1
    )  # two hardly show that they differ
    assert as_own["interval_over"].str.contains("versions").mean() > 0.5


def test_one_version_is_about_its_fillings_only():
    table = validate(compare_on_items(shared_fillings(1, 0.0, sd_pair=2.0)), Comparisons)
    row = table.query("grouping == 'overall'").iloc[0]
    assert (row["status"], row["n_versions"]) == ("one_version", 1)
    assert np.isnan([row["p"], row["p_holm"]]).all()
    assert row["ci_low"] < row["difference"] < row["ci_high"]
    assert row["finding"].startswith("about these fillings only")


def test_items_with_fillings_of_their_own_have_no_versions_to_draw():
    rows = two_models(1.0)
    own = compare_on_items(rows[rows["version"] == 0].assign(filling="own"))
    assert set(own["status"]) == {"ok"}


def printed(rows, **details):
    """What ``compare`` prints of judgements, and the notes of its table."""
    table = compare_on_items(rows)
    overall = table.query("grouping == 'overall'").assign(way="LogProbs").to_dict("records")
    text = render_template(
        "worldprobe.report", "assets/comparisons.txt.jinja", rows=overall, units="items"
    )
    made = Provenance(details=details)
    return text, " ".join(comparisons(table, made, Roster({})).notes)


def test_two_versions_of_own_fillings_are_advised_against_and_may_differ_by_chance():
    """ "Versions differ more than expected" was said of a quarter of pairs that are alike."""
    rows = shared_fillings(3, 0.1, n_models=6).assign(filling="own")
    notes = printed(rows[rows["version"] < 2], own_fillings=True)[1]
    assert "Two versions of items with fillings of their own find no more than one" in notes
    assert "versions may differ (F test, p < 0.25, as a quarter has by chance)" in notes
    assert TWO_VERSIONS not in printed(rows, own_fillings=True)[1]


def test_fewer_than_six_pairs_of_concepts_are_warned_of_and_the_test_is_named():
    rows = two_models(0.5).query("version == 0").assign(filling="own")
    text, notes = printed(rows)
    assert "by flips of signs, as clusters are unequal" in text
    assert "(flips of signs where clusters are unequal)" in notes
    assert "caution" not in text.lower() + notes.lower()
    few = rows[rows["concept_a"].isin(["concept1", "concept2"]) & (rows["domain"] == "domain-a")]
    text, notes = printed(few)
    assert "caution: fewer than 6 clusters" in text
    assert "from fewer than 6 pairs of concepts" in notes


def test_a_pair_that_was_compared_is_named_as_missing_in_neither_order():
    judgements = two_models(1.0)
    order = pd.Categorical(
        judgements["model"], ["bee", "ant"]
    )  # as of tables that are read one by one
    compared = compare_on_items(judgements.assign(model=order))
    assert pairs_without_items(compared, ["cow", "bee", "ant"]) == [["ant", "cow"], ["bee", "cow"]]


def test_a_real_difference_is_found_and_the_better_one_is_named():
    table = validate(compare_on_items(two_models(1.0)), Comparisons)
    overall = table[table["grouping"] == "overall"].iloc[0]
    assert overall["p"] < 0.05
    assert overall["ci_low"] > 0
    assert overall["finding"] == "ant is better"
    assert overall["n"] == 480
    assert not (table["p_holm"] < table["p"]).any()
    assert (table["grouping"] == "domain").sum() == 3


def overall_finding(rows):
    return compare_on_items(rows).query("grouping == 'overall'")["finding"].iloc[0]


def test_a_difference_between_guesses_makes_neither_better():
    """One untrained model in two precisions was "better" in one of them (p = 0.015)."""
    rows = two_models(0.0)
    share = np.where(rows["model"] == "ant", 0.5, 0.2)
    drawn = np.random.default_rng(1).random(len(rows))
    assert "is better" not in overall_finding(rows.assign(accuracy=(drawn < share).astype(float)))


def test_near_ties_and_what_a_model_has_read_qualify_which_is_better():
    rows = two_models(1.0)
    is_bee = rows["model"] == "bee"
    assert overall_finding(rows) == "ant is better"
    assert "is better" not in overall_finding(rows.assign(is_near_tie=is_bee))
    for who, said in ((~is_bee, " on these items"), (is_bee, ", although bee")):
        assert f"ant is better{said}" in overall_finding(
            rows.assign(taught=np.where(who, "story", ""))
        )


def test_a_perfect_model_is_better_than_one_that_guesses():
    """1.000 has no variance, and was "not shown to be above chance"."""
    rows = two_models(0.0)
    rows["accuracy"] = np.where(rows["model"] == "ant", 1.0, rows["accuracy"])
    assert overall_finding(rows) == "ant is better"


def test_answers_that_one_model_lacks_are_left_out_of_both_and_counted():
    """Identical answers, some missing, made one model "better by 22.9 points"."""
    rows = two_models(0.0)
    ant = rows[rows["model"] == "ant"].reset_index(drop=True)
    ant["accuracy"] = np.where(ant["target"] == 1, 1.0, ant["accuracy"] * (ant.index % 3 == 0))
    missing = ant.assign(
        accuracy=ant["accuracy"].mask(ant["target"] == 2),
        status=np.where(ant["target"] == 2, "missing", "ok"),
    )
    table = compare_on_items(pd.concat([missing, ant.assign(model="bee")]))
    overall = table[table["grouping"] == "overall"].iloc[0]
    assert overall["difference"] == 0
    assert overall["mean_a"] == overall["mean_b"] == pytest.approx(1)
    assert overall["n_targets"] == overall["n_missing_a"] == len(ant) / 2
    assert overall["n_missing_b"] == 0


def six_runs(level=0.4):
    rows = two_models(level, n_templates=30)
    runs = [rows.assign(model=rows["model"] + f"_{k}") for k in range(2)]
    third = runs[0][runs[0]["model"] == "ant_0"]
    return pd.concat([*runs, *(third.assign(model=f"cat_{k}") for k in range(2))])


GROUPS = {"X": ["ant_0", "ant_1"], "Y": ["bee_0", "bee_1"], "Z": ["cat_0", "cat_1"]}


def test_what_a_third_group_of_runs_lacks_says_nothing_of_two_others():
    """A p that was missing became "X is better, but not after Holm's correction"."""
    rows = six_runs()
    whole = compare_on_items(rows, replicates=GROUPS)
    lacks = (rows["model"] == "cat_0") & (rows["domain"] == rows["domain"].iloc[0])
    some = compare_on_items(rows.assign(accuracy=rows["accuracy"].mask(lacks)), replicates=GROUPS)
    columns = ["difference", "ci_low", "ci_high", "p"]
    alone, beside = (
        table.query("model_a == 'X' and model_b == 'Y'")[columns].reset_index(drop=True)
        for table in (whole, some)
    )
    pd.testing.assert_frame_equal(alone, beside)
    assert describe_finding({"status": "ok", "p": np.nan}, "+", "-") == "no difference shown"


def test_ties_of_replicates_are_those_of_one_run():
    """Those of three runs together were more than half of the targets."""
    rows = six_runs()
    rows["is_near_tie"] = rows.groupby("model").cumcount() % 5 == 0
    table = compare_on_items(rows, replicates=GROUPS)
    assert (table["n_tied_a"] <= 0.3 * table["n_targets"]).all()


def test_models_without_a_difference_are_not_told_apart():
    rows = two_models(0.0)
    assert overall_finding(rows) == "no difference shown"
    ant = rows[rows["model"] == "ant"]
    same = compare_on_items(pd.concat([ant, ant.assign(model="bee")]))
    assert (same["status"] == "no_spread").all()
    assert same["p"].isna().all()


def test_a_pairs_numbers_do_not_depend_on_the_other_models():
    rows = two_models(0.4, n_templates=30)
    third = rows[rows["model"] == "ant"].assign(model="cat", accuracy=1.0)
    third.iloc[:4, third.columns.get_loc("accuracy")] = np.nan  # another set of items in common
    alone = compare_on_items(rows)
    together = compare_on_items(pd.concat([rows, third]))
    same = together[(together["model_a"] == "ant") & (together["model_b"] == "bee")].reset_index(
        drop=True
    )
    columns = ["difference", "p", "ci_low", "ci_high", "n"]
    pd.testing.assert_frame_equal(alone[columns], same[columns])
    assert (together[together["model_b"] == "cat"].query("grouping == 'overall'")["n"] == 118).all()


def test_swapping_the_models_swaps_only_the_sign():
    rows = two_models(0.4)
    forth = compare_on_items(rows).query("grouping == 'overall'").iloc[0]
    back = rows.assign(model=rows["model"].map({"ant": "zoe", "bee": "bee"}))
    back = compare_on_items(back).query("grouping == 'overall'").iloc[0]
    assert (back["model_a"], back["difference"], back["p"]) == (
        "bee",
        pytest.approx(-forth["difference"]),
        forth["p"],
    )


def test_a_model_is_compared_with_baselines_which_cost_comparisons_of_models_nothing():
    rows = two_models(0.5)
    bee = rows[rows["model"] == "bee"]
    baselines = [bee.assign(model=name, eval_type=name) for name in ("wordnet", "word2vec")]
    table = (
        compare_on_items(pd.concat([rows, *baselines]))
        .query("grouping == 'overall'")
        .set_index(["model_a", "model_b"])
    )
    assert set(table.index) == {
        ("ant", "bee"),
        *((model, name) for model in ("ant", "bee") for name in ("wordnet", "word2vec")),
    }
    assert table["difference"]["ant", "wordnet"] == table["difference"]["ant", "bee"] > 0
    alone = compare_on_items(rows).query("grouping == 'overall'")
    assert table["p_holm"]["ant", "bee"] == alone["p_holm"].item()
    assert len(compare_on_items(pd.concat([bee, *baselines])).query("grouping == 'overall'")) == 2


def test_correlations_are_over_domain_and_version_means_and_over_items():
    items = simulate_items(60, 3, seed=2)
    surface = simulate_features(items, 2)
    words = surface["n_words"].to_numpy().reshape(-1, 2).mean(axis=1)
    log_odds = np.repeat((3 * (words - words.mean()) / words.std())[None, :, None], 2, axis=2)
    rows = pd.concat(
        [
            simulate_judgements(items, log_odds, ["wordy"], "logprobs", 1),
            simulate_judgements(items, np.zeros_like(log_odds), ["word2vec"], "word2vec", 2),
            simulate_judgements(items, np.full_like(log_odds, 60.0), ["perfect"], "logprobs", 3),
        ],
        ignore_index=True,
    )
    table, points = correlate_with_features(rows, surface)
    row = table.set_index(["model", "feature", "unit"])
    per_item = rows[rows["model"] == "wordy"].groupby("item_id")["accuracy"].mean()
    by_hand = np.corrcoef(per_item, surface.groupby("item_id")["n_words"].mean())[0, 1]
    assert row.loc[("wordy", "n_words", "item"), "r"] == pytest.approx(by_hand, abs=1e-6)
    assert row.loc[("wordy", "n_words", "item"), "stars"] == "**"
    assert row.loc[("wordy", "n_words", "domain_version"), "n"] == 9
    mine = points[points["model"] == "wordy"]
    assert row.loc[("wordy", "word2vec", "domain_version"), "r"] == pytest.approx(
        np.corrcoef(mine["word2vec"], mine["accuracy"])[0, 1]
    )
    assert np.isnan(row.loc[("perfect", "n_words", "item"), "r"])
    assert "word2vec" not in set(table["model"])


def test_points_of_one_domain_are_no_independent_evidence():
    """Two unrelated features, each with nine tenths of its variance between domains."""
    random = np.random.default_rng(0)
    domain, version = (codes.ravel() for codes in np.indices((11, 5)))
    found = []
    for _ in range(300):
        x, y = (3 * random.standard_normal(11)[domain] + random.standard_normal(55) for _ in "xy")
        found.append(correlation(x, y, domain, version))
    table = pd.DataFrame(found)
    assert (table["p"] < 0.05).mean() <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 300)
    assert (table["p_paper"] < 0.05).mean() > 0.25
    assert ((table["p"] < 0.05) == (table["stars"] != "")).all()
    assert ((table["p"] < 0.05) == ((table["ci_low"] > 0) | (table["ci_high"] < 0))).all()


def test_a_missing_baseline_leaves_its_correlation_out_not_zero():
    items = simulate_items(20, 2, seed=2)
    table, points = correlate_with_features(
        simulate_judgements(items, np.zeros((1, 40, 2)), ["m"], "logprobs", 1),
        simulate_features(items, 2),
    )
    assert set(table["feature"]) == {"n_words", "log_frequency"}
    assert points["word2vec"].isna().all()


def answers(model, eval_type, rows):
    return pd.DataFrame(
        [
            {
                "model": model,
                "item_id": i,
                "eval_type": eval_type,
                "presentation": p,
                "value": v,
                "status": "ok" if v else "no_numeral",
            }
            for i, shown in rows.items()
            for p, v in shown.items()
        ]
    ).astype({"value": float})


LIKERT = {
    "a-a_1_1_v0": {"t1c1": 5, "t1c2": 2, "t2c1": 1, "t2c2": 1},
    "a-a_1_1_v1": {"t1c1": 2, "t1c2": 4, "t2c1": None, "t2c2": 3},
}


def judged(rows):
    """The judgements of answers to two items."""
    items = simulate_items(2, 1, seed=1).assign(item_id=list(LIKERT))
    return pd.concat(
        [judge_responses(items, part, model).table for model, part in rows.groupby("model")],
        ignore_index=True,
    )


def test_agreement_counts_equal_ratings_and_position_following_as_no_preference():
    choice = {
        "a-a_1_1_v0": {"t1": 1, "t1s": 2, "t2": 1, "t2s": 1},
        "a-a_1_1_v1": {"t1": 1, "t1s": 2, "t2": 2, "t2s": None},
    }
    rows = pd.concat(
        [answers("m", "likert_free_two", LIKERT), answers("m", "choice_free_two", choice)]
    )
    table = validate(cross_preferences(judged(rows)), Agreements)
    found = table[table["n"] > 0].set_index(["likert", "choice"])["n"].to_dict()
    assert found == {
        ("context1", "context1"): 1,
        ("none", "none"): 1,
        ("context2", "context1"): 1,
        ("missing", "missing"): 1,
    }
    assert table["share"].sum() == pytest.approx(1)


def test_models_that_are_means_of_training_runs_are_compared_for_other_runs():
    runs = [
        two_models(0.4).assign(model=lambda rows, run=run: rows["model"] + str(run))
        for run in range(3)
    ]
    lucky = runs[0].assign(accuracy=runs[0]["accuracy"].where(runs[0]["model"] != "ant0", 1.0))
    rows = pd.concat([lucky, *runs[1:]])
    named = {"ant": ["ant0", "ant1", "ant2"], "bee": ["bee0", "bee1", "bee2"]}
    overall = compare_on_items(rows, replicates=named).query("grouping == 'overall'").iloc[0]
    assert overall["model_a"] == "ant"
    assert overall["mean_a"] == pytest.approx(
        rows[rows["model"].str.startswith("ant")]["accuracy"].mean()
    )
    assert "replicates of each model" in overall["interval_over"]
    one_run = (
        compare_on_items(rows[rows["model"].isin(["ant0", "bee0"])])
        .query("grouping == 'overall'")
        .iloc[0]
    )
    assert one_run["p"] < 0.001 < overall["p"]


@pytest.mark.long
def test_a_comparison_calls_above_chance_what_a_model_alone_is_called():
    """`summarize` gave 0.508 to 0.624, and `compare` "neither is shown to be above chance"."""
    from worldprobe.analysis.comparisons import above_or_below
    from worldprobe.benchmarks.ewok.analysis.summarize import item_means

    n_read_alike = 0
    for seed in range(14):
        items = simulate_items(60, 1, seed)
        odds = np.zeros((2, len(items), 2)) + np.array([0.26, -0.3])[:, None, None]
        rows = simulate_judgements(items, odds, ["ant", "bee"], "logprobs", seed)
        rows = rows.assign(filling="own")
        finding = overall_finding(rows)
        alone = item_means(rows[rows["model"] == "ant"]).query(
            "grouping == 'overall' and metric == 'accuracy' and condition == 'all'"
        )
        if finding == "ant is better" or "neither is shown" in finding:
            n_read_alike += 1
            assert (above_or_below(alone).iloc[0] == "above") == (finding == "ant is better"), seed
    assert n_read_alike > 4


def test_one_version_with_shared_fillings_says_nothing_of_other_versions():
    from worldprobe.benchmarks.ewok.analysis.panel import drawn_in_words

    rows = two_models(1.0)
    assert drawn_in_words("concept_pair", rows) == "pairs of concepts and versions"
    assert drawn_in_words("concept_pair", rows[rows["version"] == 0]) == "pairs of concepts"


@pytest.mark.parametrize(
    ("cluster", "units"), [("concept_pair", "pairs of concepts"), ("template", "templates")]
)
def test_intervals_from_few_clusters_have_a_warning_wherever_they_are_printed(
    cluster, units, tmp_path, capsys
):
    rows, out = two_models(0.5, n_templates=5), tmp_path / "comparisons.parquet"
    write_table(rows, Judgements, tmp_path / "rows.parquet", Provenance())
    assert run(f"compare {tmp_path / 'rows.parquet'} --cluster {cluster} --out {out}") == 0
    warning = f"Caution: intervals are from fewer than 6 {units}, which"
    assert warning in capsys.readouterr().out
    sheet = comparisons(read_table(out, Comparisons), read_provenance(out), Roster({}))
    assert any(note.startswith(warning) for note in sheet.notes)
