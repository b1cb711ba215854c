"""Downloads: files of ``resources/sources.yaml``, kept only if their digest is the one stated
there.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path

from pydantic import Field, RootModel

from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import check_address, whole_file
from worldprobe.settings import Block, parse, read_yaml
from worldprobe.settings.blocks import Text

BLOCK = 1 << 20


class Download(Block):
    """A file from elsewhere."""

    url: str = Field(pattern=r"^https://[^@?#\s]+$", json_schema_extra={"writeOnly": True})
    """Where the file comes from, without user, password, ? or #."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 digest of the file, 64 hexadecimal digits in lower case."""

    licence: Text
    """Licence and terms."""

    path: str = Field(pattern="^resources/downloads/")
    """Where the file is put, below resources/downloads/."""


class Sources(RootModel[dict[str, Download]]):
    """Everything that is downloaded, with its digest and licence; nothing else is."""


def read_source(listing: Path | str, name: str) -> dict[str, str]:
    """One entry of the listing.

    Raises:
        UserError: the listing breaks its schema, or has no such entry.
    """
    source = read_yaml(listing)
    sources = parse(Sources, source.document, [source]).model_dump()
    if name not in sources:
        raise UserError(
            listing,
            f"{name}: no such source{did_you_mean(name, sources)}",
            f"Choose one of {', '.join(sources)}.",
        )
    return sources[name]


def download(url: str, sha256: str, path: Path | str) -> None:
    """Download a file and keep it only if it is the one that was meant; where that one is already
    there, do nothing.

    Args:
        url: where it comes from.
        sha256: its digest, hexadecimal.
        path: where it goes, whole or not at all.

    Raises:
        UserError: no connection, or other bytes than expected.
    """
    if _has_digest(Path(path), sha256):
        return
    where = "url in the listing"
    check_address(
        url,
        where,
        "Give the bare address, without a name or password.",
        "https://example.org/file.zip",
    )
    digest = hashlib.sha256()
    try:
        with whole_file(path) as temporary:
            with urllib.request.urlopen(url, timeout=60) as reply, open(temporary, "wb") as stream:
                while block := reply.read(BLOCK):
                    digest.update(block)
                    stream.write(block)
            if digest.hexdigest() != sha256:
                raise UserError(
                    url,
                    f"gave another file than expected (SHA-256 {digest.hexdigest()}).",
                    f"It may have a new version: get the one with SHA-256 {sha256} and put it at"
                    f" {path}.",
                )
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        TimeoutError,
        ConnectionError,
        ValueError,
    ) as error:
        raise UserError(
            url,
            f"cannot be downloaded ({_reason(error)}).",
            f"Download it elsewhere and put it at {path}.",
        ) from error


def _has_digest(path: Path, sha256: str) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == sha256


def _reason(error: BaseException) -> str:
    """What went wrong, without the text of an error of ours or of a proxy, which may repeat a
    password.
    """
    if isinstance(error, urllib.error.HTTPError):
        return f"status {error.code}"
    reason = getattr(error, "reason", error)
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason).__name__
