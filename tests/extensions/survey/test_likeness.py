"""Models' preferences against people's and the noise ceiling: simulated truth, and numbers
worked out by hand.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.analysis.judge import Evidence, people_differ
from worldprobe.benchmarks.ewok.contracts import Items, Ratings, TargetScores
from worldprobe.cli import main
from worldprobe.contracts import read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe_survey.accuracy_displays import likeness_to_people
from worldprobe_survey.contracts import Likeness
from worldprobe_survey.people import (
    find_ceiling,
    measure_likeness,
    model_differs,
)

CELLS = [(target, context) for target in (1, 2) for context in (1, 2)]


def invented_items(n: int) -> pd.DataFrame:
    """Two templates to a pair of concepts."""
    beds = pd.Series(range(n))
    pair, template = (beds // 2).astype(str), (beds % 2 + 1).astype(str)
    same = {"domain": "garden", "version": 0, "fillers": "{}", "tags": "", "duplicate_of": None}
    same |= {"concept_b": "dry", "context_contrast": "antonym", "context_type": "direct"}
    bed = " bed " + beds.astype(str) + "."
    return pd.DataFrame({"meta_template": beds // 2 + 1, "template": beds % 2 + 1}).assign(
        item_id="garden_" + (beds // 2 + 1).astype(str) + "_" + template + "_v0",
        concept_a="wet" + pair,
        context1="Wet is" + bed,
        context2="Dry is" + bed,
        target1="Ana gets wet feet in" + bed,
        target2="Ana waters" + bed,
        target_contrast="concept swap",
        **same,
    )


def ratings_of(
    items: pd.DataFrame, truth: np.ndarray, sd: float, n_raters: int, random: np.random.Generator
) -> pd.DataFrame:
    """Mean ratings whose expected difference between contexts is the truth, shape (items, 2)."""
    rows = []
    for item, pair in zip(items["item_id"], truth, strict=True):
        for target, context in CELLS:
            middle = 3 + pair[target - 1] * (0.5 if context == 1 else -0.5)
            answers = random.normal(middle, sd, n_raters)
            rows.append(
                (
                    item,
                    target,
                    context,
                    answers.mean(),
                    float(n_raters),
                    answers.std(ddof=1) if n_raters > 1 else np.nan,
                )
            )
    return pd.DataFrame(rows, columns=["item_id", "target", "context", "rating", "n_raters", "sd"])


def scores_of(items: pd.DataFrame, differences: np.ndarray) -> pd.DataFrame:
    rows = [
        (item, target, context, -20.0 + (pair[target - 1] if context == 1 else 0.0), 3, "")
        for item, pair in zip(items["item_id"], differences, strict=True)
        for target in (1, 2)
        for context in (0, 1, 2)
    ]
    return pd.DataFrame(
        rows, columns=["item_id", "target", "context", "logprob", "n_tokens", "flags"]
    )


def evidence_of(items: pd.DataFrame, differences: np.ndarray, model: str = "invented") -> Evidence:
    return Evidence("target_scores", scores_of(items, differences), Provenance(), model)


@pytest.mark.parametrize("n_raters", [3, 12])
def test_the_ceiling_is_what_a_model_of_the_truth_reaches_and_no_model_exceeds_it(
    n_raters: int,
) -> None:
    random = np.random.default_rng(1)
    items = invented_items(1500)
    truth = random.normal(0, 1.2, (1500, 2))
    ratings = ratings_of(items, truth, 1.0, n_raters, random)
    models = [
        evidence_of(items, 2.5 * truth, "truth"),
        evidence_of(items, truth + random.normal(0, 1.2, truth.shape), "half"),
        evidence_of(items, random.normal(0, 1, truth.shape), "nothing"),
    ]
    found = validate(measure_likeness(items, ratings, models, 200, 0), Likeness).set_index("model")
    expected = np.sqrt(1.44 / (1.44 + 2 / n_raters))
    assert found["ceiling"].to_numpy() == pytest.approx([expected] * 3, abs=0.02)
    assert found.loc["truth", "r"] == pytest.approx(expected, abs=0.02)
    assert found.loc["half", "r"] == pytest.approx(expected / np.sqrt(2), abs=0.03)
    assert abs(found.loc["nothing", "r"]) < 0.06
    assert (found["n"] == 3000).all()
    assert ((found["ci_low"] < found["r"]) & (found["r"] < found["ci_high"])).all()
    assert (found["ci_high"] - found["ci_low"] < 0.12).all()


def test_the_interval_is_over_pairs_of_concepts_not_over_targets() -> None:
    random = np.random.default_rng(2)
    items = invented_items(40)
    truth = np.repeat(random.normal(0, 1, (20, 1)), 2, axis=0) * np.ones(
        (1, 2)
    )  # all four targets of a pair alike
    answers = truth + np.repeat(random.normal(0, 1, (20, 1)), 2, axis=0)
    ratings = ratings_of(items, truth, 0.0, 2, random)
    row = measure_likeness(items, ratings, [evidence_of(items, answers)], 2000, 0).iloc[0]
    fisher = np.tanh(np.arctanh(row["r"]) + np.array([-1.96, 1.96]) / np.sqrt(20 - 3))
    assert row["ci_high"] - row["ci_low"] == pytest.approx(
        fisher[1] - fisher[0], rel=0.35
    )  # as 20 points, not 80


def test_a_bootstrap_of_a_handful_of_pairs_is_no_interval() -> None:
    random = np.random.default_rng(2)
    items = invented_items(10)  # of five pairs
    truth = random.normal(0, 1, (10, 2))
    ratings = ratings_of(items, truth, 0.0, 2, random)
    answers = evidence_of(items, truth + random.normal(0, 1, (10, 2)))
    row = measure_likeness(items, ratings, [answers], 200, 0).iloc[0]
    assert row["r"] > 0
    assert np.isnan([row["ci_low"], row["ci_high"]]).all()


def test_ceilings_by_hand_and_where_there_is_none() -> None:
    # Differences 3, -3, 2, -2: variance 26/3; squared errors 1 each: reliability 1 - 3/26.
    people = pd.DataFrame({"people": [3.0, -3.0, 2.0, -2.0], "error": [1.0] * 4})
    assert find_ceiling(people) == pytest.approx(np.sqrt(23 / 26))
    assert np.isnan(find_ceiling(people.assign(error=30.0)))  # nothing but noise
    assert np.isnan(
        find_ceiling(people.assign(error=np.nan))
    )  # one rater each: no standard deviation
    assert np.isnan(find_ceiling(people.assign(people=1.0)))
    assert np.isnan(find_ceiling(people.iloc[:2]))


def test_peoples_differences_need_both_contexts_but_not_the_deviations() -> None:
    rows = [
        ("a_1_1_v0", 1, 1, 4.0, 4.0, 1.0),
        ("a_1_1_v0", 1, 2, 1.5, 2.0, 2.0),
        ("a_1_1_v0", 2, 1, 2.0, 1.0, np.nan),
    ]
    rows += [
        ("a_1_1_v0", 2, 2, 5.0, 1.0, np.nan),
        ("a_1_2_v0", 1, 1, 5.0, 3.0, 0.5),
        ("a_1_2_v0", 1, 2, np.nan, 0.0, np.nan),
    ]
    found = people_differ(
        pd.DataFrame(rows, columns=["item_id", "target", "context", "rating", "n_raters", "sd"])
    )
    assert found["people"].to_dict() == {("a_1_1_v0", 1): 2.5, ("a_1_1_v0", 2): -3.0}
    assert found["error"].iloc[0] == pytest.approx(1 / 4 + 4 / 2)
    assert np.isnan(found["error"].iloc[1])


def test_readable_ratings_count_and_choices_do_not() -> None:
    kept = {"item_id": "a_1_1_v0", "prompt_digest": "0" * 64, "text": "5"}
    rows = [
        kept
        | {
            "eval_type": "likert_free_zero",
            "presentation": f"t{t}c{c}",
            "value": value,
            "status": status,
        }
        for t, c, value, status in (
            (1, 1, 5.0, "ok"),
            (1, 2, 2.0, "ok"),
            (2, 1, 3.0, "ok"),
            (2, 2, np.nan, "no_numeral"),
        )
    ]
    rows += [
        kept | {"eval_type": "choice_free_zero", "presentation": "t1", "value": 1.0, "status": "ok"}
    ]
    found = model_differs(Evidence("responses", pd.DataFrame(rows), Provenance(), "m"))
    assert [name for name, _ in found] == ["likert_free_zero"]
    assert found[0][1].loc["a_1_1_v0", 1] == 3
    assert np.isnan(found[0][1].loc["a_1_1_v0", 2])


def test_a_model_given_twice_and_items_of_another_table_are_refused() -> None:
    items = invented_items(4)
    ratings = ratings_of(items, np.ones((4, 2)), 1.0, 3, np.random.default_rng(0))
    one = evidence_of(items, np.ones((4, 2)), "m")
    with pytest.raises(UserError, match=r"m \(logprobs\) a second time"):
        measure_likeness(items, ratings, [one, one], 10, 0)
    with pytest.raises(UserError, match="people about 1 items that are not in the items table"):
        measure_likeness(items.iloc[:3], ratings, [one], 10, 0)


def test_the_ceiling_is_the_tables_first_row() -> None:
    rows = [("b", 0.41, 0.3, 0.5), ("a", 0.2, 0.1, 0.3)]
    likeness = pd.DataFrame(rows, columns=["model", "r", "ci_low", "ci_high"])
    likeness = likeness.assign(eval_type="logprobs", ceiling=0.94, n=5160)
    made = Provenance(details={"cluster": "concept_pair"})
    cells = likeness_to_people(likeness, Roster(), made).cells()
    assert "0.940" in cells[0]
    assert [row[0] for row in cells[1:]] == ["a", "b"]


def test_the_command_keeps_to_one_items_table(tmp_path, capsys) -> None:
    items, truth = invented_items(30), np.random.default_rng(0).normal(0, 1, (30, 2))
    names = ("items", "ratings", "m", "likeness")
    paths = [tmp_path / f"{name}.parquet" for name in names]
    write_table(items, Items, paths[0], Provenance())
    write_table(
        ratings_of(items, truth, 1.0, 4, np.random.default_rng(1)), Ratings, paths[1], Provenance()
    )
    command = ["human", "likeness", *map(str, paths[:3]), "--out", str(paths[3])]
    write_table(scores_of(items, truth - 5), TargetScores, paths[2], Provenance(model="m"))
    assert main(command) == 0
    assert read_table(paths[3], Likeness)["r"].iloc[0] > 0.5
    other = Provenance(model="m", inputs={"items": "0" * 64})
    write_table(scores_of(items, truth - 5), TargetScores, paths[2], other)
    assert main(command) == 2
    assert "other items" in capsys.readouterr().err
