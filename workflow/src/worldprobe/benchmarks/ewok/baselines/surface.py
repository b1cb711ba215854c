"""Surface properties of items: number of words and mean log word frequency (EWoK, Appendix A.5).

Each property of a target sentence with its two contexts is (C1 + C2) / 2 + T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from worldprobe.benchmarks.ewok.baselines.frequency import fillers_of, without_possessive, words, words_as_original
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError

#: Words -> how often each occurs, on any scale; 0: unknown.
Frequencies = Callable[[Collection[str]], Mapping[str, float]]


@dataclass
class Surface:
    """Surface features and what was missing.

    Attributes:
        features: a SurfaceFeatures table.
        counts: number of distinct words, of those without a frequency, of their occurrences in the items, and of texts without
            a word, whose items have no mean log frequency.
    """

    features: pd.DataFrame
    counts: dict[str, int]


def surface_features(items: pd.DataFrame, frequencies: Frequencies, is_compat: bool = False) -> Surface:
    """Number of words and mean log word frequency of each target with its contexts.

    The log frequency of a word is ln(1 + f), so that an unknown word has 0; unknown words are counted.

    Args:
        items: an Items table.
        frequencies: f of all words, asked once.
        is_compat: take words as the paper's script does (punctuation inside words deleted).

    Raises:
        UserError: a target and its contexts have no word at all.
    """
    names = _agents(items) if is_compat else set()
    spelt: dict[tuple[str, str], list[str]] = {}
    for item_id, fillers, *texts in zip(*(items[column].tolist() for column in ("item_id", "fillers", *TEXTS)), strict=True):
        for text, sentence in zip(TEXTS, texts, strict=True):
            spelt[item_id, text] = list(_spelt_as_original(sentence, names) if is_compat else _spelt(sentence, fillers))
    known = frequencies({word for sentence in spelt.values() for word in sentence})
    log_frequency = {word: math.log1p(frequency) for word, frequency in known.items()}
    rows = []
    for item_id in items.item_id:
        length, mean = {}, {}
        for text in TEXTS:
            sentence = spelt[item_id, text]
            length[text] = len(sentence)
            mean[text] = sum(log_frequency[word] for word in sentence) / len(sentence) if sentence else math.nan
        for target in (1, 2):
            n_words, log_mean = (
                (measure["context1"] + measure["context2"]) / 2 + measure[f"target{target}"] for measure in (length, mean)
            )
            if not n_words:
                fix = "Correct the texts: each should be a sentence."
                raise UserError("items", f"target {target} of {item_id} and its contexts have no words.", fix)
            rows.append((item_id, target, float(n_words), log_mean))
    missing = {word for word, frequency in known.items() if frequency == 0}
    return Surface(
        features=pd.DataFrame(rows, columns=["item_id", "target", "n_words", "log_frequency"]),
        counts={
            "n_distinct_words": len(known),
            "n_distinct_words_without_frequency": len(missing),
            "n_texts_without_words": sum(not sentence for sentence in spelt.values()),
            "n_occurrences_without_frequency": sum(word in missing for sentence in spelt.values() for word in sentence),
        },
    )


def _spelt(text: str, fillers: str) -> Iterator[str]:
    """Words in lower case, but those that a filler writes with a capital as the filler writes them, never possessive."""
    capitals = {word for filler in fillers_of(fillers) for word in words(filler) if not word.islower()}
    for word in words(text):
        name = without_possessive(word)
        yield name if name in capitals else word.lower()


def _spelt_as_original(text: str, names: Collection[str]) -> Iterator[str]:
    for word in words_as_original(text):
        yield word[:-1] if word[-1] == "s" and word[:-1] in names else word if word in names else word.lower()


def _agents(items: pd.DataFrame) -> set[str]:
    """The names of agents in all items."""
    return {name for fillers in items.fillers.unique() for name in fillers_of(fillers, {"agent"})}
