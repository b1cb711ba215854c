"""Tiny language models with random weights, of every architecture in the paper's list, and the
three kinds of tokenizers.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

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
ARCHITECTURES = (
    "gpt2",
    "phi",
    "gemma",
    "mpt",
    "falcon",
    "falcon_alibi",
    "mistral",
    "mixtral",
    "llama",
)


def train_tokenizer(kind: str):
    """The three kinds of causal language models.

    byte_level: GPT-2's, no start token added. sentencepiece: Llama's, start token, own space, byte
    fallback. prepended: that of Llama 1 and 2 and Mistral 0.1, whose normalizer puts a space before
    every text, whatever it begins with.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import LlamaTokenizer, PreTrainedTokenizerFast

    if kind == "byte_level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=380,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=alphabet,
            show_progress=False,
        )
        tokenizer.train_from_iterator(SENTENCES, trainer)
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
        )
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    )
    if kind == "prepended":
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        tokenizer.pre_tokenizer = None
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 1)]
        )
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
        )
    import json

    model = json.loads(tokenizer.to_str())["model"]
    return LlamaTokenizer(
        vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]], add_bos_token=True
    )


def build_model(architecture: str, vocabulary: int, start: int):
    """A causal LM of a few thousand weights; its scores depend strongly on the context, so that a
    wrong mask shows.
    """
    import torch
    import transformers as t

    common = {
        "vocab_size": vocabulary,
        "bos_token_id": start,
        "eos_token_id": start,
        "initializer_range": 0.3,
    }
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
        "falcon": lambda: t.FalconConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=False, **common
        ),
        "falcon_alibi": lambda: t.FalconConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True, **common
        ),
        "mistral": lambda: t.MistralConfig(num_key_value_heads=2, sliding_window=None, **rotary),
        "mixtral": lambda: t.MixtralConfig(num_key_value_heads=2, num_local_experts=4, **rotary),
        "llama": lambda: t.LlamaConfig(num_key_value_heads=2, **rotary),
        "gpt_neox": lambda: t.GPTNeoXConfig(**rotary),
        "gemma2": lambda: t.Gemma2Config(
            num_key_value_heads=1, head_dim=8, final_logit_softcapping=2.0, **rotary
        ),
        "mamba": lambda: t.MambaConfig(hidden_size=32, num_hidden_layers=2, **common),
        "cohere": lambda: t.CohereConfig(num_key_value_heads=2, logit_scale=0.5, **rotary),
    }
    torch.manual_seed(7)
    return t.AutoModelForCausalLM.from_config(configs[architecture]()).eval()


@pytest.fixture(scope="session")
def measurement(repository: Path) -> Callable[[str], ModuleType]:
    """A function: name of a program in docs/simulations -> its module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            name, repository / "docs" / "simulations" / f"{name}.py"
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


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
            build_model(architecture, len(tokenizer), tokenizer.bos_token_id).save_pretrained(
                folder
            )
            made[architecture, kind] = folder
        return made[architecture, kind]

    return make


@pytest.fixture(scope="session")
def tiny_tokenizer():
    """A function: kind -> tokenizer."""
    made: dict[str, Any] = {}

    def make(kind: str) -> Any:
        if kind not in made:
            made[kind] = train_tokenizer(kind)
        return made[kind]

    return make


#: Sizes of tiny masked models.
GAP_SIZE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.3,
    "max_position_embeddings": 130,
}

#: What BERT and DeBERTa call their special tokens.
_BERT_NAMES = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def _wordpiece() -> Any:
    """BERT's: lower case, [CLS] text [SEP]."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    trainer = trainers.WordPieceTrainer(vocab_size=130, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    around = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=around
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **_BERT_NAMES)


def _roberta_like() -> Any:
    """RoBERTa's: <s> text </s>, padding with token 1."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    around = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=around
    )
    names = {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "<s>",
        "sep_token": "</s>",
        "mask_token": "<mask>",
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", **names
    )


def _unigram(kind: str = "deberta") -> Any:
    """SentencePiece's unigram model: DeBERTa's with [CLS] and [SEP], or T5's with </s> alone."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    is_t5 = kind == "t5"
    special = (
        ["<pad>", "</s>", "<unk>"] if is_t5 else ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    )
    unknown = "<unk>" if is_t5 else "[UNK]"
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=110, special_tokens=special, unk_token=unknown, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    if is_t5:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 1)]
        )
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
        )
    around = [("[CLS]", 1), ("[SEP]", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=around
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **_BERT_NAMES)


def build_gap_model(architecture: str) -> tuple[Any, Any]:
    """A model whose scores depend strongly on what it reads, so that a wrong mask shows, and its
    tokenizer.
    """
    import torch
    import transformers as t

    torch.manual_seed(7)
    if architecture == "bert":
        tokenizer = _wordpiece()
        return (
            t.BertForMaskedLM(t.BertConfig(vocab_size=len(tokenizer), **GAP_SIZE)).eval(),
            tokenizer,
        )
    if architecture == "roberta":
        tokenizer = _roberta_like()
        ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
        return (
            t.RobertaForMaskedLM(
                t.RobertaConfig(vocab_size=len(tokenizer), **ids, **GAP_SIZE)
            ).eval(),
            tokenizer,
        )
    if architecture == "deberta":
        tokenizer = _unigram()
        how = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "pad_token_id": 0}
        return (
            t.DebertaV2ForMaskedLM(
                t.DebertaV2Config(vocab_size=len(tokenizer), **how, **GAP_SIZE)
            ).eval(),
            tokenizer,
        )
    if architecture == "t5":
        tokenizer = _unigram("t5")
        size = {
            "d_model": 32,
            "d_ff": 64,
            "d_kv": 8,
            "num_layers": 2,
            "num_heads": 4,
            "n_positions": 130,
        }
        ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
        config = t.T5Config(vocab_size=len(tokenizer), initializer_factor=1.5, **ids, **size)
        return t.T5ForConditionalGeneration(config).eval(), tokenizer
    if architecture == "bart":
        tokenizer = _roberta_like()
        size = {
            "d_model": 32,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
        }
        heads = {
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "max_position_embeddings": 130,
            "init_std": 0.3,
        }
        ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
        config = t.BartConfig(
            vocab_size=len(tokenizer), forced_eos_token_id=2, **ids, **size, **heads
        )
        return t.BartForConditionalGeneration(config).eval(), tokenizer
    raise ValueError(architecture)


@pytest.fixture(scope="session")
def gap_checkpoint(tmp_path_factory):
    """A function: the same names -> folder in Hugging Face format."""
    import torch

    torch.set_num_threads(1)
    made: dict[str, Path] = {}

    def make(architecture: str = "bert") -> Path:
        if architecture not in made:
            made[architecture] = tmp_path_factory.mktemp(architecture)
            model, tokenizer = build_gap_model(architecture)
            tokenizer.save_pretrained(made[architecture])
            model.save_pretrained(made[architecture])
        return made[architecture]

    return make
