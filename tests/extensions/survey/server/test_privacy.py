"""What people are told is what is stored, and nothing of them lies where others can read it."""

import json
import re
import sqlite3
import subprocess

import pytest

from command_line import run
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe_survey.contracts import Participants, RawRatings
from worldprobe_survey.export import purge
from worldprobe_survey.settings import RECORDED
from worldprobe_survey.store import ANSWER_TABLES, IDENTITY_TABLES, steady_clock
from worldprobe_survey.study import open_survey, read_fact, write_fact

#: Tables that are about the survey, not about somebody.
IMPERSONAL = {"facts", "lists", "list_trials", "designs", "tallies"}
#: What the consent calls it -> the columns that are stored about a person.
COLUMNS = {
    "answers": [
        "trials.answer",
        "trials.position",
        "trials.number",
        "trials.list",
        "trials.kind",
        "sessions.list",
        "sessions.domain",
    ],
    "times": [
        "trials.rt_ms",
        "trials.shown_at",
        "trials.answered_at",
        "sessions.started_at",
        "sessions.touched_at",
        "sessions.asked_at",
        "sessions.instructed_at",
        "sessions.finished_at",
        "sessions.is_late",
        "events.at",
    ],
    "attention": ["trials.n_blurs", "trials.is_resumed", "events.kind", "sessions.n_tries"],
    "demographics": ["demographics.question", "demographics.answer"],
    "comment": ["sessions.comment"],
    "consent": ["people.consented_at", "sessions.consent_digest", "sessions.design"],
    "keys": [
        "people.participant",
        "people.withdrawal_key",
        "submissions.participant",
        "submissions.session",
        "sessions.participant",
        "sessions.session",
        "sessions.seed",
        "sessions.is_preview",
        "demographics.session",
        "events.session",
        "events.event",
        "trials.session",
        "trials.token",
    ],
    "ids": ["people.pid", "submissions.submission", "submissions.study", "submissions.first_at"],
    "outcome": [
        "submissions.code",
        "submissions.outcome",
        "sessions.status",
        "sessions.is_reopened",
    ],
    "owed": ["owed.submission", "owed.study", "owed.code", "owed.at"],
}


def columns() -> set[str]:
    found = set()
    for tables in (ANSWER_TABLES, IDENTITY_TABLES):
        connection = sqlite3.connect(":memory:")
        connection.executescript(tables)
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            if table not in IMPERSONAL:
                found |= {
                    f"{table}.{row[1]}" for row in connection.execute(f"PRAGMA table_info({table})")
                }
        connection.close()
    return found


def test_the_consent_names_every_column_that_is_stored_about_a_person(write_settings):
    named = [column for known in COLUMNS.values() for column in known]
    assert sorted(named) == sorted(columns())
    settings = write_settings(demographics=["age", "country"])
    words = settings.page_texts["consent"]["recorded"]
    assert set(words) == set(RECORDED) == set(COLUMNS)
    text = settings.consent_text
    for name, phrase in words.items():
        assert phrase.replace("{{demographics}}", "age, country") in text, name
    for word in (
        "left the window",
        "loaded the page again",
        "when you began",
        "Copies made before",
    ):
        assert word in text


def test_the_consent_says_only_what_this_study_stores_and_its_own_days(write_settings):
    text = write_settings(demographics=[], entry="open", codes={}, retention_days=41).consent_text
    assert "Your id" not in text
    assert "If you choose to tell us" not in text
    assert (
        "41 days after the study has\nended" in text or "41 days after the study has ended" in text
    )


def test_a_folder_that_git_would_publish_is_refused(make_plan, write_settings, tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    with pytest.raises(UserError, match="git does not ignore it"):
        open_survey(checkout / "study" / "survey", make_plan(), write_settings())
    assert not (checkout / "study").exists()
    (checkout / ".gitignore").write_text("/study/\n")
    open_survey(checkout / "study" / "survey", make_plan(), write_settings()).close()


@pytest.mark.parametrize("name", ["", "identities.sqlite"])
def test_a_folder_that_others_can_read_is_refused(lab, name):
    (lab.folder / name).chmod(0o755 if name == "" else 0o666)
    with pytest.raises(UserError, match="is open to other users"):
        open_survey(lab.folder, lab.plan, lab.settings)


def test_an_export_is_for_its_owner_and_has_no_time_of_day(lab, tmp_path):
    person = lab.person(1)
    person.begin()
    lab.clock.seconds += 131
    person.finish()
    out = tmp_path / "export"
    assert run(f"human export {lab.folder} --out {out}") == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (out, *out.glob("[a-z]*")))
    people = read_table(out / "participants.parquet", Participants)
    assert people["day"].tolist() == ["2027-01-15"]
    assert people["minutes"].tolist() == [2.0]
    text = "".join((out / f"{name}.csv").read_text() for name in ("participants", "raw_ratings"))
    assert not re.search(r"\d\d:\d\d", text)
    assert not {"shown_at", "answered_at"} & set(
        read_table(out / "raw_ratings.parquet", RawRatings)
    )


def test_a_person_gets_a_copy_of_all_that_is_stored(lab, tmp_path):
    person = lab.person(1)
    person.begin()
    person.finish()
    out = tmp_path / "person.json"
    assert run(f"human person {lab.folder} {1:024x} --out {out}") == 0
    found = json.loads(out.read_text())
    assert {f"{table}.{name}" for table, rows in found.items() for row in rows for name in row} >= {
        column for column in columns() if not column.startswith(("owed.", "events."))
    }
    assert len(found["trials"]) == 8
    assert found["people"][0]["pid"] == f"{1:024x}"
    assert out.stat().st_mode & 0o077 == 0


def test_a_changed_study_is_refused_until_it_is_said_and_then_every_session_says_so(
    lab, write_settings, tmp_path
):
    lab.person(1).begin()
    changed = write_settings(consent_text="# Other words\n\n{{recorded}} {{deleted}}", seed=3)
    with pytest.raises(UserError, match="another value of consent, seed"):
        open_survey(lab.folder, lab.plan, changed)
    lab.stop()
    lab.settings = changed
    lab.start(is_change_accepted=True)
    person = lab.person(2)
    person.begin()
    person.finish()
    out = tmp_path / "export"
    assert run(f"human export {lab.folder} --out {out}") == 0
    designs = json.loads((out / "designs.json").read_text())
    people = read_table(out / "participants.parquet", Participants)
    assert set(people["design"]) == set(designs)
    assert len(designs) == 2
    assert sorted(design["seed"] for design in designs.values()) == [0, 3]
    assert all("prompts" in design and "texts" in design for design in designs.values())


def test_setting_the_clock_moves_no_deadline(monkeypatch):
    clock = steady_clock()
    before = clock()
    monkeypatch.setattr("time.time", lambda: before + 7200)
    assert clock() - before < 60


def test_after_a_purge_nothing_tells_the_time_of_day_or_quotes_somebody_and_the_export_is_the_same(
    lab, tmp_path
):
    person = lab.person(1)
    person.begin()
    lab.clock.seconds += 131
    person.finish()
    person.post("comment", {"words": "I am Ann Example of Fern Lane"})
    lab.person(2).begin()
    outs = [tmp_path / name for name in ("before", "after")]
    folder = str(lab.folder)
    assert run(f"human export {folder} --out {outs[0]}") == 0
    lab.clock.seconds += 1e6
    write_fact(lab.survey.answers, "closed_at", 0)
    assert purge(lab.survey.answers, lab.survey.identities) == 2
    assert run(f"human export {folder} --out {outs[1]}") == 0
    tables = [{path.name: path.read_bytes() for path in out.glob("*.csv")} for out in outs]
    assert tables[0] == tables[1] | {
        "participants.csv": tables[1]["participants.csv"].replace(b"expired", b"partial")
    }
    assert lab.rows("SELECT DISTINCT started_at % 86400000 FROM sessions") == [(0,)]
    assert (
        max(
            lab.rows(
                "SELECT max(shown_at, coalesce(answered_at, 0)) % 86400000 FROM trials WHERE"
                " shown_at IS NOT NULL"
            )
        )[0]
        < 200_000
    )
    assert all(b"Fern Lane" not in path.read_bytes() for path in lab.folder.iterdir())


def test_people_who_are_answering_keep_their_identity_until_the_promised_day(
    lab, capsys, monkeypatch
):
    monkeypatch.setattr("time.time", lab.clock)
    lab.person(1).begin()
    assert run(f"human close {lab.folder}") == 0
    assert run(f"human purge {lab.folder} --now") == 2
    assert "1 people who are answering now" in capsys.readouterr().err
    lab.clock.seconds += 100 * 24 * 3600
    assert run(f"human purge {lab.folder}") == 0
    assert "1 identities were deleted" in capsys.readouterr().out


def test_days_that_people_were_promised_are_not_made_longer(lab, write_settings):
    def days():
        return int(read_fact(lab.survey.answers, "retention_days"))

    lab.settings = write_settings(retention_days=200)
    lab.stop()
    lab.start()
    assert days() == 200, "nobody has agreed to anything yet"
    lab.person(1).begin()
    for chosen, kept in ((30, 30), (3650, 30)):
        lab.settings = write_settings(retention_days=chosen)
        lab.stop()
        lab.start(is_change_accepted=True)
        assert days() == kept


def test_the_consent_that_we_ship_promises_no_more_than_an_export_keeps(repository):
    """Time per answer is exported, and adds up to the time that the platform knows."""
    text = " ".join((repository / "resources" / "survey" / "consent.md").read_text().split())
    assert "cannot be compared" not in text
    assert "could perhaps still tell which answers are yours" in text


def test_the_consent_that_we_ship_says_what_leaves_the_pay_alone(repository):
    text = " ".join((repository / "resources" / "survey" / "consent.md").read_text().split())
    assert "Your pay does not depend on any of your answers, these included." in text
    assert "{{recorded}}" in text
    assert "{{deleted}}" in text
