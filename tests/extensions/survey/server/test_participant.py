"""One person's way: from the link to the code, and every way back in."""

import html
import re

import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.language import Language
from worldprobe.benchmarks.ewok.scoring import load_prompts
from worldprobe.cli import main
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import Provenance
from worldprobe_survey.app import STATIC
from worldprobe_survey.contracts import StudyLists
from worldprobe_survey.server_cli import _read_questionnaire
from worldprobe_survey.study import read_wording

PID = f"{1:024x}"


def test_colours_under_a_pointer_are_only_where_one_can_hover():
    """After a touch, the next trial's answer at the same place was tinted: a hint to repeat it."""
    css = (STATIC / "survey.css").read_text()
    block = re.search(r"@media \(hover: hover\) \{\n(?:  .*\n)*\}", css)
    assert block
    assert css.count(":hover") == block[0].count(":hover") > 3


def count_sessions(lab):
    return lab.rows("SELECT count(*) FROM sessions")[0][0]


def test_a_person_goes_from_consent_to_the_code(lab):
    person = lab.person()
    assert "Before you begin" in person.open().text
    assert person.post("consent", {"agree": True}).json() == {"state": "moved"}
    assert "About you" in person.open("/").text
    person.post(
        "demographics", {"age": 30, "gender": "woman", "country": "Chile", "language": None}
    )
    assert "Instructions" in person.open("/").text
    person.post("begin")
    assert 'id="trial"' in person.open("/").text
    assert person.finish() == 8
    page = person.open("/").text
    assert "DONE1234" in page
    assert "https://app.prolific.com/submissions/complete?cc=DONE1234" in page


def test_the_address_loses_the_ids_at_once(lab):
    response = lab.person().browser.get(lab.link(1))
    assert (response.status_code, response.headers["location"]) == (303, "/")


def test_looking_at_a_link_reserves_nothing_and_stores_nothing(lab):
    for number in range(50):
        lab.person(number).open()
    assert count_sessions(lab) == 0
    with lab.survey.identities.read() as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone()[0] == 0


def test_consent_needs_the_tick(lab):
    person = lab.person()
    person.open()
    for body in (
        {},
        {"agree": False},
        {"agree": "true"},
        {"agree": 1},
        {"agree": True, "more": 1},
        [],
    ):
        assert (
            person.browser.post(
                "/api/consent", json=body, headers={"origin": "http://127.0.0.1:8000"}
            ).status_code
            == 422
        )
    assert count_sessions(lab) == 0


def test_who_declines_leaves_no_trace_and_may_think_again(lab):
    person = lab.person()
    person.open()
    assert person.post("decline").json() == {"state": "moved"}
    page = person.open("/").text
    assert "NOCONS77" in page
    assert "DONE1234" not in page
    person.post("decline")
    assert "Before you begin" in person.open("/").text
    assert count_sessions(lab) == 0


def test_the_same_person_continues_in_another_browser_at_the_first_unanswered_trial(lab):
    first = lab.person(1)
    first.begin()
    trial = first.trial()
    for _ in range(3):
        trial = first.answer(trial).json()
    second = lab.person(1)
    second.open()
    again = second.trial()
    assert again["token"] == trial["token"]
    assert second.finish() == 5
    assert count_sessions(lab) == 1
    assert lab.rows("SELECT position FROM trials WHERE is_resumed") == [(4,)]


def test_who_has_finished_sees_the_same_code_again(lab):
    person = lab.person()
    person.begin()
    person.finish()
    other = lab.person(1)
    assert "DONE1234" in other.open().text
    assert other.post("consent", {"agree": True}).json() == {"state": "moved"}
    assert count_sessions(lab) == 1


def test_another_submission_of_the_same_person_is_refused(lab):
    person = lab.person()
    person.begin()
    assert "been here before" in lab.person(1).open(lab.link(1, submission=99)).text
    assert 'id="trial"' in lab.person(1).open(lab.link(1)).text
    assert dict(lab.rows("SELECT kind, n FROM tallies")) == {"refused another submission": 1}


def test_another_submission_is_noted_when_it_is_resumed(make_signed_lab):
    lab = make_signed_lab(another_submission="resume")
    first = lab.person(1)
    first.open(lab.link(1))
    for name, body in (("consent", {"agree": True}), ("demographics", {}), ("begin", {})):
        first.post(name, body)
    assert 'id="trial"' in lab.person(1).open(lab.link(1, submission=99)).text
    with lab.survey.identities.read() as connection:
        assert connection.execute("SELECT count(*) FROM submissions").fetchone()[0] == 2


def test_a_person_takes_one_list_of_each_domain_where_the_study_says_so(make_signed_lab, make_plan):
    chosen = {"participation": "once_per_domain", "another_submission": "resume"}
    lab = make_signed_lab(make_plan(4, domains=("plants", "stones")), **chosen)
    for number in range(2):
        lab.clock.seconds += 60
        person = lab.person(1)
        assert "Before you begin" in person.open(lab.link(1, submission=number)).text
        person.post("consent", {"agree": True})
        person.post("demographics", {})
        person.post("begin")
        person.finish()
        assert "DONE1234" in person.open("/").text
        assert "DONE1234" in lab.person(1).open(lab.link(1, submission=number)).text
    third = lab.person(1)
    third.open(lab.link(1, submission=2))
    assert third.post("consent", {"agree": True}).json() == {"state": "full"}
    assert sorted(lab.rows("SELECT domain FROM sessions")) == [("plants",), ("stones",)]


def test_people_without_a_recruiter_are_known_by_their_browser(make_lab):
    lab = make_lab(entry="open", codes={})
    person = lab.person(0)
    assert "Before you begin" in person.open("/").text
    person.post("consent", {"agree": True})
    person.post("demographics", {})
    person.post("begin")
    person.finish()
    assert "close this window" in person.open("/").text
    assert count_sessions(lab) == 1


@pytest.mark.parametrize(
    ("age", "is_asked"), [(17, False), (0, False), (18, True), (120, True), (None, True)]
)
def test_who_is_too_young_keeps_no_list_and_leaves_no_answers(lab, age, is_asked):
    person = lab.person()
    person.open()
    person.post("consent", {"agree": True})
    assert person.post("demographics", {"age": age}).status_code == 200
    assert ("Instructions" in person.open("/").text) == is_asked
    if not is_asked:
        assert "looking for other people" in person.open().text
        assert person.browser.get("/api/trial").status_code == 404
        assert (
            lab.rows("SELECT count(*) FROM trials")
            == lab.rows("SELECT count(*) FROM demographics")
            == [(0,)]
        )


@pytest.mark.parametrize(
    "body",
    [
        {"age": 121},
        {"age": -1},
        {"age": "30"},
        {"age": 30.5},
        {"age": True},
        {"gender": "x"},
        {"country": "a\0b"},
        {"country": "x" * 61},
        {"country": "  "},
        {"email": "a@b.c"},
    ],
)
def test_demographics_that_no_page_sends_are_refused(lab, body):
    person = lab.person()
    person.open()
    person.post("consent", {"agree": True})
    assert person.post("demographics", body).status_code == 422
    assert "About you" in person.open("/").text


def test_only_the_questions_of_the_study_are_stored(make_lab):
    lab = make_lab(demographics=["age"])
    person = lab.person()
    person.open()
    person.post("consent", {"agree": True})
    assert "first language" not in person.open("/").text
    person.post("demographics", {"age": 40, "country": "Chile"})
    assert lab.rows("SELECT question, answer FROM demographics") == [("age", "40")]


def test_the_words_are_the_papers(make_lab, make_plan, repository):
    prompt = load_prompts()["likert"]
    wording = read_wording(prompt.instructions, prompt.block, prompt.answers, prompt.trials)
    paper = (
        "In this study, you will see multiple examples. In each example, you will be given a"
        " scenario. Your task will be to read the scenario and answer how much it makes sense. Your"
        ' response must be on a scale from 1 to 5, with 1 meaning "makes no sense", and 5 meaning'
        ' "makes perfect sense".'
    )
    assert wording.instructions == paper
    task = (
        "How much does this scenario make sense? Please answer using a number from 1 to 5, with 1"
        ' meaning "makes no sense", and 5 meaning "makes perfect sense".'
    )
    assert wording.task == task
    plan = make_plan()
    plan = type(plan)(plan.digest, plan.lists, {"likert": wording})
    lab = make_lab(plan)
    person = lab.person()
    person.open()
    person.post("consent", {"agree": True})
    person.post("demographics", {})
    assert paper in html.unescape(person.open("/").text)
    person.post("begin")
    shown = [person.trial()]
    shown.append(person.answer(shown[0]).json())
    assert [one["target"] for one in shown] == [trial["target"] for trial in prompt.trials]
    assert all(one["practice"] for one in shown)


def test_every_person_has_an_order_of_their_own_and_catch_trials_keep_their_places(
    make_lab, make_plan
):
    lab = make_lab(make_plan(1, 20))
    orders = []
    for number in range(3):
        lab.person(number).begin()
    for (session,) in lab.rows("SELECT session FROM sessions"):
        rows = lab.rows(
            f"SELECT number, kind FROM trials WHERE session = '{session}' ORDER BY position"
        )
        orders.append([number for number, _ in rows])
        assert [kind for _, kind in rows].index("catch") == 11
        assert sorted(orders[-1]) == list(range(22))
    assert orders[0] != orders[1] != orders[2]


def test_what_is_left_of_a_withdrawn_person_is_a_dated_count(lab):
    person = lab.person()
    person.begin()
    person.answer(person.trial())
    assert "Do you want to withdraw?" in person.open("/withdraw").text
    assert person.post("withdraw", {"sure": True}).status_code == 200
    assert "were deleted" in person.open("/").text
    for table in ("sessions", "trials", "demographics", "events"):
        assert lab.rows(f"SELECT count(*) FROM {table}") == [(0,)]
    assert lab.rows("SELECT * FROM tallies") == [("2027-01-15", "withdrawn", 1)]
    for path in lab.folder.iterdir():
        assert PID.encode() not in path.read_bytes()
        assert b"Chile" not in path.read_bytes()


def test_the_instructions_are_asked_about_and_explained_until_they_are_understood(make_lab):
    lab = make_lab(comprehension=True)
    person = lab.person()
    person.open()
    person.post("consent", {"agree": True})
    person.post("demographics", {})
    page = person.open("/").text
    assert "what does the answer 5 mean?" in page
    assert "Not quite" in page
    assert person.post("begin", {}).json() == {"state": "again"}
    assert person.post("begin", {"meaning": "wrong"}).json() == {"state": "again"}
    assert person.browser.get("/api/trial").status_code == 404
    assert person.post("begin", {"meaning": "right"}).json() == {"state": "moved"}
    assert person.trial()["state"] == "trial"
    assert lab.rows("SELECT n_tries FROM sessions") == [(3,)]


def test_nobody_sees_the_unsent_answer_of_somebody_else(lab):
    names = set()
    for number in (1, 2):
        person = lab.person(number)
        person.begin()
        page = html.unescape(person.open("/").text)
        names |= set(re.findall(r'"pending": "([^"]+)"', page))
    assert len(names) == 2
    assert all(name.startswith(lab.settings.cookie) for name in names)


def test_the_consent_can_be_kept(lab):
    response = lab.person().browser.get("/consent")
    assert response.text == lab.settings.consent_text
    assert "attachment" in response.headers["content-disposition"]


@pytest.mark.parametrize("code", ["zh", "xx"])
def test_items_are_asked_about_in_their_language_and_what_stays_english_is_told(
    item_table, tmp_path, make_lab, caplog, code
):
    language = Language(language=code, name="Other", prompts="ewok_zh" if code == "zh" else "ewok")
    table = read_table(item_table, Items)
    number = table.index.astype(str)
    texts = {"context1": "箱子很重。", "context2": "箱子很轻。", "target1": "他搬不动。"}
    named = {name: number + text for name, text in (texts | {"target2": "他搬得动。"}).items()}
    items, lists, key = (tmp_path / f"{name}.parquet" for name in ("items", "lists", "key"))
    write_table(table.assign(**named), Items, items, Provenance(details=language.details()))
    command = f"human lists {items} --shortest 1 --catch 1 --key-out {key} --out {lists}"
    assert main(command.split()) == 0
    assert ("Catch trials are in English" in caplog.text) == (code == "xx")
    questionnaire = _read_questionnaire(lists, "ewok")
    shown = read_table(lists, StudyLists).query("kind == 'catch'")["target"]
    assert shown.str.startswith("这不是情景" if code == "zh" else "This is not a scenario").all()
    wording = questionnaire.wordings["likert"]
    assert wording.task.startswith("这个情景" if code == "zh" else "How much does")
    assert wording.answers[-1] == ("完全合乎情理" if code == "zh" else "makes perfect sense")
    person = make_lab(questionnaire, practice=False).person()
    person.begin()
    trial = person.trial()
    assert trial["join"] == ("" if trial["contexts"] else " ")
    assert f"&#34;language&#34;: &#34;{code}&#34;" in person.open("/").text
