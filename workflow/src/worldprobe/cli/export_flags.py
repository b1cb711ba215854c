"""``--encrypt`` of exports, and the password that it takes."""

from __future__ import annotations

import argparse
import os

from worldprobe.archives import EXPORT_VARIABLE
from worldprobe.errors import UserError


def add_encrypt_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--encrypt``; ``what`` says in which format, and what is encrypted."""
    parser.add_argument(
        "--encrypt",
        action="store_true",
        help=f"{what} with the password in {EXPORT_VARIABLE}, which whoever uses them then needs as well",
    )


def export_password(args: argparse.Namespace) -> str | None:
    """The password of what is exported; None without ``--encrypt``.

    Raises:
        UserError: there is none in the environment.
    """
    word = os.environ.get(EXPORT_VARIABLE)
    if args.encrypt and not word:
        raise UserError("--encrypt", "needs a password.", f"Set the environment variable {EXPORT_VARIABLE}.")
    return word if args.encrypt else None
