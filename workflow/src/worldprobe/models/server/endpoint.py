"""Asks an OpenAI-compatible server: many questions at once, patiently where that helps, with a
plain message where it does not.

Nothing here logs a key or a prompt. Requests run in one event loop in the caller's thread, so that
a signal ends them at once.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from worldprobe.errors import UserError, did_you_mean, printable
from worldprobe.files import check_address
from worldprobe.log import LOGGER, SECONDS_BETWEEN_LINES
from worldprobe.models.server import KEY_VARIABLE, LOOPBACK

#: Where conversations are asked, below the base URL.
CHAT_PATH = "/chat/completions"
#: Requests in flight.
CONCURRENCY = 16
#: Tries per question, with the growing waits of the openai package.
ATTEMPTS = 8
#: Seconds until an answer counts as lost.
TIMEOUT = 300.0
#: Seconds that questions in flight may still take after one has failed for good.
SECONDS_FOR_THE_LAST = 2.0
#: How a refusal says that a stream of events must be asked for; nothing else of its words is read.
WANTS_STREAM = re.compile(
    r"only\W+(?:\w+\W+){0,2}stream|stream\W{0,5}true|requires? stream", re.IGNORECASE
)
#: Code of a refusal of what a filter does not let through (Azure).
FILTERED = "content_filter"
#: Where a response says what is wrong with an answer that its status calls well.
FAILURE = "failure"
#: Error codes that are printed, such as invalid_value or BadRequestError; any other may repeat a
#: key or a prompt.
CODE = re.compile(r"[a-z]+(_[a-z]+)+|[A-Z][A-Za-z]+Error")

Answer = TypeVar("Answer")
Key = TypeVar("Key")


class MalformedAnswerError(Exception):
    """An answer without the parts that the API promises."""


@dataclass(frozen=True)
class Failure:
    """A server's own failure, which it reports with status 200, or an answer that is none.

    Attributes:
        problem: what stands in the place of a reply.
        status: the one that it should have had.
        is_protocol: it is of OpenAI's protocol, so the address is right.
    """

    problem: str
    status: int = 502
    is_protocol: bool = True


#: Parts of a message that a model may write; a completion has a text.
PARTS = ("content", "text", "reasoning_content", "reasoning", "refusal", "tool_calls")
NO_JSON = Failure("half a JSON or none", is_protocol=False)
STREAM = Failure("a stream of events, which was not asked for")


def _says(value: Any) -> bool:
    """Is there more than blanks in a text, or in the parts that it may consist of?"""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict)]
        return any(_says(part[key]) for part in parts for key in part if key != "type")
    return bool(value.strip() if isinstance(value, str) else value)


def failure_of(answer: Any) -> Failure | None:
    """The failure that an answer of status 200 states; None for a reply of a model.

    >>> failure_of({"error": {"code": 429}})
    Failure(problem='an error (code 429)', status=429, is_protocol=True)
    >>> failure_of({"choices": []}).problem
    'no choices'
    >>> failure_of({"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}) is None
    True
    """
    if not isinstance(answer, dict):
        return NO_JSON
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    choice = choice if isinstance(choice, dict) else {}
    error = answer.get("error") or choice.get("error")
    if error or choice.get("finish_reason") == "error":
        stated = str(error.get("code")) if isinstance(error, dict) else ""
        code = (
            400
            if stated == FILTERED
            else int(stated)
            if stated.isdecimal() and len(stated) < 5
            else 0
        )
        problem = f"an error{f' (code {code})' if code else ''}"
        return Failure(problem, code) if 400 <= code < 600 else Failure(problem)
    if not choice:
        return Failure("no choices", is_protocol=False)
    message = choice["message"] if isinstance(choice.get("message"), dict) else choice
    is_said = choice.get("finish_reason") in (FILTERED, "refusal", "length")
    if is_said or choice.get("logprobs") or any(_says(message.get(part)) for part in PARTS):
        return None
    if not {"message", "text"} & choice.keys():
        return Failure("a choice without a reply", is_protocol=False)
    # A model that ends at once writes one token, its end; some servers count no tokens at all.
    usage = answer.get("usage")
    n_tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    is_null = n_tokens is None and message.get("content", "") is None
    return Failure("an empty reply of no tokens") if n_tokens == 0 or is_null else None


@dataclass
class Spending:
    """The requests and tokens of a process, and their limits. A limit stops it before the next
    question.

    Attributes:
        requests: requests that were begun; trying one again counts no more.
        tokens: tokens that the server counted, read and written.
        max_requests, max_tokens: the limits; None for none.
        is_blind: the server gave an answer without counting its tokens.
        models: the names of models that answers came from, by the server's own word.
    """

    requests: int = 0
    tokens: int = 0
    max_requests: int | None = None
    max_tokens: int | None = None
    is_blind: bool = False
    models: list[str] = field(default_factory=list)

    def reached(self) -> str | None:
        """Which limit is reached, in words."""
        if self.max_requests is not None and self.requests >= self.max_requests:
            return f"--max-requests {self.max_requests} is reached"
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"--max-tokens {self.max_tokens} is reached ({self.tokens} were used)"
        if self.max_tokens is not None and self.is_blind:
            return f"it counts no tokens, so --max-tokens {self.max_tokens} cannot be kept"
        return None


@dataclass(frozen=True)
class Dialect:
    """Which fields of a request a server takes.

    Attributes:
        length: its word for the most tokens of a chat's reply.
        takes_temperature: False of OpenAI's reasoning models, which draw their replies, and take no
            stop or bias either.
    """

    length: str = "max_tokens"
    takes_temperature: bool = True

    def spoken(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request, as this server takes them; a stop that is left out is found in
        the reply.
        """
        left_out = () if self.takes_temperature else ("temperature", "seed", "stop", "logit_bias")
        is_chat = path == CHAT_PATH
        return {
            self.length if is_chat and key == "max_tokens" else key: body[key]
            for key in body
            if key not in left_out
        }


#: The protocol as it is, and what is tried where a server refuses that.
PLAIN = Dialect()
DIALECTS = [
    Dialect("max_completion_tokens"),
    Dialect("max_completion_tokens", takes_temperature=False),
    Dialect(takes_temperature=False),
]


class Client:
    """The server, as one question sees it.

    Args:
        connection: an ``openai.AsyncOpenAI``.
        spending: counts tokens.
        dialect: how requests are put.
        chat_template_kwargs: variables of the chat template, for every conversation.
    """

    def __init__(
        self,
        connection: Any,
        spending: Spending,
        dialect: Dialect = PLAIN,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._connection, self._spending, self._dialect = connection, spending, dialect
        self._of_chats = (
            {"chat_template_kwargs": chat_template_kwargs} if chat_template_kwargs else {}
        )

    async def get(self, path: str) -> Any:
        """The JSON at a path."""
        return await self._connection.get(path, cast_to=object)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that answers a request; a filter's refusal of a prompt is an answer, too."""
        import openai

        body = {**body, **(self._of_chats if path == CHAT_PATH else {})}
        try:
            answer = await self._connection.post(
                path, body=self._dialect.spoken(path, body), cast_to=object
            )
        except openai.BadRequestError as error:
            if error.code != FILTERED:
                raise
            return {"choices": [{"message": {"content": None}, "finish_reason": FILTERED}]}
        usage = answer.get("usage") if isinstance(answer, dict) else None
        name = answer.get("model") if isinstance(answer, dict) else None
        if isinstance(name, str) and (name := printable(name)[:200]) not in self._spending.models:
            if self._spending.models:
                LOGGER.warning(
                    "answers now come from %s, before from %s",
                    name,
                    ", ".join(self._spending.models),
                )
            self._spending.models.append(name)
        total = usage.get("total_tokens") if isinstance(usage, dict) else None
        if isinstance(total, int) and total >= 0:
            self._spending.tokens += total
        else:
            self._spending.is_blind = True
        return answer


#: One question: given the server, awaits the answer.
Question = Callable[[Client], Awaitable[Answer]]


class Endpoint:
    """A server at a base URL such as http://127.0.0.1:8000/v1.

    Args:
        url: base URL, up to and with /v1.
        concurrency: requests in flight at most.
        attempts: tries per question.
        timeout: seconds until an answer counts as lost.
        spending: limits of what is asked; none, if not given.
        chat_template_kwargs: variables of the server's chat template.

    Raises:
        UserError: the URL is not valid or contains a key or password, or the key in the environment
            cannot be sent.
    """

    def __init__(
        self,
        url: str,
        concurrency: int = CONCURRENCY,
        attempts: int = ATTEMPTS,
        timeout: float = TIMEOUT,
        spending: Spending | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        parts = check_address(
            url,
            "--endpoint",
            f"Give the bare URL; the key is read from {KEY_VARIABLE}.",
            "http://127.0.0.1:8000/v1",
        )
        if concurrency < 1:
            raise UserError(
                f"--concurrency {concurrency}", "leaves no request in flight.", "Give 1 or more."
            )
        self.url = url.rstrip("/")
        self.concurrency, self.attempts, self.timeout = concurrency, attempts, timeout
        self.spending = spending or Spending()
        self.dialect = PLAIN
        self.chat_template_kwargs = dict(chat_template_kwargs or {})
        self._has_replied = False
        self.is_local = parts.hostname in LOOPBACK
        self._address = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        self._key = key_from_environment()
        if not self.is_local:
            LOGGER.info(
                "items are sent to %s: make sure that their licence and their authors' wishes"
                " allow it",
                parts.hostname,
            )
            if parts.scheme == "http" and self._key:
                LOGGER.warning(
                    "the key in %s travels to %s unencrypted (http)", KEY_VARIABLE, parts.hostname
                )

    def ask(  # noqa: C901  (what is in flight, finished or failed is one state)
        self, questions: Iterable[tuple[Key, Question[Answer]]]
    ) -> Iterator[tuple[Key, Answer]]:
        """Answers as they come; only as many questions as fit in flight are taken ahead.

        Where a question fails, all answers that have come by then, or come soon after, are yielded
        before the failure is raised.

        Args:
            questions: each with the key under which its answer is yielded.

        Raises:
            UserError: the server refuses, or fails for longer than we wait.
        """
        if self.is_local and not self.spending.requests:
            # Where nothing listens and nothing has answered yet, waiting does not help.
            try:
                socket.create_connection(self._address, self.timeout).close()
            except OSError as error:
                raise self._refusal(error) from error
        connection = self._connect()
        client = Client(connection, self.spending, self.dialect, self.chat_template_kwargs)
        loop = asyncio.new_event_loop()
        running: dict[asyncio.Task[Answer], Key] = {}

        def finished() -> Iterator[tuple[Key, Answer]]:
            done = loop.run_until_complete(self._wait_for_any(running))
            failures = [error for task in done if (error := task.exception()) is not None]
            for task in done:
                key = running.pop(task)
                if task.exception() is None:
                    yield key, task.result()
            if failures:
                if running:  # answers on their way are paid for
                    loop.run_until_complete(asyncio.wait(running, timeout=SECONDS_FOR_THE_LAST))
                for task in [task for task in running if task.done()]:
                    key = running.pop(task)
                    if task.exception() is None:
                        yield key, task.result()
                raise failures[0]

        limit = None
        try:
            for name, question in questions:
                if (limit := self.spending.reached()) is not None:
                    break
                self.spending.requests += 1
                running[loop.create_task(self._answer(client, question))] = name
                while len(running) >= self.concurrency:
                    yield from finished()
            while running:
                yield from finished()
            if limit is not None:
                fix = (
                    "Finished answers are kept: the same command with a higher limit, or again with"
                    " this one, goes on from here."
                )
                raise UserError(self.url, f"is asked nothing more: {limit}.", fix)
        finally:
            for task in running:
                task.cancel()
            if running:
                loop.run_until_complete(asyncio.gather(*running, return_exceptions=True))
            loop.run_until_complete(connection.close())
            loop.close()

    def ask_one(self, question: Question[Answer]) -> Answer:
        """One question, at once."""
        return next(iter(dict(self.ask([(0, question)])).values()))

    def _connect(self) -> Any:
        """The client of the openai package; a server on this machine is reached without the
        environment's proxy.
        """
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        try:
            # A redirect is not followed: it would take items, and maybe the key, to an address that
            # nobody named.
            transport = DefaultAsyncHttpxClient(
                verify=_certificates(),
                trust_env=not self.is_local,
                follow_redirects=False,
                event_hooks={"response": [self._restate]},
            )
        except Exception as error:
            # whatever the proxy variables make of it, and never its text: they may contain a
            # password
            raise UserError(
                "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY",
                f"cannot be used ({type(error).__name__}).",
                "Fix these environment variables, or unset them; NO_PROXY names hosts that are"
                " reached directly.",
            ) from error
        return AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self.url,
            max_retries=self.attempts - 1,
            timeout=self.timeout,
            http_client=transport,
        )

    async def _restate(self, response: Any) -> None:
        """Give a failure that comes with status 200 the status that it should have, so that it is
        tried again as any other.

        What is no answer at all is not tried again before the first reply: then the address is
        wrong.
        """
        if response.request.method != "POST" or response.status_code != 200:
            return
        await response.aread()
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        try:
            failure = STREAM if is_stream else failure_of(response.json())
        except ValueError:
            failure = NO_JSON
        if failure is None:
            self._has_replied = True
            return
        response.status_code, response.extensions[FAILURE] = failure.status, failure
        if failure is STREAM or not (failure.is_protocol or self._has_replied):
            response.headers["x-should-retry"] = "false"

    async def _wait_for_any(
        self, running: Mapping[asyncio.Task[Any], Any]
    ) -> set[asyncio.Task[Any]]:
        """The tasks that are done, at least one; a line every ten seconds says that we wait."""
        started = time.monotonic()
        while True:
            done, _ = await asyncio.wait(
                running, timeout=SECONDS_BETWEEN_LINES, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return done
            waited = time.monotonic() - started
            LOGGER.info(
                "%s: no answer for %.0f s; %d requests in flight", self.url, waited, len(running)
            )

    async def _answer(self, client: Client, question: Question[Answer]) -> Answer:
        import openai

        try:
            return await question(client)
        except (openai.OpenAIError, MalformedAnswerError) as error:
            raise self._refusal(error) from error
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise self._refusal(MalformedAnswerError(type(error).__name__)) from error

    def _refusal(self, error: BaseException) -> UserError:
        """What the user can fix, without the server's words where they may repeat a key or a
        prompt.
        """
        import openai

        status = getattr(error, "status_code", None)
        tried = "once" if self.attempts == 1 else f"{self.attempts} times"
        kept = "Finished answers are kept: rerun the command once the server is back."
        if isinstance(error, openai.APITimeoutError):
            return UserError(
                self.url,
                f"did not answer in time (tried {tried}, for up to {self.timeout:.0f} s).",
                kept,
            )
        if isinstance(error, openai.APIConnectionError | OSError):
            return UserError(
                self.url,
                f"cannot be reached ({_root(error)}).",
                "Start the server, or fix --endpoint (address, port, /v1 at its end).",
            )
        response = getattr(error, "response", None)
        failure: Failure | None = getattr(response, "extensions", {}).get(FAILURE)
        is_foreign = failure and not failure.is_protocol and not self._has_replied
        if isinstance(error, MalformedAnswerError) or is_foreign:
            return UserError(
                self.url,
                "responds, but not with an OpenAI-style answer"
                f" ({failure.problem if failure else error}).",
                "Check that --endpoint ends in /v1, or see the server's own log.",
            )
        if failure is STREAM:
            fix = "Turn streaming off at the server, or at what stands before it."
            return UserError(self.url, f"answers with {failure.problem}.", fix)
        if failure and failure.status >= 500:
            problem = f"answers with {failure.problem} (tried {tried})."
            return UserError(self.url, problem, kept)
        if only_streams(error):
            problem = "answers as a stream of events only, which is not read here."
            return UserError(self.url, problem, "Name another model, or another server.")
        if status is not None and 300 <= status < 400:
            return UserError(
                self.url,
                f"sends questions on to another address (status {status}), which is not followed.",
                "Name that address yourself (--endpoint) if items may go there.",
            )
        key = f"Set the environment variable {KEY_VARIABLE}."
        messages = {
            401: (
                "does not accept the key." if self._key else "requires a key, and none is set.",
                key,
            ),
            402: (
                "asks for payment (status 402): the credits are used up.",
                "Add credits, or use another key or model. " + kept,
            ),
            403: (
                "does not allow this with your key.",
                f"Use a key with the right to it ({KEY_VARIABLE}).",
            ),
            404: (
                "does not know this model or this address.",
                "Check --checkpoint and --endpoint.",
            ),
            429: ("is rate-limited, or out of quota.", "Lower --concurrency, or wait. " + kept),
        }
        if status in messages:
            return UserError(self.url, *messages[status])
        if status is not None and status >= 500:
            return UserError(self.url, f"failed with status {status} (tried {tried}).", kept)
        return UserError(
            self.url,
            f"refuses the request: {describe_error(error)}.",
            "See the server's own log for the reason, e.g. a prompt longer than its model takes.",
        )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The system's certificates, read once: that takes longer than most questions."""
    return ssl.create_default_context()


def only_streams(error: BaseException | None) -> bool:
    """Does a server refuse because no stream of events was asked for?"""
    message = f"{error} {getattr(error, 'body', '')}"
    return getattr(error, "status_code", None) == 400 and bool(WANTS_STREAM.search(message))


def describe_error(error: BaseException | None) -> str:
    """Kind and status of an error, and the server's code for it where it has the form of one; never
    its message.

    A message, or a code of the server's own making, may repeat a prompt or part of a key.
    """
    status = getattr(error, "status_code", None)
    words = f"status {status}" if status else type(error).__name__
    codes = [
        code
        for code in (getattr(error, "code", None), getattr(error, "type", None))
        if isinstance(code, str)
    ]
    valid_codes = [code for code in codes if CODE.fullmatch(code)]
    return f"{words} ({valid_codes[0]})" if valid_codes else words


def key_from_environment() -> str | None:
    """The key of the environment, without space around it; None where there is none.

    Raises:
        UserError: it contains characters that cannot be sent.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if any(not " " <= letter <= "~" for letter in key):
        raise UserError(
            KEY_VARIABLE,
            "contains a control character or a letter outside ASCII, so it is not a key.",
            "Set this environment variable again, without line breaks or quotes.",
        )
    return key or None


def _root(error: BaseException) -> str:
    """The last cause in words, such as "connection refused"; never an error's own text, which may
    repeat what was sent.
    """
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno or 0).lower()
    return type(error).__name__


def unknown_model(url: str, name: str, served: list[str]) -> UserError:
    """The message for a model that the server does not serve."""
    return UserError(
        f"--checkpoint {name}",
        f"is not served at {url}{did_you_mean(name, served)} It serves:"
        f" {', '.join(served[:10]) or 'nothing'}.",
        "Name one of those.",
    )
