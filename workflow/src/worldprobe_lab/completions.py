"""How the BabyLM challenge scores the end of a sentence: its tokens, its special tokens, and what
each kind of model reads.

A sentence is a context, one space and a completion, and is read between the tokenizer's own special
tokens. The completion's tokens are those that end behind the context; of each the log probability
is taken, and they add up. Five backends, after ``strict/evaluation_pipeline/sentence_zero_shot`` of
https://github.com/babylm-org/babylm-eval at commit 45fe2c1:

- causal: each token after those before it; without a start token where the tokenizer adds none, as
  GPT-2's;
- mlm: each token hidden in turn, alone, and read where it is hidden;
- mntp (masked next token prediction): the same, read one place earlier;
- enc_dec_mask: the encoder reads the sentence with one token hidden, and the decoder, given a start
  token and the mask, says it;
- enc_dec_prefix: the encoder reads the context and a mask, and the decoder, given a start token and
  the mask, the completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from worldprobe.errors import UserError
from worldprobe.models import loading
from worldprobe.models.chat import Encoded, Encoder
from worldprobe.models.encoder_decoder_engine import EncoderPair, PairEncoder
from worldprobe.models.engine import Loglikelihood
from worldprobe.models.masked_engine import GapEncoder, Gapped, MaskedRow
from worldprobe.models.registry import CAUSAL, ENCODER_DECODER, MASKED, ORIGINAL

#: Backend -> what a model is loaded as.
BACKENDS = {
    "causal": CAUSAL,
    "mlm": MASKED,
    "mntp": MASKED,
    "enc_dec_mask": ENCODER_DECODER,
    "enc_dec_prefix": ENCODER_DECODER,
}


def encoder_of(backend: str) -> Callable[[Any, Any, str], Encoder | GapEncoder | PairEncoder]:
    """Constructor of a backend's encoder; see ``models.transformers_engine.Encode``."""
    return partial(_CLASSES[backend], backend)


def _find(
    tokenizer: Any,
    queries: Sequence[Loglikelihood],
    longest: int,
    name: str,
    is_causal: bool = False,
) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Of each sentence the token ids with special tokens, and the first and the last (not included)
    of its completion.

    Raises:
        UserError: a sentence is longer than the model reads, or the completion's tokens do not
            follow one another.
    """
    if not queries:
        return
    batch = tokenizer(
        [query.text for query in queries],
        return_offsets_mapping=True,
        verbose=False,
    )
    for query, ids, offsets in zip(
        queries, batch["input_ids"], batch["offset_mapping"], strict=True
    ):
        border = len(query.context or "") + (offsets[0][0] if is_causal else 0)
        positions = [position for position, (_, end) in enumerate(offsets) if end > border]
        _check_length(name, len(ids), longest)
        if not positions or positions[-1] - positions[0] != len(positions) - 1:
            problem = (
                "has a tokenizer whose character offsets do not tell which tokens a completion has."
            )
            raise UserError(
                name, problem, "Save a tokenizer.json that gives offsets next to the weights."
            )
        yield tuple(ids), positions[0], positions[-1] + 1


class CausalCompletions(Encoder):
    """Completions for a causal model.

    Args:
        backend: its name.
        model: of transformers.
        tokenizer: of transformers.
        name: the model's name, for messages.
    """

    def __init__(self, backend: str, model: Any, tokenizer: Any, name: str) -> None:
        super().__init__(tokenizer, max_length=loading.longest_read(model), bos="never", name=name)
        self.backend, self.name = backend, name

    def convention(self) -> dict[str, Any]:
        """The scored quantity, for the provenance."""
        return _convention(self.backend, self.tokenizer)

    def encode(self, queries: Sequence[Loglikelihood]) -> list[Encoded]:
        """See ``Encoder.encode``; what follows the completion is not read."""
        spans = _find(self.tokenizer, queries, self.max_length, self.name, is_causal=True)
        return [Encoded(ids[:end], max(start, 1), ()) for ids, start, end in spans]


class HiddenCompletions(GapEncoder):
    """Completions for a masked model, each token hidden alone, and read where it is or, by mntp,
    one place earlier.

    Args:
        backend: mlm or mntp.
        model: of transformers.
        tokenizer: of transformers.
        name: the model's name, for messages.
    """

    def __init__(self, backend: str, model: Any, tokenizer: Any, name: str) -> None:
        super().__init__(tokenizer, loading.longest_read(model), ORIGINAL, name)
        self.backend, self.name, self.longest = backend, name, loading.longest_read(model)

    def convention(self) -> dict[str, Any]:
        """The scored quantity, for the provenance."""
        return _convention(self.backend, self.tokenizer)

    def encode(self, queries: Sequence[Loglikelihood]) -> list[Gapped]:
        """See ``GapEncoder.encode``."""
        spans = _find(self.tokenizer, queries, self.longest, self.name)
        return [Gapped(ids, start, end, tuple(range(end - start)), ()) for ids, start, end in spans]

    def rows(self, query: int, gapped: Gapped) -> list[MaskedRow]:
        """One row for each token of the completion."""
        earlier = int(self.backend == "mntp")
        return [
            MaskedRow(query, row.position - earlier, row.token, row.ids)
            for row in super().rows(query, gapped)
        ]


class PairedCompletions(PairEncoder):
    """Completions for an encoder-decoder model, by either of its backends.

    Args:
        backend: enc_dec_mask or enc_dec_prefix.
        model: of transformers.
        tokenizer: of transformers.
        name: the model's name, for messages.

    Raises:
        UserError: the tokenizer has neither a mask token nor special tokens that stand for a gap.
    """

    def __init__(self, backend: str, model: Any, tokenizer: Any, name: str) -> None:
        mask, start = tokenizer.mask_token_id, tokenizer.bos_token_id
        extra = tokenizer.convert_tokens_to_ids(
            [str(token) for token in tokenizer.extra_special_tokens]
        )
        if None in (mask, start) and not extra:
            problem = (
                "has a tokenizer without a mask token or without a start token, and the backend"
                f" {backend} takes both."
            )
            raise UserError(
                name,
                problem,
                "Name mask_token and bos_token, or extra_special_tokens, in tokenizer_config.json.",
            )
        self.backend, self.name, self.mask = backend, name, extra[0] if mask is None else mask
        super().__init__(tokenizer, self.mask, loading.longest_read(model), name=name)
        if start is not None:
            self.starts = (start, self.mask)
        else:
            # the first of T5's gaps, which is the mask as well where the encoder's sentence has the
            # gap
            self.starts = (extra[0], self.mask) if backend == "enc_dec_prefix" else (extra[0],)

    def convention(self) -> dict[str, Any]:
        """The scored quantity, for the provenance."""
        starts = self.tokenizer.convert_ids_to_tokens(list(self.starts))
        return _convention(self.backend, self.tokenizer) | {"decoder_start": starts}

    def encode(self, queries: Sequence[Loglikelihood]) -> list[EncoderPair]:
        """See ``PairEncoder.encode``; enc_dec_mask makes a pair for each token of the
        completion.
        """
        if self.backend == "enc_dec_mask":
            spans = enumerate(_find(self.tokenizer, queries, self.max_length, self.name))
            return [
                EncoderPair(i, (*ids[:position], self.mask, *ids[position + 1 :]), (ids[position],))
                for i, (ids, start, end) in spans
                for position in range(start, end)
            ]
        if not queries:
            return []
        before, behind = (
            [] if token is None else [token]
            for token in (self.tokenizer.cls_token_id, self.tokenizer.eos_token_id)
        )
        how = {"add_special_tokens": False, "verbose": False}
        contexts = self.tokenizer([str(query.context) for query in queries], **how)["input_ids"]
        targets = self.tokenizer([f" {query.target}" for query in queries], **how)["input_ids"]
        pairs = []
        for i, (context, target) in enumerate(zip(contexts, targets, strict=True)):
            pairs.append(EncoderPair(i, (*before, *context, self.mask, *behind), tuple(target)))
            _check_length(
                self.name,
                max(len(pairs[-1].context), len(self.starts) + len(target) - 1),
                self.max_length,
            )
        return pairs


def _check_length(name: str, length: int, longest: int) -> None:
    """Refuse a text that would be cut.

    Raises:
        UserError: it is longer than the model reads.
    """
    if length > longest:
        problem = f"reads {longest} tokens, and a text of the data has {length}."
        raise UserError(
            name,
            problem,
            "Give a model that reads longer texts, or correct the length in its config.json.",
        )


def _convention(backend: str, tokenizer: Any) -> dict[str, Any]:
    """A backend and what its tokenizer puts around a text."""
    return {
        "completions": backend,
        "around_text": tokenizer.convert_ids_to_tokens(tokenizer("")["input_ids"]),
    }


_CLASSES: dict[str, Callable[..., Encoder | GapEncoder | PairEncoder]] = {
    "causal": CausalCompletions,
    "mlm": HiddenCompletions,
    "mntp": HiddenCompletions,
    "enc_dec_mask": PairedCompletions,
    "enc_dec_prefix": PairedCompletions,
}
