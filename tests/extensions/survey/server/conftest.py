"""A small survey of invented sentences, and people who come to it over HTTP."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.testclient import TestClient

from worldprobe_survey import export
from worldprobe_survey.app import Site, build_app
from worldprobe_survey.settings import Settings, read_survey_settings
from worldprobe_survey.study import Questionnaire, Survey, Trial, TrialList, Wording, open_survey

CONSENT = "# Consent\n\nYou may stop at any time.\n\n{{recorded}}\n\n{{deleted}}\n"
URL = "http://127.0.0.1:8000/"
LIKERT = Wording(
    "In this study, you will see examples.",
    "How much does this scenario make sense?",
    ("makes no sense", "", "", "", "makes perfect sense"),
    (Trial("practice", "", ("The cup is full.",), "Tea is in the cup."),),
)
CHOICE = Wording("Pick the context.", "Which context makes more sense?", ("Context 1", "Context 2"))


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def build_plan(
    n_lists: int = 4,
    n_tests: int = 6,
    eval_type: str = "likert",
    domains: tuple[str, ...] = ("plants",),
) -> Questionnaire:
    """Lists of invented sentences with a catch trial in the middle of each."""
    lists = {}
    for number in range(n_lists):
        tests = [
            Trial(
                "test",
                f"q{number:04x}{k:012x}",
                (f"Fern {number}-{k} grows.",)
                if eval_type == "likert"
                else (f"Fern {k} grows.", f"Fern {k} dries."),
                f"Leaf {k} is green.",
            )
            for k in range(n_tests)
        ]
        catch = Trial(
            "catch",
            f"catch-{eval_type}-2",
            () if eval_type == "likert" else ("Read.", "Read."),
            "Please answer with 2.",
        )
        name = f"{eval_type}-r1-{number:03d}"
        trials = (*tests[: n_tests // 2], catch, *tests[n_tests // 2 :])
        lists[name] = TrialList(name, eval_type, domains[number % len(domains)], 1, trials)
    return Questionnaire("ab" * 32, lists, {"likert": LIKERT, "choice": CHOICE})


def pid(number: int) -> str:
    return f"{number:024x}"


def entry(number: int, submission: int | None = None, study: int = 7) -> str:
    """The path of a person's link."""
    coming = number if submission is None else submission
    return f"/?PROLIFIC_PID={pid(number)}&STUDY_ID={pid(study)}&SESSION_ID={pid(10_000 + coming)}"


@pytest.fixture
def write_settings(tmp_path: Path) -> Callable[..., Settings]:
    """Writes a settings file and reads it."""

    def write(**keys: Any) -> Settings:
        import yaml

        (tmp_path / "consent.md").write_text(keys.pop("consent_text", CONSENT))
        chosen = {
            "study": "ferns",
            "title": "Ferns and leaves",
            "contact": "ferns@example.org",
            "consent": "consent.md",
            "entry": "prolific",
            "comprehension": False,
            "new_per_minute": 10_000,
            "codes": {"complete": "DONE1234", "no_consent": "NOCONS77"},
        } | keys
        path = tmp_path / "settings.yaml"
        path.write_text(yaml.safe_dump(chosen))
        return read_survey_settings(path)

    return write


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, app: Any, portal: BlockingPortal, number: int = 1, url: str = URL) -> None:
        self.number = number
        self.browser = TestClient(
            app, base_url=url, follow_redirects=False, raise_server_exceptions=True
        )
        self.browser.portal = portal  # one event loop for all people; a new one per request is slow

    def open(self, path: str | None = None) -> Any:
        """Follow the person's link, or another path, to the page at its end."""
        response = self.browser.get(path if path is not None else entry(self.number))
        while response.status_code == 303:
            response = self.browser.get(response.headers["location"])
        return response

    def post(self, name: str, body: Any = None, **headers: str) -> Any:
        own = {"origin": str(self.browser.base_url).rstrip("/")} | headers
        return self.browser.post(f"/api/{name}", json={} if body is None else body, headers=own)

    def begin(self) -> None:
        """As far as the first trial."""
        self.open()
        assert self.post("consent", {"agree": True}).status_code == 200
        self.post("demographics", {"age": 30, "gender": None, "country": "Chile", "language": None})
        self.post("begin")

    def trial(self) -> Any:
        return self.browser.get("/api/trial").json()

    def answer(self, trial: dict[str, Any], answer: int = 3, **changes: Any) -> Any:
        return self.post(
            "answer",
            {"token": trial["token"], "answer": answer, "rt_ms": 900, "n_blurs": 0} | changes,
        )

    def finish(self, answer: int = 3) -> int:
        """Answer all that is left; how many there were."""
        trial, n = self.trial(), 0
        while trial["state"] == "trial":
            trial = self.answer(trial, answer).json()
            n += 1
        assert trial["state"] == "complete"
        return n


@pytest.fixture
def make_plan() -> Callable[..., Questionnaire]:
    return build_plan


class Lab:
    """A survey and everybody who takes part in it."""

    def __init__(self, folder: Path, plan: Questionnaire, settings: Settings, clock: Clock) -> None:
        self.folder, self.plan, self.settings, self.clock = folder, plan, settings, clock
        self._loop = start_blocking_portal()
        self.portal = self._loop.__enter__()
        self.start()

    def start(self, **options: Any) -> None:
        self.survey: Survey = open_survey(
            self.folder, self.plan, self.settings, self.clock, **options
        )
        self.app = build_app(self.survey, Site(URL))

    def stop(self) -> None:
        self.survey.close()

    def leave(self) -> None:
        self.stop()
        self._loop.__exit__(None, None, None)

    def person(self, number: int = 1) -> Person:
        return Person(self.app, self.portal, number)

    @staticmethod
    def link(number: int = 1, submission: int | None = None, study: int = 7) -> str:
        return entry(number, submission, study)

    def exported(self, table: str) -> Any:
        """A table of the export: ratings or demographics."""
        with self.survey.answers.read() as connection:
            return getattr(export, f"export_{table}")(connection)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.survey.answers.read() as connection:
            return [tuple(row) for row in connection.execute(query)]


@pytest.fixture
def make_lab(
    tmp_path: Path, clock: Clock, write_settings: Callable[..., Settings]
) -> Iterator[Callable[..., Lab]]:
    labs = []

    def make(plan: Questionnaire | None = None, **keys: Any) -> Lab:
        labs.append(Lab(tmp_path / "survey", plan or build_plan(), write_settings(**keys), clock))
        return labs[-1]

    yield make
    for lab in labs:
        lab.leave()


@pytest.fixture
def make_signed_lab(
    make_lab: Callable[..., Lab], tmp_path: Path, clock: Clock
) -> Callable[..., Lab]:
    """A survey whose links are signed; ``lab.link`` signs them."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())) | {"kid": "ours"}
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [public]}))

    def link(number: int = 1, submission: int | None = None, study: int = 7) -> str:
        coming = number if submission is None else submission
        ids = {
            "PROLIFIC_PID": pid(number),
            "STUDY_ID": pid(study),
            "SESSION_ID": pid(10_000 + coming),
        }
        claims = {"aud": "https://lab.example", "exp": clock() + 600, "prolific": ids}
        return f"/?prolific_token={jwt.encode(claims, key, 'RS256', headers={'kid': 'ours'})}"

    def make(*args: Any, **keys: Any) -> Lab:
        signed = {
            "entry": "signed",
            "signed": {"keys": "jwks.json", "audience": "https://lab.example"},
        }
        lab = make_lab(*args, **signed | keys)
        lab.link = link  # type: ignore[method-assign]
        return lab

    return make


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    return make_lab()


@pytest.fixture
def person(lab):
    """Who has begun."""
    person = lab.person()
    person.begin()
    return person
