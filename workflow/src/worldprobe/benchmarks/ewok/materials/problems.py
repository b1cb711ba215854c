"""What is wrong with materials: collected, so that a writer sees everything at once, then raised or logged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from worldprobe.errors import UserError, printable


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
