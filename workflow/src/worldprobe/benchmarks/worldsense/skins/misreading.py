"""Skins whose texts can be misread: trials of each kind are rendered and read back, and must say what they were made from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from worldprobe.benchmarks.worldsense.problems.problems import cells, cores
from worldprobe.benchmarks.worldsense.problems.worlds import SMALLEST
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, LINEAR_PROBLEMS, WORDINGS
from worldprobe.benchmarks.worldsense.trials.audit import does_state
from worldprobe.benchmarks.worldsense.trials.reading import StatementReader
from worldprobe.benchmarks.worldsense.trials.trial_maker import COLUMNS, Stratum, make_tuple
from worldprobe.errors import UserError


def find_misreading(skin: Skin) -> UserError | None:
    """What is wrong with the first text of a skin that does not say, read by the skin's own words, what it was made from."""
    reader = StatementReader(skin)
    for trial in _trials(skin):
        try:
            read = reader.read(trial["text"])
            names = json.loads(trial["entities"])
            is_right = does_state(read, trial["problem"], trial["description"], trial["query"], names)
            problem = (
                "" if is_right and read.answer() == ANSWER_OF[trial["gold"]] else "a text says something else than it should."
            )
        except ValueError as error:
            problem = f"{error}."
        if problem:
            fix = "Reword the clauses, entities or questions in it."
            return UserError(skin.path, f"{problem} It is: {' '.join(trial['text'].split())}", fix)
    return None


def _trials(skin: Skin) -> Iterator[dict[str, Any]]:
    problems = ("Infer.parallel",) if skin.domain == "planar" else (*LINEAR_PROBLEMS, "Infer.extrema")
    size = max(SMALLEST, min(4, len(skin.entities) - entities_needed(0)))
    for cell in filter(cores, cells((size,), problems)):
        for draw, wording in enumerate(WORDINGS):
            for row in make_tuple(Stratum(cell, skin, wording), draw, seed=0, shift=0):
                yield dict(zip(COLUMNS, row, strict=True))
