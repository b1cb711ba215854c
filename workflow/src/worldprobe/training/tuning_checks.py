"""What must hold before the first step of fine-tuning: form, precision, memory, lengths, and packed lessons that are apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import psutil
import torch
from transformers import PreTrainedModel

from worldprobe.errors import UserError
from worldprobe.models.checkpoint import Checkpoint, read_object
from worldprobe.operations.resources import BYTES
from worldprobe.training.lessons import Collator, Material
from worldprobe.training.settings import Tuning
from worldprobe.training.tuning import Curriculum, stored_dtype

#: Nats by which a log probability may move when lessons share a row: rounding moves it by less.
TOLERANCE = 1e-3


def choose_precision(precision: str) -> str:
    """The precision in which activations are computed; ``auto``: bfloat16 on GPUs that have it, else float32.

    Raises:
        UserError: this machine cannot train in it.
    """
    has_gpu = torch.cuda.is_available()
    has_bfloat = has_gpu and torch.cuda.is_bf16_supported(including_emulation=False)
    if precision == "auto":
        return "bfloat16" if has_bfloat else "float32"
    if precision == "float16" and not has_gpu:
        raise UserError("precision: float16", "cannot be trained in on a CPU.", "Take bfloat16 or float32.")
    if precision == "bfloat16" and has_gpu and not has_bfloat:
        raise UserError("precision: bfloat16", "this GPU does not compute in it.", "Take float16 or float32.")
    return precision


def check_base(checkpoint: Checkpoint, is_chat: bool) -> dict[str, Any]:
    """The configuration of a base whose weights can be trained.

    Raises:
        UserError: it has no chat template and one is asked for, or its weights are quantised.
    """
    if is_chat and not checkpoint.has_chat_template():
        raise UserError(
            checkpoint.name,
            "has no chat template, and lessons are written through it.",
            "Save one into the folder (chat_template.jinja), or train on plain text: --chat never --prompt-set constrained.",
        )
    config = read_object(checkpoint.folder / "config.json")
    quantised = config.get("quantization_config")
    if quantised:
        method = quantised.get("quant_method", "unknown method") if isinstance(quantised, dict) else "unknown method"
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
        str(checkpoint.folder), local_files_only=True, trust_remote_code=checkpoint.trust_remote_code
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=checkpoint.trust_remote_code)
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
    """Raise UserError unless there is memory for weights, gradients, the optimiser and the activations of one pass.

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
        free = min((torch.cuda.mem_get_info(gpu)[0] for gpu in gpus), default=psutil.virtual_memory().available)
    if states + activations > free:
        less = [] if how.tuning == "lora" else ["tuning: lora"]
        less += [] if how.gradient_checkpointing else ["gradient_checkpointing: true"]
        where = "a GPU" if torch.cuda.is_available() else "this machine"
        raise UserError(
            name,
            f"needs about {_gb(states + activations)} to be fine-tuned ({how.tuning}: {_gb(states)} for weights, gradients and "
            f"the optimiser, {_gb(activations)} for {tokens:,} tokens of a pass), and {where} has {_gb(free)} free.",
            f"Take {', '.join([*less, 'fewer lessons in one pass (per_pass)'])}, or more GPUs (--gpus).",
        )


def _gb(number: float) -> str:
    return f"{number / 1e9:.1f} GB"


def check_lengths(material: Material, longest: int, where: str) -> None:
    """Raise UserError where a lesson has more tokens than training takes: its answer would be cut off silently."""
    too_long = np.flatnonzero(material.lengths > longest)
    if len(too_long):
        worst = int(material.lengths.max())
        raise UserError(
            where,
            f"{len(too_long)} of {len(material)} lessons have more than {longest} tokens (the longest {worst}), e.g. "
            f"{material.names[too_long[0]]}.",
            "Set a longer sequence_length if the model has as many positions, or leave them out.",
        )


def check_pass(name: str, model: PreTrainedModel, curriculum: Curriculum, padding: int, how: Tuning) -> None:
    """One pass without a step: raise UserError where its loss is not finite, or packed lessons see each other."""
    lessons = [curriculum[place] for place in range(min(4, len(curriculum)))]
    shortest = sorted(lessons, key=lambda lesson: len(lesson["ids"]))[:2]
    device = next(model.parameters()).device
    kind = getattr(torch, how.precision)
    losses = []
    model.config.use_cache = False  # with a cache transformers does not look for where lessons end; ``Trainer`` has none either
    model.eval()
    with torch.no_grad(), torch.autocast(device.type, kind, enabled=kind != torch.float32):
        batch = Collator(padding, is_packed=False)(lessons)
        loss = model(**{key: tensor.to(device) for key, tensor in batch.items()}).loss
        if not torch.isfinite(loss):
            fix = "Set precision: float32 or bfloat16, or check the base: its answers are not numbers either."
            raise UserError(name, f"computes no finite loss in {how.precision}.", fix)
    if how.packing and len(shortest) == 2:
        row = {key: np.concatenate([lesson[key] for lesson in shortest]) for key in ("ids", "labels")}
        for is_packed in (False, True):
            # A third, longer lesson gives the batch rows in which the two others fit.
            batch = Collator(padding, is_packed)([*shortest, row])
            with torch.no_grad():
                losses.append(float(model(**{key: tensor.to(device) for key, tensor in batch.items()}).loss))
    model.train()
    if len(losses) == 2 and abs(losses[0] - losses[1]) > TOLERANCE * max(1.0, abs(losses[0])):
        raise UserError(
            "packing",
            f"lessons in one row of {name} see each other (loss {losses[1]:.4f} instead of {losses[0]:.4f}).",
            "Set packing: false.",
        )
