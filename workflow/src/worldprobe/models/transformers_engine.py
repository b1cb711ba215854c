"""The transformers engine: any causal language model that transformers loads, on the CPU, one GPU
or several.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models import gguf, loading, selfcheck, tokenizers
from worldprobe.models.answers import OPTION_ROOM, Answer, Options, scored
from worldprobe.models.batching import Budget, spread
from worldprobe.models.chat import Encoder, has_template, turn_ends
from worldprobe.models.checkpoint import (
    Checkpoint,
    ensure_unchanged,
    instructions,
    locate,
    processor,
)
from worldprobe.models.encoder_decoder_engine import EncoderDecoderEngine, PairEncoder
from worldprobe.models.engine import (
    Completion,
    Decoding,
    Engine,
    EngineFacts,
    Loglikelihood,
    Prompt,
    Scored,
)
from worldprobe.models.forward import ForwardPasses, Prefix, Sequenced, split_gelu
from worldprobe.models.generation import Generator, shared_beginning
from worldprobe.models.masked_engine import GapEncoder, MaskedEngine
from worldprobe.models.prefix_trie import ROW_WIDTH, PackedRow, pack_sequences, row_width
from worldprobe.models.reasoning import part_thoughts
from worldprobe.models.registry import CAUSAL, ENCODER_DECODER, MASKED, WITHIN_WORD
from worldprobe.provenance import versions

#: Tokens of the longest sequence that is read in a trie, whose mask is as large as the square of
#: it; others need no mask.
LONGEST_PACKED = 4096
#: A shared beginning shorter than this is not worth a cache.
WORTH_SHARING = 16

Found = TypeVar("Found")
#: Given a model, its tokenizer and its name, what turns texts into tokens; its class decides how
#: they are scored.
Encode = Callable[[Any, Any, str], Encoder | GapEncoder | PairEncoder]


class TransformersEngine:
    """A model of transformers behind the engine interface.

    Args:
        model: a causal LM in evaluation mode.
        encoder: its tokenizer with the start convention.
        facts: what was loaded; notes on the fast path are added.
        fastest: the fastest mode to try; "plain" takes one sequence at a time, as the original did.
    """

    def __init__(
        self, model: Any, encoder: Encoder, facts: EngineFacts, fastest: str = "tries"
    ) -> None:
        self.model, self.encoder, self.facts = model, encoder, facts
        self.passes = ForwardPasses(model, model.get_input_embeddings().weight.device)
        self.longest_row = loading.sliding_window(model.config)
        self.mode = "plain"
        differences: dict[str, str] = {}
        vocabulary = min(model.get_input_embeddings().weight.shape[0], len(encoder.tokenizer))
        probes = selfcheck.probes(vocabulary, encoder.max_length)
        reference = selfcheck.Reference(
            model, lambda: [self.passes.plain(*probe) for probe in probes], facts.checkpoint
        )
        selfcheck.ensure_causal(reference, probes, facts.checkpoint)
        if fastest != "plain":
            put_back = split_gelu(model)
            if not loading.has_plain_head(model.config):
                fastest = "logits"
            self.mode, differences = selfcheck.choose_mode(self.passes, probes, reference, fastest)
            if self.mode == "plain":
                put_back()
        self._checks = selfcheck.check_caches(self.passes, probes[0][0], self.mode)
        self._checked: dict[str, bool] = {}
        self.budget = Budget.for_model(model, self.passes.device, ROW_WIDTH[1])
        facts.notes.update(
            mode=self.mode,
            self_check=differences,
            activation_bytes=self.budget.activation_bytes,
        )
        LOGGER.info(
            "batches of %d tokens (about %d MB beside the weights)",
            self.budget.tokens,
            self.budget.activation_bytes >> 20,
        )

    def _agrees(self, way: str) -> bool:
        """Is a way of ``selfcheck.check_caches`` right? Checked when it is first needed, after
        those before it.
        """
        while way not in self._checked and (checked := next(self._checks, None)):
            self._checked.update([checked])
        return self._checked.get(way, False)

    @cached_property
    def can_cache(self) -> bool:
        """Do sequences whose beginning comes from a cache have the plain pass's numbers?"""
        return self._agrees("cache")

    @cached_property
    def can_pad(self) -> bool:
        """And prompts that are padded on the left?"""
        return self._agrees("padding")

    @cached_property
    def can_read_tries(self) -> bool:
        """And those that are read as tries?"""
        return self._agrees("reading")

    def score(
        self,
        queries: Sequence[Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``. What is packed together depends on the queries only, so a resumed
        run gives the same numbers.
        """
        encoded = self.encoder.encode(queries)
        for i, values in self.token_values([(e.ids, e.start) for e in encoded], skip):
            yield i, scored(self.encoder.tokenizer, encoded[i], values, per_token)

    def token_values(
        self, sequences: Sequence[Sequenced], skip: Collection[int] = ()
    ) -> Iterator[tuple[int, list[Any]]]:
        """What the passes say of each scored token: (index, log probabilities, nats). Passes that
        read several layers say as many of each.
        """
        empty = [i for i, (ids, start) in enumerate(sequences) if start >= len(ids)]
        yield from ((i, []) for i in empty if i not in skip)
        chosen = sorted(set(range(len(sequences))) - set(empty))
        if self._packs([ids for ids, _ in sequences]):
            answers = self._over_rows(
                sequences, chosen, skip, lambda rows: self.passes.rows(rows, sequences)
            )
        else:
            answers = self._over_members(
                sequences, chosen, skip, lambda members: self._score_members(members, sequences)
            )
        yield from answers

    def generate(
        self, prompts: Sequence[Prompt], decoding: Decoding, *, skip: Collection[int] = ()
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.generate``: prompts of similar length together, what all begin with read
        once.
        """
        encoded = self.encoder.encode_prompts(prompts, decoding.most_tokens)
        tokenizers.ensure_embedded(self.encoder.tokenizer, self.facts.ends)
        rows = [ids for ids, _ in encoded]
        prefix = self._prefix(rows)
        used = prefix.length if prefix else 0
        cut = self._cut_rows if self.can_read_tries and self._packs(rows) else None
        generator = Generator(
            self.passes,
            self.encoder.tokenizer,
            self.facts.ends,
            self._own_head(),
            self.can_cache,
            cut,
        )

        def work(members: Sequence[int]) -> Iterator[tuple[int, Completion]]:
            return (
                (members[k], written)
                for k, written in generator.generate([rows[m] for m in members], prefix, decoding)
            )

        for batch in self._writing(rows, used, decoding.most_tokens):
            if any(m not in skip for m in batch):
                for m, written in self.budget.stream(batch, work):
                    if m not in skip:
                        whole = replace(
                            written, prompt_was_cut=encoded[m][1], n_prompt_tokens=len(rows[m])
                        )
                        yield (
                            m,
                            part_thoughts(
                                whole, self.rendered(prompts[m]), decoding, self.encoder.count
                            ),
                        )

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        *,
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.choose``: one forward pass per prompt, more only where options share their
        first token.
        """
        sets = {
            choice: Options(self.encoder.tokenizer, choice)
            for choice in dict.fromkeys(map(tuple, options))
        }
        tokens = sorted({token for allowed in sets.values() for token in allowed.pieces})
        encoded = self.encoder.encode_prompts(prompts, OPTION_ROOM, chooses=True)
        waiting = {i: (ids, Answer(sets[tuple(options[i])])) for i, (ids, _) in enumerate(encoded)}
        while waiting:
            members = list(waiting)
            asked = self._next_logits(
                [waiting[m][0] for m in members],
                tokens,
                {k for k, m in enumerate(members) if m in skip},
            )
            still = {}
            for k, logits in asked:
                m = members[k]
                ids, answer = waiting[m]
                values = dict(zip(tokens, logits, strict=True))
                token = answer.best(values)
                count = len(ids) - len(encoded[m][0])
                if token is None:
                    yield m, Completion("", "not_finite", count, encoded[m][1])
                    continue
                further = answer.take(token, values)
                assert further is not None
                if (settled := further.settled()) is not None:
                    n_prompt = len(encoded[m][0])
                    yield (
                        m,
                        Completion(
                            settled[0],
                            "end",
                            count + 1,
                            encoded[m][1],
                            settled[1],
                            n_prompt_tokens=n_prompt,
                        ),
                    )
                else:
                    still[m] = ((*ids, token), further)
            waiting = still

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """See ``Engine.rendered``."""
        return self.encoder.rendered(prompt, chooses)

    def _writing(self, rows: Sequence[Sequence[int]], used: int, room: int) -> Iterator[list[int]]:
        """Batches of prompts: of any lengths where padding was found right, else of one length; one
        at a time in plain mode.
        """
        order = sorted(range(len(rows)), key=lambda i: (-len(rows[i]), tuple(rows[i])))
        if self.mode == "plain":
            yield from ([m] for m in order)
            return
        longest = max((len(row) for row in rows), default=0) + room
        if self.can_pad and (self.longest_row is None or longest <= self.longest_row):
            groups = [order]
        else:
            by_length: dict[int, list[int]] = {}
            for m in order:
                by_length.setdefault(len(rows[m]), []).append(m)
            groups = list(by_length.values())
        for group in groups:
            reads = (lambda m: len(rows[m]) - used) if not self.can_read_tries else None
            yield from self.budget.writing(group, reads, lambda m: len(rows[m]) + room)

    def _cut_rows(self, rows: Sequence[PackedRow]) -> Iterator[list[PackedRow]]:
        return self.budget.batches(rows, lambda row: len(row.tokens))

    def _next_logits(
        self, prompts: Sequence[Sequence[int]], tokens: Sequence[int], skip: Collection[int]
    ) -> Iterator[tuple[int, list[float]]]:
        """Logits of some tokens behind each prompt."""
        if self._packs(prompts):
            prefix = self._prefix(prompts)
            used = prefix.length if prefix else 0
            ended: list[Sequenced] = [((*ids[used:], 0), len(ids) - used) for ids in prompts]
            yield from self._over_rows(
                ended,
                range(len(ended)),
                skip,
                lambda rows: self.passes.next_in_rows(rows, tokens, prefix),
            )
            return

        def work(members: Sequence[int]) -> list[tuple[int, list[float]]]:
            chosen = [prompts[m] for m in members]
            return list(
                zip(members, self.passes.next_padded(chosen, tokens, self._own_head()), strict=True)
            )

        yield from self._over_members(
            [(ids, 1) for ids in prompts], range(len(prompts)), skip, work
        )

    def _packs(self, sequences: Sequence[Sequence[int]]) -> bool:
        """Tries, unless a sequence is longer than a window beyond which the model does not look, or
        than a mask may be wide.
        """
        longest = max((len(ids) for ids in sequences), default=0)
        return self.mode == "tries" and longest <= min(
            self.longest_row or LONGEST_PACKED, LONGEST_PACKED
        )

    def _own_head(self) -> bool:
        return self.mode in ("logits", "plain")

    def _prefix(self, prompts: Sequence[Sequence[int]]) -> Prefix | None:
        """What all prompts begin with, read once, where the model's cache gives the plain pass's
        numbers.
        """
        length = shared_beginning(prompts) if len(prompts) > 1 and self.can_cache else 0
        return self.passes.prefix(prompts[0][:length]) if length >= WORTH_SHARING else None

    def _over_rows(
        self,
        sequences: Sequence[Sequenced],
        chosen: Sequence[int],
        skip: Collection[int],
        work: Callable[[Sequence[PackedRow]], list[tuple[int, Found]]],
    ) -> Iterator[tuple[int, Found]]:
        """Answers of packed rows; a row whose members are all known is not computed."""
        longest = max((len(sequences[i][0]) for i in chosen), default=1)
        rows = pack_sequences(
            [sequences[i] for i in chosen], row_width(longest, self.passes.hidden)
        )
        for row in rows:
            row.members = [chosen[m] for m in row.members]
        for batch in self.budget.batches(rows, lambda row: len(row.tokens)):
            if any(m not in skip for row in batch for m in row.members):
                yield from ((m, a) for m, a in self.budget.run(batch, work) if m not in skip)

    def _over_members(
        self,
        sequences: Sequence[Sequenced],
        chosen: Sequence[int],
        skip: Collection[int],
        work: Callable[[Sequence[int]], list[tuple[int, Found]]],
    ) -> Iterator[tuple[int, Found]]:
        """Answers of batches of whole sequences of similar length; one at a time in plain mode."""
        order = sorted(chosen, key=lambda i: (-len(sequences[i][0]), tuple(sequences[i][0])))
        for batch in self._batches(order, lambda i: len(sequences[i][0])):
            if any(m not in skip for m in batch):
                yield from ((m, a) for m, a in self.budget.run(batch, work) if m not in skip)

    def _batches(self, order: Sequence[int], size: Callable[[int], int]) -> Iterator[list[int]]:
        return (
            ([order[k]] for k in spread(len(order)))
            if self.mode == "plain"
            else self.budget.batches(order, size)
        )

    def _score_members(
        self, members: Sequence[int], sequences: Sequence[Sequenced]
    ) -> list[tuple[int, list[float]]]:
        if self.mode == "plain":
            return [(m, self.passes.plain(*sequences[m])) for m in members]
        return list(
            zip(
                members,
                self.passes.padded([sequences[m] for m in members], self._own_head()),
                strict=True,
            )
        )


def end_tokens(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Tokens that end a text, by the model's generation configuration, its tokenizer, and its chat
    template.
    """
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ends = set(configured if isinstance(configured, (list, tuple)) else [configured])
    return tuple(
        sorted(e for e in ends | {tokenizer.eos_token_id} | turn_ends(tokenizer) if e is not None)
    )


def open_engine(
    name: str,
    dtype: str = "float32",
    revision: str | None = None,
    device: str = "auto",
    bos: str = "auto",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    fastest: str = "tries",
    kind: str = CAUSAL,
    pseudo: str = WITHIN_WORD,
    encode: Encode | None = None,
    adapter: str | None = None,
    batch_size: int | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> Engine:
    """Load a checkpoint by folder or hub id.

    Args:
        name: the checkpoint.
        dtype: float32, bfloat16 or float16.
        revision: of a hub id.
        device: see ``loading.load_checkpoint``.
        bos: see ``Encoder``; for encoder-decoder models ``PairEncoder``; nothing else than auto for
            masked models.
        allow_pickle: accept weights that exist as pickles only.
        trust_remote_code: accept models that bring their own code.
        fastest: the fastest mode to try, "plain" or another one of causal models.
        kind: what it is loaded as.
        pseudo: masked models: what is hidden together.
        encode: makes what turns texts into tokens, where that is not our own way; it decides how a
            sequence starts, not ``bos``.
        adapter: of peft, see ``checkpoint.locate``.
        batch_size: most sequences in one pass; None: as many as fit into memory.
        chat_template_kwargs: variables of the chat template.

    Raises:
        UserError: it is not there, not whole, not safe, or not of that kind.
    """
    loading.check_dtype(dtype)
    checkpoint: Checkpoint = locate(name, revision, allow_pickle, trust_remote_code, kind, adapter)
    LOGGER.info("loading %s in %s", name, dtype)
    before = checkpoint.state()
    model, tokenizer = loading.load_checkpoint(checkpoint, dtype, device)
    tokenizer.chat_template_kwargs = dict(chat_template_kwargs or {})
    encoder = (
        encode(model, tokenizer, name)
        if encode
        else _encoder(model, tokenizer, kind, bos, pseudo, name)
    )
    digest = checkpoint.digest()
    ensure_unchanged(checkpoint, before)
    facts = EngineFacts(
        checkpoint=name,
        revision=checkpoint.revision,
        checkpoint_digest=digest,
        engine="transformers",
        dtype=dtype,
        bos=encoder.convention(),
        max_length=loading.longest_read(model),
        packages=versions(["torch", "transformers", "tokenizers"]),
        has_chat=has_template(tokenizer) and kind == CAUSAL,
        chat_template_kwargs=tokenizer.chat_template_kwargs,
        trust_remote_code=trust_remote_code,
        ends=end_tokens(model, tokenizer) if kind == CAUSAL else (),
        kind=kind,
        pseudo=pseudo if kind == MASKED else None,
        tokenizer=tokenizers.fingerprint(tokenizer),
        quantisation=loading.described_quantisation(checkpoint, loading.is_packed(model)),
        adapter=checkpoint.adapter_facts(),
        notes={
            "weights": checkpoint.weights().described(),
            "gguf": gguf.origin(checkpoint.folder),
            "precision": loading.precision_of(model, dtype),
            "device": str(model.get_input_embeddings().weight.device.type),
            "attention": getattr(model.config, "_attn_implementation", None),
            "tokenizer": tokenizer.origin,
            "processor": processor(),
            "instructions": instructions(),
            "devices": len(set((getattr(model, "hf_device_map", None) or {"": 0}).values())),
        },
    )
    plainly = {"fastest": "plain"} if fastest == "plain" else {}
    engine: TransformersEngine | MaskedEngine | EncoderDecoderEngine
    if isinstance(encoder, Encoder):
        engine = TransformersEngine(model, encoder, facts, fastest)
    elif isinstance(encoder, GapEncoder):
        engine = MaskedEngine(model, encoder, facts, **plainly)
    else:
        engine = EncoderDecoderEngine(model, encoder, facts, **plainly)
    engine.budget.sequences = batch_size or engine.budget.sequences
    return engine


def _encoder(
    model: Any, tokenizer: Any, kind: str, bos: str, pseudo: str, name: str
) -> Encoder | GapEncoder | PairEncoder:
    """The tokenizer of a kind of model: texts to the tokens that it reads."""
    config = model.config
    if kind == MASKED:
        return GapEncoder(tokenizer, loading.longest_read(model), pseudo, name)
    if kind == ENCODER_DECODER:
        start = getattr(config, "decoder_start_token_id", None)
        if start is None:
            problem = "does not say which token its decoder starts with."
            raise UserError(f"{name}/config.json", problem, "Set decoder_start_token_id in it.")
        return PairEncoder(tokenizer, start, loading.longest_read(model), bos, name)
    start = getattr(config.get_text_config(), "bos_token_id", None)
    return Encoder(tokenizer, config.model_type, start, loading.longest_read(model), bos, name)
