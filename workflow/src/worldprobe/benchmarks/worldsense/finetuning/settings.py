"""``worldsense.finetuning``: which models a study fine-tunes on WorldSense, on what and how (paper, Section 5.4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from worldprobe.benchmarks.worldsense.finetuning.trainings import PHRASES
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
from worldprobe.training.settings import TrainingSettings

_OF_SETS = ("sizes", "problems", "skins", "per_cell", "seed")


class FinetuningSettings(TrainingSettings):
    """How models are fine-tuned, unless a variant or stage says otherwise."""

    prompt_set: Text = "basic"
    """How trials are asked in training, as the name of a set in `resources/prompts/worldsense`, or a YAML file."""

    trials: Count | None = None
    """Number of trials that are taken from the training files, as whole tuples; null takes all."""

    minutes: Count = 1440
    """Time that a job asks the scheduler for; a longer training continues in the next attempt."""


#: Settings that differ from those of all.
Changes = Annotated[FinetuningSettings, PlainSerializer(lambda settings: settings.model_dump(exclude_unset=True))]


class Part(Block):
    """What is trained on: one of a set that is generated, a file, and lessons by name."""

    set: Literal["train-10k", "train-100k", "train-1m"] | None = absent()
    """Set that is generated, with the skins of training."""

    sizes: Distinct[Annotated[int, Field(ge=3, le=8)]] | None = absent()
    """Numbers of entities; the set's own without it."""

    problems: Distinct[Text] | None = absent()
    """Problems; the set's own without it."""

    skins: Distinct[Text] | None = absent()
    """Skins; the set's own without it."""

    per_cell: Count | None = absent()
    """Number of tuples for each problem, size, complexity, skin and wording; the set's own without it."""

    seed: Whole | None = absent()
    """Seed of the set; the study's without it."""

    file: Text | None = absent()
    """File of trials or dialogues."""

    lessons: Text | None = absent()
    """Name of lessons that the study writes."""

    def findings(self) -> Iterator[Finding]:
        """Several sources or none, and files that are not there."""
        kinds = [kind for kind in ("set", "file", "lessons") if getattr(self, kind)]
        extra = next((key for key in _OF_SETS if getattr(self, key) is not None), None)
        if len(kinds) != 1:
            problem = f"names {' and '.join(kinds) if kinds else 'nothing'}."
            yield (), problem, "Write one of {set: ...}, {file: ...} and {lessons: ...}."
        elif extra and not self.set:
            yield (extra,), "is for sets that are generated.", "Remove the key."
        elif self.file and not Path(self.file).is_file():
            yield ("file",), f"there is no file {self.file}.", "Correct the path, or put the file there."


Parts = Annotated[list[Part], Field(min_length=1)]


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


class SmallModel(Block):
    """A small model that is made here."""

    display_name: Text
    """Name in tables and figures."""

    architecture: Literal["gpt2", "llama"] = "llama"
    """Kind of transformer."""

    layers: int = Field(4, ge=1, le=200)
    """Number of transformer layers."""

    width: int = Field(128, ge=8, le=20_000)
    """Size of the hidden state."""

    heads: Count = 4
    """Number of attention heads; it divides the width."""

    positions: int = Field(512, ge=8)
    """Longest sequence, in tokens."""

    vocabulary: int = Field(1024, ge=258)
    """Largest number of tokens of its tokenizer."""

    vocabulary_from: Parts | None = absent()
    """What the tokenizer is learned from."""

    tokenizer: Text | None = absent()
    """Folder of a finished tokenizer instead; phrases takes the study's own."""

    seed: Seed = 0
    """Seed of the random weights."""

    seeds: Distinct[Seed] = []
    """Seeds with which it is made as often, each model under the id with its seed; training takes the same seed."""

    stages: list[Stage] = []
    """What it learns before anything else, in order; each stage begins with the weights of the one before."""

    def findings(self) -> Iterator[Finding]:
        """Shapes that cannot be, a tokenizer from nowhere, and stages of one name."""
        if self.width % (2 * self.heads):
            problem = f"{self.width} cannot be divided among {self.heads} heads of even size."
            yield ("width",), problem, f"Choose a multiple of {2 * self.heads}, or other heads."
        if bool(self.tokenizer) == bool(self.vocabulary_from):
            yield (), "needs a tokenizer, or files to learn one from.", "Set tokenizer or vocabulary_from, not both."
        if self.tokenizer and self.tokenizer != PHRASES and not Path(self.tokenizer).is_dir():
            yield ("tokenizer",), f"there is no folder {self.tokenizer}.", "Correct the path."
        names = [stage.name for stage in self.stages]
        for number, stage in enumerate(names):
            if stage in names[:number]:
                yield ("stages", number, "name"), f"is the second stage named {stage}.", "Give each stage its own name."


class ReadingLessons(Block):
    """Lessons in reading."""

    kinds: dict[Literal["copy", "judge", "asked"], Annotated[float, Field(gt=0)]] = Field(min_length=1)
    """Kinds of lessons, and how often each occurs. `copy` has names, and parts of their list once more; `judge` statements,
    each with TRUE, FALSE or UNKNOWN; `asked` the benchmark's questions about inference and completeness."""

    number: Count
    """Number of lessons."""

    sizes: Annotated[Distinct[Annotated[int, Field(ge=2, le=8)]], Field(min_length=1)] = [3, 4, 5]
    """Numbers of entities."""

    complexities: Annotated[Distinct[Literal["0", "1", "2", "incomplete"]], Field(min_length=1)] = ["0"]
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
    """1: with two entities, a statement exchanges them or is put by the converse, but not both; 2: also both."""

    indirect: PartialShare = 0
    """Share of the statements about neighbors in the order that are drawn again."""

    invented: Share = 0
    """Share of the lessons whose relation is invented words."""

    seed: Seed = 0
    """Seed of all draws."""


_ADVICE = "Use letters, digits, dot, dash and underscore"
VariantName = Annotated[str, name("[A-Za-z0-9][A-Za-z0-9_.-]*", f"{_ADVICE}.", 50)]
SmallModelId = Annotated[str, name("[A-Za-z][A-Za-z0-9_.-]*", f"{_ADVICE}, a letter first.", 50)]
LessonsName = Annotated[str, name("[A-Za-z0-9][A-Za-z0-9_-]*", "Use letters, digits, dash and underscore.", 50)]
Task = Annotated[str, Field(pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[0-9]{1,3})?$")]


class Finetuning(Block):
    """Which models are fine-tuned on WorldSense, on what and how.

    See [docs/worldsense.md](../docs/worldsense.md#fine-tuning). Paper: Section 5.4.
    """

    settings: FinetuningSettings = FinetuningSettings()

    bases: Distinct[Text] = []
    """Models of the registry that are fine-tuned, and small models of `start`."""

    variants: dict[VariantName, Variant] = {}
    """Name to what each base is fine-tuned on; base and variant 10k make the model base+10k. An example is `10k: {train: [{set:
    train-10k}]}`."""

    start: dict[SmallModelId, SmallModel] = {}
    """Small models that are made here, by the id that they get in the registry."""

    lessons: dict[LessonsName, ReadingLessons] = {}
    """Lessons in reading that are written for `train` and `mix`, by name. See
    [docs/worldsense.md](../docs/worldsense.md#a-model-that-reads)."""

    external: Distinct[Task] = []
    """Tasks of lm-evaluation-harness, e.g. mmlu:5, that `snakemake gather_external` asks bases and variants. The number of
    examples stands behind the colon; the harness and its data have to be here. Paper: Table 7."""

    def findings(self) -> Iterator[Finding]:
        """Variants of nothing, and trainings whose settings contradict those of all."""
        if self.variants and not self.bases:
            yield ("bases",), "names no model that the variants are made of.", "Name models of the registry."
        trainings: list[tuple[tuple[Any, ...], Variant]] = [(("variants", key), one) for key, one in self.variants.items()]
        for base, model in self.start.items():
            trainings += [(("start", base, "stages", number), stage) for number, stage in enumerate(model.stages)]
        for keys, one in trainings:
            changes = one.settings.model_dump(exclude_unset=True) if one.settings else {}
            complete = self.settings.model_copy(update=changes)
            if bool(complete.share) != bool(one.mix):
                yield keys, "mix and share do nothing without each other.", "Set both, or neither."
            if not one.settings or not set(changes) >= {"steps", "warm_up"}:  # otherwise said of the changes themselves
                yield from ((keys, problem, fix) for _, problem, fix in complete.findings())
