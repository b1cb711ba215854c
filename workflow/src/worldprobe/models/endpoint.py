"""Asks an OpenAI-compatible server: many questions at once, patiently where that helps, with a plain message where it does not.

Nothing here logs a key or a prompt. Requests run in one event loop in the caller's thread, so that a signal ends them at once.
"""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER

KEY_VARIABLE = "OPENAI_API_KEY"
#: Requests in flight.
CONCURRENCY = 16
#: Tries per question, and seconds before the second one; each further wait is twice as long, up to ``LONGEST_WAIT``.
ATTEMPTS = 8
FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
#: Seconds until an answer counts as lost.
TIMEOUT = 300.0
#: Statuses that pass by themselves: time-out, conflict, too many requests, and every fault of the server (500 and above).
PASSING = (408, 409, 425, 429)
LOOPBACK = ("127.0.0.1", "localhost", "::1")

Answer = TypeVar("Answer")
Key = TypeVar("Key")
#: One question: given ``post(path, body)``, awaits the answer.
Question = Callable[[Callable[[str, Mapping[str, Any]], Awaitable[Any]]], Awaitable[Answer]]


class MalformedAnswerError(Exception):
    """An answer without the parts that the API promises."""


class Endpoint:
    """A server at a base URL such as http://127.0.0.1:8000/v1.

    Args:
        url: base URL, up to and with /v1.
        concurrency: requests in flight at most.
        attempts: tries per question.
        first_wait: seconds before the second try.
        timeout: seconds until an answer counts as lost.

    Raises:
        UserError: the URL is none, or holds a key or password.
    """

    def __init__(
        self,
        url: str,
        concurrency: int = CONCURRENCY,
        attempts: int = ATTEMPTS,
        first_wait: float = FIRST_WAIT,
        timeout: float = TIMEOUT,
    ) -> None:
        parts = urlsplit(url)
        if parts.username or parts.password or parts.query:
            raise UserError(
                f"--endpoint {parts.scheme}://{parts.hostname}",
                "holds more than an address.",
                f"Give the bare URL; the key is read from {KEY_VARIABLE}.",
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"--endpoint {url}", "is no web address.", "Give a base URL such as http://127.0.0.1:8000/v1.")
        if concurrency < 1:
            raise UserError(f"--concurrency {concurrency}", "leaves no request in flight.", "Give 1 or more.")
        self.url = url.rstrip("/")
        self.concurrency, self.attempts, self.first_wait, self.timeout = concurrency, attempts, first_wait, timeout
        if parts.hostname not in LOOPBACK:
            LOGGER.info("items are sent to %s: make sure that their licence and their authors' wishes allow it", parts.hostname)
            if parts.scheme == "http" and os.environ.get(KEY_VARIABLE):
                LOGGER.warning("the key in %s travels to %s unencrypted (http)", KEY_VARIABLE, parts.hostname)

    def ask(self, questions: Iterable[tuple[Key, Question[Answer]]]) -> Iterator[tuple[Key, Answer]]:
        """Answers as they come; only as many questions as fit in flight are taken ahead.

        Raises:
            UserError: the server refuses, or fails for longer than we wait.
        """
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        client = AsyncOpenAI(
            api_key=os.environ.get(KEY_VARIABLE) or "none",
            base_url=self.url,
            max_retries=0,
            timeout=self.timeout,
            http_client=DefaultAsyncHttpxClient(verify=_certificates()),
        )
        loop = asyncio.new_event_loop()
        running: dict[asyncio.Task[Answer], Key] = {}

        def finished() -> Iterator[tuple[Key, Answer]]:
            done, _ = loop.run_until_complete(asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED))
            for task in done:
                yield running.pop(task), task.result()

        try:
            for name, question in questions:
                running[loop.create_task(self._patiently(client, question))] = name
                while len(running) >= self.concurrency:
                    yield from finished()
            while running:
                yield from finished()
        finally:
            for task in running:
                task.cancel()
            if running:
                loop.run_until_complete(asyncio.gather(*running, return_exceptions=True))
            loop.run_until_complete(client.close())
            loop.close()

    def ask_one(self, question: Question[Answer], attempts: int | None = None) -> Answer:
        """One question, at once."""
        kept, self.attempts = self.attempts, attempts or self.attempts
        try:
            return next(iter(dict(self.ask([(0, question)])).values()))
        finally:
            self.attempts = kept

    async def _patiently(self, client: Any, question: Question[Answer]) -> Answer:
        """Ask again, with growing waits, while what is wrong may pass."""
        import tenacity

        async def post(path: str, body: Mapping[str, Any]) -> Any:
            if path.startswith("GET "):
                return await client.get(path[4:], cast_to=object)
            return await client.post(path, body=dict(body), cast_to=object)

        async def once() -> Answer:
            try:
                return await question(post)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                raise MalformedAnswerError(type(error).__name__) from error

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(is_passing),
            stop=tenacity.stop_after_attempt(self.attempts),
            wait=self._wait,
            before_sleep=lambda state: LOGGER.info(
                "%s: %s; asking again in %.1f s (try %d of %d)",
                self.url,
                describe(state.outcome.exception() if state.outcome else None),
                state.next_action.sleep if state.next_action else 0,
                state.attempt_number + 1,
                self.attempts,
            ),
            reraise=True,
        )
        import openai

        try:
            return await retrying(once)
        except (openai.OpenAIError, MalformedAnswerError) as error:
            raise self._refusal(error) from error

    def _wait(self, state: Any) -> float:
        """Twice as long each time, with jitter, and never shorter than the server asks for."""
        import tenacity

        backoff = tenacity.wait_random_exponential(multiplier=self.first_wait, max=LONGEST_WAIT)(state)
        return max(backoff + self.first_wait / 2, min(_asked_wait(state.outcome.exception()), LONGEST_WAIT))

    def _refusal(self, error: BaseException) -> UserError:
        """What the user can fix, without the server's words where they may repeat a key or a prompt."""
        import openai

        status = getattr(error, "status_code", None)
        kept = "Finished answers are kept; run the same command again when it is well."
        if isinstance(error, openai.APITimeoutError):
            return UserError(self.url, f"gave no answer within {self.timeout:.0f} s, {self.attempts} times.", kept)
        if isinstance(error, openai.APIConnectionError):
            return UserError(
                self.url,
                f"cannot be reached ({_root(error)}).",
                "Start the server, or fix --endpoint (address, port, /v1 at its end).",
            )
        if isinstance(error, MalformedAnswerError):
            return UserError(
                self.url, f"answers, but not in the form of the API ({error}).", "Check that --endpoint ends in /v1."
            )
        if status == 401:
            has_key = bool(os.environ.get(KEY_VARIABLE))
            return UserError(
                self.url,
                "does not accept the key." if has_key else "asks for a key, and there is none.",
                f"Set the environment variable {KEY_VARIABLE}.",
            )
        if status == 403:
            return UserError(self.url, "does not allow this with your key.", f"Use a key with the right to it ({KEY_VARIABLE}).")
        if status == 404:
            return UserError(self.url, "does not know this model or this address.", "Check --checkpoint and --endpoint.")
        if status == 429:
            return UserError(
                self.url, "has no room: too many requests, or no quota left.", "Lower --concurrency, or wait. " + kept
            )
        if status is not None and status >= 500:
            return UserError(self.url, f"failed with status {status}, {self.attempts} times.", kept)
        return UserError(
            self.url,
            f"refuses the request: {describe(error)}.",
            "See the server's own log for the reason, e.g. a prompt longer than its model takes.",
        )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The system's certificates, read once: that takes longer than most questions."""
    return ssl.create_default_context()


def is_passing(error: BaseException) -> bool:
    """May the same question succeed later?"""
    import openai

    if isinstance(error, openai.APIStatusError):
        if getattr(error, "code", None) == "insufficient_quota":
            return False
        return error.status_code in PASSING or error.status_code >= 500
    return isinstance(error, (openai.APIConnectionError, MalformedAnswerError))


def describe(error: BaseException | None) -> str:
    """Kind and status of an error, and the server's code for it, never its message: that may hold a prompt or part of a key."""
    status = getattr(error, "status_code", None)
    code = getattr(error, "code", None) or getattr(error, "type", None)
    words = f"status {status}" if status else type(error).__name__
    return f"{words} ({code})" if isinstance(code, str) and code.replace("_", "").isalnum() else words


def _root(error: BaseException) -> str:
    """The last cause's words, such as "connection refused"."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (
        os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error) or type(error).__name__
    ).lower()


def _asked_wait(error: BaseException | None) -> float:
    """Seconds that the server's Retry-After asks for."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return max(float(headers.get("retry-after", 0)), 0.0)
    except (TypeError, ValueError):
        return 0.0


def unknown_model(url: str, name: str, served: list[str]) -> UserError:
    """The message for a model that the server does not serve."""
    return UserError(
        f"--checkpoint {name}",
        f"is not served at {url}{did_you_mean(name, served)} It serves: {', '.join(served[:10]) or 'nothing'}.",
        "Name one of those.",
    )
