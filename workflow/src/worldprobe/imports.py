"""Which of the package's modules a module needs, so that a stage is made again when any of its code has changed."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent
#: Code that is loaded by its name when it is needed, as a benchmark's plans name theirs.
REFERENCE = re.compile(r"worldprobe(\.\w+)+(:\w+)?")
#: what no result depends on.
IRRELEVANT = ("__init__.py", "cli/__init__.py", "cli/arguments.py", "errors.py", "files.py", "imports.py", "log.py")


def closure(names: Sequence[str]) -> list[Path]:
    """The modules of these names and all modules of the package that they import, directly or not.

    Args:
        names: paths inside the package: modules (``cli/judge.py``), or folders, which mean the files in them and no more.

    Returns:
        Files, sorted; those whose edits change no result (messages, logs) are left out.

    Raises:
        FileNotFoundError: there is nothing of that name.

    >>> [path.name for path in closure(["present/palette.py", "present/assets"])]
    ['leaderboard.css', 'leaderboard.html.jinja', 'leaderboard.js', 'page.css', 'page.html.jinja', 'page.js', 'palette.py']
    """
    found: set[Path] = set()
    waiting = []
    for path in (PACKAGE / name for name in names):
        if path.is_dir():
            found |= {file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc"}
        elif path.is_file():
            waiting.append(path)
        else:
            raise FileNotFoundError(path)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_imported(path))
    return sorted((path for path in found if _name(path) not in IRRELEVANT), key=_name)


def code_digest(*names: str) -> str:
    """A short digest of all code that modules need: a rule's parameter, so that a change of code runs the rule again.

    Comments, docstrings and layout do not count.

    Args:
        names: as for ``closure``.

    Raises:
        FileNotFoundError: there is nothing of that name.
    """
    digest = hashlib.sha256()
    for path in closure(names):
        digest.update(f"{_name(path)}\0{_facts(path).meaning}\0".encode())
    _keep_facts()
    return digest.hexdigest()[:12]


def method_of(module: str, constant: str = "METHOD") -> int:
    """The version of a computation that a command's module states, and writes into its files.

    Args:
        module: path inside the package, e.g. ``cli/controls.py``.
        constant: its name.

    Raises:
        LookupError: the module states none of that name.

    >>> method_of("cli/controls.py", "CORPUS_METHOD") >= 1
    True
    """
    for node in ast.parse((PACKAGE / module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == [constant]:
            return int(ast.literal_eval(node.value))
    raise LookupError(f"{module} has no {constant}")


@cache
def _name(path: Path) -> str:
    """A file's name inside the package: the same few hundred files are asked for by every rule."""
    return path.relative_to(PACKAGE).as_posix()


class Facts(NamedTuple):
    """What a file says: a digest of its code (of any other file: its bytes), and the modules that it names."""

    meaning: str
    names: tuple[str, ...]


@cache
def _facts(path: Path) -> Facts:
    content = path.read_bytes()
    key = hashlib.sha256(content).hexdigest()
    if path.suffix != ".py":
        return Facts(key, ())
    kept = _kept(_place())
    if key not in kept:
        kept[key] = _parse(content)
        _NEW.append(key)
    return kept[key]


def _parse(content: bytes) -> Facts:
    """A module's syntax tree, digested without docstrings, and what it imports, inside functions too, or names as a reference."""
    tree = ast.parse(content)
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and REFERENCE.fullmatch(node.value):
            names.append(node.value.partition(":")[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    inside = tuple(name for name in names if name.split(".")[0] == PACKAGE.name)
    return Facts(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), inside)


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    """The files of the modules that a module names."""
    return tuple(file for name in _facts(path).names for file in _files(PACKAGE, name))


@cache
def _files(package: Path, name: str) -> tuple[Path, ...]:
    """The files of one name (a module and a package of the same name are two): hundreds of modules share their names."""
    stem = os.path.join(package, *name.split(".")[1:])
    return tuple(Path(file) for file in (f"{stem}.py", os.path.join(stem, "__init__.py")) if os.path.isfile(file))


#: Contents that were parsed by this process and are not on disk.
_NEW: list[str] = []
#: More contents than the package's modules have in years: the file starts anew then.
MOST_KEPT = 10_000


def _place() -> Path:
    """Where facts are kept between processes, by content: next to this Python's compiled modules, as parsing takes seconds."""
    return Path(cache_from_source(str(PACKAGE / "imports.py"))).with_suffix(".facts.json")


@cache
def _kept(place: Path) -> dict[str, Facts]:
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return {key: Facts(meaning, tuple(names)) for key, (meaning, names) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # not there yet, or damaged
        return {}


def _keep_facts() -> None:
    """Write what this process had to parse; where it cannot be written, the next one parses again."""
    place = _place()
    kept = _kept(place)
    if _NEW:
        wanted = kept if len(kept) <= MOST_KEPT else {key: kept[key] for key in _NEW}
        with contextlib.suppress(OSError):
            place.parent.mkdir(exist_ok=True)
            temporary = place.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(wanted), encoding="utf-8")
            temporary.replace(place)
    _NEW.clear()
