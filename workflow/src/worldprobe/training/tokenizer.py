"""A compact byte-level BPE tokenizer, trained on the control models' corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

#: Begins and ends a document, as in GPT-2.
END_OF_TEXT = "<|endoftext|>"
PADDING = "<|padding|>"
SMALLEST_VOCABULARY = 258


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Train a byte-level BPE tokenizer: it knows every byte, so no text has an unknown token.

    A space is put before a text that begins without one, so that a word is the same token at the start of a text and inside.

    Args:
        texts: documents.
        vocabulary: number of tokens at most, at least ``SMALLEST_VOCABULARY`` (bytes and two special tokens).
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT, PADDING],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json`` as Hugging Face folders have them."""
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "pad_token": PADDING,
        "add_prefix_space": True,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=True), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")
