"""From a query to the rows that a masked model reads: the target's tokens, each hidden once, as in Kauf and Ivanova (2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from worldprobe.errors import UserError
from worldprobe.models.encoding import Encoder
from worldprobe.models.engine import FIRST_UNSCORED, Query
from worldprobe.models.kinds import PSEUDO, WITHIN_WORD


@dataclass(frozen=True, slots=True)
class Gapped:
    """A whole sequence between the tokenizer's own special tokens.

    Attributes:
        ids: token ids.
        start: first token of the target.
        end: behind the last token of the target.
        words: for each token of the target, which word it belongs to.
        flags: see ``engine.FLAGS``.
    """

    ids: tuple[int, ...]
    start: int
    end: int
    words: tuple[int, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What the model reads to predict one token.

    Attributes:
        query: place of the query.
        position: where the token is hidden.
        token: the token that is to be predicted.
        ids: the sequence with what is hidden replaced by the mask.
    """

    query: int
    position: int
    token: int
    ids: tuple[int, ...]


class GapEncoder:
    """Encodes queries for one masked model.

    Args:
        tokenizer: a fast tokenizer of transformers with a mask token.
        max_length: the model's longest sequence, in tokens.
        pseudo: what is hidden together, see ``kinds.PSEUDO``.
        name: the model's name, for messages.

    Raises:
        UserError: the tokenizer gives no character offsets, or has no mask token.
    """

    def __init__(self, tokenizer: Any, max_length: int, pseudo: str = WITHIN_WORD, name: str = "") -> None:
        if pseudo not in PSEUDO:
            raise ValueError(pseudo)
        self.tokenizer, self.pseudo = tokenizer, pseudo
        self.suffix = own_suffix(tokenizer)
        self.encoder = Encoder(tokenizer, max_length=max_length - len(self.suffix), name=name)
        self.encoder.bare_prefix = self.encoder.prefix
        if tokenizer.mask_token_id is None:
            raise UserError(name, "has a tokenizer without a mask token.", "Give a masked language model such as BERT.")

    def convention(self) -> dict[str, Any]:
        """What surrounds a text, for the provenance."""
        names = self.tokenizer.convert_ids_to_tokens
        return self.encoder.convention() | {"after_text": names(list(self.suffix))}

    def encode(self, queries: Sequence[Query]) -> list[Gapped]:
        """Tokenise whole sequences and find each target in its sequence, as for causal models."""
        if not queries:
            return []
        texts = self.encoder.texts(queries)
        batch = self.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        encoded = []
        for i, one in enumerate(self.encoder.encode(queries)):
            is_first = FIRST_UNSCORED in one.flags  # a causal model cannot predict the first token of all, a masked one can
            start = 0 if is_first else one.start
            count = len(one.ids) - start
            words = number_words(texts[i], batch.word_ids(i), batch["offset_mapping"][i])
            flags = tuple(flag for flag in one.flags if flag != FIRST_UNSCORED)
            encoded.append(Gapped((*one.ids, *self.suffix), start, len(one.ids), tuple(words[len(words) - count :]), flags))
        return encoded

    def rows(self, query: int, gapped: Gapped) -> list[Row]:
        """One row for each token of the target."""
        mask, found = self.tokenizer.mask_token_id, []
        for k, position in enumerate(range(gapped.start, gapped.end)):
            ids = list(gapped.ids)
            for later in range(k, len(gapped.words) if self.pseudo == WITHIN_WORD else k + 1):
                if later == k or gapped.words[later] == gapped.words[k]:
                    ids[gapped.start + later] = mask
            found.append(Row(query, position, gapped.ids[position], tuple(ids)))
        return found


def own_suffix(tokenizer: Any) -> tuple[int, ...]:
    """The tokens that the tokenizer itself puts behind a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for k in range(len(full) - len(bare) + 1):
        if full[k : k + len(bare)] == bare:
            return tuple(full[k + len(bare) :])
    return ()


def number_words(text: str, word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The word of each token: the tokenizer's own words, which end at a space at the latest, whatever the tokenizer says.

    >>> number_words("ab c.", [0, 0, 0, 1], [(0, 1), (1, 2), (2, 4), (4, 5)])
    [0, 0, 1, 2]
    """
    numbers: dict[tuple[int | None, int], int] = {}
    found = []
    for word, (begin, end) in zip(word_ids, offsets, strict=True):
        at = next((i for i in range(begin, end) if not text[i].isspace()), None)
        number = len(text[:end].split()) + 1 if at is None else len(text[: at + 1].split())  # a space belongs to what follows
        found.append(numbers.setdefault((word, number), len(numbers)))
    return found
