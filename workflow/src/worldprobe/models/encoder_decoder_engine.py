"""Encoder-decoder models (T5, BART, ...) behind the engine interface: the encoder reads the
context, the decoder is scored.

The decoder starts as its configuration says and reads the target; the end token is not part of the
target. Without a context the encoder reads the tokenizer's special tokens alone. An encoder may
make several pairs of a query, whose log probabilities add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from worldprobe.models import engine
from worldprobe.models.answers import add_up
from worldprobe.models.batching import Budget, spread
from worldprobe.models.chat import Encoder, drops_text
from worldprobe.models.selfcheck import Reference

MODES = ("batches", "plain")


@dataclass(frozen=True, slots=True)
class EncoderPair:
    """The tokens that the encoder and the decoder read.

    Attributes:
        query: place of the query.
        context: the encoder's token ids.
        target: the target's token ids, without start and end.
        flags: see ``engine.FLAGS``.
    """

    query: int
    context: tuple[int, ...]
    target: tuple[int, ...]
    flags: tuple[str, ...] = ()


class PairEncoder:
    """Encodes queries for one encoder-decoder model.

    Args:
        tokenizer: a fast tokenizer of transformers.
        start: the token that the decoder starts with.
        max_length: the longest sequence of encoder and of decoder, in tokens.
        bos: always surrounds a context by the tokenizer's own special tokens; auto and never do
            not, as minicons does not.
        name: the model's name, for messages.
    """

    def __init__(
        self, tokenizer: Any, start: int, max_length: int, bos: str = "auto", name: str = ""
    ) -> None:
        self.tokenizer, self.max_length = tokenizer, max_length
        #: What the decoder reads before a target; the last of these predicts its first token.
        self.starts: tuple[int, ...] = (start,)
        self.is_surrounded = bos == "always"
        self.encoder = Encoder(tokenizer, max_length=max_length - 1, bos="never", name=name)
        self.encoder.bare_prefix = ()
        self.empty = tuple(tokenizer("")["input_ids"]) or (start,)

    def convention(self) -> dict[str, Any]:
        """How encoder and decoder start, for the provenance."""
        names = self.tokenizer.convert_ids_to_tokens
        return {
            "decoder_start": names(self.starts[0]),
            "context": (
                "between the tokenizer's special tokens"
                if self.is_surrounded
                else "without special tokens"
            ),
            "no_context": names(list(self.empty)),
        }

    def encode(self, queries: Sequence[engine.Loglikelihood]) -> list[EncoderPair]:
        """Context and target of each query, tokenised apart, as the model reads them apart."""
        if not queries:
            return []
        contexts = {
            query.context: i for i, query in enumerate(queries) if query.context is not None
        }
        batch = (
            self.tokenizer(
                list(contexts),
                add_special_tokens=self.is_surrounded,
                return_offsets_mapping=True,
                verbose=False,
            )
            if contexts
            else {"input_ids": [], "offset_mapping": []}
        )
        read = zip(contexts, batch["input_ids"], batch["offset_mapping"], strict=True)
        encoded = {text: self._context(text, ids, offsets) for text, ids, offsets in read}
        targets = self.encoder.encode(
            [replace(query, context=query.context and "") for query in queries]
        )
        pairs = []
        for i, (query, target) in enumerate(zip(queries, targets, strict=True)):
            context, flags = (
                (self.empty, set()) if query.context is None else encoded[query.context]
            )
            flags = flags | set(target.flags) - {
                engine.FIRST_UNSCORED
            }  # the decoder's start token precedes the first one
            ids = target.ids if query.target else ()
            pairs.append(
                EncoderPair(i, context, ids, tuple(flag for flag in engine.FLAGS if flag in flags))
            )
        return pairs

    def _context(
        self, text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]]
    ) -> tuple[tuple[int, ...], set[str]]:
        """Token ids of a context and its flags; where it is too long it loses its beginning, as
        causal models' do.
        """
        flags = {engine.TRUNCATED} if len(ids) > self.max_length else set()
        if self.encoder.unknown in ids or drops_text(text, offsets):
            flags.add(engine.UNKNOWN_TOKEN)
        spelled = ids[1:-1] if self.is_surrounded else ids
        if not self.encoder.special.isdisjoint(spelled):
            flags.add(engine.SPECIAL_TOKEN)
        return tuple(ids[max(len(ids) - self.max_length, 0) :]) or self.empty, flags


class EncoderDecoderEngine(engine.ScoringEngine):
    """An encoder-decoder model of transformers.

    Args:
        model: in evaluation mode.
        encoder: its tokenizer.
        facts: what was loaded; notes on the fast path are added.
        fastest: the fastest mode to try.
    """

    def __init__(
        self, model: Any, encoder: PairEncoder, facts: engine.EngineFacts, fastest: str = MODES[0]
    ) -> None:
        self.model, self.encoder, self.facts = model, encoder, facts
        self.device = model.get_input_embeddings().weight.device
        self.padding = encoder.tokenizer.pad_token_id or 0
        pairs = self._probes()
        reference = Reference(
            model,
            lambda: [values for pair in pairs for _, values in self._plain(pair)],
            facts.checkpoint,
        )
        ways = (
            {}
            if fastest == "plain"
            else {"batches": lambda: [values for _, values in self._batch(pairs)]}
        )
        self.mode, differences = reference.choose(ways)
        self.budget = Budget.for_model(model, self.device, 1)
        facts.notes.update(
            mode=self.mode,
            self_check=differences,
            activation_bytes=self.budget.activation_bytes,
        )

    def score(
        self,
        queries: Sequence[engine.Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, engine.Scored]]:
        """See ``Engine.score``. What is computed together depends on the queries only; a context is
        read once per batch.
        """
        pairs = self.encoder.encode(queries)
        scored: dict[int, list[tuple[EncoderPair, list[float]]]] = {}
        waiting = Counter(pair.query for pair in pairs)
        for pair in pairs:
            if not pair.target and pair.query not in skip:
                yield pair.query, self._scored([(pair, [])], per_token)
        order = sorted(
            (pair for pair in pairs if pair.target),
            key=lambda p: (-len(p.context), p.context, -len(p.target), p.target),
        )
        if self.mode == "plain":
            batches: Iterable[list[EncoderPair]] = ([order[k]] for k in spread(len(order)))
        else:
            longest = max((len(pair.target) for pair in order), default=0)
            batches = self.budget.batches(order, lambda pair: len(pair.context) + longest)
        work = self._batch if self.mode == "batches" else lambda chosen: self._plain(chosen[0])
        for batch in batches:
            if any(pair.query not in skip for pair in batch):
                for pair, values in self.budget.run(batch, work):
                    scored.setdefault(pair.query, []).append((pair, values))
                    if len(scored[pair.query]) == waiting[pair.query] and pair.query not in skip:
                        yield pair.query, self._scored(scored.pop(pair.query), per_token)

    def _scored(
        self, parts: Sequence[tuple[EncoderPair, list[float]]], per_token: bool
    ) -> engine.Scored:
        """The answer to a query, from all its pairs."""
        ids = [token for pair, _ in parts for token in pair.target]
        names = tuple(self.encoder.tokenizer.convert_ids_to_tokens(ids)) if per_token else None
        n_read = sum(len(pair.context) + len(pair.target) for pair, _ in parts)
        return add_up(
            [value for _, values in parts for value in values], parts[0][0].flags, names, n_read
        )

    @torch.inference_mode()
    def _plain(self, pair: EncoderPair) -> list[tuple[EncoderPair, list[float]]]:
        """One pair alone: the reference."""
        context = torch.tensor([pair.context], device=self.device)
        starts = torch.tensor([[*self.encoder.starts, *pair.target[:-1]]], device=self.device)
        logits = self.model(input_ids=context, decoder_input_ids=starts, use_cache=False).logits
        return [(pair, self._logprobs(logits, [pair])[0])]

    @torch.inference_mode()
    def _batch(self, pairs: Sequence[EncoderPair]) -> list[tuple[EncoderPair, list[float]]]:
        """Pairs padded on the right, each distinct context read once, with a mask over its
        tokens.
        """
        rows = {
            context: i for i, context in enumerate(dict.fromkeys(pair.context for pair in pairs))
        }
        contexts, lengths = (
            self._pad(list(rows)),
            torch.tensor([[len(c)] for c in rows], device=self.device),
        )
        mask = (torch.arange(contexts.shape[1], device=self.device) < lengths).long()
        states = self.model.get_encoder()(input_ids=contexts, attention_mask=mask, return_dict=True)
        chosen = torch.tensor([rows[pair.context] for pair in pairs], device=self.device)
        states["last_hidden_state"] = states[0][chosen.to(states[0].device)]
        starts = self._pad([(*self.encoder.starts, *pair.target[:-1]) for pair in pairs])
        logits = self.model(
            encoder_outputs=states,
            attention_mask=mask[chosen],
            decoder_input_ids=starts,
            use_cache=False,
        ).logits
        return list(zip(pairs, self._logprobs(logits, pairs), strict=True))

    def _logprobs(self, logits: torch.Tensor, pairs: Sequence[EncoderPair]) -> list[list[float]]:
        """Log probabilities of each pair's target tokens, float32."""
        first, logprobs = len(self.encoder.starts) - 1, []
        for row, pair in zip(logits, pairs, strict=True):
            values = torch.log_softmax(row[first : first + len(pair.target)].float(), dim=-1)
            wanted = torch.tensor(pair.target, device=values.device)[:, None]
            logprobs.append(values.gather(1, wanted)[:, 0].double().tolist())
        return logprobs

    def _pad(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        width = max(len(row) for row in rows)
        return torch.tensor(
            [[*row, *[self.padding] * (width - len(row))] for row in rows], device=self.device
        )

    def _probes(self) -> list[EncoderPair]:
        """Pairs of unequal lengths, two with one context, of tokens spread over the vocabulary."""
        tokenizer = self.encoder.tokenizer
        vocabulary = min(self.model.get_input_embeddings().weight.shape[0], len(tokenizer))
        special = set(tokenizer.all_special_ids)
        plain = [token for token in range(vocabulary) if token not in special] or [0]
        tokens = tuple(plain[7919 * (i + 1) % len(plain)] for i in range(24))
        sizes = ((0, 12, 8), (0, 12, 3), (3, 9, 6), (5, 6, 1))
        most = self.encoder.max_length - 1
        return [
            EncoderPair(k, tokens[a : a + min(n, most)], tokens[12 - a : 12 - a + min(m, most)])
            for k, (a, n, m) in enumerate(sizes)
        ]
