"""Masked language models (BERT, RoBERTa, DeBERTa, ...) behind the engine interface: targets by
pseudo-log-likelihood.

Every token of a target is a row of its own, so batches are large. Rows of similar length are padded
together on the right, with a mask, and only the hidden position of each row goes through the
model's head: the logits of whole rows are most of what others compute. Each of these is used only
where it gives what one row at a time does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.answers import add_up
from worldprobe.models.batching import Budget
from worldprobe.models.chat import Encoder, own_tokens
from worldprobe.models.engine import (
    FIRST_UNSCORED,
    EngineFacts,
    Loglikelihood,
    Scored,
    ScoringEngine,
)
from worldprobe.models.registry import PSEUDO, WITHIN_WORD
from worldprobe.models.selfcheck import Reference

#: Fast to slow. gaps: padded rows, the head at hidden positions only. batches: padded rows. plain:
#: one row at a time.
MODES = ("gaps", "batches", "plain")
#: Texts whose rows are computed side by side before those of another length.
TEXTS_TOGETHER = 8


class MaskedEngine(ScoringEngine):
    """A masked language model of transformers.

    Args:
        model: in evaluation mode.
        encoder: its tokenizer, and what is hidden together.
        facts: what was loaded; notes on the fast path are added.
        fastest: the fastest mode to try.
    """

    def __init__(
        self, model: Any, encoder: GapEncoder, facts: EngineFacts, fastest: str = MODES[0]
    ) -> None:
        self.model, self.encoder, self.facts = model, encoder, facts
        self.device = model.get_input_embeddings().weight.device
        padding = encoder.tokenizer.pad_token_id
        self.padding = (
            padding if padding is not None else getattr(model.config, "pad_token_id", None) or 0
        )
        self.places: torch.Tensor | None = None
        if model.base_model is not model:
            model.base_model.register_forward_hook(self._keep_gaps)
        self.mode = "plain"
        rows = self._probes()
        reference = Reference(
            model,
            lambda: [[value for row in rows for _, value in self._values([row])]],
            facts.checkpoint,
        )
        self._ensure_bidirectional(rows[0])
        ways = {
            mode: partial(self._computed, mode, rows) for mode in MODES[MODES.index(fastest) : -1]
        }
        self.mode, differences = reference.choose(ways)
        self.budget = Budget.for_model(model, self.device, 1)
        facts.notes.update(
            mode=self.mode,
            self_check=differences,
            activation_bytes=self.budget.activation_bytes,
        )

    def score(
        self,
        queries: Sequence[Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``. What is computed together depends on the queries only."""
        encoded = self.encoder.encode(queries)
        order = sorted(
            range(len(queries)),
            key=lambda i: (-len(encoded[i].ids), encoded[i].ids, encoded[i].start),
        )
        for i in order:
            if encoded[i].start >= encoded[i].end and i not in skip:
                yield i, self._scored(encoded[i], [], per_token)
        logprobs: dict[int, list[float]] = {}
        rows = [row for i in order for row in self.encoder.rows(i, encoded[i])]
        n_tokens, n_once = (sum(len(sequence.ids) for sequence in some) for some in (rows, encoded))
        LOGGER.info(
            "%d texts, each read once per token of its target: %d passes, %d tokens (a causal"
            " model reads at most %d)",
            *(len(encoded), len(rows), n_tokens, n_once),
        )
        # Neighbours together: a text is answered when the last of its rows is, which may be in a
        # later batch: so many that few texts wait while batches of other lengths are computed.
        most = max((sequence.end - sequence.start for sequence in encoded), default=1)
        at_once = max(self.budget.tokens // max((len(row.ids) for row in rows), default=1), 1)
        together = -(-TEXTS_TOGETHER * most // at_once)
        batches = self.budget.batches(rows, lambda row: len(row.ids), together=max(4, together))
        for batch in [[row] for row in rows] if self.mode == "plain" else batches:
            if all(row.query in skip for row in batch):
                continue
            for row, value in self.budget.run(batch, self._values):
                values = logprobs.setdefault(row.query, [])
                values.append(value)
                if (
                    len(values) == encoded[row.query].end - encoded[row.query].start
                    and row.query not in skip
                ):
                    yield (
                        row.query,
                        self._scored(encoded[row.query], logprobs.pop(row.query), per_token),
                    )

    def _scored(self, gapped: Gapped, values: Sequence[float], per_token: bool) -> Scored:
        ids = list(gapped.ids[gapped.start : gapped.end])
        names = tuple(self.encoder.tokenizer.convert_ids_to_tokens(ids)) if per_token else None
        return add_up(values, gapped.flags, names, len(gapped.ids))

    @torch.inference_mode()
    def _values(self, rows: Sequence[MaskedRow]) -> list[tuple[MaskedRow, float]]:
        """Log probability of each row's hidden token, float32."""
        width = max(len(row.ids) for row in rows)
        tokens = torch.tensor(
            [[*row.ids, *[self.padding] * (width - len(row.ids))] for row in rows],
            device=self.device,
        )
        inputs = {"input_ids": tokens}
        if any(len(row.ids) < width for row in rows):
            lengths = torch.tensor([[len(row.ids)] for row in rows], device=self.device)
            inputs["attention_mask"] = (torch.arange(width, device=self.device) < lengths).long()
        positions = torch.tensor([row.position for row in rows])
        if self.mode == "gaps":
            self.places = positions
            try:
                logits = self.model(**inputs).logits
            finally:
                self.places = None
            if logits.shape[1] != 1:
                raise ValueError("the head does not follow the last hidden states")
            logits = logits[:, 0]
        else:
            logits = self.model(**inputs).logits
            logits = logits[
                torch.arange(len(rows), device=logits.device), positions.to(logits.device)
            ]
        wanted = torch.tensor([[row.token] for row in rows], device=logits.device)
        logits = logits.float()
        values = logits.gather(1, wanted)[:, 0] - logits.logsumexp(-1)
        return list(zip(rows, values.double().tolist(), strict=True))

    def _keep_gaps(self, body: Any, inputs: Any, outputs: Any) -> Any:
        """Behind the model's body: of each row, go on with the hidden position alone."""
        if self.places is None:
            return None
        states = outputs[0]
        kept = states[
            torch.arange(len(states), device=states.device), self.places.to(states.device)
        ][:, None]
        if isinstance(outputs, tuple):
            return (kept, *outputs[1:])
        outputs["last_hidden_state"] = kept
        return outputs

    def _probes(self) -> list[MaskedRow]:
        """Rows of unequal lengths, of tokens spread over the vocabulary, each with one token
        hidden.
        """
        tokenizer, encoder = self.encoder.tokenizer, self.encoder.encoder
        vocabulary = min(self.model.get_input_embeddings().weight.shape[0], len(tokenizer))
        special = set(tokenizer.all_special_ids)
        plain = [token for token in range(vocabulary) if token not in special] or [0]
        length = max(min(20, encoder.max_length - len(encoder.prefix)), 2)
        rows = []
        for k, count in enumerate((length, length, 2 * length // 3, length // 2 or 1)):
            ids = [plain[(7919 * (i + 1) + 104729 * (k // 2)) % len(plain)] for i in range(count)]
            position = (k * count // 5) % count
            token, ids[position] = ids[position], tokenizer.mask_token_id
            index = len(encoder.prefix) + position
            rows.append(MaskedRow(k, index, token, (*encoder.prefix, *ids, *self.encoder.suffix)))
        return rows

    def _ensure_bidirectional(self, row: MaskedRow) -> None:
        """Refuse a model that predicts a hidden token from what precedes it alone: it does not fill
        gaps.

        Raises:
            UserError: exchanging what follows changes nothing.
        """
        first, last = row.position + 1, len(row.ids) - len(self.encoder.suffix)
        reversed_row = MaskedRow(
            row.query,
            row.position,
            row.token,
            (*row.ids[:first], *row.ids[first:last][::-1], *row.ids[last:]),
        )
        if (
            reversed_row.ids != row.ids
            and self._values([row])[0][1] == self._values([reversed_row])[0][1]
        ):
            raise UserError(
                self.facts.checkpoint,
                "is not a masked language model: what follows a hidden token does not change its"
                " probability.",
                "Score it as a causal model: kind causal (or remove is_decoder from its"
                " config.json).",
            )

    def _computed(self, mode: str, rows: Sequence[MaskedRow]) -> list[list[float]]:
        """Log probabilities of some rows, computed in a mode."""
        self.mode = mode
        return [[value for _, value in self._values(rows)]]


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
class MaskedRow:
    """The sequence that the model reads to predict one token.

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
        pseudo: what is hidden together, see ``registry.PSEUDO``.
        name: the model's name, for messages.

    Raises:
        UserError: the tokenizer gives no character offsets, or has no mask token.
    """

    def __init__(
        self, tokenizer: Any, max_length: int, pseudo: str = WITHIN_WORD, name: str = ""
    ) -> None:
        if pseudo not in PSEUDO:
            raise ValueError(pseudo)
        self.tokenizer, self.pseudo = tokenizer, pseudo
        self.suffix = own_tokens(tokenizer)[1]
        self.encoder = Encoder(tokenizer, max_length=max_length - len(self.suffix), name=name)
        self.encoder.bare_prefix = self.encoder.prefix
        if tokenizer.mask_token_id is None:
            raise UserError(
                name,
                "has a tokenizer without a mask token.",
                "Give a masked language model such as BERT.",
            )

    def convention(self) -> dict[str, Any]:
        """The tokens around a text, for the provenance."""
        names = self.tokenizer.convert_ids_to_tokens
        return self.encoder.convention() | {"after_text": names(list(self.suffix))}

    def encode(self, queries: Sequence[Loglikelihood]) -> list[Gapped]:
        """Tokenise whole sequences and find each target in its sequence, as for causal models."""
        if not queries:
            return []
        texts = self.encoder.texts(queries)
        batch = self.tokenizer(
            texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        encoded = []
        for i, sequence in enumerate(self.encoder.encode(queries)):
            is_first = (
                FIRST_UNSCORED in sequence.flags
            )  # a causal model cannot predict the first token of all, a masked one can
            start = 0 if is_first else sequence.start
            count = len(sequence.ids) - start
            words = number_words(texts[i], batch.word_ids(i), batch["offset_mapping"][i])
            flags = tuple(flag for flag in sequence.flags if flag != FIRST_UNSCORED)
            encoded.append(
                Gapped(
                    (*sequence.ids, *self.suffix),
                    start,
                    len(sequence.ids),
                    tuple(words[len(words) - count :]),
                    flags,
                )
            )
        return encoded

    def rows(self, query: int, gapped: Gapped) -> list[MaskedRow]:
        """One row for each token of the target."""
        mask, rows = self.tokenizer.mask_token_id, []
        for k, position in enumerate(range(gapped.start, gapped.end)):
            ids = list(gapped.ids)
            for later in range(k, len(gapped.words) if self.pseudo == WITHIN_WORD else k + 1):
                if later == k or gapped.words[later] == gapped.words[k]:
                    ids[gapped.start + later] = mask
            rows.append(MaskedRow(query, position, gapped.ids[position], tuple(ids)))
        return rows


def number_words(
    text: str, word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]]
) -> list[int]:
    """The word of each token: the tokenizer's own words, which end at a space at the latest,
    whatever the tokenizer says.

    >>> number_words("ab c.", [0, 0, 0, 1], [(0, 1), (1, 2), (2, 4), (4, 5)])
    [0, 0, 1, 2]
    """
    numbers: dict[tuple[int | None, int], int] = {}
    words = []
    for word, (begin, end) in zip(word_ids, offsets, strict=True):
        at = next((i for i in range(begin, end) if not text[i].isspace()), None)
        number = (
            len(text[:end].split()) + 1 if at is None else len(text[: at + 1].split())
        )  # a space belongs to what follows
        words.append(numbers.setdefault((word, number), len(numbers)))
    return words
