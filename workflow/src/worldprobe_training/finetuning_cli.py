"""``worldsense finetune`` and what belongs to it: lessons, base models, records, other benchmarks
(paper, Section 5.4).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.cli.engines import model_name
from worldprobe.cli.options import (
    KEYS,
    AllowPickle,
    Dtype,
    ModelName,
    OutFolder,
    Place,
    Revision,
    SkinFolder,
    TrustRemoteCode,
    WordingVersion,
    answered,
    between,
)
from worldprobe.errors import UserError
from worldprobe.files import check_place, whole_folder, write_text
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import locate
from worldprobe.provenance import digests, made
from worldprobe.settings import parse_given
from worldprobe_training.arithmetic import facts, pin
from worldprobe_training.settings import ScratchSettings
from worldprobe_training.trainings import FinetuningSettings, ReadingLessons, StartSettings

#: Bumped when the same records give another table.
GATHER_METHOD = 1
Train = Annotated[
    Sequence[Path],
    Parameter(
        help=(
            "trials (.parquet, or the official layout), or dialogues (.jsonl, .jsonl.gz) whose last"
            " message is the assistant's"
        )
    ),
]


Settings = Annotated[
    str | None,
    Parameter(
        help='settings: a YAML file, or JSON in quotes, e.g. \'{"batch": 32, "packing": false}\''
    ),
]


def add_commands(app: App) -> None:
    """Add these commands to the stage ``worldsense``."""
    for action in (
        write_phrases,
        write_lessons,
        start_model,
        finetune,
        gather_trainings,
        ask_external,
        gather_external,
    ):
        app.command(action)


def finetune(
    checkpoint: Place,
    train: Train,
    /,
    *,
    settings: Settings = None,
    how: Annotated[FinetuningSettings, KEYS] = FinetuningSettings(),
    mix: Sequence[Path] = (),
    tests: Sequence[Path] = (),
    skin_folder: SkinFolder = None,
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    checkpoints: Path | None = None,
    gpus: Annotated[int, between(0, 1024)] = 1,
    out: OutFolder,
) -> int | None:
    """Fine-tune a causal language model on trials or dialogues, with the loss on the answer.

    Writes a Hugging Face folder with a card, whole or not at all. A killed run continues from its
    last checkpoint when the same command is given again. Several GPUs have a process each. Options
    win over --settings.

    Args:
        checkpoint: model folder, or hub id that was fetched before
        mix: dialogues that are mixed in, e.g. instructions
        tests: test sets, and tables of EWoK's items, none of which may be trained on
        checkpoints: folder of checkpoints (default: .checkpoints next to --out)
        gpus: GPUs that share the model; 0, or where there is none: train on the CPU
        out: folder of the model, written whole or not at all
    """
    from worldprobe.operations.resources import claim_gpus, visible_gpus
    from worldprobe_training import processes

    processes.end_with_parent()
    check_place(out, is_folder=True)
    chosen = parse_given(FinetuningSettings, settings, how.model_dump(exclude_unset=True))
    if checkpoints and checkpoints.resolve().is_relative_to(out.resolve()):
        raise UserError(
            "--checkpoints",
            "is in the folder of --out, which is replaced as a whole.",
            "Name another folder.",
        )
    if gpus > 1 and not visible_gpus() and not processes.on_cpu():
        LOGGER.warning("--gpus %d: this machine has none, so one process trains on the CPU", gpus)
        gpus = 0
    if not processes.is_process():
        claim_gpus(gpus)
    elif not processes.is_first() or processes.TOLD in os.environ:
        LOGGER.setLevel(
            logging.ERROR
        )  # who started this process has said what there is to say of files and settings
    pin()
    from worldprobe_training import finetune

    with processes.told_once():
        base = locate(checkpoint, revision, allow_pickle, trust_remote_code)
        return finetune.finetune(
            base, finetune.Files(train, mix, tests, skin_folder), chosen, gpus, checkpoints, out
        )


def gather_trainings(models: list[Path], /, *, out: Path) -> None:
    """Gather loss and learning rate of fine-tuned models into one table.

    Args:
        models: folders that `worldsense finetune` wrote
        out: worldsense_trainings table
    """
    import pandas as pd

    from worldprobe.contracts import write_table
    from worldprobe_training.contracts import Trainings
    from worldprobe_training.model_card import RECORD, read_record

    models = answered(models)[0]
    records = [read_record(folder / RECORD).assign(model=folder.name) for folder in models]
    names = [folder.name for folder in models]
    for name in names:
        if names.count(name) > 1:
            raise UserError("MODEL", f"two folders are called {name}.", "Give each model once.")
    inputs = {
        f"training {name}": folder / RECORD for name, folder in zip(names, models, strict=True)
    }
    write_table(
        pd.concat(records, ignore_index=True),
        Trainings,
        out,
        made(GATHER_METHOD, inputs, ["pandas"]),
    )


def ask_external(
    checkpoint: Place,
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
    """Evaluate a model on tasks of lm-evaluation-harness, e.g. MMLU.

    Calls lm-evaluation-harness, which must be installed, with data in the cache: nothing is
    downloaded.

    Args:
        checkpoint: model folder, or hub id that was fetched before
        tasks: tasks, with the number of examples if not its own: mmlu:5
        include: folder of further tasks of lm-evaluation-harness
        out: one row per task (CSV)
    """
    import pandas as pd

    from worldprobe.models.loading import check_dtype
    from worldprobe_training.external import COLUMNS, measure_tasks

    asked = [task_and_examples(task) for task in tasks]
    precision = check_dtype(dtype or "float32")
    located = locate(checkpoint, revision, False, trust_remote_code)
    located.refuse_adapter("lm-evaluation-harness")
    options = {"dtype": precision, "trust_remote_code": trust_remote_code}
    rows = measure_tasks(
        model_name(model, checkpoint), str(located.folder), asked, options, include
    )
    write_text(
        out, pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(index=False, lineterminator="\n")
    )


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
    """Put several models' results of ask-external next to the paper's Table 7.

    Args:
        answers: files that `worldsense ask-external` wrote
        out: one row per model and task (CSV)
    """
    from worldprobe_training.external import next_to_published

    write_text(
        out, next_to_published(answered(answers)[0]).to_csv(index=False, lineterminator="\n")
    )


def write_phrases(
    *, skin_folder: SkinFolder = None, wording_version: WordingVersion = 4, out: OutFolder
) -> None:
    """Write a tokenizer whose tokens are entities and phrases of the skins.

    It is for small models that read nothing else.

    Args:
        out: folder of the tokenizer, written whole or not at all
    """
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe_training.reading_lessons import tokens_of_skins
    from worldprobe_training.tokenizer import phrase_tokenizer, save_tokenizer

    folder = skin_folder or FOLDER
    tokenizer = phrase_tokenizer(tokens_of_skins(read_skins(folder, wording_version)))
    details = {"vocabulary": tokenizer.get_vocab_size()}
    provenance = made(methods.PHRASES, {"skins": folder}, ["tokenizers"], details=details)
    with whole_folder(out) as temporary:
        save_tokenizer(tokenizer, temporary)
        (temporary / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    LOGGER.info("%d tokens: %s", tokenizer.get_vocab_size(), out)


def write_lessons(
    *,
    settings: Settings,
    skin_folder: SkinFolder = None,
    wording_version: WordingVersion = 4,
    out: Path,
) -> None:
    """Write lessons about descriptions, to train a small model before it is fine-tuned.

    Descriptions in the words of training skins or in invented ones, and what follows from them;
    refused if a test's words are in them. The settings are those of `worldsense.finetuning.lessons`
    in a study (config/README.md).

    Args:
        out: lessons, as dialogues, one a line (.jsonl.gz)
    """
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.trials.files import write_lines
    from worldprobe_training.reading_lessons import lesson_lines

    how = parse_given(ReadingLessons, settings)
    write_lines(lesson_lines(how, read_skins(skin_folder or FOLDER, wording_version)), out)
    LOGGER.info("%s lessons: %s", f"{how.number:,}", out)


def start_model(
    train: Train = (),
    /,
    *,
    how: Annotated[StartSettings, KEYS] = StartSettings(),
    tokenizer: Place | None = None,
    out: OutFolder,
) -> None:
    """Make a small untrained model, on which fine-tuning begins.

    It knows the words of training files.

    Trains a tokenizer on the texts of training files, and writes a causal language model with
    random weights.

    Args:
        tokenizer: folder of a finished tokenizer, instead of TRAIN
        out: folder of the model, written whole or not at all
    """
    from worldprobe_training import training_files

    pin()
    from worldprobe_training import scratch
    from worldprobe_training.tokenizer import save_tokenizer, train_tokenizer

    settings = ScratchSettings(steps=0, **how.model_dump(exclude={"vocabulary"}))
    if bool(tokenizer) == bool(train):
        raise UserError(
            "worldsense start-model",
            "takes training files or a tokenizer.",
            "Give TRAIN, or --tokenizer FOLDER.",
        )
    if tokenizer:
        encoder = scratch.load_trained_tokenizer(tokenizer)
        inputs = {"tokenizer": Path(tokenizer) / "tokenizer.json"}
    else:
        encoder = train_tokenizer(training_files.read_texts(train), how.vocabulary)
        inputs = {f"train {number}": path for number, path in enumerate(train, 1)}
    input_digests = digests(inputs)
    check_place(out, is_folder=True)
    model, _ = scratch.train([], encoder, settings, out.name)
    provenance = made(
        methods.START_MODEL,
        packages=["torch", "transformers", "tokenizers", "safetensors"],
        digests=input_digests,
        seed=how.seed,
        model=out.name,
        dtype="float32",
        details={
            "n_parameters": model.num_parameters(),
            "vocabulary": encoder.get_vocab_size(),
            **facts(),
        },
    )
    with whole_folder(out) as folder:
        if not tokenizer:
            save_tokenizer(encoder, folder)
        scratch.save_model(model, tokenizer or folder, folder, out.name, settings, provenance)
