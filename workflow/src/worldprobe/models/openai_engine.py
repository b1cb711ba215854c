"""The endpoint engine: a model behind an OpenAI-compatible server, such as a running vLLM.

With the model's tokenizer at hand, prompts travel as token ids, and start tokens and borders are ours, as in the other engines.
Without it they travel as text: the server puts its own start token, and the target's tokens are found by the character offsets of
its echo. LogProbs need a server that echoes the prompt's log probabilities (vLLM does; most hosted models do not). Constrained
answers need its structured outputs, or, with a tokenizer, a bias on the options' tokens. The server decides dtype and arithmetic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models import echoes
from worldprobe.models.answers import add_up, scored
from worldprobe.models.constrain import Options
from worldprobe.models.encoding import Encoded, Encoder
from worldprobe.models.endpoint import Endpoint, MalformedAnswer, Question, unknown_model
from worldprobe.models.engine import FIRST_UNSCORED, STRADDLE, EngineFacts, Query, Scored, Written
from worldprobe.provenance import versions

#: Tokens that stay free behind a prompt whose answer is one of a few options, as in the other engines.
OPTION_ROOM = 16
#: vLLM's floor, which stands for minus infinity in JSON.
FLOOR = -9999.0
#: An answer that no model gives by itself, of the numerals that are asked for: whoever returns it obeys the constraint.
SHIBBOLETH = "24531"
#: A text of many kinds of tokens, to compare tokenizers.
PROBE = "Nine cats sat on 31 mats; the 2nd dog didn't."
#: Raises an option's token above all others where a server knows no structured outputs.
BIAS = 100
#: Log probabilities of likeliest tokens to ask for with a choice: what vLLM allows, and what others do.
TOP = {"vllm": 20, "": 5}


class OpenaiEngine:
    """A model behind an OpenAI-compatible server, with the engine interface.

    Args:
        endpoint: the server.
        model: the model's name there.
        encoder: the model's tokenizer, or None to send text.
        facts: what is known of the model.
        starts: start tokens that the server puts before a text; None where it does not echo.
        adds_space: the server's tokenizer puts a space of its own before a text.
        constraint: option list -> fields of a request that constrain the answer to it; None where the server cannot.
        is_vllm: it says that it is vLLM.
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
    ) -> None:
        self.endpoint, self.model, self.encoder, self.facts = endpoint, model, encoder, facts
        self.starts, self.adds_space, self.constraint, self.is_vllm = starts, adds_space, constraint, is_vllm

    def score(
        self, queries: Sequence[Query], *, skip: Collection[int] = (), per_token: bool = False
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``.

        Raises:
            UserError: the server does not echo log probabilities, or its tokens cannot be found in the text for certain.
        """
        if self.starts is None:
            raise UserError(
                self.endpoint.url,
                f"does not return the log probabilities of a prompt for {self.model}, so LogProbs cannot be had there.",
                "Ask it for Likert and Choice only, or score the weights themselves (engine: transformers or vllm).",
            )
        wanted = [i for i in range(len(queries)) if i not in skip]
        if self.encoder is None:
            yield from self.endpoint.ask((i, self._score_text(queries[i], per_token)) for i in wanted)
            return
        encoded = dict(zip(wanted, self.encoder.encode([queries[i] for i in wanted]), strict=True))
        empty = [i for i, one in encoded.items() if one.start >= len(one.ids)]
        for i in empty:
            yield i, scored(self.encoder.tokenizer, encoded[i], [], per_token)
        yield from self.endpoint.ask((i, self._score_ids(encoded[i], per_token)) for i in wanted if i not in set(empty))

    def _score_ids(self, encoded: Encoded, per_token: bool) -> Question[Scored]:
        assert self.encoder is not None
        tokenizer = self.encoder.tokenizer

        async def question(post: Any) -> Scored:
            logprobs = _echo(await post("/completions", _echo_body(self.model, list(encoded.ids))))
            values = logprobs["token_logprobs"]
            if len(values) != len(encoded.ids):
                raise MalformedAnswer("another number of tokens than was sent")
            return scored(tokenizer, encoded, _finite(values[encoded.start :]), per_token)

        return question

    def _score_text(self, query: Query, per_token: bool) -> Question[Scored]:
        if query.context is None:
            text, border = query.target if self.adds_space else " " + query.target, 0
        else:
            text, border = f"{query.context} {query.target}", len(query.context)

        async def question(post: Any) -> Scored:
            logprobs = _echo(await post("/completions", _echo_body(self.model, text)))
            found = echoes.spans(text, logprobs["tokens"], logprobs["text_offset"])
            if found is None:
                raise UserError(
                    self.endpoint.url,
                    "echoes tokens whose places in the text are not certain, so the target's cannot be told.",
                    "Name the model's tokenizer (--tokenizer FOLDER): token ids are sent then.",
                )
            starts, places = found
            first = next((k for k, (_, end) in enumerate(places) if end > border), len(places))
            flags = (STRADDLE,) if first < len(places) and places[first][0] < border else ()
            if starts + first == 0:  # nothing stands before it, so nothing predicts it
                first, flags = 1, (*flags, FIRST_UNSCORED)
            values = _finite(logprobs["token_logprobs"][starts + first :])
            return add_up(values, flags, tuple(logprobs["tokens"][starts + first :]) if per_token else None)

        return question

    def generate(
        self, prompts: Sequence[str], *, max_new_tokens: int, stop: str, skip: Collection[int] = (), chat: bool = False
    ) -> Iterator[tuple[int, Written]]:
        """See ``Engine.generate``; with ``chat`` the server's own chat template is asked."""
        how = {"max_tokens": max_new_tokens, "stop": [stop]}

        def question(path: str, prompt: Mapping[str, Any], is_truncated: bool) -> Question[Written]:
            async def ask(post: Any) -> Written:
                text = _text(await post(path, self._body(prompt, how)))
                return Written(text.split(stop, 1)[0], is_truncated)

            return ask

        yield from self.endpoint.ask(self._questions(prompts, max_new_tokens, skip, chat, question))

    def choose(
        self, prompts: Sequence[str], options: Sequence[str], *, skip: Collection[int] = (), chat: bool = False
    ) -> Iterator[tuple[int, Written]]:
        """See ``Engine.choose``.

        Raises:
            UserError: the server knows no way to constrain an answer.
        """
        how = self._constrained(options)
        top = TOP["vllm" if self.is_vllm else ""]
        how |= {"logprobs": True, "top_logprobs": top} if chat else {"logprobs": top}

        def question(path: str, prompt: Mapping[str, Any], is_truncated: bool) -> Question[Written]:
            async def ask(post: Any) -> Written:
                answer = await post(path, self._body(prompt, how))
                option = _text(answer).strip()
                if option not in options:
                    raise MalformedAnswer("a constrained answer that is none of the options")
                return Written(option, is_truncated, _margin(answer, option, options))

            return ask

        yield from self.endpoint.ask(self._questions(prompts, OPTION_ROOM, skip, chat, question))

    def _questions(
        self,
        prompts: Sequence[str],
        room: int,
        skip: Collection[int],
        chat: bool,
        question: Callable[[str, Mapping[str, Any], bool], Question[Written]],
    ) -> Iterator[tuple[int, Question[Written]]]:
        """One question per prompt: a message to chat with, token ids, or text."""
        wanted = [i for i in range(len(prompts)) if i not in skip]
        if chat:
            for i in wanted:
                yield i, question("/chat/completions", {"messages": [{"role": "user", "content": prompts[i]}]}, False)
        elif self.encoder is not None:
            encoded = self.encoder.encode_prompts([prompts[i] for i in wanted], room)
            for i, (ids, is_truncated) in zip(wanted, encoded, strict=True):
                yield i, question("/completions", {"prompt": list(ids)}, is_truncated)
        else:
            for i in wanted:
                yield i, question("/completions", {"prompt": prompts[i]}, False)

    def _body(self, prompt: Mapping[str, Any], how: Mapping[str, Any]) -> dict[str, Any]:
        return {"model": self.model, "temperature": 0, **prompt, **how}

    def _constrained(self, options: Sequence[str]) -> dict[str, Any]:
        """Fields of a request that leave the model no other answer than these."""
        if self.constraint is not None:
            return {"max_tokens": OPTION_ROOM, **_constraint(self.constraint, options)}
        if self.encoder is not None:
            allowed = Options(self.encoder.tokenizer, options)
            firsts = allowed.allowed("")
            if all(text in options for text in firsts.values()):
                return {"max_tokens": 1, "logit_bias": {str(token): BIAS for token in firsts}}
        raise UserError(
            self.endpoint.url,
            "offers no structured outputs, so a constrained answer cannot be had"
            + (" of options that take more than one token." if self.encoder else "."),
            "Ask for free answers, or, for single-token options, name the model's tokenizer (--tokenizer FOLDER) to bias them.",
        )


def _echo_body(model: str, prompt: Any) -> dict[str, Any]:
    return {"model": model, "prompt": prompt, "max_tokens": 0, "echo": True, "logprobs": 1, "temperature": 0}


def _echo(answer: Any) -> dict[str, Any]:
    """Tokens, their log probabilities and places, of equal length.

    Raises:
        MalformedAnswer: there are none.
    """
    logprobs = answer["choices"][0].get("logprobs")
    if not logprobs or not logprobs.get("tokens"):
        raise MalformedAnswer("no log probabilities of the prompt")
    lengths = {len(logprobs[key]) for key in ("tokens", "token_logprobs", "text_offset")}
    if len(lengths) != 1:
        raise MalformedAnswer("lists of different lengths")
    return logprobs


def _finite(values: Sequence[float | None]) -> list[float]:
    """A token without a value, or at the server's floor, is not finite."""
    return [float("nan") if v is None else float("-inf") if v <= FLOOR else float(v) for v in values]


def _text(answer: Any) -> str:
    """What was written, of a completion or of a chat."""
    choice = answer["choices"][0]
    text = choice["message"]["content"] if "message" in choice else choice["text"]
    return "" if text is None else str(text)


def _margin(answer: Any, option: str, options: Sequence[str]) -> float | None:
    """How far the second best option is behind, in nats, where the likeliest first tokens name at least two options whole."""
    logprobs = answer["choices"][0].get("logprobs") or {}
    if logprobs.get("content"):
        listed = {entry["token"]: entry["logprob"] for entry in logprobs["content"][0].get("top_logprobs") or ()}
    else:
        listed = (logprobs.get("top_logprobs") or [{}])[0] or {}
    others = [value for token, value in listed.items() if token in options and token != option]
    return float(listed[option]) - max(others) if others and option in listed else None


def _constraint(kind: str, options: Sequence[str]) -> dict[str, Any]:
    """How servers take a list of options: vLLM since 0.12, and before."""
    choice = list(options)
    return {"structured_outputs": {"choice": choice}} if kind == "structured_outputs" else {"guided_choice": choice}


def open_engine(
    url: str,
    model: str,
    tokenizer: str | None = None,
    bos: str = "auto",
    concurrency: int | None = None,
    trust_remote_code: bool = False,
    **patience: Any,
) -> OpenaiEngine:
    """Find out what a server offers for a model.

    Args:
        url: base URL, up to and with /v1.
        model: the model's name there.
        tokenizer: the model's tokenizer, a folder or a fetched hub id; prompts then travel as token ids.
        bos: auto, always or never, with a tokenizer; see ``Encoder``.
        concurrency: requests in flight.
        trust_remote_code: the tokenizer's own code may run.
        **patience: attempts, first_wait and timeout; see ``Endpoint``.

    Raises:
        UserError: the server is not there, refuses the key, or serves no such model; or the tokenizer is not the model's.
    """
    endpoint = Endpoint(url, **({"concurrency": concurrency} if concurrency else {}), **patience)
    card = _find_model(endpoint, model)
    is_vllm = card.get("owned_by") == "vllm"
    longest = int(card.get("max_model_len") or 1_000_000)
    encoder = _encoder(tokenizer, bos, trust_remote_code, longest - 1) if tokenizer else None
    plain = _try(endpoint, "/completions", {"model": model, "prompt": "a", "max_tokens": 1, "temperature": 0})
    echoed = _probe_echo(endpoint, model) if plain else None
    if encoder is not None and echoed is not None:
        _check_tokenizer(endpoint, model, encoder, tokenizer or "")
    constraint = _probe_constraint(endpoint, model, chat=not plain)
    starts, names, adds_space = echoed[:3] if echoed else (None, [], False)
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
    identity = [url, model, card.get("root"), (plain or {}).get("system_fingerprint"), bool(encoder)]
    facts = EngineFacts(
        checkpoint=model,
        revision=None,
        checkpoint_digest=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
        engine="openai",
        dtype="the server's",
        bos=convention,
        max_length=longest - 1,
        packages=versions(["openai", *(["transformers", "tokenizers"] if encoder else [])]),
        notes={
            "mode": "echo of " + ("token ids" if encoder else "text") if echoed else "no log probabilities",
            "constraint": constraint or ("logit_bias" if encoder else "none"),
            "server": (plain or {}).get("system_fingerprint") or card.get("owned_by"),
        },
    )
    LOGGER.info("%s at %s: %s; constrained answers by %s", model, endpoint.url, facts.notes["mode"], facts.notes["constraint"])
    return OpenaiEngine(endpoint, model, encoder, facts, starts, adds_space, constraint, is_vllm)


def _find_model(endpoint: Endpoint, model: str) -> dict[str, Any]:
    """What the server says of the model; an empty card where it keeps no list."""

    async def question(post: Any) -> list[dict[str, Any]]:
        return [dict(card) for card in (await post("GET /models", {}))["data"]]

    try:
        cards = endpoint.ask_one(question, attempts=min(2, endpoint.attempts))
    except UserError as error:
        if getattr(error.__cause__, "status_code", None) in (404, 405):
            return {}
        raise
    found = [card for card in cards if card.get("id") == model]
    if not found:
        raise unknown_model(endpoint.url, model, [str(card.get("id")) for card in cards])
    return found[0]


def _try(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer, or None where the server refuses this kind of request."""

    async def question(post: Any) -> dict[str, Any]:
        answer = await post(path, body)
        return {**answer, "choices": list(answer["choices"])}

    try:
        return endpoint.ask_one(question)
    except UserError as error:
        if getattr(error.__cause__, "status_code", None) in (400, 404, 405, 422, 501):
            return None
        raise


def _probe_echo(endpoint: Endpoint, model: str) -> tuple[int, list[str], bool, list[str]] | None:
    """Number and names of the server's start tokens, whether it adds a space, and its tokens for "a a"; None: it does not echo."""
    found = []
    for text in ("a a", "a", " a"):
        answer = _try(endpoint, "/completions", _echo_body(model, text))
        try:
            logprobs = _echo(answer) if answer else None
        except MalformedAnswer:
            logprobs = None
        if logprobs is None or answer is None or answer["choices"][0].get("text", "").strip() != text.strip():
            return None
        found.append(logprobs)
    located = echoes.spans("a a", found[0]["tokens"], found[0]["text_offset"])
    if located is None:
        return None
    starts = located[0]
    inside, alone, spaced = (logprobs["tokens"][starts:] for logprobs in found)
    adds_space = inside == alone * 2 and spaced != alone
    return starts, list(found[0]["tokens"][:starts]), adds_space, list(found[0]["tokens"])


def _probe_constraint(endpoint: Endpoint, model: str, chat: bool) -> str | None:
    """The server's word for a list of options, if it obeys one."""
    for kind in ("structured_outputs", "guided_choice"):
        how = {"model": model, "max_tokens": OPTION_ROOM, "temperature": 0, **_constraint(kind, [SHIBBOLETH])}
        if chat:
            answer = _try(endpoint, "/chat/completions", {**how, "messages": [{"role": "user", "content": "a"}]})
        else:
            answer = _try(endpoint, "/completions", {**how, "prompt": "a"})
        if answer and _text(answer).strip() == SHIBBOLETH:
            return kind
    return None


def _encoder(name: str, bos: str, trust_remote_code: bool, max_length: int) -> Encoder:
    """The tokenizer of a folder or fetched hub id, with its start convention."""
    from transformers import AutoConfig, AutoTokenizer

    how = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **how)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"--tokenizer {name}", "holds no tokenizer that can be loaded.", "Name a folder with a tokenizer.json."
        ) from error
    try:
        config = AutoConfig.from_pretrained(name, **how)
        return Encoder(tokenizer, config.model_type, getattr(config, "bos_token_id", None), max_length, bos, name)
    except (OSError, ValueError, KeyError):
        return Encoder(tokenizer, "", None, max_length, bos, name)


def _check_tokenizer(endpoint: Endpoint, model: str, encoder: Encoder, name: str) -> None:
    """The server must read our token ids as the text that we mean, and cut that text into as many tokens."""
    ours = encoder.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    by_text = _try(endpoint, "/completions", _echo_body(model, PROBE))
    by_ids = _try(endpoint, "/completions", _echo_body(model, ours))
    if by_text is not None and by_ids is not None:
        cut = echoes.spans(PROBE, _echo(by_text)["tokens"], _echo(by_text)["text_offset"])
        is_same_text = by_ids["choices"][0].get("text", "").strip() == PROBE
        if is_same_text and (cut is None or len(cut[1]) == len(ours)):
            return
    raise UserError(
        f"--tokenizer {name}",
        f"does not fit {model} at {endpoint.url}: its token ids are read there as another text.",
        "Name the tokenizer of the model that is served, or leave --tokenizer out to send text.",
    )
