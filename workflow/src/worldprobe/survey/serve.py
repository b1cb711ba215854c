"""Runs a survey until it is told to stop: requests in flight end, and the logs of the databases are moved into their files."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import threading
from urllib.parse import urlsplit

import uvicorn

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.survey.app import Site, build_app
from worldprobe.survey.status import summarize
from worldprobe.survey.store import UnavailableError
from worldprobe.survey.study import Survey

#: Longest header block, in bytes.
LONGEST_HEAD = 16 * 1024
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
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
        raise UserError(
            f"--public-url {public_url}", "is not the address of a page.", "Write https://HOST/ or https://HOST/PATH/."
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
        bound.listen(BACKLOG)  # whoever comes before the server is ready waits instead of being refused
    except (OSError, OverflowError) as error:
        bound.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        problem = "is used by another program." if taken else f"cannot be used ({error})."
        raise UserError(f"{host}, port {port}", problem, "Choose another --port, or stop what uses it.") from error
    return bound


def serve(survey: Survey, site: Site, bound: socket.socket) -> None:
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
        # A proxy on this machine says for whom it asks; only the limits per address use that, in memory.
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1",
    )
    stopped = threading.Event()
    reporter = threading.Thread(target=_report, args=(survey, stopped), daemon=True)
    reporter.start()
    # When it has ended, uvicorn raises the signal that ended it once more, which would kill us before the databases are closed.
    former = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        stopped.set()
        reporter.join(timeout=5)
        survey.close()
        bound.close()
        LOGGER.info("Stopped; everything that was acknowledged is in %s", os.path.basename(survey.answers.path))


def _report(survey: Survey, stopped: threading.Event) -> None:
    """A line a minute, where something changed."""
    before = None
    while not stopped.wait(SECONDS_BETWEEN_REPORTS):
        with contextlib.suppress(UnavailableError):
            line = summarize(survey).line()
            if line != before:
                LOGGER.info("%s", line)
            before = line
