"""What every request passes first: who it is for, where it comes from, how large it is, and how many there were."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from worldprobe.log import LOGGER

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LARGEST_BODY = 16 * 1024
LONGEST_QUERY = 6 * 1024
BODY_SECONDS = 15.0
#: Requests a second, and at once, from one cookie: far more than a person makes.
PER_PERSON = (10.0, 60.0)
#: The same from one address: a university's whole laboratory behind one address stays below.
PER_ADDRESS = (150.0, 3000.0)
MOST_BUCKETS = 20_000
LOOPBACK = ("127.0.0.1", "::1")


@dataclass
class Buckets:
    """Token buckets, in memory only: nothing about an address is ever written.

    Args:
        rate: tokens that return in a second.
        size: tokens of a full bucket.
        clock: seconds.
    """

    rate: float
    size: float
    clock: Callable[[], float] = time.monotonic
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, name: str) -> bool:
        """Take one token; whether there was one."""
        now = self.clock()
        level, at = self._levels.get(name, (self.size, now))
        level = min(self.size, level + (now - at) * self.rate)
        if len(self._levels) > MOST_BUCKETS:
            full = [key for key, (left, then) in self._levels.items() if left + (now - then) * self.rate >= self.size]
            for key in full or list(self._levels)[: MOST_BUCKETS // 2]:
                del self._levels[key]
        is_there = level >= 1
        self._levels[name] = (level - 1 if is_there else level, now)
        return is_there


class Guard:
    """ASGI middleware around the whole application; refuses early and adds the headers that every response carries.

    Args:
        app: the application.
        cookie: name of the study's cookie.
        hosts: values of the Host header that are served.
        origins: origins that may change anything.
        form_action: where pages may lead besides this server.
        is_secure: served by TLS.
    """

    def __init__(
        self, app: App, cookie: str, hosts: frozenset[str], origins: frozenset[str], form_action: str, is_secure: bool
    ) -> None:
        self.app, self.cookie, self.hosts, self.origins = app, cookie, hosts, origins
        self.people, self.addresses = Buckets(*PER_PERSON), Buckets(*PER_ADDRESS)
        policy = (
            "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
            f"object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' {form_action}"
        )
        self.headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
        }
        if is_secure:
            self.headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                message["headers"] = [*message.get("headers", []), *self._headers(scope, message)]
            await send(message)

        try:
            refusal = self._refusal(scope)
            body = b""
            if refusal is None and scope["method"] == "POST":
                refusal, body = await _read_body(receive)
            if refusal is not None:
                await _refuse(send_with_headers, *refusal)
                return
            await self.app(scope, _replay(body, receive), send_with_headers)
        except Exception as error:
            # The traceback could quote what a person sent.
            LOGGER.error("internal error: %s at %s", type(error).__name__, _place(error))
            if not has_started:
                await _refuse(send_with_headers, 500, "internal error")

    def _headers(self, scope: Mapping[str, Any], message: Message) -> list[tuple[bytes, bytes]]:
        present = {name.lower() for name, _ in message.get("headers", [])}
        wanted = dict(self.headers)
        if "/static/" not in scope["path"] or message["status"] >= 400:
            wanted["cache-control"] = "no-store"
        else:
            wanted["cache-control"] = "public, max-age=3600"
        return [(name.encode(), value.encode()) for name, value in wanted.items() if name.encode() not in present]

    def _refusal(self, scope: Mapping[str, Any]) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host", "") not in self.hosts:
            return 400, "this server does not answer to that name"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "method not allowed"
        if len(scope["query_string"]) > LONGEST_QUERY:
            return 414, "the address is too long"
        if scope["method"] == "POST":
            if not self._is_own(headers):
                return 403, "this request does not come from the survey's own page"
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return 415, "send JSON"
            length = headers.get("content-length", "0")
            if not length.isdigit() or int(length) > LARGEST_BODY:
                return 413, "the request is too large"
        address = str((scope.get("client") or ("unknown", 0))[0])
        # A proxy on this machine that does not say for whom it asks must not hold everybody up.
        if address not in LOOPBACK and not self.addresses.take(address):
            return 429, "too many requests"
        person = _cookie(headers.get("cookie", ""), self.cookie)
        if person and "/static/" not in scope["path"] and not self.people.take(str(hash(person))):
            return 429, "too many requests"
        return None

    def _is_own(self, headers: Mapping[str, str]) -> bool:
        """Whether a request was made by a page of this server; one that says neither where from nor how is refused."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site != "same-origin":
            return False
        return origin in self.origins if origin is not None else site == "same-origin"


async def _read_body(receive: Receive) -> tuple[tuple[int, str] | None, bytes]:
    """The whole body, which may come in chunks without saying how long it is; or why it is refused."""
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return (400, "the connection was closed"), b""
                body += message.get("body", b"")
                if len(body) > LARGEST_BODY:
                    return (413, "the request is too large"), b""
                if not message.get("more_body"):
                    return None, body
    except TimeoutError:
        return (408, "the request took too long"), b""


def _replay(body: bytes, receive: Receive) -> Receive:
    is_sent = False

    async def replay() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _refuse(send: Send, status: int, reason: str) -> None:
    content = f'{{"error": "{reason}"}}'.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    if status == 429:
        headers.append((b"retry-after", b"2"))
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "?"


Text = Annotated[str, StringConstraints(max_length=60)]


def _need(is_given: bool) -> bool:
    if not is_given:
        raise ValueError("not given")
    return is_given


#: true, and nothing that equals it, such as 1.
Yes = Annotated[bool, AfterValidator(_need)]


class Body(BaseModel):
    """A JSON object with exactly these keys."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ConsentBody(Body):
    """The tick and the button of the consent page."""

    agree: Yes


class EmptyBody(Body):
    """Nothing but the wish."""


class WithdrawBody(Body):
    """The button of the withdrawal page."""

    sure: Yes


class DemographicsBody(Body):
    """Answers about the person; null: preferred not to say."""

    age: Annotated[int, Field(ge=0, le=1000)] | None = None
    gender: Literal["woman", "man", "non-binary", "other"] | None = None
    country: Text | None = None
    language: Text | None = None


class AnswerBody(Body):
    """One answer."""

    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{16,64}$")]
    answer: Annotated[int, Field(ge=1, le=5)]
    rt_ms: Annotated[int, Field(ge=0, le=86_400_000)]
    n_blurs: Annotated[int, Field(ge=0, le=1_000_000)]
