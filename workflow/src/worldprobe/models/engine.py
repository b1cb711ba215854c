"""What every engine offers: scoring, writing and choosing, and the facts that every answer must
carry.

Questions are asked through these types only. An engine yields answers in the order that suits it,
with the number of the question, so that its caller can put each on disk as it comes; ``skip`` names
the questions that are answered already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, get_args

from worldprobe.models.registry import CAUSAL, refuse_prompting

#: Flags of a score, in the order in which they are written.
STRADDLE = "straddle"
FIRST_UNSCORED = "first_unscored"
TRUNCATED = "truncated"
UNKNOWN_TOKEN = "unknown_token"
#: The text spells a token such as ``</s>``, which the model reads as that token and not as text.
SPECIAL_TOKEN = "special_token"
NOT_FINITE = "not_finite"
POSITIVE = "positive"
NOTHING_SCORED = "nothing_scored"
FLAGS = (
    STRADDLE,
    FIRST_UNSCORED,
    TRUNCATED,
    UNKNOWN_TOKEN,
    SPECIAL_TOKEN,
    NOT_FINITE,
    POSITIVE,
    NOTHING_SCORED,
)

Role = Literal["system", "user", "assistant"]
#: Why writing ended: an end token, a stop text, the limit of new tokens; or the model computed NaN
#: or infinity, a server's filter withheld the reply, or its model refused.
Finish = Literal["end", "stop", "length", "not_finite", "content_filter", "refusal"]
FINISHES: tuple[Finish, ...] = get_args(Finish)


@dataclass(frozen=True, slots=True)
class Loglikelihood:
    """The question log P(target | context); without a context, log P(target) after the start token.

    Attributes:
        context: None: the target is a text of its own, scored as it stands. Empty: it is scored
            after the start token with the tokens that it has behind a context.
        target: what is scored.
        join: stands between both and belongs to the target.
    """

    context: str | None
    target: str
    join: str = " "

    @property
    def text(self) -> str:
        """All that is read."""
        return self.target if self.context is None else f"{self.context}{self.join}{self.target}"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


#: Plain text that the model continues, as in the papers, or a conversation that goes through its
#: chat template.
Prompt = str | tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Decoding:
    """How an answer is written.

    Attributes:
        max_new_tokens: tokens at most.
        stops: texts that end the reply; neither they nor what follows is kept. In thoughts they end
            nothing.
        temperature: 0 takes the likeliest token; above it tokens are drawn.
        seed: of the draws; the same prompt and seed give the same answer, whatever else is asked.
        thoughts: tokens of thoughts at most, in addition; 0: thoughts take from the answer's
            tokens.
    """

    max_new_tokens: int
    stops: tuple[str, ...] = ()
    temperature: float = 0.0
    seed: int = 0
    thoughts: int = 0

    @property
    def most_tokens(self) -> int:
        """New tokens at most, thoughts and answer together."""
        return self.max_new_tokens + self.thoughts

    @property
    def ends_early(self) -> list[str]:
        """Stops that whoever writes without knowing thoughts may end at; none where thoughts are
        awaited.
        """
        return [] if self.thoughts else list(self.stops)

    def described(self) -> dict[str, Any]:
        """All that can change an answer, as plain values; what was added later only where it is
        used, so that ids stay.
        """
        return {key: value for key, value in asdict(self).items() if key != "thoughts" or value}


@dataclass(frozen=True, slots=True)
class Scored:
    """Answer to a query.

    Attributes:
        logprob: sum over the target's tokens, nats; None where it is not a log probability (see
            flags).
        n_tokens: target tokens that were scored.
        flags: what a reader must know of it, from ``FLAGS``.
        token_logprobs: the summands, where they were asked for.
        tokens: the tokenizer's names of those tokens.
        n_read_tokens: of the whole sequence, context and target; 0 where not known.
    """

    logprob: float | None
    n_tokens: int
    flags: tuple[str, ...] = ()
    token_logprobs: tuple[float, ...] | None = None
    tokens: tuple[str, ...] | None = None
    n_read_tokens: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's continuation of a prompt.

    Attributes:
        text: the new text, without the prompt and without thoughts.
        finish: why it ended.
        n_tokens: new tokens, without thoughts and an end token.
        prompt_was_cut: the prompt did not fit into the model's context and lost its beginning.
        margin: choices: log probability of the chosen option minus that of the second best, nats;
            None where not known.
        thoughts: what the model thought before it answered.
        n_thought_tokens: their number of tokens.
        n_prompt_tokens: tokens that were read; 0 where not known.
        n_dropped: special tokens within the text, which it does not show.
        n_waiting: prompts read together with this one that are not answered yet.
    """

    text: str
    finish: Finish = "end"
    n_tokens: int = 0
    prompt_was_cut: bool = False
    margin: float | None = None
    thoughts: str = ""
    n_thought_tokens: int = 0
    n_prompt_tokens: int = field(default=0, compare=False)
    n_dropped: int = field(default=0, compare=False)
    n_waiting: int = field(default=0, compare=False)


#: Notes of a process that answers do not carry: how much it computes at once, and where.
NOT_RECORDED = ("activation_bytes", "devices", "step_tokens")


@dataclass(frozen=True)
class EngineFacts:
    """A loaded model and how it was loaded. All of it goes into the provenance, and a change of any
    of it never mixes with old answers.

    Attributes:
        checkpoint: hub id or folder, as it was named.
        revision: the commit that was loaded; None for a plain folder.
        checkpoint_digest: SHA-256 over the weights, the configuration and the tokenizer's files;
            for a server, of ``set_up``.
        engine: transformers, vllm or openai.
        dtype: float32, bfloat16 or float16.
        bos: how a sequence starts: the tokens before the text, and before a bare target.
        max_length: the longest sequence, in tokens.
        packages: name -> version of what can move the numbers; recorded with every answer, and no
            part of the identity.
        has_chat: the model has a chat template, or its server takes conversations.
        chat_template_kwargs: variables of the chat template that the model's card states.
        trust_remote_code: the model's own Python code may have run.
        ends: token ids that end a text; of a server, those that are asked for besides its own.
        kind: causal, masked or encoder-decoder (``engines.KINDS``).
        pseudo: masked models: what is hidden together while a token is predicted, see
            ``registry.PSEUDO``.
        tokenizer: a digest of what the tokenizer makes of fixed sentences
            (``tokenizers.fingerprint``); None where only the server has one.
        quantisation: how the weights are quantised, in words; None: they are not, or only the
            server knows.
        adapter: of a checkpoint with an adapter of peft: its name, revision and digest, and its
            base's name and digest; ``checkpoint_digest`` is of both.
        set_up: of a served model, what its server says of it, see ``server.capabilities``.
        notes: how this process works. ``mode``, ``device`` and ``attention`` are part of the
            identity; the others are recorded.
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
    trust_remote_code: bool = False
    ends: tuple[int, ...] = ()
    kind: str = CAUSAL
    pseudo: str | None = None
    tokenizer: str | None = None
    quantisation: str | None = None
    adapter: dict[str, Any] | None = None
    set_up: dict[str, Any] = field(default_factory=dict)
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """Everything about the engine that can move an answer: answers are kept under its
        digest.
        """
        details: dict[str, Any] = (
            {} if self.kind == CAUSAL else {"kind": self.kind, "pseudo": self.pseudo}
        )
        details |= {"set_up": self.set_up} if self.set_up else {}
        details |= {"quantisation": self.quantisation} if self.quantisation else {}
        if self.chat_template_kwargs:
            details |= {"chat_template_kwargs": self.chat_template_kwargs}
        return details | {
            "checkpoint_digest": self.checkpoint_digest,
            "engine": self.engine,
            "dtype": self.dtype,
            "bos": self.bos,
            "max_length": self.max_length,
            "trust_remote_code": self.trust_remote_code,
            "ends": list(self.ends),
            "mode": self.notes.get("mode"),
            "device": self.notes.get("device"),
            "attention": self.notes.get("attention"),
            "tokenizer": self.tokenizer,
        }

    def process(self) -> dict[str, Any]:
        """What the process that computes an answer records with it; nothing here depends on load or
        time.
        """
        return {
            "dtype": self.dtype,
            "packages": self.packages,
            **{
                key: value
                for key, value in self.notes.items()
                if value is not None and key not in NOT_RECORDED
            },
        }

    @property
    def devices(self) -> int:
        """Devices that the model takes: GPUs, or 1 for the CPU."""
        return int(self.notes.get("devices") or self.notes.get("tensor_parallel") or 1)


class Engine(Protocol):
    """A loaded model."""

    facts: EngineFacts

    def score(
        self,
        queries: Sequence[Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, Scored]]:
        """Score each query, equal in every batch and order up to float noise; yields (index,
        answer).
        """

    def generate(
        self, prompts: Sequence[Prompt], decoding: Decoding, *, skip: Collection[int] = ()
    ) -> Iterator[tuple[int, Completion]]:
        """Continue each prompt; yields (index, answer)."""

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        *,
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Completion]]:
        """Greedy continuation of each prompt within its own options; yields (index, the chosen
        option).
        """

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """The prompt as it is sent: text as it is, a conversation through the chat template; where
        options are to be chosen from, with its thoughts closed.
        """


class ScoringEngine:
    """Base of engines whose models are only scored: they do not continue a text."""

    facts: EngineFacts

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise refuse_prompting(self.facts.checkpoint, self.facts.kind)

    generate = choose = _refuse

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """See ``Engine.rendered``."""
        return (
            prompt
            if isinstance(prompt, str)
            else "\n\n".join(message.content for message in prompt)
        )
