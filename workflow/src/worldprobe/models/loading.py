"""Loads a language model of transformers from a folder: offline, safetensors, no foreign code, clear refusals."""

from __future__ import annotations

import os
from typing import Any

from worldprobe.errors import MachineError, UserError, did_you_mean
from worldprobe.log import LOGGER
from worldprobe.models import tokenizers
from worldprobe.models.checkpoint import Checkpoint
from worldprobe.models.registry import CAUSAL, ENCODER_DECODER, MASKED, with_article

DTYPES = ("float32", "bfloat16", "float16")
#: More layers than any model has; they are made one by one before a weight is read.
MOST_LAYERS = 10_000
#: Kind -> the class of transformers that loads it.
CLASSES = {CAUSAL: "AutoModelForCausalLM", MASKED: "AutoModelForMaskedLM", ENCODER_DECODER: "AutoModelForSeq2SeqLM"}


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
        UserError: the files cannot be loaded as a model of their kind.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    placement = _placement(torch, device)
    config = _read_configuration(checkpoint)
    tokenizer = load_tokenizer(checkpoint)
    try:
        loaded: Any = getattr(transformers, CLASSES[checkpoint.kind]).from_pretrained(
            str(checkpoint.folder),
            dtype=getattr(torch, dtype),
            use_safetensors=not checkpoint.allow_pickle or None,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below, with their shapes
            local_files_only=True,
            trust_remote_code=checkpoint.trust_remote_code,
            **attention(config),
            **placement,
        )
    except Exception as error:  # a broken configuration ends in whatever error its numbers lead to
        from worldprobe.models.batching import is_out_of_memory

        if is_out_of_memory(error):
            problem = f"does not fit into the memory of {'the GPUs given' if placement else 'this machine'}."
            raise MachineError(checkpoint.name, problem, "Give it more GPUs, or a smaller dtype.") from error
        raise UserError(
            checkpoint.name,
            f"cannot be loaded as {with_article(checkpoint.kind)}: {_first_line(error)}",
            "Check that config.json and the weights are whole and of a family that this version of transformers supports.",
        ) from error
    model, report = loaded
    _check_report(checkpoint, report)
    check_vocabulary(checkpoint, tokenizer, model.get_input_embeddings().weight.shape[0])
    return model.eval(), tokenizer


def attention(config: Any) -> dict[str, str]:
    """What to load a model with so that its attention is computed as its configuration says.

    The default, PyTorch's own operation (sdpa), leaves out a cap on attention scores (Gemma 2) without a word.
    """
    parts = [config, *(part for part in vars(config).values() if hasattr(part, "to_dict"))]
    is_capped = any(getattr(part, "attn_logit_softcapping", None) for part in parts)
    return {"attn_implementation": "eager"} if is_capped else {}


def _read_configuration(checkpoint: Checkpoint) -> Any:
    """Read config.json first: the tokenizer reads it too, and would be blamed for its faults."""
    import transformers

    where = f"{checkpoint.name}/config.json"
    try:
        config = transformers.AutoConfig.from_pretrained(
            str(checkpoint.folder), local_files_only=True, trust_remote_code=checkpoint.trust_remote_code
        )
    except Exception as error:  # as above
        raise UserError(
            where,
            f"cannot be used: {_first_line(error)}",
            "Correct it, or fetch or save the model again; or use a version of transformers that supports its family.",
        ) from error
    for part in (config, config.get_text_config()):
        for key in ("num_hidden_layers", "num_decoder_layers"):
            if isinstance(layers := getattr(part, key, None), int) and layers > MOST_LAYERS:
                problem = f"{key} is {layers}: no model has so many, and making them would take hours."
                raise UserError(where, problem, "Correct it, or fetch or save the model again.")
    return config


#: The tokenizer that was loaded last, by what it is made from: checkpoints of one training share it.
_LATEST: dict[tuple[str, bool], Any] = {}


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """The checkpoint's tokenizer: the one that was loaded last, if it is made from equal files.

    Raises:
        UserError: its files cannot be loaded.
    """
    key = (checkpoint.digest_without_weights(), checkpoint.trust_remote_code)
    if key not in _LATEST:
        loaded = tokenizers.load(str(checkpoint.folder), checkpoint.name, checkpoint.trust_remote_code)
        _LATEST.clear()
        _LATEST[key] = loaded
    return _LATEST[key]


def _placement(torch: Any, device: str) -> dict[str, Any]:
    if device == "auto":
        if torch.cuda.is_available():
            return {"device_map": "auto" if torch.cuda.device_count() > 1 else {"": 0}}
        return {}
    try:
        wanted = torch.device(device)
        torch.empty(1, device=wanted)
    except (RuntimeError, AssertionError) as error:
        raise MachineError(f"--device {device}", "is not a device of this machine.", "Use auto or cpu.") from error
    return {} if wanted.type == "cpu" else {"device_map": {"": device}}


def _check_report(checkpoint: Checkpoint, report: Any) -> None:
    """Weights that are absent would be random numbers: an error, never a score."""
    mismatched = sorted(report.get("mismatched_keys") or (), key=str)
    if mismatched:
        name, *shapes = mismatched[0] if isinstance(mismatched[0], (tuple, list)) else (mismatched[0],)
        in_words = " in the files, ".join(str(tuple(shape)) for shape in shapes)
        raise UserError(
            checkpoint.name,
            f"has weights of other shapes than config.json says, e.g. {name}" + (f": {in_words} expected." if shapes else "."),
            "Check config.json, or fetch or save the whole model again.",
        )
    missing = sorted(report.get("missing_keys") or ())
    if missing:
        raise UserError(
            checkpoint.name,
            f"lacks {len(missing)} of the model's weights, e.g. {missing[0]}.",
            "Fetch or save the whole model again.",
        )
    unexpected = report.get("unexpected_keys") or ()
    if unexpected:
        LOGGER.warning("%s: ignored %d tensors that the model does not use", checkpoint.name, len(unexpected))


def check_vocabulary(checkpoint: Checkpoint, tokenizer: Any, rows: int) -> None:
    """Every token that a text can have needs an embedding; special tokens that are not used may lack one.

    Args:
        checkpoint: the tokenizer's.
        tokenizer: what it has embeddings for is noted as ``n_embedded``; see ``tokenizers.ensure_embedded``.
        rows: number of embeddings.

    Raises:
        UserError: the tokenizer is not the model's.
    """
    tokenizer.n_embedded = rows
    special = tokenizers.special_tokens(tokenizer)
    beyond = [token for token in tokenizer.get_vocab().values() if token >= rows and token not in special]
    if beyond:
        raise UserError(
            checkpoint.name,
            f"has a tokenizer with token ids up to {max(beyond)}, but embeddings for {rows} tokens only.",
            "Put the model's own tokenizer into the folder.",
        )
    if 2 * len(tokenizer) < rows:
        problem = f"has embeddings for {rows} tokens, but a tokenizer of {len(tokenizer)}: it is not the model's."
        raise UserError(checkpoint.name, problem, "Put the model's own tokenizer into the folder.")
    if checkpoint.kind != CAUSAL:  # of causal models each text is looked at, as not all have these tokens
        tokenizers.ensure_embedded(tokenizer, [*tokenizer("a")["input_ids"], tokenizer.mask_token_id], checkpoint.name)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else f"{type(error).__name__}."


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


def longest_read(model: Any) -> int:
    """Tokens that a masked or encoder-decoder model takes; families like RoBERTa's number positions from behind the padding."""
    longest = longest_sequence(model.config)
    for name, module in model.named_modules():
        padding = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and padding is not None:
            return min(longest, int(module.weight.shape[0]) - padding - 1)
    return longest


def longest_sequence(config: Any) -> int:
    """Tokens that the model takes, by its configuration.

    LongRope has other factors for long texts, and transformers takes them for a whole batch as soon as one text in it is long,
    vLLM for every text if any may be: this is the length up to which no text is.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    lengths = [getattr(text, key, None) for key in ("max_position_embeddings", "n_positions", "max_seq_len")]
    lengths += [getattr(text, key, None) for key in ("max_sequence_length", "n_ctx")]
    longest = next((length for length in lengths if isinstance(length, int) and length > 0), 1_000_000)
    rope = getattr(text, "rope_parameters", None) or {}
    kinds = [kind for kind in (rope, *rope.values()) if isinstance(kind, dict) and kind.get("rope_type") == "longrope"]
    stated = [kind.get("original_max_position_embeddings") for kind in kinds]
    return min([longest, *(length for length in stated if isinstance(length, int) and length > 0)])
