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
from worldprobe_survey.settings import read_settings
from worldprobe_survey.store import steady_clock

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


@pytest.mark.parametrize("change", [{"iat": 1}, {"iat": 60}, {"nbf": 60}, {"exp": -60}])
def test_clocks_that_differ_by_a_minute_lose_nobody(door, keys, change):
    """ministack #1033, PostgREST #1139, php-jwt #51: the issuer's clock is ahead of ours, or behind
    it.
    """
    times = {name: time.time() + seconds for name, seconds in change.items()}
    assert door.read_link({"prolific_token": sign(keys[0], **times)}).pid == IDS["PROLIFIC_PID"]


@pytest.mark.parametrize("ahead", [7200, -7200])
def test_a_clock_that_was_wrong_at_the_start_refuses_nobody_once_it_is_right(
    door, keys, monkeypatch, ahead
):
    """open-zaak #796, tconnectsync #115: the hardware's clock shows local time until the network's
    is there.
    """
    real = time.time
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: real() + ahead)
        door.clock = steady_clock()
    assert door.read_link({"prolific_token": sign(keys[0])}).pid == IDS["PROLIFIC_PID"]
    assert door.clock() <= real() + 1


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


def test_keys_that_cannot_be_used_are_said_at_the_start(tmp_path, write_settings):
    (tmp_path / "jwks.json").write_text('{"keys": []}')
    settings = write_settings(entry="signed", signed={"keys": "jwks.json", "audience": AUDIENCE})
    with pytest.raises(UserError, match="contains no RSA key"):
        Doorkeeper(settings, b"k" * 64)
    (tmp_path / "jwks.json").write_text("[]")
    with pytest.raises(UserError, match="is not a readable set of public keys"):
        Doorkeeper(settings, b"k" * 64)


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
        ({"codes": {}}, "people could not show that they took part"),
        ({"entry": "signed"}, "needs keys and audience"),
        ({"codes": {"complete": "A", "ineligible": "A"}}, "one code for two outcomes"),
        ({"return_url": "http://x/{code}"}, "https"),
        ({"return_url": "https://x/"}, "code"),
        ({"id_pattern": "["}, "not a regular expression"),
        ({"style": "paper", "response": "buttons"}, "`style: paper` means `response: text`"),
        ({"languages": ["English"], "demographics": ["age"]}, "needs the question"),
        ({"consent_text": "You get [[PAYMENT]]."}, "still contains gaps"),
        ({"consent_text": " "}, "is empty"),
        ({"ratings_per_itm": 3}, 'did you mean "ratings_per_item"'),
        ({"ratings_per_item": 0}, "at least"),
        ({"youngest": 12}, "at least"),
        ({"study": "a b"}, "study"),
        (
            {
                "participation": "once_per_domain",
                "entry": "signed",
                "signed": {"keys": "k", "audience": "a"},
            },
            "refuses people who come for",
        ),
        ({"another_submission": "resume"}, "would let anybody who knows a person's id in"),
        ({"minutes": 15, "max_minutes": 10}, "is less than the 15 minutes"),
        ({"codes": {"complete": "[[code]]"}}, "still contains gaps"),
        ({"contact": "[[Name, e-mail]]"}, "still contains gaps"),
        ({"consent_text": "Only this. {{recorded}}"}, "has no {{deleted}}"),
        ({"consent_text": "Only this. {{deleted}}"}, "has no {{recorded}}"),
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
            read_settings(tmp_path / "settings.yaml")
        (tmp_path / name).write_text(re.sub(r"\[\[.*?\]\]", "x", (folder / name).read_text()))
    settings = read_settings(tmp_path / "settings.yaml")
    assert settings.entry == "signed"
    assert "{{" not in settings.consent_text
    assert "15 minutes" in settings.consent_text
