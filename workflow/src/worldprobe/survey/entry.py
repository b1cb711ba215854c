"""How people come in: links with the recruiter's parameters, signed or not, and the signed cookie that remembers them."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jwt

from worldprobe.errors import UserError
from worldprobe.survey.people import Visitor
from worldprobe.survey.settings import Settings

#: A cookie lasts as long as a person may need to come back.
COOKIE_SECONDS = 14 * 24 * 3600
#: Longer ids and tokens are refused before anything is computed from them.
LONGEST_ID = 200
LONGEST_TOKEN = 4096


class BadLinkError(Exception):
    """The link lacks what names a person, or it was changed on its way."""


class Doorkeeper:
    """Reads entry links and cookies.

    Args:
        settings: of the study.
        key: signs cookies.
        clock: the time in seconds since 1970.

    Raises:
        UserError: the file of public keys cannot be used.
    """

    def __init__(self, settings: Settings, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self.settings, self.key, self.clock = settings, key, clock
        self._pattern = re.compile(settings.id_pattern)
        self._public_keys = _read_keys(Path(settings.signed["keys"])) if settings.entry == "signed" else {}

    def is_entry(self, query: Mapping[str, str]) -> bool:
        """Whether an address is an entry link, right or wrong."""
        return self.settings.entry != "open" and any(name in query for name in self.settings.parameters.values())

    def read_link(self, query: Mapping[str, str]) -> Visitor:
        """The person whom an entry link names.

        Raises:
            BadLinkError: a parameter is missing or malformed, or the signature does not hold.
        """
        names = self.settings.parameters
        if self.settings.entry == "signed":
            query = self._verify(query.get(names["token"], ""))
        values = [query.get(names[role]) for role in ("participant", "study", "submission")]
        for value in values:
            if not isinstance(value, str) or len(value) > LONGEST_ID or not self._pattern.fullmatch(value):
                raise BadLinkError
        return Visitor(*map(str, values))

    def new_visitor(self) -> Visitor:
        """Somebody who comes without a recruiter: known by their cookie alone."""
        return Visitor(f"open-{secrets.token_hex(12)}", "open", "open")

    def _verify(self, token: str) -> Mapping[str, Any]:
        if not token or len(token) > LONGEST_TOKEN:
            raise BadLinkError
        try:
            key = self._public_keys[jwt.get_unverified_header(token).get("kid", "")]
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=self.settings.signed["audience"],
                options={"require": ["exp", "aud"], "verify_exp": False},
            )
            if float(claims["exp"]) <= self.clock():
                raise BadLinkError
            parameters = claims[self.settings.signed["claim"]]
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            raise BadLinkError from error
        if not isinstance(parameters, dict):
            raise BadLinkError
        return parameters

    def write_cookie(self, kind: str, visitor: Visitor | None = None, participant: str = "") -> str:
        """A signed cookie.

        Args:
            kind: entry (before consent), declined, person (consented), withdrawn or refused.
            visitor: who, before consent; kept on their own device only.
            participant: the random key, after consent.
        """
        claims: dict[str, Any] = {"kind": kind, "exp": round(self.clock()) + COOKIE_SECONDS, "aud": self.settings.study}
        claims |= {"visitor": asdict(visitor)} if visitor else {}
        claims |= {"participant": participant} if participant else {}
        return jwt.encode(claims, self.key, "HS256")

    def read_cookie(self, value: str | None) -> tuple[str, Visitor | None, str]:
        """Kind, visitor and participant of a cookie; ("none", None, "") where it is missing, forged or out of date."""
        try:
            claims = jwt.decode(
                (value or "")[:LONGEST_TOKEN],
                self.key,
                algorithms=["HS256"],
                audience=self.settings.study,
                options={"verify_exp": False},
            )
            if claims["exp"] <= self.clock():
                return "none", None, ""
            visitor = Visitor(**claims["visitor"]) if "visitor" in claims else None
            return claims["kind"], visitor, claims.get("participant", "")
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return "none", None, ""


def _read_keys(path: Path) -> dict[str, Any]:
    """Key id -> RSA public key, from a JWKS file."""
    fix = "Save the recruiter's public keys (Prolific: /.well-known/study/jwks.json) in this file."
    try:
        keys = json.loads(path.read_text(encoding="utf-8"))["keys"]
        found = {str(one.get("kid", "")): jwt.PyJWK(one).key for one in keys if one.get("kty") == "RSA"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise UserError(path, "is not a readable set of public keys (JWKS).", fix) from error
    if not found:
        raise UserError(path, "contains no RSA key.", fix)
    return found
