"""The bytes of materials: a folder, or a ZIP archive that may be protected by a password, read in memory."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from worldprobe.errors import UserError
from worldprobe.files import digest_file

PASSWORD_VARIABLE = "WORLDPROBE_MATERIALS_PASSWORD"


class Source:
    """The files below the folder that holds ``contexts/``, by relative name.

    Args:
        path: a folder in the official layout (or its parent), or such a folder in a ``.zip``.
        password: of the archive; never logged, never stored.

    Raises:
        UserError: no such place, no materials in it, a member that would land outside, a wrong password.
    """

    def __init__(self, path: Path | str, password: str | None = None) -> None:
        self.path = Path(path)
        self._password = password.encode() if password else None
        self._archive: zipfile.ZipFile | None = None
        self._contents: dict[str, bytes] = {}
        if self.path.is_dir():
            names = [p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file()]
        elif self.path.is_file():
            self._archive = self._open()
            names = [n for n in self._archive.namelist() if not n.endswith("/")]
            self._refuse_outsiders(names)
        else:
            raise UserError(self.path, "there are no materials here.", "Give a folder, or a .zip file, in EWoK's layout.")
        roots = {n[: -len(rest)] for n in names for rest in [_below_root(n)] if rest}
        if len(roots) != 1:
            found = (
                "holds no folder contexts/ with files context-<domain>-<subdomain>.yml"
                if not roots
                else "holds several materials"
            )
            raise UserError(self.path, f"{found}.", "Give the folder that holds contexts/, concepts/, targets/ and fillers/.")
        self._root = roots.pop()
        self.names = sorted(n.removeprefix(self._root) for n in names if n.startswith(self._root))

    def read(self, name: str) -> bytes:
        """The bytes of one file; what was read once is kept.

        Raises:
            UserError: it cannot be read, or the password is missing or wrong.
        """
        if name not in self._contents:
            self._contents[name] = self._read(name)
        return self._contents[name]

    def _read(self, name: str) -> bytes:
        if self._archive is None:
            try:
                return (self.path / self._root / name).read_bytes()
            except OSError as error:
                raise UserError(name, f"cannot be read ({error.strerror}).", "Check the file and your rights.") from error
        try:
            return self._archive.read(self._root + name, self._password)
        except (RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            if isinstance(error, NotImplementedError):
                raise UserError(
                    self.path,
                    f"is packed in a way that Python cannot read ({error}).",
                    "Pack it with classic ZIP encryption, or give a folder.",
                ) from error
            if self._password is None and isinstance(error, RuntimeError):
                raise UserError(
                    self.path,
                    "is protected by a password.",
                    f"Give --password, or set {PASSWORD_VARIABLE}, or materials.password.",
                ) from error
            if self._archive.getinfo(self._root + name).flag_bits & 1:
                raise UserError(
                    self.path, "the password is wrong.", "The owners' terms of use (for EWoK, its README) state it."
                ) from error
            raise UserError(self.path, f"member {name} is damaged ({error}).", "Fetch the archive again.") from error

    def digest(self) -> str:
        """SHA-256 of the archive, or of the folder's files."""
        return digest_file(self.path)

    def _open(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, OSError) as error:
            raise UserError(
                self.path, f"is no readable ZIP archive ({error}).", "Give a folder, or a whole .zip file."
            ) from error

    def _refuse_outsiders(self, names: list[str]) -> None:
        for name in names:
            plain = posixpath.normpath(name.replace("\\", "/"))
            if plain.startswith(("/", "../")) or plain == ".." or (len(plain) > 1 and plain[1] == ":"):
                raise UserError(
                    self.path,
                    f'has a member "{name}" that would land outside its folder.',
                    "Do not trust this archive; fetch it again.",
                )


def _below_root(name: str) -> str:
    """``contexts/context-x-y.yml`` for any name that ends so, else nothing."""
    parts = PurePosixPath(name).parts
    if len(parts) >= 2 and parts[-2] == "contexts" and parts[-1].startswith("context-") and parts[-1].endswith(".yml"):
        return "/".join(parts[-2:])
    return ""
