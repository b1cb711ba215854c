"""Loads a causal language model of transformers from a folder: offline, safetensors, no foreign code, clear refusals."""

from __future__ import annotations

import os
from typing import Any

from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import Checkpoint

DTYPES = ("float32", "bfloat16", "float16")


def check_dtype(dtype: str) -> str:
    """The dtype, if it is one that we load in.

    Raises:
        UserError: it is not.
    """
    if dtype not in DTYPES:
        raise UserError(f"dtype {dtype}", f"is unknown{did_you_mean(dtype, DTYPES)}", "Choose one of " + ", ".join(DTYPES) + ".")
    return dtype


def load(checkpoint: Checkpoint, dtype: str, device: str = "auto") -> tuple[Any, Any]:
    """The model in evaluation mode, and its tokenizer.

    Args:
        checkpoint: what ``checkpoint.locate`` found.
        dtype: float32, bfloat16 or float16.
        device: auto (all GPUs of this process, else the CPU), cpu, or a device's name such as cuda:1.

    Raises:
        UserError: the files cannot be loaded as a causal language model.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    common = {"local_files_only": True, "trust_remote_code": checkpoint.trust_remote_code}
    folder = str(checkpoint.folder)
    placement = _placement(torch, device)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **common)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=getattr(torch, dtype),
            use_safetensors=not checkpoint.allow_pickle or None,
            output_loading_info=True,
            **placement,
            **common,
        )
    except torch.cuda.OutOfMemoryError as error:
        raise UserError(
            checkpoint.name, "does not fit into the memory of the GPUs given.", "Give it more GPUs, or a smaller dtype."
        ) from error
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise UserError(
            checkpoint.name,
            f"cannot be loaded as a causal language model: {_first_line(error)}",
            "Check that the folder is whole and of a family that this transformers knows.",
        ) from error
    model, report = loaded
    _check_report(checkpoint, report)
    return model.eval(), tokenizer


def _placement(torch: Any, device: str) -> dict[str, Any]:
    if device == "auto":
        if torch.cuda.is_available():
            return {"device_map": "auto" if torch.cuda.device_count() > 1 else {"": 0}}
        return {}
    try:
        wanted = torch.device(device)
        torch.empty(1, device=wanted)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {device}", "is no device of this machine.", "Use auto or cpu.") from error
    return {} if wanted.type == "cpu" else {"device_map": {"": device}}


def _check_report(checkpoint: Checkpoint, report: Any) -> None:
    """Weights that are absent would be random numbers: an error, never a score."""
    missing = sorted(report.get("missing_keys") or ())
    mismatched = sorted(str(key) for key in report.get("mismatched_keys") or ())
    if missing or mismatched:
        raise UserError(
            checkpoint.name,
            f"lacks {len(missing) + len(mismatched)} of the model's weights, e.g. {(missing + mismatched)[0]}.",
            "Fetch or save the whole model again.",
        )
    unexpected = report.get("unexpected_keys") or ()
    if unexpected:
        LOGGER.warning("%s: %d tensors in the files belong to no part of the model", checkpoint.name, len(unexpected))


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def sliding_window(config: Any) -> int | None:
    """Tokens that the model looks back, where that is limited."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    windows = [getattr(text, key, None) for key in ("sliding_window", "attention_chunk_size", "window_size")]
    return min((w for w in windows if isinstance(w, int) and w > 0), default=None)


def has_plain_head(config: Any) -> bool:
    """Are the logits the projection of the last hidden state, neither scaled nor capped behind it?"""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    changes = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier")
    return all(getattr(text, key, None) in (None, 1, 1.0) for key in changes)


def longest_sequence(config: Any) -> int:
    """Tokens that the model takes, by its configuration."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    for key in ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "n_ctx"):
        length = getattr(text, key, None)
        if isinstance(length, int) and length > 0:
            return length
    return 1_000_000
