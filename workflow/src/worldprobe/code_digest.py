"""A digest of a package's code, which cheap rules have among their parameters, so that they run
again when the code changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from worldprobe.files import digest_file, files_below
from worldprobe.paths import PACKAGE, RESOURCES

CORE = PACKAGE.name
#: Folders and modules that print and draw what others computed.
DISPLAYS = ("report", "figures", "tables", "displays")
#: Rules are Snakemake's to watch, and materials inputs of the rules that read them.
LEFT_OUT = ("__pycache__", "rules", "materials", "downloads")


@cache
def digest_code(package: str = CORE, displays: bool = False) -> str:
    """A short digest of all files of a package and of the core: modules, scripts, templates and,
    of the core, resources.

    Args:
        package: its name, or that of a module in it.
        displays: also of what only prints and draws, an edit of which computes nothing again.
    """
    top = package.partition(".")[0]
    folders = [PACKAGE, RESOURCES, *([] if top == CORE else [_home(top)])]
    digest = hashlib.sha256()
    for folder in folders:
        for path in _files(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            is_display = any(name.endswith(DISPLAYS) for name in parts)
            if displays or not is_display:
                digest.update(f"{path.relative_to(folder)}\0{_digest(path)}\n".encode())
    return digest.hexdigest()[:12]


def _home(package: str) -> Path:
    """The folder of a package, or the file of a module."""
    if (beside := PACKAGE.parent / package).is_dir():
        return beside
    spec = find_spec(package)
    assert spec, package
    assert spec.origin, package
    file = Path(spec.origin)
    return file.parent if file.name == "__init__.py" else file


@cache
def _files(place: Path) -> list[Path]:
    return sorted(_below(place)) if place.is_dir() else [place]


def _below(folder: Path) -> Iterator[Path]:
    for path in files_below(folder):
        if not set(path.relative_to(folder).parts) & {*LEFT_OUT}:
            yield path


_digest = cache(digest_file)


def forget() -> None:
    """Read the code again at the next call."""
    for function in (digest_code, _files, _digest):
        function.cache_clear()
