"""What code a command is, so that a cheap rule runs again when that changes and not otherwise."""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from worldprobe import extensions
from worldprobe.cli import STAGES
from worldprobe.files import digest_file, files_below
from worldprobe.paths import PACKAGE, RESOURCES

#: Where the packages are.
SOURCE = PACKAGE.parent
#: Folders beside modules that no module reads: rules are Snakemake's to watch.
NO_DATA = ("__pycache__", "rules")
#: A file of resources that a module reads itself, e.g. RESOURCES / "published".
_READ = re.compile(r"""RESOURCES((?: / ["'][^"']+["'])+)""")
_IMPORT = re.compile(
    r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE
)


@cache
def digest_code(command: str, *modules: str) -> str:
    """A short digest of the code of a cheap stage: its function, all that this imports of its
    package, the core and the extensions, the data files beside these modules (an R script,
    templates, styles), and the resources that they read.

    Args:
        command: of the command line, e.g. "reproduction check".
        modules: what the command looks up by name, e.g. where a figure is declared.
    """
    stage, action = command.split()[0], command.split()[-1]
    texts = [_function(place, action) for place in _places(stage)]
    found = {module for text in texts for module in _imported(text)} | {*modules}
    known: set[str] = set()
    files = {path for text in texts for path in _resources(text)}
    while found:
        known.add(module := found.pop())
        files |= _source(module)[1]
        found |= _imports(module) - known
    digest = hashlib.sha256("".join(texts).encode())
    for path in sorted(files):
        digest.update(f"{path.name}\0{_digest(path)}\n".encode())
    return digest.hexdigest()[:12]


def _places(stage: str) -> list[str]:
    """The modules that have the functions of a stage: the core's or an extension's, and those of
    extensions that add actions to it.
    """
    added = [one.actions[stage] for one in extensions.extensions() if stage in one.actions]
    return [place.partition(":")[0] for place in (STAGES[stage][0], *added)]


@cache
def _function(module: str, action: str) -> str:
    """The text of a command's function and of what it uses of its module; nothing where the module
    has no such command.
    """
    nodes: dict[str, list[ast.stmt]] = {}
    for node in ast.parse(_source(module)[0]).body:
        for one in _names(node):
            nodes.setdefault(one, []).append(node)
    name = action.replace("-", "_")
    named = [
        one
        for one, named_so in nodes.items()
        for node in named_so
        if any(f"name={action!r}" in ast.unparse(by) for by in getattr(node, "decorator_list", ()))
    ]
    wanted = [*named, *(one for one in (name, f"{name}_") if one in nodes)][:1]
    seen = set(wanted)
    used = []
    while wanted:
        used += (found := nodes[wanted.pop()])
        names = {node.id for one in found for node in ast.walk(one) if isinstance(node, ast.Name)}
        wanted += sorted((names & nodes.keys()) - seen)
        seen |= names
    return "\n".join(sorted({ast.unparse(node) for node in used}))


def _names(node: ast.stmt) -> list[str]:
    """What a statement of a module names: functions, classes, constants, imports; a call names what
    it is a method of. What it uses besides has a statement of its own.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [one.asname or one.name for one in node.names]
    if isinstance(node, ast.If):  # TYPE_CHECKING
        return [name for one in node.body for name in _names(one)]
    if isinstance(node, ast.Expr):
        about: ast.expr = node.value
        while isinstance(about, ast.Call | ast.Attribute):
            about = about.func if isinstance(about, ast.Call) else about.value
        return [about.id] if isinstance(about, ast.Name) else []
    return [
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]


@cache
def _imports(module: str) -> frozenset[str]:
    return frozenset(_imported(_source(module)[0]))


def _imported(text: str) -> set[str]:
    """The modules of worldprobe, its extensions and the packages beside them that a text imports,
    within functions, too.
    """
    found = set()
    for home, names, whole in _IMPORT.findall(text):
        words = re.findall(r"\w+", re.sub(r" as \w+", "", names))
        found |= {whole or home, *(f"{home}.{word}" for word in words if home)}
    return {name for name in found if _path(name)}


@cache
def _path(module: str) -> Path | None:
    """The file of a module of the core, of an extension or of a benchmark's package; None of any
    other.
    """
    top, *inner = module.split(".")
    home = _packages().get(top)
    path = home.joinpath(*inner) if home else None
    files = (path, path.with_suffix(".py"), path / "__init__.py") if path else ()
    return next((one for one in files if one.is_file()), None)


@cache
def _packages() -> dict[str, Path]:
    """Top package -> its folder, or its file where it is a single module: ours, and those that
    entry points name.
    """
    folders = {path.parent.name: path.parent for path in SOURCE.glob("worldprobe*/__init__.py")}
    for group in (extensions.GROUP, "worldprobe.benchmarks"):
        for point in entry_points(group=group):
            top = point.module.partition(".")[0]
            spec = None if top in folders else find_spec(top)
            if spec and spec.origin:
                file = Path(spec.origin)
                folders[top] = file.parent if file.name == "__init__.py" else file
    return folders


@cache
def _source(module: str) -> tuple[str, frozenset[Path]]:
    """The text of a module; and its file, the data files beside it that it names or that have its
    name, the folders of data beside it, and the resources that it reads.
    """
    path = _path(module)
    assert path, module
    text = path.read_text(encoding="utf-8")
    read = {path, *_resources(text)}
    for one in path.parent.iterdir():
        if one.is_file() and one.suffix != ".py" and (one.stem == path.stem or one.name in text):
            read.add(one)
        elif one.is_dir() and not any(one.glob("*.py")) and one.name not in NO_DATA:
            read |= {*files_below(one)}
    return text, frozenset(read)


def _resources(text: str) -> set[Path]:
    """The resources that a text reads; materials are inputs of the rules that read them."""
    paths = [
        RESOURCES.joinpath(*re.findall("[\"']([^\"']+)[\"']", one)) for one in _READ.findall(text)
    ]
    paths = [path for path in paths if path.exists() and "materials" not in path.parts]
    return {one for path in paths for one in (files_below(path) if path.is_dir() else [path])}


_digest = cache(digest_file)


def forget() -> None:
    """Read the code again at the next call."""
    for function in (digest_code, _function, _imports, _path, _packages, _source, _digest):
        function.cache_clear()
