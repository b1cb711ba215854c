"""The configuration of transformers that a GGUF file states.

What llama.cpp reads of a file changes the numbers, so each key is read here, or is known to say
nothing more than the tensors' shapes do, or the file is refused: an importer that drops what it has
no name for drops scaled positions, biases and caps without a word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from worldprobe.models.gguf_file import GgufFile

#: llama.cpp's name of an architecture -> model_type of transformers.
ARCHITECTURES = {
    "bloom": "bloom",
    "falcon": "falcon",
    "gemma2": "gemma2",
    "gemma3": "gemma3_text",
    "gpt2": "gpt2",
    "lfm2": "lfm2",
    "llama": "llama",
    "mamba": "mamba",
    "nemotron": "nemotron",
    "phi3": "phi3",
    "qwen2": "qwen2",
    "qwen2moe": "qwen2_moe",
    "qwen3": "qwen3",
    "qwen3moe": "qwen3_moe",
    "stablelm": "stablelm",
    "starcoder2": "starcoder2",
}
#: Key, without the architecture's name -> attributes of the configuration that it states; each that
#: a family has is set.
READ = {
    "context_length": ("max_position_embeddings",),
    "block_count": ("num_hidden_layers",),
    "embedding_length": ("hidden_size",),
    "feed_forward_length": ("intermediate_size", "n_inner", "ffn_hidden_size"),
    "expert_feed_forward_length": ("moe_intermediate_size",),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",),
    "expert_count": ("num_experts",),
    "expert_used_count": ("num_experts_per_tok",),
    "expert_weights_norm": ("norm_topk_prob",),
    "attention.head_count": ("num_attention_heads",),
    "attention.head_count_kv": ("num_key_value_heads", "num_kv_heads"),
    "attention.layer_norm_epsilon": (
        "layer_norm_eps",
        "layer_norm_epsilon",
        "norm_epsilon",
        "norm_eps",
    ),
    "attention.layer_norm_rms_epsilon": ("rms_norm_eps", "layer_norm_epsilon", "norm_eps"),
    "attention.sliding_window": ("sliding_window",),
    "attn_logit_softcapping": ("attn_logit_softcapping",),
    "final_logit_softcapping": ("final_logit_softcapping",),
    "shortconv.l_cache": ("conv_L_cache",),
    "ssm.conv_kernel": ("conv_kernel",),
    "ssm.state_size": ("state_size",),
    "ssm.time_step_rank": ("time_step_rank",),
}
#: Keys that add nothing to what the tensors' shapes say, which are compared, or to what llama.cpp
#: computes.
HARMLESS = {
    "vocab_size",
    "context_length",  # of models without positions
    "feed_forward_length",
    "attention.value_length",
    "attention.sliding_window",  # llama.cpp ignores it where the family has none (Mistral as llama)
    "attention.layer_norm_epsilon",  # of families with the other norm
    "attention.layer_norm_rms_epsilon",
    "rope.scaling.finetuned",
    "tensor_data_layout",
    "use_parallel_residual",  # the tensors say it
    "pooling_type",
    "ssm.inner_size",
}
#: Keys that may say this and nothing else.
NEUTRAL = {
    "attention.causal": True,
    "attention.clamp_kqv": 0,
    "attention.max_alibi_bias": 8,
    "expert_count": 0,
    "expert_used_count": 0,
    "nextn_predict_layers": 0,
    "ssm.dt_b_c_rms": False,
    "attention.head_count": 0,  # of models without attention
}
#: Keys that say nothing where they say what another one does.
SAME_AS = {"attention.head_count_kv": "attention.head_count"}
#: Attributes that the presence of a tensor states.
BIASES = {
    "attn_q.bias": ("attention_bias", "use_qkv_bias", "use_bias"),
    "ffn_up.bias": ("mlp_bias",),
}
#: Families that rotate a share of each head, where rope.dimension_count says so.
PARTIAL = ("nemotron", "phi3", "stablelm")
#: Layers of the sizes of Gemma whose attention scores are divided by another number than the root
#: of the head's size, as llama.cpp knows them: 27B.
SCALED_BY_WIDTH = {"gemma2": 46, "gemma3": 62}
#: Tensors that say how positions are scaled.
ROPE_TENSORS = ("rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight")


class UnreadError(ValueError):
    """A key or a tensor that is not read here."""


class Statements:
    """The keys of a file's architecture, and which of them were read."""

    def __init__(self, file: GgufFile) -> None:
        self.prefix = f"{file.architecture}."
        self.values = {
            key.removeprefix(self.prefix): value
            for key, value in file.stated.items()
            if key.startswith(self.prefix)
        }
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """A key's value, which counts as read."""
        self.read.add(key)
        return self.values.get(key, default)

    def check(self) -> None:
        """Raise ``UnreadError`` for a key that nobody read."""
        for key in sorted(self.values.keys() - self.read - HARMLESS):
            value = self.values[key]
            same = NEUTRAL.get(key, self.values.get(SAME_AS.get(key, ""), UnreadError))
            if value != same:
                raise UnreadError(f"its key {self.prefix}{key} = {_short(value)} is not read here")


def config_of_file(file: GgufFile, tensor: Callable[[str], Any]) -> Any:
    """The configuration of a file's model.

    Args:
        file: of one of ``ARCHITECTURES``.
        tensor: name -> its values.

    Raises:
        UnreadError: a statement cannot be carried over.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    family = ARCHITECTURES[file.architecture]
    cls = CONFIG_MAPPING[family]
    stated, names = Statements(file), {weight.name for weight in file.tensors}
    chosen: dict[str, Any] = {
        "vocab_size": len(file.stated["tokenizer.ggml.tokens"]),
        "tie_word_embeddings": "output.weight" not in names,
        "dtype": "float32",
    }
    for role, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        chosen[f"{role}_token_id"] = file.stated.get(f"tokenizer.ggml.{key}_token_id")
    for key in READ.keys() & stated.values.keys():
        for attribute in filter(partial(_has, cls), READ[key]):
            value = _single(stated.get(key), f"{stated.prefix}{key}", file.architecture)
            chosen[cls.attribute_map.get(attribute, attribute)] = value
    for ending, attributes in BIASES.items():
        is_biased = any(name.endswith(ending) for name in names)
        chosen |= dict.fromkeys(filter(partial(_has, cls), attributes), is_biased)
    if isinstance(stated.values.get("attention.head_count"), int):
        chosen = _attention(file, stated, cls, tensor) | chosen
    chosen |= OWN.get(file.architecture, lambda *_: {})(stated, names)
    stated.check()
    return cls(**chosen)


def _attention(
    file: GgufFile, stated: Statements, cls: Any, tensor: Callable[[str], Any]
) -> dict[str, Any]:
    """Heads, positions and scale; llama.cpp's defaults hold."""
    heads, width = stated.values["attention.head_count"], stated.values["embedding_length"]
    if not heads:
        return {}
    chosen: dict[str, Any] = {}
    size = stated.get("attention.key_length", width // heads)
    is_settable = not isinstance(getattr(cls, "head_dim", None), property)
    # Some families take it without saying so; where one does not, the shapes will differ.
    if (_has(cls, "head_dim") and is_settable) or size != width // heads:
        chosen["head_dim"] = size
    if _has(cls, "num_key_value_heads"):
        chosen["num_key_value_heads"] = heads
    if hasattr(cls, "rope_parameters"):
        chosen["rope_parameters"] = _rope(file, stated, size, tensor)
    if _has(cls, "query_pre_attn_scalar"):
        by_width = stated.values["block_count"] == SCALED_BY_WIDTH[file.architecture]
        chosen["query_pre_attn_scalar"] = width // heads if by_width else size
    return chosen


def _has(cls: Any, attribute: str) -> bool:
    return attribute in cls.attribute_map or hasattr(cls, attribute)


def _single(value: Any, key: str, architecture: str) -> Any:
    """The value that a list repeats for every layer."""
    if isinstance(value, list) and architecture != "lfm2":
        if len(set(value)) > 1:
            raise UnreadError(f"its key {key} has other values from layer to layer")
        return value[0]
    return value


def _rope(
    file: GgufFile, stated: Statements, size: int, tensor: Callable[[str], Any]
) -> dict[str, Any]:
    """How positions are rotated, ``size`` being that of a head; llama.cpp's defaults hold."""
    base = float(stated.get("rope.freq_base", 10_000.0))
    rotated = stated.get("rope.dimension_count", size)
    share = {}
    if file.architecture in PARTIAL:
        share = {"partial_rotary_factor": rotated / size}
    elif rotated != size:
        raise UnreadError(
            f"its key {stated.prefix}rope.dimension_count = {rotated} is not the size of a head"
            f" ({size})"
        )
    scaling = _scaling(file, stated, tensor)
    whole = {"rope_theta": base, **scaling, **share}
    if file.architecture == "gemma3":  # its windows are never scaled
        local = float(stated.get("rope.freq_base_swa", 10_000.0))
        return {
            "full_attention": whole,
            "sliding_attention": {"rope_type": "default", "rope_theta": local},
        }
    return whole


def _scaling(file: GgufFile, stated: Statements, tensor: Callable[[str], Any]) -> dict[str, Any]:
    """How positions are scaled beyond the length of training."""
    factor = stated.get("rope.scaling.factor") or stated.get("rope.scale_linear") or 1.0
    kind = stated.get("rope.scaling.type", "linear")
    factors = {
        name: tensor(name).reshape(-1).tolist()
        for name in ROPE_TENSORS
        if any(weight.name == name for weight in file.tensors)
    }
    length = stated.values["context_length"]
    original = stated.get("rope.scaling.original_context_length", length)
    if list(factors) == ["rope_freqs.weight"] and (factor == 1.0 or kind == "none"):
        # Llama 3.1 and later: a divisor for each frequency, which is what LongRoPE's lists are.
        return {
            "rope_type": "longrope",
            "short_factor": factors["rope_freqs.weight"],
            "long_factor": factors["rope_freqs.weight"],
            "original_max_position_embeddings": length,
            "attention_factor": 1.0,
        }
    if list(factors) == ["rope_factors_short.weight", "rope_factors_long.weight"]:
        return {
            "rope_type": "longrope",
            "short_factor": factors["rope_factors_short.weight"],
            "long_factor": factors["rope_factors_long.weight"],
            "original_max_position_embeddings": original,
            "attention_factor": stated.get("rope.scaling.attn_factor", 1.0),
        }
    if factors:
        raise UnreadError(
            f"its tensor {sorted(factors)[0]} is not read here beside a scaling of {kind}"
        )
    if kind == "none" or (kind == "linear" and factor == 1.0):
        return {"rope_type": "default"}
    if kind == "linear":
        return {"rope_type": "linear", "factor": factor}
    if kind == "yarn":
        share = 0.1 * math.log(factor) + 1.0
        return {
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": original,
            "attention_factor": share * stated.get("rope.scaling.attn_factor", 1.0),
            "beta_fast": stated.get("rope.scaling.yarn_beta_fast", 32.0),
            "beta_slow": stated.get("rope.scaling.yarn_beta_slow", 1.0),
        }
    raise UnreadError(f"its key {stated.prefix}rope.scaling.type = {kind} is not read here")


def _falcon(stated: Statements, names: set[str]) -> dict[str, Any]:
    if stated.get("attention.head_count_kv", 1) != 1:  # 40B and 180B order their weights otherwise
        raise UnreadError(
            f"its key falcon.attention.head_count_kv = {stated.get('attention.head_count_kv')} is"
            " not read here, only 1"
        )
    return {"multi_query": True, "new_decoder_architecture": False, "num_kv_heads": None}


def _lfm2(stated: Statements, names: set[str]) -> dict[str, Any]:
    counts = stated.get("attention.head_count_kv")
    layers = counts if isinstance(counts, list) else [counts] * stated.get("block_count")
    return {
        "num_key_value_heads": max(layers),
        "layer_types": ["full_attention" if count else "conv" for count in layers],
        "block_auto_adjust_ff_dim": False,
    }


def _mamba(stated: Statements, names: set[str]) -> dict[str, Any]:
    inner, width = stated.get("ssm.inner_size"), stated.get("embedding_length")
    if inner % width:
        raise UnreadError(f"its key mamba.ssm.inner_size = {inner} is no multiple of the width")
    return {"expand": inner // width, "num_hidden_layers": stated.get("block_count")}


def _stablelm(stated: Statements, names: set[str]) -> dict[str, Any]:
    return {"use_parallel_residual": not any("ffn_norm" in name for name in names)}


#: What a family has of its own.
OWN: Mapping[str, Callable[[Statements, set[str]], dict[str, Any]]] = {
    "falcon": _falcon,
    "lfm2": _lfm2,
    "mamba": _mamba,
    "qwen3moe": lambda *_: {"norm_topk_prob": True},  # as llama.cpp computes it
    "stablelm": _stablelm,
}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
