"""The bytes of materials: a folder, or a ZIP archive that may be protected by a password, read in memory."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from worldprobe.archives import Archive
from worldprobe.errors import UserError

PASSWORD_VARIABLE = "WORLDPROBE_MATERIALS_PASSWORD"
_PASSWORD_HINT = (
    f"Give --password, or set {PASSWORD_VARIABLE} or materials.password; for EWoK's own materials, their README states it."
)
#: Folders of the layout; nothing else in a folder of materials is read, or moves its digest.
_FOLDERS = ("concepts", "contexts", "fillers", "targets", "utils")


class Source:
    """The files below the folder that contains ``contexts/``, by relative name.

    Args:
        path: a folder in the official layout (or its parent), or such a folder in a ``.zip``.
        password: of the archive; never logged, never stored.

    Raises:
        UserError: no such place, no materials in it, or several.
    """

    def __init__(self, path: Path | str, password: str | None = None) -> None:
        self.path = Path(path)
        self._archive = Archive(path, password, _PASSWORD_HINT)
        self._contents: dict[str, bytes] = {}
        roots = {name[: -len(rest)] for name in self._archive.names for rest in [_below_root(name)] if rest}
        if len(roots) != 1:
            none = "contains no folder contexts/ with files context-<domain>-<subdomain>.yml"
            found = f"contains several materials: {', '.join(sorted(root or './' for root in roots))}" if roots else none
            raise UserError(self.path, f"{found}.", "Give the folder that contains contexts/, concepts/, targets/ and fillers/.")
        self._root = roots.pop()
        names = (name.removeprefix(self._root) for name in self._archive.names if name.startswith(self._root))
        self.names = sorted(name for name in names if name.partition("/")[0] in _FOLDERS)

    def read(self, name: str) -> bytes:
        """The bytes of one file; what was read once is kept.

        Raises:
            UserError: it cannot be read, or the password is missing or wrong.
        """
        if name not in self._contents:
            self._contents[name] = self._archive.read(self._root + name)
        return self._contents[name]

    def digest(self) -> str:
        """SHA-256 of the archive, or of the folder's files that belong to the layout."""
        return self._archive.digest(self._root + name for name in self.names)


def _below_root(name: str) -> str:
    """``contexts/context-x-y.yml`` for any name that ends so, else nothing."""
    parts = PurePosixPath(name).parts
    if len(parts) >= 2 and parts[-2] == "contexts" and parts[-1].startswith("context-") and parts[-1].endswith(".yml"):
        return "/".join(parts[-2:])
    return ""
