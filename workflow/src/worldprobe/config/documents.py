"""YAML files with the line of every key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from worldprobe.errors import UserError

Keys = tuple[str | int, ...]

#: More keys and entries than any configuration has; aliases that multiply reach it at once.
MOST_NODES = 100_000
#: Deeper than any configuration is nested.
MOST_LEVELS = 40
LARGEST_FILE = 10_000_000
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")


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
    lines: Mapping[Keys, int]

    def place(self, keys: Keys) -> str | None:
        """``file, line N`` of a key, or None where this source does not set it."""
        if not self.lines:
            return self.name if keys and reach(self.document, keys) else None
        return f"{self.name}, line {self.lines[keys]}" if keys in self.lines else None


def read_yaml(path: Path | str, is_prose: bool = False) -> Source:
    """Read a YAML file with the line of every key.

    Args:
        path: the file.
        is_prose: texts may have several lines, as prompts do.

    Raises:
        UserError: the file cannot be read, is not valid YAML, sets a key twice, or contains a value that YAML cannot build
            (a date such as 2020-99-99), a key that is not text, a number that is not finite, or a control character.
    """
    text = _read_text(path)
    lines: dict[Keys, int] = {(): 1}
    try:
        loader = _loader_of(text)
        root = yaml.compose(text, Loader=loader)
        if root is not None:
            _Walk(str(path), lines).visit(root, (), ())
        document = yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise UserError(
            where, f"is not valid YAML: {error.problem or error.context}.", "Fix this line or the one above it."
        ) from error
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        problem = f"is not valid YAML: {getattr(error, 'reason', 'it cannot be parsed')}."
        raise UserError(f"{path}, line {line}", problem, "Remove the character.") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(path, f"contains a value that YAML cannot build ({error}).", "Put text in quotes.") from error
    source = Source(str(path), document, lines)
    for keys, problem in odd_values(document, is_prose=is_prose):
        raise UserError(source.place(keys) or str(path), f"{dotted(keys)}: {problem}.".removeprefix(": "), "Change it.")
    return source


def _loader_of(text: str) -> Any:
    """The loader in C, six times as quick, for what it can parse; of what it cannot, the one in Python says more."""
    quick = getattr(yaml, "CSafeLoader", None)
    if quick is None:
        return yaml.SafeLoader
    try:
        level = 0
        for event in yaml.parse(text, Loader=quick):
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > MOST_LEVELS:  # it would end the process, not raise
                return yaml.SafeLoader
    except yaml.YAMLError:
        return yaml.SafeLoader
    return quick


def odd_values(document: Any, keys: Keys = (), is_prose: bool = False) -> Iterator[tuple[Keys, str]]:
    """Values that no key takes: numbers that are not finite, text with control characters (prose may have line breaks)."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            if isinstance(key, str) and _has_control_character(key):
                yield keys, f"the key {key!r} contains a control character"
            yield from odd_values(value, (*keys, key), is_prose)
    elif isinstance(document, Sequence) and not isinstance(document, str | bytes):
        for number, value in enumerate(document):
            yield from odd_values(value, (*keys, number), is_prose)
    elif isinstance(document, float) and not math.isfinite(document):
        yield keys, f"{document} is not a finite number"
    elif isinstance(document, str) and _has_control_character(document.replace("\n", "") if is_prose else document):
        yield keys, "contains a line break or another control character"


def dotted(keys: Keys) -> str:
    """A key as it is written in messages.

    >>> dotted(("ewok", "eval_types", 1))
    'ewok.eval_types[1]'
    >>> dotted(("../mine",))
    '../mine'
    """
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def reach(document: Any, keys: Keys) -> bool:
    """Whether a document sets a key."""
    for key in keys:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _has_control_character(text: str) -> bool:
    return _CONTROL_CHARACTER.search(text) is not None


def _read_text(path: Path | str) -> str:
    try:
        if Path(path).is_file() and Path(path).stat().st_size > LARGEST_FILE:
            raise UserError(path, f"is larger than {LARGEST_FILE // 1_000_000} MB.", "Check the path.")
        if Path(path).exists() and not Path(path).is_file():
            raise UserError(path, "is not a file.", "Give a YAML file.")
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(path, "is not UTF-8 text.", "Save it as UTF-8.") from error


class _Walk:
    """Collects the lines of keys; refuses keys given twice, keys that are not text, and aliases without end."""

    def __init__(self, name: str, lines: dict[Keys, int]) -> None:
        self.name, self.lines, self.count = name, lines, 0

    def visit(self, node: yaml.Node, keys: Keys, above: tuple[int, ...]) -> None:
        self.count += 1
        if self.count > MOST_NODES or len(above) > MOST_LEVELS or id(node) in above:
            where = f"{self.name}, line {node.start_mark.line + 1}"
            raise UserError(where, "is nested too deeply, or refers to itself.", "Write the settings without aliases (&, *).")
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                line = key.start_mark.line + 1
                if not isinstance(key, yaml.ScalarNode):
                    raise UserError(f"{self.name}, line {line}", "a key is not text.", "Write it as text.")
                if key.tag != "tag:yaml.org,2002:str" and key.tag != "tag:yaml.org,2002:merge":
                    raise UserError(
                        f"{self.name}, line {line}", f"the key {key.value} is not text.", f'Write "{key.value}" in quotes.'
                    )
                inner = (*keys, key.value)
                if inner in self.lines:
                    problem = f"{dotted(inner)}: is set twice (first on line {self.lines[inner]})."
                    raise UserError(f"{self.name}, line {line}", problem, "Keep one of them.")
                self.lines[inner] = line
                self.visit(value, inner, (*above, id(node)))
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                self.lines[(*keys, number)] = value.start_mark.line + 1
                self.visit(value, (*keys, number), (*above, id(node)))
