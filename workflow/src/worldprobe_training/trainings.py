"""Trainings of a study (paper, Section 5.4): its settings, the trainings that follow from them, and
the models that are made.

Imports nothing heavy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from worldprobe import engines
from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks.ewok import outputs as ewok
from worldprobe.benchmarks.worldsense import outputs as worldsense
from worldprobe.errors import UserError, did_you_mean
from worldprobe.settings.blocks import (
    Block,
    Count,
    Distinct,
    Finding,
    PartialShare,
    Seed,
    Share,
    Text,
    Whole,
    absent,
    name,
)
from worldprobe.settings.registry import Shape
from worldprobe_training.settings import TrainingSettings

#: Fewest entities of a world in motion.
SMALLEST_MOVING = 4
#: Keys of a part that say what is generated of its set.
OF_SETS = ("sizes", "problems", "skins", "per_cell", "seed")


class FinetuningSettings(TrainingSettings):
    """How models are fine-tuned, unless a variant or stage says otherwise."""

    prompt_set: Text = "basic"
    """How trials are asked in training, as the name of a set in `resources/prompts/worldsense`, or
    a YAML file.
    """

    trials: Count | None = None
    """Number of trials that are taken from the training files, as whole tuples; null takes all."""

    minutes: Count = 1440
    """Time that a job asks the scheduler for; a longer training continues in the next attempt."""


#: Settings that differ from those of all.
Changes = Annotated[
    FinetuningSettings, PlainSerializer(lambda settings: settings.model_dump(exclude_unset=True))
]


class TrainingPart(Block):
    """Data to train on: one of a set that is generated, a file, and lessons by name."""

    set: Literal["train-10k", "train-100k", "train-1m", "train-hard", "train-motion"] | None = (
        absent()
    )
    """Set that is generated, with the skins of training."""

    sizes: Distinct[Annotated[int, Field(ge=3, le=8)]] | None = absent()
    """Numbers of entities; the set's own without it."""

    problems: Distinct[Text] | None = absent()
    """Problems; the set's own without it."""

    skins: Distinct[Text] | None = absent()
    """Skins; the set's own without it."""

    per_cell: Count | None = absent()
    """Number of tuples for each problem, size, complexity, skin and wording; the set's own without
    it.
    """

    seed: Whole | None = absent()
    """Seed of the set; the study's without it."""

    file: Text | None = absent()
    """File of trials or dialogues."""

    lessons: Text | None = absent()
    """Name of lessons that the study writes."""

    def findings(self) -> Iterator[Finding]:
        """Several sources or none, and files that are not there."""
        kinds = [kind for kind in ("set", "file", "lessons") if getattr(self, kind)]
        extra = next((key for key in OF_SETS if getattr(self, key) is not None), None)
        if len(kinds) != 1:
            problem = f"names {' and '.join(kinds) if kinds else 'nothing'}."
            yield (), problem, "Write one of {set: ...}, {file: ...} and {lessons: ...}."
        elif extra and not self.set:
            yield (extra,), "is for sets that are generated.", "Remove the key."
        elif self.file and not Path(self.file).is_file():
            yield (
                ("file",),
                f"there is no file {self.file}.",
                "Correct the path, or put the file there.",
            )


Parts = Annotated[list[TrainingPart], Field(min_length=1)]


class Variant(Block):
    """One training."""

    train: Parts
    """What is trained on."""

    mix: Parts | None = absent()
    """What is mixed in, for the share that `settings` says."""

    settings: Changes | None = absent()
    """Settings that differ from those of all."""


class Stage(Variant):
    """One training of a small model."""

    name: str = Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$")
    """Name of the stage."""


class StartSettings(Shape):
    """A small model without any training."""

    positions: Annotated[int, Field(ge=8)] = 512
    """Longest sequence, in tokens."""

    vocabulary: Annotated[int, Field(ge=258)] = 1024
    """Largest number of tokens of its tokenizer."""

    seed: Seed = 0
    """Seed of the random weights."""


class SmallModel(StartSettings):
    """A small model that is made here."""

    display_name: Text
    """Name in tables and figures."""

    vocabulary_from: Parts | None = absent()
    """The texts that the tokenizer is learned from."""

    tokenizer: Text | None = absent()
    """Folder of a finished tokenizer instead; phrases takes the study's own."""

    seeds: Distinct[Seed] = []
    """Seeds with which it is made as often, each model under the id with its seed; training takes
    the same seed.
    """

    stages: list[Stage] = []
    """What it learns before anything else, in order; each stage begins with the weights of the one
    before.
    """

    def findings(self) -> Iterator[Finding]:
        """Shapes that cannot be, a tokenizer from nowhere, and stages of one name."""
        yield from super().findings()
        if bool(self.tokenizer) == bool(self.vocabulary_from):
            yield (
                (),
                "needs a tokenizer, or files to learn one from.",
                "Set tokenizer or vocabulary_from, not both.",
            )
        if self.tokenizer and self.tokenizer != PHRASES and not Path(self.tokenizer).is_dir():
            yield ("tokenizer",), f"there is no folder {self.tokenizer}.", "Correct the path."
        names = [stage.name for stage in self.stages]
        for number, stage in enumerate(names):
            if stage in names[:number]:
                yield (
                    ("stages", number, "name"),
                    f"is the second stage named {stage}.",
                    "Give each stage its own name.",
                )


class ReadingLessons(Block):
    """Lessons in reading."""

    kinds: dict[Literal["copy", "judge", "asked", "written"], Annotated[float, Field(gt=0)]] = (
        Field(min_length=1)
    )
    """Kinds of lessons, and how often each occurs. `copy` has names, and parts of their list once
    more; `judge` statements, each with TRUE, FALSE or UNKNOWN; `asked` the benchmark's questions
    about inference and completeness; `written` a question that is answered after the order has been
    written, at first and after each change that counts, then statements about the last order.
    """

    number: Count
    """Number of lessons."""

    sizes: Annotated[Distinct[Annotated[int, Field(ge=2, le=8)]], Field(min_length=1)] = [3, 4, 5]
    """Numbers of entities."""

    complexities: Annotated[Distinct[Literal["0", "1", "2", "incomplete"]], Field(min_length=1)] = [
        "0"
    ]
    """Complexities of descriptions; incomplete ones leave several worlds."""

    statements: Count = 5
    """Number of statements or questions of a lesson."""

    ternary: Share = 0.35
    """Share of the statements that have three entities."""

    unknown: Share = 0.3
    """Share of the statements about an entity that is not described."""

    converse: Share = 0.5
    """Share of all clauses that are put by the converse."""

    changes: Literal[1, 2] = 2
    """1: with two entities, a statement exchanges them or is put by the converse, but not both; 2:
    also both.
    """

    indirect: PartialShare = 0
    """Share of the statements about neighbors in the order that are drawn again."""

    invented: Share = 0
    """Share of the lessons whose relation is invented words."""

    updates: Annotated[Distinct[Annotated[int, Field(ge=0, le=6)]], Field(min_length=1)] = [0]
    """Numbers of changes after a description; of one that changes, everything is known at first,
    and two entities that are there are asked about. Invented words have no changes.
    """

    each: Share = 0
    """Share of the lessons with changes that ask as many statements before the first change and
    after each as in the end.
    """

    skins: Distinct[Text] = []
    """Skins for training whose words are taken; an empty list takes all."""

    seed: Seed = 0
    """Seed of all draws."""

    def findings(self) -> Iterator[Finding]:
        """Changes that cannot be made or said."""
        if any(self.updates) and self.invented:
            yield (
                ("updates",),
                "are not said in invented words.",
                "Set invented: 0, or updates: [0].",
            )
        if any(self.updates) and min(self.sizes) < SMALLEST_MOVING:
            yield (
                ("sizes",),
                f"{min(self.sizes)} entities are too few for changes.",
                f"Choose sizes from {SMALLEST_MOVING}.",
            )


_ADVICE = "Use letters, digits, dot, dash and underscore"
VariantName = Annotated[str, name("[A-Za-z0-9][A-Za-z0-9_.-]*", f"{_ADVICE}.", 50)]
SmallModelId = Annotated[str, name("[A-Za-z][A-Za-z0-9_.-]*", f"{_ADVICE}, a letter first.", 50)]
LessonsName = Annotated[
    str, name("[A-Za-z0-9][A-Za-z0-9_-]*", "Use letters, digits, dash and underscore.", 50)
]
Task = Annotated[str, Field(pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[0-9]{1,3})?$")]


class Finetuning(Block):
    """Which models are fine-tuned on WorldSense, on what and how.

    See [training](../docs/extras/worldsense_training.md#fine-tuning). Paper: Section 5.4.
    """

    settings: FinetuningSettings = FinetuningSettings()

    bases: Distinct[Text] = []
    """Models of the registry that are fine-tuned, and small models of `start`."""

    variants: dict[VariantName, Variant] = {}
    """Name to what each base is fine-tuned on; base and variant 10k make the model base+10k. An
    example is `10k: {train: [{set: train-10k}]}`.
    """

    start: dict[SmallModelId, SmallModel] = {}
    """Small models that are made here, by the id that they get in the registry."""

    lessons: dict[LessonsName, ReadingLessons] = {}
    """Lessons in reading that are written for `train` and `mix`, by name. See
    [training](../docs/extras/worldsense_training.md#a-model-that-reads)."""

    external: Distinct[Task] = []
    """Tasks of lm-evaluation-harness, e.g. mmlu:5, that `snakemake gather_external` asks bases and
    variants. The number of examples stands behind the colon; the harness and its data have to be
    here. Paper: Table 7.
    """

    def findings(self) -> Iterator[Finding]:
        """Variants of nothing, and trainings whose settings contradict those of all."""
        if self.variants and not self.bases:
            yield (
                ("bases",),
                "names no model that the variants are made of.",
                "Name models of the registry.",
            )
        trainings: list[tuple[tuple[Any, ...], Variant]] = [
            (("variants", key), training) for key, training in self.variants.items()
        ]
        for base, model in self.start.items():
            trainings += [
                (("start", base, "stages", number), stage)
                for number, stage in enumerate(model.stages)
            ]
        for keys, training in trainings:
            changes = training.settings.model_dump(exclude_unset=True) if training.settings else {}
            complete = self.settings.model_copy(update=changes)
            if bool(complete.share) != bool(training.mix):
                yield keys, "mix and share do nothing without each other.", "Set both, or neither."
            if not training.settings or not set(changes) >= {
                "steps",
                "warm_up",
            }:  # otherwise said of the changes themselves
                yield from ((keys, problem, fix) for _, problem, fix in complete.findings())


#: The tokenizer that a study writes itself, in the place of a folder's name.
PHRASES = "phrases"


@dataclass(frozen=True)
class Training:
    """One run of ``worldsense finetune``.

    Attributes:
        name: of the model that it makes.
        base: the registry's id of the model that it belongs to.
        before: folder of the weights that it begins with; None: the base's own.
        train: what is trained on.
        mix: what is mixed in.
        settings: complete.
    """

    name: str
    base: str
    before: str | None
    train: tuple[Mapping[str, Any], ...]
    mix: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]

    def stated(self) -> dict[str, Any]:
        """The settings that the command is given: what is set, without what only the scheduler
        needs (minutes).
        """
        unused = {"minutes"} | ({"epochs"} if self.settings["steps"] is not None else set())
        return {
            key: value
            for key, value in self.settings.items()
            if value is not None and key not in unused
        }


def block(study: Study) -> Mapping[str, Any]:
    """The settings of fine-tuning, a small model with several seeds as several models."""
    settings: Mapping[str, Any] = study["worldsense"]["finetuning"]
    start = {
        name: training
        for base, how in settings["start"].items()
        for name, training in _with_seeds(base, how).items()
    }
    bases = [
        name
        for base in settings["bases"]
        for name in _with_seeds(base, settings["start"].get(base, {}))
    ]
    return {**settings, "start": start, "bases": bases}


def _with_seeds(base: str, how: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A base by its id; with several seeds one for each, by the id with the seed."""
    return {
        f"{base}-{seed}": {**how, "seed": seed, "display_name": f"{how['display_name']} {seed}"}
        for seed in how.get("seeds", ())
    } or {base: dict(how)}


def root(study: Study) -> str:
    """The folder of everything about fine-tuning."""
    return f"{worldsense.root(study)}/finetuning"


def model_folder(study: Study, name: str) -> str:
    """Folder of the model that a training makes."""
    return f"{root(study)}/models/{name}"


def start_folder(study: Study, base: str) -> str:
    """A small model without any training."""
    return f"{root(study)}/start/{base}"


def trainings(study: Study) -> dict[str, Training]:
    """Every training by the name of the model that it makes: stages of small models, then variants
    of bases.
    """
    by_name: dict[str, Training] = {}
    for base, how in block(study)["start"].items():
        before = start_folder(study, base)
        for stage in how["stages"]:
            training = _training(study, f"{base}.{stage['name']}", base, before, stage)
            by_name[training.name] = training
            before = model_folder(study, training.name)
    for base in block(study)["bases"]:
        learned = learned_folder(study, base) if base in block(study)["start"] else None
        for variant, how in block(study)["variants"].items():
            by_name[f"{base}+{variant}"] = _training(study, f"{base}+{variant}", base, learned, how)
    return by_name


def _training(
    study: Study, name: str, base: str, before: str | None, how: Mapping[str, Any]
) -> Training:
    finetuning = block(study)
    settings = {**finetuning["settings"], **how.get("settings", {})}
    if finetuning["start"].get(base, {}).get("seeds"):
        settings["seed"] = finetuning["start"][base]["seed"]
    return Training(name, base, before, tuple(how["train"]), tuple(how.get("mix", ())), settings)


def learned_folder(study: Study, base: str) -> str:
    """A small model after its stages."""
    stages = block(study)["start"][base]["stages"]
    return (
        model_folder(study, f"{base}.{stages[-1]['name']}") if stages else start_folder(study, base)
    )


def made_models(study: Study) -> list[str]:
    """Registry's ids of the models that a study makes here: small bases, and every base's
    variants.
    """
    how = block(study)
    small = [base for base in how["start"] if base in how["bases"]]
    return small + [f"{base}+{variant}" for base in how["bases"] for variant in how["variants"]]


def training_files(study: Study, parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The files of what is trained on."""
    return [file_of(study, part) for part in parts]


def file_of(study: Study, part: Mapping[str, Any]) -> str:
    """The file of one part."""
    if "file" in part:
        return str(part["file"])
    if "lessons" in part:
        return f"{root(study)}/lessons/{part['lessons']}.jsonl.gz"
    return f"{root(study)}/sets/{set_key(study, part)}.parquet"


def set_key(study: Study, part: Mapping[str, Any]) -> str:
    """Name of a generated set: another one for other parts or seeds of a set.

    >>> set_key({"worldsense": {"seed": 0}}, {"set": "train-10k"})
    'train-10k-162f71cf'
    """
    content = json.dumps({"seed": study["worldsense"]["seed"], **part}, sort_keys=True)
    return f"{part['set']}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def generated_sets(study: Study) -> dict[str, Mapping[str, Any]]:
    """Every set that is generated for training, by its key."""
    return {set_key(study, part): part for part in _all_parts(study) if "set" in part}


def _all_parts(study: Study) -> Iterator[Mapping[str, Any]]:
    for training in trainings(study).values():
        yield from (*training.train, *training.mix)
    for how in block(study)["start"].values():
        yield from how.get("vocabulary_from", ())


def tokenizer_of(study: Study, base: str) -> str | None:
    """The folder of a small model's finished tokenizer, if it has one.

    >>> start = {"small": {"tokenizer": "phrases"}, "own": {"tokenizer": "mine"}, "new": {}}
    >>> block = {"start": start, "bases": []}
    >>> study = {"study": "s", "worldsense": {"finetuning": block}}
    >>> [tokenizer_of(study, base) for base in start]
    ['results/s/worldsense/finetuning/phrases', 'mine', None]
    """
    named = block(study)["start"][base].get("tokenizer")
    return f"{root(study)}/{PHRASES}" if named == PHRASES else named


def tokenizer_texts(study: Study, base: str) -> list[str]:
    """Texts that the tokenizer of a small model learns from, if it is not finished."""
    how = block(study)["start"][base]
    return [] if how.get("tokenizer") else training_files(study, how.get("vocabulary_from", ()))


def forbidden_sets(study: Study) -> list[str]:
    """Sets that no training may contain: EWoK's items, and all sets that are asked. Excepted are
    those that are training data by design, and those whose trials in the words of training may be
    drawn for both.
    """
    sets = [
        worldsense.trial_table(study, name)
        for name in worldsense.asked_sets(study)
        if not name.startswith(("memorisation", "same-skins"))
    ]
    return [*sets, *(ewok.item_tables(study) if study["ewok"] else [])]


def external_answers(study: Study) -> list[str]:
    """Answers of bases and fine-tuned models to other benchmarks."""
    how = block(study)
    asked = dict.fromkeys([*how["bases"], *made_models(study)]) if how["external"] else ()
    return [f"{worldsense.root(study)}/external/{model}.csv" for model in asked]


def add_models(study: Study, registry: Registry) -> dict[str, dict[str, Any]]:
    """Cards of the models that a study makes: what their base's card says, with another folder and
    name.
    """
    from worldprobe.settings import complete_card

    cards: dict[str, dict[str, Any]] = {}
    if study["worldsense"] is None:
        return cards
    for base, how in block(study)["start"].items():
        if base in registry:
            problem = f"{base} is a model of the registry already."
            raise UserError(
                "worldsense.finetuning.start", problem, "Give the small model another id."
            )
        folder = learned_folder(study, base)
        card = complete_card(
            base, family="fine-tuned", display_name=how["display_name"], checkpoint=folder
        )
        cards[base] = card | {"tuned": "small"}
    for base in block(study)["bases"]:
        for variant in block(study)["variants"]:
            name = f"{base}+{variant}"
            card = dict(cards.get(base) or registry.get(base, {}))
            if not card:
                problem = f"{base} is not a model of the registry{did_you_mean(base, registry)}"
                raise UserError(
                    "worldsense.finetuning.bases",
                    problem,
                    "Correct the name, or add an entry to the registry.",
                )
            if not engines.of(card).has_weights:
                problem = f"{base} has no weights here (engine {card['engine']})."
                raise UserError(
                    "worldsense.finetuning.bases", problem, "Name models whose weights are here."
                )
            if card.get("adapter"):
                problem = (
                    f"{base} has an adapter ({card['adapter']}), and training is of a model's own"
                    " weights."
                )
                raise UserError(
                    "worldsense.finetuning.bases",
                    problem,
                    "Merge it into the base, and give that a card.",
                )
            tuned = "small" if card.get("control") or card.get("tuned") == "small" else "base"
            display = {"display_name": f"{card['display_name']} +{variant}", "colour": None}
            card = {key: value for key, value in card.items() if key != "control"}
            cards[name] = (
                card
                | display
                | {
                    "model": name,
                    "checkpoint": model_folder(study, name),
                    "tuned": tuned,
                    "revision": "main",
                }
            )
    return cards


def training_table(study: Study) -> str:
    """Loss and learning rate of every training."""
    return f"{root(study)}/training.parquet"


def has_trainings(study: Study) -> bool:
    """Whether a study fine-tunes anything."""
    return bool(study["worldsense"] and trainings(study))


def outputs(study: Study) -> list[str]:
    """The models that a study fine-tunes, and what was noted of their training."""
    if not has_trainings(study):
        return []
    return [*(model_folder(study, name) for name in trainings(study)), training_table(study)]
