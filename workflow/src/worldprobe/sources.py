"""Downloads: files of ``resources/sources.yaml``, kept only if their digest is the one stated
there, or the one of their first use.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import http.client
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, RootModel

from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import check_address, whole_file, write_text
from worldprobe.log import LOGGER
from worldprobe.paths import LISTING, shipped_file
from worldprobe.settings import Block, Finding, parse, read_yaml
from worldprobe.settings.blocks import Count, Digest, Distinct, Text

BLOCK = 1 << 20


class Download(Block):
    """A file from elsewhere, or several of one address but for a part of it."""

    url: str = Field(
        pattern=r"^(https://|http://127\.0\.0\.1:\d+/)[^@?#\s]+$",
        json_schema_extra={"writeOnly": True},
    )
    """Where the file comes from, without user, password, ? or #; {part} stands for each of
    `parts`.
    """

    sha256: Digest | dict[Text, Digest] | None = None
    """SHA-256 digest of the file, 64 hexadecimal digits in lower case, or part: digest. Of a file
    that has none here, the digest is recorded beside it at its first use, in the form of sha256sum.
    """

    md5: str | None = Field(None, pattern="^[0-9a-f]{32}$")
    """MD5 digest, where that is all that its publisher states."""

    size: Count | None = None
    """Size of all files together in bytes, where it is known."""

    licence: Text
    """Licence and terms."""

    path: str = Field(pattern="^resources/downloads/")
    """Where the file is put, below resources/downloads/, with {part} as in `url`."""

    parts: Distinct[Text] = []
    """What {part} stands for, a file each."""

    def findings(self) -> Iterator[Finding]:
        """Parts without a place for them, and the other way round."""
        for key in ("url", "path"):
            if ("{part}" in getattr(self, key)) != bool(self.parts):
                yield (key,), "{part} and parts go together.", "Give both or neither."


class Sources(RootModel[dict[str, Download]]):
    """Everything that is downloaded, with its digest and licence; nothing else is."""


class SourceFile(NamedTuple):
    """One file of the listing.

    Attributes:
        source: name of its entry.
        name: of the file: the entry's, and of several files ``entry/part``.
        url: where it comes from.
        path: where it is put.
        sha256: its digest, None where it is recorded at first use.
        md5: of it, if it is stated.
        size: in bytes; of several files their mean; None where it is not known.
        licence: licence and terms.
    """

    source: str
    name: str
    url: str
    path: str
    sha256: str | None
    md5: str | None
    size: float | None
    licence: str


@cache
def source_files(listing: Path | str) -> dict[str, SourceFile]:
    """Every file of the listing, by its path.

    Raises:
        UserError: the listing breaks its schema.
    """
    source = read_yaml(listing)
    files = [
        SourceFile(
            name,
            f"{name}/{part}" if part else name,
            entry.url.replace("{part}", part),
            entry.path.replace("{part}", part),
            entry.sha256.get(part) if isinstance(entry.sha256, dict) else entry.sha256,
            entry.md5,
            entry.size and entry.size / max(len(entry.parts), 1),
            entry.licence,
        )
        for name, entry in parse(Sources, source.document, [source]).root.items()
        for part in entry.parts or [""]
    ]
    return {file.path: file for file in files}


def shipped_files() -> dict[str, SourceFile]:
    """The files of ``LISTING``, by their paths: of the working directory's, or else of the one
    that the package brings.
    """
    return source_files(shipped_file(LISTING).absolute())


def by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Reason -> the names of what it is the reason for: files of the listing by their names there,
    and all files of one entry by the entry's.
    """
    listed = shipped_files()
    sizes = Counter(file.source for file in listed.values())
    alike: dict[str, list[str]] = defaultdict(list)
    for name, why in reasons.items():
        alike[why].append(name)
    named = {}
    for why, names in alike.items():
        counts = Counter(listed[name].source for name in names if name in listed)
        whole = {source for source, count in counts.items() if count == sizes[source]}
        shown = [
            name
            if (file := listed.get(name)) is None
            else (file.source if file.source in whole else file.name)
            for name in names
        ]
        named[why] = list(dict.fromkeys(shown))
    return named


def read_source(listing: Path | str, name: str) -> SourceFile:
    """One file of the listing.

    Args:
        listing: YAML.
        name: of the entry; of one with parts ``entry/part``.

    Raises:
        UserError: the listing breaks its schema, or has no such file.
    """
    files = {file.name: file for file in source_files(listing).values()}
    if name not in files:
        raise UserError(
            listing,
            f"{name}: no such source{did_you_mean(name, files)}",
            f"Choose one of {', '.join(files)}.",
        )
    return files[name]


def download(url: str, sha256: str | None, path: Path | str, md5: str | None = None) -> None:
    """Download a file and keep it only if it is the one that was meant; where that one is already
    there, do nothing.

    Of a file whose digest nobody knows, the first one counts, if it is whole and no web page: its
    digest is recorded in a file beside it, as ``sha256sum --check`` reads it, and holds from then
    on.

    Args:
        url: where it comes from.
        sha256: its digest, hexadecimal; None where nobody knows it.
        path: where it goes, whole or not at all.
        md5: its MD5 digest, if that is known.

    Raises:
        UserError: no connection, or other bytes than expected; the place is then as it was.
    """
    path = Path(path)
    record = path.with_name(f"{path.name}.sha256")
    expected = sha256 or _recorded(record)
    if path.is_file():
        present = _digests(path, md5)
        is_first = expected is None and (present[1] == md5 if md5 else _is_whole(path))
        if present[0] == expected or is_first:
            _record(record, path, present[0], is_known=bool(sha256))
            return
    where = "url in the listing"
    check_address(
        url,
        where,
        "Give the bare address, without a name or password.",
        "https://example.org/file.zip",
    )
    try:
        with whole_file(path) as temporary:
            _receive(url, temporary)
            arrived = _digests(temporary, md5)
            if arrived[0] != (expected or arrived[0]) or arrived[1] != md5:
                raise UserError(
                    url,
                    f"gave another file than expected (SHA-256 {arrived[0]}).",
                    "It may have a new version: get the one with "
                    + (f"SHA-256 {expected}" if expected else f"MD5 {md5}")
                    + f" and put it at {path}.",
                )
            if not (expected or md5 or _is_whole(temporary)):
                problem = f"gave something that is not a whole {path.suffix} file."
                raise UserError(url, problem, f"Download it elsewhere and put it at {path}.")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UserError(
            url,
            f"cannot be downloaded ({_reason(error)}).",
            f"Download it elsewhere and put it at {path}.",
        ) from error
    _record(record, path, arrived[0], is_known=bool(sha256))


def _receive(url: str, path: Path) -> None:
    """Write what an address gives, all of it, to a file."""
    with urllib.request.urlopen(url, timeout=60) as reply, open(path, "wb") as stream:
        if url.startswith("https:") and not reply.url.startswith("https:"):
            raise ConnectionError(errno.EPROTO, "the server leads to an address without encryption")
        if reply.headers.get_content_type() == "text/html":
            raise ConnectionError(errno.EPROTO, "the server gives a web page in its place")
        shutil.copyfileobj(reply, stream, BLOCK)
        if reply.length:  # read piece by piece, an end that comes too early is no error
            raise ConnectionError(
                errno.EPROTO, f"the connection ended {reply.length:,} bytes too early"
            )


def _is_whole(path: Path) -> bool:
    """Whether a file whose name says that it is packed can be unpacked to its end."""
    if path.suffix == ".zip":
        return zipfile.is_zipfile(path)  # their directory is at their end
    if path.suffix not in (".gz", ".bz2"):
        return True
    try:
        with gzip.open(path) if path.suffix == ".gz" else bz2.open(path) as stream:
            while stream.read(BLOCK):
                pass
    except (OSError, EOFError, zlib.error):
        return False
    return True


def _digests(path: Path, md5: str | None) -> tuple[str, str | None]:
    """SHA-256 and, where one is expected, MD5 of a file."""
    with open(path, "rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if md5 is None:
        return sha256, None
    with open(path, "rb") as stream:
        return sha256, hashlib.file_digest(
            stream, lambda: hashlib.md5(usedforsecurity=False)
        ).hexdigest()


def _recorded(record: Path) -> str | None:
    """The digest that was recorded at first use."""
    return record.read_text(encoding="utf-8").split()[0] if record.is_file() else None


def _record(record: Path, path: Path, sha256: str, *, is_known: bool) -> None:
    """Record a digest that the listing does not state."""
    if not is_known and not record.is_file():
        write_text(record, f"{sha256}  {path.name}\n")
        LOGGER.info("first use of %s: its SHA-256 is recorded in %s", path.name, record)


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
