"""Items that were read stand out from parallel forms; rare names, sorted files and other
templates do not.
"""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from worldprobe.models.engine import Loglikelihood
from worldprobe_lab import leak
from worldprobe_lab.leak import (
    QUESTIONS,
    compare_forms,
    compare_orders,
    measure_items,
    questions_of,
    shuffled_shards,
)

NAMES = [f"name{i}" for i in range(40)]
N_RUNS = 80
#: What the share of events of probability 0.05 exceeds in N_RUNS runs once in a hundred times.
RARE = 0.05 + 2.4 * np.sqrt(0.05 * 0.95 / N_RUNS)


@pytest.fixture(autouse=True)
def _fewer_relabellings(monkeypatch):
    """A tenth of the time."""
    monkeypatch.setattr(leak, "RELABELLINGS", 199)


def simulate(rng, gain=0.0, n_pairs=30, n_forms=3, one_name=False, pair_sd=0.0):
    """Log probabilities of given items and forms: templates, names and pairs of concepts have
    effects; a gain varies by pair.
    """
    of_name = dict(zip(NAMES, rng.normal(0, 3, len(NAMES)), strict=True))
    of_given = gain + rng.normal(0, pair_sd, n_pairs)
    given, forms = [], []
    for pair in range(n_pairs):
        for template in range(3):
            level = rng.normal(-40, 8)
            names = rng.choice(NAMES, 1 + n_forms, replace=False).tolist()
            names[0] = NAMES[0] if one_name else names[0]
            for form, name in enumerate(names):
                value = (
                    level + of_name[name] + rng.normal(0, 3) + (of_given[pair] if form == 0 else 0)
                )
                row = {
                    "template_id": f"d_{pair}_{template}",
                    "pair": str(pair),
                    "fillers": json.dumps({"agent1": name}),
                }
                (forms if form else given).append(row | {"logprob": value})
    return pd.DataFrame(given), pd.DataFrame(forms)


@pytest.mark.parametrize(
    "one_name", [False, True], ids=["filled alike", "one name in all given items"]
)
@pytest.mark.long
def test_the_test_holds_its_level(one_name):
    rng = np.random.default_rng(0)
    found = [compare_forms(*simulate(rng, one_name=one_name), "logprob") for _ in range(N_RUNS)]
    alarms = np.mean([effect.p < 0.05 for effect in found])
    covered = np.mean([effect.low <= 0 <= effect.high for effect in found])
    assert alarms < RARE
    assert covered > 1 - RARE


@pytest.mark.long
def test_a_few_very_unlikely_texts_make_no_false_alarms():
    """As they do in a t-test."""
    rng, of_t, of_relabelling = np.random.default_rng(7), [], []
    for _ in range(200):
        values = -rng.lognormal(0, 1, (15, 5))
        names = [f"d_{number}" for number in range(15)]
        given, *forms = (
            pd.DataFrame({"template_id": names, "pair": names, "fillers": "{}", "logprob": of_form})
            for of_form in values.T
        )
        of_relabelling.append(compare_forms(given, pd.concat(forms), "logprob").p)
        of_t.append(
            stats.ttest_1samp(
                values[:, 0] - values[:, 1:].mean(axis=1), 0, alternative="greater"
            ).pvalue
        )
    bound = 0.05 + 2.4 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(np.array(of_relabelling) < 0.05) < bound < np.mean(np.array(of_t) < 0.05)


@pytest.mark.long
def test_what_differs_between_pairs_of_concepts_is_no_leak():
    """Half of the pairs are likelier in the given form, half less likely, each with all its
    templates.
    """
    rng = np.random.default_rng(1)
    alarms = np.mean(
        [compare_forms(*simulate(rng, pair_sd=4.0), "logprob").p < 0.05 for _ in range(N_RUNS)]
    )
    assert alarms < RARE


def test_a_planted_gain_is_found_and_estimated():
    rng = np.random.default_rng(2)
    for one_name in (False, True):
        found = [
            compare_forms(*simulate(rng, gain=4.0, one_name=one_name), "logprob") for _ in range(15)
        ]
        assert np.mean([effect.estimate for effect in found]) == pytest.approx(4.0, abs=1.0)
        assert np.mean([effect.p < 0.05 for effect in found]) > 0.5
    assert all(effect.n_pairs == 30 and effect.n_templates == 90 for effect in found)


def test_without_unusual_fillers_it_is_the_mean_difference_within_templates():
    given, forms = simulate(np.random.default_rng(3), gain=1.0, n_pairs=12)
    alone = [frame.assign(fillers="{}") for frame in (given, forms)]
    means = alone[1].groupby("template_id")["logprob"].mean()
    expected = (
        (given.set_index("template_id")["logprob"] - means)
        .groupby(given.set_index("template_id")["pair"])
        .mean()
    )
    effect = compare_forms(*alone, "logprob")
    assert effect.estimate == pytest.approx(expected.mean())
    error = (effect.high - effect.estimate) / 2.201  # t of 11 degrees of freedom
    assert error == pytest.approx(expected.std(ddof=1) / np.sqrt(12), rel=0.05)


def test_templates_that_one_side_lacks_are_left_out():
    given, forms = simulate(np.random.default_rng(4), n_pairs=12)
    more = pd.concat([forms, forms.assign(template_id="other", logprob=0.0)])
    assert compare_forms(given, more, "logprob") == compare_forms(given, forms, "logprob")


def test_an_item_is_asked_about_in_the_order_in_which_it_is_measured():
    texts = {"context1": "A.", "context2": "B.", "target1": "a.", "target2": "b."}
    items = pd.DataFrame(
        [
            texts
            | {
                "item_id": "d_1_1_v0",
                "domain": "d",
                "concept_a": "x",
                "concept_b": None,
                "fillers": "{}",
            }
        ]
    )
    asked = questions_of(items)
    right = [
        Loglikelihood(None, "A."),
        Loglikelihood(None, "B."),
        Loglikelihood("A.", "a."),
        Loglikelihood("B.", "b."),
    ]
    assert asked == [*right, Loglikelihood("B.", "a."), Loglikelihood("A.", "b.")]
    [row] = measure_items(items, [-1.0, -2.0, -3.0, -4.0, -3.5, -4.0]).to_dict("records")
    assert (row["template_id"], row["logprob"], row["accuracy"]) == ("d_1_1", -10.0, 0.75)
    assert measure_items(items, [None, *[-1.0] * (len(QUESTIONS) - 1)]).empty


def test_texts_are_joined_and_words_counted_as_in_the_items_language():
    texts = {"context1": "箱子很重。", "context2": "箱子很轻。", "target1": "他搬不动箱子。"}
    design = {"item_id": "d_1_1_v0", "domain": "d", "concept_a": "x", "concept_b": None}
    row = texts | design | {"target2": "他搬得动箱子。", "fillers": "{}"}
    items = pd.DataFrame([row])
    assert questions_of(items)[2].text == "箱子很重。他搬不动箱子。"
    said = {
        code: measure_items(items, [-1.0] * len(QUESTIONS), code)["word_frequency"][0]
        for code in ("en", "zh", "xx")
    }
    assert said["zh"] > said["en"]
    assert np.isnan(said["xx"])


def likelihood(question: Loglikelihood, read: list[str]) -> float:
    """A model that knows which line followed which."""
    lines = question.target.split("\n")
    after = dict(itertools.pairwise(read))
    return -sum(1.0 if after.get(one) == other else 3.0 for one, other in itertools.pairwise(lines))


def test_a_file_that_was_read_in_its_order_is_found_and_one_that_was_not_is_not():
    rng = np.random.default_rng(6)
    lines = [f"line {i}" for i in rng.permutation(120)]
    asked = shuffled_shards(lines, 6, 10, 0)
    assert len(asked) == 20 * 11
    assert asked[0].target.split("\n") == lines[:6]
    assert sorted(asked[1].target.split("\n")) == sorted(lines[:6])
    read, other = (
        compare_orders(
            np.array([likelihood(question, known) for question in asked]).reshape(20, 11)
        )
        for known in (lines, [f"line {i}" for i in rng.permutation(120)])
    )
    assert read.p == 1 / 200 < 0.01 < other.p
