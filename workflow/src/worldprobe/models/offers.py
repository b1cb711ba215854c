"""Finds out what an OpenAI-compatible server offers (models, echoes, constrained answers) by asking, never by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worldprobe.errors import UserError
from worldprobe.models import echoes
from worldprobe.models.constrain import OPTION_ROOM
from worldprobe.models.encoding import Encoder
from worldprobe.models.endpoint import Endpoint, MalformedAnswerError, unknown_model

#: An answer that no model gives by itself, of the numerals that are asked for: whoever returns it obeys the constraint.
SHIBBOLETH = "24531"
HELLO = [{"role": "user", "content": "a"}]
#: A text of many kinds of tokens, to compare tokenizers.
PROBE = "Nine cats sat on 31 mats; the 2nd dog didn't."


def echo_body(model: str, prompt: Any) -> dict[str, Any]:
    """A request for the log probabilities of a prompt, text or token ids, and for nothing new."""
    return {"model": model, "prompt": prompt, "max_tokens": 0, "echo": True, "logprobs": 1, "temperature": 0}


def read_echo(answer: Any) -> dict[str, Any]:
    """Tokens, their log probabilities and places, of equal length.

    Raises:
        MalformedAnswerError: there are none.
    """
    logprobs = answer["choices"][0].get("logprobs")
    if not logprobs or not logprobs.get("tokens"):
        raise MalformedAnswerError("no log probabilities of the prompt")
    lengths = {len(logprobs[key]) for key in ("tokens", "token_logprobs", "text_offset")}
    if len(lengths) != 1:
        raise MalformedAnswerError("lists of different lengths")
    return logprobs


def read_text(answer: Any) -> str:
    """What was written, of a completion or of a chat."""
    choice = answer["choices"][0]
    text = choice["message"]["content"] if "message" in choice else choice["text"]
    return "" if text is None else str(text)


def constrain(kind: str, options: Sequence[str]) -> dict[str, Any]:
    """How servers take a list of options: vLLM since 0.12, and before."""
    choice = list(options)
    return {"structured_outputs": {"choice": choice}} if kind == "structured_outputs" else {"guided_choice": choice}


def find_model(endpoint: Endpoint, model: str) -> dict[str, Any]:
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


def attempt(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
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


def probe_echo(endpoint: Endpoint, model: str) -> tuple[int, list[str], bool] | None:
    """Number and names of the server's start tokens, and whether it adds a space of its own; None where it does not echo."""
    found = []
    for text in ("a a", "a", " a"):
        answer = attempt(endpoint, "/completions", echo_body(model, text))
        try:
            logprobs = read_echo(answer) if answer else None
        except MalformedAnswerError:
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
    return starts, list(found[0]["tokens"][:starts]), adds_space


def fingerprint(endpoint: Endpoint, model: str, has_completions: bool, has_echo: bool) -> Any:
    """What tells these weights from others under the same name: log probabilities of a fixed text, or else a greedy answer.

    Log probabilities are coarsened, because a server's arithmetic depends a little on what else it computes.
    """
    if has_echo:
        answer = attempt(endpoint, "/completions", echo_body(model, PROBE))
        if answer:
            return [None if v is None else round(float(v), 1) for v in read_echo(answer)["token_logprobs"]]
    how = {"model": model, "max_tokens": OPTION_ROOM, "temperature": 0}
    if has_completions:
        answer = attempt(endpoint, "/completions", {**how, "prompt": PROBE})
    else:
        answer = attempt(endpoint, "/chat/completions", {**how, "messages": [{"role": "user", "content": PROBE}]})
    return read_text(answer) if answer else None


def probe_constraint(endpoint: Endpoint, model: str, chat: bool) -> str | None:
    """The server's word for a list of options, if it obeys one."""
    for kind in ("structured_outputs", "guided_choice"):
        how = {"model": model, "max_tokens": OPTION_ROOM, "temperature": 0, **constrain(kind, [SHIBBOLETH])}
        if chat:
            answer = attempt(endpoint, "/chat/completions", {**how, "messages": HELLO})
        else:
            answer = attempt(endpoint, "/completions", {**how, "prompt": "a"})
        if answer and read_text(answer).strip() == SHIBBOLETH:
            return kind
    return None


def load_encoder(name: str, bos: str, trust_remote_code: bool, max_length: int) -> Encoder:
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


def check_tokenizer(endpoint: Endpoint, model: str, encoder: Encoder, name: str) -> None:
    """The server must read our token ids as the text that we mean, and cut that text into as many tokens."""
    ours = encoder.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    by_text = attempt(endpoint, "/completions", echo_body(model, PROBE))
    by_ids = attempt(endpoint, "/completions", echo_body(model, ours))
    if by_text is not None and by_ids is not None:
        cut = echoes.spans(PROBE, read_echo(by_text)["tokens"], read_echo(by_text)["text_offset"])
        is_same_text = by_ids["choices"][0].get("text", "").strip() == PROBE
        if is_same_text and (cut is None or len(cut[1]) == len(ours)):
            return
    raise UserError(
        f"--tokenizer {name}",
        f"does not fit {model} at {endpoint.url}: its token ids are read there as another text.",
        "Name the tokenizer of the model that is served, or leave --tokenizer out to send text.",
    )
