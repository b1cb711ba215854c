"""Lists: every question once a round, no unit twice in a list, balanced, the same bytes for the
same questions.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from worldprobe.contracts import validate
from worldprobe_survey import study_settings
from worldprobe_survey.contracts import ListKeys, StudyLists
from worldprobe_survey.lists import (
    DealtLists,
    build_lists,
    digest_lists,
    name_questions,
)
from worldprobe_survey.people import ask_people, select_norms

#: Where a template is the unit, as in the paper.
Layout = partial(study_settings.Lists, unit="template")

#: layout, way of asking, versions of the items, distinct questions
LAYOUTS = {
    "mixed": (Layout(), "likert", 5, 11000),
    "paper": (
        Layout(per_domain=True, shortest=1, longest=1000, catch=0),
        "likert",
        5,
        11000,
    ),
    "shared_text": (study_settings.Lists(), "likert", 2, 4416),
    "choice": (Layout(), "choice", 2, 4432),
    "rounds": (Layout(rounds=2, seed=3), "likert", 1, 2208),
}


@pytest.fixture(scope="module")
def built(builtin_items) -> dict[str, DealtLists]:
    return {
        name: build_lists(
            ask_people(builtin_items[builtin_items.version < n], [way], layout.unit), layout
        )
        for name, (layout, way, n, _) in LAYOUTS.items()
    }


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.long
def test_every_question_is_in_one_list_a_round_and_no_list_has_a_unit_or_a_text_twice(
    built, builtin_items, name
) -> None:
    lists = built[name]
    tests = lists.trials[lists.trials.kind == "test"]
    for _, part in tests.groupby("round"):
        assert part.question.is_unique
        assert set(part.question) == set(lists.key.question[lists.key.kind == "test"])
    # Whose question was asked: the unit that the list's text and version were taken from, or one
    # that shares the text.
    texts = tests.first_context + "|" + tests.second_context.fillna("") + "|" + tests.target
    assert not pd.DataFrame({"list": tests["list"], "text": texts}).duplicated().any()
    assert len(tests) == LAYOUTS[name][0].rounds * tests.question.nunique()


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.long
def test_nobody_sees_a_unit_twice(built, name) -> None:
    lists = built[name]
    tests = lists.trials[lists.trials.kind == "test"]
    units = (
        lists.key[lists.key.kind == "test"]
        .groupby("question")
        .unit.agg(lambda names: frozenset(names))
    )
    # A shared sentence belongs to several templates and is dealt as one of them; a list is fair if
    # each of its questions can be given a template of its own, which a matching of questions to
    # templates decides.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    names = {
        unit: number for number, unit in enumerate(sorted({u for group in units for u in group}))
    }
    for _, part in tests.groupby("list"):
        pairs = [
            (row, names[unit])
            for row, question in enumerate(part.question)
            for unit in units[question]
        ]
        rows, columns = np.array(pairs).T
        graph = csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(part), len(names)))
        assert (maximum_bipartite_matching(graph, perm_type="column") >= 0).sum() == len(part)
        if name == "shared_text":
            assert len(set(columns)) == len(part)


@pytest.mark.parametrize("way", ["likert", "choice"])
@pytest.mark.long
def test_by_default_nobody_sees_two_questions_of_a_template_or_an_item(builtin_items, way) -> None:
    layout = study_settings.Lists()
    lists = build_lists(
        ask_people(builtin_items[builtin_items.version == 0], [way], layout.unit), layout
    )
    key = lists.key[lists.key.kind == "test"]
    # A shared sentence counts for every template that has it.
    named = key.assign(template=key.item_id.str.replace(r"_v\d+$", "", regex=True))
    templates = named[["question", "template"]].drop_duplicates()
    seen = lists.trials[lists.trials.kind == "test"].merge(templates, on="question")
    assert len(seen) > lists.trials.question.nunique()
    assert not seen.duplicated(["list", "template"]).any()


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.long
def test_lists_of_the_builtin_items_are_balanced_within_the_stated_bounds(built, name) -> None:
    balance = built[name].balance
    assert (balance.n_high - balance.n_low).abs().max() <= 1
    assert balance.version_spread.max() <= (4 if name == "choice" else 3)
    assert balance.n_trials.sum() == LAYOUTS[name][0].rounds * LAYOUTS[name][3]
    if name == "mixed":
        assert balance.n_trials.between(40, 80).all()
        assert balance.n_trials.max() - balance.n_trials.min() <= 5
        assert balance.domain_spread.max() <= 5


def test_the_same_questions_give_the_same_lists_in_any_order_of_rows_and_another_seed_gives_others(
    questions_of,
) -> None:
    questions = questions_of(30, domains=("garden", "kitchen"))
    first = build_lists(questions, Layout(seed=1, shortest=5, longest=20))
    again = build_lists(
        questions.sample(frac=1, random_state=4), Layout(seed=1, shortest=5, longest=20)
    )
    other = build_lists(questions, Layout(seed=2, shortest=5, longest=20))
    pd.testing.assert_frame_equal(
        validate(first.trials, StudyLists), validate(again.trials, StudyLists)
    )
    pd.testing.assert_frame_equal(validate(first.key, ListKeys), validate(again.key, ListKeys))
    assert (
        digest_lists(first.trials)
        == digest_lists(again.trials.sample(frac=1, random_state=4))
        != digest_lists(other.trials)
    )


def test_the_digest_changes_with_any_character_that_is_shown(questions_of) -> None:
    trials = build_lists(questions_of(4), Layout(longest=4)).trials
    changed = trials.copy()
    changed.loc[7, "target"] += " "
    assert digest_lists(changed) != digest_lists(trials)


def test_what_the_survey_gets_tells_no_item_no_label_and_no_answer(built) -> None:
    for lists in built.values():
        trials = validate(lists.trials, StudyLists)
        assert not {"item_id", "context", "expected", "unit", "template", "concept_a"} & set(trials)
        # Names and order do not tell it either: the share of plausible trials is the same in either
        # half of the lists.
        expected = lists.key.drop_duplicates("question").set_index("question").expected
        tests = trials[trials.kind == "test"]
        is_high = tests.question.map(expected) == expected.max()
        is_early = tests.question < "q8"
        assert abs(is_high[is_early].mean() - is_high[~is_early].mean()) < 0.05


def test_a_sentence_that_items_share_is_asked_once_and_the_key_names_them_all(questions_of) -> None:
    questions = questions_of(6)
    twin = (questions.unit == "garden_2_1") & (questions.context == 1)
    original = (questions.unit == "garden_1_1") & (questions.context == 1)
    questions.loc[twin, "first_context"] = questions.loc[original, "first_context"].to_numpy()
    lists = build_lists(questions, Layout(longest=100))
    assert lists.n_shared == 10
    assert (lists.trials.kind == "test").sum() == 6 * 20 - 10
    shared = lists.key[lists.key.question.duplicated(keep=False) & (lists.key.kind == "test")]
    assert (
        shared.groupby("question")
        .unit.agg(set)
        .map(lambda names: names == {"garden_1_1", "garden_2_1"})
        .all()
    )
    strict = build_lists(questions, study_settings.Lists(longest=100))
    seen = strict.trials[strict.trials.kind == "test"].merge(
        strict.key.drop_duplicates("question")[["question", "unit"]]
    )
    assert not seen.duplicated(["list", "unit"]).any()
    assert {"garden_2_1"}.isdisjoint(strict.key.unit)


def test_contradictory_labels_are_counted(questions_of) -> None:
    questions = questions_of(2, 1)
    questions.loc[4:5, "first_context"] = questions.loc[[1, 0], "first_context"].to_numpy()
    assert build_lists(questions, Layout()).n_contradictory == 2


def test_where_context_ends_and_target_begins_makes_no_other_likert_question_but_another_choice(
    questions_of,
) -> None:
    rows = questions_of(1, 1).iloc[:2].copy()
    rows["first_context"], rows["target_text"] = ["A b", "A"], ["c", "b c"]
    assert name_questions(rows).nunique() == 1
    choice = rows.assign(eval_type="choice", second_context="d")
    assert name_questions(choice).nunique() == 2


def test_choice_shows_each_target_in_both_orders_to_different_people(builtin_items, built) -> None:
    lists = built["choice"]
    tests = lists.trials[lists.trials.kind == "test"]
    pair = tests.apply(
        lambda row: (*sorted([row.first_context, row.second_context]), row.target), axis=1
    )
    # As many lists show a pair of contexts in one order as in the other.
    assert set(pair.map(pair.value_counts())) == {2}
    assert not pd.DataFrame({"list": tests["list"], "pair": pair}).duplicated().any()
    key = lists.key[lists.key.kind == "test"]
    assert ((key.context == key.target) == (key.expected == 1)).all()


def test_catch_trials_are_spread_and_ask_for_different_answers(questions_of) -> None:
    lists = build_lists(questions_of(60), Layout(catch=3))
    for _, part in lists.trials.groupby("list"):
        catch = part[part.kind == "catch"].sort_values("position")
        assert catch.question.nunique() == 3
        assert (np.diff([0, *catch.position, len(part) + 1]) > len(part) / 6).all()
    key = lists.key[lists.key.kind == "catch"]
    assert all(
        str(answer) in question for answer, question in zip(key.expected, key.question, strict=True)
    )
    assert set(key.question) <= set(lists.trials.question)


@pytest.mark.parametrize(("seed", "longest"), [(1, 7), (2, 5)])
def test_no_list_is_longer_than_the_longest_though_templates_differ_in_size(
    questions_of, seed, longest
) -> None:
    """Some templates lack versions or share sentences, so that groups with the same number of
    templates differ in length.
    """
    questions = questions_of(12, 2, ("garden", "kitchen")).sample(frac=0.8, random_state=seed)
    lists = build_lists(questions, Layout(shortest=1, longest=longest, seed=seed))
    assert lists.balance.n_trials.max() <= longest
    assert (
        lists.balance.n_trials.sum() == lists.trials.question[lists.trials.kind == "test"].nunique()
    )


def test_norms_ask_about_every_pair_of_contexts_once_with_the_shortest_targets(
    builtin_items,
) -> None:
    items = builtin_items[builtin_items.version == 0]
    chosen = select_norms(items)
    pairs = [frozenset(pair) for pair in zip(items.context1, items.context2, strict=True)]
    assert len(chosen) == len(set(pairs)) < len(items)
    length = items.target1.str.len() + items.target2.str.len()
    shortest = length.groupby(pd.Series(pairs, index=items.index)).min()
    found = pd.Series(
        [frozenset(pair) for pair in zip(chosen.context1, chosen.context2, strict=True)],
        index=chosen.index,
    )
    assert (length[chosen.index] == found.map(shortest)).all()
