"""From evidence to accuracy, worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import run
from invented_materials import an_item
from worldprobe import cli
from worldprobe.benchmarks.ewok.analysis import judge
from worldprobe.benchmarks.ewok.contracts import (
    Items,
    Judgements,
    Responses,
    Similarities,
    TargetScores,
)
from worldprobe.contracts import read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import taught_here
from worldprobe.provenance import Provenance


def items_of(*ids):
    return pd.DataFrame([an_item(i) for i in ids]).astype({"duplicate_of": "str"})


def scores_of(item_id, grid, n_tokens=(4, 4), flags=""):
    """``grid``: (target, context) -> log probability."""
    return pd.DataFrame(
        [
            {
                "item_id": item_id,
                "target": t,
                "context": c,
                "logprob": v,
                "n_tokens": n_tokens[t - 1],
                "flags": flags,
            }
            for (t, c), v in grid.items()
        ]
    )


ONE = "toy-world_1_1_v0"
GRID = {(1, 1): -5.0, (1, 2): -6.0, (2, 1): -3.0, (2, 2): -4.0}


def accuracies(judged):
    return judged.table.sort_values("target")["accuracy"].tolist()


def test_each_target_is_judged_under_its_own_context_against_the_other():
    judged = judge.judge_target_scores(items_of(ONE), scores_of(ONE, GRID), "m")
    assert accuracies(judged) == [1.0, 0.0]


def test_an_exact_tie_counts_half_and_a_near_tie_is_decided_but_counted():
    grid = {(1, 1): -5.0, (1, 2): -5.0, (2, 1): -4.0, (2, 2): -3.9995}
    judged = judge.judge_target_scores(items_of(ONE), scores_of(ONE, grid), "m", near_tie=1e-3)
    assert accuracies(judged) == [0.5, 1.0]
    assert judged.table["is_tie"].tolist() == [True, False]
    assert judged.table["is_near_tie"].tolist() == [False, True]
    assert (
        judged.details["n_ties"],
        judged.details["n_near_ties"],
        judged.details["near_tie"],
    ) == (1, 1, 1e-3)


@pytest.mark.parametrize("absent", [None, np.nan, -np.inf])
def test_a_missing_score_has_a_status_and_no_accuracy(absent):
    grid = GRID | {(2, 1): absent}
    if absent is None:
        del grid[2, 1]
    judged = judge.judge_target_scores(items_of(ONE), scores_of(ONE, grid, flags="not_finite"), "m")
    assert judged.table["status"].tolist() == ["ok", "missing_score"]
    assert np.isnan(judged.table["accuracy"].iloc[1])


def test_the_order_of_items_and_rows_does_not_matter():
    a, b = ONE, "toy-world_2_1_v3"
    scores = pd.concat([scores_of(a, GRID), scores_of(b, GRID | {(1, 1): -7.0})])
    straight = validate(judge.judge_target_scores(items_of(a, b), scores, "m").table, Judgements)
    mixed = scores.sample(frac=1, random_state=1)
    shuffled = validate(judge.judge_target_scores(items_of(b, a), mixed, "m").table, Judgements)
    pd.testing.assert_frame_equal(straight, shuffled)
    assert straight["accuracy"].tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (
            None,
            [0.0, 1.0],
        ),  # -6 < -5 for target 1 under its own and the other context; -8 > -9 for target 2
        ("sum", [1.0, 0.0]),  # under context 1: -6 > -9; under context 2: -8 < -5
        ("mean", [0.0, 1.0]),  # -6/2 < -9/9; -8/9 > -5/2
        ("pmi", [0.0, 1.0]),  # -6+1 < -9+7; -8+7 > -5+1
    ],
)
def test_both_targets_can_be_compared_under_one_context_where_length_and_frequency_matter(
    measure, expected
):
    grid = {(1, 1): -6.0, (1, 2): -5.0, (2, 1): -9.0, (2, 2): -8.0, (1, 0): -1.0, (2, 0): -7.0}
    judged = judge.judge_target_scores(
        items_of(ONE), scores_of(ONE, grid, n_tokens=(2, 9)), "m", measure
    )
    assert accuracies(judged) == expected
    assert set(judged.table["eval_type"]) == {
        f"logprobs_targets_{measure}" if measure else "logprobs"
    }
    assert judged.details["metric"] == measure or measure is None
    validate(judged.table, Judgements)


@pytest.mark.parametrize(
    ("dtype", "n_near"), [("float32", 0), ("float16", 1), ("bfloat16", 2), (None, 2)]
)
def test_near_ties_are_counted_by_the_precision_of_the_scores(dtype, n_near):
    grid = {(1, 1): -5.0, (1, 2): -5.02, (2, 1): -4.0, (2, 2): -4.15}
    judged = judge.judge_target_scores(items_of(ONE), scores_of(ONE, grid), "m", dtype=dtype)
    assert judged.details["n_near_ties"] == n_near
    assert judged.details["near_tie_basis"] == f"dtype {dtype or 'unknown'}"
    assert accuracies(judged) == [1.0, 0.0]


def test_scores_of_other_items_are_refused_by_name():
    with pytest.raises(UserError, match="toy-world_9_9_v0"):
        judge.judge_target_scores(items_of(ONE), scores_of("toy-world_9_9_v0", {(1, 1): -1.0}), "m")


def answers_of(item_id, eval_type, values):
    """``values``: presentation -> answer; None was not readable."""
    return pd.DataFrame(
        [
            {
                "item_id": item_id,
                "eval_type": eval_type,
                "presentation": shown,
                "prompt_digest": "0" * 64,
                "text": "" if value is None else str(value),
                "value": np.nan if value is None else float(value),
                "status": "no_numeral" if value is None else "ok",
            }
            for shown, value in values.items()
        ]
    )


def test_likert_compares_ratings_and_a_missing_one_counts_as_wrong_and_says_so():
    rows = pd.concat(
        [
            answers_of(ONE, "likert_free_zero", {"t1c1": 5, "t1c2": 2, "t2c1": 3, "t2c2": 3}),
            answers_of(
                "toy-world_2_1_v0",
                "likert_free_zero",
                {"t1c1": 5, "t1c2": None, "t2c1": 4, "t2c2": 1},
            ),
        ]
    )
    judged = judge.judge_responses(items_of(ONE, "toy-world_2_1_v0"), rows, "m")
    assert judged.table["accuracy"].tolist() == [1.0, 0.5, 0.0, 0.0]
    assert judged.table["status"].tolist() == ["ok", "ok", "missing_response", "ok"]
    assert judged.details["likert_free_zero"]["missing_counts_as"] == 0.0
    assert judged.details["likert_free_zero"]["response_status"] == {"no_numeral": 1, "ok": 7}


def test_choice_wants_one_for_target_one_and_two_for_target_two():
    judged = judge.judge_responses(
        items_of(ONE), answers_of(ONE, "choice_constrained_two", {"t1": 1, "t2": 1}), "m"
    )
    assert judged.table["accuracy"].tolist() == [1.0, 0.0]
    missing = judge.judge_responses(
        items_of(ONE), answers_of(ONE, "choice_constrained_two", {"t1": None, "t2": 2}), "m"
    )
    assert missing.table["accuracy"].tolist() == [0.0, 1.0]
    assert missing.table["status"].tolist() == ["missing_response", "ok"]


@pytest.mark.parametrize(
    ("answers", "accuracy", "share_first"),
    [((1, 1, 1, 1), 0.5, 1.0), ((1, 2, 2, 1), 1.0, 0.5)],
    ids=["always the first", "knowing"],
)
def test_swapped_presentations_are_averaged_and_show_the_position_bias(
    answers, accuracy, share_first
):
    shown = dict(zip(("t1", "t2", "t1s", "t2s"), answers, strict=True))
    judged = judge.judge_responses(items_of(ONE), answers_of(ONE, "choice_free_zero", shown), "m")
    assert judged.table["accuracy"].tolist() == [accuracy, accuracy]
    assert judged.table["is_tie"].tolist() == [accuracy == 0.5] * 2
    bias = judged.details["choice_free_zero"]["position_bias"]
    assert (bias["n_read"], bias["share_first"]) == (4, share_first)


@pytest.mark.parametrize(
    ("evidence", "contract", "accuracy"),
    [
        (scores_of(ONE, GRID), TargetScores, [1.0, 0.0]),
        (answers_of(ONE, "choice_free_two", {"t1": 1, "t2": 1}), Responses, [1.0, 0.0]),
        (scores_of(ONE, GRID).assign(similarity=[0.5, 0.5, 0.1, 0.2]), Similarities, [0.5, 1.0]),
    ],
    ids=["log probabilities", "answers", "cosines"],
)
def test_the_command_tells_what_kind_of_evidence_it_got(tmp_path, evidence, contract, accuracy):
    names = ("items", "evidence", "judgements")
    items, given, out = (str(tmp_path / f"{name}.parquet") for name in names)
    write_table(items_of(ONE), Items, items, Provenance())
    write_table(evidence[list(contract.columns)], contract, given, Provenance(model="tiny"))
    assert run(f"judge {items} {given} --out {out}") == 0
    table = read_table(out, Judgements)
    assert set(table["model"]) == {"tiny"}
    assert table["accuracy"].tolist() == accuracy


def test_one_command_judges_many_tables_each_into_its_own_file(tmp_path):
    items = tmp_path / "items.parquet"
    write_table(items_of(ONE), Items, items, Provenance())
    for name, value in (("choice_free_two", 1), ("choice_free_zero", 2)):
        answers = answers_of(ONE, name, {"t1": value, "t2": 2})
        write_table(answers, Responses, tmp_path / f"{name}.parquet", Provenance(model="tiny"))
    evidence = [
        str(tmp_path / "choice_free_two.parquet"),
        str(tmp_path / "choice_free_zero.parquet"),
    ]
    outs = [tmp_path / "two.parquet", tmp_path / "zero.parquet"]
    assert cli.main(["judge", str(items), *evidence, "--out", *map(str, outs)]) == 0
    assert [read_table(out, Judgements)["accuracy"].tolist() for out in outs] == [
        [1.0, 1.0],
        [0.0, 1.0],
    ]


def written(tmp_path, items_digest=None, **provenance):
    """An items table and scores of it."""
    from worldprobe.files import digest_file

    items, scores = tmp_path / "items.parquet", tmp_path / "scores.parquet"
    write_table(items_of(ONE), Items, items, Provenance())
    inputs = {"items": items_digest or digest_file(items)}
    made = Provenance(model="tiny", inputs=inputs, **provenance)
    write_table(scores_of(ONE, GRID), TargetScores, scores, made)
    return str(items), str(scores)


def test_scores_of_other_texts_with_the_same_ids_are_refused(tmp_path, capsys):
    items, scores = written(tmp_path, items_digest="0" * 64)
    assert run(f"judge {items} {scores} --out {tmp_path / 'j.parquet'}") == 2
    assert "was computed from other items than those in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mode", "filling"), [("fixed", "shared"), ("balanced", "own"), ("independent", "own")]
)
def test_judgements_say_whether_versions_share_fillings_whatever_made_the_items(
    mode, filling, tmp_path
):
    """Read from the fillers, as tables of others have no such metadata."""
    assert run(f"materials new-domain {tmp_path / 'own'} office-work") == 0
    command = f"items build {tmp_path / 'own'} --mode {mode} --versions 0-2"
    assert run(f"{command} --out {tmp_path}/items.parquet") == 0
    items = pd.read_parquet(tmp_path / "items.parquet")
    scores = pd.concat([scores_of(item, GRID) for item in items["item_id"]])
    judged = judge.judge_target_scores(items, scores, "ant").table
    assert judged["filling"].unique().tolist() == [filling]
    alone = items.assign(
        fillers="{}"
    )  # no slots: nothing says that another version would be as kind
    judged = judge.judge_target_scores(alone, scores, "ant").table
    assert judged["filling"].unique().tolist() == ["shared"]


@pytest.mark.parametrize(("loss", "taught"), [(0.4, {"taught": "story, item"}), (None, {})])
def test_what_a_control_model_read_is_known_from_its_folder(tmp_path, loss, taught):
    made = {
        "details": {"reads": ["story", "item"], "loss": loss}
    }  # without a loss it was never trained
    (tmp_path / "provenance.json").write_text(json.dumps(made))
    assert taught_here(str(tmp_path)) == taught
