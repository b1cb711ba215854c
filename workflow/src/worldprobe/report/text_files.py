"""Text files that the report takes in: one message for whatever keeps them from being read."""

from __future__ import annotations

from pathlib import Path

from worldprobe.errors import UserError


def read_text(path: Path | str, fix: str) -> str:
    """A file's text.

    Args:
        path: the file.
        fix: what to do where it cannot be read.

    Raises:
        UserError: no such file, a folder, no permission, or text that is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", fix) from error
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", fix) from error
    except UnicodeDecodeError as error:
        raise UserError(path, "is not UTF-8 text.", fix) from error
