"""Servers and their addresses with one thing wrong."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("openai")

from worldprobe.errors import UserError
from worldprobe.models.server.endpoint import Endpoint

ADDRESSES = [
    *(
        "",
        " ",
        "host",
        "host:8000",
        "host/v1",
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "https://:80/v1",
    ),
    *(
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://host:-1/v1",
        "http://host:0/v1",
        "http://[::1/v1",
        "http://]/v1",
    ),
    *(
        "http://ho st/v1",
        "http://host/a b",
        "http://hö.example/v1",
        "http://host/\x01",
        "http://host/v1\n",
        "http://host/\x7f",
    ),
    *(
        "http://u:hunter2secret@host/v1",
        "u:hunter2secret@host/v1",
        "http://host/v1?key=hunter2secret",
    ),
    *(
        "http://host/v1#hunter2secret",
        "ftp://u:hunter2secret@host",
        "http://u:hunter2secret@[::1/v1",
        "http://hunter2secret@host",
    ),
    *(
        "http://u:hunter2secret@host:port/v1",
        "//u:hunter2secret@host/v1",
        "http://u:hunter2secret%40@host/v1",
    ),
]
#: What a server may say where an answer is expected.
ODD: list[Any] = [
    None,
    5,
    "text",
    [],
    {},
    {"data": None},
    {"data": 5},
    {"data": [5]},
    {"data": [None]},
    {"data": {}},
    b"<html>",
    b"",
]
CARDS: list[Any] = [{"max_model_len": odd} for odd in ("many", -5, 1, 1.5, [2], {"a": 1}, True)]
CHOICES: list[Any] = [*([odd] for odd in (None, 5, "text", [], {})), None, 5, "text", [], {}]
STATUSES = [300, 400, 401, 403, 404, 405, 413, 418, 422, 429, 500, 502, 503, 599]


class Told:
    """What the server says: path's end -> status and content."""

    answers: dict[str, tuple[int, Any]]
    url: str
    pause: float = 0.0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    monkeypatch.setattr(Endpoint.__init__, "__defaults__", (4, 2, 0.01, 5.0, None))
    told = Told()
    told.answers = {"models": (200, {"data": [{"id": "m"}]})}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, content = told.answers.get(self.path.rpartition("/")[2], (404, {}))
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            with contextlib.suppress(OSError):
                self.end_headers()
                for byte in [raw[i : i + 1] for i in range(len(raw))] if told.pause else [raw]:
                    time.sleep(told.pause)
                    self.wfile.write(byte)

        def log_message(self, *_: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    told.url = f"http://127.0.0.1:{http.server_port}/v1"
    yield told
    http.shutdown()
    http.server_close()


def score(check: Callable[..., str], url: str, words: str = "") -> None:
    check(
        "score logprobs {items} --engine openai --checkpoint m --endpoint {url} --out {out}",
        words,
        url=url,
    )


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_not_valid_is_refused(check: Callable[..., str], address: str) -> None:
    score(check, address, "--endpoint" if address else "server's address")


@pytest.mark.parametrize("content", [*ODD, *({"data": [{"id": "m"} | card]} for card in CARDS)])
def test_an_odd_list_of_models_is_refused(
    check: Callable[..., str], server: Told, content: Any
) -> None:
    server.answers["models"] = (200, content)
    score(check, server.url)


@pytest.mark.parametrize("choices", CHOICES)
def test_odd_answers_are_refused(check: Callable[..., str], server: Told, choices: Any) -> None:
    server.answers |= {"completions": (200, {"choices": choices})}
    score(check, server.url)


def test_an_answer_that_comes_byte_by_byte_is_late_as_a_whole(
    server: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["models"] = (200, b" " * 100)
    monkeypatch.setattr(server, "pause", 0.05)
    endpoint = Endpoint(server.url, timeout=0.5)
    began = time.monotonic()
    with pytest.raises(UserError, match="did not answer in time"):
        endpoint.ask_one(lambda client: client.get("/models"))
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("path", ["models", "completions"])
@pytest.mark.parametrize("status", STATUSES)
def test_a_refusal_is_told_without_the_servers_words(
    check: Callable[..., str], server: Told, path: str, status: int
) -> None:
    words = {
        "error": {
            "message": "your key is hunter2secret",
            "code": "hunter2secret",
            "type": "hunter2secret",
        }
    }
    server.answers[path] = (status, words)
    score(check, server.url)


@pytest.mark.parametrize(
    "key", ["hunter2\nsecret", "hunter2\x01secret", "hunter2é", "\thunter2\tsecret\t"]
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_printed(
    check: Callable[..., str], server: Told, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worldprobe.models.server.endpoint.KEY_VARIABLE", "KEY_OF_THE_TEST")
    monkeypatch.setenv("KEY_OF_THE_TEST", key)
    shown = check(
        "score logprobs {items} --engine openai --checkpoint m --endpoint {url} --out {out}",
        "KEY_OF",
        url=server.url,
    )
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    "options", ["--concurrency 0", "--plain", "--tensor-parallel 2", "--tokenizer {folder}/nowhere"]
)
def test_options_that_do_not_fit_are_refused(
    check: Callable[..., str], server: Told, options: str
) -> None:
    check(
        f"score logprobs {{items}} --engine openai --checkpoint m --endpoint {{url}} {options}"
        " --out {out}",
        url=server.url,
    )
