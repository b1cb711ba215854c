"""Tiny language models with random weights, of every architecture in the paper's list, and the two kinds of tokenizers."""

from __future__ import annotations

from pathlib import Path

import pytest

#: Invented text that the tiny tokenizers learn from; enough for a few hundred merges.
SENTENCES = [
    f"{name} {verb} the {size} {thing} {place}."
    for name in ("Ana", "Ben", "Cora", "Dov")
    for verb in ("lifts", "drops", "paints", "hides")
    for size in ("heavy", "light", "blue")
    for thing in ("crate", "lamp", "kettle", "rug")
    for place in ("near the door", "under a tree", "in 1 of 5 rooms")
]
ARCHITECTURES = ("gpt2", "phi", "gemma", "mpt", "falcon", "falcon_alibi", "mistral", "mixtral", "llama")


def train_tokenizer(kind: str):
    """byte_level: GPT-2's kind, no start token added; sentencepiece: Llama's kind, start token, own space, byte fallback."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaTokenizer, PreTrainedTokenizerFast

    if kind == "byte_level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=380, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(SENTENCES, trainer)
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>")
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False))
    import json

    model = json.loads(tokenizer.to_str())["model"]
    return LlamaTokenizer(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]], add_bos_token=True)


def build_model(architecture: str, vocabulary: int, start: int):
    """A causal LM of a few thousand weights; its scores depend strongly on the context, so that a wrong mask shows."""
    import torch
    import transformers as t

    common = {"vocab_size": vocabulary, "bos_token_id": start, "eos_token_id": start, "initializer_range": 0.3}
    rotary = common | {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 512,
    }
    configs = {
        "gpt2": lambda: t.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=512, **common),
        "phi": lambda: t.PhiConfig(**rotary),
        "gemma": lambda: t.GemmaConfig(num_key_value_heads=1, head_dim=8, **rotary),
        "mpt": lambda: t.MptConfig(d_model=32, n_heads=4, n_layers=2, max_seq_len=512, **common),
        "falcon": lambda: t.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=False, **common),
        "falcon_alibi": lambda: t.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True, **common),
        "mistral": lambda: t.MistralConfig(num_key_value_heads=2, sliding_window=None, **rotary),
        "mixtral": lambda: t.MixtralConfig(num_key_value_heads=2, num_local_experts=4, **rotary),
        "llama": lambda: t.LlamaConfig(num_key_value_heads=2, **rotary),
    }
    torch.manual_seed(7)
    return t.AutoModelForCausalLM.from_config(configs[architecture]()).eval()


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory):
    """A function: architecture, kind of tokenizer -> folder in Hugging Face format."""
    import torch

    torch.set_num_threads(1)  # models this small wait for threads longer than they compute
    made: dict[tuple[str, str], Path] = {}

    def make(architecture: str = "gpt2", kind: str = "byte_level") -> Path:
        if (architecture, kind) not in made:
            folder = tmp_path_factory.mktemp(f"{architecture}_{kind}")
            tokenizer = train_tokenizer(kind)
            tokenizer.save_pretrained(folder)
            build_model(architecture, len(tokenizer), tokenizer.bos_token_id).save_pretrained(folder)
            made[architecture, kind] = folder
        return made[architecture, kind]

    return make
