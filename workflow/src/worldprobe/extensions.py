"""Packages beside the core that plug in: commands, settings, rules, tables and figures.

An extension is an installed package with an entry point in the group ``worldprobe.extensions`` that
names an ``Extension``. The core imports none of them by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from logging import getLogger
from pathlib import Path
from tomllib import loads
from typing import Any, TypeVar

from worldprobe.errors import UserError

T = TypeVar("T")

CORE = __name__.partition(".")[0]
GROUP = f"{CORE}.extensions"


@dataclass(frozen=True)
class Extension:
    """What a package adds. It names things as "module:attribute"; they are imported when they are
    needed, so that ``--help`` answers at once.

    Attributes:
        title: heading of its commands in the list of all; empty: they are among the extras.
        commands: first word of a command -> its cyclopts app or function, and a line of help.
        settings: dotted key of a study -> the class of its block. It inherits the core's class
            where the core has that key, as `ewok.human`.
        inherits: name of a class of the core's settings, as ``Card`` -> a class that inherits it
            and has more keys.
        displays: benchmark -> modules that declare tables and figures of it, or
            "module:attribute" of a tuple of them.
        evaluates: benchmark -> the class of its options of ``evaluate``, as its ``Evaluation`` has
            it: so that help need not load the benchmark.
        chooses: the ``benchmark.Option`` objects of tables and figures, for the same reason; where
            a package with displays does not state them, these are loaded for help.
        sections: benchmark -> sections of its report, each behind the core's section of an id.
        rules: a file of Snakemake rules, included after the benchmarks' rules.
        actions: a command of the core -> a function that adds actions to its app.
        makes: a function of the study: ids of the models that the study makes.
        adds: a function of study and registry: cards that are added to the registry, or replace
            others.
        outputs: a function of the study: files that it is for.
        compares: name of a table -> the ``benchmark.Analysis`` by which ``worldprobe compare``
            compares files of it.
        rehearses: a function of study and registry that makes what takes long small, in place.
        additions: name of a list of the core, as `worldsense.measures` -> what is added to it. A
            cheap rule of the core runs again when a module that is named here changes.
        pages: extra pages beside a report: file name -> function(folders, yaml_files), of an
            evaluation's benchmarks. It returns the words of a command, its function and the files
            that this takes, or None where there is no page.
    """

    title: str = ""
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    inherits: Mapping[str, str] = field(default_factory=dict)
    displays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evaluates: Mapping[str, str] = field(default_factory=dict)
    chooses: str = ""
    sections: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    rules: Path | None = None
    actions: Mapping[str, str] = field(default_factory=dict)
    makes: str = ""
    adds: str = ""
    outputs: str = ""
    rehearses: str = ""
    compares: Mapping[str, str] = field(default_factory=dict)
    additions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)


@cache
def extensions() -> tuple[Extension, ...]:
    """Those that are installed, by name, without another package's that cannot be loaded.

    Ours are there also where the package is read from a folder that nobody installed, as by the
    jobs of an environment of their own.
    """
    points = own_points(GROUP)
    for entry in entry_points(group=GROUP):
        points.setdefault(entry.name, entry)
    return tuple(load_usable(dict(sorted(points.items())), Extension).values())


def own_points(group: str) -> dict[str, EntryPoint]:
    """Our own entry points of a group, in their order in the checkout's pyproject.toml; none where
    there is no checkout, whose environment knows them. An environment of a checkout may have been
    installed before they were stated.

    >>> list(own_points("worldprobe.benchmarks"))
    ['ewok', 'worldsense']
    """
    file = Path(__file__).parents[3] / "pyproject.toml"
    if not file.is_file():
        return {}
    stated = loads(file.read_text(encoding="utf-8")).get("project", {})
    points = stated.get("entry-points", {}).get(group, {}) if stated["name"] == "worldprobe" else {}
    return {name: EntryPoint(name, value, group) for name, value in points.items()}


def load(name: str) -> Any:
    """The object that "module:attribute", or "module", names.

    Raises:
        UserError: a package that is not ours has no such thing, or fails when it is imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return reduce(getattr, filter(None, attribute.split(".")), import_module(module))
    except UserError:
        raise
    except Exception as error:  # whatever another package's code raises
        package = module.partition(".")[0]
        if package in _own_packages():
            raise
        problem = f"cannot be loaded ({type(error).__name__}: {error})."
        raise UserError(name, problem, f"Repair or uninstall the package of {package}.") from error


def load_point(point: EntryPoint, kind: type[T]) -> T:
    """The object that an entry point names.

    Args:
        point: of a group of ours.
        kind: what it must be.

    Raises:
        UserError: it cannot be loaded, or is something else.
    """
    what = f"{point.group.partition('.')[2].removesuffix('s')} {point.name}"
    import_path = point.value.partition("[")[0].strip()
    try:
        value = load(import_path)
    except UserError as error:
        raise UserError(what, f"{import_path} {error.problem}", error.fix) from error
    if not isinstance(value, kind):
        problem = f"{import_path} is no {kind.__name__}."
        package = import_path.partition(":")[0]
        raise UserError(what, problem, f"Repair or uninstall the package of {package}.")
    return value


def load_usable(points: Mapping[str, EntryPoint], kind: type[T]) -> dict[str, T]:
    """What entry points name, for commands that need none of them in particular: what cannot be
    loaded is left out, with a warning.

    Args:
        points: by name.
        kind: what they must be.
    """
    loaded = {}
    for name, point in points.items():
        try:
            loaded[name] = load_point(point, kind)
        except UserError as error:
            _warn_once(f"{error.where} is left out: {error.problem} {error.fix}")
    return loaded


@cache
def _warn_once(text: str) -> None:
    getLogger(CORE).warning("%s", text)


@cache
def _own_packages() -> set[str]:
    """The packages that come with this one, whose errors are ours."""
    installed = [
        entry for entry in entry_points(group=GROUP) if entry.dist and entry.dist.name == CORE
    ]
    points = [*own_points(GROUP).values(), *installed]
    return {CORE, *(point.module.partition(".")[0] for point in points)}


#: Heading of the commands of extensions without a title.
EXTRAS = "Extras"


def commands_by_title() -> dict[str, dict[str, tuple[str, str]]]:
    """Heading -> the extensions' commands, those without a title last."""
    titles = [
        extension.title for extension in extensions() if extension.title and extension.commands
    ]
    commands: dict[str, dict[str, tuple[str, str]]] = {title: {} for title in (*titles, EXTRAS)}
    for extension in extensions():
        commands[extension.title or EXTRAS] |= extension.commands
    return commands


def additions(name: str) -> list[Any]:
    """What extensions add to a list of the core.

    Args:
        name: of the list, as `worldsense.measures`.
    """
    return [load(path) for extension in extensions() for path in extension.additions.get(name, ())]


def modules_of_additions() -> list[str]:
    """The modules of all that extensions add to lists of the core."""
    named = {
        path
        for extension in extensions()
        for paths in extension.additions.values()
        for path in paths
    }
    return sorted({path.partition(":")[0] for path in named})


def settings_below(key: str = "") -> dict[str, Any]:
    """Key below a dotted key of a study -> the class of its block, as extensions state them.

    Args:
        key: e.g. ``ewok``; empty: the study itself.
    """
    prefix = f"{key}." if key else ""
    return {
        name.removeprefix(prefix): load(block)
        for extension in extensions()
        for name, block in extension.settings.items()
        if name.startswith(prefix) and "." not in name.removeprefix(prefix)
    }


def inheriting(name: str) -> tuple[Any, ...]:
    """The classes that extensions put in place of a class of settings."""
    paths = (extension.inherits.get(name) for extension in extensions())
    return tuple(load(path) for path in paths if path)


def options_of_evaluation() -> dict[str, tuple[str, Any]]:
    """Benchmark -> heading and class of its options of ``evaluate``, where they are stated."""
    return {
        name: (extension.title, load(kind))
        for extension in extensions()
        for name, kind in extension.evaluates.items()
    }


def options_of_displays() -> list[Any]:
    """The options of tables and figures that are stated."""
    stated = [extension.chooses for extension in extensions() if extension.chooses]
    return [option for name in stated for option in load(name)]


def are_own() -> bool:
    """Whether all extensions, and the benchmarks that are installed as such, come with this
    package.
    """
    points = [*entry_points(group=GROUP), *entry_points(group=f"{CORE}.benchmarks")]
    return {point.module.partition(".")[0] for point in points} <= _own_packages()


def displays_of(benchmark: str) -> Iterator[Any]:
    """The modules that declare tables and figures of a benchmark, and tuples of them."""
    for extension in extensions():
        for name in extension.displays.get(benchmark, ()):
            yield load(name)


def sections_of(benchmark: str) -> Iterator[tuple[str, Any]]:
    """The sections that extensions add to a benchmark's report, each with the id of the one that it
    is behind.
    """
    for extension in extensions():
        for before, name in extension.sections.get(benchmark, ()):
            yield before, load(name)


def rules() -> list[Path]:
    """The extensions' files of rules."""
    return [extension.rules for extension in extensions() if extension.rules]


@cache
def with_actions(command: str, address: str) -> Any:
    """The app of a command, with the actions that extensions add to it; where there are none, the
    place from which it is imported when it is needed.

    Args:
        command: its name.
        address: "module:attribute" of its app.
    """
    added = [
        extension.actions[command] for extension in extensions() if command in extension.actions
    ]
    if not added:
        return address
    app = load(address)
    for add in added:
        load(add)(app)
    return app


def made_models(study: Mapping[str, Any]) -> list[str]:
    """Ids of the models that a study makes."""
    return _listed("makes", study)


def add_models(study: Mapping[str, Any], registry: Mapping[str, Any]) -> dict[str, Any]:
    """Cards that extensions add to the registry of a study, or put in place of others."""
    cards: dict[str, Any] = {}
    for extension in extensions():
        if extension.adds:
            cards |= load(extension.adds)(study, registry)
    return cards


def rehearse(study: dict[str, Any], registry: dict[str, dict[str, Any]]) -> None:
    """Make small, in place, what takes long in the extensions' parts of a study."""
    for extension in extensions():
        if extension.rehearses:
            load(extension.rehearses)(study, registry)


def outputs(study: Mapping[str, Any]) -> list[str]:
    """The files that a study is for, as extensions make them."""
    return _listed("outputs", study)


def _listed(part: str, study: Mapping[str, Any]) -> list[str]:
    """What a function that some extensions name gives, of all of them."""
    paths = filter(None, (getattr(extension, part) for extension in extensions()))
    return [name for path in paths for name in load(path)(study)]


def pages() -> dict[str, str]:
    """The pages beside a report."""
    return {name: path for extension in extensions() for name, path in extension.pages.items()}


def pages_of(study: Mapping[str, Any], folder: str) -> list[str]:
    """Those of them that a study makes, whose results are in a folder."""
    return [page for page in pages() if f"{folder}/{page}" in outputs(study)]


def comparing(table: str) -> Any:
    """The ``benchmark.Analysis`` of an extension that compares files of a table; None: none does.

    Args:
        table: its name.
    """
    for extension in extensions():
        if table in extension.compares:
            return load(extension.compares[table])
    return None
