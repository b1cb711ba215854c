"""``worldsense finetune`` and ``gather-trainings``: a model learns WorldSense's problems (paper, Section 5.4)."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import methods
from worldprobe.cli.arguments import (
    add_pickle_argument,
    add_remote_code_argument,
    add_revision_argument,
    add_seed_argument,
    positive,
    whole_number,
)
from worldprobe.cli.finetuning_flags import TRAIN_HELP, add_lesson_flags, add_lora_flags, add_training_flags
from worldprobe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def add_finetuning_parsers(actions: argparse._SubParsersAction) -> None:
    """``finetune`` and ``gather-trainings``."""
    tune = actions.add_parser(
        "finetune",
        help="fine-tune a model on WorldSense's problems",
        description="Fine-tunes a causal language model on trials or dialogues, with the loss on the answer. Writes a Hugging "
        "Face folder with a card, whole or not at all. A killed run continues from its last checkpoint when the same command is "
        "given again.",
    )
    tune.add_argument("checkpoint", metavar="MODEL", help="model folder, or hub id that was fetched before")
    tune.add_argument("train", nargs="+", type=Path, metavar="TRAIN", help=TRAIN_HELP)
    add_revision_argument(tune)
    add_pickle_argument(tune)
    add_remote_code_argument(tune)
    tune.add_argument("--trials", type=positive, metavar="N", help="take only the first N trials, as whole tuples")
    add_lesson_flags(tune)
    add_training_flags(tune)
    add_lora_flags(tune)
    tune.add_argument(
        "--checkpoint-every", type=positive, metavar="N", help=f"steps between checkpoints (default: {CHECKPOINTS} in all)"
    )
    tune.add_argument(
        "--checkpoints", type=Path, metavar="FOLDER", help="folder of checkpoints (default: .checkpoints next to --out)"
    )
    tune.add_argument(
        "--gpus",
        type=whole_number(0, 1024),
        default=1,
        metavar="N",
        help="GPUs that share the model; 0: train on the CPU (default: 1, or the CPU where there is no GPU)",
    )
    tune.add_argument(
        "--threads", type=whole_number(0, 4096), default=1, metavar="N", help="CPU threads, on which the weights depend"
    )
    add_seed_argument(tune, "the order of lessons, dropout and LoRA's matrices")
    tune.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the model, written whole or not at all"
    )
    tune.set_defaults(run=run_finetune)
    gather = actions.add_parser("gather-trainings", help="gather loss and learning rate of fine-tuned models into one table")
    gather.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="folders that `worldsense finetune` wrote")
    gather.add_argument("--out", type=Path, required=True, metavar="FILE", help="worldsense_trainings table")
    gather.set_defaults(run=run_gather)


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


def run_finetune(args: argparse.Namespace) -> int | None:
    """Check everything, load, train, save; several GPUs have a process each, which the first of them starts."""
    from worldprobe.files import check_place
    from worldprobe.log import LOGGER
    from worldprobe.models import model_provenance
    from worldprobe.operations.devices import claim_gpus, visible_gpus
    from worldprobe.training import processes

    processes.end_with_parent()
    check_place(args.out, is_folder=True, command=COMMAND)
    if args.checkpoints and args.checkpoints.resolve().is_relative_to(args.out.resolve()):
        raise UserError("--checkpoints", "is in the folder of --out, which is replaced as a whole.", "Name another folder.")
    if args.gpus > 1 and not visible_gpus() and not processes.on_cpu():
        LOGGER.warning("--gpus %d: this machine has none, so one process trains on the CPU", args.gpus)
        args.gpus = 0
    if not processes.is_process():
        claim_gpus(args.gpus)
    elif not processes.is_first() or processes.TOLD in os.environ:
        LOGGER.setLevel(logging.ERROR)  # who started this process has said what there is to say of files and settings
    model_provenance.pin()
    import worldprobe.training.tuning  # noqa: F401  before what loads models, which imports transformers without distribution

    with processes.told_once():
        prepared = _prepare(args)
        if args.gpus > 1 and not processes.is_process():
            return _launch(args.gpus, bool(visible_gpus()))
        if processes.is_first():
            LOGGER.setLevel(logging.INFO)
        _finetune(args, prepared)
    return None


def _prepare(args: argparse.Namespace) -> _Prepared:
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

    check_batch(args.batch, max(args.gpus, 1))
    if bool(args.mix) != bool(args.share):
        raise UserError("--mix, --share", "one does nothing without the other.", "Give both, or neither.")
    prompts = load_prompt_set(args.prompt_set)
    if prompts.examples is not None:
        raise UserError(f"--prompt-set {args.prompt_set}", "shows solved examples.", "Train with basic, cot or constrained.")
    checkpoint = locate(args.checkpoint, args.revision, args.allow_pickle, args.trust_remote_code)
    is_chat = args.chat == "always" or (args.chat == "auto" and checkpoint.has_chat_template())
    config = tuning_checks.check_base(checkpoint, is_chat)
    tokenizer = load_tokenizer(checkpoint)
    if tokenizer.eos_token_id is None:
        LOGGER.warning("%s: its tokenizer has no end token, so no lesson teaches where an answer ends", checkpoint.name)
    encoder = _encoder(checkpoint, config, tokenizer)
    room = min(args.sequence_length, encoder.max_length)
    items = [path for path in args.tests if str(path).endswith(".parquet") and table_name(path) == "items"]
    tests = read_tests([path for path in args.tests if path not in items], read_all_wordings(args.skin_folder or FOLDER))
    _add_items(items, tests.content)
    reader = MaterialReader(prompts, is_chat, encoder, args.loss == "all", tests, args.allow_contamination)
    material = reader.read_train(args.train, args.trials)
    tuning_checks.check_lengths(material, room, ", ".join(map(str, args.train)))
    mixed = reader.read_mixed(args.mix, room) if args.mix else None
    how, lesson_order = _settings(args, checkpoint, material, mixed)
    if mixed is not None and not (lesson_order >= len(material)).any():
        problem = f"is too small for any lesson of --mix to be among the {len(lesson_order):,} that are seen."
        raise UserError(f"--share {args.share}", problem, "Take a larger one, or leave both out.")
    curriculum = Curriculum(material, mixed, lesson_order)
    n_parameters = tuning_checks.count_parameters(checkpoint)
    if not is_process():  # else who started it has looked, before others took their part
        tokens = _tokens_per_pass(args, how, material, mixed)
        tuning_checks.check_memory(checkpoint.name, config, n_parameters, how, tokens, max(args.gpus, 1))
    digests = {"checkpoint": checkpoint.digest(), "prompts": prompts.digest}
    digests |= {f"train {number}": digest_file(path) for number, path in enumerate(args.train, 1)}
    digests |= {f"mix {number}": digest_file(path) for number, path in enumerate(args.mix, 1)}
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


def _settings(args: argparse.Namespace, checkpoint: Checkpoint, material: Material, mixed: Material | None) -> tuple[Tuning, Any]:
    """The settings with everything decided, and the order of lessons."""
    import math

    import numpy as np

    from worldprobe.training import tuning_checks
    from worldprobe.training.lessons import lesson_order
    from worldprobe.training.tuning import Tuning

    method = args.tuning
    if method == "auto":
        method = "full" if tuning_checks.count_parameters(checkpoint) <= args.full_up_to else "lora"
    steps = args.steps or max(1, math.ceil((args.epochs or 2) * len(material) / (args.batch * (1 - args.share))))
    warm_up = round(WARM_UP * steps) if args.warm_up is None else args.warm_up
    if warm_up >= steps:
        problem = f"the learning rate would never reach its peak: there are {steps} steps, and it rises for {warm_up}."
        raise UserError("--warm-up", problem, "Take fewer steps of warm-up, or train longer (--steps, --epochs).")
    how = Tuning(
        steps=steps,
        warm_up=warm_up,
        precision=tuning_checks.choose_precision(args.precision),
        method=method,
        share=args.share,
        **{
            key: getattr(args, key)
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


def _tokens_per_pass(args: argparse.Namespace, how: Tuning, material: Material, mixed: Material | None) -> int:
    from worldprobe.training.tuning import lessons_per_pass, longest_of

    longest = longest_of(material, mixed)
    return longest * lessons_per_pass(how.batch // max(args.gpus, 1) or 1, longest, how.per_pass)


def _launch(number: int, is_shared: bool) -> int:
    """One process for each GPU, all with the command that this one was given."""
    from worldprobe.training.processes import launch

    source = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return launch(number, [sys.executable, "-m", "worldprobe", *sys.argv[1:]], is_shared)


def _finetune(args: argparse.Namespace, prepared: _Prepared) -> None:
    """Load, train, and in the first process save."""
    import shutil
    from contextlib import nullcontext
    from dataclasses import replace

    from worldprobe.files import check_place, source_of, whole_folder
    from worldprobe.models import model_provenance
    from worldprobe.models.checkpoint import ensure_unchanged, short_name
    from worldprobe.models.loading import load
    from worldprobe.provenance import made
    from worldprobe.training import processes, tuning_checks
    from worldprobe.training.checkpoints import held, work_folder
    from worldprobe.training.tuning import save_tuned, stored_dtype, tune

    how, name = prepared.how, args.out.name
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
    check_place(args.out, is_folder=True, command=COMMAND, source=source)
    work = work_folder(args.checkpoints or args.out.absolute().parent / ".checkpoints", args.out.name, provenance.to_json())
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
        every = args.checkpoint_every or max(1, how.steps // CHECKPOINTS)
        record = tune(model, prepared.curriculum, how, prepared.padding, work, every, name)
        if not processes.is_first():
            return
        with whole_folder(args.out, COMMAND, source) as folder:
            save_tuned(work / "final", prepared.checkpoint, prepared.config, how.method == "lora", folder)
            _write_texts(folder, name, short_name(args.checkpoint), provenance, record, prepared)
        shutil.rmtree(work, ignore_errors=True)


def _write_texts(folder: Path, name: str, base: str, provenance: Any, record: Any, prepared: _Prepared) -> None:
    from worldprobe.benchmarks.worldsense.finetuning.model_card import RECORD, write_card, write_record

    write_record(record, folder / RECORD)
    (folder / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    card = write_card(name, base, provenance, prepared.how.described(), prepared.contamination, prepared.canary is not None)
    (folder / "README.md").write_text(card, encoding="utf-8")


def run_gather(args: argparse.Namespace) -> None:
    """Records of trainings -> one table."""
    import pandas as pd

    from worldprobe.benchmarks.worldsense.contracts import Trainings
    from worldprobe.benchmarks.worldsense.finetuning.model_card import RECORD, read_record
    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    records = [read_record(folder / RECORD).assign(model=folder.name) for folder in args.models]
    names = [folder.name for folder in args.models]
    for name in names:
        if names.count(name) > 1:
            raise UserError("MODEL", f"two folders are called {name}.", "Give each model once.")
    inputs = {f"training {name}": folder / RECORD for name, folder in zip(names, args.models, strict=True)}
    write_table(pd.concat(records, ignore_index=True), Trainings, args.out, made(GATHER_METHOD, inputs, ["pandas"]))
