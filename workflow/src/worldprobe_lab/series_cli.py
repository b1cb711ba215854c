"""``series``: the checkpoints of a training, scored one after the other, and the curves that they
make.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App

from worldprobe import methods
from worldprobe.cli.engines import Model, ModelOptions
from worldprobe.cli.options import KEYS, Seed, answered, between, missing_models
from worldprobe.errors import MachineError, UserError, did_you_mean, lack_of_memory
from worldprobe.extensions import load
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import NO_ADAPTER
from worldprobe.settings.blocks import Block
from worldprobe_lab.settings import Series, Steps

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.log import Progress
    from worldprobe.models.engine import Engine
    from worldprobe_lab.series import SeriesStep

app = App(
    name="series", help="Score the checkpoints of a training run, and compute its learning curves."
)

#: Version of ``series curves``.
CURVES = 3


class Training(Block):
    """Of which training checkpoints are, and what becomes of their weights."""

    series: str | None = None
    """Name of the trainings that differ in their seed alone; by default the model's."""

    training_seed: str = "one"
    """Name of the training's seed."""

    fetch: bool = False
    """Download checkpoints that are not on this machine, one at a time, and delete each before the
    next.
    """

    keep_weights: bool = False
    """Delete no checkpoint."""


@app.command(name="score")
def score_(
    benchmark: str,
    items: list[Path],
    /,
    *,
    model: ModelOptions,
    steps: Annotated[Steps, KEYS] = Steps(),
    numbers: Annotated[Sequence[int], between(0, 10**15)] = (),
    training: Annotated[Training, KEYS] = Training(),
    prompting: Sequence[str] = (),
    part: bool = False,
    out: Path,
) -> None:
    """Score the checkpoints of one training, one after the other.

    What was scored is kept next to the answers: a run that was stopped goes on, and a further
    checkpoint costs one checkpoint. A checkpoint that cannot be loaded is named and left out; where
    memory, disk or a connection lacks, the series stops.

    Args:
        benchmark: whose items they are
        items: tables of items, or of trials
        numbers: what stands for {n} (default: the numbers of the folders that are there)
        prompting: WorldSense: prompt sets
        part: these are some of the training's checkpoints: where none can be scored, the table has
            no rows
        out: checkpoint_scores table
    """
    import pandas as pd

    from worldprobe.contracts import typed, write_table
    from worldprobe.log import Progress
    from worldprobe.provenance import digests, made
    from worldprobe.settings import Source, parse
    from worldprobe_lab.contracts import CheckpointScores
    from worldprobe_lab.series import LEARNING, find_places

    if benchmark not in LEARNING:
        problem = f"there is no such benchmark{did_you_mean(benchmark, LEARNING)}"
        raise UserError(f"series score {benchmark}", problem, f"Choose from {', '.join(LEARNING)}.")
    if model.adapter not in (None, NO_ADAPTER):
        raise UserError(
            "--adapter", "would be put on every checkpoint of the series.", "Leave it out."
        )
    name, learning = model.name, load(LEARNING[benchmark])
    stated = {**steps.model_dump(), "n": list(numbers)}
    checkpoints = find_places(model.checkpoint, parse(Series, stated, [Source("series", stated)]))
    # Released sets of WorldSense differ in their folders alone.
    inputs = digests(
        {
            path.name if len(items) == 1 else f"{path.parent.name}/{path.name}": path
            for path in items
        }
    )
    measure = learning.prepare(items, prompting)
    kept = Checkpoints(
        model,
        [methods.CHECKPOINTS, benchmark, learning.method, list(prompting), inputs],
        out,
        training,
    )
    tables: list[pd.DataFrame] = []
    left_out: dict[str, str] = {}
    with Progress(
        f"Scoring checkpoints of {name} ({benchmark})", len(checkpoints), "checkpoints"
    ) as progress:
        for step in checkpoints:
            with leaving_out(left_out, str(step.number), name, progress):
                cells = kept.score(step, measure, f"{name}, {step.step:g}", progress)
                tables.append(cells.assign(step=float(step.step)))

    if not tables and not part:
        raise nothing_scored(name, left_out)
    scores = typed([], CheckpointScores)
    if tables:
        scores = pd.concat(tables, ignore_index=True).assign(
            series=training.series or name, model=name, seed=training.training_seed
        )
    details = {
        "benchmark": benchmark,
        "series": training.series or name,
        "training_seed": training.training_seed,
        "unit": steps.unit,
        "checkpoints": len(checkpoints),
        "left_out": left_out,
        "weights": kept.weights,
    }
    if people := learning.people(items):
        details["people"] = people
    made_here = made(
        methods.CHECKPOINTS,
        packages=["numpy", "pandas"],
        digests=inputs,
        model=name,
        dtype=model.dtype,
        details=details,
    )
    write_table(scores[list(CheckpointScores.columns)], CheckpointScores, out, made_here)


@contextmanager
def leaving_out(
    left_out: dict[str, str], checkpoint: str, name: str, progress: Progress, units: int = 1
) -> Iterator[None]:
    """Name a checkpoint that cannot be scored, and leave it out; where memory, disk or a connection
    lacks, stop.

    Args:
        left_out: checkpoint -> what is wrong with it.
        checkpoint: as it is named.
        name: of the model.
        progress: counts it.
        units: that it has.
    """
    try:
        yield
    except MachineError:
        raise
    except UserError as error:
        if lacking := lack_of_memory(error):
            raise lacking from error
        LOGGER.warning(
            "checkpoint %s of %s is left out: %s %s", checkpoint, name, error.where, error.problem
        )
        left_out[checkpoint] = error.problem
        progress.advance(units)


def nothing_scored(name: str, left_out: Mapping[str, str]) -> UserError:
    """None of a model's checkpoints can be scored."""
    problem = f"none of its {len(left_out)} checkpoints can be scored."
    return UserError(name, problem, f"The first: {next(iter(left_out.values()))}")


class Checkpoints:
    """Scores of checkpoints, on disk next to the answers under all that can change them.

    A checkpoint of the hub is known by its commit, any other by the digest of its files:
    ``weights`` has that of each that was scored, by its number.

    Args:
        model: how each checkpoint is loaded.
        asked: what each is asked, as plain values.
        out: the table, which says where answers are if the options do not.
        training: whether checkpoints that are not here are downloaded, and deleted again.
        opened: loads a model, where that is not as for every other command.
    """

    def __init__(
        self,
        model: Model,
        asked: list[Any],
        out: Path,
        training: Training,
        opened: Callable[[Model], Engine] | None = None,
    ) -> None:
        from worldprobe_lab.series import Revisions

        self.model, self.opened = model, opened
        self.answers = model.answers or out.parent / ".answers"
        self.folder = self.answers / "checkpoints"
        kept = (training.fetch, training.keep_weights)
        trust = (model.allow_pickle, model.trust_remote_code)
        self.revisions = Revisions(model.checkpoint, self.folder, *kept, *trust)
        how = [model.engine, model.kind, model.pseudo, model.dtype, model.bos, model.plain]
        self.asked = [*asked, *how]
        self.weights: dict[str, str] = {}

    def score(
        self, place: SeriesStep, measure: Any, name: str, progress: Progress, units: int = 1
    ) -> pd.DataFrame:
        """The scores of a checkpoint, as ``measure`` gives them: kept, or computed and kept; its
        units are counted.

        Raises:
            MachineError: it cannot be fetched, or memory or disk lacks.
            UserError: it is not there, not whole, or cannot be scored.
        """
        import pandas as pd

        from worldprobe.files import whole_file
        from worldprobe.models.checkpoint import locate

        if place.revision is None:
            trust = (self.model.allow_pickle, self.model.trust_remote_code)
            weights = locate(
                place.checkpoint, None, *trust, self.model.kind, self.model.adapter
            ).digest()
        else:
            weights = self.revisions.commit(place.revision)
        if self._is_kept(weights):
            progress.skip(units)
        else:
            with (
                self.revisions.at_hand(place.revision) if place.revision else nullcontext(None)
            ) as commit:
                weights = commit or weights
                if not self._is_kept(weights):
                    model = self.model.model_copy(
                        update={"checkpoint": place.checkpoint, "revision": commit or "main"}
                    )
                    cells = self._measured(model, measure, name)
                    with whole_file(self._path(weights)) as temporary:
                        cells.to_parquet(temporary)
            progress.advance(units)
        self.weights[str(place.number)] = weights
        return pd.read_parquet(self._path(weights))

    def _measured(self, model: Model, measure: Any, name: str) -> pd.DataFrame:
        from worldprobe.inference.store import open_store

        since = time.monotonic()
        engine = self.opened(model) if self.opened else model.open()
        store = open_store(self.answers, engine, since=since, kept_since=self.model.kept_since)
        cells: pd.DataFrame = measure(engine, store, name)
        if cells.empty:
            raise UserError(
                model.checkpoint,
                "gives no finite score: its weights are not those of a working model.",
                "Train it.",
            )
        return cells

    def _path(self, weights: str) -> Path:
        key = hashlib.sha256(
            json.dumps([weights, *self.asked], sort_keys=True).encode()
        ).hexdigest()[:32]
        return self.folder / f"{key}.parquet"

    def _is_kept(self, weights: str) -> bool:
        path = self._path(weights)
        return path.is_file() and path.stat().st_mtime >= self.model.kept_since


@app.command(name="curves")
def curves_(
    scores: list[Path],
    /,
    *,
    level: Annotated[float | None, between(0, 1)] = None,
    seed: Seed = 0,
    onsets_out: Path,
    agreements_out: Path,
    out: Path,
) -> None:
    """Compute learning curves with bands, and from where on they exceed a level for good.

    How far trainings agree on the order of groups is computed as well.

    Args:
        scores: checkpoint_scores tables of one benchmark
        level: accuracy from which something counts as learned (default: chance and the half width
            of the curve's band, with which onsets of different curves are not comparable)
        onsets_out: onsets table
        agreements_out: order_agreements table
        out: curves table
    """
    import pandas as pd

    from worldprobe.contracts import read_provenance, read_tables, write_table
    from worldprobe.provenance import TOO_LITTLE, made
    from worldprobe_lab.contracts import CheckpointScores, Curves, Onsets, OrderAgreements
    from worldprobe_lab.curves import agree_on_order, trace
    from worldprobe_lab.series import LEARNING

    scores, without = answered(scores)
    rows_of_all = read_tables(scores, CheckpointScores, allow_empty=True)
    made_by = [read_provenance(path) for path in scores]
    facts = [fact.details for fact in made_by]
    left_out: dict[str, dict[str, str]] = {}
    scored = {*zip(rows_of_all["series"].astype(str), rows_of_all["seed"].astype(str), strict=True)}
    for part in made_by:  # a training may have several tables, some of them without rows
        if part.details.get("left_out"):
            left_out.setdefault(str(part.model), {}).update(part.details["left_out"])
            training = (part.details["series"], part.details.get("training_seed"))
            if training[1] is not None and training not in scored:
                first = next(iter(part.details["left_out"].values()))
                problem = f"none of the checkpoints of its seed {training[1]} can be scored."
                raise UserError(f"series {training[0]}", problem, f"The first: {first}")
    names = {str(fact.get("benchmark")) for fact in facts}
    if len(names) != 1:
        raise UserError(
            scores[0], f"and others are of {len(names)} benchmarks.", "Give the tables of one."
        )
    units: dict[str, set[str]] = {}
    for fact in facts:
        units.setdefault(str(fact["series"]), set()).add(str(fact["unit"]))
    benchmark = names.pop()
    over = facts[0].get("over") or (
        dict(load(LEARNING[benchmark]).over) if benchmark in LEARNING else {}
    )
    traced = []
    for series, rows in rows_of_all.groupby("series", observed=True, sort=True):
        if len(units[str(series)]) != 1:
            problem = f"has several units: {', '.join(sorted(units[str(series)]))}."
            raise UserError(f"series {series}", problem, "Score it with one --unit.")
        traced.append(trace(rows, units[str(series)].pop(), over, level, seed))
    traced = traced or [trace(rows_of_all, "", over)]
    curves, onsets = (pd.concat(tables, ignore_index=True) for tables in zip(*traced, strict=True))
    agreements = agree_on_order(onsets, rows_of_all, seed)
    details: dict[str, Any] = {"left_out": left_out} if left_out else {}
    details |= missing_models((), {str(part.model) for part in made_by}, without)
    if facts[0].get("people") and all(fact.get("people") == facts[0]["people"] for fact in facts):
        details["people"] = facts[0]["people"]
    made_here = made(
        CURVES,
        {str(path): path for path in scores},
        ["numpy", "pandas", "scipy"],
        seed=seed,
        details=details,
    )
    why = "No checkpoint has a score." if curves.empty else "Only one training has a curve."
    without_rows = replace(made_here, details={**details, TOO_LITTLE: why})
    for table, contract, path in (
        (agreements, OrderAgreements, agreements_out),
        (onsets, Onsets, onsets_out),
        (curves, Curves, out),
    ):
        write_table(table, contract, path, without_rows if table.empty else made_here)
