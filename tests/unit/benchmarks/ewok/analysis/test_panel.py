"""Templates of one pair of concepts share sentences, so they are drawn and flipped together."""

import numpy as np
import pandas as pd
import pytest

from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.analysis.compare import compare_on_items
from worldprobe.benchmarks.ewok.analysis.panel import build_panel, cluster_codes


def test_a_cluster_is_a_pair_of_concepts_of_one_domain_also_where_a_concept_has_no_partner():
    items = simulate_items(42, 2, seed=1)
    pairs = {
        (d, a, b)
        for d, a, b in zip(items["domain"], items["concept_a"], items["concept_b"], strict=True)
    }
    codes = cluster_codes(items, "concept_pair")
    assert sorted(set(codes)) == list(range(len(pairs)))
    assert len(set(cluster_codes(items, "template"))) == 42


@pytest.mark.long
def test_models_that_differ_by_their_luck_with_concepts_are_not_told_apart_by_chance():
    """All models are equally good, each knows some pairs of concepts better: templates as units
    would find differences.
    """
    items = simulate_items(210, 1, seed=1)
    codes = cluster_codes(items, "concept_pair")
    taste = np.random.default_rng(3).normal(0, 1.5, (40, codes.max() + 1))[:, codes]
    models = [f"m{i:02}" for i in range(40)]
    judgements = simulate_judgements(
        items, taste[:, :, None].repeat(2, axis=2), models, "logprobs", 3
    )
    found = {}
    for cluster in ("concept_pair", "template"):
        table = compare_on_items(judgements.assign(filling="own"), cluster=cluster).query(
            "grouping == 'overall'"
        )
        found[cluster] = (table["p"] < 0.05).mean()
    assert found["concept_pair"] <= 0.08
    assert found["template"] > 2 * found["concept_pair"]


def test_a_version_that_is_another_one_again_is_warned_of(caplog):
    items = simulate_items(60, 2, seed=1)
    judgements = simulate_judgements(
        items, np.zeros((2, len(items), 2)), ["ant", "bee"], "logprobs", 4
    )
    build_panel(judgements)
    assert not caplog.messages
    again = judgements[judgements["version"] == 1].assign(version=2)
    again["item_id"] = again["item_id"].str.replace("_v1", "_v2")
    build_panel(pd.concat([judgements, again], ignore_index=True))
    assert [message.split(" have ")[0] for message in caplog.messages] == ["versions 1 and 2"]
