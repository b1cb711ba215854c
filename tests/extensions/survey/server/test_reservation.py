"""Lists: taken evenly, given back when somebody leaves, and wanted until enough people have
finished.
"""

import random
import threading
from collections import Counter

import pytest

from worldprobe.errors import UserError
from worldprobe_survey import progress
from worldprobe_survey.identities import Visitor, register
from worldprobe_survey.progress import survey_status
from worldprobe_survey.study import open_survey


def reserve(lab, number):
    participant = register(lab.survey.identities, Visitor(f"{number:024x}", "s", f"{number}"))
    return progress.reserve(lab.survey, participant)


def per_list(lab):
    return dict(lab.rows("SELECT list, count(*) FROM sessions GROUP BY list"))


def test_two_hundred_simultaneous_starts_differ_by_at_most_one_a_list(make_lab, make_plan):
    lab = make_lab(make_plan(30), ratings_per_item=20)
    barrier, failures = threading.Barrier(200), []

    def start(number):
        barrier.wait()
        try:
            reserve(lab, number)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(per_list(lab).values()) == {6, 7}
    assert len(per_list(lab)) == 30


def test_the_same_seed_and_order_of_people_give_the_same_lists(make_lab, make_plan, tmp_path):
    chosen = []
    for folder in ("one", "two"):
        lab = make_lab(make_plan(8))
        lab.stop()
        lab.folder = tmp_path / folder
        lab.start()
        for number in range(8):
            reserve(lab, number)
            lab.clock.seconds += 1
        chosen.append(
            [name for (name,) in lab.rows("SELECT list FROM sessions ORDER BY started_at")]
        )
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) == 8
    assert chosen[0] != sorted(chosen[0])


def test_a_reservation_without_answers_returns_to_the_pool(make_lab, make_plan):
    lab = make_lab(make_plan(1), ratings_per_item=1, minutes=8, max_minutes=10)
    first = lab.person(1)
    first.begin()
    assert lab.person(2).open().text.count("All places are taken")
    lab.clock.seconds += 9 * 60
    first.answer(first.trial())
    lab.clock.seconds += 9 * 60
    with pytest.raises(progress.FullError):
        reserve(lab, 2)
    lab.clock.seconds += 2 * 60
    reserve(lab, 3)
    assert sorted(status for (status,) in lab.rows("SELECT status FROM sessions")) == [
        "active",
        "expired",
    ]


def test_who_finishes_late_is_accepted_marked_and_counted(make_lab, make_plan):
    lab = make_lab(make_plan(1), ratings_per_item=1, minutes=8, max_minutes=10)
    late = lab.person(1)
    late.begin()
    lab.clock.seconds += 11 * 60
    second = lab.person(2)
    second.begin()
    late.open()
    late.finish()
    second.finish()
    assert sorted(lab.rows("SELECT status, is_late FROM sessions")) == [
        ("complete", 0),
        ("complete", 1),
    ]
    status = survey_status(lab.survey)
    assert (status.total("complete"), status.n_late, status.total("needed")) == (2, 1, 0)


def test_where_people_leave_the_goal_is_still_reached_with_one_more_person_each(
    make_lab, make_plan
):
    lab = make_lab(make_plan(4, 2), ratings_per_item=3, minutes=8, max_minutes=10)
    dice, n_left, n_people = random.Random(3), 0, 0
    for number in range(40):
        person = lab.person(number)
        person.open()
        if person.post("consent", {"agree": True}).json() == {"state": "full"}:
            lab.clock.seconds += 11 * 60
            person.open()
            if person.post("consent", {"agree": True}).json() == {"state": "full"}:
                break
        n_people += 1
        person.post("demographics", {})
        person.post("begin")
        if dice.random() < 0.3:
            trial = person.trial()
            for _ in range(dice.randrange(3)):
                trial = person.answer(trial).json()
            n_left += 1
        else:
            person.finish()
    complete = Counter(
        name for (name,) in lab.rows("SELECT list FROM sessions WHERE status = 'complete'")
    )
    assert set(complete.values()) == {3}
    assert len(complete) == 4
    assert n_left >= 3
    assert n_people == 12 + n_left


def test_more_newcomers_in_a_minute_than_allowed_are_held_up_and_seen(make_lab):
    lab = make_lab(new_per_minute=3)
    statuses = []
    for number in range(5):
        person = lab.person(number)
        person.open()
        statuses.append(person.post("consent", {"agree": True}).status_code)
    assert statuses == [200, 200, 200, 429, 429]
    assert survey_status(lab.survey).tallies["newcomers over the limit"] == 2


def test_rounds_share_the_people_that_a_question_needs(make_lab, make_plan):
    plan = make_plan(2)
    first, second = plan.lists.values()
    lists = {first.name: first, second.name: type(second)(**(vars(second) | {"round": 2}))}
    lab = make_lab(type(plan)(plan.digest, lists, plan.wordings), ratings_per_item=5)
    assert progress.wanted_per_list(lab.survey) == 3


def test_a_folder_of_other_lists_is_refused(lab, make_plan):
    other = make_plan(4)
    other = type(other)("cd" * 32, other.lists, other.wordings)
    with pytest.raises(UserError, match="created for another value of lists"):
        open_survey(lab.folder, other, lab.settings)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE trials SET answer = 6, answered_at = 1, shown_at = 1",
        "UPDATE trials SET answer = 3",
        "UPDATE sessions SET status = 'complete'",
        "UPDATE sessions SET list = 'unknown'",
        (
            "INSERT INTO sessions SELECT 'other', participant, list, domain, seed, is_preview,"
            " status, consent_digest, design, started_at, touched_at, asked_at, instructed_at,"
            " finished_at, is_late, is_reopened, n_tries, comment FROM sessions"
        ),
        (
            "INSERT INTO trials (session, position, list, number, kind, token)"
            " SELECT session, 1, list, 1, kind, 'x' FROM trials LIMIT 1"
        ),
    ],
)
def test_the_database_itself_refuses_what_must_not_be(lab, change):
    import sqlite3

    lab.person().begin()
    with pytest.raises(sqlite3.IntegrityError), lab.survey.answers.write() as connection:
        connection.execute(change)
