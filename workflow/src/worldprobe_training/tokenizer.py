"""Tokenizers of small models: byte-level BPE, trained on a corpus, and one with a token for each of
some phrases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

#: Begins and ends a document, as in GPT-2.
END_OF_TEXT = "<|endoftext|>"
PADDING = "<|padding|>"
#: What a phrase tokenizer reads in place of any word that it does not know.
UNKNOWN = "<|unknown|>"
#: Marks that are tokens of their own between phrases.
MARKS = ("-", ",", ".", ":", ";", "(", ")", "?", "‘", "’")


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Train a byte-level BPE tokenizer: it knows every byte, so no text has an unknown token.

    A space is put before a text that begins without one, so that a word is the same token at the
    start of a text and inside.

    Args:
        texts: documents.
        vocabulary: number of tokens at most, at least 258 (bytes and two special tokens).
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


def phrase_tokenizer(tokens: Mapping[str, str]) -> Tokenizer:
    """A tokenizer that reads each phrase as one token, the longest that fits first; white space
    separates and is no token.

    A text begins with the end-of-text token: the place to which attention can go that finds no
    match, as for a name that a description does not mention
    (docs/extras/worldsense_training.md).

    Args:
        tokens: phrase -> token as which it is read; phrases end where a word ends, and several may
            be read as one token.

    >>> tokenizer = phrase_tokenizer(
    ...     {
    ...         "Uncle Rob": "name 1",
    ...         "is older than": "is older than",
    ...         "Zoe": "name 2",
    ...         "Ann": "name 1",
    ...     }
    ... )
    >>> tokenizer.encode("Uncle Rob is older than Zoe.", add_special_tokens=False).tokens
    ['<0>', 'is older than', '<1>', '.']
    >>> tokenizer.encode("Uncle Rob Ann Zoe", add_special_tokens=False).tokens
    ['<0>', '<0>', '<1>']
    """
    shared = {phrase: token for phrase, token in tokens.items() if token != phrase}
    # What contains such a phrase is written as a mark too, before its part would be.
    part = re.compile(_any_of(shared)) if shared else None
    shared |= {
        phrase: phrase for phrase in tokens if part and phrase not in shared and part.search(phrase)
    }
    marks = {token: f"<{number}>" for number, token in enumerate(sorted(set(shared.values())))}
    vocabulary = sorted({*tokens, *MARKS} - set(shared))
    ids = {
        word: number
        for number, word in enumerate((END_OF_TEXT, PADDING, UNKNOWN, *vocabulary, *marks.values()))
    }
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    # transformers keeps one of several phrases with one number, so shared tokens are written into
    # the text; longer phrases first.
    steps: dict[tuple[int, str], list[str]] = {}
    for phrase in sorted(shared):
        steps.setdefault((-len(phrase.split()), marks[shared[phrase]]), []).append(phrase)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_any_of(phrases)), f" {mark} ")
            for (_, mark), phrases in sorted(steps.items())
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(
        Regex("|".join([r"<\d+>", _any_of(vocabulary), r"\w+", r"[^\w\s]"])), "removed", invert=True
    )
    tokenizer.add_special_tokens([END_OF_TEXT, PADDING, UNKNOWN])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END_OF_TEXT} $A", special_tokens=[(END_OF_TEXT, ids[END_OF_TEXT])]
    )
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
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def _any_of(phrases: Iterable[str]) -> str:
    """A pattern for any of some phrases, the longest first, each from where a word begins to where
    one ends.
    """
    longest = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return "|".join(re.sub(r"^(?=\w)|(?<=\w)$", r"\\b", re.escape(phrase)) for phrase in longest)
