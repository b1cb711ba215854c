"""Checks of every request: who it is for, where it comes from, how large it is. The proxy limits
how many there are.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.middleware.base import RequestResponseEndpoint

from worldprobe.log import LOGGER

LARGEST_BODY = 16 * 1024
LONGEST_QUERY = 6 * 1024
#: Longest header block, in bytes: a browser's cookies of other studies on the same host fit.
LONGEST_HEAD = 16 * 1024


class Guard:
    """Middleware around the whole application; refuses early and adds the headers that every
    response carries.

    Args:
        hosts: values of the Host header that are served.
        origins: origins that may change anything.
        form_action: where pages may lead besides this server.
        is_secure: served by TLS.
    """

    def __init__(
        self, hosts: frozenset[str], origins: frozenset[str], form_action: str, is_secure: bool
    ) -> None:
        self.hosts, self.origins = hosts, origins
        policy = (
            "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; font-src"
            " 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors"
            f" 'none'; form-action 'self' {form_action}"
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
            response = (
                await answer(request)
                if refusal is None
                else JSONResponse({"error": refusal[1]}, refusal[0])
            )
        except Exception as error:
            # The traceback could quote what a person sent.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            LOGGER.error(
                "internal error: %s at %s:%s",
                type(error).__name__,
                Path(frame.filename).name,
                frame.lineno,
            )
            response = JSONResponse({"error": "internal error"}, 500)
        if response.status_code == 429:
            response.headers["retry-after"] = "2"
        is_kept = "/static/" in request.scope["path"] and response.status_code < 400
        kept = "public, max-age=31536000, immutable"  # a changed file has another address
        for name, value in {
            **self.headers,
            "cache-control": kept if is_kept else "no-store",
        }.items():
            response.headers.setdefault(name, value)
        return response

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        headers = request.headers
        if sum(len(name) + len(value) for name, value in headers.raw) > LONGEST_HEAD:
            return 431, "the request's header is too long"
        if headers.get("host", "") not in self.hosts:
            return 400, "this server does not answer to that name"
        if request.method not in ("GET", "HEAD", "POST"):
            return 405, "method not allowed"
        if len(request.scope["query_string"]) > LONGEST_QUERY:
            return 414, "the address is too long"
        if request.method == "POST":
            if not self._is_own(headers):
                return 403, "this request does not come from the survey's own page"
            if (
                headers.get("content-type", "").partition(";")[0].strip().lower()
                != "application/json"
            ):
                return 415, "send JSON"
            length = headers.get(
                "content-length", ""
            )  # the web server reads no more than is stated here
            if not length.isdigit() or int(length) > LARGEST_BODY:
                return 413, "the request is too large, or does not say how large it is"
        return None

    def _is_own(self, headers: Mapping[str, str]) -> bool:
        """Whether a request was made by a page of this server; one that says neither where from nor
        how is refused.
        """
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


class BeginBody(Body):
    """What a person takes the instructions to mean; missing where the study does not ask."""

    meaning: Literal["right", "wrong", "unsure"] | None = None


class CommentBody(Body):
    """What a person wants to say at the end."""

    words: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


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
