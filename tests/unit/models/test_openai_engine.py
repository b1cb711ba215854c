"""The endpoint engine against a small server on loopback that speaks the protocol, well or
badly, as each test scripts it.
"""

import contextlib
import functools
import itertools
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("openai")

from command_line import run
from worldprobe.errors import UserError
from worldprobe.inference.preemption import Preempted
from worldprobe.inference.requests import Generate, question_id, run_requests
from worldprobe.inference.store import open_store
from worldprobe.models.engine import Decoding, Loglikelihood, Message
from worldprobe.models.server import capabilities
from worldprobe.models.server.endpoint import Endpoint, Spending, failure_of
from worldprobe.models.server.engine import OpenaiEngine, open_engine

KEY = "sk-secret-of-the-test"
OK = 200
FREE = Decoding(20, ("\n\n",))
Reply = tuple[int, dict[str, str], Any]


def said(text: str | None, finish: str = "stop", n_tokens: int = 1, **message: Any) -> Reply:
    """A chat's answer."""
    choice = {"message": {"content": text, **message}, "finish_reason": finish}
    return OK, {}, {"choices": [choice], "usage": {"completion_tokens": n_tokens}}


def echoed(text: str, logprobs: dict | None) -> Reply:
    """A completion."""
    return OK, {}, {"choices": [{"text": text, "logprobs": logprobs}]}


class Server:
    """Answers as ``script`` says; without it as a well-behaved model of words, whose logprob is
    minus a word's length.
    """

    def __init__(self) -> None:
        self.script: Callable[[str, dict, int], Reply | None] = lambda path, body, number: None
        self.requests: list[tuple[str, dict, str]] = []
        self.starts: list[str] = []
        self.strips = False
        self.obeys = "structured_outputs"
        self.in_flight = self.most_in_flight = 0
        self.seconds = 0.0
        self.lock = threading.Lock()

    def answer(self, path: str, body: dict, key: str) -> Reply:
        with self.lock:
            self.requests.append((path, body, key))
            number = len(self.requests)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            time.sleep(self.seconds)
            return self.script(path, body, number) or self.well(path, body)
        finally:
            with self.lock:
                self.in_flight -= 1

    def well(self, path: str, body: dict) -> Reply:
        if path == "/v1/models":
            return OK, {}, {"data": [{"id": "wordy", "max_model_len": 512}]}
        choice = (body.get(self.obeys) or {}).get("choice") if self.obeys else None
        text = choice[0] if choice else "It is 2.\n\nYes."
        if path == "/v1/chat/completions":
            return said(text)
        if body.get("echo"):
            return echoed(body["prompt"], self.echo(body["prompt"]))
        return echoed(text, None)

    def echo(self, text: str) -> dict:
        words = split(text)
        tokens = [*self.starts, *(word.strip() if self.strips else word for word in words)]
        values = [None if k == 0 else -float(len(token.strip())) for k, token in enumerate(tokens)]
        offsets = [sum(map(len, tokens[:k])) for k in range(len(tokens))]
        return {"tokens": tokens, "token_logprobs": values, "text_offset": offsets}


def split(text: str) -> list[str]:
    """Words with the space before them."""
    words: list[str] = []
    for letter in text:
        if letter == " " or not words:
            words.append(letter)
        else:
            words[-1] += letter
    return words


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    kept = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def reply(self, body: dict) -> None:
            status, headers, content = kept.answer(
                self.path, body, self.headers.get("authorization", "")
            )
            if status == 0:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {
                "content-type": "application/json",
                "content-length": str(len(raw)),
                **headers,
            }.items():
                self.send_header(name, value)
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError
            ):  # a client that was stopped does not listen
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, *_: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    kept.url = f"http://127.0.0.1:{http.server_port}/v1"  # type: ignore[attr-defined]
    yield kept
    http.shutdown()
    http.server_close()


def opened(server: Server, **more: Any) -> OpenaiEngine:
    engine = open_engine(server.url, "wordy", **{"attempts": 4, **more})  # type: ignore[attr-defined]
    server.requests.clear()
    return engine


def test_the_target_is_found_by_character_offsets_whatever_stands_before_it_and_however_spaces_are_listed(
    server: Server,
) -> None:
    queries = [Loglikelihood("The lamp is", "bright enough."), Loglikelihood("A lamp", "glows.")]
    expected = {0: -14.0 + 1, 1: -6.0}  # "bright" 6 + "enough." 7; "glows." 6
    for starts, strips in (([], False), (["<s>"], False), (["<s>"], True), ([], True)):
        server.starts, server.strips = starts, strips
        found = dict(opened(server).score(queries, per_token=True))
        assert {i: s.logprob for i, s in found.items()} == expected
        assert [t.strip() for t in found[0].tokens or ()] == ["bright", "enough."]


def test_a_bare_target_has_its_first_token_scored_only_behind_a_start_token(server: Server) -> None:
    query = [Loglikelihood(None, "Lamps glow.")]
    server.starts = ["<s>"]
    (scored,) = dict(opened(server).score(query, per_token=True)).values()
    assert (scored.logprob, scored.n_tokens, scored.flags) == (-10.0, 2, ())
    assert scored.tokens == ("Lamps", " glow.")
    server.starts = []
    (scored,) = dict(opened(server).score(query)).values()
    assert (scored.logprob, scored.n_tokens, scored.flags) == (-5.0, 1, ("first_unscored",))


def test_a_token_across_the_border_belongs_to_the_target_and_is_flagged(server: Server) -> None:
    engine = opened(server)
    server.echo = lambda text: {  # type: ignore[method-assign]
        "tokens": ["A l", "amp gl", "ows."], "token_logprobs": [None, -2.0, -3.0], "text_offset": [0, 3, 9]
    }  # fmt: skip
    (scored,) = dict(engine.score([Loglikelihood("A lamp", "glows.")])).values()
    assert (scored.logprob, scored.flags) == (-5.0, ("straddle",))


def test_tokens_that_do_not_fit_the_text_are_refused_and_a_missing_value_is_flagged(
    server: Server,
) -> None:
    engine = opened(server)
    server.echo = lambda text: {
        "tokens": ["A", "x"],
        "token_logprobs": [None, -1.0],
        "text_offset": [0, 1],
    }  # type: ignore[method-assign]
    with pytest.raises(UserError, match="not certain"):
        list(engine.score([Loglikelihood("A lamp", "glows.")]))
    for value in (-9999.0, None, "-Infinity", "NaN"):
        server.echo = lambda text, value=value: {
            "tokens": split(text),
            "token_logprobs": [None, -1.0, value],
            "text_offset": [0, 1, 6],
        }  # type: ignore[method-assign]
        (scored,) = dict(engine.score([Loglikelihood("A lamp", "glows.")])).values()
        assert (scored.logprob, scored.flags) == (None, ("not_finite",))


#: A server's failures that have status 200, as they are sent -> what is said of them.
WELL = {
    b'{"choices": [{"message": {"content": null, "refusal": null}, "finish_reason": "stop"}],'
    b' "usage": {"completion_tokens": 0}}': r"an empty reply .*\(tried 2 times\)",
    b'{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}': "an empty reply",
    b'{"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}': "an empty reply",
    b'{"choices": [{"message": {"content": "TR"}, "finish_reason": "error"}]}': "an error",
    b'{"choices": [{"error": {"code": 524}}]}': "code 524",
    b'{"error": {"message": "oops", "code": 502}}': "code 502",
    b'{"choices": null, "error": {"code": 429}}': "rate-limited",
    b'{"choices": []}': "no choices",
    b'{"choices": [{"te': "half a JSON",
    b"<html>Please log in</html>": "half a JSON or none",
}
#: What may pass -> what is said of it.
FAULTS = [
    ((429, {"retry-after": "0"}, b"{}"), "rate-limited"),
    ((500, {}, b"{}"), r"failed with status 500 \(tried 2 times\)"),
    ((503, {"content-type": "text/html"}, b"<html>busy</html>"), "status 503"),
    ((0, {}, b""), "cannot be reached"),
    *(((OK, {}, answer), words) for answer, words in WELL.items()),
]


@pytest.mark.parametrize("fault", [fault for fault, _ in FAULTS])
def test_what_may_pass_is_asked_again_until_it_is_well(server: Server, fault: Reply) -> None:
    """inspect_ai #1534, #3687; safety-tooling #97; ollama #13371; pi #2168."""
    engine = opened(server)
    server.script = lambda path, body, number: fault if number <= 2 else None
    ((_, written),) = engine.generate(["Is it?"], FREE)
    assert written.text == "It is 2."
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((OK, {}, b"hello"), r"not with an OpenAI-style answer .*ends in /v1"),
        ((OK, {}, b'{"error": {"code": 402}}'), "payment .status 402"),
        ((400, {}, b'{"error": "It only supports streaming."}'), "stream of events only"),
        ((OK, {"content-type": "text/event-stream"}, b"data: {}"), "stream .* not asked"),
    ],
)
def test_a_server_that_never_answers_is_named_so_at_once(
    server: Server, answer: Reply, words: str
) -> None:
    server.script = lambda path, body, number: answer if body else None
    with pytest.raises(UserError, match=words):
        opened(server)
    assert len(server.requests) == 2


#: Answers to a conversation as they are sent -> text, thoughts and finish.
REPLIES = {
    b'{"choices": [{"message": {"content": [{"type": "thinking", "thinking": [{"type": "text",'
    b' "text": "So."}]}, {"type": "text", "text": "TR"}, {"type": "text", "text": "UE"}]}}]}': (
        ("TRUE", "So.", "stop")
    ),
    b'{"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}],'
    b' "usage": {"completion_tokens": 0}}': ("", "", "content_filter"),
    b'{"error": {"code": "content_filter"}}': ("", "", "content_filter"),
    b'{"choices": [{"message": {"content": null, "refusal": "No 2."}}]}': ("No 2.", "", "refusal"),
    b'{"choices": [{"message": {"content": "No."}, "finish_reason": "refusal"}]}': (
        ("No.", "", "refusal")
    ),
    b'{"choices": [{"message": {"content": [{"type": "refusal", "refusal": "No."}]}}]}': (
        ("No.", "", "refusal")
    ),
}


@pytest.mark.parametrize("answer", REPLIES)
def test_what_a_server_withholds_is_told_from_what_a_model_says(
    server: Server, answer: bytes
) -> None:
    """litellm #8953, inspect_ai #2000, #3405, #5376, Kiln #1550."""
    text, thoughts, finish = REPLIES[answer]
    engine = opened(server)
    prompt = (Message("user", "Which?"),)
    list(engine.generate([prompt], FREE))
    server.script = lambda path, body, number: (OK, {}, answer)
    ((_, written),) = engine.generate([prompt], FREE)
    assert (written.text, written.thoughts, written.finish) == (text, thoughts, finish)
    ((_, chosen),) = engine.choose([prompt], [["TRUE", "FALSE"]])
    assert (chosen.text, chosen.finish) == (text, "end" if finish == "stop" else finish)


def test_a_server_that_cuts_prompts_is_refused(server: Server) -> None:
    """ollama #17889, #3839: it counts fewer tokens than so many words can have."""
    engine = opened(server)
    usage: dict[str, Any] = {"prompt_tokens": 30, "prompt_tokens_details": {"cached_tokens": 99}}
    server.script = lambda path, body, number: (
        *server.well(path, body)[:2],
        {**server.well(path, body)[2], "usage": usage},
    )
    prompts = ["Is it? " * 75, (Message("user", "Is it? " * 75),)]
    assert len(list(engine.generate(prompts, FREE))) == 2
    del usage["prompt_tokens_details"]
    for prompt in prompts:
        for asked in (engine.generate([prompt], FREE), engine.choose([prompt], [["1", "2"]])):
            with pytest.raises(UserError, match="read 30 tokens of a prompt of 150 words"):
                list(asked)


HIDDEN = {"usage": {"completion_tokens_details": {"reasoning_tokens": 9}}}


@pytest.mark.parametrize(
    "yes",
    [
        said("One word.\n</think>\n\nyes"),
        said("<think>Hm.</think>yes"),
        said("yes", reasoning_content="Hm."),
        (OK, {}, said("yes")[2] | HIDDEN),
    ],
)
def test_a_served_model_that_thinks_chooses_only_once_its_thoughts_are_off(
    server: Server, yes: Reply
) -> None:
    """lm-eval #3675, #3405, #3118."""
    off = {"enable_thinking": False}
    server.script = lambda path, body, number: (
        None if off in body.values() or "messages" not in body else yes
    )
    prompt = (Message("user", "Which?"),)
    with pytest.raises(UserError, match="enable_thinking: false"):
        list(opened(server).choose([prompt], [["1", "2"]]))
    engine = opened(server, chat_template_kwargs=off)
    assert dict(engine.choose([prompt], [["1", "2"]]))[0].text == "1"
    assert engine.facts.identity()["chat_template_kwargs"] == off
    server.script = lambda path, body, number: (400, {}, {}) if off in body.values() else None
    with pytest.raises(UserError, match="takes no conversation with chat_template_kwargs"):
        opened(server, chat_template_kwargs=off)


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_a_server_that_keeps_failing_ends_the_run_with_its_answers_kept_and_the_next_run_asks_only_the_rest(
    server: Server, tmp_path: Any, fault: Reply, words: str
) -> None:
    prompts = [f"Is it {n}?" for n in range(20)]
    any_engine = opened(server)
    prompts.sort(key=lambda prompt: question_id(Generate(prompt, FREE), any_engine))
    engine = opened(server, concurrency=2, attempts=2)

    def ask(engine: OpenaiEngine) -> list[str]:
        return run_requests(
            [Generate(prompt, FREE) for prompt in prompts], engine, open_store(tmp_path, engine)
        ).values

    server.script = lambda path, body, number: fault if body.get("prompt") == prompts[12] else None
    with pytest.raises(UserError, match=words):
        ask(engine)
    again = opened(server)
    server.script = lambda path, body, number: None
    assert [w.text for w in ask(again)] == ["It is 2."] * 20
    asked = [body["prompt"] for _, body, _ in server.requests]
    assert prompts[12] in asked
    assert not set(prompts[:10]) & set(asked)


def test_a_signal_ends_the_run_at_once_though_requests_are_in_flight(
    server: Server, tmp_path: Any
) -> None:
    engine = opened(server, concurrency=3)
    released = threading.Event()

    def script(path: str, body: dict, number: int) -> None:
        if number == 6:
            os.kill(os.getpid(), signal.SIGTERM)
        if number >= 6:
            released.wait(30)

    server.script = script  # type: ignore[assignment]
    store = open_store(tmp_path, engine)
    started = time.monotonic()
    with pytest.raises(Preempted):
        run_requests([Generate(f"Is it {n}?", FREE) for n in range(20)], engine, store)
    assert time.monotonic() - started < 10
    released.set()
    assert 3 <= len(open_store(tmp_path, engine).load()) <= 5


def test_the_key_comes_from_the_environment_and_neither_it_nor_a_prompt_is_ever_told(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG, logger="worldprobe")
    monkeypatch.setattr(logging.getLogger("worldprobe"), "propagate", True)
    engine = opened(server, attempts=2)
    heard = []

    for status in (400, 401, 429, 500):
        said = {"message": f"no {KEY}: My secret garden", "code": "invalid_value"}
        server.script = lambda *_, status=status, said=said: (status, {}, {"error": said})
        with pytest.raises(UserError) as caught:
            list(engine.generate(["My secret garden"], FREE))
        heard.append(caught.value.lines())
    assert server.requests[-1][2] == f"Bearer {KEY}"
    everything = "\n".join([*heard, caplog.text])
    assert "status 400 (invalid_value)" in everything
    assert "OPENAI_API_KEY" in heard[1]
    assert KEY not in everything
    assert "garden" not in everything


def test_the_same_model_at_another_address_is_the_same_and_other_weights_at_the_same_address_are_not(
    server: Server,
) -> None:
    here = opened(server).facts.checkpoint_digest
    there = open_engine(
        server.url.replace("127.0.0.1", "localhost"), "wordy"
    ).facts.checkpoint_digest  # type: ignore[attr-defined]
    assert here == there
    named = {"data": [{"id": "wordy", "max_model_len": 512, "root": "/weights/other"}]}
    server.script = lambda path, body, number: (OK, {}, named) if path == "/v1/models" else None
    assert opened(server).facts.checkpoint_digest != here


def set_up_of(server: Server, folder: Path) -> str:
    """The digest of the served set-up, once its store is open and has an answer."""
    engine = opened(server)
    run_requests([Generate((Message("user", "Is it?"),), FREE)], engine, open_store(folder, engine))
    return engine.facts.checkpoint_digest


def chat_answer(token: str, second: float = -9.0, thoughts: str = "", n_prompt: int = 7) -> Reply:
    *well, answer = said(None if thoughts else token, reasoning_content=thoughts or None)
    ranked = [{"token": token, "logprob": -0.7}, {"token": "other", "logprob": second}]
    numbers = {"content": [{"token": token, "logprob": -0.7, "top_logprobs": ranked}]}
    answer["choices"][0]["logprobs"] = numbers
    return *well, answer | {"usage": {"prompt_tokens": n_prompt}}


@pytest.mark.parametrize(
    ("answers", "is_same"),
    [
        ([chat_answer("4"), chat_answer("4", thoughts="4")], False),
        ([chat_answer("4"), chat_answer("4", n_prompt=19)], False),
        ([chat_answer("4", second=-0.75), chat_answer("1", second=-0.72)], True),
        ([chat_answer("4"), chat_answer("4")], True),
    ],
    ids=[
        "parser of thoughts",
        "longer template",
        "two tokens equally likely",
        "the same",
    ],
)
def test_a_served_model_is_another_with_another_chat_template_or_parser(
    server: Server, tmp_path: Path, answers: list[Reply], is_same: bool
) -> None:
    def script(path: str, body: dict, number: int, reply: Reply) -> Reply | None:
        if not path.endswith("chat/completions"):
            return None
        words = sum(len(message["content"].split()) for message in body["messages"])
        return *reply[:2], reply[2] | {
            "usage": {"prompt_tokens": reply[2]["usage"]["prompt_tokens"] + words}
        }

    found = []
    for reply in answers:
        server.script = functools.partial(script, reply=reply)
        found.append(set_up_of(server, tmp_path))
    assert (found[0] == found[1]) is is_same


def test_a_constraint_is_used_only_if_the_server_was_seen_to_obey_it(server: Server) -> None:
    chosen = dict(opened(server).choose(["Which?\n"], [["1", "2"]]))
    assert chosen[0].text == "1"
    assert server.requests[-1][1]["structured_outputs"] == {"choice": ["1", "2"]}
    server.obeys = ""  # takes the field and ignores it, as older servers do
    with pytest.raises(UserError, match="no structured outputs and no grammar"):
        list(opened(server).choose(["Which?\n"], [["1", "2"]]))


def test_a_server_without_echo_is_refused_for_scores_but_asked_for_answers_and_chat_goes_to_its_own_template(
    server: Server,
) -> None:
    server.script = lambda path, body, number: (400, {}, {}) if body.get("echo") else None
    engine = opened(server)
    with pytest.raises(UserError, match="LogProbs cannot be had"):
        list(engine.score([Loglikelihood("A lamp", "glows.")]))
    (written,) = dict(engine.generate([(Message("user", "Is it?"),)], FREE)).values()
    assert written.text == "It is 2."
    assert server.requests[-1][:2] == (
        "/v1/chat/completions",
        {
            "model": "wordy",
            "temperature": 0,
            "messages": [{"role": "user", "content": "Is it?"}],
            "max_tokens": 20,
            "stop": ["\n\n"],
        },
    )


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_refused_and_no_item_is_sent_on(server: Server, status: int) -> None:
    elsewhere: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            elsewhere.append(self.path)
            self.send_error(500)

        def log_message(self, *_: Any) -> None: ...

    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    address = f"http://127.0.0.1:{other.server_port}"
    engine = opened(server)
    server.script = lambda path, body, number: (
        status,
        {"location": f"{address}/v1/completions?key={KEY}"},
        {},
    )
    try:
        with pytest.raises(UserError, match="sends questions on to another address") as refused:
            list(engine.generate(["Is it?"], FREE))
    finally:
        other.shutdown()
        other.server_close()
    assert KEY not in str(refused.value)
    assert not elsewhere
    assert len(server.requests) == 1


def test_the_model_that_answers_is_recorded_and_a_change_of_it_is_told(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    names = iter(["wordy-1"] * 99)

    def named(path: str, body: dict, number: int) -> Reply | None:
        status, headers, content = server.well(path, body)
        return status, headers, {**content, "model": next(names)} if body else content

    server.script = named
    engine = opened(server)
    assert engine.facts.process()["answered_by"] == ["wordy-1"]
    names = iter(["wordy-1", "cheap-2"])
    list(engine.generate(["Is it?", "Is it not?"], FREE))
    assert sorted(engine.facts.process()["answered_by"]) == ["cheap-2", "wordy-1"]
    assert "answers now come from cheap-2" in caplog.text


WORDS = st.text(st.sampled_from("ab é日."), min_size=1, max_size=12)


@settings(deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=8),
    st.sampled_from([[], ["<s>"], ["<|begin|>"]]),
    st.booleans(),
)
def test_spans_give_back_the_pieces_of_any_text_behind_any_start_tokens(
    pieces: list[str], starts: list[str], shifts: bool
) -> None:
    text = "".join(pieces)
    begins = [sum(map(len, pieces[:k])) for k in range(len(pieces))]
    shift = sum(map(len, starts)) if shifts else 0
    found = capabilities.spans(
        text, [*starts, *pieces], [*([0] * len(starts)), *(b + shift for b in begins)]
    )
    assert found == (len(starts), [(b, b + len(p)) for b, p in zip(begins, pieces, strict=True)])


def counted(path: str, body: dict, number: int) -> Reply | None:
    """Writes one word, and counts ten tokens for it."""
    if path != "/v1/completions" or body.get("echo"):
        return None
    return OK, {}, b'{"choices": [{"text": "TRUE"}], "usage": {"total_tokens": 10}}'


@pytest.mark.parametrize("limit", [{"max_requests": 5}, {"max_tokens": 50}])
def test_a_limit_of_spending_stops_cleanly_and_the_next_run_goes_on(
    server: Server, tmp_path: Any, limit: dict
) -> None:
    server.script = counted
    questions = [Generate(f"question {i}", FREE) for i in range(12)]
    asked = []
    for attempt in range(3):
        engine = opened(server, concurrency=1)
        engine.endpoint.spending = Spending(**limit)
        store = open_store(tmp_path, engine)
        if attempt < 2:
            with pytest.raises(UserError) as error:
                run_requests(questions, engine, store)
            assert next(iter(limit)).replace("_", "-") in error.value.lines()
            assert "Finished answers are kept" in error.value.lines()
        else:
            assert [value.text for value in run_requests(questions, engine, store).values] == [
                "TRUE"
            ] * 12
        asked += [body["prompt"] for _, body, _ in server.requests]
    assert sorted(asked) == sorted(question.prompt for question in questions), "each once"


def test_thoughts_that_a_servers_chat_template_opens_are_no_reply_when_they_are_cut(
    server: Server,
) -> None:
    def script(path: str, body: dict, number: int) -> Reply | None:
        if path != "/v1/chat/completions":
            return None
        if "one word" in body["messages"][0]["content"]:
            return said("One word.\n</think>\n\nyes")
        return said("I have to say 1, 2, 3, 4 or 5", "length")

    for opens in (True, False):
        server.script = script if opens else lambda path, body, number: None
        engine = opened(server)
        prompts = [(Message("user", word),) for word in ("Rate it.", "Rate that.")]
        found = dict(engine.generate(prompts, Decoding(20)))
        assert [written.text == "" for written in found.values()] == [opens] * 2
        assert len(server.requests) == 3, "one question more, once, of the template"


def test_a_server_whose_chat_template_drops_the_question_is_refused(server: Server) -> None:
    server.script = lambda path, body, number: (
        chat_answer("4", n_prompt=7) if path.endswith("chat/completions") else None
    )
    with pytest.raises(UserError, match="does not write the text of a message"):
        list(opened(server).generate([(Message("user", "Which is it?"),)], FREE))


@pytest.mark.parametrize(
    "refused", [{"max_tokens"}, {"temperature"}, {"max_tokens", "temperature", "stop", "logprobs"}]
)
def test_a_model_that_refuses_fields_of_the_request_is_asked_without_them(
    server: Server, tmp_path: Path, refused: set
) -> None:
    """OpenAI's reasoning models: sttp-ai #490, gollm #33, openrag #398."""
    words = itertools.count()

    def script(path: str, body: dict, number: int) -> Reply | None:
        if path.endswith("/models"):
            return None
        if (
            not path.endswith("/chat/completions")
            or (refused | {"structured_outputs", "guided_choice"}) & body.keys()
        ):
            return 400, {}, {"error": {"code": "unsupported_parameter"}}
        text = "It is 2.\n\nYes." if "temperature" in body else f"It is 2.\n\nWord {next(words)}."
        return said(text, n_tokens=9)

    server.script = script
    for _ in range(2):
        engine = opened(server)
        found = run_requests(
            [Generate((Message("user", "Is it?"),), FREE)], engine, open_store(tmp_path, engine)
        )
        assert found.values[0].text == "It is 2."
        assert found.origins["made_by"][0]["process"]["request"].startswith("max_")
    assert len(list(tmp_path.iterdir())) == 1, "drawn words make no other set-up"
    if "temperature" in refused:
        with pytest.raises(UserError, match="takes no temperature"):
            list(engine.generate([(Message("user", "Is it?"),)], Decoding(20, temperature=0.5)))


@pytest.mark.parametrize("starts", [[], ["<s>"]])
@pytest.mark.parametrize("kind", ["zeros", "writes", "next", "none", "late"])
def test_an_echo_without_the_prompts_log_probabilities_is_refused(
    server: Server, kind: str, starts: list[str]
) -> None:
    """Log probabilities that are all 0, of one token too many, or shifted by one."""
    server.starts = starts
    was = server.echo

    def script(path: str, body: dict, number: int) -> Reply | None:
        if not body.get("echo"):
            return None
        text = body["prompt"] + " so" * (kind == "writes")
        logprobs = was(text)
        if kind == "zeros":
            logprobs["token_logprobs"] = [0.0] * len(logprobs["tokens"])
        _, *ahead = values = logprobs["token_logprobs"]
        shifted = {"next": [*ahead, -7.0], "none": [*ahead, None], "late": [None, *values[:-1]]}
        logprobs["token_logprobs"] = shifted.get(kind, values)
        return echoed(text, logprobs)

    server.script = script
    with pytest.raises(UserError, match="does not return the log probabilities"):
        list(opened(server).score([Loglikelihood("A lamp", "glows.")]))


@pytest.mark.parametrize("echoes", [True, False])
@pytest.mark.long
def test_evaluate_asks_a_served_model_by_what_its_server_gives(
    server: Server, tmp_path: Path, echoes: bool
) -> None:
    """Log probabilities where the server echoes a prompt's, prompts where it does not."""
    from worldprobe.cli import main

    if not echoes:

        def script(_path: str, body: dict, _number: int) -> Reply | None:
            return (400, {}, {"error": {"message": "no echo"}}) if body.get("echo") else None

        server.script = script
    materials = str(tmp_path / "own")
    assert run(f"materials new-domain {materials} office-work") == 0
    url = server.url  # type: ignore[attr-defined]
    served = f"--endpoint {url} --model wordy --materials {materials} --versions 0"
    assert run(f"evaluate {served} --work {tmp_path}/work") == 0
    result = json.loads((tmp_path / "work" / "result.json").read_text())
    stated = result["benchmarks"]["ewok"]
    assert (result["model"], result["engine"]) == ("wordy", "openai")
    assert stated["eval_type"] == ("logprobs" if echoes else "choice_free_zero")
    # Who always chooses the second context is at chance where both orders are asked.
    assert echoes or stated["mean"] == 0.5
    if not echoes:
        assert main(f"evaluate --endpoint {url} --work {tmp_path / 'other'}".split()) == 2


def test_where_nothing_has_ever_answered_a_refused_connection_is_not_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(UserError, match="connection refused"):
        Endpoint(f"http://127.0.0.1:{port}/v1", attempts=9).ask_one(lambda client: client.get("/x"))
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("choice", "n_tokens", "is_failure"),
    [
        ({"message": {"content": [{"type": "text", "text": ""}]}}, 0, True),
        ({"message": {"content": " "}}, 0, True),
        ({"message": {"content": " "}}, 1, False),
        ({"message": {"content": [{"type": "text", "text": "TRUE"}]}}, 0, False),
        ({"index": 0}, 3, True),
        ({"text": "", "logprobs": {"tokens": ["a"]}}, 0, False),
    ],
)
def test_blanks_of_no_tokens_are_no_reply_and_an_echo_is_one(choice, n_tokens, is_failure):
    answer = {"choices": [choice], "usage": {"completion_tokens": n_tokens}}
    assert (failure_of(answer) is not None) == is_failure
