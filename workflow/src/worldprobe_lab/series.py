"""Series of checkpoints: where each checkpoint of a training is, and the same training with other
seeds.

Those on a hub are revisions of one model: each is fetched, used and deleted again; what was here
before stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.errors import MachineError, UserError, did_you_mean
from worldprobe.extensions import load
from worldprobe.files import locked, write_text
from worldprobe.models import checkpoint as hub
from worldprobe.models.checkpoint import folder_of
from worldprobe.operations.rehearsal import STEPS
from worldprobe.paths import StudyPaths
from worldprobe.settings.registry import Control
from worldprobe_lab.contracts import ONE_SEED
from worldprobe_lab.settings import Series

NUMBER = "{n}"
#: Between the id of a card and a seed.
SEED = ".seed-"
#: Benchmark -> how checkpoints are scored in it.
LEARNING = {name: f"worldprobe_lab.{name}_series:LEARNING" for name in ("ewok", "worldsense")}


@dataclass(frozen=True)
class Learning:
    """How the checkpoints of a training are scored in one benchmark; ``worldprobe series`` does the
    rest.

    Attributes:
        items: study -> the tables whose items checkpoints are asked about.
        options: study -> the prompt sets that ask, if any.
        prepare: paths of such tables, prompt sets -> a function of an engine, a store of answers
            and the model's name, which asks and gives mean scores by cell
            (``curves.to_cells``), with eval_type.
        over: grouping -> what its intervals take as random factors.
        method: what a higher number asks again.
        people: paths of such tables -> people's published means on exactly these items, if there
            are any: plain values with grouping, group, mean, low and high.
    """

    items: Callable[[Study], list[str]]
    options: Callable[[Study], list[str]]
    prepare: Callable[[Sequence[Path], Sequence[str]], Callable[[Any, Any, str], Any]]
    over: Mapping[str, str]
    method: str
    people: Callable[[Sequence[Path]], list[dict[str, Any]]] = lambda _paths: []


def with_series(study: Study) -> dict[str, Learning]:
    """The benchmarks in which a study's series of checkpoints are scored, and how."""
    return {
        name: load(LEARNING[name])
        for name in study["benchmarks"]
        if study["series"] and name in LEARNING
    }


def outputs(study: Study) -> list[str]:
    """Tables computed from the scores of a study's checkpoints."""
    return [
        f"{StudyPaths.of(study).benchmark(benchmark)}/{name}.parquet"
        for benchmark in with_series(study)
        for name in ("curves", "onsets", "order_agreements")
    ]


@dataclass(frozen=True)
class SeriesStep:
    """A checkpoint.

    Attributes:
        number: what stands for {n}.
        step: the number in the unit of the series.
        checkpoint: folder, or hub id.
        revision: of the hub id.
    """

    number: int
    step: float
    checkpoint: str
    revision: str | None = None


def find_places(checkpoint: str, series: Series) -> list[SeriesStep]:
    """The checkpoints of a training, in order.

    Args:
        checkpoint: hub id, or the folder that the checkpoints are in.
        series: which they are.

    Raises:
        UserError: no checkpoint, or two folders of one number.
    """
    numbers = series.numbers()
    if series.revisions:
        return [
            SeriesStep(n, n * series.factor, checkpoint, series.revisions.replace(NUMBER, str(n)))
            for n in numbers
        ]
    folders = str(series.folders)
    names = _folders_below(Path(os.path.expanduser(checkpoint)), folders)
    chosen = numbers or sorted(names)
    if not chosen:
        raise UserError(
            checkpoint, f"contains no folder {folders}.", "Correct the path or the pattern."
        )
    if twice := next((names[n] for n in chosen if len(names.get(n, ())) > 1), None):
        raise UserError(
            checkpoint,
            f"{' and '.join(twice)} have the same number.",
            "Rename or remove all but one.",
        )
    root = checkpoint.rstrip("/")
    return [
        SeriesStep(
            n, n * series.factor, f"{root}/{names.get(n, [folders.replace(NUMBER, str(n))])[0]}"
        )
        for n in chosen
    ]


def _folders_below(root: Path, pattern: str) -> dict[int, list[str]]:
    """Number -> the folders that have it: those that are padded with zeros (step_000100) have
    theirs, too.
    """
    before, after = map(re.escape, pattern.split(NUMBER))
    by_step: dict[int, list[str]] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if (match := re.fullmatch(f"{before}([0-9]+){after}", path.name)) and path.is_dir():
            by_step.setdefault(int(match[1]), []).append(path.name)
    return by_step


def places_of(card: Mapping[str, Any]) -> list[SeriesStep]:
    """The checkpoints of a card with a series.

    Raises:
        UserError: there is none.
    """
    return find_places(card["checkpoint"], Series.model_validate(card["series"]))


def trainings(study: Mapping[str, Any], registry: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The trainings of a study's series, each seed one, in order."""
    return [
        model
        for model, card in registry.items()
        if card.get("series_of") in study.get("series", ())
    ]


def parts_of(
    study: Study, registry: Registry, size: int | None
) -> dict[str, list[list[SeriesStep]]]:
    """Training -> its checkpoints, in as many parts as there are jobs.

    Args:
        study: a validated study.
        registry: model id -> card.
        size: checkpoints of a job; None: all.

    >>> study = {"benchmarks": ["ewok"], "series": ["pythia"]}
    >>> series = {"revisions": "step{n}", "n": [1, 2, 4]}
    >>> card = {"series_of": "pythia", "checkpoint": "me/pythia", "series": series}
    >>> [[place.number for place in part] for part in parts_of(study, {"a": card}, 2)["a"]]
    [[1, 2], [4]]
    >>> parts_of(study | {"series": []}, {"a": card}, None)
    {}
    """
    parts = {}
    for model in trainings(study, registry) if with_series(study) else []:
        checkpoints = places_of(registry[model])
        step = size or len(checkpoints)
        parts[model] = [
            checkpoints[start : start + step] for start in range(0, len(checkpoints), step)
        ]
    return parts


def rehearse(study: dict[str, Any], registry: dict[str, dict[str, Any]]) -> None:
    """Cut series to the first steps of trainings of our own, in place: those of control models are
    theirs, which all are cut; the study's others are those of control models in their place.
    """
    for model, card in registry.items():
        if not card.get("series") or not (card.get("control") or model in study["series"]):
            continue
        series = card["series"]
        if not card.get("control"):
            card |= {"control": Control(steps=STEPS).model_dump(), "checkpoint": None}
            series["seeds"] = [str(number) for number in range(1, len(series["seeds"][:2]) + 1)]
        n_checkpoints = len(Series.model_validate(series).numbers()) or STEPS + 1
        series |= {"revisions": None, "folders": series["folders"] or f"step{NUMBER}", "ranges": []}
        series["n"] = list(range(min(n_checkpoints, STEPS + 1)))


def add_trainings(
    study: Mapping[str, Any], registry: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The registry with a card for each training of the study's series; ``series_of`` and ``seed``
    say which it is.

    Raises:
        UserError: no such model, one without a series, a seed that is none, or a training that is
            there twice; or a gap in one (``check_trainings``).
    """
    cards = {model: dict(card) for model, card in registry.items()}
    for model in study.get("series", ()):
        if model not in registry or not registry[model].get("series"):
            problem = f"{model} " + (
                "has no series in the registry."
                if model in registry
                else f"is not in the registry{did_you_mean(model, registry)}"
            )
            raise UserError("series", problem, "Name a model whose card has a series.")
        card = cards[model]
        seeds = [
            seed_number for seed in card["series"]["seeds"] for seed_number in _written_out(seed)
        ]
        first = (
            str(card["control"].get("seed", study["controls"]["seed"]))
            if card.get("control")
            else "0"
            if seeds
            else ONE_SEED
        )
        trainings = [(model, card | {"series_of": model, "seed": first})]
        trainings += [
            _seed_card(model, card, seed, number, registry, first)
            for number, seed in enumerate(seeds, 1)
        ]
        taken: dict[Any, str] = {}
        for name, training in trainings:
            series = training["series"]
            checkpoint = (
                name
                if card.get("control")
                else (training["checkpoint"], series["revisions"], series["folders"])
            )
            twice = (
                f"is a training of {cards[name]['series_of']} already."
                if "series_of" in cards.get(name, ())
                else ""
            )
            if checkpoint in taken:
                twice = f"has the checkpoints of {taken[checkpoint]}."
            if twice:
                fix = "Give each training once, in one series: counted twice it agrees with itself."
                raise UserError(f"series {model}, seeds", f"{name} {twice}", fix)
            cards[name], taken[checkpoint] = training, name
    check_trainings(study, cards)
    return cards


def _seed_card(
    model: str,
    card: Mapping[str, Any],
    seed: str,
    number: int,
    registry: Mapping[str, Mapping[str, Any]],
    first: str,
) -> tuple[str, dict[str, Any]]:
    """Id and card of the same training with another seed."""
    where = f"series {model}, seeds"
    if card.get("control"):
        if seed == first:
            raise UserError(where, f"{seed} is the seed of {model} itself.", "Leave it out.")
        return f"{model}{SEED}{seed}", {
            **card,
            "control": {**card["control"], "seed": int(seed)},
            "series_of": model,
            "seed": seed,
        }
    if seed in registry:
        if not registry[seed].get("series"):
            raise UserError(where, f"{seed} has no series.", "Add one to its card.")
        return seed, {**registry[seed], "series_of": model, "seed": str(number)}
    return f"{model}{SEED}{number}", {
        **card,
        "checkpoint": seed,
        "series_of": model,
        "seed": str(number),
    }


def _written_out(seed: str) -> list[str]:
    """A seed, or, of a pattern, all of them.

    >>> _written_out("me/model-seed{1-3}")
    ['me/model-seed1', 'me/model-seed2', 'me/model-seed3']

    Raises:
        UserError: the pattern stands for none.
    """
    match = re.search(r"\{(\d+)-(\d+)\}", seed)
    if not match:
        return [seed]
    if int(match[2]) < int(match[1]):
        raise UserError(f"series, seeds, {seed}", "stands for no seed.", 'Write e.g. "{1-9}".')
    return [seed.replace(match[0], str(n)) for n in range(int(match[1]), int(match[2]) + 1)]


def check_trainings(study: Mapping[str, Any], registry: Mapping[str, Mapping[str, Any]]) -> None:
    """The folders of every series are there; those of control models are made.

    Raises:
        UserError: one is not, so the series has a gap.
    """
    for model in trainings(study, registry):
        card = registry[model]
        if card.get("control") or card["series"]["revisions"]:
            continue
        if (
            folder_of(card["checkpoint"]) is None
            or not Path(card["checkpoint"]).expanduser().is_dir()
        ):
            raise UserError(
                f"series {model}",
                f"there is no folder {card['checkpoint']}.",
                "Correct checkpoint.",
            )
        gone = [
            step.checkpoint
            for step in places_of(card)
            if not Path(step.checkpoint).expanduser().is_dir()
        ]
        if gone:
            problem = f"{len(gone)} of its folders are not there, e.g. {gone[0]}."
            raise UserError(
                f"series {model}",
                problem,
                "Correct n or the pattern, or leave n out to take those that are there.",
            )


class Revisions:
    """The revisions of one hub model.

    Args:
        name: hub id.
        notes: folder in which is noted, for later runs, which commit a revision was and what is
            only borrowed. Runs that share the hub's cache share it too, and wait for each other.
        fetch: whether revisions that are not here are downloaded.
        keep: whether they are not deleted again.
        allow_pickle: accept weights that exist as pickles only.
        trust_remote_code: accept models that bring their own code.
    """

    def __init__(
        self,
        name: str,
        notes: Path,
        fetch: bool,
        keep: bool,
        allow_pickle: bool = False,
        trust_remote_code: bool = False,
    ) -> None:
        self.name, self.notes, self.fetch, self.keep = name, notes, fetch, keep
        self.trust = (allow_pickle, trust_remote_code)
        self._on_hub: dict[str, str] = {}

    def commit(self, revision: str) -> str:
        """The commit that a branch or tag is: in the cache, else on the hub, else, where that
        cannot be asked, when last used.

        Raises:
            MachineError: none of them knows.
            UserError: the hub's model has no such revision.
        """
        if cached := hub.cached_commit(self.name, revision):
            return cached
        noted = self._note("commit", revision)
        try:
            if not self.fetch:
                raise self._absent(revision)
            self._on_hub = self._on_hub or hub.commits_on_hub(self.name)
        except MachineError:
            if not noted.is_file():
                raise
            return noted.read_text(encoding="utf-8")
        if revision not in self._on_hub:
            raise UserError(
                self.name, f"has no revision {revision}.", "Correct the pattern or the numbers."
            )
        return self._on_hub[revision]

    @contextmanager
    def at_hand(self, revision: str) -> Iterator[str]:
        """The commit of a revision, whose files are in the cache as long as the block runs.

        Raises:
            MachineError: it cannot be fetched.
            UserError: it is not whole.
        """
        borrowed, lock = self._note("borrowed", revision), self._note("lock", revision)
        with locked(lock):
            try:
                # The same commit may be here under another name, as the last step's is under main.
                cached = hub.cached_commit(self.name, self.commit(revision))
                if cached is None or not self._is_whole(cached):
                    if not self.fetch:
                        raise self._absent(revision)
                    if cached is None and not self.keep:
                        write_text(borrowed, "")
                    cached = str(hub.fetch(self.name, revision, *self.trust).revision)
                write_text(self._note("commit", revision), cached)
                yield cached
            finally:
                if borrowed.is_file() and not self.keep:
                    hub.delete_revision(self.name, revision)
                    borrowed.unlink()

    def _is_whole(self, commit: str) -> bool:
        """Whether all files are there: a download may have been interrupted."""
        try:
            hub.locate(hub.HUB_PREFIX + hub.hub_id(self.name), commit, *self.trust, kind=None)
        except UserError:
            return False
        return True

    def _absent(self, revision: str) -> MachineError:
        fix = "Add --fetch, or fetch it where there is internet: worldprobe models fetch."
        return MachineError(self.name, f"cannot be fetched: revision {revision} is not here.", fix)

    def _note(self, kind: str, revision: str) -> Path:
        name = hashlib.sha256(json.dumps([self.name, revision]).encode()).hexdigest()[:32]
        return self.notes / f"{name}.{kind}"
