"""What comes out: tables without identities, identities without ratings, and nothing of people
who withdrew.
"""

import csv
import functools
import io
import sqlite3
import zipfile

import pandas as pd
import pytest
import pyzipper

from command_line import run
from worldprobe.cli import main
from worldprobe.contracts import read_table, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import made
from worldprobe_survey import export
from worldprobe_survey.contracts import Demographics, Participants, RawRatings, StudyLists
from worldprobe_survey.export import find_person, purge, withdraw
from worldprobe_survey.identities import Visitor, find_withdrawal_key, import_submissions, register
from worldprobe_survey.lists import digest_lists
from worldprobe_survey.progress import find_alarms, survey_status
from worldprobe_survey.store import read_facts
from worldprobe_survey.study import write_fact

PID = [f"{number:024x}" for number in range(5)]


@pytest.fixture
def busy_lab(lab):
    """One person who finished, one in the middle, one who left long ago."""
    finished, gone, halfway = (lab.person(number) for number in (1, 2, 3))
    gone.begin()
    gone.answer(gone.trial())
    lab.clock.seconds += 3 * 3600
    finished.begin()
    finished.finish(4)
    halfway.begin()
    for _ in range(3):
        halfway.answer(halfway.trial(), 2)
    return lab


def test_an_export_keeps_to_its_contracts(busy_lab, tmp_path, capsys):
    out = tmp_path / "export"
    assert run(f"human export {busy_lab.folder} --out {out}") == 0
    ratings = read_table(out / "raw_ratings.parquet", RawRatings)
    people = read_table(out / "participants.parquet", Participants)
    demographics = read_table(out / "demographics.parquet", Demographics)
    assert len(people) == 3
    assert (ratings["kind"] == "catch").sum() >= 1
    assert set(ratings["kind"]) == {"test", "catch"}
    whole = ratings[
        ratings["participant"].isin(people[people["status"] == "complete"]["participant"])
    ]
    assert sorted(whole["presented"]) == sorted(whole["position"]) == list(range(1, 8))
    assert set(whole["response"]) == {"4"}
    name = whole["list"].iloc[0]
    shown = {
        trial.question: place
        for place, trial in enumerate(busy_lab.plan.lists[name].trials, start=1)
    }
    assert dict(zip(whole["question"], whole["position"], strict=True)) == shown
    assert set(ratings["lists_digest"]) == {"ab" * 32}
    assert set(demographics["age"]) == {30.0}
    assert demographics["first_language"].isna().all()
    assert set(demographics["country"]) == {"Chile"}


def test_who_is_in_the_middle_is_partial_and_who_left_has_expired(busy_lab):
    before = busy_lab.survey.answers.now() - busy_lab.settings.expiry_ms
    with busy_lab.survey.answers.read() as connection:
        people = export.export_participants(connection, before)
    assert sorted(people["status"]) == ["complete", "expired", "partial"]
    assert people["minutes"].notna().sum() == 1


def test_the_same_answers_give_the_same_bytes(busy_lab, tmp_path):
    for name in ("one", "two"):
        assert run(f"human export {busy_lab.folder} --out {tmp_path / name}") == 0
    for path in (tmp_path / "one").glob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_no_identity_is_anywhere_but_in_its_own_database(busy_lab, tmp_path):
    run(f"human export {busy_lab.folder} --out {tmp_path / 'export'}")
    busy_lab.stop()
    texts = {
        path: path.read_bytes()
        for folder in (busy_lab.folder, tmp_path / "export")
        for path in folder.iterdir()
    }
    busy_lab.start()
    assert len(texts) > 8
    secrets = [
        PID[1],
        PID[2],
        PID[3],
        f"{10_001:024x}",
        f"{7:024x}",
        "127.0.0.1",
        "testclient",
        "python-httpx",
    ]
    for path, content in texts.items():
        for secret in secrets:
            assert secret.encode() not in content or path.name.startswith("identities.sqlite"), (
                path.name,
                secret,
            )


def test_no_identity_is_logged(lab, caplog, monkeypatch):
    monkeypatch.setattr("worldprobe.log.LOGGER.propagate", True)
    with caplog.at_level(0):
        person = lab.person(1)
        person.begin()
        person.finish()
        person.open("/?PROLIFIC_PID=" + PID[1] + "x")
    ours = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("httpx")
    )
    assert PID[1] not in ours


def test_an_export_contains_no_text_of_items(busy_lab, tmp_path):
    run(f"human export {busy_lab.folder} --out {tmp_path / 'export'}")
    busy_lab.stop()
    for folder in (busy_lab.folder, tmp_path / "export"):
        for path in folder.iterdir():
            assert b"grows" not in path.read_bytes()
    busy_lab.start()


def test_cells_that_spreadsheets_would_compute_are_neutralised_and_parquet_keeps_them(
    lab, tmp_path
):
    formulas = ["=HYPERLINK(0)", "+1", "-1", "@SUM(A1)"]
    for number, formula in enumerate(formulas):
        person = lab.person(number)
        person.open()
        person.post("consent", {"agree": True})
        assert person.post("demographics", {"country": formula}).status_code == 200
    run(f"human export {lab.folder} --out {tmp_path / 'export'}")
    cells = [
        row["country"]
        for row in csv.DictReader(
            io.StringIO((tmp_path / "export" / "demographics.csv").read_text())
        )
    ]
    assert sorted(cells) == sorted(f"'{formula}" for formula in formulas)
    assert sorted(
        read_table(tmp_path / "export" / "demographics.parquet", Demographics)["country"]
    ) == sorted(formulas)


def test_words_of_all_scripts_are_kept(lab):
    words = (
        "<script>alert(1)</script> ' ; DROP TABLE sessions --",
        "العربية\u200f",
        "日本 \U0001f600",
        "../../etc",
    )
    for number, word in enumerate(words):
        person = lab.person(number)
        person.open()
        person.post("consent", {"agree": True})
        assert person.post("demographics", {"country": word}).status_code == 200
        assert "<script>alert" not in person.open("/").text
    assert set(lab.exported("demographics")["country"]) == set(words)


def test_texts_leave_in_an_encrypted_archive_only(busy_lab, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("WORLDPROBE_MATERIALS_PASSWORD", raising=False)
    rows = [
        {
            "list": one.name,
            "position": place,
            "question": trial.question,
            "kind": trial.kind,
            "eval_type": "likert",
            "round": 1,
            "domain": "plants" if trial.kind == "test" else None,
            "version": 0 if trial.kind == "test" else -1,
            "first_context": trial.contexts[0] if trial.contexts else None,
            "second_context": None,
            "target": trial.target,
        }
        for one in busy_lab.plan.lists.values()
        for place, trial in enumerate(one.trials, start=1)
    ]
    frame = pd.DataFrame(rows).astype(
        {"second_context": "str", "first_context": "str", "domain": "str"}
    )
    lists = tmp_path / "lists.parquet"
    write_table(frame, StudyLists, lists, made(1, canary="# CANARY 123"))
    command = f"human export {busy_lab.folder} --with-text {lists}"
    assert run(f"{command} --out {tmp_path}/texts.zip") == 2
    assert "leave this machine encrypted only" in capsys.readouterr().err
    assert run(f"{command} --password w --out {tmp_path}/texts.csv") == 2
    assert run(f"{command} --password w --out {tmp_path}/texts.zip") == 2  # other lists
    with busy_lab.survey.answers.write() as connection:
        connection.execute(
            "UPDATE facts SET value = ? WHERE name = 'lists_digest'", (digest_lists(frame),)
        )
    assert run(f"{command} --password w --out {tmp_path}/texts.zip") == 0
    content = (tmp_path / "texts.zip").read_bytes()
    assert b"grows" not in content
    with pytest.raises(RuntimeError), zipfile.ZipFile(tmp_path / "texts.zip") as plain:
        plain.read("ratings_with_texts.csv")
    with pyzipper.AESZipFile(tmp_path / "texts.zip") as archive:
        archive.setpassword(b"w")
        text = archive.read("ratings_with_texts.csv").decode()
    assert text.startswith("# CANARY 123\n"), "not # #: the canary is written as a comment itself"
    assert "Fern" in text


def test_identities_need_their_token_and_stay_out_of_the_repository(
    busy_lab, tmp_path, capsys, repository
):
    token = busy_lab.folder / "identities-token"
    (tmp_path / "wrong").write_text("0" * 64)
    base = f"human identities {busy_lab.folder}"
    assert run(f"{base} --token {tmp_path}/wrong --out {tmp_path}/pay.csv") == 2
    assert run(f"{base} --token {token} --out {repository}/pay.csv") == 2
    assert run(f"{base} --token {token} --out {tmp_path}/results/pay.csv") == 2
    assert not (repository / "pay.csv").exists()
    assert run(f"{base} --token {token} --out {tmp_path}/pay.csv") == 0
    assert (tmp_path / "pay.csv").stat().st_mode & 0o077 == 0
    rows = {
        row["pid"]: row for row in csv.DictReader(io.StringIO((tmp_path / "pay.csv").read_text()))
    }
    assert rows[PID[1]]["status"] == "complete"
    assert (rows[PID[1]]["n_answers"], rows[PID[1]]["n_catch"], rows[PID[1]]["n_catch_failed"]) == (
        "6",
        "1",
        "1",
    )
    assert rows[PID[2]]["n_answers"] == "0"
    assert PID[1] not in capsys.readouterr().out


@pytest.mark.parametrize("by", ["pid", "key"])
def test_withdrawal_leaves_no_byte_in_any_file(busy_lab, by, capsys):
    key = find_person(busy_lab.survey.identities, PID[1])
    name = PID[1] if by == "pid" else find_withdrawal_key(busy_lab.survey.identities, key)
    assert run(f"human withdraw {busy_lab.folder} {name}") == 0
    for path in busy_lab.folder.iterdir():
        assert PID[1].encode() not in path.read_bytes(), path.name
        assert key.encode() not in path.read_bytes(), path.name
    assert run(f"human withdraw {busy_lab.folder} {name}") == 2
    assert PID[1] not in capsys.readouterr().err
    ratings = busy_lab.exported("ratings")
    assert key not in set(ratings["participant"])
    assert len(ratings) > 0
    with busy_lab.survey.answers.read() as connection:
        assert connection.execute("SELECT kind, n FROM tallies").fetchall()[0]["n"] == 1


def test_a_withdrawn_persons_list_is_free_again(make_lab, make_plan):
    lab = make_lab(make_plan(1), ratings_per_item=1)
    person = lab.person(1)
    person.begin()
    person.finish()
    key = find_person(lab.survey.identities, PID[1])
    withdraw(lab.survey.answers, lab.survey.identities, key)
    lab.person(2).begin()
    assert "personal link" in person.open("/").text


def test_identities_are_deleted_when_the_study_has_ended_and_the_promised_days_are_over(
    busy_lab, capsys
):
    lab = busy_lab
    n_before = len(lab.exported("ratings"))
    alarms = functools.partial(find_alarms, lab.survey.answers, lab.survey.identities)
    lab.clock.seconds += 200 * 24 * 3600
    assert [line.split(":")[0] for line in alarms()] == ["REMINDER"]
    assert run(f"human purge {lab.folder} --now") == 2
    assert "could take part again" in capsys.readouterr().err
    assert run(f"human purge {lab.folder}") == 0
    assert "the study goes on" in capsys.readouterr().out
    assert find_person(lab.survey.identities, PID[1])
    write_fact(lab.survey.answers, "closed_at", lab.survey.answers.now())
    assert "This study has ended" in lab.person(4).open().text
    assert "DONE1234" in lab.person(1).open().text
    lab.clock.seconds += 89 * 24 * 3600
    assert "are to be deleted on" in alarms()[0]
    lab.clock.seconds += 2 * 24 * 3600
    assert alarms()[0].startswith("ALARM: 3 identities should have been deleted")
    assert purge(lab.survey.answers, lab.survey.identities) == 3
    content = b"".join(path.read_bytes() for path in lab.folder.iterdir())
    assert PID[1].encode() not in content
    assert len(lab.exported("ratings")) == n_before
    assert alarms() == []


def submissions(*rows):
    return pd.DataFrame(rows, columns=["Submission id", "Participant id", "Status"], dtype="str")


SUBMISSION = [f"{10_000 + number:024x}" for number in range(5)]


def test_prolifics_list_frees_the_places_of_people_who_gave_them_back(busy_lab):
    lab = busy_lab
    frame = submissions(
        [SUBMISSION[1], PID[1], "TIMED-OUT"],
        [SUBMISSION[2], PID[2], "TIMED-OUT"],
        [SUBMISSION[3], PID[3], "Awaiting Review"],
        ["x", PID[4], "RETURNED"],
    )
    found = import_submissions(lab.survey.answers, lab.survey.identities, frame, "prolific.csv")
    assert (found.n_freed, found.n_returned, found.n_kept, found.n_incomplete, found.n_unknown) == (
        1,
        0,
        1,
        1,
        1,
    )
    again = import_submissions(lab.survey.answers, lab.survey.identities, frame, "prolific.csv")
    assert (again.n_freed, again.n_kept) == (0, 1)
    assert "returned your submission" in lab.person(2).open().text
    gone = lab.person(2)
    gone.open()
    assert gone.browser.get("/api/trial").status_code == 404
    rows = {
        row["pid"]: row["outcome"]
        for row in export.list_identities(lab.survey.answers, lab.survey.identities)
    }
    assert rows[PID[2]] == "TIMED OUT"


def test_who_finished_here_and_returned_there_is_marked_and_cleaning_leaves_them_out(busy_lab):
    lab = busy_lab
    stores = lab.survey.answers, lab.survey.identities
    rest = [[SUBMISSION[number], PID[number], "ACTIVE"] for number in (2, 3)]
    found = import_submissions(
        *stores, submissions([SUBMISSION[1], PID[1], "RETURNED"], *rest), "prolific.csv"
    )
    assert (found.n_freed, found.n_returned, found.n_kept) == (1, 1, 0)
    with lab.survey.answers.read() as connection:
        people = export.export_participants(connection, 0).set_index("participant")
    key = find_person(lab.survey.identities, PID[1])
    assert people.loc[key, "status"] == "returned"
    assert people.loc[key, "minutes"] >= 0
    assert survey_status(lab.survey).total("complete") == 0, "the list is wanted again"
    import_submissions(
        *stores, submissions([SUBMISSION[1], PID[1], "APPROVED"], *rest), "prolific.csv"
    )
    assert survey_status(lab.survey).total("complete") == 1, "a return can be undone"


def test_submissions_that_are_not_in_prolifics_list_are_reported(busy_lab, tmp_path, capsys):
    (tmp_path / "p.csv").write_text(
        f"Submission id,Participant id,Status\n{SUBMISSION[1]},{PID[1]},APPROVED\n"
    )
    assert run(f"human import-submissions {busy_lab.folder} {tmp_path / 'p.csv'}") == 0
    assert (
        "2 submissions here are not in the file: their ids may be invented"
        in capsys.readouterr().out
    )
    assert run(f"human status {busy_lab.folder}") == 0
    assert "ALARM: 2 submissions are not in the recruiter's list" in capsys.readouterr().out
    rows = {
        row["pid"]: row["outcome"]
        for row in export.list_identities(busy_lab.survey.answers, busy_lab.survey.identities)
    }
    assert rows[PID[2]] == "NOT IN THE LIST"


def outcomes(lab):
    return {
        row["pid"]: row["outcome"]
        for row in export.list_identities(lab.survey.answers, lab.survey.identities)
    }


def test_the_list_of_a_second_study_says_nothing_of_the_firsts_people(busy_lab):
    """umx #206, prolific-oss/cli #368: recruiters keep a list for each study."""
    lab = busy_lab
    stores = lab.survey.answers, lab.survey.identities
    register(lab.survey.identities, Visitor(PID[0], f"{99:024x}", SUBMISSION[0]))
    register(lab.survey.identities, Visitor(PID[4], f"{99:024x}", SUBMISSION[4]))
    rows = [
        [SUBMISSION[1], PID[1], "Approved"],
        [SUBMISSION[2], PID[2], "Timed_out"],
        [SUBMISSION[3], PID[3], "ACTIVE"],
    ]
    first = import_submissions(*stores, submissions(*rows), "first.csv")
    assert first.n_absent == 0
    expected = {PID[1]: "APPROVED", PID[2]: "TIMED OUT", PID[3]: "ACTIVE"}
    assert outcomes(lab) == {PID[0]: None, **expected, PID[4]: None}
    second = import_submissions(
        *stores, submissions([SUBMISSION[0], PID[0], "RETURNED"]), "second.csv"
    )
    assert (second.n_absent, second.n_freed, second.n_incomplete) == (1, 0, 0)
    after = {PID[0]: "RETURNED", **expected, PID[4]: "NOT IN THE LIST"}
    assert outcomes(lab) == after
    with pytest.raises(UserError, match="none of the 5 submissions"):
        import_submissions(*stores, submissions(["a" * 24, "b" * 24, "RETURNED"]), "other.csv")
    assert outcomes(lab) == after
    import_submissions(*stores, submissions(*rows), "first.csv")
    assert outcomes(lab) == after


def test_two_exports_in_one_list_are_refused_where_they_say_two_things_of_a_submission(busy_lab):
    stores = busy_lab.survey.answers, busy_lab.survey.identities
    rest = [[SUBMISSION[number], PID[number], "ACTIVE"] for number in (2, 3)]
    twice = [
        [SUBMISSION[1], PID[1], "APPROVED"],
        *rest,
        *rest,
        [f" {SUBMISSION[1]}", PID[1], "RETURNED"],
    ]
    with pytest.raises(UserError, match="a second time, with another status") as refusal:
        import_submissions(*stores, submissions(*twice), "p.csv")
    assert refusal.value.where == "p.csv, line 5"
    assert outcomes(busy_lab)[PID[1]] is None
    import_submissions(*stores, submissions(*twice[:-1]), "p.csv")
    assert outcomes(busy_lab)[PID[1]] == "APPROVED"


def test_blanks_around_the_ids_of_a_submission_do_not_matter(busy_lab, tmp_path, capsys):
    (tmp_path / "p.csv").write_text(
        f"Submission id,Participant id,Status\n {SUBMISSION[2]} , {PID[2]} , RETURNED \n"
    )
    assert run(f"human import-submissions {busy_lab.folder} {tmp_path / 'p.csv'}") == 0
    printed = capsys.readouterr().out
    assert "1 lists are free again" in printed
    assert "0 never consented here" in printed


def test_lists_of_people_who_are_not_kept_are_asked_for_again(
    make_lab, make_plan, tmp_path, capsys
):
    lab = make_lab(make_plan(1), ratings_per_item=1)
    person = lab.person(1)
    person.begin()
    person.finish()
    key = find_person(lab.survey.identities, PID[1])
    assert "All places are taken" in lab.person(2).open().text
    (tmp_path / "gone.csv").write_text(f"participant\n{key}\nunknown-key\n")
    assert run(f"human reopen {lab.folder} {tmp_path / 'gone.csv'}") == 0
    assert (
        capsys.readouterr().out
        == "1 lists reopened\n1 people of the table are not in this survey\n"
    )
    assert run(f"human reopen {lab.folder} {tmp_path / 'gone.csv'}") == 0
    lab.person(2).begin()
    assert "DONE1234" in person.open("/").text
    assert run(f"human status {lab.folder} --lists") == 0
    assert (
        "likert-r1-000         0     1        0         0         1       0"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_table_of_all_raters_reopens_the_lists_of_excluded_people_only(
    busy_lab, tmp_path, capsys, suffix
):
    finished = find_person(busy_lab.survey.identities, PID[1])
    raters = pd.DataFrame({"participant": [finished, "x" * 16], "excluded_by": ["", "isc"]})
    write = {"csv": lambda path: raters.to_csv(path, index=False), "parquet": raters.to_parquet}[
        suffix
    ]
    write(tmp_path / f"raters.{suffix}")
    assert run(f"human reopen {busy_lab.folder} {tmp_path / f'raters.{suffix}'}") == 0
    assert (
        capsys.readouterr().out
        == "0 lists reopened\n1 people of the table are not in this survey\n"
    )
    raters.loc[0, "excluded_by"] = "isc"
    write(tmp_path / f"raters.{suffix}")
    assert run(f"human reopen {busy_lab.folder} {tmp_path / f'raters.{suffix}'}") == 0
    assert capsys.readouterr().out.startswith("1 lists reopened")


def test_a_backup_of_a_running_survey_is_whole_and_can_be_served(busy_lab, tmp_path, make_lab):
    copy = tmp_path / "copy"
    assert run(f"human backup {busy_lab.folder} --out {copy}") == 0
    with sqlite3.connect(copy / "answers.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    before = busy_lab.exported("ratings")
    busy_lab.person(4).begin()
    busy_lab.stop()
    busy_lab.folder = copy
    busy_lab.start()
    assert (copy / "key").read_bytes()
    pd.testing.assert_frame_equal(busy_lab.exported("ratings"), before)
    person = busy_lab.person(3)
    person.open()
    person.finish()


def test_a_backup_is_never_replaced(busy_lab, tmp_path, capsys):
    backup = f"human backup {busy_lab.folder} --out {tmp_path / 'copy'}".split()
    assert main(backup) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert main(backup) == 2
    assert "is not empty" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()} == before


def test_the_code_that_was_given_is_noted(busy_lab):
    person = busy_lab.person(1)
    person.open()
    rows = {
        row["pid"]: row
        for row in export.list_identities(busy_lab.survey.answers, busy_lab.survey.identities)
    }
    assert rows[PID[1]]["code"] == "DONE1234"
    assert rows[PID[3]]["code"] is None


@pytest.mark.parametrize("words", ["database is locked", "disk I/O error"])
def test_a_disk_without_locks_is_no_broken_database(tmp_path, monkeypatch, words) -> None:
    """L2: the advice to restore a backup would have lost the newer answers."""
    (tmp_path / "answers.sqlite").write_bytes(b"")

    def refuse(*_, **__):
        raise sqlite3.OperationalError(words)

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(UserError, match="no file locks") as caught:
        read_facts(tmp_path / "answers.sqlite")
    assert "backup" not in caught.value.lines()
