"""The researcher's page: how far the survey is, who drops out where, times, failed checks, quotas and alarms. It only reads."""

from __future__ import annotations

import base64
import binascii
import socket
import statistics
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from worldprobe.survey.progress import count, find_alarms
from worldprobe.survey.store import Database
from worldprobe.survey.study import is_token, read_fact

#: Stages of a person's way, and what is true of those who reached them.
STAGES = {
    "agreed to take part": "1",
    "told about themselves, or were not asked": "asked_at IS NOT NULL OR instructed_at IS NOT NULL",
    "read the instructions": "instructed_at IS NOT NULL",
    "answered a scenario": "EXISTS (SELECT 1 FROM trials WHERE trials.session = people.session AND answer IS NOT NULL)",
    "answered half of them": (
        "(SELECT count(answer) * 2 >= count(*) FROM trials WHERE trials.session = people.session) AND instructed_at IS NOT NULL"
    ),
    "finished": "finished_at IS NOT NULL",
}
_TIMES = "SELECT (finished_at - started_at) / 60000.0 FROM real_sessions WHERE finished_at IS NOT NULL ORDER BY 1"
#: The name of a catch trial's question ends in the answer that it asks for.
_FAILED = """
SELECT n_failed, count(*) FROM (
    SELECT (SELECT count(*) FROM trials JOIN list_trials USING (list, number) WHERE trials.session = people.session
        AND trials.kind = 'catch' AND answer IS NOT NULL AND question NOT LIKE '%-' || answer) AS n_failed
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
        stages = {name: connection.execute(query.format(reached)).fetchone()[0] for name, reached in STAGES.items()}
        minutes = [row[0] for row in connection.execute(_TIMES)]
        failed = {int(row[0]): int(row[1]) for row in connection.execute(_FAILED)}
    times = statistics.quantiles(minutes, n=10) if len(minutes) > 1 else minutes * 9
    return {
        "status": status,
        "stages": stages,
        "times": {"a tenth in": times[0], "half in": times[4], "nine tenths in": times[8]} if times else {},
        "failed": failed,
        "alarms": find_alarms(answers, identities),
    }


def build_page(answers: Database, identities: Database) -> FastAPI:
    """The web application; it asks for the survey's token as password, under any name."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)

    def show(request: Request) -> Response:
        if not is_token(identities, _password(request)):
            return Response(status_code=401, headers={"www-authenticate": 'Basic realm="worldprobe", charset="UTF-8"'})
        page = pages.get_template("watch.html.jinja").render(observe(answers, identities))
        policy = "default-src 'none'; frame-ancestors 'none'"
        return HTMLResponse(page, headers={"cache-control": "no-store", "content-security-policy": policy})

    app.add_api_route("/", show, methods=["GET"], response_model=None)
    return app


def serve_page(answers: Database, identities: Database, bound: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    config = uvicorn.Config(build_page(answers, identities), log_level="warning", access_log=False, lifespan="off", ws="none")
    uvicorn.Server(config).run(sockets=[bound])


def _password(request: Request) -> bytes:
    """Of the header; empty where there is none."""
    scheme, _, content = request.headers.get("authorization", "").partition(" ")
    try:
        return base64.b64decode(content, validate=True).partition(b":")[2] if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""
