"""Standard output that may be closed early, full, or unable to show every character."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from worldprobe.errors import UserError


class _Patient:
    """Passes text on; when the reader has gone (``| head -1``) the rest is dropped and the command finishes its work."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._is_closed = False

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, action: Any) -> None:
        if self._is_closed:
            return
        try:
            action()
        except BrokenPipeError:
            self._close()
        except OSError as error:
            self._close()
            raise UserError("standard output", f"cannot be written ({error.strerror}).", "Redirect it elsewhere.") from error

    def _close(self) -> None:
        """Nothing more goes to the stream, not even what Python still holds of it at exit."""
        self._is_closed = True
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if sys.__stdout__ is not None and self._stream is sys.__stdout__:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_closed_streams() -> None:
    """Let streams that the shell closed (``2>&-``) lead nowhere: otherwise the next file that is opened takes their place."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            if (handle := os.open(os.devnull, os.O_RDWR)) != number:  # taken by something else since
                os.close(handle)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives


@contextlib.contextmanager
def patient_output() -> Iterator[None]:
    """Print through a patient standard output; characters it cannot encode are shown as escapes.

    Raises:
        UserError: standard output cannot be written, e.g. on a full disk.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    patient = _Patient(sys.stdout)
    with contextlib.redirect_stdout(patient):
        yield
        patient.flush()
