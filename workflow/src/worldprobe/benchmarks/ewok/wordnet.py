"""Relatedness of words by WordNet: extended glosses (Banerjee & Pedersen 2003) as vectors
(Patwardhan & Pedersen 2006).

What a word is about is read from the glosses of its senses and of the senses that WordNet relates
to these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from worldprobe.errors import UserError

#: Part of speech -> how its files are called, and the endings that are taken off a word, with what
#: is put there (morphy(7WN)).
PARTS = {
    "n": ("noun", "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y"),
    "v": ("verb", "s: ies:y es:e es: ed:e ed: ing:e ing:"),
    "a": ("adj", "er: est: er:e est:e"),
    "r": ("adv", ""),
}
WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


class WordNet:
    """Vectors of texts, from the files of Princeton's WordNet.

    Args:
        folder: the database (wndb(5WN)): data.noun, index.noun, noun.exc, and those of verb, adj
            and adv.

    Raises:
        UserError: a file is missing, or is not one of these.
    """

    def __init__(self, folder: Path) -> None:
        glosses: list[str] = []
        positions: dict[str, int] = {}
        pointers: list[tuple[int, str]] = []
        #: Part of speech -> word -> its senses, the most frequent first; and irregular form ->
        #: words.
        self.senses: dict[str, dict[str, list[int]]] = {}
        self.irregular: dict[str, dict[str, list[str]]] = {}
        try:
            for part, (name, _) in PARTS.items():
                for line in _lines(folder / f"data.{name}"):
                    fields, _, gloss = line.partition(" | ")
                    offset, _, _, n_words, *rest = fields.split()
                    n_pointers, *rest = rest[2 * int(n_words, 16) :]
                    rest = rest[
                        : 4 * int(n_pointers)
                    ]  # symbol, offset, part of speech (s: an adjective), words
                    pointers += [
                        (len(glosses), kind.replace("s", "a") + at)
                        for at, kind in zip(rest[1::4], rest[2::4], strict=True)
                    ]
                    positions[part + offset] = len(glosses)
                    glosses.append(gloss.lower())
                self.irregular[part] = {
                    form: words for form, *words in map(str.split, _lines(folder / f"{name}.exc"))
                }
            for part, (name, _) in PARTS.items():
                entries = [line.split() for line in _lines(folder / f"index.{name}")]
                self.senses[part] = {
                    word: [positions[part + at] for at in rest[-int(n) :]]
                    for word, _, n, *rest in entries
                }
            related = _counts(
                ((one, positions[other]) for one, other in pointers), (len(glosses), len(glosses))
            )
        except (OSError, ValueError, LookupError) as error:
            problem = f"is not WordNet's database ({type(error).__name__}: {error})."
            raise UserError(
                folder, problem, "Give the folder of data.noun, index.noun, noun.exc and the like."
            ) from error
        lemmas = {
            word: n
            for n, word in enumerate(
                sorted({word for part in self.senses.values() for word in part})
            )
        }
        self.base_forms = cache(self._base_forms)
        shape = (len(glosses), len(lemmas))
        words = _counts(
            (
                (n, lemmas[form])
                for n, gloss in enumerate(glosses)
                for word in WORD.findall(gloss)
                for _, form in self.base_forms(word)
            ),
            shape,
        )
        names = _counts(
            (
                (sense, lemmas[word])
                for part in self.senses.values()
                for word in part
                for sense in part[word]
            ),
            shape,
        )
        rarity = np.log(len(glosses) / np.maximum(words.sum(axis=0), 1))
        self.rarity = dict(zip(lemmas, rarity.tolist(), strict=True))
        self.extended = (
            (sparse.eye_array(len(glosses)) + related)
            @ (words + names)
            @ sparse.diags_array(rarity)
        )

    def _base_forms(self, word: str) -> list[tuple[str, str]]:
        """The entries that a word can be a form of, each with its part of speech."""
        base_forms = []
        for part, (_, endings) in PARTS.items():
            pairs = (ending.split(":") for ending in endings.split())
            regular = (word.removesuffix(old) + new for old, new in pairs if word.endswith(old))
            forms = [word, *(self.irregular[part].get(word) or regular)]
            base_forms += [
                (part, form) for form in dict.fromkeys(forms) if form in self.senses[part]
            ]
        return base_forms

    def vectors(self, texts: Sequence[str]) -> Any:
        """Sums of the vectors of each text's words, which are of length one times the word's
        inverse document frequency.

        A word's vector is the sum of the extended glosses of its senses, in which each word, too,
        counts by its inverse document frequency over the glosses.

        Args:
            texts: in any case.

        Returns:
            shape (texts, words of WordNet), sparse.
        """
        bags = [
            [word for word in WORD.findall(text.lower()) if self.base_forms(word)] for text in texts
        ]
        word_numbers = {
            word: n for n, word in enumerate(sorted({word for bag in bags for word in bag}))
        }
        senses = (
            (n, sense)
            for word, n in word_numbers.items()
            for part, form in self.base_forms(word)
            for sense in self.senses[part][form]
        )
        about = _counts(senses, (len(word_numbers), self.extended.shape[0])) @ self.extended
        rarity = np.array(
            [min(self.rarity[form] for _, form in self.base_forms(word)) for word in word_numbers]
        )
        length = np.sqrt((about * about).sum(axis=1))
        unit = sparse.diags_array(rarity / np.where(length > 0, length, 1)) @ about
        return (
            _counts(
                ((n, word_numbers[word]) for n, bag in enumerate(bags) for word in bag),
                (len(texts), len(word_numbers)),
            )
            @ unit
        )


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file of WordNet's, without its licence, whose lines begin with a space."""
    with open(path, encoding="utf-8") as stream:
        yield from (line for line in stream if not line.startswith(" "))


def _counts(pairs: Iterable[tuple[int, int]], shape: tuple[int, int]) -> Any:
    """How often each pair of row and column occurs."""
    cells = np.fromiter(chain.from_iterable(pairs), np.int64).reshape(-1, 2).T
    return sparse.csr_array((np.ones(cells.shape[1]), (cells[0], cells[1])), shape)
