"""The sets: what each consists of, and its trials in order, as a stream (paper, Section 3.4, 5.4
and Appendix A).

Every set is a sequence of rounds. A round contains one tuple of each block (problem, size,
complexity, skin, wording), so that any number of whole rounds is balanced; a larger set begins with
the smaller. Where a block has both binary and ternary queries they take turns. Any subset of sizes,
problems, skins or rounds has trials of the whole set, unchanged.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from multiprocessing import get_context
from typing import Any

import pandas as pd

from worldprobe.analysis.sampling import stratified
from worldprobe.benchmarks.worldsense.problem_families import SetPlan
from worldprobe.benchmarks.worldsense.problems.problems import Cell, cells, cores
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    MOVING,
    PLANS,
    PROBLEMS,
    WORDINGS,
    answers_of,
)
from worldprobe.benchmarks.worldsense.trials.trial_maker import (
    COLUMNS,
    Stratum,
    make_tuple,
    n_distinct,
)
from worldprobe.errors import UserError, did_you_mean
from worldprobe.processes import end_with_the_command, was_killed

#: Trials made at a time; the same for any number of processes, so that files have the same bytes.
TRIALS_PER_BATCH = 20_000


@dataclass(frozen=True)
class TrialBlock:
    """One problem, size, complexity, skin and wording, with the query forms it has.

    Attributes:
        cells: one for each query form that is not empty.
        skin: the words.
        wording: the question's wording.
        ordinal: place among the skins and wordings of the whole set.
        is_training: whether the set is for training, or asks what is trained on.
    """

    cells: tuple[Cell, ...]
    skin: Skin
    wording: str
    ordinal: int
    is_training: bool

    @property
    def key(self) -> tuple[tuple[Any, ...], str, str]:
        """Problem, size and complexity; skin; wording."""
        return tuple(self.cells[0][:3]), self.skin.name, self.wording

    def stratum(self, turn: int, spread: int) -> tuple[Stratum, int, int]:
        """Where the tuple of a round is drawn: the stratum, the number of the draw, the shift (see
        ``make_tuple``).
        """
        n_forms = len(self.cells)
        cell = self.cells[(turn + self.ordinal) % n_forms]
        return (
            Stratum(cell, self.skin, self.wording, self.is_training),
            turn // n_forms,
            self.ordinal * spread // n_forms,
        )


def plan_set(
    name: str,
    sizes: Sequence[int] = (),
    problems: Sequence[str] = (),
    per_cell: int | None = None,
) -> SetPlan:
    """The plan of a set or of a subset.

    Raises:
        UserError: no such set, or a problem that the set does not have.
    """
    if name not in PLANS:
        raise UserError(
            "SET",
            f"{name!r} is not a set{did_you_mean(name, PLANS)}",
            f"Choose one of {', '.join(PLANS)}.",
        )
    plan = PLANS[name]
    for problem in problems:
        if problem not in plan.problems:
            nearest = did_you_mean(problem, plan.problems)
            raise UserError(
                "--problems",
                f"{problem!r} is not a problem of {name}{nearest}",
                f"Choose from {', '.join(plan.problems)}.",
            )
    return replace(
        plan,
        sizes=tuple(sorted(set(sizes))) or plan.sizes,
        problems=tuple(p for p in plan.problems if p in problems) or plan.problems,
        per_cell=per_cell or plan.per_cell,
    )


def blocks_of(plan: SetPlan, skins: Sequence[Skin], chosen: Sequence[str] = ()) -> list[TrialBlock]:
    """The blocks of a set.

    Args:
        plan: the set.
        skins: all skins there are.
        chosen: names of those to use; all of the set's where it is empty.

    Raises:
        UserError: the set cannot be balanced with these skins.
    """
    usable = [skin for skin in skins if skin.use == plan.use]
    selected = _select_skins(plan, usable, chosen)
    by_block: dict[tuple[str, int, int], list[Cell]] = {}
    for cell in cells(plan.sizes, plan.problems):
        if cores(cell) and (not plan.complexities or cell.complexity in plan.complexities):
            by_block.setdefault(cell[:3], []).append(cell)
    if not by_block:
        sizes = ", ".join(map(str, plan.sizes))
        fix = (
            f"Choose others; the whole set has sizes {', '.join(map(str, PLANS[plan.name].sizes))}."
        )
        raise UserError(
            "--sizes, --problems", f"{plan.name} has no such problems of size {sizes}.", fix
        )
    blocks = []
    is_training = plan.stream.startswith("train")
    for block_cells in by_block.values():
        for number, skin in enumerate(usable):
            for turn, wording in enumerate(WORDINGS):
                if skin in selected:
                    blocks.append(
                        TrialBlock(
                            tuple(block_cells), skin, wording, _ordinal(number, turn), is_training
                        )
                    )
    for block in blocks:
        _check_room(block, plan)
    return blocks


def _select_skins(plan: SetPlan, usable: Sequence[Skin], chosen: Sequence[str]) -> list[Skin]:
    for name in chosen:
        if name not in {skin.name for skin in usable}:
            nearest = did_you_mean(name, [skin.name for skin in usable])
            fix = f"Choose from {', '.join(skin.name for skin in usable)}."
            raise UserError(
                "--skins", f"{name!r} is not a skin of the set {plan.name}{nearest}", fix
            )
    selected = [skin for skin in usable if not chosen or skin.name in chosen]
    _check_balance(plan, selected)
    for skin in selected:
        if not skin.motion and set(plan.problems) & set(MOVING):
            raise UserError(
                f"skin {skin.name}",
                "does not say how things change.",
                "Add the key `motion` to its file, or leave the skin out.",
            )
    return selected


def count_trials(plan: SetPlan, blocks: Sequence[TrialBlock]) -> int:
    """Number of trials of a set with these blocks."""
    return plan.per_cell * sum(len(answers_of(block.cells[0].problem)) for block in blocks)


def sample_blocks(blocks: list[TrialBlock], trials: int) -> list[TrialBlock]:
    """The blocks of a sample that stands for all: of every problem at least one, otherwise in
    proportion; where there are fewer than problems, of so many.

    Args:
        blocks: of the whole set.
        trials: number of trials of one round, at most.
    """
    sizes = [len(answers_of(block.cells[0].problem)) for block in blocks]
    problems = [block.cells[0].problem for block in blocks]
    keys, size = [repr(block.key) for block in blocks], trials * len(sizes) // sum(sizes)
    mask = stratified(problems, keys, size, of_each=False)
    return [block for block, is_chosen in zip(blocks, mask, strict=True) if is_chosen]


def stream_set(
    plan: SetPlan, blocks: Sequence[TrialBlock], seed: int, processes: int = 1
) -> Iterator[pd.DataFrame]:
    """The trials of a set in order, a batch of some ten thousand at a time; the same for any number
    of processes.
    """
    per_round = count_trials(plan, blocks) // plan.per_cell
    step = max(1, TRIALS_PER_BATCH // per_round)
    bounds = [*range(0, plan.per_cell, step), plan.per_cell]
    make = partial(_make_rounds, plan, list(blocks), seed)
    first = 0
    if processes == 1:
        batches = map(make, pairwise(bounds))
        for batch in batches:
            yield _number(batch, first)
            first += len(batch)
        return
    # An executor, not a Pool: a Pool waits for ever where a process was killed.
    with ProcessPoolExecutor(processes, get_context("spawn"), end_with_the_command) as executor:
        waiting: deque[Future[pd.DataFrame]] = deque()
        left = pairwise(bounds)
        try:
            while True:
                # A few batches ahead only: memory does not grow with the set where writing is
                # slower than making.
                waiting += [
                    executor.submit(make, part)
                    for part in islice(left, processes + 1 - len(waiting))
                ]
                if not waiting:
                    return
                batch = waiting.popleft().result()
                yield _number(batch, first)
                first += len(batch)
        except BrokenProcessPool as error:
            raise was_killed() from error


def choose_samples(trials: pd.DataFrame) -> pd.DataFrame:
    """A trial of each problem: of a skin and with an answer that the problems before it have least,
    and of these the first.

    Args:
        trials: contracts.Trials, at least number, problem, skin and gold.
    """
    chosen, seen = [], Counter[str]()
    for problem in (name for name in PROBLEMS if name in set(trials["problem"])):
        rows = trials[trials["problem"] == problem].sort_values("number")
        rows = rows.drop_duplicates(["skin", "gold"])
        pairs = list(zip(rows["skin"], rows["gold"], strict=True))
        best = min(range(len(rows)), key=lambda row: sum(seen[pair] for pair in pairs[row]))
        seen.update(pairs[best])
        chosen.append(rows.index[best])
    return trials.loc[chosen].reset_index(drop=True)


def _ordinal(skin: int, wording: int) -> int:
    return len(WORDINGS) * skin + wording


def _number(batch: pd.DataFrame, first: int) -> pd.DataFrame:
    batch.insert(0, "number", range(first, first + len(batch)))
    return batch


def _make_rounds(
    plan: SetPlan, blocks: list[TrialBlock], seed: int, bounds: tuple[int, int]
) -> pd.DataFrame:
    rows = []
    for turn in range(*bounds):
        for block in sorted(blocks, key=partial(_rank, seed, turn)):
            stratum, draw, shift = block.stratum(turn, plan.spread)
            rows += make_tuple(stratum, draw, seed, shift)
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame["span"] = frame["span"].astype("Int64")
    return frame


def _rank(seed: int, turn: int, block: TrialBlock) -> bytes:
    """Orders the blocks of a round at random, in a subset of blocks as in the whole set."""
    name = repr((seed, turn, *block.key))
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


def _check_balance(plan: SetPlan, skins: Sequence[Skin]) -> None:
    if not skins:
        raise UserError(
            "--skins",
            f"there is no skin for the set {plan.name}.",
            f"Add one with `use: {plan.use}`.",
        )
    per_domain = pd.Series([skin.domain for skin in skins]).value_counts()
    if per_domain.nunique() > 1:
        counts = ", ".join(f"{domain} {n}" for domain, n in sorted(per_domain.items()))
        problem = (
            f"the set {plan.name} cannot be balanced over domains with these skins ({counts})."
        )
        raise UserError(
            "--skins", problem, "Name as many skins of each domain, or of one domain only."
        )
    needed = entities_needed(max(plan.sizes))
    for skin in skins:
        if len(skin.entities) < needed:
            problem = f"has {len(skin.entities)} entities; size {max(plan.sizes)} needs {needed}."
            raise UserError(f"skin {skin.name}", problem, "Add entities, or choose smaller sizes.")


def _check_room(block: TrialBlock, plan: SetPlan) -> None:
    needed = -(-plan.per_cell // len(block.cells))
    for cell in block.cells:
        room = n_distinct(cell, len(block.skin.entities), is_training=block.is_training)
        if needed > room:
            problem = (
                f"{cell.problem}, size {cell.size}, with the skin {block.skin.name} has {room:,}"
                " different tuples; "
            )
            raise UserError(
                "--per-cell", f"{problem}{needed:,} are asked for.", "Ask for fewer, or add skins."
            )
