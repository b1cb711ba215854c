"""Answers: each is stored once, whatever the network, the disk and other windows do."""

import sqlite3
import threading

import pytest

from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe_survey import store
from worldprobe_survey.contracts import Participants
from worldprobe_survey.progress import MOST_EVENTS
from worldprobe_survey.store import connect


def stored(lab):
    return lab.rows(
        "SELECT position, answer FROM trials WHERE answer IS NOT NULL ORDER BY position"
    )


def test_an_answer_sent_twice_is_acknowledged_twice_and_stored_once(lab, person):
    trial = person.trial()
    first, second = person.answer(trial, 4), person.answer(trial, 4)
    assert (first.status_code, second.status_code) == (200, 200)
    assert (first.json()["outcome"], second.json()["outcome"]) == ("stored", "repeated")
    assert first.json()["token"] == second.json()["token"]
    assert stored(lab) == [(1, 4)]


def test_another_answer_to_an_answered_trial_is_refused_noted_and_leads_on(lab, person):
    trial = person.trial()
    following = person.answer(trial, 4).json()
    refused = person.answer(trial, 5)
    assert refused.status_code == 409
    assert refused.json()["token"] == following["token"]
    assert stored(lab) == [(1, 4)]
    assert lab.rows("SELECT kind FROM events") == [("conflicting",)]


def test_an_answer_to_a_trial_that_was_not_shown_is_refused(lab, person):
    person.trial()
    (token,) = lab.rows("SELECT token FROM trials WHERE position = 3")[0]
    refused = person.answer({"token": token})
    assert refused.status_code == 409
    assert stored(lab) == []
    assert lab.rows("SELECT kind FROM events") == [("future",)]


def test_the_trial_of_somebody_else_does_not_exist(lab, person):
    other = lab.person(2)
    other.begin()
    assert person.answer(other.trial()).status_code == 404
    assert person.answer({"token": "x" * 22}).status_code == 404
    assert stored(lab) == []


@pytest.mark.parametrize(
    "change",
    [{"answer": answer} for answer in (0, 6, -1, 1.5, "3", True, None, [3], {"a": 3}, 10**30, 3.0)]
    + [{"rt_ms": rt} for rt in (-1, 1.5, "9", None, 86_400_001)]
    + [{"n_blurs": -1}, {"token": ""}, {"token": "../../etc/passwd"}, {"token": 3}, {"more": 1}],
)
def test_answers_that_no_page_sends_are_refused(lab, person, change):
    response = person.answer(person.trial(), **change)
    assert response.status_code == 422
    assert "input" not in response.text
    assert stored(lab) == []


def test_a_full_disk_acknowledges_nothing_and_a_new_try_succeeds(lab, person):
    connection = lab.survey.answers._connection
    connection.execute("CREATE TABLE filler (x)")
    connection.execute(
        f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}"
    )
    with pytest.raises(sqlite3.OperationalError, match="full"):
        connection.executemany("INSERT INTO filler VALUES (randomblob(50))", [()] * 1000)
    n_acknowledged = 0
    for number in range(2, 200):  # the first few may still fit on pages that are there
        other = lab.person(number)
        other.open()
        status = other.post("consent", {"agree": True}).status_code
        if status == 503:
            break
        n_acknowledged += status == 200
    assert status == 503
    assert lab.rows("SELECT count(*) FROM sessions") == [(1 + n_acknowledged,)]
    assert lab.rows("SELECT count(*) FROM trials") == [(8 * (1 + n_acknowledged),)]
    connection.execute("PRAGMA max_page_count = 1000000")
    assert other.post("consent", {"agree": True}).status_code == 200
    assert person.finish() == 8


def test_a_locked_database_acknowledges_nothing_and_a_new_try_succeeds(lab, person, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE_SECONDS", 0.2)
    lab.survey.answers._connection.execute("PRAGMA busy_timeout = 200")
    trial = person.trial()
    blocker = connect(lab.folder / "answers.sqlite")
    blocker.execute("BEGIN IMMEDIATE")
    response = person.answer(trial, 2)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "One moment, please" not in person.open("/").text  # reading needs no lock
    blocker.execute("ROLLBACK")
    blocker.close()
    assert person.answer(trial, 2).json()["outcome"] == "stored"
    assert stored(lab) == [(1, 2)]


def race(calls):
    """Run all calls at the same moment."""
    barrier, results = threading.Barrier(len(calls)), []

    def run(call):
        barrier.wait()
        results.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_browsers_of_one_person_race_on_every_endpoint(lab):
    browsers = [lab.person(1) for _ in range(6)]
    for browser in browsers:
        browser.open()
    assert {
        r.status_code
        for r in race([lambda b=b: b.post("consent", {"agree": True}) for b in browsers])
    } == {200}
    assert lab.rows("SELECT count(*) FROM sessions") == [(1,)]
    for browser in browsers:
        browser.open()
    assert {
        r.status_code
        for r in race([lambda b=b: b.post("demographics", {"age": 30}) for b in browsers])
    } == {200}
    assert lab.rows("SELECT count(*) FROM demographics") == [(1,)]
    assert {r.status_code for r in race([lambda b=b: b.post("begin") for b in browsers])} == {200}
    tokens = {trial["token"] for trial in race([b.trial for b in browsers])}
    assert len(tokens) == 1
    trial = browsers[0].trial()
    answers = race([lambda b=b, k=k: b.answer(trial, k % 5 + 1) for k, b in enumerate(browsers)])
    outcomes = sorted(answer.json()["outcome"] for answer in answers)
    assert outcomes.count("stored") == 1
    assert set(outcomes) <= {"stored", "conflicting", "repeated"}
    assert len(stored(lab)) == 1
    assert {
        r.status_code
        for r in race([lambda b=b: b.post("withdraw", {"sure": True}) for b in browsers])
    } == {200}
    assert lab.rows("SELECT count(*) FROM sessions") == [(0,)]
    assert lab.rows("SELECT n FROM tallies WHERE kind = 'withdrawn'") == [(1,)]


def test_the_code_leaves_only_after_the_last_answer(lab):
    person = lab.person()
    seen = [person.open().text]
    for name, body in (("consent", {"agree": True}), ("demographics", {}), ("begin", {})):
        seen += [person.post(name, body).text, person.open("/").text]
    seen += [
        person.browser.get(f"/static/{name}").text
        for name in ("survey.js", "trials.js", "survey.css")
    ]
    trial = person.trial()
    while trial["state"] == "trial":
        response = person.answer(trial)
        seen += [response.text, str(response.headers)]
        trial = response.json()
    assert all("DONE1234" not in text for text in seen)
    assert "DONE1234" in person.open("/").text


def test_no_response_tells_which_item_or_kind_a_trial_is(lab):
    person = lab.person()
    person.begin()
    trial = person.trial()
    keys = set()
    while trial["state"] == "trial":
        keys.add(frozenset(trial) - {"outcome"})
        assert "catch" not in str({name: value for name, value in trial.items() if name != "token"})
        trial = person.answer(trial).json()
    assert keys == {
        frozenset(
            ["state", "token", "practice", "contexts", "join", "target", "break", "done", "total"]
        )
    }
    questions = [trial.question for one in lab.plan.lists.values() for trial in one.trials]
    page = person.open("/").text
    assert not any(question in page for question in questions)


def test_a_restarted_server_goes_on_where_it_was(lab):
    person = lab.person()
    person.begin()
    trial = person.answer(person.trial()).json()
    lab.stop()
    lab.start()
    again = lab.person()
    again.open()
    assert again.trial()["token"] == trial["token"]
    assert again.finish() == 7


def test_refused_answers_that_are_repeated_for_ever_do_not_fill_the_disk(lab, person):
    first = person.trial()
    person.answer(first, 3)
    for _ in range(MOST_EVENTS + 20):
        assert person.answer(first, 4).status_code == 409
    assert lab.rows("SELECT count(*) FROM events") == [(MOST_EVENTS,)]


def test_a_clock_that_was_set_back_between_two_starts_blocks_no_export(lab, person, tmp_path):
    lab.clock.seconds -= 7200
    person.finish()
    assert main(f"human export {lab.folder} --out {tmp_path / 'export'}".split()) == 0
    assert read_table(tmp_path / "export" / "participants.parquet", Participants)[
        "minutes"
    ].tolist() == [0.0]
