"""The researcher's page: numbers without identities, for whoever has the token."""

import base64

import pytest
from starlette.testclient import TestClient

from worldprobe_survey.app import survey_page


@pytest.fixture
def stores(lab):
    for number, n_answers in ((1, None), (2, 5), (3, 0)):
        person = lab.person(number)
        person.begin()
        lab.clock.seconds += 120
        if n_answers is None:
            person.finish(4)
        else:
            for _ in range(n_answers):
                person.answer(person.trial(), 2)
    lab.person(4).open()
    return lab.survey.answers, lab.survey.identities


def test_the_page_needs_the_token_and_shows_no_identity(stores, lab):
    browser = TestClient(survey_page(*stores))
    token = (lab.folder / "identities-token").read_text()
    assert browser.get("/").status_code == 401
    assert browser.get("/", auth=("x", "0" * 64)).status_code == 401
    assert browser.get("/", headers={"authorization": "Basic ###"}).status_code == 401
    assert browser.get("/", headers={"authorization": f"Bearer {token}"}).status_code == 401
    assert browser.get(f"/?token={token}").status_code == 401
    header = base64.b64encode(f"me:{token}".encode()).decode()
    page = browser.get("/", headers={"authorization": f"Basic {header}"})
    assert page.status_code == 200
    assert "How far people came" in page.text
    assert f"{1:024x}" not in page.text
    keys = [row[0] for row in lab.rows("SELECT participant FROM sessions")]
    assert not any(key in page.text for key in keys)
    assert browser.post("/").status_code == 405
