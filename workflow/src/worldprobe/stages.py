"""The stages of the command line by name, and what code a command is, so that a cheap rule runs
again when that changes and not otherwise.
"""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from worldprobe import engines, extensions
from worldprobe.files import digest_file, files_below
from worldprobe.paths import PACKAGE, RESOURCES

#: Group of the list of all -> the shared stages: where each is, and its line in the list.
GROUPS = {
    "Start here": {
        "evaluate": ("evaluate:evaluate", "evaluate one model, and write its result and a report"),
        "compare": ("analysis:compare", "test whether models differ, paired by item"),
        "leaderboard": ("evaluate:leaderboard", "rank models by their results, on one page"),
        "results": ("evaluate:results", "check a result, or export it for other tools"),
    },
    "A study": {
        "config": ("study:config", "check configuration files"),
        "workflow": ("study:workflow", "print the path of the Snakefile"),
        "status": ("study:status", "list which models are done, failed or still to run"),
        "models": ("models:app", "list and fetch models, and plan what they need"),
        "fetch": ("study:fetch", "download a file that resources/sources.yaml lists"),
        "ask": ("ask:ask", "score a model on minimal pairs, or on another benchmark"),
        "summarize": ("analysis:summarize", "compute mean accuracy by group, with intervals"),
        "reproduction": ("analysis:reproduction", "compare our numbers with the published ones"),
        "table": ("report:table", "print a table as CSV, LaTeX, Markdown and JSON"),
        "figure": ("report:figure", "draw a figure, and save its numbers as CSV"),
        "notebook": ("report:notebook", "run a notebook over a finished study"),
        "report": ("report:report", "build the HTML report"),
        "archive": ("archive:app", "pack a finished study, to be drawn again without models"),
    },
}
_SHARED = {
    name: (f"worldprobe.cli.{place}", about)
    for stages in GROUPS.values()
    for name, (place, about) in stages.items()
}
#: All stages: the shared ones, those of benchmarks, and those of other extensions.
STAGES = dict(_SHARED)
for _stages in extensions.commands_by_title().values():
    STAGES |= _stages

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
    left = {module for text in texts for module in _imported(text)} | {*modules}
    read: set[str] = set()
    files = {path for text in texts for path in _resources(text)}
    while left:
        read.add(module := left.pop())
        files |= _source(module)[1]
        left |= _imports(module) - read
    digest = hashlib.sha256("".join(texts).encode())
    for path in sorted(files):
        digest.update(f"{path.name}\0{_digest(path)}\n".encode())
    return digest.hexdigest()[:12]


def _places(stage: str) -> list[str]:
    """The modules that have the functions of a stage: the core's or an extension's, and those of
    extensions that add actions to it.
    """
    added = [
        extension.actions[stage]
        for extension in extensions.extensions()
        if stage in extension.actions
    ]
    return [place.partition(":")[0] for place in (STAGES[stage][0], *added)]


@cache
def _function(module: str, action: str) -> str:
    """The text of a command's function and of what it uses of its module; nothing where the module
    has no such command.
    """
    statements = _statements(module)
    name = action.replace("-", "_")
    wanted = [symbol for symbol in (action, name, f"{name}_") if symbol in statements][:1]
    seen = set(wanted)
    texts = set()
    while wanted:
        for text, used in statements[wanted.pop()]:
            texts.add(text)
            wanted += sorted((used & statements.keys()) - seen)
            seen |= used
    return "\n".join(sorted(texts))


@cache
def _statements(module: str) -> dict[str, list[tuple[str, set[str]]]]:
    """Name -> the statements of a module that name it: each one's text, and the names that it
    uses.
    """
    source = _source(module)[0]
    lines = source.splitlines()
    statements: dict[str, list[tuple[str, set[str]]]] = {}
    for node in ast.parse(source).body:
        decorators = getattr(node, "decorator_list", [])
        first = min(part.lineno for part in (node, *decorators))
        text = "\n".join(lines[first - 1 : node.end_lineno])
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        for name in _names(node):
            statements.setdefault(name, []).append((text, used))
    return statements


def _names(node: ast.stmt) -> list[str]:
    """What a statement of a module names: functions, also by the action that a decorator names,
    classes, constants, imports; a call names what it is a method of. What it uses besides has a
    statement of its own.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        calls = [part for part in node.decorator_list if isinstance(part, ast.Call)]
        keywords = [keyword for call in calls for keyword in call.keywords]
        actions = [ast.literal_eval(word.value) for word in keywords if word.arg == "name"]
        return [node.name, *actions]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [inner.asname or inner.name for inner in node.names]
    if isinstance(node, ast.If):  # TYPE_CHECKING
        return [name for inner in node.body for name in _names(inner)]
    if isinstance(node, ast.Expr):
        about: ast.expr = node.value
        while isinstance(about, ast.Call | ast.Attribute):
            about = about.func if isinstance(about, ast.Call) else about.value
        return [about.id] if isinstance(about, ast.Name) else []
    return [
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    ]


@cache
def _imports(module: str) -> frozenset[str]:
    return frozenset(_imported(_source(module)[0]))


def _imported(text: str) -> set[str]:
    """The modules of worldprobe, its extensions and the packages beside them that a text imports,
    within functions, too.
    """
    modules = set()
    for home, names, whole in _IMPORT.findall(text):
        words = re.findall(r"\w+", re.sub(r" as \w+", "", names))
        modules |= {whole or home, *(f"{home}.{word}" for word in words if home)}
    return {name for name in modules if _path(name)}


@cache
def _path(module: str) -> Path | None:
    """The file of a module of the core, of an extension or of a benchmark's package; None of any
    other.
    """
    top, *inner = module.split(".")
    home = _packages().get(top)
    path = home.joinpath(*inner) if home else None
    files = (path, path.with_suffix(".py"), path / "__init__.py") if path else ()
    return next((file for file in files if file.is_file()), None)


@cache
def _packages() -> dict[str, Path]:
    """Top package -> its folder, or its file where it is a single module: ours, and those that
    entry points name.
    """
    folders = {path.parent.name: path.parent for path in SOURCE.glob("worldprobe*/__init__.py")}
    for group in (extensions.GROUP, "worldprobe.benchmarks", engines.GROUP):
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
    for sibling in path.parent.iterdir():
        if (
            sibling.is_file()
            and sibling.suffix != ".py"
            and (sibling.stem == path.stem or sibling.name in text)
        ):
            read.add(sibling)
        elif sibling.is_dir() and not any(sibling.glob("*.py")) and sibling.name not in NO_DATA:
            read |= {*files_below(sibling)}
    return text, frozenset(read)


def _resources(text: str) -> set[Path]:
    """The resources that a text reads; materials are inputs of the rules that read them."""
    paths = [
        RESOURCES.joinpath(*re.findall("[\"']([^\"']+)[\"']", parts))
        for parts in _READ.findall(text)
    ]
    paths = [path for path in paths if path.exists() and "materials" not in path.parts]
    return {file for path in paths for file in (files_below(path) if path.is_dir() else [path])}


_digest = cache(digest_file)


def forget() -> None:
    """Read the code again at the next call."""
    digest_code.cache_clear()
    for function in (_function, _statements, _imports, _path, _packages, _source, _digest):
        function.cache_clear()
