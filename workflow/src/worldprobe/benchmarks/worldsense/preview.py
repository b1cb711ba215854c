"""One trial of each problem in the words of a skin, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from worldprobe.benchmarks.worldsense.problems import cells, cores
from worldprobe.benchmarks.worldsense.skins import Skin, choose_skins, entities_needed
from worldprobe.benchmarks.worldsense.trial_maker import COLUMNS, Stratum, make_tuple, n_distinct
from worldprobe.benchmarks.worldsense.vocabulary import ANSWER_OF, LINEAR_PROBLEMS, WORDINGS
from worldprobe.benchmarks.worldsense.worlds import LARGEST, SMALLEST
from worldprobe.errors import UserError


def preview_skin(skins: Sequence[Skin], name: str, size: int, seed: int) -> str:
    """A trial of each problem that the skin can express, with its answer.

    Raises:
        UserError: no such skin, or a size that problems or the skin do not have.
    """
    (skin,) = choose_skins(skins, [name])
    if not SMALLEST <= size <= LARGEST:
        raise UserError("--size", f"{size} entities: problems have {SMALLEST} to {LARGEST}.", "Choose a size in this range.")
    if len(skin.entities) < entities_needed(size):
        raise UserError(
            "--size", f"{skin.name} has {len(skin.entities)} entities; size {size} needs one more.", "Choose a smaller size."
        )
    problems = ("Infer.parallel",) if skin.domain == "planar" else (*LINEAR_PROBLEMS, "Infer.extrema")
    shown = []
    for turn, problem in enumerate(problems):
        cell = next(cell for cell in reversed(cells((size,), (problem,))) if cores(cell))
        draw = seed % n_distinct(cell, len(skin.entities))
        rows = make_tuple(Stratum(cell, skin, WORDINGS[turn % 2]), draw, seed, 0)
        trial = dict(zip(COLUMNS, rows[0], strict=True))
        facts = f"{trial['description']} {trial['query']}, depth {trial['depth']}, worlds {trial['n_worlds']}"
        shown.append(f"== {problem}: {facts}\n{trial['text']}\n-> {ANSWER_OF[trial['gold']]}")
    return "\n\n".join(shown)
