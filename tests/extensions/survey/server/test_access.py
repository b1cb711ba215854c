"""Who may see a code, delete answers, or count: the person of the first submission, and nobody
who only knows an id.
"""

import re

import pytest

from command_line import run
from worldprobe_survey import export
from worldprobe_survey.export import find_person, withdraw
from worldprobe_survey.identities import preview_link
from worldprobe_survey.progress import survey_status
from worldprobe_survey.store import UnavailableError

PID = [f"{number:024x}" for number in range(5)]


def identities(lab):
    return export.list_identities(lab.survey.answers, lab.survey.identities)


@pytest.fixture
def finished(lab):
    person = lab.person(1)
    person.begin()
    person.finish()
    assert "DONE1234" in person.open("/").text
    return person


@pytest.mark.parametrize("link", [{"submission": 99}, {"submission": 99, "study": 8}, {"study": 8}])
def test_who_knows_only_an_id_sees_no_code_and_deletes_nothing(lab, finished, link):
    stranger = lab.person(1)
    page = stranger.open(lab.link(1, **link)).text
    assert "You have been here before" in page
    assert "DONE1234" not in page
    assert stranger.post("withdraw", {"sure": True}).status_code == 404
    assert stranger.post("consent", {"agree": True}).status_code == 403
    assert lab.rows("SELECT count(*) FROM sessions") == [(1,)]


def test_a_link_that_was_opened_before_its_person_came_lets_nobody_in_afterwards(lab):
    stranger = lab.person(1)
    stranger.open(lab.link(1, submission=99))
    person = lab.person(1)
    person.begin()
    person.finish()
    stranger.post("consent", {"agree": True})
    assert "DONE1234" not in stranger.open("/").text
    assert stranger.post("withdraw", {"sure": True}).status_code == 404


def test_a_second_study_of_the_recruiter_is_not_paid_for_the_answers_of_the_first(make_signed_lab):
    lab = make_signed_lab(another_submission="resume")
    person = lab.person(1)
    person.open(lab.link(1))
    for name, body in (("consent", {"agree": True}), ("demographics", {}), ("begin", {})):
        person.post(name, body)
    person.finish()
    assert (
        "You have been here before" in lab.person(1).open(lab.link(1, submission=99, study=8)).text
    )
    assert "DONE1234" in lab.person(1).open(lab.link(1, submission=98)).text, (
        "signed, and of the same study"
    )


def test_who_withdraws_after_the_end_is_paid_and_told_so(lab, finished):
    page = finished.open("/withdraw").text
    assert "you are paid all the same" in page
    assert "not get a completion code" not in page
    assert finished.post("withdraw", {"sure": True}).status_code == 200
    page = finished.open("/").text
    assert "were deleted" in page
    assert "DONE1234" in page
    assert "please return your submission" not in page
    assert [
        (row["submission"], row["code"], row["status"], row["pid"]) for row in identities(lab)
    ] == [(f"{10_001:024x}", "DONE1234", "withdrawn", None)]
    lab.stop()
    assert all(PID[1].encode() not in path.read_bytes() for path in lab.folder.iterdir())
    lab.start()
    again = lab.person(1)
    assert "DONE1234" in again.open().text, "by the link of the submission that is to be paid"
    assert again.post("consent", {"agree": True}).status_code == 403


def test_who_withdraws_before_the_end_leaves_nothing_to_pay(lab):
    person = lab.person(1)
    person.begin()
    person.answer(person.trial())
    assert "will not get a completion code" in person.open("/withdraw").text
    assert not withdraw(
        lab.survey.answers, lab.survey.identities, find_person(lab.survey.identities, PID[1])
    ).is_owed
    assert identities(lab) == []


def test_the_key_of_an_export_authorises_nothing(lab, finished, capsys):
    exported = lab.exported("ratings")["participant"].iloc[0]
    shown = re.search(r'class="key">([0-9a-f]{24})<', finished.open("/").text)[1]
    assert shown != exported
    assert run(f"human withdraw {lab.folder} {exported}") == 2
    assert run(f"human withdraw {lab.folder} {shown}") == 0


def test_a_preview_is_marked_and_counts_nowhere(make_lab, make_plan, capsys):
    lab = make_lab(make_plan(2), ratings_per_item=1)
    link = preview_link("/", "ferns", lab.survey.key).replace("http://127.0.0.1:8000", "")
    lab.clock.seconds = 0  # a link lasts a week
    for _ in range(3):
        person = lab.person(9)
        assert 'id="preview"' in person.open(link).text
        for name, body in (
            ("consent", {"agree": True}),
            ("demographics", {"country": "Chile"}),
            ("begin", {}),
        ):
            assert 'id="preview"' in person.open("/").text
            person.post(name, body)
        person.finish()
        assert "DONE1234" in person.open("/").text
    assert lab.exported("ratings").empty
    assert lab.exported("demographics").empty
    assert identities(lab) == []
    status = survey_status(lab.survey)
    assert (
        status.total("complete"),
        status.total("needed"),
        status.n_answers,
        status.n_previews,
    ) == (0, 2, 0, 3)
    lab.person(1).begin()
    assert len(lab.exported("ratings")) == 0
    assert 'id="preview"' not in lab.person(2).open().text


def test_a_withdrawal_that_is_sent_again_never_tells_a_finished_person_to_return(lab, finished):
    """The reply to the first was lost, or there is another browser: only the link still knows
    what they are owed.
    """
    cookie = dict(finished.browser.cookies)
    assert finished.post("withdraw", {"sure": True}).status_code == 200
    again = lab.person(1)
    again.browser.cookies.update(cookie)
    assert again.post("withdraw", {"sure": True}).status_code == 200
    page = again.open("/").text
    assert "open the link with which you came once more" in page
    assert "DONE1234" not in page
    assert "DONE1234" in again.open().text


def test_a_withdrawal_that_was_interrupted_is_finished_and_the_person_paid(
    lab, finished, monkeypatch
):
    def fail(*_):
        raise UnavailableError("the power is cut")

    with monkeypatch.context() as cut:
        cut.setattr(export, "forget_participant", fail)
        assert finished.post("withdraw", {"sure": True}).status_code == 503
    assert finished.post("withdraw", {"sure": True}).status_code == 200
    assert "DONE1234" in finished.open("/").text
    assert find_person(lab.survey.identities, PID[1]) is None
