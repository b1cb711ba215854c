"""YAML files with the line of every key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from worldprobe.errors import UserError

Keys = tuple[str | int, ...]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the loader in C is six times as quick


@dataclass(frozen=True)
class Source:
    """One place that settings come from.

    Attributes:
        name: the file's name, or the option.
        document: its settings.
        lines: line of every key and list entry; empty for options of the command line.
    """

    name: str
    document: Any
    lines: Mapping[Keys, int] = field(default_factory=dict)

    def place(self, keys: Keys) -> str | None:
        """``file, line N`` of a key, or None where this source does not set it."""
        if not self.lines:
            return self.name if keys and _reaches(self.document, keys) else None
        return f"{self.name}, line {self.lines[keys]}" if keys in self.lines else None


def read_yaml(path: Path | str) -> Source:
    """Read a YAML file with the line of every key.

    Raises:
        UserError: the file cannot be read, is not valid YAML, or sets a key twice.
    """
    lines: dict[Keys, int] = {(): 1}
    try:
        loader = _LOADER(Path(path).read_text(encoding="utf-8-sig"))
        try:
            root = loader.get_single_node()
            if root is not None:
                _note_lines(str(path), root, (), lines)
            document = None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", "Give the path of a YAML file.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else path
        problem = f"is not valid YAML: {error.problem or error.context}."
        raise UserError(where, problem, "Fix this line or the one above it.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # not UTF-8, a date such as 2020-99-99, a list within itself
        reason = " ".join(str(error).split())
        raise UserError(path, f"is not valid YAML ({reason}).", "Save it as UTF-8, and put text in quotes.") from error
    return Source(str(path), document, lines)


def dotted(keys: Keys) -> str:
    """A key as it is written in messages.

    >>> dotted(("ewok", "eval_types", 1))
    'ewok.eval_types[1]'
    >>> dotted(("../mine",))
    '../mine'
    """
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def place(keys: Keys, sources: Sequence[Source], default: str = "configuration") -> str:
    """The strongest source that sets the key; where none does, the nearest key above it."""
    found = (source.place(keys[:length]) for length in range(len(keys), -1, -1) for source in reversed(sources))
    return next(filter(None, found), default)


def in_order(found: Iterable[UserError]) -> list[UserError]:
    """Errors in the order of their lines."""

    def line(error: UserError) -> tuple[str, int]:
        name, _, number = error.where.rpartition(", line ")
        return (name, int(number)) if name else (error.where, 0)

    return sorted(found, key=line)


def _reaches(document: Any, keys: Keys) -> bool:
    for key in keys:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _note_lines(name: str, node: yaml.Node, keys: Keys, lines: dict[Keys, int]) -> None:
    """Note the line of every key; refuse keys given twice."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner, line = (*keys, str(key.value)), key.start_mark.line + 1
            if inner in lines:
                problem = f"{dotted(inner)}: is set twice (first on line {lines[inner]})."
                raise UserError(f"{name}, line {line}", problem, "Keep one of them.")
            lines[inner] = line
            _note_lines(name, value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[(*keys, number)] = value.start_mark.line + 1
            _note_lines(name, value, (*keys, number), lines)
