"""A fine-tuning from its files to the folder of the model (paper, Section 5.4): read, check, train,
write.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from worldprobe import methods
from worldprobe.benchmarks.worldsense.inference.prompts import PromptSet, load_prompt_set
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_all_wordings
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.errors import UserError
from worldprobe.files import digest_file, whole_folder
from worldprobe.log import LOGGER
from worldprobe.models.chat import Encoder, has_template
from worldprobe.models.checkpoint import Checkpoint, ensure_unchanged, short_name
from worldprobe.models.loading import load_checkpoint, load_tokenizer, longest_sequence
from worldprobe.models.stand_ins import is_of_rehearsal
from worldprobe.operations.resources import visible_gpus
from worldprobe.provenance import Provenance, is_rehearsed, made
from worldprobe_training import processes, tuning
from worldprobe_training.arithmetic import facts
from worldprobe_training.contamination import (
    TestedTuples,
    in_dialogues,
    in_trials,
    read_tests,
    refuse_tests,
)
from worldprobe_training.lessons import Lesson, TokenisedLessons, encode_lessons, lesson_order
from worldprobe_training.model_card import RECORD, write_card, write_record
from worldprobe_training.settings import Tuning
from worldprobe_training.training_files import (
    TrainingDialogue,
    canary_of_dialogues,
    first_tuples,
    is_trials,
    lessons_of_dialogues,
    lessons_of_trials,
    read_dialogues,
)
from worldprobe_training.trainings import FinetuningSettings

#: Share of the steps in which the learning rate rises: the paper's 2,000 of 200,000.
WARM_UP = 0.01
#: Checkpoints of a whole training.
CHECKPOINTS = 20


@dataclass(frozen=True)
class Files:
    """Files that a model is fine-tuned on, and tests that it must not be trained on.

    Attributes:
        train: trials or dialogues.
        mix: dialogues that are mixed in.
        tests: test sets, and tables of other benchmarks' items.
        skin_folder: of skins; None: the repository's.
    """

    train: Sequence[Path]
    mix: Sequence[Path] = ()
    tests: Sequence[Path] = ()
    skin_folder: Path | None = None


@dataclass(frozen=True)
class Prepared:
    """Everything that is known before weights are loaded."""

    checkpoint: Checkpoint
    config: dict[str, Any]
    tokenizer: Any
    how: Tuning
    curriculum: tuning.Curriculum
    digests: dict[str, str]
    details: dict[str, Any]
    contamination: list[str]
    canary: str | None

    @property
    def padding(self) -> int:
        """The token id of empty places; no other token ever sees it."""
        token = self.tokenizer.pad_token_id
        return int(token if token is not None else self.tokenizer.eos_token_id or 0)


def finetune(
    base: Checkpoint,
    files: Files,
    settings: FinetuningSettings,
    gpus: int,
    checkpoints: Path | None,
    out: Path,
) -> int | None:
    """Fine-tune a model, in several processes where it is spread over several GPUs.

    Args:
        base: the model.
        files: what it is trained on.
        settings: how.
        gpus: GPUs that share the model; 0: the CPU.
        checkpoints: folder of checkpoints; None: next to ``out``.
        out: folder of the new model.

    Returns:
        The status of the processes that were started; None: this one did it all.

    Raises:
        UserError: before the first step, what cannot be trained; later, a loss that is not finite,
            or lack of memory.
    """
    prepared = prepare(base, files, settings, gpus)
    if gpus > 1 and not processes.is_process():
        return processes.launch_again(gpus, bool(visible_gpus()))
    if processes.is_first():
        LOGGER.setLevel(logging.INFO)
    every = settings.checkpoint_every or max(1, prepared.how.steps // CHECKPOINTS)
    _train(prepared, checkpoints or out.absolute().parent / ".checkpoints", every, out)
    return None


def prepare(
    checkpoint: Checkpoint, files: Files, settings: FinetuningSettings, gpus: int
) -> Prepared:
    """Read and check: files, base, form, lengths, precision, memory."""
    tuning.check_batch(settings.batch, max(gpus, 1))
    if bool(files.mix) != bool(settings.share):
        raise UserError(
            "--mix, --share", "one does nothing without the other.", "Give both, or neither."
        )
    prompts = load_prompt_set(settings.prompt_set)
    if prompts.examples is not None:
        raise UserError(
            f"prompt_set: {settings.prompt_set}",
            "shows solved examples.",
            "Train with basic, cot or constrained.",
        )
    tokenizer = load_tokenizer(checkpoint)
    is_chat = settings.chat == "always" or (settings.chat == "auto" and has_template(tokenizer))
    config = tuning.check_base(checkpoint, tokenizer, is_chat)
    if tokenizer.eos_token_id is None:
        LOGGER.warning(
            "%s: its tokenizer has no end token, so no lesson teaches where an answer ends",
            checkpoint.name,
        )
    longest = longest_sequence(SimpleNamespace(**config))
    kind = str(config.get("model_type", ""))
    encoder = Encoder(tokenizer, kind, config.get("bos_token_id"), longest, "auto", checkpoint.name)
    room = min(settings.sequence_length, encoder.max_length)
    tests = read_tests(files.tests, read_all_wordings(files.skin_folder or FOLDER))
    reader = MaterialReader(
        prompts, is_chat, encoder, settings.loss == "all", tests, settings.allow_contamination
    )
    material = reader.read_train(files.train, settings.trials)
    tuning.check_lengths(material, room, ", ".join(map(str, files.train)))
    mixed = reader.read_mixed(files.mix, room) if files.mix else None
    n_parameters = tuning.count_parameters(checkpoint)
    how = decide(settings, n_parameters, len(material))
    order = _order(how, material, mixed)
    n_mixed_seen = int((order >= len(material)).sum())
    if mixed is not None and not n_mixed_seen:
        problem = (
            f"is too small for any lesson of --mix to be among the {len(order):,} that are seen."
        )
        raise UserError(
            f"share: {settings.share}", problem, "Take a larger one, or leave both out."
        )
    if not processes.is_process():  # else who started it has looked, before others took their part
        longest = tuning.longest_of(material, mixed)
        tokens = longest * tuning.lessons_per_pass(how.batch // max(gpus, 1), longest, how.per_pass)
        tuning.check_memory(checkpoint.name, config, n_parameters, how, tokens, max(gpus, 1))
    digests = {"checkpoint": checkpoint.digest(), "prompts": prompts.digest}
    for name, paths in (("train", files.train), ("mix", files.mix)):
        digests |= {f"{name} {number}": digest_file(path) for number, path in enumerate(paths, 1)}
    details = {
        "n_lessons": len(material),
        "n_mixed": len(mixed) if mixed is not None else 0,
        "form": "chat" if is_chat else "text",
        "prompting": prompts.name,
        "n_seen": len(order) - n_mixed_seen,
        "n_mixed_seen": n_mixed_seen,
        "n_parameters": n_parameters,
    }
    curriculum = tuning.Curriculum(material, mixed, order)
    return Prepared(
        checkpoint,
        config,
        tokenizer,
        how,
        curriculum,
        digests,
        details,
        reader.contamination,
        reader.canary,
    )


def decide(settings: FinetuningSettings, n_parameters: int, n_lessons: int) -> Tuning:
    """The settings with everything decided.

    Args:
        settings: as a study or a file states them.
        n_parameters: of the model.
        n_lessons: without those that are mixed in.

    Raises:
        UserError: the learning rate would never reach its peak, or this machine cannot train in the
            precision.
    """
    steps = settings.steps or max(
        1, math.ceil(settings.epochs * n_lessons / (settings.batch * (1 - settings.share)))
    )
    warm_up = round(WARM_UP * steps) if settings.warm_up is None else settings.warm_up
    if warm_up >= steps:
        problem = (
            f"the learning rate would never reach its peak: there are {steps} steps, and it rises"
            f" for {warm_up}."
        )
        raise UserError(
            "warm_up", problem, "Take fewer steps of warm_up, or train longer (steps, epochs)."
        )
    by_size = "full" if n_parameters <= settings.full_up_to else "lora"
    decided = {
        "steps": steps,
        "warm_up": warm_up,
        "tuning": by_size if settings.tuning == "auto" else settings.tuning,
        "precision": tuning.choose_precision(settings.precision),
    }
    stated = {
        key: value for key, value in settings.model_dump().items() if key in Tuning.model_fields
    }
    return Tuning(**(stated | decided))


def _order(how: Tuning, material: TokenisedLessons, mixed: TokenisedLessons | None) -> np.ndarray:
    parts = [part for part in (material, mixed) if part is not None]
    lengths = np.concatenate([part.lengths for part in parts]) if how.group_by_length else None
    n_mixed = len(mixed) if mixed is not None else 0
    return lesson_order(
        len(material),
        n_mixed,
        how.batch,
        how.steps,
        how.share,
        how.order == "shuffled",
        how.seed,
        lengths,
    )


def _train(prepared: Prepared, checkpoints: Path, every: int, out: Path) -> None:
    """Load, train, and in the first process write the folder of the model."""
    how, base = prepared.how, prepared.checkpoint
    provenance = _provenance(prepared, out.name)
    work = tuning.work_folder(checkpoints, out.name, provenance.to_json())
    if processes.is_process():  # noted here, as another number of GPUs may continue
        together = {"processes": int(os.environ["WORLD_SIZE"])}
        provenance = replace(provenance, details={**provenance.details, **together})
    with tuning.held(work) if processes.is_first() else nullcontext():
        processes.begin()
        before = base.state()
        dtype = tuning.stored_dtype(prepared.config) if how.tuning == "lora" else "float32"
        model, _ = load_checkpoint(base, dtype, "cpu")
        ensure_unchanged(base, before)
        if processes.is_first():
            tuning.check_pass(base.name, model, prepared.curriculum, prepared.padding, how)
        record = tuning.tune(
            model, prepared.curriculum, how, prepared.padding, work, every, out.name
        )
        if not processes.is_first():
            return
        with whole_folder(out) as folder:
            tuning.save_tuned(work / "final", base, prepared.config, how.tuning == "lora", folder)
            write_record(record, folder / RECORD)
            if is_rehearsed(folder) or is_of_rehearsal(base.name):
                details = {**provenance.details, "rehearsal": True}
                provenance = replace(provenance, details=details)
            (folder / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
            is_own = prepared.canary is not None
            card = write_card(
                out.name,
                short_name(base.name),
                provenance,
                how.described(),
                prepared.contamination,
                is_own_data=is_own,
            )
            (folder / "README.md").write_text(card, encoding="utf-8")
        shutil.rmtree(work, ignore_errors=True)


def _provenance(prepared: Prepared, name: str) -> Provenance:
    how, base = prepared.how, prepared.checkpoint
    packages = ["torch", "transformers", "accelerate", "tokenizers", "safetensors", "numpy"]
    packages += ["peft"] if how.tuning == "lora" else []
    contamination = {"contamination": prepared.contamination} if prepared.contamination else {}
    return made(
        methods.FINETUNING,
        {},
        packages,
        digests=prepared.digests,
        seed=how.seed,
        model=name,
        checkpoint=base.name,
        revision=base.revision,
        dtype=how.precision,
        canary=prepared.canary,
        details=prepared.details | contamination | {"settings": how.described()} | facts(),
    )


@dataclass
class MaterialReader:
    """Reads training files, all in one form.

    Attributes:
        prompts: how a trial is asked.
        is_chat: lessons are written through the chat template; else as plain text.
        encoder: of the model that is trained.
        is_all: every token of a lesson counts for the loss; else the answer's alone.
        tests: what must not be trained on.
        is_contamination_allowed: test tuples are noted in ``contamination``; else they are refused.
        contamination: ids of the test tuples in what was read.
        canary: what was read carries it, if any.
    """

    prompts: PromptSet
    is_chat: bool
    encoder: Encoder
    is_all: bool
    tests: TestedTuples
    is_contamination_allowed: bool
    contamination: list[str] = field(default_factory=list)
    canary: str | None = None

    def read_train(self, paths: Sequence[Path], most: int | None) -> TokenisedLessons:
        """The lessons of files of trials or dialogues.

        Args:
            paths: the files.
            most: trials and dialogues to take, the first ones, trials as whole tuples; None: all.

        Raises:
            UserError: a file cannot be read, contains test tuples, or there are no lessons.
        """
        lessons: list[Iterator[Lesson]] = []
        for path in paths:
            if most == 0:
                break
            if is_trials(path):
                trials = first_tuples(read_trials(path), most)
                number = len(trials)
                lessons.append(lessons_of_trials(trials, self.prompts, self.is_chat))
                self._note(path, in_trials(trials, self.tests), canary_of_dialogues(path))
            else:
                dialogues = read_dialogues(path)[:most]
                number = len(dialogues)
                lessons.append(self._of_dialogues(path, dialogues))
            most = None if most is None else max(most - number, 0)
        material = encode_lessons(chain(*lessons), self.encoder, self.is_all)
        if not len(material):
            raise UserError(
                ", ".join(map(str, paths)), "contain no lessons.", "Give trials, or dialogues."
            )
        return material

    def read_mixed(self, paths: Sequence[Path], room: int) -> TokenisedLessons:
        """The lessons of dialogues that are mixed in; those of more than ``room`` tokens are left
        out and counted.

        Raises:
            UserError: a file cannot be read or contains test tuples, or all lessons are too long.
        """
        lessons = [self._of_dialogues(path, read_dialogues(path)) for path in paths]
        whole = encode_lessons(chain(*lessons), self.encoder, self.is_all)
        kept = whole.without(room)
        if not len(kept):
            problem = f"all {len(whole)} lessons have more than {room} tokens."
            raise UserError("--mix", problem, "Set a longer sequence_length.")
        if len(kept) < len(whole):
            LOGGER.warning(
                "--mix: %d of %d lessons have more than %d tokens and are left out",
                len(whole) - len(kept),
                len(whole),
                room,
            )
        return kept

    def _of_dialogues(self, path: Path, dialogues: Sequence[TrainingDialogue]) -> Iterator[Lesson]:
        canary = canary_of_dialogues(path, dialogues)
        self._note(path, in_dialogues(dialogues, self.tests), canary)
        return lessons_of_dialogues(dialogues, self.prompts, self.is_chat)

    def _note(self, path: Path, test_items: Sequence[str], canary: str | None) -> None:
        refuse_tests(path, test_items, self.is_contamination_allowed)
        self.contamination += test_items
        self.canary = canary or self.canary
