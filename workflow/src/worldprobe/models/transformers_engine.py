"""The transformers engine: any causal language model that transformers loads, on the CPU, one GPU or several."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch

from worldprobe.log import LOGGER
from worldprobe.models import loading, selfcheck
from worldprobe.models.checkpoint import Checkpoint, locate
from worldprobe.models.encoding import Encoded, Encoder
from worldprobe.models.engine import NOT_FINITE, EngineFacts, Query, Scored
from worldprobe.models.passes import Passes
from worldprobe.models.tries import pack
from worldprobe.provenance import versions

#: Nodes per packed row: long enough to hold many tries, short enough that the mask's square stays cheap.
ROW_WIDTH = 256
#: Tokens per forward pass on a CPU, where more brings nothing; the same on every machine, so that scores are too.
CPU_TOKENS = 1024
#: Most tokens per forward pass on a GPU.
GPU_TOKENS = 65_536


class TransformersEngine:
    """A model of transformers behind the engine interface.

    Args:
        model: a causal LM in evaluation mode.
        encoder: its tokenizer with the start convention.
        facts: what was loaded; notes on the fast path are added.
        fastest: the fastest mode to try; "plain" scores one sequence at a time, as the original did.
    """

    def __init__(self, model: Any, encoder: Encoder, facts: EngineFacts, fastest: str = "tries") -> None:
        self.model, self.encoder, self.facts = model, encoder, facts
        self.device = model.get_input_embeddings().weight.device
        self.passes = Passes(model, self.device)
        vocabulary = min(model.get_input_embeddings().weight.shape[0], len(encoder.tokenizer))
        self.mode = "plain"
        differences: dict[str, float] = {}
        if fastest != "plain":
            self.mode, differences = selfcheck.choose_mode(self.passes, vocabulary, encoder.max_length, facts.dtype, fastest)
        self.budget = self._first_budget()
        facts.notes.update(mode=self.mode, self_check={k: float(f"{v:.2g}") for k, v in differences.items()})

    def _first_budget(self) -> int:
        """Tokens per forward pass: on a GPU from its free memory, in powers of two."""
        if self.device.type != "cuda":
            return CPU_TOKENS
        config = self.model.config.get_text_config()
        width = config.hidden_size * 4 + (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
        bytes_per_token = width * 3 * self.model.get_input_embeddings().weight.element_size() + 4 * ROW_WIDTH
        free, _ = torch.cuda.mem_get_info(self.device)
        tokens = int(free * 0.5 / bytes_per_token)
        return max(ROW_WIDTH, min(GPU_TOKENS, 1 << max(tokens, 1).bit_length() - 1))

    def score(
        self, queries: Sequence[Query], *, skip: Collection[int] = (), per_token: bool = False
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``. What is packed together depends on the queries only, so a resumed run gives the same numbers."""
        encoded = self.encoder.encode(queries)
        sequences = [(e.ids, e.start) for e in encoded]
        skipped = set(skip)
        blank = [i for i, (ids, start) in enumerate(sequences) if start >= len(ids)]
        for i in blank:
            if i not in skipped:
                yield i, self._scored(encoded[i], [], per_token)
        scored = [i for i in range(len(sequences)) if sequences[i][1] < len(sequences[i][0])]
        for members in self._batches(sequences, scored):
            if any(m not in skipped for m, _ in members):
                for m, values in self._answers(members, sequences):
                    if m not in skipped:
                        yield m, self._scored(encoded[m], values, per_token)

    def _batches(self, sequences: Sequence[tuple[Sequence[int], int]], chosen: Sequence[int]) -> Iterator[list[tuple[int, Any]]]:
        """Groups of (member, row) or (member, None) that one forward pass takes."""
        if self.mode == "tries":
            local = [sequences[i] for i in chosen]
            longest = max((len(ids) for ids, _ in local), default=1)
            rows = pack(local, max(ROW_WIDTH, longest))
            for row in rows:
                row.members = [chosen[m] for m in row.members]
            at = 0
            while at < len(rows):
                count = max(1, self.budget // max(len(rows[at].tokens), 1))
                yield [(m, row) for row in rows[at : at + count] for m in row.members]
                at += count
        else:
            order = sorted(chosen, key=lambda i: (-len(sequences[i][0]), tuple(sequences[i][0])))
            at = 0
            while at < len(order):
                count = 1 if self.mode == "plain" else max(1, self.budget // len(sequences[order[at]][0]))
                yield [(m, None) for m in order[at : at + count]]
                at += count

    def _answers(
        self, members: Sequence[tuple[int, Any]], sequences: Sequence[tuple[Sequence[int], int]]
    ) -> list[tuple[int, list[float]]]:
        """One forward pass; out of memory halves the batch and remembers."""
        try:
            if self.mode == "tries":
                rows = list({id(row): row for _, row in members}.values())
                return self.passes.rows(rows, sequences)
            chosen = [m for m, _ in members]
            if self.mode == "plain":
                return [(m, self.passes.plain(*sequences[m])) for m in chosen]
            values = self.passes.padded([sequences[m] for m in chosen], own_head=self.mode == "logits")
            return list(zip(chosen, values, strict=True))
        except (torch.cuda.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error) or len({id(row) if row else m for m, row in members}) < 2:
                raise
        self.budget = max(1, self.budget // 2)
        LOGGER.info("out of memory: from now on %d tokens per pass", self.budget)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        middle = self._middle(members)
        return self._answers(members[:middle], sequences) + self._answers(members[middle:], sequences)

    @staticmethod
    def _middle(members: Sequence[tuple[int, Any]]) -> int:
        """Where to cut a batch in two without cutting a row."""
        middle = len(members) // 2
        while 0 < middle < len(members) and members[middle][1] is not None and members[middle][1] is members[middle - 1][1]:
            middle += 1
        if middle < len(members):
            return middle
        middle = len(members) - 1
        while members[middle][1] is members[middle - 1][1]:
            middle -= 1
        return middle

    def _scored(self, encoded: Encoded, values: Sequence[float], per_token: bool) -> Scored:
        """Sum in double precision; a log probability above zero is rounding, one that is not finite is flagged."""
        names = tuple(self.encoder.tokenizer.convert_ids_to_tokens(list(encoded.ids[encoded.start :]))) if per_token else None
        if not values or not all(math.isfinite(v) for v in values):
            flags = (*encoded.flags, NOT_FINITE) if values else encoded.flags
            return Scored(None, len(values), flags, tuple(values) if per_token else None, names)
        values = [min(v, 0.0) for v in values]
        return Scored(math.fsum(values), len(values), encoded.flags, tuple(values) if per_token else None, names)


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)


def open_engine(
    name: str,
    dtype: str = "float32",
    revision: str | None = None,
    device: str = "auto",
    bos: str = "auto",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    fastest: str = "tries",
) -> TransformersEngine:
    """Load a checkpoint by folder or hub id.

    Raises:
        UserError: it is not there, not whole, not safe, or not a causal language model.
    """
    loading.check_dtype(dtype)
    checkpoint: Checkpoint = locate(name, revision, allow_pickle, trust_remote_code)
    LOGGER.info("loading %s in %s", name, dtype)
    model, tokenizer = loading.load(checkpoint, dtype, device)
    config_bos = getattr(model.config, "bos_token_id", None)
    longest = loading.longest_sequence(model.config)
    encoder = Encoder(tokenizer, model.config.model_type, config_bos, longest, bos, name)
    facts = EngineFacts(
        checkpoint=name,
        revision=checkpoint.revision,
        checkpoint_digest=checkpoint.digest(),
        engine="transformers",
        dtype=dtype,
        bos=encoder.convention(),
        max_length=longest,
        packages=versions(["torch", "transformers", "tokenizers"]),
        notes={"device": str(model.get_input_embeddings().weight.device.type)},
    )
    return TransformersEngine(model, encoder, facts, fastest)
