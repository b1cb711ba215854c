"""Whether texts say what they were made from: each is read back in the words of its skin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from worldprobe.benchmarks.worldsense.inference.reference_solvers import Statement
from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.problems.problems import cells, cores
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, WORDINGS, problem_type
from worldprobe.benchmarks.worldsense.trials.trial_maker import (
    COLUMNS,
    Stratum,
    make_tuple,
    problems_of,
)
from worldprobe.errors import UserError
from worldprobe_authoring.statements import StatementReader


def does_state(
    read: Statement, problem: str, description: str, query: str, entities: list[str]
) -> bool:
    """Whether a text states, under the entities' names, what the abstract fields say."""
    if (
        read.problem_type != problem_type(problem)
        or read.size != len(entities)
        or not set(read.names) <= set(entities)
    ):
        return False
    names = [entities.index(entity) for entity in read.names]
    if [worlds.normalise(worlds.rename(r, names)) for r in read.description] != list(
        map(worlds.normalise, worlds.read_description(description))
    ):
        return False
    return read.query is None or worlds.normalise(
        worlds.rename(read.query, names)
    ) == worlds.normalise(worlds.read_relation(query))


def find_misreading(skin: Skin) -> UserError | None:
    """Fault in the first text of a skin that, read by the skin's own words, does not say what it
    was made from.
    """
    reader = StatementReader(skin)
    for trial in _trials(skin):
        try:
            read = reader.read(trial["text"])
            names = json.loads(trial["entities"])
            is_right = does_state(
                read, trial["problem"], trial["description"], trial["query"], names
            )
            problem = (
                ""
                if is_right and read.answer() == ANSWER_OF[trial["gold"]]
                else "a text says something else than it should."
            )
        except ValueError as error:
            problem = f"{error}."
        if problem:
            fix = "Reword the clauses, entities or questions in it."
            return UserError(skin.path, f"{problem} It is: {' '.join(trial['text'].split())}", fix)
    return None


def _trials(skin: Skin) -> Iterator[dict[str, Any]]:
    size = max(worlds.SMALLEST, min(4, len(skin.entities) - entities_needed(0)))
    for cell in filter(cores, cells((size,), problems_of(skin))):
        for draw, wording in enumerate(WORDINGS):
            for row in make_tuple(Stratum(cell, skin, wording), draw, seed=0, shift=0):
                yield dict(zip(COLUMNS, row, strict=True))
