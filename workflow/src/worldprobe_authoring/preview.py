"""A trial of each problem in the words of a skin, for its author."""

from __future__ import annotations

from collections.abc import Sequence

from worldprobe.benchmarks.worldsense.problems.problems import cells, cores
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, MOVING, WORDINGS
from worldprobe.benchmarks.worldsense.trials.trial_maker import (
    COLUMNS,
    Stratum,
    make_tuple,
    n_distinct,
    problems_of,
)
from worldprobe.errors import UserError, did_you_mean


def preview_skin(skins: Sequence[Skin], name: str, size: int, seed: int) -> str:
    """A trial of each problem that the skin can express, with its answer.

    Raises:
        UserError: no such skin, or one with too few entities for the size.
    """
    by_name = {skin.name: skin for skin in skins}
    if name not in by_name:
        raise UserError(
            "--skin",
            f"{name!r} is not a skin{did_you_mean(name, by_name)}",
            f"Choose from {', '.join(by_name)}.",
        )
    skin = by_name[name]
    if len(skin.entities) < entities_needed(size):
        raise UserError(
            "--size",
            f"{skin.name} has {len(skin.entities)} entities; size {size} needs one more.",
            "Choose a smaller size.",
        )
    shown = []
    for turn, problem in enumerate(problems_of(skin)):
        known_cells = [cell for cell in cells((size,), (problem,)) if cores(cell)]
        if not known_cells:
            continue  # of this size, there is none
        cell = known_cells[len(known_cells) // 2 if problem in MOVING else -1]
        draw = seed % n_distinct(cell, len(skin.entities))
        rows = make_tuple(Stratum(cell, skin, WORDINGS[turn % 2]), draw, seed, 0)
        trial = dict(zip(COLUMNS, rows[0], strict=True))
        facts = (
            f"{trial['description']} {trial['query']}, depth {trial['depth']}, worlds"
            f" {trial['n_worlds']}"
        )
        shown.append(f"== {problem}: {facts}\n{trial['text']}\n-> {ANSWER_OF[trial['gold']]}")
    return "\n\n".join(shown)
