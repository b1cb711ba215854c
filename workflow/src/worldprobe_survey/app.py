"""The web applications: which page a person sees and what it can change; the researcher's page; how
they are served.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import functools
import hashlib
import logging
import os
import re
import signal
import socket
import statistics
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import mistune
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.middleware.base import BaseHTTPMiddleware

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe_survey import export, identities, progress
from worldprobe_survey.guard import (
    LONGEST_HEAD,
    AnswerBody,
    BeginBody,
    CommentBody,
    ConsentBody,
    DemographicsBody,
    EmptyBody,
    Guard,
    WithdrawBody,
)
from worldprobe_survey.identities import COOKIE_SECONDS, BadLinkError, Caller, Doorkeeper, Visitor
from worldprobe_survey.progress import count, find_alarms, survey_status
from worldprobe_survey.settings import Settings
from worldprobe_survey.store import Database, UnavailableError, add_tally
from worldprobe_survey.study import Survey, is_token, read_fact

_STATUS = {
    progress.UNKNOWN: 404,
    progress.IMPOSSIBLE: 422,
    progress.CONFLICTING: 409,
    progress.FUTURE: 409,
}


@dataclass(frozen=True)
class Site:
    """Where the survey is reached.

    Attributes:
        url: its public address, e.g. ``https://lab.example/study/``.
        hosts: values of the Host header that are served; the public one is added.
    """

    url: str
    hosts: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """Its path on the public host, with slashes at both ends."""
        return (urlsplit(self.url).path.rstrip("/") or "") + "/"

    @property
    def is_secure(self) -> bool:
        """Reached by TLS."""
        return urlsplit(self.url).scheme == "https"

    @property
    def all_hosts(self) -> frozenset[str]:
        """Values of the Host header that are served."""
        return frozenset({urlsplit(self.url).netloc, *self.hosts})

    @property
    def origins(self) -> frozenset[str]:
        """Origins whose pages may change anything."""
        public = urlsplit(self.url)
        return frozenset(
            {f"{public.scheme}://{public.netloc}", *(f"http://{host}" for host in self.hosts)}
        )


class Application:
    """The endpoints of one survey.

    Args:
        survey: its store, lists and settings.
        site: where it is reached.
    """

    def __init__(self, survey: Survey, site: Site) -> None:
        self.survey, self.site = survey, site
        self.pages = Pages(survey.settings, site.prefix)
        self.door = Doorkeeper(survey.settings, survey.key, survey.answers.clock)

    # Pages
    # --------------------------------------------------------------------------------

    def show(self, request: Request) -> Response:
        """The page at which this person is; or, for an entry link, the way to it without its
        parameters.
        """
        if self.door.is_entry(request.query_params):
            return self._enter(request)
        caller = self._caller(request)
        if caller.kind == "none" and self.survey.settings.entry == "open":
            response = self._begin()
            self._set_cookie(response, "entry", self.door.new_visitor())
            return response
        if caller.kind in ("none", "refused"):
            return self._page("no_link" if caller.kind == "none" else caller.kind)
        if caller.kind in ("withdrawn", "paid", "gone"):
            return self._page(
                "withdrawn",
                code=self.survey.settings.codes.complete,
                link=self._link("complete"),
                kind=caller.kind,
            )
        if caller.kind == "declined":
            return self._page(
                "declined",
                code=self.survey.settings.codes.no_consent,
                link=self._link("no_consent"),
            )
        if caller.kind == "entry":
            return self._begin(caller.visitor is not None and caller.visitor.is_preview)
        return self._show_person(caller.participant)

    def _begin(self, is_preview: bool = False) -> Response:
        """The consent, as long as there are places."""
        if is_preview:
            return self._page("consent", is_preview=True)
        if read_fact(self.survey.answers, "closed_at"):
            return self._page("closed")
        return self._page("consent" if progress.has_place(self.survey) else "full")

    def _show_person(self, participant: str) -> Response:
        survey = self.survey
        state = progress.find_state(survey, participant)
        if state is None:
            response = self._page("no_link")
            response.delete_cookie(survey.settings.cookie, path=self.site.prefix)
            return response
        if state.stage == "complete":
            code = survey.settings.codes.complete
            if code:
                identities.note_code(survey.identities, state.session, code)
            return self._page(
                "complete",
                code=code,
                link=self._link("complete"),
                withdrawal_key=identities.find_withdrawal_key(survey.identities, participant),
                has_comment=state.has_comment,
                is_preview=state.is_preview,
            )
        if state.stage == "ineligible":
            return self._page(
                "ineligible", code=survey.settings.codes.ineligible, link=self._link("ineligible")
            )
        rating_list, wording = (
            survey.questionnaire.lists[state.name],
            survey.questionnaire.wording(state.name),
        )
        # What a browser keeps of an unsent answer is kept for this session alone.
        pending = (
            f"{survey.settings.cookie}-{hashlib.sha256(state.session.encode()).hexdigest()[:12]}"
        )
        asked = {
            "evalType": rating_list.eval_type,
            "language": survey.questionnaire.language,
            "task": wording.task,
            "answers": wording.answers,
        }
        config = asked | {"response": survey.settings.response, "pending": pending}
        values: dict[str, Any] = {
            "eval_type": rating_list.eval_type,
            "wording": wording,
            "n_trials": len(rating_list.trials),
            "config": config,
        }
        return self._page(state.stage, is_preview=state.is_preview, **values)

    def show_withdrawal(self, request: Request) -> Response:
        """The page that asks whether a person really wants to withdraw."""
        caller = self._caller(request)
        state = (
            progress.find_state(self.survey, caller.participant)
            if caller.kind == "person"
            else None
        )
        if state is None:
            return RedirectResponse(self.site.prefix, 303)
        return self._page(
            "withdraw",
            is_finished=state.stage == "complete" and bool(self.survey.settings.codes.complete),
        )

    def show_consent(self, request: Request) -> Response:
        """The consent as a file that people can keep."""
        name = f"attachment; filename={self.survey.settings.study}_consent.txt"
        return PlainTextResponse(
            self.survey.settings.consent_text, headers={"content-disposition": name}
        )

    def _enter(self, request: Request) -> Response:
        survey = self.survey
        try:
            visitor = self.door.read_link(request.query_params)
        except BadLinkError:
            return self._page("bad_link", status=400)
        participant = identities.find_participant(survey.identities, visitor)
        response = RedirectResponse(self.site.prefix, 303)
        if participant is None:
            self._set_cookie(
                response,
                "paid" if identities.is_owed(survey.identities, visitor) else "entry",
                visitor,
            )
        elif not identities.may_enter(survey.identities, participant, visitor, survey.settings):
            self._refuse(response)
        else:
            self._enter_known(response, participant, visitor)
        return response

    def _enter_known(self, response: Response, participant: str, visitor: Visitor) -> None:
        """Somebody who was here before: on with their session, or, one list per domain, to the
        consent for the next.
        """
        survey = self.survey
        state = progress.find_state(survey, participant)
        is_next = (
            survey.settings.participation == "once_per_domain"
            and state is not None
            and state.stage == "complete"
        )
        if state is None or (
            is_next and not identities.has_code(survey.identities, participant, visitor)
        ):
            self._set_cookie(response, "entry", visitor)
            return
        if identities.note_submission(survey.identities, participant, visitor, state.session):
            add_tally(survey.answers, "came with another submission")
        self._set_cookie(response, "person", participant=participant)

    def _refuse(self, response: Response) -> None:
        add_tally(self.survey.answers, "refused another submission")
        self._set_cookie(response, "refused")

    # Changes
    # --------------------------------------------------------------------------------

    def consent(self, request: Request, body: ConsentBody) -> Response:
        """Consent was given: reserve a list."""
        survey, caller = self.survey, self._caller(request)
        response = JSONResponse({"state": "moved"})
        if caller.kind == "person":
            return response
        if caller.kind != "entry" or caller.visitor is None:
            return _error(403, "there is no entry to consent to; use the link again")
        visitor = caller.visitor
        if read_fact(survey.answers, "closed_at") and not visitor.is_preview:
            return JSONResponse({"state": "full"})
        # The link may be older than the consent that somebody else gave in this person's name, or
        # this person elsewhere.
        known_person = identities.find_participant(survey.identities, visitor)
        if known_person is not None and not identities.may_enter(
            survey.identities, known_person, visitor, survey.settings
        ):
            self._refuse(response)
            return response
        if known_person is None and progress.is_crowded(survey):
            add_tally(survey.answers, progress.HELD_UP)
            return _error(429, "too many people begin at once; try again in a minute")
        participant = identities.register(survey.identities, visitor)
        try:
            session = progress.reserve(survey, participant, visitor.is_preview)
        except progress.FullError:
            if progress.find_state(survey, participant) is None:
                identities.forget_participant(survey.identities, participant)
                survey.identities.forget_deleted()
            return JSONResponse({"state": "full"})
        identities.note_submission(survey.identities, participant, visitor, session)
        self._set_cookie(response, "person", participant=participant)
        return response

    def decline(self, request: Request, body: EmptyBody) -> Response:
        """Consent was refused: nothing is stored; or, for a second thought, asked for again."""
        caller = self._caller(request)
        if caller.kind not in ("entry", "declined") or caller.visitor is None:
            return _error(403, "there is nothing to decline")
        response = JSONResponse({"state": "moved"})
        self._set_cookie(
            response, "declined" if caller.kind == "entry" else "entry", caller.visitor
        )
        return response

    def demographics(self, request: Request, body: DemographicsBody) -> Response:
        """A person's answers about themselves."""
        person = self._person(request)
        if person is None:
            return _error(404, "there is no session")
        settings = self.survey.settings
        answers: dict[str, str] = {}
        for name in settings.demographics:
            value = getattr(body, name)
            if value is not None:
                answers[name] = " ".join(str(value).split())
                if not answers[name] or not _is_plain(answers[name]):
                    return _error(422, f"{name} is not plain text")
        if body.age is not None and body.age > 120:
            return _error(422, "age is over 120")
        is_eligible = int(answers.get("age", settings.youngest)) >= settings.youngest
        if settings.languages and "language" in answers:
            is_eligible &= any(speaks(answers["language"], name) for name in settings.languages)
        progress.note_demographics(self.survey, person, answers, is_eligible)
        return JSONResponse({"state": "moved"})

    def begin(self, request: Request, body: BeginBody) -> Response:
        """The instructions were read, and understood."""
        person = self._person(request)
        if person is None:
            return _error(404, "there is no session")
        has_understood = body.meaning == "right" or not self.survey.settings.comprehension
        progress.note_instructed(self.survey, person, has_understood)
        return JSONResponse({"state": "moved" if has_understood else "again"})

    def comment(self, request: Request, body: CommentBody) -> Response:
        """A person's comment at the end."""
        person = self._person(request)
        if not _is_plain(body.words.replace("\n", "").replace("\r", "").replace("\t", "")):
            return _error(422, "the comment is not plain text")
        if person is None or not progress.note_comment(self.survey, person, body.words):
            return _error(404, "there is nothing to comment on")
        return JSONResponse({"state": "moved"})

    def trial(self, request: Request) -> Response:
        """The trial that this person is at."""
        person = self._person(request)
        shown = progress.show_trial(self.survey, person) if person else None
        return _error(404, "there is no trial") if shown is None else JSONResponse(shown)

    def answer(self, request: Request, body: AnswerBody) -> Response:
        """An answer: acknowledged when it is on the disk, with the next trial."""
        person = self._person(request)
        if person is None:
            return _error(404, "there is no such trial")
        answer = progress.SentAnswer(body.token, body.answer, body.rt_ms, body.n_blurs)
        outcome, following = progress.take_answer(self.survey, person, answer)
        return JSONResponse({"outcome": outcome, **following}, _STATUS.get(outcome, 200))

    def withdraw(self, request: Request, body: WithdrawBody) -> Response:
        """Delete everything about this person."""
        caller = self._caller(request)
        if caller.kind != "person":
            return _error(404, "there is nobody to withdraw")
        withdrawn = export.withdraw(self.survey.answers, self.survey.identities, caller.participant)
        response = JSONResponse({"state": "moved"})
        # Asked again, because the reply was lost or from another browser: only the link still tells
        # whether they are to be paid.
        kind = "withdrawn" if withdrawn.was_known else "gone"
        self._set_cookie(response, "paid" if withdrawn.is_owed else kind)
        return response

    # Parts
    # --------------------------------------------------------------------------------

    def _caller(self, request: Request) -> Caller:
        return self.door.read_cookie(request.cookies.get(self.survey.settings.cookie))

    def _person(self, request: Request) -> str | None:
        caller = self._caller(request)
        return caller.participant if caller.kind == "person" else None

    def _page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.pages.render(name, **{"is_preview": False, **values}), status)

    def _link(self, outcome: str) -> str | None:
        code = getattr(self.survey.settings.codes, outcome)
        return self.survey.settings.return_url.replace("{code}", quote(code)) if code else None

    def _set_cookie(
        self, response: Response, kind: str, visitor: Visitor | None = None, participant: str = ""
    ) -> None:
        response.set_cookie(
            self.survey.settings.cookie,
            self.door.write_cookie(kind, visitor, participant),
            max_age=COOKIE_SECONDS,
            path=self.site.prefix,
            httponly=True,
            secure=self.site.is_secure,
            samesite="lax",
        )


def build_app(survey: Survey, site: Site) -> FastAPI:
    """The whole ASGI application of a survey."""
    application = Application(survey, site)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    page = functools.partial(app.add_api_route, methods=["GET", "HEAD"], response_model=None)
    change = functools.partial(app.add_api_route, methods=["POST"], response_model=None)
    page("/", application.show)
    page("/withdraw", application.show_withdrawal)
    page("/consent", application.show_consent)
    page("/health", lambda: {"state": "ready"})
    app.add_api_route("/api/trial", application.trial, methods=["GET"], response_model=None)
    changes: dict[str, Callable[..., Response]] = {
        "consent": application.consent,
        "decline": application.decline,
        "demographics": application.demographics,
        "begin": application.begin,
        "answer": application.answer,
        "comment": application.comment,
        "withdraw": application.withdraw,
    }
    for name, endpoint in changes.items():
        change(f"/api/{name}", endpoint)

    def is_page(request: Request) -> bool:
        return not request.url.path.startswith(("/api/", "/static/", "/health"))

    async def unavailable(request: Request, error: Exception) -> Response:
        response: Response = (
            application._page("busy", status=503)
            if is_page(request)
            else _error(503, "not stored; try again")
        )
        response.headers["retry-after"] = "1"
        return response

    async def invalid(request: Request, error: Exception) -> Response:
        return _error(422, "this is not what the page sends")

    async def http_error(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if is_page(request) and status == 404:
            return application._page("not_found", status=404)
        return _error(status, "the request cannot be answered")

    app.add_exception_handler(UnavailableError, unavailable)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)
    settings = survey.settings
    guard = Guard(site.all_hosts, site.origins, settings.return_origin, site.is_secure)
    app.add_middleware(BaseHTTPMiddleware, dispatch=guard)
    return app


def _error(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status)


def _is_plain(text: str) -> bool:
    """Text that a file can contain: no control character, no half of a surrogate pair."""
    return not any(unicodedata.category(char) in ("Cc", "Cs") for char in text)


HERE = Path(__file__).parent
STATIC = HERE / "static"


#: The texts that the scripts show.
SCRIPT_TEXTS = {
    "frame": ("unreachable", "waiting", "check"),
    "demographics": ("choose", "answer", "number"),
    "trials": (
        "done",
        "practice",
        "contexts",
        "scenario",
        "unsent",
        "saving",
        "break",
        "rest",
        "continue",
        "number",
    ),
}


class Pages:
    """Renders pages of one study.

    Args:
        settings: of the study.
        prefix: path of the survey on its host, with slashes at both ends.
    """

    def __init__(self, settings: Settings, prefix: str) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        texts = settings.page_texts
        # Browsers keep static files; another content has another address.
        contents = [path.read_bytes() for path in sorted(STATIC.rglob("*")) if path.is_file()]
        version = hashlib.sha256(b"".join(contents)).hexdigest()[:12]
        self._environment.globals.update(
            settings=settings,
            prefix=prefix,
            t=texts,
            script_texts={
                name: {key: texts[name][key] for key in keys} for name, keys in SCRIPT_TEXTS.items()
            },
            static=lambda name: f"{prefix}static/{name}?v={version}",
            consent=_as_html(settings.consent_text),
            debriefing=_as_html(settings.debriefing_text),
        )

    def render(self, name: str, **values: Any) -> str:
        """A page by name."""
        return self._environment.get_template(f"{name}.html.jinja").render(page=name, **values)


def _as_html(text: str) -> Markup:
    """Markdown as HTML: raw HTML in it is shown as text, and links cannot run scripts."""
    return Markup(mistune.create_markdown(escape=True)(text))


def speaks(answer: str, language: str) -> bool:
    """Whether somebody names this language, possibly among others or with a country.

    >>> [
    ...     speaks(answer, "English")
    ...     for answer in ("american english", "English (US).", "Spanish, English", "Englisch")
    ... ]
    [True, True, True, False]
    """
    return re.search(rf"\b{re.escape(language.casefold())}\b", answer.casefold()) is not None


SECONDS_TO_FINISH = 10
BACKLOG = 1024
SECONDS_BETWEEN_REPORTS = 60.0


def site_of(public_url: str | None, host: str, port: int) -> Site:
    """Where the survey is reached: behind a proxy, or on this machine.

    Raises:
        UserError: the address is not an http or https address without parameters.
    """
    local = (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")
    if public_url is None:
        return Site(f"http://{host if host != '0.0.0.0' else '127.0.0.1'}:{port}/", local)
    parts = urlsplit(public_url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise UserError(
            f"--public-url {public_url}",
            "is not the address of a page.",
            "Write https://HOST/ or https://HOST/PATH/.",
        )
    return Site(public_url, local)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        UserError: the port is taken, or the address is not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(
            BACKLOG
        )  # whoever comes before the server is ready waits instead of being refused
    except (OSError, OverflowError) as error:
        bound.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        problem = "is used by another program." if taken else f"cannot be used ({error})."
        raise UserError(
            f"{host}, port {port}", problem, "Choose another --port, or stop what uses it."
        ) from error
    return bound


def serve_survey(survey: Survey, site: Site, bound: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        survey: what is served; closed at the end.
        site: where it is reached.
        bound: the socket.
    """
    config = uvicorn.Config(
        build_app(survey, site),
        log_level="warning",
        access_log=False,  # it would contain addresses and ids
        http="h11",
        ws="none",
        lifespan="off",
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        limit_concurrency=2000,
        backlog=BACKLOG,
        proxy_headers=False,  # nothing here depends on who asks
    )
    stopped = threading.Event()
    reporter = threading.Thread(target=_report, args=(survey, stopped), daemon=True)
    reporter.start()
    # When it has ended, uvicorn raises the signal that ended it once more, which would kill us
    # before the databases are closed.
    former = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        stopped.set()
        reporter.join(timeout=5)
        survey.close()
        bound.close()
        LOGGER.info(
            "Stopped; everything that was acknowledged is in %s",
            os.path.basename(survey.answers.path),
        )


def _report(survey: Survey, stopped: threading.Event) -> None:
    """A line at the start and every minute, where something changed, and what the researcher should
    look at.
    """
    reported: set[str] = set()
    while True:
        with contextlib.suppress(UnavailableError):
            lines = {survey_status(survey).line(), *find_alarms(survey.answers, survey.identities)}
            for line in sorted(lines - reported):
                LOGGER.log(
                    logging.WARNING if line.startswith("ALARM") else logging.INFO, "%s", line
                )
            reported = lines
        if stopped.wait(SECONDS_BETWEEN_REPORTS):
            return


#: Stages of a person's way, and what is true of those who reached them.
STAGES = {
    "agreed to take part": "1",
    "told about themselves, or were not asked": "asked_at IS NOT NULL OR instructed_at IS NOT NULL",
    "read the instructions": "instructed_at IS NOT NULL",
    "answered a scenario": (
        "EXISTS (SELECT 1 FROM trials WHERE trials.session = people.session AND answer IS NOT NULL)"
    ),
    "answered half of them": (
        "(SELECT count(answer) * 2 >= count(*) FROM trials WHERE trials.session = people.session)"
        " AND instructed_at IS NOT NULL"
    ),
    "finished": "finished_at IS NOT NULL",
}
_TIMES = (
    "SELECT (finished_at - started_at) / 60000.0 FROM real_sessions WHERE finished_at IS NOT NULL"
    " ORDER BY 1"
)
#: The name of a catch trial's question ends in the answer that it asks for.
_FAILED = """
SELECT n_failed, count(*) FROM (
    SELECT (SELECT count(*) FROM trials JOIN list_trials USING (list, number)
        WHERE trials.session = people.session AND trials.kind = 'catch'
        AND answer IS NOT NULL AND question NOT LIKE '%-' || answer) AS n_failed
    FROM real_sessions AS people WHERE finished_at IS NOT NULL
) GROUP BY n_failed ORDER BY n_failed
"""


def observe(answers: Database, identities: Database) -> dict[str, Any]:
    """Everything on the page; no identity among it.

    Raises:
        UnavailableError: a database is busy.
    """
    before = answers.now() - int(read_fact(answers, "expiry_ms"))
    with answers.read() as connection:
        status = count(connection, before, int(read_fact(answers, "wanted_per_list")))
        query = "SELECT count(*) FROM real_sessions AS people WHERE status != 'ineligible' AND ({})"
        stages = {
            name: connection.execute(query.format(reached)).fetchone()[0]
            for name, reached in STAGES.items()
        }
        minutes = [row[0] for row in connection.execute(_TIMES)]
        failed = {int(row[0]): int(row[1]) for row in connection.execute(_FAILED)}
    times = statistics.quantiles(minutes, n=10) if len(minutes) > 1 else minutes * 9
    return {
        "status": status,
        "stages": stages,
        "times": (
            {"a tenth in": times[0], "half in": times[4], "nine tenths in": times[8]}
            if times
            else {}
        ),
        "failed": failed,
        "alarms": find_alarms(answers, identities),
    }


def survey_page(answers: Database, identities: Database) -> FastAPI:
    """The web application; it asks for the survey's token as password, under any name."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )

    def show(request: Request) -> Response:
        if not is_token(identities, _password(request)):
            return Response(
                status_code=401,
                headers={"www-authenticate": 'Basic realm="worldprobe", charset="UTF-8"'},
            )
        page = pages.get_template("watch.html.jinja").render(observe(answers, identities))
        policy = "default-src 'none'; frame-ancestors 'none'"
        return HTMLResponse(
            page, headers={"cache-control": "no-store", "content-security-policy": policy}
        )

    app.add_api_route("/", show, methods=["GET"], response_model=None)
    return app


def serve_page(answers: Database, identities: Database, bound: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    config = uvicorn.Config(
        survey_page(answers, identities),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[bound])


def _password(request: Request) -> bytes:
    """Of the header; empty where there is none."""
    scheme, _, content = request.headers.get("authorization", "").partition(" ")
    try:
        return (
            base64.b64decode(content, validate=True).partition(b":")[2]
            if scheme.lower() == "basic"
            else b""
        )
    except (binascii.Error, ValueError):
        return b""
