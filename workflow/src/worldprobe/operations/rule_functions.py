"""Functions that rules name where Snakemake asks for one of wildcards or of the attempt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any


def one_of(names: Iterable[str]) -> str:
    r"""A regular expression for some names; for none, one that nothing matches.

    >>> one_of(["gpt2", "a.b"]), one_of([])
    ('gpt2|a\\.b', '(?!)')
    """
    return "|".join(map(re.escape, names)) or "(?!)"


def by_wildcard(name: str, look_up: Callable[[str], Any]) -> Callable[[Any], Any]:
    """What a function says of the value of a wildcard.

    >>> from types import SimpleNamespace
    >>> by_wildcard("model", str.upper)(SimpleNamespace(model="gpt2"))
    'GPT2'
    """

    def of_job(wildcards: Any) -> Any:
        return look_up(getattr(wildcards, name))

    return of_job


def without_wildcards(value: Any) -> Callable[[Any], Any]:
    """The same for every job: a path in which braces are no wildcards."""

    def of_job(wildcards: Any) -> Any:
        return value

    return of_job


def per_attempt(amount: int) -> Callable[[Any, int], int]:
    """An amount that grows with each attempt.

    >>> per_attempt(8000)(None, attempt=2)
    16000
    """

    def of_attempt(wildcards: Any, attempt: int) -> int:
        return amount * attempt

    return of_attempt
