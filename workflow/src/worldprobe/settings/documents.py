"""YAML files with the line of every key."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from worldprobe.errors import UserError

Keys = tuple[str | int, ...]

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the loader in C is six times as quick
#: Of what YAML 1.1 (PyYAML, Snakemake) takes for a number, truth value or date, these alone have
#: the same value in YAML 1.2. What only 1.2 takes for a number, e.g. 1e-5, is a text.
_SAME = {
    "int": re.compile(r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+"),
    "float": re.compile(
        r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
    "bool": re.compile("true|True|TRUE|false|False|FALSE"),
    "timestamp": re.compile("(?!)"),
}
#: Lists and mappings within one another at most: the loader in C ends the process where there are
#: many thousands.
DEEPEST = 100
#: Values at most: fifty times the largest file of materials.
MOST_VALUES = 1_000_000


class Repeated(NamedTuple):
    """A key that is set twice: its line, that of the first, and whether both have the same
    value.
    """

    keys: Keys
    line: int
    first: int
    is_same: bool


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

    def find_line(self, keys: Keys) -> str | None:
        """``file, line N`` of a key, or None where this source does not set it."""
        if not self.lines:
            return self.name if keys and _reaches(self.document, keys) else None
        return f"{self.name}, line {self.lines[keys]}" if keys in self.lines else None


def read_yaml(path: Path | str) -> Source:
    """Read a YAML file with the line of every key.

    Raises:
        UserError: the file cannot be read, is not valid YAML, or sets a key twice.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UserError(
            path, f"cannot be read ({error.strerror}).", "Give the path of a YAML file."
        ) from error
    return parse_yaml(str(path), content)


def parse_yaml(
    name: str, content: bytes, kind: Any = LOADER, repeated: list[Repeated] | None = None
) -> Source:
    """YAML with the line of every key.

    Args:
        name: of the file, for messages.
        content: its bytes.
        kind: class of the loader; another one may read other words as numbers or truth values.
        repeated: where keys that are set twice are noted, of which the last one counts; None: they
            are refused.

    Raises:
        UserError: it is not valid YAML, sets a key twice, or has a value that is another one in
            YAML 1.2.
    """
    lines: dict[Keys, int] = {(): 1}
    try:
        text = content.decode("utf-8-sig")
        _check_depth(name, text, kind)
        loader = kind(text)
        try:
            root = loader.get_single_node()
            if root is not None:
                _check_aliases(name, root, {})
                _note_lines(name, root, (), lines, repeated)
                if (
                    kind is LOADER
                ):  # others read words that have two meanings as the texts that they are
                    _check_values(name, root, ())
            document = None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}, line {mark.line + 1}" if mark else name
        problem = f"is not valid YAML: {error.problem or error.context}."
        fix = "Fix this line or the one above it; text that starts with [ or { needs quotes."
        raise UserError(where, problem, fix) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{name}, line {line}", "is not UTF-8 text.", "Save the file as UTF-8."
        ) from error
    except yaml.reader.ReaderError as error:
        before = yaml.reader.Reader.NON_PRINTABLE.split(content.decode("utf-8-sig"), maxsplit=1)[0]
        line = before.count("\n") + 1
        raise UserError(
            f"{name}, line {line}",
            f"is not valid YAML: {error.reason}.",
            "Remove what is not text.",
        ) from error
    except (
        yaml.YAMLError,
        ValueError,
        RecursionError,
    ) as error:  # a date such as 2020-99-99, a list within itself
        reason = " ".join(str(error).split())
        raise UserError(
            name, f"is not valid YAML ({reason}).", "Save it as UTF-8, and put text in quotes."
        ) from error
    return Source(name, document, lines)


def find_decomposed(name: str, content: bytes) -> UserError | None:
    """Letters in two characters, which a model reads as other tokens than the letters themselves;
    None where there are none.
    """
    lines = content.decode("utf-8", "replace").splitlines()
    decomposed = [
        number for number, line in enumerate(lines, 1) if not unicodedata.is_normalized("NFC", line)
    ]
    if not decomposed:
        return None
    problem = (
        f"contains letters in two characters (decomposed Unicode, NFD), in {len(decomposed)} lines."
    )
    return UserError(
        f"{name}, line {decomposed[0]}",
        problem,
        "Save the file in composed Unicode (NFC): uconv -x any-nfc.",
    )


def _check_depth(name: str, text: str, kind: Any) -> None:
    """Refuse what is nested more deeply than any settings are, without building it."""
    if sum(text.count(begin) for begin in ("[", "{", "- ", ": ", "? ")) <= DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, kind):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise UserError(
                name,
                f"is nested more than {DEEPEST} levels deep.",
                "Give settings, or materials, as YAML.",
            )


def _check_aliases(name: str, node: yaml.Node, sizes: dict[int, int]) -> int:
    """The number of values, each as often as aliases repeat it; refuses a number that no file of
    settings has (the "billion laughs").
    """
    if id(node) not in sizes:
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        nodes = chain.from_iterable(inner) if isinstance(node, yaml.MappingNode) else inner
        sizes[id(node)] = 1  # of a list within itself
        sizes[id(node)] = 1 + sum(_check_aliases(name, child, sizes) for child in nodes)
        if sizes[id(node)] > MOST_VALUES:
            problem = f"stands for more than {MOST_VALUES:,} values, by aliases of aliases."
            where = f"{name}, line {node.start_mark.line + 1}"
            raise UserError(where, problem, "Write out what the aliases (*) stand for.")
    return sizes[id(node)]


def dotted(keys: Keys) -> str:
    """A key as it is written in messages.

    >>> dotted(("ewok", "eval_types", 1))
    'ewok.eval_types[1]'
    >>> dotted(("../mine",))
    '../mine'
    """
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(
        "."
    )


def find_line(keys: Keys, sources: Sequence[Source], default: str = "configuration") -> str:
    """The strongest source that sets the key; where none does, the nearest key above it."""
    places = (
        source.find_line(keys[:length])
        for length in range(len(keys), -1, -1)
        for source in reversed(sources)
    )
    return next(filter(None, places), default)


def in_order(errors: Iterable[UserError]) -> list[UserError]:
    """Errors in the order of their lines."""

    def line(error: UserError) -> tuple[str, int]:
        name, _, number = error.where.rpartition(", line ")
        return (name, int(number)) if name else (error.where, 0)

    return sorted(errors, key=line)


def _reaches(document: Any, keys: Keys) -> bool:
    for key in keys:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _note_lines(
    name: str, node: yaml.Node, keys: Keys, lines: dict[Keys, int], repeated: list[Repeated] | None
) -> None:
    """Note the line of every key, and keys that are set twice."""
    if isinstance(node, yaml.MappingNode):
        values: dict[Keys, Any] = {}
        for key, value in node.value:
            inner, line = (*keys, str(key.value)), key.start_mark.line + 1
            if inner in values:
                again = Repeated(inner, line, lines[inner], values[inner] == value.value)
                if repeated is None:
                    problem = f"{dotted(inner)}: is set twice (first on line {again.first})."
                    raise UserError(f"{name}, line {line}", problem, "Keep one of them.")
                repeated.append(again)
            values[inner], lines[inner] = value.value, line
            _note_lines(name, value, inner, lines, repeated)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[(*keys, number)] = value.start_mark.line + 1
            _note_lines(name, value, (*keys, number), lines, repeated)


def _check_values(name: str, node: yaml.Node, keys: Keys) -> None:
    """Refuse what means one thing in YAML 1.1 and another in 1.2, e.g. 24:00:00, which PyYAML reads
    as 86400.
    """
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _check_values(name, key, keys)
            _check_values(name, value, (*keys, str(key.value)))
        return
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_values(name, value, keys)
        return
    tag, text = node.tag.rpartition(":")[2], str(node.value)
    if tag in _SAME and not _SAME[tag].fullmatch(text):
        digits = text.replace("_", "").lstrip("+-0") or "0"
        number = (
            f"{'-' * text.startswith('-')}{digits}"
            if digits.replace(".", "", 1).isdigit()
            else "a decimal number"
        )
        instead = {"bool": "true or false, or ", "timestamp": ""}.get(tag, f"{number}, or ")
        fix = f'Write {instead}"{text}" in quotes where a text is meant.'
        if {"materials", "password"}.intersection(map(str, keys)):  # may be a password
            text, fix = "the value", "Write it in quotes."
        raise UserError(
            f"{name}, line {node.start_mark.line + 1}",
            f"{text} is read differently by YAML 1.1 and 1.2.",
            fix,
        )
