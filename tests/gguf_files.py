"""Tiny GGUF files with random weights, of every architecture that is read, as llama.cpp's own
converter would write them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = [
    "The piano is left of Ali. Ali turns right, so the piano is behind her.",
    "Chen sees 31 trunks, doesn't he? (He does.) The trunk isn't open; it's HEAVY.",
    "don't DON'T (he) he's \"quoted\" x/y; 1234567 31 cats, naïve café 2024",
] * 60
#: llama.cpp's name -> class of transformers, what its configuration has besides ``COMMON``.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "qwen2": ("Qwen2", {}),
    "qwen2moe": (
        "Qwen2Moe",
        {
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 48,
        },
    ),
    "qwen3": ("Qwen3", {"head_dim": 32}),
    "qwen3moe": (
        "Qwen3Moe",
        {
            "head_dim": 16,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "norm_topk_prob": True,
        },
    ),
    "gemma2": ("Gemma2", {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 16}),
    "gemma3": (
        "Gemma3",
        {
            "head_dim": 16,
            "query_pre_attn_scalar": 16,
            "sliding_window": 16,
            "num_hidden_layers": 7,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
    "phi3": ("Phi3", {}),
    "starcoder2": ("Starcoder2", {"use_bias": True}),
    "stablelm": ("StableLm", {"use_qkv_bias": True}),
    "gpt2": ("GPT2", {}),
    "falcon": ("Falcon", {}),
    "bloom": ("Bloom", {}),
    "nemotron": ("Nemotron", {}),
    "mamba": ("Mamba", {"expand": 2, "state_size": 16, "time_step_rank": 4}),
    "lfm2": (
        "Lfm2",
        {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    ),
}
COMMON = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": None,
}
#: What the expression cuts that the tiny vocabularies were made with: Llama 3's.
CUT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level() -> dict[str, Any]:
    """Keys of a byte-level vocabulary, as of Llama 3."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CUT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<|begin|>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    vocabulary = tokenizer.get_vocab()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return {
        "model": "gpt2",
        "pre": "llama-bpe",
        "tokens": sorted(vocabulary, key=vocabulary.__getitem__),
        "token_type": [3, 3] + [1] * (len(vocabulary) - 2),
        "merges": [" ".join(pair) for pair in merges],
        "bos_token_id": 0,
        "eos_token_id": 1,
    }


def sentencepiece() -> dict[str, Any]:
    """Keys of a SentencePiece vocabulary, as of Llama 2 and Gemma."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False)
    )
    vocabulary = tokenizer.get_vocab()
    count = len(vocabulary)
    return {
        "model": "llama",
        "pre": "default",
        "tokens": sorted(vocabulary, key=vocabulary.__getitem__),
        "scores": [0.0] * 259 + [-float(place) for place in range(count - 259)],
        "token_type": [2, 3, 3] + [6] * 256 + [1] * (count - 259),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }


def build(architecture: str, rows: int, **changed: Any) -> Any:
    """A random model of transformers."""
    import torch
    import transformers

    name, own = MODELS[architecture]
    cls = "Gemma3TextConfig" if name == "Gemma3" else f"{name}Config"
    config = getattr(transformers, cls)(vocab_size=rows, **{**COMMON, **own, **changed})
    head = "GPT2LMHeadModel" if name == "GPT2" else f"{name}ForCausalLM"
    torch.manual_seed(0)
    model = getattr(transformers, head)(config).eval()
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if "norm" in part or ".ln_" in part:
                weight.add_(torch.randn_like(weight) * 0.1)
            elif part.endswith("bias"):
                weight.normal_(0, 0.3)
    return model


def write(
    path: Path,
    architecture: str,
    model: Any,
    vocabulary: dict[str, Any],
    keys: dict[str, Any] | None = None,
    tensors: dict[str, np.ndarray | None] | None = None,
    template: str = "",
    packed: str = "",
) -> Path:
    """Write a model as llama.cpp would.

    Args:
        path: the file.
        architecture: llama.cpp's name.
        model: see ``build``.
        vocabulary: see ``byte_level``; a value of None leaves its key out.
        keys: of the architecture, besides or instead of the usual ones; None leaves one out.
        tensors: besides or instead of the model's; None leaves one out.
        template: of chats.
        packed: the tensor that is written in 8 bits.
    """
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    stated = usual_keys(architecture, model.config) | (keys or {})
    named = {f"{architecture}.{key}": value for key, value in stated.items()}
    named |= {f"tokenizer.ggml.{key}": value for key, value in vocabulary.items()}
    for key, value in named.items():
        if value is not None:
            add(writer, key, value)
    weights = {name: value.float().numpy() for name, value in model.state_dict().items()}
    if template:
        writer.add_chat_template(template)
    eight = gguf.GGMLQuantizationType.Q8_0
    for name, value in (converted(architecture, model.config, weights) | (tensors or {})).items():
        if name == packed:
            writer.add_tensor(name, gguf.quants.quantize(value, eight), raw_dtype=eight)
        elif value is not None:
            writer.add_tensor(name, np.ascontiguousarray(value, dtype=np.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    return path


def add(writer: Any, key: str, value: Any) -> None:
    """Add a key with the type that its value has."""
    kinds = {bool: "bool", int: "uint32", float: "float32", str: "string", list: "array"}
    getattr(writer, f"add_{kinds[type(value)]}")(key, value)


def usual_keys(architecture: str, config: Any) -> dict[str, Any]:
    """Keys that say what a configuration does."""
    heads = getattr(config, "num_attention_heads", 0)
    size = getattr(config, "head_dim", None) or (config.hidden_size // heads if heads else 0)
    rope = getattr(config, "rope_parameters", None) or {}
    rope = rope.get("full_attention", rope)
    keys: dict[str, Any] = {
        "context_length": getattr(config, "max_position_embeddings", 256),
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": 4 * config.hidden_size
        if architecture in ("bloom", "falcon", "gpt2")
        else config.intermediate_size,
        "attention.head_count": heads,
        "attention.head_count_kv": getattr(config, "num_key_value_heads", heads),
        "vocab_size": config.vocab_size,
    }
    norms = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
    epsilon = next(value for name in norms if (value := getattr(config, name, None)) is not None)
    is_rms = hasattr(config, "rms_norm_eps") or architecture in ("mamba", "lfm2")
    keys[f"attention.layer_norm{'_rms' if is_rms else ''}_epsilon"] = epsilon
    if "rope_theta" in rope:
        keys["rope.freq_base"] = float(rope["rope_theta"])
        keys["rope.dimension_count"] = int(size * rope.get("partial_rotary_factor", 1))
    if getattr(config, "head_dim", None):
        keys |= {"attention.key_length": size, "attention.value_length": size}
    if architecture.startswith("gemma"):
        keys["attention.sliding_window"] = config.sliding_window
    if architecture == "gemma2":
        keys["attn_logit_softcapping"] = config.attn_logit_softcapping
        keys["final_logit_softcapping"] = config.final_logit_softcapping
    if architecture in ("falcon", "gpt2", "bloom"):
        keys["attention.head_count_kv"] = 1 if architecture == "falcon" else heads
    if architecture == "lfm2":
        keys["attention.head_count_kv"] = [
            config.num_key_value_heads if kind == "full_attention" else 0
            for kind in config.layer_types
        ]
        keys["shortconv.l_cache"] = config.conv_L_cache
    if architecture == "mamba":
        keys |= {
            "feed_forward_length": 0,
            "attention.head_count": 0,
            "ssm.conv_kernel": config.conv_kernel,
            "ssm.inner_size": config.intermediate_size,
            "ssm.state_size": config.state_size,
            "ssm.time_step_rank": config.time_step_rank,
        }
        del keys["attention.head_count_kv"]
    if architecture.endswith("moe"):
        keys |= {
            "expert_count": config.num_experts,
            "expert_used_count": config.num_experts_per_tok,
            "expert_feed_forward_length": config.moe_intermediate_size,
        }
    if architecture == "qwen2moe":
        keys["expert_shared_feed_forward_length"] = config.shared_expert_intermediate_size
    return keys


def converted(architecture: str, config: Any, weights: dict[str, Any]) -> dict[str, Any]:
    """Weights under llama.cpp's names, and in its order."""
    import gguf

    kind = next(one for one, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    found: dict[str, Any] = {}
    for name, value in weights.items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        layer = name.partition("layers.")[2].partition(".")[0]
        if name.endswith("experts.gate_up_proj"):
            middle = value.shape[1] // 2
            found[f"blk.{layer}.ffn_gate_exps.weight"] = value[:, :middle]
            found[f"blk.{layer}.ffn_up_exps.weight"] = value[:, middle:]
            continue
        if name.endswith("experts.down_proj"):
            found[f"blk.{layer}.ffn_down_exps.weight"] = value
            continue
        short = names.get_name(name, (".weight", ".bias")) or names.get_name(
            name.removeprefix("transformer."), (".weight", ".bias")
        )
        assert short, name
        found[short] = ordered(architecture, config, short, value)
    return found


def ordered(architecture: str, config: Any, name: str, value: Any) -> Any:
    """A tensor as llama.cpp orders it."""
    part = name.split(".")[-2] if "." in name else name
    if architecture == "llama" and part in ("attn_q", "attn_k"):
        heads = config.num_attention_heads if part == "attn_q" else config.num_key_value_heads
        halves = value.reshape(heads, 2, value.shape[0] // heads // 2, *value.shape[1:])
        return halves.swapaxes(1, 2).reshape(value.shape)
    if architecture in ("gemma2", "gemma3", "nemotron") and name.endswith("norm.weight"):
        return value + 1
    is_turned = part in ("attn_qkv", "attn_output", "ffn_up", "ffn_down")
    if architecture == "gpt2" and is_turned and name.endswith("weight"):
        return value.T
    if architecture == "bloom" and part == "attn_qkv":
        rows = value.reshape(config.n_head, 3, -1, *value.shape[1:])
        return rows.swapaxes(0, 1).reshape(value.shape)
    if architecture == "mamba" and "ssm_a" in name:
        return -np.exp(value)
    if part in ("ssm_conv1d", "conv") and name.endswith("weight"):
        return value.squeeze(1)
    if part == "ffn_gate_inp_shexp":
        return value.reshape(-1)
    return value
