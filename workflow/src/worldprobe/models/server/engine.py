"""The endpoint engine: a model behind an OpenAI-compatible server, such as a running vLLM.

With the model's tokenizer, prompts travel as token ids, and start tokens and borders are ours, as
in the other engines. Without it they travel as text: the server puts its own start token, and the
target's tokens are found by the character offsets of its echo. LogProbs need a server that echoes
the prompt's log probabilities (vLLM does; most hosted models do not). Constrained answers need its
structured outputs or grammar, or, with a tokenizer, a bias on the options' tokens. The server
decides dtype and arithmetic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.answers import OPTION_ROOM, Options, Transcript, add_up, read_choice, scored
from worldprobe.models.chat import Encoded, Encoder, turn_ends
from worldprobe.models.engine import (
    FIRST_UNSCORED,
    STRADDLE,
    Completion,
    Decoding,
    EngineFacts,
    Loglikelihood,
    Prompt,
    Scored,
)
from worldprobe.models.reasoning import UNSEEN, part_thoughts
from worldprobe.models.server import capabilities
from worldprobe.models.server.endpoint import (
    CHAT_PATH,
    PLAIN,
    Client,
    Endpoint,
    MalformedAnswerError,
    Question,
)
from worldprobe.models.tokenizers import fingerprint
from worldprobe.provenance import versions

#: vLLM's floor, which means minus infinity in JSON.
FLOOR = -9999.0
#: How a server without log probabilities of prompts is called among an engine's notes.
NO_LOGPROBS = "no log probabilities"
#: Raises an option's token above all others where a server knows no structured outputs.
BIAS = 100
#: Log probabilities of likeliest tokens to ask a vLLM server for with a choice: as many as it
#: allows.
TOP = 20
#: Makes a vLLM server report the ids of the tokens that it wrote; its texts can lose tokens of a
#: single byte.
IDS = {"return_token_ids": True}


class OpenaiEngine:
    """A model behind an OpenAI-compatible server, with the engine interface.

    Args:
        endpoint: the server.
        model: the model's name there.
        encoder: the model's tokenizer, or None to send text.
        facts: what is known of the model.
        starts: start tokens that the server puts before a text; None where it does not echo.
        adds_space: the server's tokenizer puts a space of its own before a text.
        constraint: option list -> fields of a request that constrain the answer to it; None where
            the server cannot.
        is_vllm: it says that it is vLLM.
        keeps_special: its replies are to contain special tokens, of which some mark thoughts.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        encoder: Encoder | None,
        facts: EngineFacts,
        starts: int | None,
        adds_space: bool,
        constraint: str | None,
        is_vllm: bool,
        keeps_special: bool,
    ) -> None:
        self.endpoint, self.model, self.encoder, self.facts = endpoint, model, encoder, facts
        self.keeps_special = keeps_special
        self.starts, self.adds_space, self.constraint, self.is_vllm = (
            starts,
            adds_space,
            constraint,
            is_vllm,
        )

    def score(
        self,
        queries: Sequence[Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``.

        Raises:
            UserError: the server does not echo log probabilities, or its tokens cannot be found in
                the text for certain.
        """
        if self.starts is None:
            raise UserError(
                self.endpoint.url,
                f"does not return the log probabilities of a prompt for {self.model}, so LogProbs"
                " cannot be had there.",
                "Ask it for Likert and Choice only, or score the weights themselves (engine:"
                " transformers or vllm).",
            )
        wanted = [i for i in range(len(queries)) if i not in skip]
        if self.encoder is None:
            yield from self.endpoint.ask(
                (i, self._score_text(queries[i], per_token)) for i in wanted
            )
            return
        encoded = dict(zip(wanted, self.encoder.encode([queries[i] for i in wanted]), strict=True))
        empty = [i for i, sequence in encoded.items() if sequence.start >= len(sequence.ids)]
        for i in empty:
            yield i, scored(self.encoder.tokenizer, encoded[i], [], per_token)
        yield from self.endpoint.ask(
            (i, self._score_ids(encoded[i], per_token)) for i in wanted if i not in set(empty)
        )

    def _score_ids(self, encoded: Encoded, per_token: bool) -> Question[Scored]:
        assert self.encoder is not None
        tokenizer = self.encoder.tokenizer

        async def question(server: Client) -> Scored:
            logprobs = capabilities.read_echo(
                await server.post(
                    "/completions", capabilities.echo_body(self.model, list(encoded.ids))
                )
            )
            values = logprobs["token_logprobs"]
            if len(values) != len(encoded.ids):
                raise MalformedAnswerError("another number of tokens than was sent")
            return scored(tokenizer, encoded, _finite(values[encoded.start :]), per_token)

        return question

    def _score_text(self, query: Loglikelihood, per_token: bool) -> Question[Scored]:
        border = len(query.context or "")
        text = query.target if query.context == "" and self.adds_space else query.text

        async def question(server: Client) -> Scored:
            logprobs = capabilities.read_echo(
                await server.post("/completions", capabilities.echo_body(self.model, text))
            )
            located = capabilities.spans(text, logprobs["tokens"], logprobs["text_offset"])
            if located is None:
                raise UserError(
                    self.endpoint.url,
                    "echoes tokens whose places in the text are not certain, so the target's tokens"
                    " cannot be found.",
                    "Name the model's tokenizer (--tokenizer FOLDER): token ids are sent then.",
                )
            starts, spans = located
            first = next((k for k, (_, end) in enumerate(spans) if end > border), len(spans))
            flags = (STRADDLE,) if first < len(spans) and spans[first][0] < border else ()
            if starts + first == 0:  # nothing comes before it, so nothing predicts it
                first, flags = 1, (*flags, FIRST_UNSCORED)
            values = _finite(logprobs["token_logprobs"][starts + first :]) if query.target else []
            names = (
                tuple(logprobs["tokens"][starts + first :])[: len(values)] if per_token else None
            )
            return add_up(values, flags, names, len(logprobs["tokens"]))

        return question

    def generate(
        self, prompts: Sequence[Prompt], decoding: Decoding, *, skip: Collection[int] = ()
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.generate``; a conversation goes through the server's own chat template."""
        how: dict[str, Any] = {
            "max_tokens": decoding.most_tokens,
            "stop": decoding.ends_early or None,
        }
        if decoding.temperature not in (0, 1) and not self.endpoint.dialect.takes_temperature:
            problem = f"takes no temperature for {self.model}: it draws replies as at 1."
            raise UserError(self.endpoint.url, problem, "Leave --temperature out, or set it to 1.")
        if decoding.temperature > 0:
            how |= {"temperature": decoding.temperature, "seed": decoding.seed}

        unseen = UNSEEN if self._talks(prompts, skip) and self._thoughts == "unseen" else ""

        def question(
            index: int, path: str, prompt: Mapping[str, Any], was_cut: bool
        ) -> Question[Completion]:
            opening = unseen if path == CHAT_PATH else str(prompts[index])
            extras: dict[str, Any] = {}
            if self.is_vllm:  # says whether the model computes numbers at all
                extras = {
                    "logprobs": True if path == CHAT_PATH else 1,
                    "skip_special_tokens": not self.keeps_special,
                }
                extras |= IDS if self.encoder is not None else {}
                extras |= {"stop_token_ids": list(self.facts.ends)} if self.facts.ends else {}

            async def ask(server: Client) -> Completion:
                answer = await server.post(path, self._body(prompt, how | extras))
                capabilities.check_length(self.endpoint, prompt, answer)
                if self.is_vllm and not capabilities.is_sound(answer):
                    return Completion("", "not_finite", 0, was_cut)
                before, new = (
                    prompt.get("prompt", answer.get("prompt_token_ids")),
                    answer["choices"][0].get("token_ids"),
                )
                if (
                    self.encoder is not None
                    and new is not None
                    and before is not None
                    and not capabilities.thoughts_apart(answer)
                ):
                    transcript = Transcript(self.encoder.tokenizer, before, ())
                    transcript.tokens = new
                    finish = capabilities.read_finish(answer, decoding.ends_early)
                    is_ended = finish == "end" and not set(new[-1:]).isdisjoint(
                        self.encoder.tokenizer.all_special_ids
                    )
                    n_new = len(new) - is_ended
                    text, n_dropped = transcript.whole(), transcript.n_dropped() - is_ended
                    whole = Completion(
                        text,
                        finish,
                        n_new,
                        was_cut,
                        n_prompt_tokens=len(before),
                        n_dropped=n_dropped,
                    )
                    return part_thoughts(whole, opening, decoding, self.encoder.count)
                count = self.encoder.count if self.encoder is not None else None
                return capabilities.read_completion(answer, decoding, was_cut, count, opening)

            return ask

        yield from self.endpoint.ask(self._questions(prompts, decoding.most_tokens, skip, question))

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        *,
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.choose``; the margin is known where the server reports log probabilities of
        distinguishable tokens.

        Raises:
            UserError: the server knows no way to constrain an answer, or leaves out what is asked
                in a conversation; or the model thinks before it answers one.
        """
        if self._talks(prompts, skip) and self._thoughts:
            raise UserError(
                self.endpoint.url,
                f"lets {self.model} think before it answers, so a constrained answer would be the"
                " first word of its thoughts.",
                "Turn them off (chat_template_kwargs of the model's card, e.g. {enable_thinking:"
                " false}), or ask for free answers.",
            )
        sets = {
            choice: Options(self.encoder.tokenizer, choice) if self.encoder is not None else None
            for choice in dict.fromkeys(map(tuple, options))
        }
        fields = {choice: self._constrained(choice, allowed) for choice, allowed in sets.items()}

        def question(
            index: int, path: str, prompt: Mapping[str, Any], was_cut: bool
        ) -> Question[Completion]:
            choice = tuple(options[index])
            allowed, how, is_chat, reads_ids = (
                sets[choice],
                fields[choice],
                path == CHAT_PATH,
                self._reads_ids(prompts[index]),
            )
            if is_chat:
                how = how | ({"logprobs": True, "top_logprobs": TOP} if self.is_vllm else {})
            elif reads_ids:
                how = how | {**IDS, "return_tokens_as_token_ids": True, "logprobs": TOP}

            async def ask(server: Client) -> Completion:
                answer = await server.post(path, self._body(prompt, how))
                capabilities.check_length(self.endpoint, prompt, answer)
                if self.is_vllm and not capabilities.is_sound(answer):
                    return Completion("", "not_finite", 0, was_cut)
                if (finish := capabilities.read_finish(answer)) in ("content_filter", "refusal"):
                    return Completion(capabilities.written_text(answer), finish, 0, was_cut)
                option: str | None = capabilities.written_text(answer).strip()
                margin = _chat_margin(answer, choice) if is_chat else None
                if reads_ids and allowed is not None:
                    option, margin = read_choice(
                        answer["choices"][0]["token_ids"], _by_id(answer), allowed
                    )
                if option is None or option not in choice:
                    raise MalformedAnswerError("a constrained answer that is none of the options")
                n_prompt = capabilities.count_tokens(answer, "prompt_tokens")
                return Completion(
                    option,
                    "end",
                    capabilities.count_tokens(answer),
                    was_cut,
                    margin,
                    n_prompt_tokens=n_prompt,
                )

            return ask

        yield from self.endpoint.ask(self._questions(prompts, OPTION_ROOM, skip, question))

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """See ``Engine.rendered``; the server applies its own chat template, so a conversation is
        given as its messages.
        """
        return prompt if isinstance(prompt, str) else json.dumps(capabilities.messages(prompt))

    def _talks(self, prompts: Sequence[Prompt], skip: Collection[int]) -> bool:
        """Are there conversations to hold?

        Raises:
            UserError: there are, but the server leaves out what a message says: every question
                would be the same prompt.
        """
        talks = any(
            not isinstance(prompt, str) for i, prompt in enumerate(prompts) if i not in skip
        )
        if talks and self._drops_messages:
            raise UserError(
                self.endpoint.url,
                f"does not write the text of a message into the prompt of {self.model}, so the"
                " model would not be asked.",
                "Start it with a chat template that does, or ask without one (chat_template:"
                " never).",
            )
        return talks

    @cached_property
    def _drops_messages(self) -> bool:
        n_tokens = self.facts.set_up.get("chat", {}).get("prompt_tokens")
        return capabilities.drops_messages(self.endpoint, self.model, n_tokens)

    @cached_property
    def _thoughts(self) -> capabilities.Thoughts:
        """Whether the model thinks before it answers in a conversation."""
        return capabilities.probe_thoughts(
            self.endpoint, self.model, {"skip_special_tokens": False} if self.keeps_special else {}
        )

    def _reads_ids(self, prompt: Prompt) -> bool:
        """Does the server report the ids of the tokens that it wrote, behind a prompt whose ids we
        know?
        """
        return self.is_vllm and self.encoder is not None and isinstance(prompt, str)

    def _questions(
        self,
        prompts: Sequence[Prompt],
        room: int,
        skip: Collection[int],
        question: Callable[[int, str, Mapping[str, Any], bool], Question[Completion]],
    ) -> Iterator[tuple[int, Question[Completion]]]:
        """One question per prompt: messages to chat with, token ids, or text."""
        wanted = [i for i in range(len(prompts)) if i not in skip]
        texts = (
            [i for i in wanted if isinstance(prompts[i], str)] if self.encoder is not None else []
        )
        encoded = {}
        if self.encoder is not None:
            encoded = dict(
                zip(
                    texts,
                    self.encoder.encode_prompts([prompts[i] for i in texts], room),
                    strict=True,
                )
            )
        for i in wanted:
            prompt = prompts[i]
            if not isinstance(prompt, str):
                yield i, question(i, CHAT_PATH, {"messages": capabilities.messages(prompt)}, False)
            elif i in encoded:
                yield i, question(i, "/completions", {"prompt": list(encoded[i][0])}, encoded[i][1])
            else:
                yield i, question(i, "/completions", {"prompt": prompt}, False)

    def _body(self, prompt: Mapping[str, Any], how: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "model": self.model,
            "temperature": 0,
            **prompt,
            **{key: value for key, value in how.items() if value is not None},
        }

    def _constrained(self, options: Sequence[str], allowed: Options | None) -> dict[str, Any]:
        """Fields of a request that leave the model no other answer than these."""
        firsts = allowed.allowed("") if allowed is not None else {}
        is_one_token = bool(firsts) and all(
            text in options for text in firsts.values()
        )  # whole, as servers answer in text
        if self.constraint is not None:
            return {
                "max_tokens": 1 if is_one_token else OPTION_ROOM,
                **capabilities.constrain(self.constraint, options),
            }
        if is_one_token:
            return {"max_tokens": 1, "logit_bias": {str(token): BIAS for token in firsts}}
        raise UserError(
            self.endpoint.url,
            "offers no structured outputs and no grammar, so a constrained answer cannot be had"
            + (" of options that take more than one token." if allowed else "."),
            "Ask for free answers, or, for single-token options, name the model's tokenizer"
            " (--tokenizer FOLDER) to bias them.",
        )


def _finite(values: Sequence[float | None]) -> list[float]:
    """A token without a value, or at the server's floor, is not finite."""
    return [
        float("nan") if v is None else float("-inf") if v <= FLOOR else float(v) for v in values
    ]


def _by_id(answer: Any) -> list[dict[int, float]]:
    """For each token written, token id -> log probability of the likeliest; a vLLM server was asked
    to name tokens by ids.
    """
    logprobs = answer["choices"][0]["logprobs"]
    return [
        {int(name.split(":", 1)[1]): float(value) for name, value in step.items()}
        for step in logprobs["top_logprobs"]
    ]


def _chat_margin(answer: Any, options: Sequence[str]) -> float | None:
    """How far the second best option is behind, in nats, where the likeliest first tokens name at
    least two options whole.
    """
    content = (answer["choices"][0].get("logprobs") or {}).get("content")
    best: dict[str, float] = {}
    for entry in content[0].get("top_logprobs") or () if content else ():
        if entry["token"] in options and (value := float(entry["logprob"])) > FLOOR:
            best[entry["token"]] = max(best.get(entry["token"], FLOOR), value)
    ranked = sorted(best.values(), reverse=True)
    return ranked[0] - ranked[1] if len(ranked) > 1 else None


def open_engine(
    url: str,
    model: str,
    tokenizer: str | None = None,
    bos: str = "auto",
    concurrency: int | None = None,
    trust_remote_code: bool = False,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    **patience: Any,
) -> OpenaiEngine:
    """Find out what a server offers for a model.

    Args:
        url: base URL, up to and with /v1.
        model: the model's name there.
        tokenizer: the model's tokenizer, a folder or a fetched hub id; prompts then travel as token
            ids.
        bos: auto, always or never, with a tokenizer; see ``Encoder``.
        concurrency: requests in flight.
        trust_remote_code: the tokenizer's own code may run.
        chat_template_kwargs: variables of the server's chat template.
        **patience: attempts, timeout and spending; see ``Endpoint``.

    Raises:
        UserError: the server is not there, refuses the key, or serves no such model; it takes no
            variables of its chat template; or the tokenizer is not the model's.
    """
    if concurrency:
        patience["concurrency"] = concurrency
    endpoint = Endpoint(url, chat_template_kwargs=chat_template_kwargs, **patience)
    card = capabilities.find_model(endpoint, model)
    is_vllm = card.get("owned_by") == "vllm"
    longest = capabilities.served_length(endpoint, card)
    encoder = (
        capabilities.load_encoder(tokenizer, bos, trust_remote_code, longest - 1)
        if tokenizer
        else None
    )
    plain, chat = capabilities.probe_text(endpoint, model), capabilities.probe_chat(endpoint, model)
    if plain is None and chat is None:
        chat = capabilities.probe_dialects(endpoint, model)
    if chat is None and chat_template_kwargs:
        problem = f"takes no conversation with chat_template_kwargs for {model}."
        raise UserError(
            endpoint.url, problem, "Remove them, or set them where the server is started."
        )
    if plain is None and chat is None:
        raise UserError(
            endpoint.url,
            f"offers neither completions nor chat for {model}, or takes no request without further"
            " fields.",
            "Check --endpoint (up to and with /v1) and --checkpoint; the server's log may say what"
            " it refuses.",
        )
    if not endpoint.dialect.takes_temperature:
        LOGGER.warning(
            "%s at %s takes no temperature: the server draws its replies, which differ each time",
            model,
            endpoint.url,
        )
    echoed = capabilities.probe_echo(endpoint, model) if plain else None
    keeps_special = is_vllm and (echoed is None or capabilities.has_marks(endpoint, model))
    if encoder is not None and echoed is not None:
        capabilities.check_tokenizer(endpoint, model, encoder, tokenizer or "")
    constraint = capabilities.probe_constraint(endpoint, model, chat=plain is None)
    starts, names, adds_space = echoed or (None, [], False)
    convention: dict[str, Any]
    if encoder is not None:
        convention = encoder.convention()
    elif echoed is not None:
        convention = {
            "before_text": names,
            "before_bare_target": names,
            "bare_target_space": "the tokenizer's own" if adds_space else "one",
        }
    else:
        convention = {"before_text": "the server's own"}
    request = None
    if endpoint.dialect != PLAIN:
        request = endpoint.dialect.length + (
            "" if endpoint.dialect.takes_temperature else ", no temperature"
        )
    # Not the address: the same weights behind another port are the same model, other weights behind
    # the same one are not.
    set_up = capabilities.find_set_up(model, card, plain, chat)
    facts = EngineFacts(
        checkpoint=model,
        revision=None,
        checkpoint_digest=hashlib.sha256(json.dumps(set_up).encode()).hexdigest(),
        engine="openai",
        dtype="the server's",
        bos=convention,
        max_length=longest - 1,
        packages=versions(["openai", *(["transformers", "tokenizers"] if encoder else [])]),
        has_chat=chat is not None,
        ends=(
            tuple(turn_ends(encoder.tokenizer) - {encoder.tokenizer.eos_token_id})
            if encoder and is_vllm
            else ()
        ),
        trust_remote_code=trust_remote_code,
        tokenizer=fingerprint(encoder.tokenizer) if encoder else None,
        set_up=set_up,
        chat_template_kwargs=endpoint.chat_template_kwargs,
        notes={
            "device": "the server's",
            "tokenizer": encoder.tokenizer.origin if encoder else "the server's",
            "mode": ("echo of " + ("token ids" if encoder else "text") if echoed else NO_LOGPROBS),
            "request": request,
            "constraint": constraint or ("logit_bias" if encoder else "none"),
            "answered_by": (
                endpoint.spending.models
            ),  # grows where later answers come from another one
            "server": (plain or {}).get("system_fingerprint") or card.get("owned_by"),
        },
    )
    LOGGER.info(
        "%s at %s: %s; constrained answers by %s",
        model,
        endpoint.url,
        facts.notes["mode"],
        facts.notes["constraint"],
    )
    return OpenaiEngine(
        endpoint, model, encoder, facts, starts, adds_space, constraint, is_vllm, keeps_special
    )
