"""Files of a folder or of a ZIP archive, read in memory: plain, with classic ZIP encryption, or
with AES. Nothing is unpacked.
"""

from __future__ import annotations

import copy
import hashlib
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from worldprobe.errors import UserError
from worldprobe.files import digest_file, files_below

#: Larger members are not text that anybody wrote, and are not read into memory.
LARGEST = 256 * 1024 * 1024
_PIECE = 1024 * 1024
#: The variable with the password of what is exported encrypted.
EXPORT_VARIABLE = "WORLDPROBE_EXPORT_PASSWORD"
#: What a ZIP archive states as the compression of a member that is encrypted with AES.
AES = 99
#: Bytes that a file's name may have.
_LONGEST = 255
#: What no name of a file in an archive needs: drives, folders of Windows, ends of texts in C.
_MARKS = frozenset("\\:\0")


class Archive:
    """A folder's or a ZIP archive's files, by name relative to it.

    Args:
        path: a folder or a ``.zip`` file.
        password: of the archive; never logged, never stored.
        password_hint: how the password can be given, for messages.

    Raises:
        UserError: no such place, or not a ZIP archive.
    """

    def __init__(
        self,
        path: Path | str,
        password: str | None = None,
        password_hint: str = "Set the variable of its password.",
    ) -> None:
        self.path = Path(path)
        self._password = password.encode("utf-8", "surrogateescape") if password else None
        self._password_hint = password_hint
        self._zip: Any = None
        if self.path.is_dir():
            self.names = sorted(
                path.relative_to(self.path).as_posix() for path in files_below(self.path)
            )
            return
        if not self.path.exists():
            raise UserError(self.path, "there is no such folder or file.", "Check the path.")
        self._zip = _open(self.path)
        #: Name -> member; old packers for Windows separate folders by backslashes.
        members = {member.filename.replace("\\", "/"): member for member in self._zip.infolist()}
        self._members = {name: member for name, member in members.items() if not name.endswith("/")}
        self.names = sorted(self._members)

    @property
    def is_folder(self) -> bool:
        """Whether the files are in a folder."""
        return self._zip is None

    def read(self, name: str) -> bytes:
        """The bytes of one file.

        Raises:
            UserError: it cannot be read, is damaged or too large, or the password is missing or
                wrong.
        """
        if self._zip is not None:
            self._refuse_large(name, self._members[name].file_size)
            return b"".join(self._pieces(name))
        path = self.path / name
        try:
            self._refuse_large(name, path.stat().st_size)
            return path.read_bytes()
        except OSError as error:
            raise UserError(
                path, f"cannot be read ({error.strerror}).", "Check the file and your rights."
            ) from error

    def copy_member(self, name: str, path: Path) -> None:
        """Write one member of a ZIP archive to a file, piece by piece: whatever its size, little
        memory is needed.

        Raises:
            UserError: it is damaged, or the password is missing or wrong; the file is then
                incomplete.
        """
        with path.open("wb") as file:
            for piece in self._pieces(name):
                file.write(piece)

    def size_of(self, name: str) -> int:
        """Bytes of one file of a ZIP archive, once it is unpacked."""
        return int(self._members[name].file_size)

    def is_encrypted(self, name: str) -> bool:
        """Whether one file needs a password."""
        return self._zip is not None and bool(self._members[name].flag_bits & 1)

    def digest_of(self, name: str) -> str:
        """SHA-256 of one file."""
        return hashlib.sha256(self.read(name)).hexdigest()

    def digest(self, names: Iterable[str]) -> str:
        """SHA-256 of the archive's bytes; of a folder, of these files by name."""
        if self._zip is not None:
            return digest_file(self.path)
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(f"{name}\0{hashlib.sha256(self.read(name)).hexdigest()}\n".encode())
        return digest.hexdigest()

    def _pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a ZIP archive's member; until the last of them has come, none of them is to
        be trusted.
        """
        member = self._members[name]
        if member.flag_bits & 1 and self._password is None:
            raise UserError(self.path, "is protected by a password.", self._password_hint)
        try:
            # Read to the end of the member: only there AES is verified. One byte more shows an
            # index that states too little.
            whole = copy.copy(member)
            whole.file_size = member.file_size + 1
            n_bytes = 0
            with self._zip.open(whole, pwd=self._password) as stream:
                while piece := stream.read(_PIECE):
                    n_bytes += len(piece)
                    yield piece
            if n_bytes != member.file_size:
                raise ValueError
        except NotImplementedError as error:
            problem = f"member {name} is compressed or encrypted in an unknown way ({error})."
            raise UserError(
                self.path,
                problem,
                "Pack it as a plain ZIP, or with ZipCrypto or AES; or give a folder.",
            ) from error
        except Exception as error:
            # the reader raises almost anything on damaged bytes: KeyError, struct.error, EOFError
            # With classic encryption, one wrong password in 256 passes its check and then yields
            # damaged bytes.
            if member.flag_bits & 1:
                problem = f"the password is wrong, or member {name} is damaged."
                raise UserError(
                    self.path, problem, f"Check the password. {self._password_hint}"
                ) from error
            raise UserError(
                self.path, f"member {name} is damaged.", "Get the archive again."
            ) from error

    def _refuse_large(self, name: str, size: int) -> None:
        if size > LARGEST:
            problem = f"{name} has {size:,} bytes; at most {LARGEST:,} are read."
            raise UserError(self.path, problem, "Remove or shorten that file.")


def check_names(path: Path | str, names: Collection[str]) -> None:
    """Refuse names of an archive's files that cannot all become files of one folder.

    Args:
        path: the archive, for messages.
        names: where its files are to be written, relative to the folder.

    Raises:
        UserError: one leads out of the folder, takes the place of another, or is too long.
    """
    targets = Counter(PurePosixPath(name).as_posix() for name in names)
    folders = {".", *(str(parent) for name in names for parent in PurePosixPath(name).parents)}
    for name in names:
        parts, target = PurePosixPath(name).parts, PurePosixPath(name).as_posix()
        if name.startswith("/") or ".." in parts or not _MARKS.isdisjoint(name):
            raise UserError(
                path,
                f"{name!r} would be written outside the folder.",
                "Do not trust this archive.",
            )
        if target in folders or targets[target] > 1:
            problem = f'member "{name}" would take the place of another, or of its folder.'
        elif any(len(part.encode("utf-8", "replace")) > _LONGEST for part in parts):
            problem = (
                f'the name of member "{name[:20]}..." has more than {_LONGEST} bytes, which no disk'
                " takes."
            )
        else:
            continue
        raise UserError(path, problem, "Ask for the archive again, with other names.")


def is_encrypted(path: Path | str) -> bool:
    """Whether a file is a ZIP archive of which any member needs a password; False for anything
    else.
    """
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return any(member.flag_bits & 1 for member in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def encrypt(members: Mapping[str, bytes], password: str, beside: bytes = b"") -> bytes:
    """A ZIP archive with AES-256, built in memory; its bytes differ each time, as encryption must.

    Args:
        members: name -> content.
        password: not empty.
        beside: an archive whose members stay as they are.
    """
    import pyzipper

    packed = io.BytesIO(beside)
    with pyzipper.AESZipFile(
        packed, "a", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES
    ) as archive:
        archive.setpassword(password.encode("utf-8", "surrogateescape"))
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _open(path: Path) -> Any:
    """An archive whose members can be read; the standard library's reader, unless a member is
    encrypted with AES.
    """
    import zipfile

    try:
        archive = zipfile.ZipFile(path)
        if any(member.compress_type == AES for member in archive.infolist()):
            import pyzipper  # a tenth of a second, and slower at classic encryption

            archive.close()
            return pyzipper.AESZipFile(path)
        return archive
    except OSError as error:
        raise UserError(
            path, f"cannot be read ({error.strerror}).", "Check the file and your rights."
        ) from error
    except Exception as error:  # see _pieces
        raise UserError(
            path, "is not a readable ZIP archive.", "Give a folder, or a complete .zip file."
        ) from error
