"""Signed links and cookies: what was changed, is too old or comes from somebody else opens no
door.
"""

import base64
import hmac
import json
import re
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from worldprobe.errors import UserError
from worldprobe_survey.identities import BadLinkError, Caller, Doorkeeper, Visitor
from worldprobe_survey.settings import read_survey_settings

AUDIENCE = "https://lab.example"
IDS = {"PROLIFIC_PID": f"{1:024x}", "STUDY_ID": f"{2:024x}", "SESSION_ID": f"{3:024x}"}


@pytest.fixture(scope="module")
def keys():
    return [rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2)]


@pytest.fixture
def door(keys, tmp_path, write_settings):
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(keys[0].public_key())) | {
        "kid": "ours",
        "use": "sig",
        "alg": "RS256",
    }
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [public]}))
    settings = write_settings(entry="signed", signed={"keys": "jwks.json", "audience": AUDIENCE})
    return Doorkeeper(settings, b"k" * 64)


def sign(key, algorithm="RS256", kid="ours", **changes):
    claims = {"aud": AUDIENCE, "exp": time.time() + 600, "prolific": IDS} | changes
    return jwt.encode(
        {name: value for name, value in claims.items() if value is not None},
        key,
        algorithm,
        headers={"kid": kid},
    )


def forge_with_public_key(public, body):
    """The public key as the secret of HMAC, which a careless reader would accept."""
    head = (
        base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"ours","typ":"JWT"}').decode().rstrip("=")
    )
    mark = hmac.digest(public.encode(), f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def test_a_signed_link_names_its_person(door, keys):
    visitor = door.read_link({"prolific_token": sign(keys[0])})
    assert visitor == Visitor(IDS["PROLIFIC_PID"], IDS["STUDY_ID"], IDS["SESSION_ID"])


def test_unsigned_parameters_open_nothing_where_links_are_signed(door):
    with pytest.raises(BadLinkError):
        door.read_link(IDS)


@pytest.mark.parametrize(
    "change",
    [
        {"exp": 1000},
        {"exp": None},
        {"exp": "soon"},
        {"aud": "https://other.example"},
        {"aud": None},
        {"prolific": None},
        {"prolific": "x"},
        {"prolific": IDS | {"PROLIFIC_PID": "' OR 1=1 --"}},
        {"prolific": IDS | {"PROLIFIC_PID": 12}},
        {"nbf": time.time() + 9000},
        {"kid": "other"},
    ],
)
def test_tokens_with_wrong_claims_are_refused(door, keys, change):
    with pytest.raises(BadLinkError):
        door.read_link({"prolific_token": sign(keys[0], **change)})


def test_tokens_of_other_keys_and_kinds_are_refused(door, keys, tmp_path):
    good = sign(keys[0])
    head, body, signature = good.split(".")
    public = (tmp_path / "jwks.json").read_text()
    tokens = [
        sign(keys[1]),
        sign("", "none"),
        forge_with_public_key(public, body),
        sign(keys[0], "RS512"),
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{body[:-2]}AA.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}",
        "",
        "x" * 5000,
    ]
    for token in tokens:
        with pytest.raises(BadLinkError):
            door.read_link({"prolific_token": token})


def test_a_cookie_is_read_only_by_the_survey_that_wrote_it(write_settings, clock):
    settings = write_settings()
    door = Doorkeeper(settings, b"k" * 64, clock)
    value = door.write_cookie("person", participant="abc")
    assert door.read_cookie(value) == Caller("person", None, "abc")
    nobody = Caller()
    assert Doorkeeper(settings, b"m" * 64, clock).read_cookie(value) == nobody
    assert Doorkeeper(write_settings(study="stones"), b"k" * 64, clock).read_cookie(value) == nobody
    head, body, _ = value.split(".")
    for forged in (
        None,
        "",
        "x",
        value[:-3],
        f"{head}.{body}.",
        jwt.encode({"kind": "person", "participant": "abc"}, "", "none"),
    ):
        assert door.read_cookie(forged) == nobody
    clock.seconds += 15 * 24 * 3600
    assert door.read_cookie(value) == nobody


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"another_submission": "resume"}, "would let anybody who knows a person's id in"),
        ({"codes": {"complete": "[[code]]"}}, "still contains gaps"),
        ({"consent_text": "You get [[PAYMENT]]."}, "still contains gaps"),
        ({"consent_text": "Only this. {{recorded}}"}, "has no {{deleted}}"),
        ({"consent_text": "Only this. {{deleted}}"}, "has no {{recorded}}"),
        ({"youngest": 12}, "at least"),
    ],
)
def test_settings_that_cannot_work_are_refused(write_settings, keys, problem):
    with pytest.raises(UserError) as refused:
        write_settings(**keys)
    assert problem in str(refused.value)


def test_the_settings_and_the_consent_that_we_ship_fit_together(repository, tmp_path):
    folder = repository / "resources" / "survey"
    for name in ("consent.md", "settings.yaml"):
        (tmp_path / name).write_text((folder / name).read_text())
    for name in ("settings.yaml", "consent.md"):
        with pytest.raises(UserError, match=f"{name}: still contains gaps"):
            read_survey_settings(tmp_path / "settings.yaml")
        (tmp_path / name).write_text(re.sub(r"\[\[.*?\]\]", "x", (folder / name).read_text()))
    settings = read_survey_settings(tmp_path / "settings.yaml")
    assert settings.entry == "signed"
    assert "{{" not in settings.consent_text
    assert "15 minutes" in settings.consent_text


def test_a_demo_needs_no_settings_of_ones_own(tmp_path, monkeypatch, capsys):
    from command_line import run
    from worldprobe_survey import demo

    written = []
    monkeypatch.setattr(demo, "build", lambda *_, out, **__: written.append(out))
    monkeypatch.setattr(demo, "lists_", lambda *_, key_out, out: written.extend([key_out, out]))
    lists, settings = demo.write_demo(tmp_path)
    assert lists == written[-1]
    assert read_survey_settings(settings).entry == "open"
    assert run("human serve") == 2
    assert "--demo" in capsys.readouterr().err
