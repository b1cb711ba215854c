"""Texts in the words of a skin, read back into relations."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple, cast

from worldprobe.benchmarks.worldsense.inference.reference_solvers import Statement
from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.skins.rendering import (
    NUMBERS,
    SEEN,
    SEVERAL,
    label_changes,
    render_moment,
)
from worldprobe.benchmarks.worldsense.skins.skins import Skin, StoryWords

_SIZE_OF = {word: size for size, word in NUMBERS.items()}
_SEPARATOR = re.compile(", | and ")
#: What a description states, what is asked, and what the second option of a completeness problem
#: says.
_STATED = ("before", "after", "between", "parallel", "perpendicular")
_ASKED = (*_STATED, "first", "last", "foreign before", "foreign after")
_OPPOSED = ("before", "after", "outside", "foreign before", "foreign after")
_OPPOSITE = {"between": "outside"} | {
    f"{group}{a}": f"{group}{b}"
    for group in ("", "foreign ")
    for a, b in (("before", "after"), ("after", "before"))
}


class _Clause(NamedTuple):
    """A relation in words: the clause's name, and the names of its entities by placeholder, in the
    order of the words.
    """

    clause: str
    names: dict[str, str]


class _Story(NamedTuple):
    """Updates in words, what is seen after them, and the moment that is asked about."""

    changes: tuple[_Clause, ...]
    seen: _Clause | None
    moment: worlds.Relation | None


_NO_STORY = _Story((), None, None)


#: The words of all skins: Python itself remembers 512 patterns.
_compile = lru_cache(maxsize=1 << 13)(re.compile)


class StatementReader:
    """Reads texts in the words of one skin."""

    def __init__(self, skin: Skin, *, is_moving: bool = False) -> None:
        """Compile the words of a skin.

        Args:
            skin: the skin.
            is_moving: whether to read what it says where things change only; otherwise both are
                read.
        """
        self._moving = (
            StatementReader(skin.in_motion(), is_moving=True)
            if skin.motion and not is_moving
            else None
        )
        self.skin = skin
        words = skin.clauses | {f"foreign {name}": clause for name, clause in skin.foreign.items()}
        name = "|".join(map(re.escape, sorted(skin.entities, key=len, reverse=True)))
        self._names = _compile(name)
        self._clauses = {
            clause: _compile(_pattern(text, dict.fromkeys("mxy", rf"(?<!\w)(?:{name})(?!\w)")))
            for clause, text in words.items()
        }
        self._changes = {
            kind: _compile(
                _pattern(skin.motion[kind], dict.fromkeys("xy", rf"(?<!\w)(?:{name})(?!\w)"))
            )
            for kind in (worlds.UPDATES if is_moving else ())
        }
        situation = _pattern(skin.situation, {"number": "|".join([*_SIZE_OF, SEVERAL])})
        listing = rf"\. {re.escape(skin.listing)}:\n(?P<listing>- .+?)"
        story = r"(?:\n(?P<story>Then there .+?))?" if is_moving else ""
        parts = {
            "description": rf"{situation}(?:: (?P<clauses>.+?)\.{story}|{listing})",
            "query": ".+?",
            "opposite": ".+?",
        }
        self._questions = [
            (kind, wording, _compile(_pattern(text, parts), re.DOTALL))
            for kind, wordings in skin.questions.items()
            for wording, text in wordings.items()
        ]

    def read(self, text: str) -> Statement:
        """The statement of a text.

        Args:
            text: the whole question that a model reads, of any problem and wording.

        Raises:
            ValueError: the text is not in the skin's words, or can be read in several ways.
        """
        readings = list(self._statements(text))
        if any(
            statement._replace(wording="") != readings[0]._replace(wording="")
            for statement in readings[1:]
        ):
            raise ValueError(f"the text can be read in several ways with the skin {self.skin.name}")
        if not readings:
            raise ValueError(
                f"the text is not a question in the words of the skin {self.skin.name}"
            )
        return readings[0]

    def _statements(self, text: str) -> Iterator[Statement]:
        for kind, wording, pattern in self._questions:
            match = pattern.fullmatch(text)
            if match is None:
                continue
            parts = match.groupdict()
            most = _SIZE_OF.get(parts["number"], max(_SIZE_OF.values()))
            lines, sentence = parts["listing"], parts["clauses"]
            stated = (
                self._sentence(sentence, 0, most + 1)
                if lines is None
                else self._list(lines.split("\n"))
            )
            stories = (
                [_NO_STORY] if parts.get("story") is None else list(self._story(parts["story"]))
            )
            asked = list(self._asked(parts)) if "query" in parts else [None]
            for clauses in stated:
                named = {name for clause in clauses for name in clause.names.values()}
                size = _SIZE_OF.get(parts["number"], len(named))
                for query in asked:
                    for story in stories:
                        if (
                            statement := _state(kind, wording, size, clauses, query, story)
                        ) is not None:
                            yield statement
        if self._moving is not None:
            yield from self._moving._statements(text)

    def _story(self, text: str) -> Iterator[_Story]:
        """The changes of a story, the state seen in the end, and the moment."""
        _, *lines, last = text.split("\n")
        changes: list[list[_Clause]] = []
        words = self.skin.stories
        for label, line in zip(label_changes(len(lines), words), lines, strict=False):
            sentence = line.removeprefix(f"{label}: ").removesuffix(".")
            matches = (
                (kind, pattern.fullmatch(sentence)) for kind, pattern in self._changes.items()
            )
            changes.append(
                [_Clause(kind, match.groupdict()) for kind, match in matches if match is not None]
            )
        moments = _moments_of(len(lines), words)
        seen: list[_Clause | None] = [None]
        if last not in moments:
            seen = [
                *self._whole(
                    last.removeprefix(SEEN.partition("{")[0]).removesuffix("."),
                    ("before", "after"),
                )
            ]
        for combination in product(*changes, seen):
            yield _Story(combination[:-1], combination[-1], moments.get(last))  # type: ignore[arg-type]

    def _asked(self, parts: dict[str, str]) -> Iterator[_Clause | None]:
        for clause in self._whole(parts["query"], _ASKED):
            if "opposite" not in parts or any(
                _is_opposite(clause, other) for other in self._whole(parts["opposite"], _OPPOSED)
            ):
                yield clause

    def _sentence(self, text: str, start: int, most: int) -> Iterator[tuple[_Clause, ...]]:
        """All ways to read a sequence of at most so many clauses."""
        for clause, end in self._at(text, start, _STATED) if most else ():
            if end == len(text):
                yield (clause,)
            elif separator := _SEPARATOR.match(text, end):
                for others in self._sentence(text, separator.end(), most - 1):
                    yield (clause, *others)

    def _at(self, text: str, start: int, clauses: Iterable[str]) -> Iterator[tuple[_Clause, int]]:
        for clause in clauses:
            if clause in self._clauses and (match := self._clauses[clause].match(text, start)):
                names = match.groupdict()
                if len(set(names.values())) == len(names):
                    yield _Clause(clause, names), match.end()

    def _whole(self, text: str, clauses: Iterable[str]) -> Iterator[_Clause]:
        return (clause for clause, end in self._at(text, 0, clauses) if end == len(text))

    def _list(self, lines: list[str]) -> Iterator[tuple[_Clause, ...]]:
        """An ordered list of entities: each before the next."""
        names = [line.removeprefix("- ") for line in lines]
        if all(map(self._names.fullmatch, names)) and len(set(names)) == len(names) > 1:
            yield tuple(_Clause("before", {"x": a, "y": b}) for a, b in pairwise(names))


def _pattern(text: str, parts: dict[str, str]) -> str:
    """A regular expression for a text with placeholders; what each is replaced by may contain
    groups of its own.
    """
    pieces = string.Formatter().parse(text)
    return "".join(
        re.escape(literal) + (f"(?P<{name}>{parts[name]})" if name else "")
        for literal, name, _, _ in pieces
    )


def _is_opposite(clause: _Clause, other: _Clause) -> bool:
    """Whether two clauses are the first two options of a question: one is true exactly where the
    other is false.
    """
    if _OPPOSITE.get(clause.clause) != other.clause:
        return False
    interchangeable = {clause.names["x"], clause.names["y"]} == {other.names["x"], other.names["y"]}
    return clause.names == other.names or (
        clause.clause == "between" and interchangeable and clause.names["m"] == other.names["m"]
    )


def _state(
    problem_type: str,
    wording: str,
    size: int,
    clauses: tuple[_Clause, ...],
    query: _Clause | None,
    story: _Story,
) -> Statement | None:
    """Number the entities; None where the description mentions more than it announces, or the query
    two others.
    """
    size += sum(change.clause.startswith("join") for change in story.changes)
    names = list(
        dict.fromkeys(
            name for clause in (*clauses, *story.changes) for name in clause.names.values()
        )
    )
    index = {name: number for number, name in enumerate(names)}
    if (
        len(names) > size
        or sum(name not in index for name in (query.names.values() if query else ())) > 1
    ):
        return None
    all_clauses = (*clauses, *story.changes, *(() if story.seen is None else (story.seen,)))
    description = (
        *(_relation(clause, index) for clause in all_clauses),
        *(() if story.moment is None else (story.moment,)),
    )
    return Statement(
        problem_type,
        wording,
        size,
        tuple(names),
        description,
        _relation(query, index) if query else None,
    )


def _relation(clause: _Clause, index: dict[str, int]) -> worlds.Relation:
    at = {
        placeholder: index.get(name, worlds.UNKNOWN) for placeholder, name in clause.names.items()
    }
    name = clause.clause
    if name == "between":
        return worlds.is_between(at["m"], at["x"], at["y"])
    if name in worlds.UPDATES:
        return worlds.Relation(
            cast(worlds.Kind, name), tuple(at.values()) if len(at) == 1 else (at["x"], at["y"])
        )
    if name == "before":
        return worlds.before(at["x"], at["y"])
    if name == "after":
        return worlds.before(at["y"], at["x"])
    if name in ("first", "last"):
        return worlds.Relation("first" if name == "first" else "last", (at["x"],))
    if name in ("parallel", "perpendicular"):
        return worlds.Relation(
            "parallel" if name == "parallel" else "perpendicular", (at["x"], at["y"])
        )
    return worlds.Relation(
        "foreign", (at["x"], at["y"]) if name == "foreign before" else (at["y"], at["x"])
    )


def _moments_of(n_changes: int, words: StoryWords) -> dict[str, worlds.Relation | None]:
    """The moment that each sentence about one means."""
    every: list[worlds.Relation | None] = [
        None,
        *(worlds.Relation("at", (i,)) for i in range(n_changes)),
    ]
    every += [worlds.Relation("without", (i + 1,)) for i in range(n_changes)]
    return {render_moment(moment, n_changes, words): moment for moment in every}
