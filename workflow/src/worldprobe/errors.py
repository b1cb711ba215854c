"""Errors that the user can fix, kept apart from our own mistakes."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Sequence
from typing import Any


class UserError(Exception):
    """Something the user can fix: printed as three lines without a traceback, exit status 2.

    Args:
        where: file and line, or file and key, or the option concerned.
        problem: what is wrong, with the nearest valid name where there is one.
        fix: what to do about it.
    """

    def __init__(self, where: object, problem: str, fix: str) -> None:
        if not problem.endswith((".", "?", "!")):  # a library's words end as they like
            problem = problem.rstrip(" ,;:") + "."
        self.where, self.problem, self.fix = map(without_secrets, (str(where), problem, fix))
        super().__init__(f"{self.where}: {self.problem} {self.fix}")

    def __reduce__(self) -> tuple[type[UserError], tuple[Any, ...]]:
        return UserError, (self.where, self.problem, self.fix)

    def lines(self) -> str:
        """The message as it is printed."""
        return printable(f"error: {self.where}\n  problem: {self.problem}\n  fix: {self.fix}")


class CombinedError(UserError):
    """Several at once, all of which are printed.

    Args:
        errors: one or more, in the order in which they are printed.
    """

    def __init__(self, errors: Sequence[UserError]) -> None:
        self.errors = list(errors)
        super().__init__(errors[0].where, errors[0].problem, errors[0].fix)

    def __reduce__(self) -> tuple[type[UserError], tuple[Any, ...]]:
        return CombinedError, (self.errors,)

    def lines(self) -> str:
        """The messages as they are printed."""
        return "\n".join(error.lines() for error in self.errors)


def errors_of(error: UserError) -> list[UserError]:
    """The errors that one consists of."""
    return error.errors if isinstance(error, CombinedError) else [error]


def raise_all(errors: Sequence[UserError]) -> None:
    """Raise some errors together, if there are any."""
    if errors:
        raise errors[0] if len(errors) == 1 else CombinedError(errors)


class MachineError(UserError):
    """Nothing is wrong with the file or model concerned: this machine lacks memory, disk, a device,
    a connection or a permission.

    The same may work elsewhere, or later.
    """

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str, str]]:
        return MachineError, (self.where, self.problem, self.fix)


class TooLittleError(UserError):
    """What was answered says nothing about what is computed from it: one model where two are
    compared, answers that are all alike.

    Nothing is wrong, so a study goes on: the table has no rows and says why.
    """

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str, str]]:
        return TooLittleError, (self.where, self.problem, self.fix)


#: What Arrow, PyTorch's CPU allocator and the libraries of a GPU say where memory lacks: few raise
#: an error of its own kind.
LACKS = (
    "can't allocate memory",
    # the system's own words: of a file that cannot be mapped, or a library
    "Cannot allocate memory",
    "not enough memory",
    "std::bad_alloc",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def lacks_memory(error: BaseException) -> bool:
    """Is this a lack of memory, in whatever form the system tells it?"""
    is_told = isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )
    return is_told or any(sign in str(error) for sign in LACKS)


def lack_of_memory(error: BaseException) -> UserError | None:
    """What to say of an error that a lack of memory caused: whole files look damaged then. None for
    any other error.
    """
    cause: BaseException | None = error
    while cause is not None and not lacks_memory(cause):
        cause = cause.__cause__ or cause.__context__
    if cause is None or (
        isinstance(error, UserError) and "memory" in error.problem
    ):  # told already
        return None
    where = error.where if isinstance(error, UserError) else "memory"
    return MachineError(
        where,
        f"needs more memory than this process gets ({type(cause).__name__}).",
        "Give it more (ulimit -v, mem_mb).",
    )


def is_text(text: str) -> bool:
    r"""Can it be written as UTF-8, and be part of a file's name?

    >>> is_text("Zoë"), is_text("a\udcff"), is_text("a\0")
    (True, False, False)
    """
    return not re.search("[\0\ud800-\udfff]", text)


#: Name and password in a web address, and the value of a key, token, password or secret.
_SECRETS = re.compile(r"(?<=://)[^/\s]*(?=@)|(?<=(?:key|ken|ord|ret)=)[^&#\s]+", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """A message without the passwords and keys of the web addresses in it.

    >>> without_secrets("https://me:secret@example.org/v1?api_key=secret&a=b")
    'https://***@example.org/v1?api_key=***&a=b'
    """
    return _SECRETS.sub("***", text)


def printable(text: str) -> str:
    r"""A message as a terminal may show it: control characters other than line breaks and tabs as
    their escapes.

    >>> printable('there is no concept "\x1b[31m".')
    'there is no concept "\\x1b[31m".'
    """
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f]",
        lambda match: match[0].encode("unicode_escape").decode(),
        text,
    )


def did_you_mean(name: str, names: Iterable[str], otherwise: str = ".") -> str:
    """The end of a sentence about a mistyped name, with its punctuation: a suggestion, or
    ``otherwise``.

    >>> "unknown key" + did_you_mean("dtyp", ["dtype", "revision"])
    'unknown key; did you mean "dtype"?'
    >>> "unknown key" + did_you_mean("zzz", ["dtype"])
    'unknown key.'
    >>> "unknown key" + did_you_mean("zzz", ["dtype"], "; the only one is dtype.")
    'unknown key; the only one is dtype.'
    """
    near = difflib.get_close_matches(str(name), [str(word) for word in names], n=1)
    return f'; did you mean "{near[0]}"?' if near else otherwise
