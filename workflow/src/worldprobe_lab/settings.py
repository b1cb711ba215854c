"""Settings of series: keys of a study, of a model's card and of a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from worldprobe.engines import engine_names, find_engine
from worldprobe.settings import registry, study
from worldprobe.settings.blocks import Block, Count, Distinct, Finding, Text, Whole, absent

#: first-last/by
_RANGE = re.compile(r"(\d+)-(\d+)(?:/(\d+))?")


class Steps(Block):
    """Where the checkpoints of a training are, and what their numbers stand for."""

    revisions: Text | None = None
    """Revisions of a hub id, with {n} for the number, e.g. "step{n}"."""

    folders: Text | None = None
    """Folders below `checkpoint`, with {n} for the number, e.g. "chck_{n}M"."""

    unit: Text = "steps"
    """What is counted, after multiplication by `factor`; the label of the axis."""

    factor: Annotated[float, Field(gt=0)] = 1
    """What one of the numbers stands for, e.g. the tokens of a step."""


class Series(Steps):
    """The checkpoints of one training, whose learning curve a study draws (`series` of the
    study).
    """

    n: Distinct[Whole] = []
    """Numbers of the checkpoints in ascending order. Without any, and without `ranges`, they are
    those of the folders that are there.
    """

    ranges: Distinct[Text] = []
    """Further numbers; "1000-143000/1000" stands for every thousandth."""

    seeds: Distinct[Text] = []
    """The same training with other seeds: other cards with a series, hub ids or folders, or, for a
    control model, numbers in quotes. "{1-9}" stands for nine of them.
    """

    keep: bool = False
    """Whether weights from the hub stay on disk; otherwise each checkpoint's are deleted before the
    next are fetched.
    """

    def findings(self) -> Iterator[Finding]:
        """Patterns without a number, and numbers that are not in order."""
        if (self.revisions is None) == (self.folders is None):
            yield (), "needs either revisions or folders.", 'Write e.g. revisions: "step{n}".'
            return
        key = "revisions" if self.revisions else "folders"
        if str(self.revisions or self.folders).count("{n}") != 1:
            yield (key,), "must contain {n} once.", 'Write e.g. "step{n}".'
        if self.revisions and not (self.n or self.ranges):
            yield (
                ("n",),
                "is missing: revisions are not looked up on the hub.",
                "List the numbers of the checkpoints.",
            )
        try:
            numbers = self.numbers()
        except ValueError as error:
            yield ("ranges",), str(error), 'Write e.g. "1000-143000/1000".'
            return
        if any(later <= earlier for earlier, later in pairwise(numbers)):
            yield (
                ("n",),
                "the numbers are not in ascending order, or one is there twice.",
                "Sort them, and give each once.",
            )

    def numbers(self) -> list[int]:
        """The numbers that are stated, ranges written out.

        Raises:
            ValueError: a text is not a range.

        >>> Series(revisions="step{n}", n=[0, 512], ranges=["1000-3000/1000"]).numbers()
        [0, 512, 1000, 2000, 3000]
        """
        numbers = list(self.n)
        for text in self.ranges:
            match = _RANGE.fullmatch(text)
            if not match:
                raise ValueError(f'"{text}" is not a range.')
            first, last, by = (int(part or 1) for part in match.groups())
            if last < first or by < 1:
                raise ValueError(f'"{text}" contains no number.')
            numbers += range(first, last + 1, by)
        return numbers


class Card(registry.Card):
    """A card with a series."""

    series: Series | None = absent()
    """The checkpoints of the model's training, for learning curves
    (docs/extras/learning_curves.md).
    """

    def findings(self) -> Iterator[Finding]:
        """Also a series whose checkpoints cannot be found or made."""
        yield from super().findings()
        if self.series is None:
            return
        if self.adapter not in (None, "none") and not self.control:
            yield ("adapter",), "does nothing for a series.", "Remove it."
        if (
            self.engine in engine_names(self.kind)
            and not find_engine(self.engine, self.kind).is_released
        ):
            problem = f"the engine {self.engine} cannot load many checkpoints in one job."
            yield ("series",), problem, "Remove engine, or remove series."
        numbers = [] if any(self.series.findings()) else self.series.numbers()
        if self.control and not (self.series.folders and numbers):
            yield (
                ("series",),
                "a control model saves folders, at the steps that n lists.",
                "Give folders and n.",
            )
        elif self.control and numbers[-1] > self.control.steps:
            yield (
                ("series", "n"),
                f"there are only {self.control.steps} steps.",
                "Remove the later ones, or train longer.",
            )
        for number, seed in enumerate(self.series.seeds):
            if self.control and not re.fullmatch(r"\d+|\{\d+-\d+\}", seed):
                yield (
                    ("series", "seeds", number),
                    "is not the seed of a control model.",
                    'Write a number in quotes, or "{1-4}".',
                )


class SharedSettings(study.SharedSettings):
    """A study with series."""

    series: Distinct[str] = []
    """Models of the registry whose checkpoints are scored one after the other, for learning curves;
    their cards have a `series`.
    """

    onset_level: Annotated[float, Field(gt=0.5, lt=1)] | None = None
    """Accuracy that learning curves and layers must exceed for good. Null takes chance and the half
    width of each curve's band; such onsets cannot be compared with one another.
    """


class Site(study.Site):
    """A cluster that scores series."""

    checkpoints_per_job: Count | None = None
    """Number of checkpoints of a series that one job scores; null scores all in one job."""
