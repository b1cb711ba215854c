"""Which pairing of contexts and targets fits: one decision an item, free of each one's own pull."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import run
from invented_materials import an_item
from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.analysis import judge
from worldprobe.benchmarks.ewok.analysis.compare import compare_on_items
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
from worldprobe.benchmarks.ewok.contracts import Items, Judgements, TargetScores
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance

PLACES = [(1, 1), (1, 2), (2, 1), (2, 2)]
GRIDS = {
    "toy-world_1_1_v0": (-5, -6, -3, -4),  # both drawn to context 1, equally: a tie
    "toy-world_2_1_v0": (-5, -7, -3, -4),  # 2 nats for target 1, -1 for target 2: right
    "toy-world_3_1_v0": (-5, -5.5, -3, -4),  # 0.5 - 1: wrong
    "toy-world_4_1_v0": (-5, -6, -4, -3),  # both right
    "toy-world_5_1_v0": (-5, None, -4, -3),  # a score is missing
}


@pytest.fixture
def items():
    rows = [an_item(item_id) for item_id in GRIDS]
    rows = [row | {"concept_a": f"on {row['meta_template']}"} for row in rows]
    return pd.DataFrame(rows).astype({"duplicate_of": "str"})


def scores_of(grids, add=None):
    """TargetScores of four values per item; ``add``: (target, context) -> what is added."""
    return pd.DataFrame(
        [
            {
                "item_id": item_id,
                "target": target,
                "context": context,
                "logprob": np.nan
                if value is None
                else value + (add or {}).get((target, context), 0),
                "n_tokens": 4,
                "flags": "",
            }
            for item_id, values in grids.items()
            for (target, context), value in zip(PLACES, values, strict=True)
        ]
    )


def joined(paths):
    return " ".join(map(str, paths))


def pairings(judged):
    rows = judged.table.sort_values(["item_id", "target"])
    both = rows["pairing"].to_numpy(float).reshape(-1, 2)
    np.testing.assert_array_equal(both[:, 0], both[:, 1])
    return both[:, 0].tolist()


def test_the_formula_by_hand(items):
    judged = judge.judge_target_scores(items, scores_of(GRIDS), "m", near_tie=0.2)
    assert pairings(judged)[:4] == [0.5, 1, 0, 1]
    assert np.isnan(pairings(judged)[4])
    assert (judged.details["n_pairing_ties"], judged.details["n_without_pairing"]) == (1, 1)


@pytest.mark.parametrize(
    "pulled", [[(1, 1), (2, 1)], [(1, 2), (2, 2)], [(1, 1), (1, 2)], [(2, 1), (2, 2)]]
)
def test_what_a_context_or_a_target_adds_changes_accuracy_and_no_pairing(items, pulled):
    plain = judge.judge_target_scores(items, scores_of(GRIDS), "m")
    moved = judge.judge_target_scores(items, scores_of(GRIDS, dict.fromkeys(pulled, -64.0)), "m")
    np.testing.assert_array_equal(pairings(moved), pairings(plain))
    is_of_context = pulled[0][0] != pulled[1][0]
    assert moved.table["accuracy"].equals(plain.table["accuracy"]) != is_of_context


def test_a_near_tie_is_within_twice_a_targets_tolerance(items):
    grids = {"toy-world_1_1_v0": (-5, -6, -3, -4.19), "toy-world_2_1_v0": (-5, -6, -3, -4.21)}
    items = items[items["item_id"].isin(grids)].reset_index(drop=True)
    judged = judge.judge_target_scores(items, scores_of(grids), "m", near_tie=0.1)
    assert pairings(judged) == [0, 0]
    assert judged.table["is_near_pairing_tie"].tolist() == [True, True, False, False]
    assert judged.details["n_near_pairing_ties"] == 1


def test_mean_ratings_that_tie_are_a_tie_whatever_adding_them_rounds_off(items):
    thirds = [value / 3 for value in (3, 4, 4, 5)]
    assert (thirds[0] + thirds[3]) - (thirds[1] + thirds[2]) != 0
    one = items[:1].reset_index(drop=True)
    ratings = scores_of({"toy-world_1_1_v0": thirds}).rename(columns={"logprob": "rating"})
    assert pairings(judge.judge_ratings(one, ratings)) == [0.5]


def test_cosines_and_likert_have_pairings_and_choice_has_none(items):
    grids = {name: values for name, values in GRIDS.items() if None not in values}
    items = items[items["item_id"].isin(grids)].reset_index(drop=True)
    cosines = scores_of({n: [v / 10 for v in g] for n, g in grids.items()})
    judged = judge.judge_similarities(items, cosines.rename(columns={"logprob": "similarity"}), "w")
    assert pairings(judged) == [0.5, 1, 0, 1]
    rows = [
        {"item_id": name, "eval_type": eval_type, "presentation": shown, "value": value}
        for name in grids
        for eval_type, given in {
            "likert_free_zero": {"t1c1": 5, "t1c2": 3, "t2c1": 4, "t2c2": 3},
            "choice_free_zero": {"t1": 1, "t2": 1},
        }.items()
        for shown, value in given.items()
    ]
    answers = pd.DataFrame(rows).assign(status="ok", text="", prompt_digest="0" * 64)
    judged = validate(judge.judge_responses(items, answers, "m").table, Judgements)
    by_way = judged.groupby("eval_type")
    assert by_way["pairing"].first().to_dict()["likert_free_zero"] == 1
    assert by_way["pairing"].count()["choice_free_zero"] == 0
    means = item_means(judged)
    assert set(means.loc[means["metric"] == "pairing", "eval_type"]) == {"likert_free_zero"}
    both = pd.concat([judged, judged.assign(model="n")])
    with pytest.raises(UserError, match="Choice has no pairing"):
        compare_on_items(both, "choice_free_zero", metric="pairing")


@pytest.fixture
def judged_files(items, tmp_path):
    """judgements.parquet of two models: the second has its scores exchanged."""
    write_table(items, Items, tmp_path / "items.parquet", Provenance())
    files = []
    for name, order in {"ant": (0, 1, 2, 3), "bee": (1, 0, 3, 2)}.items():
        grids = {item: [values[k] for k in order] for item, values in GRIDS.items()}
        place = tmp_path / f"{name}_scores.parquet"
        write_table(scores_of(grids), TargetScores, place, Provenance(model=name, dtype="float32"))
        files.append(tmp_path / f"{name}.parquet")
        assert run(f"judge {tmp_path / 'items.parquet'} {place} --out {files[-1]}") == 0
    return files


def test_it_goes_through_judge_summarize_table_and_compare(judged_files, tmp_path, capsys):
    summaries, table = tmp_path / "summaries.parquet", tmp_path / "table.csv"
    assert run(f"summarize {joined(judged_files)} --out {summaries}") == 0
    means = read_table(summaries, judge.contracts.Summaries)
    own = means.query("metric == 'pairing' and grouping == 'overall' and condition == 'all'")
    assert own.set_index("model")["mean"].to_dict() == {"ant": 0.625, "bee": 0.375}
    assert own[["n", "n_ties", "n_missing"]].to_numpy().tolist() == [[5, 1, 1]] * 2
    assert run(f"table mean_accuracy {summaries} --out {table}") == 0
    assert pd.read_csv(table).set_index("model")["pairing"].to_dict() == {
        "ant": 0.625,
        "bee": 0.375,
    }
    assert run(f"table mean_accuracy {summaries} --metric pairing --out {table}") == 0
    assert pd.read_csv(table).set_index("model")["mean"].to_dict() == {"ant": 0.625, "bee": 0.375}
    found = tmp_path / "comparisons.json"
    assert run(f"compare {joined(judged_files)} --metric pairing --out {found}") == 0
    overall = json.loads(found.read_text())[0]
    assert (overall["metric"], overall["difference"], overall["n_targets"]) == ("pairing", 0.25, 4)
    assert "(LogProbs, pairing)" in capsys.readouterr().out


def test_judgements_of_an_earlier_worldprobe_have_accuracies_and_no_pairings(
    judged_files, tmp_path, capsys
):
    old = [tmp_path / f"old_{path.name}" for path in judged_files]
    for path, place in zip(judged_files, old, strict=True):
        rows = read_table(path, Judgements).drop(columns=["pairing", "is_near_pairing_tie"])
        write_table(rows, Judgements, place, read_provenance(path))
    assert run(f"summarize {joined(old)} --out {tmp_path / 'summaries.parquet'}") == 0
    assert "ant, bee have no pairings, as an earlier" in capsys.readouterr().err
    means = read_table(tmp_path / "summaries.parquet", judge.contracts.Summaries)
    assert set(means["metric"]) == {"accuracy", "strict", "both_right", "context_sensitivity"}
    assert run(f"compare {joined(old)} --metric pairing") == 2
    assert "judge" in capsys.readouterr().err
    # beside new ones, too
    assert run(f"summarize {old[0]} {judged_files[1]} --out {tmp_path / 'both.parquet'}") == 0
    means = read_table(tmp_path / "both.parquet", judge.contracts.Summaries)
    assert set(means.loc[means["metric"] == "pairing", "model"]) == {"bee"}


def test_pairings_are_compared_over_pairs_of_concepts_as_accuracies_are():
    """Two models of equal accuracy, each right about one target of every item."""
    items = simulate_items(120, 3, seed=4)
    rows = simulate_judgements(items, np.zeros((2, len(items), 2)), ["ant", "bee"], "logprobs", 4)
    is_ant = rows["model"] == "ant"
    rows["accuracy"] = np.where(rows["target"] == 1, 1.0, 0.0)
    is_right = np.random.default_rng(0).random(len(items)).repeat(2) < 0.9
    rows.loc[is_ant, "pairing"] = is_right.astype(float)
    by_metric = {
        metric: compare_on_items(rows, metric=metric).iloc[0] for metric in ("accuracy", "pairing")
    }
    assert by_metric["accuracy"]["difference"] == 0
    assert by_metric["pairing"]["mean_a"] == pytest.approx(0.9, abs=0.05)
    assert by_metric["pairing"]["difference"] > 0.3
    assert "ant is better" in by_metric["pairing"]["finding"]


@pytest.fixture
def apart(tmp_path):
    """Judgements of two models that share targets, but no item with a pairing; as of weak models
    that leave many questions unanswered.
    """
    items = simulate_items(120, 3, seed=4)
    rows = simulate_judgements(items, np.zeros((2, len(items), 2)), ["ant", "bee"], "logprobs", 4)
    lacks = (rows["version"] == 0) == (rows["model"] == "ant")
    rows.loc[lacks, "pairing"] = np.nan
    rows.loc[lacks & (rows["target"] == 2), ["accuracy", "status"]] = [np.nan, "missing_score"]
    place = tmp_path / "judgements.parquet"
    write_table(rows, Judgements, place, Provenance())
    return place


def test_models_without_a_common_pairing_are_compared_by_accuracy(apart, tmp_path, capsys):
    found, sheet = tmp_path / "comparisons.parquet", tmp_path / "sheet.md"
    assert run(f"compare {apart} --out {found}") == 0
    assert "no two of ant, bee have a pairing on the same item" in capsys.readouterr().err
    assert set(read_table(found, judge.contracts.Comparisons)["metric"]) == {"accuracy"}
    assert run(f"table comparisons_pairing {found} --out {sheet}") == 0
    assert "not compared by pairing: no two of ant, bee have a pairing" in sheet.read_text()
    assert "0 of 0" not in sheet.read_text()


def test_a_model_without_whole_items_is_not_of_an_earlier_worldprobe(apart, tmp_path, capsys):
    rows = read_table(apart, Judgements)
    rows.loc[rows["target"] == 2, ["accuracy", "status"]] = [np.nan, "missing_score"]
    place = tmp_path / "first.parquet"
    write_table(rows.assign(pairing=np.nan), Judgements, place, Provenance())
    assert run(f"compare {place}") == 0
    said = capsys.readouterr().err
    assert "no two of ant, bee have a pairing" in said
    assert "earlier" not in said
