"""``worldsense finetune`` and what belongs to it: lessons, base models, records, other benchmarks (paper, Section 5.4)."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.cli.engines import model_name
from worldprobe.cli.options import (
    AllowPickle,
    Count,
    Dtype,
    ModelName,
    OutFolder,
    Revision,
    Seed,
    Share,
    SkinFolder,
    TrustRemoteCode,
    WordingVersion,
    between,
)
from worldprobe.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from worldprobe.models.chat import Encoder
    from worldprobe.models.checkpoint import Checkpoint
    from worldprobe.training.contamination import TestContent
    from worldprobe.training.lessons import Material
    from worldprobe.training.tuning import Curriculum, Tuning

#: Bumped when the same records give another table.
GATHER_METHOD = 1
#: Share of the steps in which the learning rate rises: the paper's 2,000 of 200,000.
WARM_UP = 0.01
#: Checkpoints of a whole training.
CHECKPOINTS = 20
#: What may replace a folder that it wrote.
COMMAND = "worldsense finetune"

Train = Annotated[
    Sequence[Path],
    Parameter(
        help="trials (.parquet, or the official layout), or dialogues (.jsonl, .jsonl.gz) whose last message is the assistant's"
    ),
]


def add_commands(app: App) -> None:
    """Add these commands to the stage ``worldsense``."""
    for action in (write_phrases, write_lessons, start_model, finetune, gather_trainings, ask_external, gather_external):
        app.command(action)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FinetuningOptions:
    """Which base is trained on what, and how.

    Attributes:
        trials: take only the first N trials, as whole tuples
        prompt_set: how a trial is asked: a set of resources/prompts/worldsense, or a YAML file
        chat: write lessons through the chat template: always, auto (where there is one), never (as plain text)
        loss: tokens that count: those of the answer, or all
        order: order of lessons: new in each pass (shuffled), or as given
        group_by_length: give lessons of like length to a step: less padding, other batches
        mix: dialogues that are mixed in, e.g. instructions
        share: share of the lessons seen that come from --mix
        tests: test sets, and tables of EWoK's items, none of which may be trained on
        allow_contamination: train on test items, and say so in the card
        steps: optimiser steps, instead of --epochs
        epochs: passes over TRAIN (default: 2)
        learning_rate: peak learning rate
        batch: lessons per step
        per_pass: lessons per pass of a process (default: by their length)
        warm_up: steps in which the rate rises (default: the paper's 1 % of all)
        schedule: how it falls: cosine, linear, constant
        sequence_length: most tokens of a lesson and of a row
        weight_decay: weight decay of AdamW
        beta_2: second beta of AdamW
        clip: largest norm of the gradient; 0: no limit
        precision: precision of activations: auto takes bfloat16 on GPUs that have it, else float32
        packing: put several short lessons into a row
        gradient_checkpointing: compute activations twice to save memory
        tuning: train all weights, or LoRA's alone; auto: LoRA above --full-up-to parameters
        full_up_to: parameters up to which auto trains all
        lora_rank: rank of LoRA's matrices
        lora_alpha: weight of LoRA's matrices
        lora_dropout: dropout before LoRA's matrices
        lora_targets: comma-separated modules that get them (default: all linear ones)
        checkpoint_every: steps between checkpoints (default: 20 in all)
        checkpoints: folder of checkpoints (default: .checkpoints next to --out)
        gpus: GPUs that share the model; 0: train on the CPU (default: 1, or the CPU where there is no GPU)
        threads: CPU threads, on which the weights depend
    """

    revision: Revision = None
    allow_pickle: AllowPickle = False
    trust_remote_code: TrustRemoteCode = False
    trials: Annotated[int | None, between(1)] = None
    prompt_set: str = "basic"
    chat: Literal["always", "auto", "never"] = "always"
    loss: Literal["answer", "all"] = "answer"
    order: Literal["shuffled", "given"] = "shuffled"
    group_by_length: bool = False
    mix: Sequence[Path] = ()
    share: Share = 0.0
    tests: Sequence[Path] = ()
    allow_contamination: bool = False
    skin_folder: SkinFolder = None
    steps: Annotated[int | None, between(1)] = None
    epochs: Annotated[int | None, between(1)] = None
    learning_rate: Annotated[float, between(1e-12, 100)] = 2e-6
    batch: Count = 64
    per_pass: Annotated[int | None, between(1)] = None
    warm_up: Annotated[int | None, between(0)] = None
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    sequence_length: Annotated[int, between(8)] = 4096
    weight_decay: Annotated[float, between(0, 10)] = 0.0
    beta_2: Share = 0.999
    clip: Annotated[float, between(0, 1e9)] = 1.0
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    packing: Annotated[bool, Parameter(negative="--no-packing")] = True
    gradient_checkpointing: bool = False
    tuning: Literal["auto", "full", "lora"] = "auto"
    full_up_to: Annotated[int, between(0, 10**13)] = 3_000_000_000
    lora_rank: Annotated[int, between(1, 4096)] = 16
    lora_alpha: Annotated[int, between(1, 1_000_000)] = 32
    lora_dropout: Share = 0.0
    lora_targets: str = "all-linear"
    checkpoint_every: Annotated[int | None, between(1)] = None
    checkpoints: Path | None = None
    gpus: Annotated[int, between(0, 1024)] = 1
    threads: Annotated[int, between(0, 4096)] = 1
    seed: Seed = 0


@dataclass(frozen=True)
class _Prepared:
    """Everything that is known before weights are loaded."""

    checkpoint: Checkpoint
    config: dict[str, Any]
    tokenizer: Any
    how: Tuning
    curriculum: Curriculum
    digests: dict[str, str]
    details: dict[str, Any]
    contamination: list[str]
    canary: str | None

    @property
    def padding(self) -> int:
        """The token id of empty places; no other token ever sees it."""
        found = self.tokenizer.pad_token_id
        return int(found if found is not None else self.tokenizer.eos_token_id or 0)


def finetune(
    checkpoint: str,
    train: Train,
    /,
    *,
    options: FinetuningOptions = FinetuningOptions(),
    out: OutFolder,
) -> int | None:
    """Fine-tune a causal language model on trials or dialogues, with the loss on the answer.

    Writes a Hugging Face folder with a card, whole or not at all. A killed run continues from its last checkpoint when the same
    command is given again. Several GPUs have a process each.

    Args:
        checkpoint: model folder, or hub id that was fetched before
        out: folder of the model, written whole or not at all
    """
    from worldprobe.files import check_place
    from worldprobe.log import LOGGER
    from worldprobe.models import model_provenance
    from worldprobe.operations.devices import claim_gpus, visible_gpus
    from worldprobe.training import processes

    processes.end_with_parent()
    check_place(out, is_folder=True, command=COMMAND)
    if options.steps and options.epochs:
        raise UserError("--steps, --epochs", "state the length twice.", "Give one of them.")
    if options.checkpoints and options.checkpoints.resolve().is_relative_to(out.resolve()):
        raise UserError("--checkpoints", "is in the folder of --out, which is replaced as a whole.", "Name another folder.")
    if options.gpus > 1 and not visible_gpus() and not processes.on_cpu():
        LOGGER.warning("--gpus %d: this machine has none, so one process trains on the CPU", options.gpus)
        options = replace(options, gpus=0)
    if not processes.is_process():
        claim_gpus(options.gpus)
    elif not processes.is_first() or processes.TOLD in os.environ:
        LOGGER.setLevel(logging.ERROR)  # who started this process has said what there is to say of files and settings
    model_provenance.pin()
    import worldprobe.training.tuning  # noqa: F401  before what loads models, which imports transformers without distribution

    with processes.told_once():
        prepared = _prepare(checkpoint, train, options)
        if options.gpus > 1 and not processes.is_process():
            return _launch(options.gpus, bool(visible_gpus()))
        if processes.is_first():
            LOGGER.setLevel(logging.INFO)
        _finetune(checkpoint, options, prepared, out)
    return None


def _prepare(base: str, train: Sequence[Path], options: FinetuningOptions) -> _Prepared:
    """Read and check: files, base, form, lengths, precision, memory."""
    from worldprobe.benchmarks.worldsense.finetuning.material import MaterialReader, read_tests
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_all_wordings
    from worldprobe.contracts import table_name
    from worldprobe.files import digest_file
    from worldprobe.log import LOGGER
    from worldprobe.models.checkpoint import locate
    from worldprobe.models.loading import load_tokenizer
    from worldprobe.training import tuning_checks
    from worldprobe.training.processes import is_process
    from worldprobe.training.tuning import Curriculum, check_batch

    check_batch(options.batch, max(options.gpus, 1))
    if bool(options.mix) != bool(options.share):
        raise UserError("--mix, --share", "one does nothing without the other.", "Give both, or neither.")
    prompts = load_prompt_set(options.prompt_set)
    if prompts.examples is not None:
        raise UserError(f"--prompt-set {options.prompt_set}", "shows solved examples.", "Train with basic, cot or constrained.")
    checkpoint = locate(base, options.revision, options.allow_pickle, options.trust_remote_code)
    is_chat = options.chat == "always" or (options.chat == "auto" and checkpoint.has_chat_template())
    config = tuning_checks.check_base(checkpoint, is_chat)
    tokenizer = load_tokenizer(checkpoint)
    if tokenizer.eos_token_id is None:
        LOGGER.warning("%s: its tokenizer has no end token, so no lesson teaches where an answer ends", checkpoint.name)
    encoder = _encoder(checkpoint, config, tokenizer)
    room = min(options.sequence_length, encoder.max_length)
    items = [path for path in options.tests if str(path).endswith(".parquet") and table_name(path) == "items"]
    tests = read_tests([path for path in options.tests if path not in items], read_all_wordings(options.skin_folder or FOLDER))
    _add_items(items, tests.content)
    reader = MaterialReader(prompts, is_chat, encoder, options.loss == "all", tests, options.allow_contamination)
    material = reader.read_train(train, options.trials)
    tuning_checks.check_lengths(material, room, ", ".join(map(str, train)))
    mixed = reader.read_mixed(options.mix, room) if options.mix else None
    how, lesson_order = _settings(options, checkpoint, material, mixed)
    if mixed is not None and not (lesson_order >= len(material)).any():
        problem = f"is too small for any lesson of --mix to be among the {len(lesson_order):,} that are seen."
        raise UserError(f"--share {options.share}", problem, "Take a larger one, or leave both out.")
    curriculum = Curriculum(material, mixed, lesson_order)
    n_parameters = tuning_checks.count_parameters(checkpoint)
    if not is_process():  # else who started it has looked, before others took their part
        tokens = _tokens_per_pass(options, how, material, mixed)
        tuning_checks.check_memory(checkpoint.name, config, n_parameters, how, tokens, max(options.gpus, 1))
    digests = {"checkpoint": checkpoint.digest(), "prompts": prompts.digest}
    digests |= {f"train {number}": digest_file(path) for number, path in enumerate(train, 1)}
    digests |= {f"mix {number}": digest_file(path) for number, path in enumerate(options.mix, 1)}
    details = {
        "n_lessons": len(material),
        "n_mixed": len(mixed) if mixed is not None else 0,
        "form": "chat" if is_chat else "text",
        "prompting": prompts.name,
        "n_seen": int((lesson_order < len(material)).sum()),
        "n_mixed_seen": int((lesson_order >= len(material)).sum()),
        "n_parameters": n_parameters,
    }
    return _Prepared(checkpoint, config, tokenizer, how, curriculum, digests, details, reader.contamination, reader.canary)


def _add_items(paths: Sequence[Path], content: TestContent) -> None:
    """EWoK's items, which must not be trained on either: a context of an item together with a target of it."""
    from itertools import product

    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table
    from worldprobe.training.contamination import words_of

    for path in paths:
        columns = ["item_id", "context1", "context2", "target1", "target2"]
        for item_id, *texts in read_table(path, Items, columns).itertuples(index=False, name=None):
            words = [words_of(text) for text in texts]
            for context, target in product(words[:2], words[2:]):
                content.add(item_id, context, target)


def _encoder(checkpoint: Checkpoint, config: dict[str, Any], tokenizer: Any) -> Encoder:
    from types import SimpleNamespace

    from worldprobe.models.chat import Encoder
    from worldprobe.models.loading import longest_sequence

    longest = longest_sequence(SimpleNamespace(**config))
    return Encoder(tokenizer, str(config.get("model_type", "")), config.get("bos_token_id"), longest, "auto", checkpoint.name)


def _settings(
    options: FinetuningOptions, checkpoint: Checkpoint, material: Material, mixed: Material | None
) -> tuple[Tuning, Any]:
    """The settings with everything decided, and the order of lessons."""
    import math

    import numpy as np

    from worldprobe.training import tuning_checks
    from worldprobe.training.lessons import lesson_order
    from worldprobe.training.tuning import Tuning

    method = options.tuning
    if method == "auto":
        method = "full" if tuning_checks.count_parameters(checkpoint) <= options.full_up_to else "lora"
    steps = options.steps or max(1, math.ceil((options.epochs or 2) * len(material) / (options.batch * (1 - options.share))))
    warm_up = round(WARM_UP * steps) if options.warm_up is None else options.warm_up
    if warm_up >= steps:
        problem = f"the learning rate would never reach its peak: there are {steps} steps, and it rises for {warm_up}."
        raise UserError("--warm-up", problem, "Take fewer steps of warm-up, or train longer (--steps, --epochs).")
    how = Tuning(
        steps=steps,
        warm_up=warm_up,
        precision=tuning_checks.choose_precision(options.precision),
        method=method,
        share=options.share,
        **{
            key: getattr(options, key)
            for key in (
                *("batch", "per_pass", "learning_rate", "schedule", "sequence_length", "weight_decay", "clip"),
                *("lora_rank", "lora_alpha", "lora_dropout", "lora_targets", "packing", "gradient_checkpointing"),
                *("loss", "order", "group_by_length", "beta_2", "seed", "threads"),
            )
        },
    )
    n_mixed = len(mixed) if mixed is not None else 0
    lengths = np.concatenate([part.lengths for part in (material, mixed) if part is not None]) if how.group_by_length else None
    return how, lesson_order(len(material), n_mixed, how.batch, steps, how.share, how.order == "shuffled", how.seed, lengths)


def _tokens_per_pass(options: FinetuningOptions, how: Tuning, material: Material, mixed: Material | None) -> int:
    from worldprobe.training.tuning import lessons_per_pass, longest_of

    longest = longest_of(material, mixed)
    return longest * lessons_per_pass(how.batch // max(options.gpus, 1) or 1, longest, how.per_pass)


def _launch(number: int, is_shared: bool) -> int:
    """One process for each GPU, all with the command that this one was given."""
    from worldprobe.training.processes import launch

    source = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return launch(number, [sys.executable, "-m", "worldprobe", *sys.argv[1:]], is_shared)


def _finetune(base: str, options: FinetuningOptions, prepared: _Prepared, out: Path) -> None:
    """Load, train, and in the first process save."""
    import shutil
    from contextlib import nullcontext

    from worldprobe.files import check_place, source_of, whole_folder
    from worldprobe.models import model_provenance
    from worldprobe.models.checkpoint import ensure_unchanged, short_name
    from worldprobe.models.loading import load
    from worldprobe.provenance import made
    from worldprobe.training import processes, tuning_checks
    from worldprobe.training.checkpoints import held, work_folder
    from worldprobe.training.tuning import save_tuned, stored_dtype, tune

    how, name = prepared.how, out.name
    packages = ["torch", "transformers", "accelerate", "tokenizers", "safetensors", "numpy"]
    packages += ["peft"] if how.method == "lora" else []
    contamination = {"contamination": prepared.contamination} if prepared.contamination else {}
    provenance = made(
        methods.FINETUNING,
        {},
        packages,
        digests=prepared.digests,
        seed=how.seed,
        model=name,
        checkpoint=prepared.checkpoint.name,
        revision=prepared.checkpoint.revision,
        dtype=how.precision,
        canary=prepared.canary,
        details=prepared.details | contamination | {"settings": how.described()} | model_provenance.facts(),
    )
    source = source_of(prepared.digests, how.described(), prepared.details)
    check_place(out, is_folder=True, command=COMMAND, source=source)
    work = work_folder(options.checkpoints or out.absolute().parent / ".checkpoints", out.name, provenance.to_json())
    if processes.is_process():  # noted here, as another number of GPUs may continue
        together = {"processes": int(os.environ["WORLD_SIZE"])}
        provenance = replace(provenance, details={**provenance.details, **together})
    with held(work) if processes.is_first() else nullcontext():
        processes.begin()
        before = prepared.checkpoint.state()
        dtype = stored_dtype(prepared.config) if how.method == "lora" else "float32"
        model, _ = load(prepared.checkpoint, dtype, "cpu")
        ensure_unchanged(prepared.checkpoint, before)
        if processes.is_first():
            tuning_checks.check_pass(prepared.checkpoint.name, model, prepared.curriculum, prepared.padding, how)
        every = options.checkpoint_every or max(1, how.steps // CHECKPOINTS)
        record = tune(model, prepared.curriculum, how, prepared.padding, work, every, name)
        if not processes.is_first():
            return
        with whole_folder(out, COMMAND, source) as folder:
            save_tuned(work / "final", prepared.checkpoint, prepared.config, how.method == "lora", folder)
            _write_texts(folder, name, short_name(base), provenance, record, prepared)
        shutil.rmtree(work, ignore_errors=True)


def _write_texts(folder: Path, name: str, base: str, provenance: Any, record: Any, prepared: _Prepared) -> None:
    from worldprobe.benchmarks.worldsense.finetuning.model_card import RECORD, write_card, write_record

    write_record(record, folder / RECORD)
    (folder / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    card = write_card(name, base, provenance, prepared.how.described(), prepared.contamination, prepared.canary is not None)
    (folder / "README.md").write_text(card, encoding="utf-8")


def gather_trainings(models: list[Path], /, *, out: Path) -> None:
    """Gather loss and learning rate of fine-tuned models into one table.

    Args:
        models: folders that `worldsense finetune` wrote
        out: worldsense_trainings table
    """
    import pandas as pd

    from worldprobe.benchmarks.worldsense.contracts import Trainings
    from worldprobe.benchmarks.worldsense.finetuning.model_card import RECORD, read_record
    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    records = [read_record(folder / RECORD).assign(model=folder.name) for folder in models]
    names = [folder.name for folder in models]
    for name in names:
        if names.count(name) > 1:
            raise UserError("MODEL", f"two folders are called {name}.", "Give each model once.")
    inputs = {f"training {name}": folder / RECORD for name, folder in zip(names, models, strict=True)}
    write_table(pd.concat(records, ignore_index=True), Trainings, out, made(GATHER_METHOD, inputs, ["pandas"]))


def ask_external(
    checkpoint: str,
    /,
    *,
    tasks: list[str],
    revision: Revision = None,
    dtype: Dtype = None,
    trust_remote_code: TrustRemoteCode = False,
    model: ModelName = None,
    include: Path | None = None,
    out: Path,
) -> None:
    """Ask a model the tasks of lm-evaluation-harness, e.g. MMLU.

    Calls lm-evaluation-harness, which must be installed, with data in the cache: nothing is downloaded.

    Args:
        checkpoint: model folder, or hub id that was fetched before
        tasks: tasks, with the number of examples if not its own: mmlu:5
        include: folder of further tasks of lm-evaluation-harness
        out: one row per task (CSV)
    """
    import pandas as pd

    from worldprobe.benchmarks.worldsense.finetuning.external import COLUMNS, measure
    from worldprobe.files import write_text
    from worldprobe.models.checkpoint import locate
    from worldprobe.models.loading import check_dtype

    asked = [task_and_examples(one) for one in tasks]
    precision = check_dtype(dtype or "float32")
    found = locate(checkpoint, revision, False, trust_remote_code)
    options = {"dtype": precision, "trust_remote_code": trust_remote_code}
    rows = measure(model_name(model, checkpoint), str(found.folder), asked, options, include)
    write_text(out, pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(index=False, lineterminator="\n"))


def task_and_examples(text: str) -> tuple[str, int | None]:
    """A task's name, and the number of examples where it is given.

    >>> task_and_examples("mmlu:5"), task_and_examples("gsm8k")
    (('mmlu', 5), ('gsm8k', None))

    Raises:
        UserError: this is no task.
    """
    match = re.fullmatch(r"(\w[\w.-]*)(?::(\d{1,3}))?", text, re.ASCII)
    if match is None:
        raise UserError("--tasks", f'"{text}" is not a task.', "Write it as mmlu or mmlu:5.")
    return match[1], int(match[2]) if match[2] else None


def gather_external(answers: list[Path], /, *, out: Path) -> None:
    """Put such answers of several models next to the paper's Table 7.

    Args:
        answers: files that `worldsense ask-external` wrote
        out: one row per model and task (CSV)
    """
    import pandas as pd

    from worldprobe.benchmarks.worldsense.finetuning.external import COLUMNS, next_to_published
    from worldprobe.files import write_text

    parts = []
    for path in answers:
        try:
            part = pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise UserError(
                path, "cannot be read as CSV in UTF-8.", "Give files that `worldsense ask-external` wrote."
            ) from error
        if tuple(part.columns) != COLUMNS:
            raise UserError(path, "has other columns.", "Give files that `worldsense ask-external` wrote.")
        parts.append(part)
    write_text(out, next_to_published(parts).to_csv(index=False, lineterminator="\n"))


def write_phrases(*, skin_folder: SkinFolder = None, wording_version: WordingVersion = 2, out: OutFolder) -> None:
    """Write a tokenizer whose tokens are entities and phrases of the skins, for small models that read nothing else.

    Args:
        out: folder of the tokenizer, written whole or not at all
    """
    from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import tokens_of
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.files import whole_folder
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made
    from worldprobe.training.tokenizer import phrase_tokenizer, save_tokenizer

    folder = skin_folder or FOLDER
    tokenizer = phrase_tokenizer(tokens_of(read_skins(folder, wording_version)))
    details = {"vocabulary": tokenizer.get_vocab_size()}
    provenance = made(methods.PHRASES, {"skins": folder}, ["tokenizers"], details=details)
    with whole_folder(out, "worldsense write-phrases") as place:
        save_tokenizer(tokenizer, place)
        (place / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    LOGGER.info("%d tokens: %s", tokenizer.get_vocab_size(), out)


def write_lessons(
    *,
    lessons: Sequence[str],
    number: Count,
    sizes: Annotated[Sequence[int], between(2, 8)] = (3, 4, 5),
    complexities: Sequence[Literal["0", "1", "2", "incomplete"]] = ("0",),
    statements: Count = 5,
    ternary: Share = 0.35,
    unknown: Share = 0.3,
    converse: Share = 0.5,
    changes: Annotated[int, between(1, 2)] = 2,
    indirect: Share = 0.0,
    invented: Annotated[float, between(0, 1)] = 0.0,
    skin_folder: SkinFolder = None,
    wording_version: WordingVersion = 2,
    seed: Seed = 0,
    out: Path,
) -> None:
    """Write lessons in reading, on which a small model is trained before it is fine-tuned.

    Descriptions in the words of training skins or in invented ones, and what follows from them; refused if a test's words are
    in them.

    Args:
        lessons: KIND=SHARE: kinds of lessons (copy, judge, asked) and how often each occurs, e.g. copy=1 judge=2
        number: number of lessons
        sizes: numbers of entities
        complexities: complexities of descriptions: 0, 1, 2, or incomplete (several worlds are left open)
        statements: statements or questions of a lesson
        ternary: share of the statements that have three entities
        unknown: share of the statements about an entity not described
        converse: share of all clauses that are put by the converse
        changes: 1: no statement changes both order and word of the only clause
        indirect: share of the statements about neighbors that are drawn again
        invented: share of the lessons whose relation is invented words
        out: lessons, as dialogues, one a line (.jsonl.gz)
    """
    from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import LessonCheck, LessonPlan, draw_lessons, write_lesson
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
    from worldprobe.benchmarks.worldsense.trials.files import write_lines
    from worldprobe.log import LOGGER

    skins = [skin for skin in read_skins(skin_folder or FOLDER, wording_version) if skin.use not in ("ood-problem", "test-new")]
    for skin in skins:
        if len(skin.entities) <= max(sizes):
            problem = f"has {len(skin.entities)} entities; size {max(sizes)} needs {max(sizes) + 1}."
            raise UserError(f"skin {skin.name}", problem, "Add entities, or choose smaller sizes.")
    if not any(skin.use == "train" for skin in skins):
        raise UserError("--skin-folder", "contains no skin for training.", "Add one with `use: train`.")
    plan = LessonPlan(
        kinds=tuple(map(_weighted, lessons)),
        sizes=tuple(sorted(set(sizes))),
        complexities=tuple(dict.fromkeys(complexities)),
        statements=statements,
        ternary=ternary,
        unknown=unknown,
        converse=converse,
        changes=changes,
        indirect=indirect,
        invented=invented,
    )
    check = LessonCheck(skins)
    checked = (check.checked(lesson) for lesson in draw_lessons(plan, skins, number, seed))
    lines = (write_lesson(lesson, f"{seed}-{place}", CANARY) for place, lesson in enumerate(checked))
    write_lines(lines, out)
    LOGGER.info("%s lessons: %s", f"{number:,}", out)


def _weighted(text: str) -> tuple:
    """Kind and weight of an option."""
    from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import KINDS

    kind, _, weight = text.partition("=")
    if kind not in KINDS:
        raise UserError(
            "--lessons", f"{kind!r} is not a kind of lesson{did_you_mean(kind, KINDS)}", f"Choose from {', '.join(KINDS)}."
        )
    try:
        value = float(weight or 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise UserError("--lessons", f"{text!r} gives no positive weight.", "Write it as in copy=2.")
    return kind, value


def start_model(
    train: Train = (),
    /,
    *,
    architecture: Literal["gpt2", "llama"] = "llama",
    layers: Annotated[int, between(1, 1000)] = 4,
    width: Annotated[int, between(1, 1_000_000)] = 128,
    heads: Annotated[int, between(1, 1000)] = 4,
    positions: Annotated[int, between(8, 1_000_000)] = 512,
    vocabulary: Annotated[int, between(258)] = 1024,
    tokenizer: str | None = None,
    seed: Seed = 0,
    out: OutFolder,
) -> None:
    """Make a small untrained model that knows the words of training files, on which fine-tuning begins.

    Trains a tokenizer on the texts of training files, and writes a causal language model with random weights.

    Args:
        architecture: family of the model
        layers: number of layers
        width: hidden size
        heads: number of attention heads
        positions: longest sequence, in tokens
        vocabulary: largest number of tokens
        tokenizer: folder of a finished tokenizer, instead of TRAIN
        out: folder of the model, written whole or not at all
    """
    from dataclasses import asdict

    from worldprobe.benchmarks.worldsense.finetuning import training_files
    from worldprobe.files import check_place, source_of, whole_folder
    from worldprobe.models import model_provenance
    from worldprobe.provenance import digests, made

    model_provenance.pin()
    from worldprobe.training import scratch
    from worldprobe.training.tokenizer import save_tokenizer, train_tokenizer

    settings = scratch.Settings(architecture, layers, width, heads, 0, 1, 1.0, seed, positions=positions)
    scratch.check_settings(settings)
    if bool(tokenizer) == bool(train):
        raise UserError("worldsense start-model", "takes training files or a tokenizer.", "Give TRAIN, or --tokenizer FOLDER.")
    if tokenizer:
        encoder = scratch.load_tokenizer(tokenizer)
        inputs = {"tokenizer": Path(tokenizer) / "tokenizer.json"}
    else:
        encoder = train_tokenizer(training_files.read_texts(train), vocabulary)
        inputs = {f"train {place}": path for place, path in enumerate(train, 1)}
    found = digests(inputs)
    source = source_of(found, asdict(settings), vocabulary)
    check_place(out, is_folder=True, command="worldsense start-model", source=source)
    model, _ = scratch.train([], encoder, settings, out.name)
    provenance = made(
        methods.START_MODEL,
        packages=["torch", "transformers", "tokenizers", "safetensors"],
        digests=found,
        seed=seed,
        model=out.name,
        dtype="float32",
        details={"n_parameters": model.num_parameters(), "vocabulary": encoder.get_vocab_size(), **model_provenance.facts()},
    )
    with whole_folder(out, "worldsense start-model", source) as folder:
        if not tokenizer:
            save_tokenizer(encoder, folder)
        scratch.save_model(model, tokenizer or folder, folder, out.name, settings, provenance)
