"""Cleaning: numbers worked out by hand, rows in any order, and people of every kind."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from worldprobe.cli import main
from worldprobe.contracts import validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe_survey import study_settings
from worldprobe_survey.cleaning import (
    STEPS,
    Cleaned,
    check_export,
    clean,
    correlate_people,
    read_answers,
    reliability_of_answers,
)
from worldprobe_survey.contracts import (
    CleaningSteps,
    ListKeys,
    Participants,
    Raters,
    RawRatings,
    SubItems,
)
from worldprobe_survey.lists import Export, build_lists, digest_lists, read_export, write_export
from worldprobe_survey.simulation import simulate

#: As in the paper, nobody is too fast.
Cleaning = partial(study_settings.Cleaning, too_fast_ms=0)

DIGEST = "ab" * 32
QUESTIONS = [f"q{number:016d}" for number in range(6)]
#: Ratings of six sentences by people; the first two sentences are plausible, ... a dot: not asked.
HAND = {
    "person-ada": "551145",
    "person-ben": "541255",
    "person-cyd": "541154",
    "person-dee": "115521",
    "person-eve": "333333",
}


def hand_made(ratings: dict[str, str] = HAND) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """An export and its key."""
    raw = pd.DataFrame(
        [
            {
                "participant": name,
                "session": 1,
                "list": "likert-r1-x-001",
                "position": position + 1,
                "presented": position + 1,
                "question": QUESTIONS[position],
                "kind": "test",
                "eval_type": "likert",
                "response": response,
                "rt_ms": 1000.0 * (position + 1),
                "is_resumed": False,
                "n_blurs": 0,
                "lists_digest": DIGEST,
            }
            for name, given in ratings.items()
            for position, response in enumerate(given)
            if response != "."
        ]
    )
    key = pd.DataFrame(
        {
            "question": QUESTIONS,
            "kind": "test",
            "eval_type": "likert",
            "item_id": [f"garden_{number}_1_v0" for number in range(1, 7)],
            "target": 1,
            "context": [1, 1, 2, 2, 1, 1],
            "unit": [f"garden_{number}_1" for number in range(1, 7)],
            "expected": [5, 5, 1, 1, 5, 5],
        }
    )
    return validate(raw, RawRatings), sessions_of(raw), validate(key, ListKeys)


def sessions_of(raw: pd.DataFrame) -> pd.DataFrame:
    table = raw.groupby(["participant", "session"], as_index=False)[
        ["list", "eval_type", "lists_digest"]
    ].first()
    known = {
        "status": "complete",
        "is_late": False,
        "day": "2026-01-01",
        "minutes": 10.0,
        "n_tries": 1,
        "design": DIGEST,
    }
    return validate(table.assign(**known), Participants)


def run(raw: pd.DataFrame, sessions: pd.DataFrame, key: pd.DataFrame, **rules) -> Cleaned:
    cleaned = clean(
        read_answers(raw, key),
        sessions,
        key,
        Cleaning(**({"min_corated": 3, "minimum": 3} | rules)),
    )
    validate(cleaned.steps, CleaningSteps)
    validate(cleaned.raters, Raters)
    validate(cleaned.sub_items, SubItems)
    return cleaned


def test_numbers_that_were_worked_out_by_hand() -> None:
    # Pass 1, numpy.corrcoef of each row with the mean of the other four rows:
    matrix = np.array([[int(x) for x in row] for row in HAND.values()], float)
    others = (matrix.sum(axis=0) - matrix) / 4
    by_hand = [np.corrcoef(a, b)[0, 1] for a, b in list(zip(matrix, others, strict=True))[:4]]
    assert by_hand[3] < 0.3 < min(by_hand[:3])
    cleaned = run(*hand_made())
    raters = cleaned.raters.set_index("participant")
    assert raters.loc["person-dee", ["r", "pass_number", "excluded_by"]].tolist() == [
        pytest.approx(by_hand[3]),
        1,
        "isc",
    ]
    assert raters.loc["person-eve", ["isc_status", "excluded_by"]].tolist() == ["constant", "isc"]
    assert np.isnan(raters.loc["person-eve", "r"])
    # After it, three people: Ada 551145 with the mean of 541255 and 541154, which is 5, 4, 1, 1.5,
    # 5, 4.5.
    expected = np.corrcoef([5, 5, 1, 1, 4, 5], [5, 4, 1, 1.5, 5, 4.5])[0, 1]
    assert raters.loc["person-ada", "r"] == pytest.approx(expected)
    assert raters.loc["person-ada", "std_error"] == pytest.approx(np.sqrt((1 - expected**2) / 4))
    sub_items = cleaned.sub_items.set_index("cell")
    assert sub_items.loc[QUESTIONS[1], ["n", "mean", "min", "max", "median_rt_ms"]].tolist() == [
        3,
        13 / 3,
        4,
        5,
        2000,
    ]
    assert sub_items.loc[QUESTIONS[1], "sd"] == pytest.approx(np.sqrt(1 / 3))
    assert cleaned.is_settled


def test_every_step_is_counted_and_hands_its_rows_to_the_next() -> None:
    raw, sessions, key = hand_made()
    sessions.loc[0, "status"], sessions.loc[1, "status"] = "partial", "returned"
    steps = run(raw, sessions, key).steps
    assert list(dict.fromkeys(steps.step)) == list(STEPS)
    for before, after in pairwise(steps.itertuples()):
        assert before.n_ratings_after == after.n_ratings_before
        assert before.n_people_after == after.n_people_before
    assert steps.set_index("step").loc["returned", "n_people_after"] == 4
    assert steps.set_index("step").loc["incomplete", "n_people_after"] == 3


@pytest.mark.parametrize("step", STEPS)
def test_every_step_can_be_left_out(step: str) -> None:
    raw, sessions, key = hand_made({**HAND, "person-fay": "x51145"})
    cleaned = run(raw, sessions, key, skip=[step], too_fast_ms=1.0, below_minimum="drop")
    is_on = cleaned.steps.groupby("step").is_on.all()
    assert (
        [name for name in STEPS if not is_on[name]] == [step]
        if step != "invalid_answer"
        else not is_on[step]
    )


def test_the_order_of_rows_makes_no_difference() -> None:
    raw, sessions, key = hand_made()
    first = run(raw, sessions, key)
    for seed in range(3):
        again = run(*(frame.sample(frac=1, random_state=seed) for frame in (raw, sessions, key)))
        pd.testing.assert_frame_equal(first.raters, again.raters)
        pd.testing.assert_frame_equal(first.steps, again.steps)
        pd.testing.assert_frame_equal(first.sub_items, again.sub_items)


@pytest.mark.parametrize(
    "response",
    [
        "0",
        "6",
        "3.5",
        "5.",
        "1w5",
        "q",
        "",
        None,
        "nan",
        "NaN",
        "٤",
        "²",
        "1e0",
        "+4",
        "=1+1",
        "‮5",
        "5\x00",
        "🙂",
        "05",
    ],
)
def test_what_is_no_answer_loses_the_answer_and_not_the_person(response) -> None:
    raw, sessions, key = hand_made()
    raw.loc[0, "response"] = response
    cleaned = run(raw, sessions, key)
    steps = cleaned.steps.set_index("step")
    assert (
        steps.loc["invalid_answer", "n_ratings_before"]
        - steps.loc["invalid_answer", "n_ratings_after"]
        == 1
    )
    assert "person-ada" in set(cleaned.answers.participant)


def test_undefined_correlations_have_a_status_each_and_only_constant_people_go() -> None:
    ratings = {**HAND, "person-few": "5.1...", "person-gus": "2222.."}
    raw, sessions, key = hand_made(ratings)
    raters = run(raw, sessions, key).raters.set_index("participant")
    assert raters.loc["person-few", ["isc_status", "excluded_by"]].tolist() == ["too_few", ""]
    assert raters.loc["person-gus", ["isc_status", "excluded_by"]].tolist() == ["constant", "isc"]
    alone = run(*hand_made({"person-one": "551155"})).raters.iloc[0]
    assert [alone.isc_status, alone.excluded_by] == ["no_co_rater", ""]
    flat = run(
        *hand_made({"person-one": "551155", "person-two": "333333"}), passes=1
    ).raters.set_index("participant")
    assert flat.isc_status["person-one"] in ("constant_others", "no_co_rater")
    assert flat.excluded_by["person-two"] == "isc"


def test_one_pass_is_less_than_until_stable_and_says_so() -> None:
    random = np.random.default_rng(3)
    good = np.array([5, 5, 1, 1, 5, 1])
    ratings = {
        f"person-{n:03d}": "".join(map(str, random.integers(1, 6, 6) if n % 2 else good))
        for n in range(20)
    }
    raw, sessions, key = hand_made(ratings)
    once, stable = run(raw, sessions, key, passes=1), run(raw, sessions, key)
    assert stable.raters.pass_number.max() > 1
    assert stable.is_settled
    assert not once.is_settled
    assert set(once.answers.participant) > set(stable.answers.participant)
    assert (stable.raters[stable.raters.excluded_by == ""].r.dropna() >= 0.3).all()


def test_a_second_session_with_the_same_list_and_a_question_answered_twice_count_once() -> None:
    raw, sessions, key = hand_made()
    second = raw[raw.participant == "person-ada"].assign(session=2, response="1")
    twice = raw[(raw.participant == "person-ben") & (raw.position == 1)].assign(
        position=7, presented=7, response="1"
    )
    both = validate(pd.concat([raw, second, twice]), RawRatings)
    cleaned = run(both, sessions_of(both), key)
    pd.testing.assert_frame_equal(cleaned.sub_items, run(raw, sessions, key).sub_items)
    steps = cleaned.steps.set_index("step")
    assert (
        steps.loc["duplicates", "n_ratings_before"] - steps.loc["duplicates", "n_ratings_after"]
        == 7
    )
    # Kept, they still compare a person with others only.
    run(both, sessions_of(both), key, skip=["duplicates"])


def test_who_is_asked_in_both_ways_has_one_row_and_the_lower_correlation_counts() -> None:
    raw, _, key = hand_made()
    # By Choice, Ada contradicts Ben and Cyd, who agree with each other; by Likert all three agree.
    chosen = {"person-ada": "211121", "person-ben": "122212", "person-cyd": "122212"}
    names = {question: f"q{number:016d}" for number, question in enumerate(QUESTIONS, start=10)}
    other = raw[raw["participant"].isin(chosen)].assign(
        session=2, list="choice-r1-x-001", eval_type="choice"
    )
    other["response"] = [
        chosen[name][int(place) - 1]
        for name, place in zip(other["participant"], other["position"], strict=True)
    ]
    other["question"] = other["question"].map(names)
    both = pd.concat([raw, other], ignore_index=True)
    wide = pd.concat(
        [key, key.assign(eval_type="choice", question=key["question"].map(names))],
        ignore_index=True,
    )
    cleaned = run(both, sessions_of(both), wide, skip=["duplicates"])
    ada = cleaned.raters.set_index("participant").loc["person-ada"]
    assert ada["eval_type"] == "choice"
    assert ada["r"] == pytest.approx(-1.0)
    assert ada["excluded_by"] == "isc"
    assert "person-ada" not in set(cleaned.answers["participant"])
    assert cleaned.raters["participant"].is_unique


def test_failed_catch_trials_and_speed_leave_whole_sessions_out() -> None:
    raw, sessions, key = hand_made()
    catch = raw[raw.position == 1].assign(
        position=9, presented=9, question="catch-likert-4", kind="catch", response="4"
    )
    catch.loc[catch.participant == "person-ben", "response"] = "5"
    key = pd.concat(
        [
            key,
            key.iloc[:1].assign(
                question="catch-likert-4", kind="catch", item_id="", target=0, context=0, expected=4
            ),
        ]
    )
    both = pd.concat([raw, catch])
    both.loc[both.participant == "person-cyd", "rt_ms"] = 100.0
    cleaned = run(both, sessions, key, failed_catch=1, too_fast_ms=1000.0, skip=["isc"])
    gone = cleaned.raters.set_index("participant").excluded_by
    assert [gone["person-ben"], gone["person-cyd"], gone["person-ada"]] == [
        "failed_catch",
        "too_fast",
        "",
    ]
    assert set(cleaned.answers.kind) == {"test"}
    off = run(both, sessions, key, failed_catch=0)
    assert off.steps.set_index("step").is_on[["failed_catch", "too_fast"]].tolist() == [
        False,
        False,
    ]


def test_where_no_answer_is_left_the_steps_are_said_all_the_same(tmp_path, capsys) -> None:
    raw, sessions, key = hand_made({"person-ada": "333333", "person-ben": "555555"})
    write_export(tmp_path, Export(raw, sessions, None), Provenance())
    write_table(
        key, ListKeys, tmp_path / "key.parquet", Provenance(details={"lists_digest": DIGEST})
    )
    out = tmp_path / "ratings.parquet"
    assert main(f"human clean {tmp_path} --key {tmp_path / 'key.parquet'} --out {out}".split()) == 2
    printed = capsys.readouterr().err
    assert "isc, pass 1: 2 people and 12 ratings left out" in printed
    assert printed.index("isc, pass 1") < printed.index("no answers are left")
    assert not out.exists()


def test_an_export_whose_csv_was_edited_is_refused(tmp_path) -> None:
    """W3: a person's rows were deleted from the CSV, and the person stayed in the means."""
    raw, sessions, _ = hand_made()
    write_export(tmp_path, Export(raw, sessions, None), Provenance())
    table = tmp_path / "participants.csv"
    table.write_bytes(table.read_bytes().replace(b"\n", b"\r\n"))  # as Excel saves it
    read_export(tmp_path)
    whole = table.read_text()
    table.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(UserError) as caught:
        read_export(tmp_path)
    assert "participants.csv" in caught.value.lines()
    assert "participants.parquet" in caught.value.lines()
    table.unlink()
    assert len(read_export(tmp_path).participants) == len(sessions)


def test_sub_items_below_the_minimum_are_listed_and_dropped_on_request_only() -> None:
    raw, sessions, key = hand_made(
        {"person-ada": "551145", "person-ben": "541255", "person-cyd": "54115."}
    )
    kept, dropped = run(raw, sessions, key), run(raw, sessions, key, below_minimum="drop")
    assert kept.sub_items.status.tolist() == ["ok"] * 5 + ["below_minimum"]
    assert set(kept.answers.cell) - set(dropped.answers.cell) == {QUESTIONS[5]}
    unasked = run(raw[raw.position < 6], sessions, key).sub_items
    assert unasked.status.tolist() == ["ok"] * 5 + ["missing"]


def test_somebody_who_never_answered_is_in_the_table_of_raters() -> None:
    raw, sessions, key = hand_made()
    ghost = sessions.iloc[:1].assign(participant="person-zoe", status="partial", minutes=np.nan)
    raters = run(raw, pd.concat([sessions, ghost]), key).raters.set_index("participant")
    assert raters.loc["person-zoe", ["isc_status", "excluded_by"]].tolist() == [
        "not_measured",
        "incomplete",
    ]


def test_answers_to_other_lists_are_refused() -> None:
    raw, sessions, key = hand_made()
    mixed = raw.copy()
    mixed.loc[3, "lists_digest"] = "cd" * 32
    for tables in ((mixed, sessions), (raw, sessions.assign(lists_digest="cd" * 32))):
        with pytest.raises(UserError, match="answered other lists"):
            check_export(*tables, key, DIGEST)
    with pytest.raises(UserError, match="does not have the question"):
        check_export(raw, sessions, key.iloc[1:], DIGEST)
    with pytest.raises(UserError, match="not in participants"):
        check_export(raw, sessions.iloc[1:], key, DIGEST)
    check_export(raw, sessions, key, DIGEST)


def test_correlations_are_those_of_a_plain_loop() -> None:
    random = np.random.default_rng(8)
    person, question = (
        part.ravel() for part in np.meshgrid(np.arange(12), np.arange(30), indexing="ij")
    )
    is_asked = random.random(len(person)) < 0.5
    person, question = person[is_asked], question[is_asked]
    value = random.integers(1, 6, len(person))
    found = correlate_people(person, question, value, 3)
    for who in range(12):
        pairs = []
        for asked, own in zip(question[person == who], value[person == who], strict=True):
            rest = value[(question == asked) & (person != who)]
            if len(rest):
                pairs.append((own, rest.mean()))
        assert found.r[who] == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1])
        assert found.n[who] == len(pairs)


@pytest.fixture(scope="module")
def crowd(questions_of):
    """A function: kind of five people among many -> share of them that is left out, over seeds,
    at 57 trials.
    """
    lists = build_lists(questions_of(57), study_settings.Lists(unit="template", catch=0))
    digest = digest_lists(lists.trials)

    def share_left_out(seeds: int, per_list: int = 5, **settings) -> dict[str, float]:
        gone: dict[str, list[bool]] = {}
        for seed in range(seeds):
            export, people = simulate(
                lists.trials,
                lists.key,
                digest,
                study_settings.Simulation(people_per_list=per_list, seed=seed, **settings),
            )
            cleaned = clean(
                read_answers(export.raw, lists.key), export.participants, lists.key, Cleaning()
            )
            left_out = cleaned.raters.set_index("participant").excluded_by != ""
            for kind, part in people.groupby("person_kind"):
                gone.setdefault(str(kind), []).extend(left_out[part.participant])
        return {kind: float(np.mean(values)) for kind, values in gone.items()}

    return share_left_out


@pytest.mark.long
def test_exclusion_rates_are_those_that_were_computed_beforehand(crowd) -> None:
    """At 57 trials: of random raters 1.4 % are kept, of the good nobody is left out; binomial
    limits of 50 people.
    """
    shares = {"random": 0.05}
    rates = crowd(10, noise=0.2, kinds=shares)
    assert rates["good"] == 0
    assert 0.92 <= rates["random"] <= 1
    for kind in ("constant", "reversed"):
        assert crowd(1, noise=0.2, kinds={kind: 0.05})[kind] == 1
    # Right in 60 % and guessing otherwise is good enough, even where all others are no better.
    assert crowd(2, noise=0.4)["good"] <= 0.02


def test_the_interval_of_a_reliability_contains_the_true_one_with_three_people() -> None:
    """Random splits of three people hardly differ: their spread contained it in 45% of studies
    (Feldt 1965 is an interval).
    """
    rng = np.random.default_rng(1)
    people, sentences, is_inside = 3, 60, []
    for _ in range(100):
        true = rng.choice([1.8, 4.2], sentences) + rng.normal(0, 0.5, sentences)
        values = np.clip(np.round(true + rng.normal(0, 1.2, (people, sentences))), 1, 5)
        others = np.clip(np.round(true + rng.normal(0, 1.2, (400, sentences))), 1, 5).mean(axis=0)
        cells = {
            "participant": np.repeat(list("abc"), sentences),
            "list": "l",
            "cell": np.tile(np.arange(sentences), people),
        }
        found = reliability_of_answers(pd.DataFrame(cells | {"value": values.ravel()}), 6, 0)
        assert found is not None
        reliability = np.corrcoef(values.mean(axis=0), others)[0, 1] ** 2
        is_inside.append(found.low <= reliability <= found.high)
        assert found.ceiling_low**2 == pytest.approx(max(found.low, 0))
    assert np.mean(is_inside) >= 0.88
