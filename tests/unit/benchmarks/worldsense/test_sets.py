"""Sets: counts, balance, right answers, stable bytes, subsets, nesting, and what is written."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY, answers_of
from worldprobe.benchmarks.worldsense.trials.files import read_official, read_trials
from worldprobe.benchmarks.worldsense.trials.sets import PLANS, blocks_of, plan_set
from worldprobe.benchmarks.worldsense.trials.trial_maker import permute, round_keys
from worldprobe_authoring.audit import audit_trials

SIZES = {
    "test": 87048,
    "test-new": 58032,
    "train-10k": 11232,
    "train-100k": 101088,
    "train-1m": 1002456,
    "memorisation": 11232,
    "same-skins": 87048,
    "ood-size": 9360,
    "ood-query": 6480,
    "ood-problem": 5400,
    "test-hard": 49104,
    "train-hard": 49104,
    "memorisation-hard": 6336,
    "same-skins-hard": 49104,
    "ood-size-hard": 15120,
    "test-motion": 50976,
    "train-motion": 99360,
    "memorisation-motion": 6624,
    "same-skins-motion": 50976,
    "ood-size-motion": 25488,
}


@pytest.fixture(scope="module")
def small() -> pd.DataFrame:
    return make_trials("test", per_cell=2)


@pytest.mark.parametrize("name", PLANS)
def test_sets_are_as_large_as_planned(name: str) -> None:
    plan = plan_set(name)
    per_round = sum(
        len(answers_of(block.cells[0].problem)) for block in blocks_of(plan, read_skins())
    )
    assert plan.per_cell * per_round == SIZES[name]


#: Depth takes a minute in the first; the others begin with the same trials as train-10k.
NOT_AUDITED = {"ood-size-hard", "train-100k", "train-1m", "memorisation"}


@pytest.mark.parametrize("name", [name for name in PLANS if name not in NOT_AUDITED])
@pytest.mark.long
def test_gold_answers_are_right_by_an_audit_and_balanced(name: str) -> None:
    trials = make_trials(name, per_cell=1, sizes=[6] if name == "ood-size-motion" else [])
    audit = audit_trials(trials, name)
    assert audit.wrong.empty
    assert audit.mixed_arity == 0
    assert audit.imbalance["gold_balanced"].all()
    uneven = audit.imbalance[audit.imbalance["least"] != audit.imbalance["most"]]
    few = (
        {"size", "complexity"} if name.endswith("-hard") else set()
    )  # some cells have few problems
    assert set(uneven["property"]) <= {"arity"} | few
    stated = audit.stated.set_index("problem")["stated"]
    assert (
        stated.get(
            ["Infer.normal", "Infer.trivial", "Consist.normal", "Compl.trivial"],
            pd.Series(dtype=int),
        ).sum()
        == 0
    )


def test_trials_of_a_tuple_differ_in_one_relation_and_in_nothing_else(small: pd.DataFrame) -> None:
    constant = ["problem", "size", "complexity", "arity", "skin", "wording", "entities"]
    tuples = small.groupby("tuple_id", sort=False)
    assert (tuples[constant].nunique() == 1).all(axis=None)
    assert (tuples["gold"].nunique() == tuples.size()).all()
    consistency = small[small["problem"] == "Consist.normal"]
    for _, trials in consistency.groupby("tuple_id", sort=False):
        first, second = (
            text.strip("[]").replace("),", ")|").split("|") for text in trials["description"]
        )
        assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    others = small[~small["problem"].str.startswith("Consist")]
    assert (others.groupby("tuple_id", sort=False)["description"].nunique() == 1).all()


def test_the_place_in_a_tuple_does_not_tell_the_answer(small: pd.DataFrame) -> None:
    for problem, trials in small.groupby("problem"):
        first = trials.groupby("tuple_id", sort=False)["gold"].first().value_counts()
        expected = first.sum() / len(answers_of(problem))
        assert (abs(first - expected) < 5 * expected**0.5).all()


def test_ids_are_unique_and_depend_on_the_content_only(small: pd.DataFrame) -> None:
    again = make_trials("test", per_cell=2, problems=["Infer.normal"])
    kept = small[small["problem"] == "Infer.normal"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.drop(columns="number"), kept.drop(columns="number"))
    assert small["trial_id"].is_unique


def test_a_subset_of_skins_has_the_whole_set_s_trials(small: pd.DataFrame) -> None:
    part = make_trials("test", per_cell=1, skins=["trips", "race"], sizes=[3])
    assert set(part["trial_id"]) <= set(small["trial_id"])
    assert len(part) == 2 * 2 * 26


def test_training_sets_are_nested_and_share_nothing_with_the_test_set(small: pd.DataFrame) -> None:
    first, longer = make_trials("train-10k", per_cell=1), make_trials("train-1m", per_cell=2)
    pd.testing.assert_frame_equal(first, longer.iloc[: len(first)])
    pd.testing.assert_frame_equal(make_trials("memorisation", per_cell=1), first)
    assert not set(longer["skin"]) & set(small["skin"])
    entities = [
        {name for names in frame["entities"] for name in json.loads(names)}
        for frame in (longer, small)
    ]
    assert not entities[0] & entities[1]


@pytest.mark.long
def test_the_bytes_are_the_same_for_any_number_of_processes_and_the_layouts_agree(
    tmp_path: Path,
) -> None:
    options = "generate train-10k --per-cell 16 --sizes 3 --problems Infer.normal Compl.trivial"
    for processes in ("1", "2"):
        files = (
            f"--dialogues-out {tmp_path}/{processes}.jsonl.gz --out {tmp_path}/{processes}.parquet"
        )
        assert run(f"worldsense {options} --processes {processes} {files}") == 0
    for layout in ("parquet", "jsonl.gz"):
        assert (tmp_path / f"1.{layout}").read_bytes() == (tmp_path / f"2.{layout}").read_bytes()
    trials = read_trials(tmp_path / "1.parquet")
    with gzip.open(tmp_path / "1.jsonl.gz", "rt", encoding="utf-8") as stream:
        dialogues = [json.loads(line) for line in stream]
    said = [tuple(message["content"] for message in dialogue["messages"]) for dialogue in dialogues]
    assert said == list(zip(trials["text"], trials["gold"].map(ANSWER_OF), strict=True))
    assert {dialogue["canary"] for dialogue in dialogues} == {CANARY}
    out = tmp_path / "trials.jsonl.bz2"
    assert run(f"worldsense export {tmp_path / '1.parquet'} --out {out}") == 0
    official = read_official(out)
    pd.testing.assert_frame_equal(
        official[["trial_id", "text", "gold"]], trials[["trial_id", "text", "gold"]]
    )


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_draws_are_without_replacement(n: int) -> None:
    assert sorted(permute(i, n, round_keys(n)) for i in range(n)) == list(range(n))


def test_a_sample_of_released_trials_has_whole_tuples_of_every_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, whole, few = (tmp_path / name for name in ("t.parquet", "t.jsonl.bz2", "few.jsonl.gz"))
    assert run(f"worldsense generate test --sizes 3 --per-cell 1 --out {ours}") == 0
    assert run(f"worldsense export {ours} --out {whole}") == 0
    assert run(f"worldsense sample {whole} --sample 60 --out {few}") == 0
    sampled, all_ = read_official(few), read_official(whole)  # which checks that tuples are whole
    assert len(sampled) <= 60
    assert set(sampled["problem"]) == set(all_["problem"])
    taken = all_[all_["trial_id"].isin(sampled["trial_id"])]
    columns = ["trial_id", "text", "gold", "tuple_id"]
    assert sampled[columns].equals(taken[columns].reset_index(drop=True))
    assert run(f"worldsense sample {ours} --sample 60 --out {few}") == 2
    assert "--sample` samples our own" in capsys.readouterr().err
