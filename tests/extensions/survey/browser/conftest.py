"""A real server on loopback with lists of invented sentences, and a real browser."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from worldprobe.contracts import write_table
from worldprobe.provenance import made
from worldprobe_survey.contracts import StudyLists

ROOT = Path(__file__).resolve().parents[4]
SECONDS_TO_START = 120


def write_lists(path: Path, n_lists: int, n_tests: int, hostile: str = "") -> None:
    """Lists of invented sentences, with one catch trial each."""
    rows = []
    for number in range(n_lists):
        for position in range(1, n_tests + 2):
            is_catch = position == n_tests // 2 + 1
            rows.append(
                {
                    "list": f"likert-r1-mixed-{number:03d}",
                    "position": position,
                    "question": "catch-likert-2" if is_catch else f"q{number:04x}{position:012x}",
                    "kind": "catch" if is_catch else "test",
                    "eval_type": "likert",
                    "round": 1,
                    "domain": None if is_catch else "plants",
                    "version": -1 if is_catch else 0,
                    "first_context": (
                        None if is_catch else f"Fern {number}-{position} grows. {hostile}".strip()
                    ),
                    "second_context": None,
                    "target": "Please answer with 2." if is_catch else f"Leaf {position} is green.",
                }
            )
    frame = pd.DataFrame(rows)
    for name in ("domain", "first_context", "second_context"):
        frame[name] = frame[name].astype("str").where(frame[name].notna(), None).astype("str")
    write_table(frame, StudyLists, path, made(1))


class Server:
    """A survey's server process."""

    def __init__(
        self, folder: Path, n_lists: int, n_tests: int, hostile: str = "", **settings: Any
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.process, self.port = folder / "survey", None, 0
        self.lists, self.settings = folder / "lists.parquet", folder / "settings.yaml"
        write_lists(self.lists, n_lists, n_tests, hostile)
        (folder / "consent.md").write_text(
            "## Consent\n\nYou may stop at any time. [Read"
            " more](https://example.org)\n\n{{recorded}}\n\n{{deleted}}\n"
        )
        chosen = {
            "study": "ferns",
            "title": "Ferns and leaves",
            "contact": "ferns@example.org",
            "consent": "consent.md",
        }
        chosen |= {"entry": "prolific", "comprehension": False}
        chosen |= {"codes": {"complete": "DONE1234"}, "new_per_minute": 100_000} | settings
        self.settings.write_text(yaml.safe_dump(chosen))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "worldprobe",
            "human",
            "serve",
            str(self.lists),
            str(self.settings),
            str(self.folder),
        ]
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "workflow" / "src"))
        log = self.folder.parent / "log"
        with open(log, "w", encoding="utf-8") as stream:
            command += ["--port", str(self.port)]
            self.process = subprocess.Popen(
                command, stderr=stream, stdout=subprocess.DEVNULL, env=environment
            )
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"Serving http://127\.0\.0\.1:(\d+)/", log.read_text()):
                self.port = int(found[1])
                return
            time.sleep(0.05)
        raise AssertionError(f"the server did not start: {log.read_text()}")

    def kill(self) -> None:
        """As a power cut would end it."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> str:
        """As Ctrl-C would end it; the rest of its log."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        return (self.folder.parent / "log").read_text()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.folder / "answers.sqlite")) as connection:
            return connection.execute(query).fetchall()

    def link(self, number: int) -> str:
        return f"{self.url}?PROLIFIC_PID={number:024x}&STUDY_ID={7:024x}&SESSION_ID={number + 1000:024x}"


@pytest.fixture(scope="module")
def make_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def make(*args: Any, **settings: Any) -> Server:
        servers.append(Server(tmp_path_factory.mktemp("server"), *args, **settings))
        servers[-1].start()
        return servers[-1]

    yield make
    for server in servers:
        if server.process.poll() is None:
            server.kill()
