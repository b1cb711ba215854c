"""What every request passes first: who it is for, where it comes from, how large it is, and how many there were."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.middleware.base import RequestResponseEndpoint

from worldprobe.log import LOGGER

LARGEST_BODY = 16 * 1024
LONGEST_QUERY = 6 * 1024
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
    """Middleware around the whole application; refuses early and adds the headers that every response carries.

    Args:
        cookie: name of the study's cookie.
        hosts: values of the Host header that are served.
        origins: origins that may change anything.
        form_action: where pages may lead besides this server.
        is_secure: served by TLS.
    """

    def __init__(self, cookie: str, hosts: frozenset[str], origins: frozenset[str], form_action: str, is_secure: bool) -> None:
        self.cookie, self.hosts, self.origins = cookie, hosts, origins
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

    async def __call__(self, request: Request, answer: RequestResponseEndpoint) -> Response:
        """One request."""
        try:
            refusal = self._refusal(request)
            response = await answer(request) if refusal is None else JSONResponse({"error": refusal[1]}, refusal[0])
        except Exception as error:
            # The traceback could quote what a person sent.
            place = traceback.extract_tb(error.__traceback__)[-1]
            LOGGER.error("internal error: %s at %s:%s", type(error).__name__, Path(place.filename).name, place.lineno)
            response = JSONResponse({"error": "internal error"}, 500)
        if response.status_code == 429:
            response.headers["retry-after"] = "2"
        is_kept = "/static/" in request.scope["path"] and response.status_code < 400
        for name, value in {**self.headers, "cache-control": "public, max-age=3600" if is_kept else "no-store"}.items():
            response.headers.setdefault(name, value)
        return response

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        headers, is_static = request.headers, "/static/" in request.scope["path"]
        if headers.get("host", "") not in self.hosts:
            return 400, "this server does not answer to that name"
        if request.method not in ("GET", "HEAD", "POST"):
            return 405, "method not allowed"
        if len(request.scope["query_string"]) > LONGEST_QUERY:
            return 414, "the address is too long"
        if request.method == "POST":
            if not self._is_own(headers):
                return 403, "this request does not come from the survey's own page"
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return 415, "send JSON"
            length = headers.get("content-length", "")  # the web server reads no more than is stated here
            if not length.isdigit() or int(length) > LARGEST_BODY:
                return 413, "the request is too large, or does not say how large it is"
        address = request.client.host if request.client else "unknown"
        # A proxy on this machine that does not say for whom it asks must not hold everybody up.
        if address not in LOOPBACK and not self.addresses.take(address):
            return 429, "too many requests"
        person = request.cookies.get(self.cookie)
        if person and not is_static and not self.people.take(str(hash(person))):
            return 429, "too many requests"
        return None

    def _is_own(self, headers: Mapping[str, str]) -> bool:
        """Whether a request was made by a page of this server; one that says neither where from nor how is refused."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site != "same-origin":
            return False
        return origin in self.origins if origin is not None else site == "same-origin"


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
