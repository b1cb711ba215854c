"""A digest of a package's code, which cheap rules have among their parameters, so that they run
again when the code changes.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from worldprobe.extensions import modules_of_additions
from worldprobe.files import digest_file, files_below
from worldprobe.paths import PACKAGE, RESOURCES

CORE = PACKAGE.name
#: Folders and modules that print and draw what others computed.
DISPLAYS = ("report", "figures", "tables", "displays")
#: Rules are Snakemake's to watch; of the resources, materials and downloads are inputs of the rules
#: that read them.
LEFT_OUT = ("__pycache__", "rules")
INPUTS = ("materials", "downloads")


@cache
def digest_code(package: str = CORE, displays: bool = False) -> str:
    """A short digest of all files of a package and of the core: modules, scripts, templates and,
    of the core, resources and the modules by which extensions add to it.

    Args:
        package: its name, or that of a module in it; or a module that is no package's.
        displays: also of what only prints and draws, an edit of which computes nothing again.
    """
    top = package.partition(".")[0]
    digest = hashlib.sha256()
    added = [home for module in modules_of_additions() for home in _homes(module)]
    for source in [PACKAGE, RESOURCES, *added, *([] if top == CORE else _homes(top))]:
        for name, path in _files(source).items():
            is_display = any(Path(part).stem.endswith(DISPLAYS) for part in name.parts)
            if displays or not is_display:
                digest.update(f"{name}\0{_digest(path)}\n".encode())
    return digest.hexdigest()[:12]


def _homes(package: str) -> list[Path]:
    """The folder of a package, the folders of one without ``__init__.py``, or the file of a
    module.
    """
    if (beside := PACKAGE.parent / package).is_dir():
        return [beside]
    spec = find_spec(package)
    assert spec, package
    if spec.submodule_search_locations is not None:
        return [Path(folder) for folder in spec.submodule_search_locations]
    assert spec.origin, package
    return [Path(spec.origin)]


@cache
def _files(source: Path) -> dict[Path, Path]:
    """The files of a folder by their paths below it; of a module, itself."""
    if not source.is_dir():
        return {Path(): source}
    left_out = {*LEFT_OUT, *(INPUTS if source == RESOURCES else ())}
    paths = {path.relative_to(source): path for path in files_below(source)}
    return {name: path for name, path in paths.items() if not left_out & {*name.parts}}


_digest = cache(digest_file)


def forget() -> None:
    """Read the code again at the next call."""
    for function in (digest_code, _files, _digest):
        function.cache_clear()
