"""What every engine offers: scoring, free generation and constrained choice, and the facts that a result must carry.

The scoring stage knows these types only. An engine yields answers in the order that suits it, with the number of the query, so
that its caller can put each on disk as it comes; ``skip`` names the queries that an earlier run answered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

#: Flags of a score, in the order in which they are written.
STRADDLE = "straddle"
FIRST_UNSCORED = "first_unscored"
TRUNCATED = "truncated"
UNKNOWN_TOKEN = "unknown_token"
NOT_FINITE = "not_finite"
FLAGS = (STRADDLE, FIRST_UNSCORED, TRUNCATED, UNKNOWN_TOKEN, NOT_FINITE)


@dataclass(frozen=True, slots=True)
class Query:
    """The question log P(target | context); without a context, log P(target) after the start token.

    The engine joins both by one space, which belongs to the target.
    """

    context: str | None
    target: str


@dataclass(frozen=True, slots=True)
class Scored:
    """Answer to a query.

    Attributes:
        logprob: sum over the target's tokens, nats; None where it is not finite.
        n_tokens: target tokens that were scored.
        flags: what a reader must know of it, from ``FLAGS``.
        token_logprobs: the summands, where they were asked for.
        tokens: the tokenizer's names of those tokens.
    """

    logprob: float | None
    n_tokens: int
    flags: tuple[str, ...] = ()
    token_logprobs: tuple[float, ...] | None = None
    tokens: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote after a prompt.

    Attributes:
        text: the new text, without the prompt.
        is_truncated: the prompt did not fit into the model's context and lost its beginning.
        margin: constrained answers: log probability of the chosen option minus that of the second best, nats.
    """

    text: str
    is_truncated: bool = False
    margin: float | None = None


@dataclass(frozen=True)
class EngineFacts:
    """What was loaded and how: it goes into the provenance, and a change of any of it never mixes with old work.

    Attributes:
        checkpoint: hub id or folder, as it was named.
        revision: the commit that was loaded; None for a plain folder.
        checkpoint_digest: SHA-256 over the weights, the configuration and the tokenizer's files.
        engine: transformers, vllm or openai.
        dtype: float32, bfloat16 or float16.
        bos: how a sequence starts: the tokens before the text, and before a bare target.
        max_length: the longest sequence, in tokens.
        packages: name -> version of what can move the numbers.
        has_chat: the model has a chat template, or its server takes conversations.
        notes: how the engine works, e.g. fast path and device; does not tell results apart.
    """

    checkpoint: str
    revision: str | None
    checkpoint_digest: str
    engine: str
    dtype: str
    bos: dict[str, Any]
    max_length: int
    packages: dict[str, str]
    has_chat: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """The facts that make scores comparable; shards are named after them."""
        return {
            "checkpoint_digest": self.checkpoint_digest,
            "engine": self.engine,
            "dtype": self.dtype,
            "bos": self.bos,
            "max_length": self.max_length,
            "packages": self.packages,
        }


class Engine(Protocol):
    """A loaded model."""

    facts: EngineFacts

    def score(
        self, queries: Sequence[Query], *, skip: Collection[int] = (), per_token: bool = False
    ) -> Iterator[tuple[int, Scored]]:
        """Score each query, equal in every batch and order up to float noise; yields (index, answer)."""

    def generate(
        self, prompts: Sequence[str], *, max_new_tokens: int, stop: str, skip: Collection[int] = (), chat: bool = False
    ) -> Iterator[tuple[int, Written]]:
        """Continue each prompt greedily until ``stop`` appears; yields (index, text without ``stop`` and what follows)."""

    def choose(
        self, prompts: Sequence[str], options: Sequence[str], *, skip: Collection[int] = (), chat: bool = False
    ) -> Iterator[tuple[int, Written]]:
        """Greedy continuation of each prompt within ``options``; yields (index, the chosen option)."""
