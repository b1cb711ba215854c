"""The server as a process: it starts, says where it is, ends cleanly, and starts again."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2 as httpx
import pandas as pd
import pytest

from worldprobe.cli import main
from worldprobe.contracts import write_table
from worldprobe.provenance import made
from worldprobe_survey.contracts import StudyLists


@pytest.fixture
def command(tmp_path: Path, write_settings) -> list[str]:
    write_settings()
    rows = [
        {
            "list": f"likert-r1-mixed-{number:03d}",
            "position": position,
            "question": f"q{number:08x}{position:08x}",
            "kind": "test",
            "eval_type": "likert",
            "round": 1,
            "domain": "plants",
            "version": 0,
            "first_context": f"Fern {number} grows.",
            "second_context": None,
            "target": f"Leaf {position} is green.",
        }
        for number in range(2)
        for position in (1, 2)
    ]
    write_table(
        pd.DataFrame(rows).astype({"second_context": "str"}),
        StudyLists,
        tmp_path / "lists.parquet",
        made(1),
    )
    return [
        "human",
        "serve",
        *(str(tmp_path / name) for name in ("lists.parquet", "settings.yaml", "survey")),
    ]


def start(command: list[str], log: Path) -> tuple[subprocess.Popen, str]:
    with open(log, "w") as stream:
        environment = dict(
            os.environ, PYTHONPATH=str(Path(__file__).resolve().parents[3] / "workflow" / "src")
        )
        run = [sys.executable, "-m", "worldprobe", *command, "--port", "0"]
        process = subprocess.Popen(run, stderr=stream, stdout=subprocess.DEVNULL, env=environment)
    for _ in range(1200):
        if found := re.search(r"Serving (http://127\.0\.0\.1:\d+/)", log.read_text()):
            return process, found[1]
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    process.kill()
    raise AssertionError(log.read_text())


def test_a_signal_ends_the_server_cleanly_and_people_go_on_afterwards(command, tmp_path):
    people = "?PROLIFIC_PID={0}&STUDY_ID={0}&SESSION_ID={0}".format(f"{1:024x}")
    tokens = []
    for number in (signal.SIGTERM, signal.SIGINT):
        process, url = start(command, tmp_path / "log")
        try:
            with httpx.Client(
                base_url=url, follow_redirects=True, headers={"origin": url[:-1]}
            ) as browser:
                browser.get("/" + people)
                for name, body in (
                    ("consent", {"agree": True}),
                    ("demographics", {}),
                    ("begin", {}),
                ):
                    browser.post(f"/api/{name}", json=body)
                tokens.append(browser.get("/api/trial").json()["token"])
        finally:
            process.send_signal(number)
        assert process.wait(timeout=60) == 0
        assert "Stopped" in (tmp_path / "log").read_text()
        assert sorted(path.name for path in (tmp_path / "survey").iterdir()) == [
            "answers.sqlite",
            "identities-token",
            "identities.sqlite",
            "key",
        ]
    assert tokens[0] == tokens[1]
    assert f"{1:024x}" not in (tmp_path / "log").read_text()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "survey").iterdir())


def test_a_port_that_is_taken_is_said(command, tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main([*command, "--port", str(taken.getsockname()[1])]) == 2
    assert "is used by another program" in capsys.readouterr().err
    assert not (tmp_path / "survey").exists()


def test_prompts_without_this_way_of_asking_are_refused(command, tmp_path, capsys):
    (tmp_path / "prompts.yaml").write_text("other: {}\n")
    assert main([*command, "--prompts", str(tmp_path / "prompts.yaml")]) == 2
    assert not (tmp_path / "survey").exists()
