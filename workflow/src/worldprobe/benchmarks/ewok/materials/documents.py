"""YAML documents of materials that remember their lines, and all that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import yaml

from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.errors import UserError, did_you_mean, printable


class Place(NamedTuple):
    """A line of a file of the materials, and the entry it belongs to (e.g. ``target 3``)."""

    file: str
    line: int = 0
    entry: str = ""

    def __str__(self) -> str:
        return self.file + (f", line {self.line}" if self.line else "") + (f" ({self.entry})" if self.entry else "")


@dataclass(frozen=True)
class Problem:
    """One thing to fix; a warning (``is_error`` false) does not stop a build."""

    place: Place
    problem: str
    fix: str
    is_error: bool = True

    def __str__(self) -> str:
        return printable(f"{'error' if self.is_error else 'warning'}: {self.place}\n  problem: {self.problem}\n  fix: {self.fix}")


class Problems(list[Problem]):
    """Problems in the order in which they were found.

    Args:
        is_lenient: let pass, with a warning, what the original generator lets pass.
    """

    def __init__(self, is_lenient: bool = False) -> None:
        super().__init__()
        self.is_lenient = is_lenient

    def error(self, place: Place, problem: str, fix: str) -> None:
        """Note something that cannot be compiled."""
        self._note(Problem(place, problem, fix))

    def refuse(self, place: Place, problem: str, fix: str) -> None:
        """Note something that is surely a mistake; only the original lets it pass."""
        self._note(Problem(place, problem, fix, is_error=not self.is_lenient))

    def warn(self, place: Place, problem: str, fix: str) -> None:
        """Note something that a build can live with."""
        self._note(Problem(place, problem, fix, is_error=False))

    def _note(self, problem: Problem) -> None:
        if problem not in self:
            self.append(problem)

    def errors(self) -> list[Problem]:
        """What stops a build."""
        return [p for p in self if p.is_error]

    def by_place(self) -> list[Problem]:
        """All, by file and line."""
        return sorted(self, key=lambda p: (p.place.file, p.place.line))

    def raise_first(self) -> None:
        """Raise the first error, if there is one, saying how many more there are.

        Raises:
            UserError: there is at least one error.
        """
        errors = self.errors()
        if errors:
            first, others = errors[0], len(errors) - 1
            more = f" ({others} more: `worldprobe materials check` lists them all.)" if others else ""
            raise UserError(first.place, first.problem, first.fix + more)


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TRUTH = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_BOOL, _NULL = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"


class Document(NamedTuple):
    """A file's node tree, and what is needed to judge it."""

    file: str
    root: yaml.Node
    problems: Problems
    rules: Rules


def compose(file: str, content: bytes, problems: Problems, rules: Rules) -> Document | None:
    """A file's document, or None with a problem noted."""
    try:
        root = yaml.compose(content.decode("utf-8-sig"), Loader=_LOADER)
        if root is not None:
            return Document(file, root, problems, rules)
        problems.error(Place(file), "is empty.", "Write at least one entry, or remove the file.")
    except UnicodeDecodeError as error:
        problems.error(Place(file, content[: error.start].count(b"\n") + 1), "is not UTF-8 text.", "Save it as UTF-8.")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.error(
            Place(file, mark.line + 1 if mark else 0),
            f"broken YAML: {error.problem or error.context}.",
            "Check indentation and quotes here and in the line above; text that starts with [ or { needs quotes.",
        )
    except yaml.reader.ReaderError as error:
        line = content.decode("utf-8-sig")[: int(error.position)].count("\n") + 1
        problems.error(Place(file, line), f"broken YAML: {error.reason}.", "Remove what is not text.")
    return None


def members(document: Document) -> Iterator[tuple[int, yaml.Node]]:
    """The members of a document that is a list, counted from 1."""
    if isinstance(document.root, yaml.SequenceNode):
        yield from enumerate(document.root.value, start=1)
    else:
        place = Place(document.file, line_of(document.root))
        document.problems.error(place, "is not a list of entries.", "Start each entry with a dash.")


def line_of(node: yaml.Node) -> int:
    """The line a node starts in, from 1."""
    return int(node.start_mark.line) + 1


class Entry:
    """One mapping of a document; every complaint names its file, line and entry.

    Args:
        document: the file it is in.
        name: what it is, e.g. ``target 3``.
        node: any node; one that is not a mapping is a problem, and the entry is then empty.
        known: keys that are allowed here; others are problems.
        hyphens: whether ``non-agentive`` may be written for ``non_agentive``.
    """

    def __init__(self, document: Document, name: str, node: yaml.Node, known: Iterable[str], hyphens: bool = False) -> None:
        self.file, self.name, self.problems, self.rules = document.file, name, document.problems, document.rules
        self.line = line_of(node)
        self.fields: dict[str, yaml.Node] = {}
        known = list(known)
        if not isinstance(node, yaml.MappingNode):
            self.problems.error(
                self.place(), "is not a mapping of keys to values.", f"Write {', '.join(known)} here, each with a colon."
            )
            return
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.error(Place(self.file, line_of(key_node), name), "a key is a list or mapping.", "Write a word.")
                continue
            key = str(key_node.value).replace("-", "_") if hyphens else str(key_node.value)
            place = Place(self.file, line_of(key_node), name)
            if key in self.fields:
                complain = self.problems.warn if self.fields[key].value == value.value else self.problems.refuse
                complain(place, f'key "{key}" is here twice; the last one counts.', "Keep one of the two.")
            if key not in known:
                near = did_you_mean(key, known, f"; known are {', '.join(known)}.")
                self.problems.refuse(place, f'unknown key "{key}"{near}', "Rename or remove it.")
            self.fields[key] = value

    def place(self, key: str | None = None) -> Place:
        """Where a key's value, or the entry, is."""
        node = self.fields.get(key) if key else None
        return Place(self.file, line_of(node) if node is not None else self.line, self.name)

    def require(self, *keys: str) -> bool:
        """Whether all keys are present; absent ones are noted."""
        absent = [key for key in keys if key not in self.fields]
        for key in absent:
            self.problems.error(self.place(), f'has no key "{key}".', f'Add "{key}:"; write null where there is none.')
        return bool(self.fields) and not absent

    def text(self, key: str) -> str | None:
        """The text of a field; None where it is null, absent or not text."""
        node = self.fields.get(key)
        return None if node is None else self._text(node, key)

    def needed_text(self, key: str, fix: str) -> str | None:
        """The text of a field that must not be null or empty."""
        text = self.text(key)
        if not text:
            self.problems.error(self.place(key), f'"{key}" is empty.', fix)
        return text or None

    def texts(self, key: str) -> list[str] | None:
        """A field that is one text or a list of them; None where it is null or absent."""
        node = self.fields.get(key)
        if isinstance(node, yaml.SequenceNode):
            return [text for member in node.value if (text := self._text(member, key)) is not None]
        text = None if node is None else self._text(node, key)
        return None if text is None else [text]

    def flag(self, key: str) -> bool:
        """A field that is true or false; absent or null means false."""
        node = self.fields.get(key)
        if node is None or node.tag == _NULL:
            return False
        if isinstance(node, yaml.ScalarNode) and node.value.lower() in _TRUTH:
            return _TRUTH[node.value.lower()]
        self.problems.error(self.place(key), f'"{key}" is neither true nor false.', "Write true or false.")
        return False

    def members(self, key: str) -> list[yaml.Node]:
        """The members of a field that is a list; anything else is noted."""
        node = self.fields.get(key)
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.problems.error(
            self.place(key), f'"{key}" is not a list.', f'Write the entries of "{key}" as a list, each with a dash.'
        )
        return []

    def _text(self, node: yaml.Node, key: str) -> str | None:
        place = Place(self.file, line_of(node), self.name)
        if not isinstance(node, yaml.ScalarNode):
            self.problems.error(place, f'"{key}" is not text.', "Put it in quotes; a bare [ or { starts a list or mapping.")
            return None
        if node.tag == _NULL:
            return None
        word = node.value.lower()
        if node.tag == _BOOL and self.rules.yaml_1_1_truth:
            if not _TRUTH[word]:
                return None  # The original takes it for "there is none".
            self.problems.warn(place, f'"{key}" is the truth value {word}.', "Put it in quotes.")
        elif node.tag == _BOOL and word in ("true", "false"):
            self.problems.error(
                place, f'"{key}" is the truth value {word}.', "Put it in quotes if you mean the word, or write null."
            )
        return str(node.value)
