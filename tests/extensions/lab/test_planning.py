"""Planning and pooling from judgements, as commands and as tables."""

import numpy as np
import pandas as pd
import pytest

from simulated_judgements import DOMAINS, simulate_items, simulate_judgements
from worldprobe import cli
from worldprobe.benchmarks.ewok.contracts import COMPARED, Judgements
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe_lab.contracts import (
    Orders,
    Plans,
    PooledMeans,
)
from worldprobe_lab.displays import pooled_domains, study_sizes
from worldprobe_lab.planning import plan_studies, pool_means, versions_needed

ROSTER = Roster({name: ShownModel(id=name, name=name) for name in ("ant", "bee")})


@pytest.fixture(scope="module")
def judgements():
    """Two models; the first domain is hard for both, the last one easy."""
    items = simulate_items(180, 3, seed=1)
    ease = items["domain"].map(dict(zip(DOMAINS, (-1.5, 0.0, 1.5), strict=True))).to_numpy()
    log_odds = (
        np.broadcast_to(ease[None, :, None], (2, len(items), 2))
        + np.array([0.1, -0.1])[:, None, None]
    )
    return simulate_judgements(items, log_odds, ["ant", "bee"], "logprobs", 2)


def test_a_plan_has_every_size_overall_and_by_domain(judgements):
    plans = validate(plan_studies(judgements, 0.05, n_versions=[2, 3, 10]), Plans)
    assert plans.groupby(["grouping", "group"]).size().tolist() == [12] * 4
    overall = plans[plans["grouping"] == "overall"].set_index(["n_clusters", "n_versions"])
    own = plans[plans["grouping"] == "overall"]["n_clusters"].unique()[1]
    assert overall.loc[(own, 3), "n_templates"] == 180
    assert overall.loc[(own, 10), "power"] > overall.loc[(own, 3), "power"]
    assert (
        plans[plans["grouping"] == "domain"].groupby("group")["detectable"].min()
        > overall["detectable"].min()
    ).all()


def test_pairings_are_planned_by_their_own_variance(judgements):
    by_metric = [plan_studies(judgements, 0.05, n_versions=[3], metric=m) for m in COMPARED]
    assert not np.allclose(*(plans["detectable"] for plans in by_metric))
    as_accuracy = judgements.assign(accuracy=judgements["pairing"])
    expected = plan_studies(as_accuracy, 0.05, n_versions=[3])
    pd.testing.assert_frame_equal(by_metric[1], expected)
    with pytest.raises(UserError, match="has judgements of an earlier worldprobe"):
        plan_studies(judgements.drop(columns="pairing"), 0.05, metric="pairing")


def test_two_items_with_their_own_fillings_find_more_than_two_versions(judgements):
    rows = (judgements, judgements.assign(filling="own"))
    shared, own = (validate(plan_studies(one, 0.05, n_versions=[2]), Plans) for one in rows)
    assert (own["detectable"] < shared["detectable"]).all()


def test_the_fewest_versions_that_are_enough_are_named_and_none_where_none_are():
    plans = pd.DataFrame(
        {"n_clusters": [9, 9, 9, 4], "n_versions": [2, 5, 9, 9], "power": [0.2, 0.8, 0.9, 0.3]}
    ).assign(
        grouping="overall",
        group="all",
        n_templates=90,
        n_replicates=1,
        power_low=0.1,
        power_high=1.0,
    )
    found = versions_needed(plans, 0.8).set_index("n_clusters")["n_versions"]
    assert found[9] == 5
    assert found[4] == 0


def test_a_domain_that_is_harder_is_surely_so_and_equal_models_are_pooled_alike(judgements):
    means, orders = pool_means(judgements)
    means, orders = validate(means, PooledMeans), validate(orders, Orders)
    assert set(means["grouping"]) == {"domain", "concept_pair"}
    assert len(orders) == 2 * 3
    assert (orders["probability"] > 0.95).all()
    assert orders[["lower", "higher"]].drop_duplicates().values.tolist() == [
        ["domain-a", "domain-b"],
        ["domain-a", "domain-c"],
        ["domain-b", "domain-c"],
    ]
    pairs = means[means["grouping"] == "concept_pair"]
    assert (
        pairs.groupby(["model", pairs["group"].str[:8]])["pooled"].std()
        < pairs.groupby(["model", pairs["group"].str[:8]])["mean"].std()
    ).all()


def test_commands_write_tables_that_are_printed(judgements, tmp_path):
    names = ("judgements", "plans", "means", "orders")
    rows, plans, means, orders = (str(tmp_path / f"{name}.parquet") for name in names)
    write_table(judgements, Judgements, rows, Provenance())
    assert cli.main(f"plan {rows} --difference 0.1 --out {plans}".split()) == 0
    assert cli.main(f"pool {rows} --orders-out {orders} --out {means}".split()) == 0
    sizes = study_sizes(read_table(plans, Plans), read_provenance(plans))
    assert "10 points" in sizes.finding
    tables = read_table(means, PooledMeans), read_table(orders, Orders)
    pooled = pooled_domains(*tables, ROSTER, read_provenance(means))
    assert pooled.frame["rank_low"].tolist() == [1, 2, 3] * 2
    assert pooled.frame["easier"].tolist() == [2, 1, 0] * 2


def test_a_plan_of_own_fillings_advises_against_two_versions(judgements, tmp_path, capsys):
    rows = tmp_path / "judgements.parquet"
    write_table(judgements.assign(filling="own"), Judgements, rows, Provenance())
    for n_versions, is_said in ((2, True), (3, False)):
        line = f"plan {rows} --n-versions {n_versions} --out {tmp_path / 'plans.parquet'}"
        assert cli.main(line.split()) == 0
        assert ("find no more than one" in capsys.readouterr().out) == is_said


def test_pooled_means_of_one_version_order_no_domains(judgements):
    """16% of sure orders of domains were wrong with one version of fixed fillings."""
    means, orders = pool_means(judgements[judgements["version"] == 0])
    assert orders["probability"].isna().all()
    made = Provenance(details={"one_version": True})
    sheet = pooled_domains(means, orders, ROSTER, made)
    assert not {"harder", "easier"} & {column.heading for column in sheet.columns}


def test_replicates_are_planned_for_where_the_pilot_has_some(judgements):
    rng = np.random.default_rng(3)
    runs = [judgements.assign(model=judgements["model"] + f"_{run}") for run in range(2)]
    shaken = runs[1].assign(
        accuracy=np.where(rng.random(len(judgements)) < 0.2, 1.0, runs[1]["accuracy"])
    )
    both = pd.concat([runs[0], shaken])
    named = {"ant": ["ant_0", "ant_1"], "bee": ["bee_0", "bee_1"]}
    plans = validate(
        plan_studies(both, 0.05, n_versions=[3], replicates=named, n_replicates=[2, 3, 10]), Plans
    )
    power = plans[plans["grouping"] == "overall"].groupby("n_replicates")["power"].max()
    assert power[2] < power[3] < power[10]


@pytest.fixture
def rated(judgements):
    """Ratings of five people who err: contracts.Ratings of the same items."""
    rng = np.random.default_rng(5)
    rows = judgements.loc[judgements["model"] == "ant", ["item_id", "target"]]
    rows = pd.concat([rows.assign(context=context) for context in (1, 2)], ignore_index=True)
    middle = np.where(rows["target"] == rows["context"], 3.7, 2.3)
    single = np.clip(np.round(middle[:, None] + 1.5 * rng.standard_normal((len(rows), 5))), 1, 5)
    return rows.assign(rating=single.mean(axis=1), n_raters=5.0, sd=single.std(axis=1, ddof=1))


@pytest.mark.parametrize("metric", ["accuracy", "pairing"])
def test_more_raters_find_a_difference_of_people_and_models_more_often(judgements, rated, metric):
    plans = plan_studies(judgements, 0.2, ratings=rated, n_raters=[1, 20], metric=metric)
    by_size = plans.set_index(["group", "n_clusters", "n_versions"])
    few, many = (by_size.loc[by_size["n_replicates"] == n, "detectable"] for n in (1, 20))
    assert (many < few).mean() > 0.9
    assert set(plan_studies(judgements, 0.2, ratings=rated)["n_replicates"]) == {5}


def test_versions_that_nobody_rated_are_left_out(judgements, rated):
    of_two = rated.assign(rating=rated["rating"].where(~rated["item_id"].str.endswith("_v2")))
    plans = plan_studies(judgements, 0.2, ratings=of_two)
    pd.testing.assert_frame_equal(
        plans, plan_studies(judgements[judgements["version"] < 2], 0.2, ratings=of_two.dropna())
    )
