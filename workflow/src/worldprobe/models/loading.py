"""Loads a language model of transformers from a folder: offline, safetensors, no foreign code,
clear refusals.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from worldprobe.errors import MachineError, UserError, did_you_mean
from worldprobe.log import LOGGER
from worldprobe.models import gguf, tokenizers
from worldprobe.models.checkpoint import Checkpoint
from worldprobe.models.registry import CAUSAL, ENCODER_DECODER, MASKED, with_article
from worldprobe.models.weights import Quantisation, quantisation_of, read_object

DTYPES = ("float32", "bfloat16", "float16")
#: More layers than any model has; they are made one by one before a weight is read.
MOST_LAYERS = 10_000
#: Kind -> the class of transformers that loads it.
CLASSES = {
    CAUSAL: "AutoModelForCausalLM",
    MASKED: "AutoModelForMaskedLM",
    ENCODER_DECODER: "AutoModelForSeq2SeqLM",
}


def check_dtype(dtype: str) -> str:
    """The dtype, if it is one that we load in.

    Raises:
        UserError: it is not.
    """
    if dtype not in DTYPES:
        raise UserError(
            f"dtype {dtype}",
            f"is unknown{did_you_mean(dtype, DTYPES)}",
            "Choose one of " + ", ".join(DTYPES) + ".",
        )
    return dtype


def load_checkpoint(checkpoint: Checkpoint, dtype: str, device: str = "auto") -> tuple[Any, Any]:
    """The model in evaluation mode, and its tokenizer.

    Args:
        checkpoint: what ``checkpoint.locate`` found.
        dtype: float32, bfloat16 or float16.
        device: auto (all GPUs of this process, else the CPU), cpu, or a device's name such as
            cuda:1.

    Raises:
        UserError: the files cannot be loaded as a model of their kind.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from unittest import mock

    import torch
    import transformers

    # Assisted generation and the losses of object detection, which nothing here asks for, would
    # import scikit-learn and SciPy, which takes longer than loading.
    with (
        mock.patch.object(transformers.utils, "is_sklearn_available", return_value=False),
        mock.patch.object(transformers.utils, "is_scipy_available", return_value=False),
    ):
        importlib.import_module("transformers.generation.candidate_generator")
        importlib.import_module("transformers.loss.loss_utils")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    placement = _placement(torch, device)
    config = _read_configuration(checkpoint)
    quantisation = check_quantisation(checkpoint)
    tokenizer = load_tokenizer(checkpoint)
    try:
        loaded: Any = _class_of(checkpoint.kind, config).from_pretrained(
            str(checkpoint.folder_to_load()),
            dtype=getattr(torch, dtype),
            use_safetensors=not checkpoint.allow_pickle or None,
            weights_only=True,  # of a pickle that is allowed, tensors are read and no code is run
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below, with their shapes
            local_files_only=True,
            trust_remote_code=checkpoint.trust_remote_code,
            **attention(config),
            **placement,
        )
    except UserError:
        raise
    except Exception as error:  # a broken configuration ends in whatever error its numbers lead to
        from worldprobe.models.batching import is_out_of_memory

        if is_out_of_memory(error):
            problem = (
                "does not fit into the memory of"
                f" {'the GPUs given' if placement else 'this machine'}."
            )
            raise MachineError(
                checkpoint.name, problem, "Give it more GPUs, or a smaller dtype."
            ) from error
        fix = (
            "Check that config.json and the weights are whole and of a family that this version of"
            " transformers supports."
        )
        if quantisation:
            package = quantisation.package
            fix = (
                f"Check that {package[0]} is of a version that fits"
                if package
                else "Check that its method is supported here"
            )
            fix += ", or give the weights from before they were quantised."
        raise UserError(
            checkpoint.name,
            f"cannot be loaded as {with_article(checkpoint.kind)}: {first_line(error)}",
            fix,
        ) from error
    model, report = loaded
    check_report(checkpoint, model, report)
    if checkpoint.adapter:
        model = put_on(model, checkpoint)
    check_vocabulary(checkpoint, tokenizer, model.get_input_embeddings().weight.shape[0])
    _check_precision(checkpoint, model, getattr(torch, dtype))
    return model.eval(), tokenizer


def _class_of(kind: str, config: Any) -> Any:
    """The class of transformers that loads a kind of model; text of a model of texts and images is
    read by that model's class.
    """
    import transformers
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    )

    is_of_images = (
        type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        and type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING
    )
    brings_class = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    if kind == CAUSAL and is_of_images and not brings_class:
        return transformers.AutoModelForImageTextToText
    return getattr(transformers, CLASSES[kind])


def check_quantisation(checkpoint: Checkpoint) -> Quantisation | None:
    """How the weights are quantised, by the configuration.

    Raises:
        UserError: the package that reads such weights is not here.
    """
    quantisation = quantisation_of(read_object(checkpoint.folder / "config.json"))
    if quantisation and not checkpoint.trust_remote_code:
        from transformers.quantizers import auto

        if not any(
            method.startswith(quantisation.method)
            for method in auto.AUTO_QUANTIZATION_CONFIG_MAPPING
        ):
            problem = (
                f"has quantised weights ({quantisation}), a method that this version of"
                " transformers does not know."
            )
            raise UserError(
                checkpoint.name, problem, "Give the weights from before they were quantised."
            )
    if quantisation and quantisation.package:
        package, module = quantisation.package
        if not _is_installed(module):
            problem = (
                f"has quantised weights ({quantisation}), which transformers reads with the package"
                f" {package}."
            )
            fix = (
                f"Install it: pip install {package}; or give the weights from before they were"
                " quantised."
            )
            raise UserError(checkpoint.name, problem, fix)
    return quantisation


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a package within another one that is not here
        return False


def put_on(model: Any, checkpoint: Checkpoint) -> Any:
    """The model with the checkpoint's adapter, beside its weights and in their precision.

    Raises:
        UserError: the adapter is of another model, or a weight of it is absent or finds no place.
    """
    import peft

    assert checkpoint.adapter
    name, folder = checkpoint.adapter.name, str(checkpoint.adapter.folder)
    fix = (
        "Give the adapter's own base and its whole folder, or the two merged (peft's"
        " merge_and_unload)."
    )
    try:
        config = peft.PeftConfig.from_pretrained(folder)
        config.inference_mode, config.base_model_name_or_path = True, None  # the base is known here
        if config.is_prompt_learning or config.is_adaption_prompt:
            problem = (
                f"is an adapter of the kind {config.peft_type.value}, which adds no weights to the"
                " model's own layers."
            )
            raise UserError(name, problem, "Give one of a kind such as LoRA.")
        weights = peft.load_peft_weights(folder, device="cpu")
        _resize(model, weights)
        wrapped = peft.get_peft_model(model, config, autocast_adapter_dtype=False)
        result = wrapped.load_adapter(folder, "default", autocast_adapter_dtype=False)
    except UserError:
        raise
    except Exception as error:  # peft raises whatever its layers make of a broken adapter
        lines = [line for line in str(error).splitlines() if "size mismatch" in line] or [
            str(error)
        ]
        problem = (
            f"cannot be put on {checkpoint.base}: {type(error).__name__}: {lines[0].strip()[:300]}"
        )
        raise UserError(name, problem, fix) from error
    # With resized embeddings peft saves those of modules_to_save twice, once under a name that it
    # does not read.
    left = [
        key
        for key in result.unexpected_keys
        if key.replace(".modules_to_save.", ".") not in weights.keys() - {key}
    ]
    for keys, problem in ((result.missing_keys, "lacks"), (left, "finds no place for")):
        if keys:
            raise UserError(
                name,
                f"{problem} {len(keys)} of the adapter's weights on {checkpoint.base}, e.g."
                f" {keys[0]}.",
                fix,
            )
    LOGGER.info("the adapter %s is put on %s", name, checkpoint.base)
    return wrapped.get_base_model()


def _resize(model: Any, weights: Mapping[str, Any]) -> None:
    """Make room for tokens that were added before an adapter was trained, where it brings all of
    their embeddings.
    """
    names = {
        id(module): f"base_model.model.{name}.weight" for name, module in model.named_modules()
    }
    modules = [
        module
        for module in (model.get_input_embeddings(), model.get_output_embeddings())
        if module is not None
    ]
    modules = modules[:1] if modules[0].weight is modules[-1].weight else modules
    rows = {
        weights[name].shape[0] if (name := names[id(module)]) in weights else 0
        for module in modules
    }
    if len(rows) == 1 and rows - {0, modules[0].weight.shape[0]}:
        model.resize_token_embeddings(rows.pop(), mean_resizing=False)


def _check_precision(checkpoint: Checkpoint, model: Any, dtype: Any) -> None:
    """Compare what was loaded with what is asked: half precision is widened, which is exact; what
    else differs is said.
    """
    import torch

    if dtype == torch.float32 and not is_packed(model):
        for parameter in model.parameters():
            if parameter.dtype in (torch.float16, torch.bfloat16):
                parameter.data = parameter.data.float()
    if others := precision_of(model, _named(dtype)):
        LOGGER.warning(
            "%s: asked for in %s, its weights are in %s", checkpoint.name, _named(dtype), others
        )


def described_quantisation(checkpoint: Checkpoint, is_packed: bool) -> str | None:
    """How the weights are (or were) quantised; ``is_packed``: they were not turned back into plain
    numbers when loaded.
    """
    if made_from := gguf.origin(checkpoint.folder):
        return f"GGUF {made_from['quantisation']}, dequantised"
    quantisation = quantisation_of(read_object(checkpoint.folder / "config.json"))
    return str(quantisation) + ("" if is_packed else ", dequantised") if quantisation else None


def precision_of(model: Any, dtype: str) -> str | None:
    """The precisions of a model's weights, in words, where some differ from what is asked."""
    precisions = sorted(
        {
            _named(parameter.dtype)
            for parameter in model.parameters()
            if parameter.is_floating_point()
        }
    )
    return None if precisions == [dtype] else ", ".join(precisions)


def is_packed(model: Any) -> bool:
    """Whether weights are in memory as they are quantised: transformers turns some back into plain
    numbers.
    """
    return getattr(model, "hf_quantizer", None) is not None


def _named(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def attention(config: Any) -> dict[str, str]:
    """What to load a model with so that its attention is computed as its configuration says.

    The default, PyTorch's own operation (sdpa), leaves out a cap on attention scores (Gemma 2)
    without a word.
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
            str(checkpoint.folder),
            local_files_only=True,
            trust_remote_code=checkpoint.trust_remote_code,
        )
    except Exception as error:  # as above
        raise UserError(
            where,
            f"cannot be used: {first_line(error)}",
            "Correct it, or fetch or save the model again; or use a version of transformers that"
            " supports its family.",
        ) from error
    for part in (config, config.get_text_config()):
        for key in ("num_hidden_layers", "num_decoder_layers"):
            if isinstance(layers := getattr(part, key, None), int) and layers > MOST_LAYERS:
                problem = (
                    f"{key} is {layers}: no model has so many, and making them would take hours."
                )
                raise UserError(where, problem, "Correct it, or fetch or save the model again.")
    return config


#: The tokenizer that was loaded last, by what it is made from: checkpoints of one training share
#: it.
_LATEST: dict[tuple[str, bool], Any] = {}


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """The checkpoint's tokenizer: the one that was loaded last, if it is made from equal files.

    Raises:
        UserError: its files cannot be loaded.
    """
    key = (checkpoint.digest_without_weights(), checkpoint.trust_remote_code)
    if key not in _LATEST:
        loaded = tokenizers.open_tokenizer(
            str(checkpoint.tokenizer_folder), checkpoint.name, checkpoint.trust_remote_code
        )
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
        raise MachineError(
            f"--device {device}", "is not a device of this machine.", "Use auto or cpu."
        ) from error
    return {} if wanted.type == "cpu" else {"device_map": {"": device}}


def check_report(checkpoint: Checkpoint, model: Any, report: Mapping[str, Any]) -> None:
    """Weights that are absent would be random numbers, those of a larger model nobody's: an error,
    never a score.

    Args:
        checkpoint: whose files were loaded.
        model: what transformers made of them.
        report: what transformers says of the loading.

    Raises:
        UserError: the weights are not whole, or not of this configuration.
    """
    where = checkpoint.base or checkpoint.name
    mismatched = sorted(report["mismatched_keys"], key=str)
    if mismatched:
        name, *shapes = (
            mismatched[0] if isinstance(mismatched[0], (tuple, list)) else (mismatched[0],)
        )
        in_words = " in the files, ".join(str(tuple(shape)) for shape in shapes)
        raise UserError(
            where,
            f"has weights of other shapes than config.json says, e.g. {name}"
            + (f": {in_words} expected." if shapes else "."),
            "Check config.json, or fetch or save the whole model again.",
        )
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    if missing:
        problem = f"lacks {len(missing)} of the model's weights, e.g. {missing[0]}"
        fix = "Fetch or save the whole model again."
        prefixes = [
            name.removesuffix(missing[0]) for name in unexpected if name.endswith(missing[0])
        ]
        if prefixes:
            problem += f", which the file names {prefixes[0]}{missing[0]}"
            fix = (
                f"Save the model again without the prefix {prefixes[0]} (torch.compile writes"
                " _orig_mod., DataParallel module.)."
            )
        raise UserError(where, f"{problem}.", fix)
    if errors := report.get("error_msgs"):
        raise UserError(
            where, f"has weights that cannot be read: {errors[0][:300]}", "Fetch it again."
        )
    if unexpected:
        LOGGER.warning("%s: ignored %d tensors that the model does not use", where, len(unexpected))
    if left_out := find_left_out(model, unexpected):
        raise UserError(
            where,
            f"has weights of a larger model than config.json describes, e.g. {left_out[0]}, so the"
            " scores would be nobody's.",
            "Give weights and config.json of one model: fetch or save it again.",
        )


def find_left_out(model: Any, unexpected: Iterable[str]) -> list[str]:
    """Weights of a file that belong to a model like this one: its further layers, and biases of
    what has none here.

    Args:
        model: as its configuration makes it.
        unexpected: names in the file for which it has no place; most are harmless, such as masks,
            or heads for other tasks.
    """
    prefix = f"{model.base_model_prefix}."
    names = {
        name.removeprefix(prefix) for name, _ in model.named_parameters(remove_duplicate=False)
    }
    last: dict[str, int] = {}
    for name in names:
        for step in re.finditer(r"\.(\d+)\.", name):
            last[name[: step.start()]] = max(last.get(name[: step.start()], 0), int(step[1]))
    predicts_more = getattr(
        model.config.get_text_config(), "num_nextn_predict_layers", None
    )  # layers that only speed up decoding
    left_out = []
    for name in sorted(unexpected):
        bare = name.removeprefix(prefix)
        is_bias = bare.endswith(".bias") and f"{bare.removesuffix('bias')}weight" in names
        number = re.search(r"\.(\d+)\.", bare)
        layer_list = bare[: number.start()] if number else ""
        is_beyond = number is not None and layer_list in last and int(number[1]) > last[layer_list]
        if is_bias or (is_beyond and not predicts_more):
            left_out.append(name)
    return left_out


def check_vocabulary(checkpoint: Checkpoint, tokenizer: Any, rows: int) -> None:
    """Every token that a text can have needs an embedding; special tokens that are not used may
    lack one.

    Args:
        checkpoint: the tokenizer's.
        tokenizer: what it has embeddings for is noted as ``n_embedded``; see
            ``tokenizers.ensure_embedded``.
        rows: number of embeddings.

    Raises:
        UserError: the tokenizer is not the model's.
    """
    tokenizer.n_embedded = rows
    special = tokenizers.special_tokens(tokenizer)
    beyond = [
        token for token in tokenizer.get_vocab().values() if token >= rows and token not in special
    ]
    if beyond:
        raise UserError(
            checkpoint.name,
            f"has a tokenizer with token ids up to {max(beyond)}, but embeddings for {rows} tokens"
            " only.",
            "Put the model's own tokenizer into the folder.",
        )
    if 2 * len(tokenizer) < rows:
        problem = (
            f"has embeddings for {rows} tokens, but a tokenizer of {len(tokenizer)}: it is not the"
            " model's."
        )
        raise UserError(checkpoint.name, problem, "Put the model's own tokenizer into the folder.")
    if (
        checkpoint.kind != CAUSAL
    ):  # of causal models each text is looked at, as not all have these tokens
        tokenizers.ensure_embedded(
            tokenizer, [*tokenizer("a")["input_ids"], tokenizer.mask_token_id], checkpoint.name
        )


def first_line(error: BaseException) -> str:
    """The error's kind and the first line of its message."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no message'])[0][:300]}"


def sliding_window(config: Any) -> int | None:
    """Tokens that the model looks back, where that is limited."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    windows = [
        getattr(text, key, None)
        for key in ("sliding_window", "attention_chunk_size", "window_size")
    ]
    return min((w for w in windows if isinstance(w, int) and w > 0), default=None)


def has_plain_head(config: Any) -> bool:
    """Are the logits the projection of the last hidden state, neither scaled nor capped behind
    it?
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    changes = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier")
    return all(getattr(text, key, None) in (None, 1, 1.0) for key in changes)


def longest_read(model: Any) -> int:
    """Tokens that a model takes; families like RoBERTa's number positions from behind the
    padding.
    """
    from torch.nn import Embedding

    longest = longest_sequence(model.config)
    for name, module in model.named_modules():
        is_of_positions = isinstance(module, Embedding) and "position" in name.rpartition(".")[2]
        if is_of_positions and module.padding_idx is not None:
            return min(longest, int(module.weight.shape[0]) - module.padding_idx - 1)
    return longest


def longest_sequence(config: Any) -> int:
    """Tokens that the model takes, by its configuration.

    LongRope has other factors for long texts, and transformers takes them for a whole batch as soon
    as one text in it is long, vLLM for every text if any may be: this is the length up to which no
    text is.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    lengths = [
        getattr(text, key, None)
        for key in ("max_position_embeddings", "n_positions", "max_seq_len")
    ]
    lengths += [getattr(text, key, None) for key in ("max_sequence_length", "n_ctx")]
    longest = next(
        (length for length in lengths if isinstance(length, int) and length > 0), 1_000_000
    )
    rope = getattr(text, "rope_parameters", None) or {}
    kinds = [
        kind
        for kind in (rope, *rope.values())
        if isinstance(kind, dict) and kind.get("rope_type") == "longrope"
    ]
    stated = [kind.get("original_max_position_embeddings") for kind in kinds]
    return min([longest, *(length for length in stated if isinstance(length, int) and length > 0)])
