"""The sentences of protected materials, found again in any text: whatever filler of theirs, or slot, is in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from worldprobe.benchmarks.ewok.materials.build import LISTED
from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.materials import Source, read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL
from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS
from worldprobe.commented_csv import read_frame

#: Stands for a slot and for any filler of the materials.
FILLER = "\ue000"
#: By so many words in a row a sentence is looked up.
KEY_LENGTH = 4
#: A sentence is told by so many words, of which so many are not fillers; shorter ones anybody may write.
_LEAST_WORDS, _LEAST_FIXED = 5, 3
#: Two short texts of an item in a row are told by so many.
_LEAST_OF_TWO = 5, 2
_SLOT = re.compile(r"[\[{]\w+(?::[^\[\]{}\n]{1,80})?[\]}]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|" + FILLER)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

Wording = tuple[str, ...]


def split_words(text: str) -> list[str]:
    """Lower-case words without punctuation; a slot is one word.

    >>> split_words("Ruth's jar -- the RED one -- falls.")
    ["ruth's", 'jar', 'the', 'red', 'one', 'falls']
    """
    return _WORD.findall(_SLOT.sub(f" {FILLER} ", text).lower().replace("\u2019", "'"))


class Wordings:
    """Finds the sentences of protected materials in text.

    Args:
        items: the texts of templates or items; with slots, filled, or both.
        fillers: everything that may fill a slot.
    """

    def __init__(self, items: Iterable[Sequence[str]], fillers: Iterable[str]) -> None:
        self._fillers: dict[str, list[list[str]]] = {}
        for words in sorted(map(split_words, set(fillers)), key=len, reverse=True):
            if words:
                self._fillers.setdefault(words[0], []).append(words)
        self.wordings = sorted(set(self._told_by(items)))
        self._by_key: dict[Wording, list[tuple[int, int]]] = {}
        for number, wording in enumerate(self.wordings):
            runs = [wording[i : i + KEY_LENGTH] for i in range(len(wording) - KEY_LENGTH + 1)]
            start = min(range(len(runs)), key=lambda i: runs[i].count(FILLER))
            self._by_key.setdefault(runs[start], []).append((number, start))

    def _told_by(self, items: Iterable[Sequence[str]]) -> Iterator[Wording]:
        """The sentences that have enough words to be told from anybody's; of an item without one, any two texts in a row."""
        seen: set[Wording] = set()
        for item in items:
            sentences = [self._normalised(sentence) for text in item for sentence in _SENTENCE_END.split(text)]
            told = [tuple(words) for words in sentences if _is_enough(words, _LEAST_WORDS, _LEAST_FIXED)]
            if not told:
                texts = [self._normalised(text) for text in item]
                pairs = (tuple(first + second) for first, second in itertools.permutations(texts, 2))
                told = [words for words in pairs if _is_enough(words, *_LEAST_OF_TWO)]
            yield from (words for words in told if words not in seen)
            seen.update(told)

    def _normalised(self, text: str) -> list[str]:
        """The words, with fillers as one word each."""
        words, normal, i = split_words(text), [], 0
        while i < len(words):
            word = words[i]
            bare = word.removesuffix("'s")
            for filler in self._fillers.get(bare, ()) if bare in self._fillers else ():
                end = i + len(filler)
                if words[i : end - 1] == filler[:-1] and words[end - 1 : end] in ([filler[-1]], [filler[-1] + "'s"]):
                    normal.append(FILLER)
                    i = end
                    break
            else:
                normal.append(word)
                i += 1
        return normal

    def find(self, text: str) -> set[int]:
        """The numbers of the wordings that a text contains."""
        words = self._normalised(text)
        shifted = [words[i:] for i in range(KEY_LENGTH)]
        hits = self._by_key.keys() & set(zip(*shifted, strict=False))
        found: set[int] = set()
        if hits:
            for place, run in enumerate(zip(*shifted, strict=False)):
                for number, start in self._by_key[run] if run in hits else ():
                    begin = place - start
                    wording = self.wordings[number]
                    if begin >= 0 and tuple(words[begin : begin + len(wording)]) == wording:
                        found.add(number)
        return found


def _is_enough(words: Sequence[str], least: int, least_fixed: int) -> bool:
    return len(words) >= least and len(words) - words.count(FILLER) >= least_fixed


def read_wordings(source: Source) -> Wordings:
    """The sentences of materials: of their templates, with any of their fillers, and of the items that were released.

    Raises:
        UserError: the materials cannot be read, or not even the original would compile them.
    """
    materials = read_materials(source, ORIGINAL, is_lenient=True)
    materials.problems.raise_first()
    templates = compile_templates(materials)
    texts = list(zip(*(templates[column] for column in TEXTS), strict=True))
    if LISTED in source.names:
        released = read_frame(LISTED, source.read(LISTED))
        texts += zip(*(released[column] for column in OFFICIAL_TEXTS if column in released), strict=True)
    return Wordings(texts, [filler.text for known in materials.fillers.values() for filler in known.fillers])
