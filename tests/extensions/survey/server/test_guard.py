"""What every request passes: size, origin, host, numbers; and what every response carries."""

import hashlib
import re

import pytest

from worldprobe_survey.app import STATIC, Site, build_app

OWN = {"origin": "http://127.0.0.1:8000", "content-type": "application/json"}


def test_large_bodies_are_refused(person):
    response = person.browser.post("/api/answer", content=b"[" + b" " * 16_384 + b"]", headers=OWN)
    assert response.status_code == 413

    def chunks():
        for _ in range(40):
            yield b" " * 1000

    assert person.browser.post("/api/answer", content=chunks(), headers=OWN).status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://127.0.0.1:8000"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:8000"}, 200),
        ({}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:8000.evil.example"}, 403),
        ({"origin": "https://127.0.0.1:8000"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:8000"}, 403),
        ({"sec-fetch-site": "none"}, 403),
    ],
)
def test_other_pages_change_nothing(lab, headers, status):
    person = lab.person()
    person.open()
    kind = {"content-type": "application/json"}
    assert (
        person.browser.post(
            "/api/consent", content=b'{"agree": true}', headers=kind | headers
        ).status_code
        == status
    )
    assert lab.rows("SELECT count(*) FROM sessions") == [(int(status == 200),)]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/withdraw",
        "/api/trial",
        "/nothing",
        "/static/nothing",
        "/static/survey.js",
        "/consent",
        "/api/answer",
    ],
)
def test_every_response_carries_the_headers_that_protect_it(lab, path):
    response = lab.person().browser.get(path)
    policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://app.prolific.com" in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert ("no-store" in response.headers["cache-control"]) == (path != "/static/survey.js")
    assert "access-control-allow-origin" not in response.headers
    assert "server" not in response.headers


def test_a_fault_of_ours_shows_and_logs_nothing_that_a_person_sent(
    lab, person, monkeypatch, caplog
):
    def fail(*_):
        raise RuntimeError("secret words of a person")

    monkeypatch.setattr("worldprobe_survey.progress.show_trial", fail)
    monkeypatch.setattr("worldprobe.log.LOGGER.propagate", True)
    response = person.browser.get("/api/trial")
    assert (response.status_code, response.json()) == (500, {"error": "internal error"})
    assert "RuntimeError" in caplog.text
    assert "secret words" not in caplog.text


def test_cookies_are_out_of_reach_of_scripts_and_secure_behind_tls(lab):
    plain = lab.person().browser.get(lab.link(1)).headers["set-cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    assert "Secure" not in plain
    app = build_app(lab.survey, Site("https://lab.example/study/", ("127.0.0.1:8000",)))
    behind = type(lab.person())(app, lab.portal, 1, "https://lab.example")
    response = behind.browser.get(lab.link(1))
    assert "Secure" in response.headers["set-cookie"]
    assert "Path=/study/" in response.headers["set-cookie"]
    assert response.headers["location"] == "/study/"
    assert response.headers["strict-transport-security"]


def test_vendored_files_are_those_of_npm():
    folder = STATIC / "vendor"
    stated = dict(
        re.findall(r"\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|", (folder / "README.md").read_text())
    )
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.js")
    }
    assert found == stated
    assert len(found) == 3
