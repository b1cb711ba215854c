"""Supervised fine-tuning of a causal language model (WorldSense paper, Section 5.4) with
transformers' ``Trainer`` and peft.

Training is a fixed sequence of steps, each with a fixed batch of lessons: both depend on the
settings alone. So a run that was killed continues from its last checkpoint with the same losses,
and on one machine the same settings give the same weights.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
import signal
import threading
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from safetensors import SafetensorError, safe_open
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.utils.data import Dataset
from transformers import (
    AutoModelForCausalLM,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback

from worldprobe.errors import UserError
from worldprobe.files import check_place, take_lock
from worldprobe.inference.preemption import PREEMPTED
from worldprobe.log import LOGGER, Progress
from worldprobe.models.batching import is_out_of_memory
from worldprobe.models.chat import has_template
from worldprobe.models.checkpoint import Checkpoint
from worldprobe.models.loading import DTYPES
from worldprobe.models.weights import read_object
from worldprobe.operations.resources import BYTES
from worldprobe_training import processes
from worldprobe_training.lessons import IGNORED, Collator, TokenisedLessons
from worldprobe_training.scratch import write_weights
from worldprobe_training.settings import Tuning

#: Tokens of one pass of a process, from which on a step is done in several passes.
TOKENS_PER_PASS = 16_384


class Curriculum(Dataset):
    """The lessons of all steps in their order, as transformers' ``Trainer`` reads them."""

    def __init__(
        self, material: TokenisedLessons, mixed: TokenisedLessons | None, order: np.ndarray
    ) -> None:
        """See ``lesson_order`` for the order."""
        self.material, self.mixed, self.order = material, mixed, order

    def __len__(self) -> int:
        """Places of all steps."""
        return len(self.order)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        """The lesson at an index."""
        number = int(self.order[index])
        is_material = number < len(self.material)
        source = self.material if is_material or self.mixed is None else self.mixed
        ids, counts = source.lesson(number if is_material else number - len(self.material))
        return {"ids": ids, "labels": np.where(counts, ids, IGNORED)}


class _Watch(TrainerCallback):
    """Progress lines, a stop at losses that are not finite, and a last checkpoint where the process
    is asked to stop.
    """

    def __init__(self, progress: Progress, stop: threading.Event, name: str) -> None:
        self.progress, self.stop, self.name = progress, stop, name

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if processes.is_any(self.stop.is_set(), args.device):  # all stop after the same step
            self.stop.set()
            control.should_save = control.should_training_stop = True

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        if logs is None or "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            raise UserError(
                f"step {state.global_step}",
                f"the loss is not finite ({logs['loss']}).",
                "Take a lower learning rate, a longer warm-up, or another precision.",
            )
        if not state.is_world_process_zero:
            return
        self.progress.what = f"Fine-tuning {self.name} (loss {logs['loss']:.4f})"
        self.progress.advance(state.global_step - self.progress.done)


def tune(
    model: PreTrainedModel,
    curriculum: Curriculum,
    how: Tuning,
    padding: int,
    folder: Path,
    every: int,
    name: str,
) -> list[dict[str, float]]:
    """Train; afterwards ``folder/final`` has the weights (or those that LoRA added).

    Args:
        model: in float32; with LoRA in any precision.
        curriculum: the lessons.
        how: settings.
        padding: token id of places without a lesson.
        folder: of checkpoints; the last whole one there is continued.
        every: steps between checkpoints.
        name: the model's, for the progress lines.

    Returns:
        the record: number, lessons, loss, learning rate and gradient's norm of each step.

    Raises:
        UserError: a loss is not finite, or memory does not suffice.
        SystemExit: the process was asked to stop; a checkpoint is there.
    """
    make_deterministic(how.threads)
    if how.tuning == "lora":
        model = add_matrices(model, how)
    arguments = _arguments(how, folder, every, curriculum)
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=curriculum,
        data_collator=Collator(padding, how.packing),
    )
    trainer.remove_callback(PrinterCallback)
    if processes.is_shared() and how.precision != "float32":
        # Gradients are summed over GPUs in float32, and the loss is noted in it; accelerate would
        # round both.
        policy = MixedPrecisionPolicy(
            param_dtype=getattr(torch, how.precision), reduce_dtype=torch.float32
        )
        trainer.accelerator.state.fsdp_plugin.mixed_precision_policy = policy
    last = last_checkpoint(folder) if arguments.process_index == 0 else None
    if arguments.world_size > 1:
        shared = [str(last) if last else None]
        torch.distributed.broadcast_object_list(shared, src=0)
        last = Path(shared[0]) if shared[0] else None
    done = int(last.name.rpartition("-")[2]) if last else 0
    stop = threading.Event()
    with (
        Progress(f"Fine-tuning {name}", how.steps, "steps", done) as progress,
        _stopped_by_sigterm(stop),
    ):
        trainer.add_callback(_Watch(progress, stop, name))
        _run(trainer, str(last) if last else None, name)
        if stop.is_set() and trainer.state.global_step < how.steps:
            LOGGER.warning(
                "asked to stop: the same command continues from step %d", trainer.state.global_step
            )
            raise SystemExit(PREEMPTED)
    trainer.save_model(str(folder / "final"))
    processes.end()
    return recorded_steps(trainer.state.log_history, how.batch)


def _run(trainer: Trainer, last: str | None, name: str) -> None:
    try:
        trainer.train(resume_from_checkpoint=last)
    except (torch.cuda.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if "deterministic implementation" in str(error):
            reason = str(error).partition(", but you")[0][:200]
            problem = (
                f"computes with an operation that gives other numbers each time on a GPU: {reason}."
            )
            raise UserError(name, problem, "Train it on the CPU: --gpus 0.") from error
        if not is_out_of_memory(error):
            raise
        raise UserError(
            name,
            f"memory does not suffice for a step: {(str(error).splitlines() or ['no message'])[0]}",
            "Set gradient_checkpointing: true or tuning: lora, take more GPUs, or fewer lessons in"
            " one pass (per_pass).",
        ) from error


def make_deterministic(threads: int) -> None:
    """The same settings give the same weights on the same machine."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if threads:
        torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)


def add_matrices(model: PreTrainedModel, how: Tuning) -> Any:
    """The model with LoRA's matrices, which alone are trained.

    Raises:
        UserError: the model has no such modules.
    """
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(how.seed)
    targets = _lora_targets(model, how.lora_targets)
    config = LoraConfig(
        r=how.lora_rank,
        lora_alpha=how.lora_alpha,
        lora_dropout=how.lora_dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
        fan_in_fan_out=model.config.model_type == "gpt2",
    )
    try:
        adapted = get_peft_model(model, config)
    except ValueError as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise UserError(
            f"lora_targets: {how.lora_targets}",
            f"LoRA cannot be added ({reason}).",
            "Name modules that it has.",
        ) from error
    if how.gradient_checkpointing:
        adapted.enable_input_require_grads()
    return adapted


def _lora_targets(model: PreTrainedModel, wanted: str) -> str | list[str]:
    """The modules that get LoRA's matrices, as peft names them. All of them are there, and no
    weight of theirs serves another module too.
    """
    where = f"lora_targets: {wanted}"
    if wanted == "all-linear":
        return wanted
    names = [name.strip() for name in wanted.split(",")]
    modules = dict(model.named_modules())
    by_name = {
        name: [path for path in modules if name and f".{path}".endswith(f".{name}")]
        for name in names
    }
    lacking = [name for name, paths in by_name.items() if not paths]
    if lacking:
        ends = sorted(
            {
                path.rpartition(".")[2]
                for path, module in modules.items()
                if isinstance(module, torch.nn.Linear)
            }
        )
        problem = f"LoRA cannot be added: the model has no module {lacking[0]!r}."
        raise UserError(where, problem, f"Name modules that it has: {', '.join(ends)}.")
    ends_of_model = [model.get_input_embeddings(), model.get_output_embeddings()]
    if ends_of_model[1] is not None and ends_of_model[0].weight is ends_of_model[1].weight:
        tied = next(
            (
                path
                for paths in by_name.values()
                for path in paths
                if modules[path] in ends_of_model
            ),
            None,
        )
        if tied:
            problem = (
                f"LoRA cannot be added to {tied}: the model reads and writes words by the same"
                " weights."
            )
            raise UserError(where, problem, "Leave it out.")
    return names


def longest_of(material: TokenisedLessons, mixed: TokenisedLessons | None) -> int:
    """Tokens of the longest lesson."""
    return int(
        max(part.lengths.max() for part in (material, mixed) if part is not None and len(part))
    )


def lessons_per_pass(per_process: int, longest: int, wanted: int | None = None) -> int:
    """Lessons that a process computes at once: a divisor of its share of a step, as large as tokens
    (or the user) allow.

    >>> lessons_per_pass(64, 100), lessons_per_pass(64, 4096), lessons_per_pass(64, 100, wanted=10)
    (64, 4, 8)
    """
    most = min(wanted or per_process, per_process if wanted else max(1, TOKENS_PER_PASS // longest))
    return max(
        number
        for number in range(1, per_process + 1)
        if per_process % number == 0 and number <= most
    )


def check_batch(batch: int, number: int) -> None:
    """Raise UserError unless so many processes can share a step's lessons evenly."""
    if batch % number:
        problem = f"{batch} lessons per step cannot be shared by {number} processes evenly."
        raise UserError("batch", problem, f"Take a multiple of {number}, or other --gpus.")


def _arguments(how: Tuning, folder: Path, every: int, curriculum: Curriculum) -> TrainingArguments:
    """Settings in transformers' terms."""
    number = int(os.environ.get("WORLD_SIZE", "1"))
    check_batch(how.batch, number)
    per_process = how.batch // number
    passes = per_process // lessons_per_pass(
        per_process, longest_of(curriculum.material, curriculum.mixed), how.per_pass
    )
    sharded: dict[str, Any] = {}
    if processes.is_shared():
        sharded = {
            "fsdp": True,
            "fsdp_config": {
                "version": 2,
                "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
                "state_dict_type": "FULL_STATE_DICT",
                "cpu_ram_efficient_loading": True,
            },
        }
    return TrainingArguments(
        output_dir=str(folder),
        max_steps=how.steps,
        per_device_train_batch_size=per_process // passes,
        gradient_accumulation_steps=passes,
        learning_rate=how.learning_rate,
        lr_scheduler_type={"constant": "constant_with_warmup"}.get(how.schedule, how.schedule),
        warmup_steps=how.warm_up,
        weight_decay=how.weight_decay,
        adam_beta2=how.beta_2,
        max_grad_norm=how.clip,
        bf16=how.precision == "bfloat16",
        fp16=how.precision == "float16",
        # Not accelerate's way of it for FSDP: that renames modules, and LoRA's matrices are then
        # not found in what is saved.
        gradient_checkpointing=how.gradient_checkpointing,
        gradient_checkpointing_kwargs=(
            {"use_reentrant": False} if how.gradient_checkpointing else None
        ),
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        dataloader_drop_last=True,
        dataloader_pin_memory=torch.cuda.is_available(),
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_steps=every,
        save_total_limit=1,
        seed=how.seed,
        use_cpu=not torch.cuda.is_available(),
        ddp_find_unused_parameters=False,
        disable_tqdm=True,
        report_to="none",
        **sharded,
    )


@contextlib.contextmanager
def _stopped_by_sigterm(event: threading.Event) -> Iterator[None]:
    """Let SIGTERM set an event; a thread other than the main one cannot receive signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: event.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def recorded_steps(history: list[dict[str, float]], batch: int) -> list[dict[str, float]]:
    """The record of every step, from what ``Trainer`` noted."""
    rows = [entry for entry in history if "loss" in entry and "learning_rate" in entry]
    return [
        {
            "step": int(row["step"]),
            "lessons": int(row["step"]) * batch,
            "loss": row["loss"],
            "learning_rate": row["learning_rate"],
            "gradient_norm": row.get("grad_norm", math.nan),
        }
        for row in rows
    ]


def stored_dtype(config: Mapping[str, Any]) -> str:
    """The precision of a base's own weights, by its configuration; float32 where it says nothing
    that we know.
    """
    named = config.get("dtype") or config.get("torch_dtype")
    return named if named in DTYPES else "float32"


#: Files that are the base's, unchanged: its tokenizer, chat template, way of generating, and code.
KEPT = (
    *("tokenizer*", "vocab*", "merges.txt", "spiece.model", "*.tiktoken", "tekken.json"),
    *(
        "special_tokens_map.json",
        "added_tokens.json",
        "chat_template*",
        "generation_config.json",
        "*.py",
    ),
)


def save_tuned(
    final: Path, base: Checkpoint, config: dict[str, Any], is_lora: bool, folder: Path
) -> None:
    """Write the model in the precision of its base, LoRA's matrices added to the weights.

    Args:
        final: what ``tuning.tune`` left.
        base: what was fine-tuned.
        config: its configuration.
        is_lora: ``final`` has added matrices alone.
        folder: to write into.
    """
    dtype = getattr(torch, stored_dtype(config))
    options: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": base.trust_remote_code,
    }
    if is_lora:
        from peft import PeftModel

        loaded = AutoModelForCausalLM.from_pretrained(
            str(base.folder), dtype=torch.float32, **options
        )
        with (
            warnings.catch_warnings()
        ):  # matrices under other names would be left out, and the base saved as it was
            warnings.filterwarnings("error", message=".*adapter keys")
            added = PeftModel.from_pretrained(loaded, str(final))
        model: Any = added.merge_and_unload().to(dtype)
    else:
        model = AutoModelForCausalLM.from_pretrained(str(final), dtype=dtype, **options)
    model.config.use_cache = config.get("use_cache", True)
    write_weights(model, folder)
    for pattern in KEPT:
        for path in sorted(base.folder.glob(pattern)):
            if path.is_file():
                shutil.copyfile(path, folder / path.name)


#: The last file of a checkpoint that the first process writes.
STATE = "trainer_state.json"
#: Keeps other runs out of a folder of checkpoints.
LOCK = "lock"


def work_folder(folder: Path, name: str, content: str) -> Path:
    """The folder of one training's checkpoints: another base, file or setting has another one.

    Args:
        folder: of all checkpoints.
        name: the model's.
        content: all that the weights depend on.
    """
    return folder / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder of checkpoints; the system lets go of it when this process
    ends, however it ends.

    Raises:
        UserError: another run is in it, or nothing can be written there.
    """
    check_place(folder / LOCK)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = take_lock(folder / LOCK, patience=0)
    except TimeoutError as error:
        raise UserError(
            folder, "another process trains this model just now.", "Wait for it, or end it first."
        ) from error
    try:
        yield
    finally:
        lock.release()
        if not [path for path in folder.glob("*") if path.name != LOCK]:  # nothing was trained
            shutil.rmtree(folder, ignore_errors=True)


def last_checkpoint(folder: Path) -> Path | None:
    """The last whole checkpoint of a folder; what was cut off while it was written is removed.

    The state is the last file that the first process writes; others may still be writing the state
    of their random numbers then, and a machine that lost its power may have kept the state alone.
    """
    for path in sorted(
        folder.glob("checkpoint-*"), key=lambda path: -int(path.name.rpartition("-")[2])
    ):
        if _is_whole(path):
            return path
        shutil.rmtree(path, ignore_errors=True)
    return None


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        for part in checkpoint.glob("*.safetensors"):
            with safe_open(part, "pt"):
                pass
    except (OSError, ValueError, SafetensorError):
        return False
    return all(
        zipfile.is_zipfile(part)
        for part in checkpoint.iterdir()
        if part.suffix in (".bin", ".pt", ".pth")
    )


#: Nats by which a log probability may move when lessons share a row: rounding moves it by less.
TOLERANCE = 1e-3


def choose_precision(precision: str) -> str:
    """The precision in which activations are computed; ``auto``: bfloat16 on GPUs that have it,
    else float32.

    Raises:
        UserError: this machine cannot train in it.
    """
    has_gpu = torch.cuda.is_available()
    has_bfloat = has_gpu and torch.cuda.is_bf16_supported(including_emulation=False)
    if precision == "auto":
        return "bfloat16" if has_bfloat else "float32"
    if precision == "float16" and not has_gpu:
        raise UserError(
            "precision: float16", "cannot be trained in on a CPU.", "Take bfloat16 or float32."
        )
    if precision == "bfloat16" and has_gpu and not has_bfloat:
        raise UserError(
            "precision: bfloat16", "this GPU does not compute in it.", "Take float16 or float32."
        )
    return precision


def check_base(checkpoint: Checkpoint, tokenizer: Any, is_chat: bool) -> dict[str, Any]:
    """The configuration of a base whose weights can be trained.

    Raises:
        UserError: it has no chat template and one is asked for, or its weights are quantised.
    """
    if is_chat and not has_template(tokenizer):
        raise UserError(
            checkpoint.name,
            "has no chat template, and lessons are written through it.",
            "Save one into the folder (chat_template.jinja), or train on plain text: --chat never"
            " --prompt-set constrained.",
        )
    checkpoint.refuse_adapter("fine-tuning")
    config = read_object(checkpoint.folder / "config.json")
    quantised = config.get("quantization_config")
    if quantised:
        method = (
            quantised.get("quant_method", "unknown method")
            if isinstance(quantised, dict)
            else "unknown method"
        )
        raise UserError(
            checkpoint.name,
            f"has quantised weights ({method}), which cannot be trained.",
            "Give the same model in float32, bfloat16 or float16.",
        )
    return config


def count_parameters(checkpoint: Checkpoint) -> int:
    """Parameters of a model whose weights are not loaded."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(
        str(checkpoint.folder),
        local_files_only=True,
        trust_remote_code=checkpoint.trust_remote_code,
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            config, trust_remote_code=checkpoint.trust_remote_code
        )
    return int(model.num_parameters())


def check_memory(
    name: str,
    config: Mapping[str, Any],
    n_parameters: int,
    how: Tuning,
    tokens: int,
    processes: int = 1,
    free: int | None = None,
) -> None:
    """Raise UserError unless there is memory for weights, gradients, the optimiser and the
    activations of one pass.

    Args:
        name: the model's.
        config: its configuration.
        n_parameters: its number of parameters.
        how: settings.
        tokens: of one pass of a process.
        processes: GPUs that share weights, gradients and optimiser.
        free: bytes (this machine's).
    """
    weights = BYTES[stored_dtype(config)] if how.tuning == "lora" else 4
    trained = n_parameters if how.tuning == "full" else n_parameters * how.lora_rank // 200
    # Gradients and AdamW's two moments in float32.
    states = (n_parameters * weights + trained * 12) // processes
    width = int(config.get("hidden_size") or config.get("n_embd") or 1024)
    layers = int(config.get("num_hidden_layers") or config.get("n_layer") or 1)
    vocabulary = int(config.get("vocab_size") or 0)
    size = 2 if how.precision != "float32" else 4
    per_layer = 2 * width * size if how.gradient_checkpointing else 17 * width * size
    activations = tokens * (layers * per_layer + vocabulary * (size + 8))
    if free is None:
        gpus = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
        free = min(
            (torch.cuda.mem_get_info(gpu)[0] for gpu in gpus),
            default=psutil.virtual_memory().available,
        )
    if states + activations > free:
        less = [] if how.tuning == "lora" else ["tuning: lora"]
        less += [] if how.gradient_checkpointing else ["gradient_checkpointing: true"]
        where = "a GPU" if torch.cuda.is_available() else "this machine"
        raise UserError(
            name,
            f"needs about {_gb(states + activations)} to be fine-tuned ({how.tuning}: {_gb(states)}"
            f" for weights, gradients and the optimiser, {_gb(activations)} for {tokens:,} tokens"
            f" of a pass), and {where} has {_gb(free)} free.",
            f"Take {', '.join([*less, 'fewer lessons in one pass (per_pass)'])}, or more GPUs"
            " (--gpus).",
        )


def _gb(number: float) -> str:
    return f"{number / 1e9:.1f} GB"


def check_lengths(material: TokenisedLessons, longest: int, where: str) -> None:
    """Raise UserError where a lesson has more tokens than training takes: its answer would be cut
    off silently.
    """
    too_long = np.flatnonzero(material.lengths > longest)
    if len(too_long):
        worst = int(material.lengths.max())
        raise UserError(
            where,
            f"{len(too_long)} of {len(material)} lessons have more than {longest} tokens (the"
            f" longest {worst}), e.g. {material.names[too_long[0]]}.",
            "Set a longer sequence_length if the model has as many positions, or leave them out.",
        )


def check_pass(
    name: str, model: PreTrainedModel, curriculum: Curriculum, padding: int, how: Tuning
) -> None:
    """One pass without a step: raise UserError where its loss is not finite, or packed lessons see
    each other.
    """
    lessons = [curriculum[index] for index in range(min(4, len(curriculum)))]
    shortest = sorted(lessons, key=lambda lesson: len(lesson["ids"]))[:2]
    device = next(model.parameters()).device
    kind = getattr(torch, how.precision)
    losses = []
    # with a cache transformers does not look for where lessons end; ``Trainer`` has none either
    model.config.use_cache = False
    model.eval()
    with torch.no_grad(), torch.autocast(device.type, kind, enabled=kind != torch.float32):
        batch = Collator(padding, is_packed=False)(lessons)
        loss = model(**{key: tensor.to(device) for key, tensor in batch.items()}).loss
        if not torch.isfinite(loss):
            fix = (
                "Set precision: float32 or bfloat16, or check the base: its answers are not numbers"
                " either."
            )
            raise UserError(name, f"computes no finite loss in {how.precision}.", fix)
    if how.packing and len(shortest) == 2:
        row = {
            key: np.concatenate([lesson[key] for lesson in shortest]) for key in ("ids", "labels")
        }
        for is_packed in (False, True):
            # A third, longer lesson gives the batch rows in which the two others fit.
            batch = Collator(padding, is_packed)([*shortest, row])
            with torch.no_grad():
                losses.append(
                    float(model(**{key: tensor.to(device) for key, tensor in batch.items()}).loss)
                )
    model.train()
    if len(losses) == 2 and abs(losses[0] - losses[1]) > TOLERANCE * max(1.0, abs(losses[0])):
        raise UserError(
            "packing",
            f"lessons in one row of {name} see each other (loss {losses[1]:.4f} instead of"
            f" {losses[0]:.4f}).",
            "Set packing: false.",
        )
