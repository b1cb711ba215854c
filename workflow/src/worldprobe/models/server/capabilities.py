"""Finds out what an OpenAI-compatible server offers (models, echoes, constrained answers) by
asking, never by its name.

What sets one served model apart is what its server says of it, how many tokens it counts in fixed
prompts, and where it writes thoughts. Weights that change behind one name show only where the
server says so (vLLM: ``root``, llama.cpp: ``meta``).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models import tokenizers
from worldprobe.models.answers import OPTION_ROOM, PART
from worldprobe.models.chat import Encoder
from worldprobe.models.engine import Completion, Decoding, Finish, Prompt
from worldprobe.models.reasoning import (
    MARKS,
    before_stop,
    closes_only,
    part_thoughts,
    split_thoughts,
)
from worldprobe.models.server.endpoint import (
    CHAT_PATH,
    DIALECTS,
    Client,
    Endpoint,
    MalformedAnswerError,
    only_streams,
    unknown_model,
)

#: An answer that no model gives by itself, of the numerals that are asked for: whoever returns it
#: obeys the constraint.
SHIBBOLETH = "24531"
HELLO = [{"role": "user", "content": "a"}]
#: A text of many kinds of tokens, to compare tokenizers, and fewer tokens than it has by anyone's
#: count.
PROBE = "Nine cats sat on 31 mats; the 2nd dog didn't."
FEWER = 5
ONE_MESSAGE = [{"role": "user", "content": PROBE}]
#: Tokens of the answer to a probe.
PROBE_LENGTH = 8

#: A question that needs one word, and how many tokens a model that thinks may take for it.
ONE_WORD = [{"role": "user", "content": "Reply with one word: yes"}]
ONE_WORD_TOKENS = 1024
#: A reply of more tokens than this is no word.
FEW_TOKENS = 64
#: Nats by which half precision moves a token's log probability from one batch to another.
SAME_TOKEN = 0.25
#: No tokenizer writes so many words in one token on average.
WORDS_PER_TOKEN = 2

Found = TypeVar("Found")


def echo_body(model: str, prompt: Any) -> dict[str, Any]:
    """A request for the log probabilities of a prompt, text or token ids, and for nothing new."""
    return {
        "model": model,
        "prompt": prompt,
        "max_tokens": 0,
        "echo": True,
        "logprobs": 1,
        "temperature": 0,
    }


def read_echo(answer: Any) -> dict[str, Any]:
    """Tokens, their log probabilities and places, of equal length.

    Raises:
        MalformedAnswerError: there are none.
        ValueError: a log probability is no number, not even one in quotation marks (``-Infinity``
            is none in JSON).
    """
    logprobs = answer["choices"][0].get("logprobs")
    if not logprobs or not logprobs.get("tokens"):
        raise MalformedAnswerError("no log probabilities of the prompt")
    lengths = {len(logprobs[key]) for key in ("tokens", "token_logprobs", "text_offset")}
    if len(lengths) != 1:
        raise MalformedAnswerError("lists of different lengths")
    values = [None if value is None else float(value) for value in logprobs["token_logprobs"]]
    return {**logprobs, "token_logprobs": values}


def constrain(kind: str, options: Sequence[str]) -> dict[str, Any]:
    """How servers take a list of options: vLLM since 0.12 (``structured_outputs``), before
    (``guided_choice``), and llama.cpp.
    """
    choice = list(options)
    if kind == "grammar":  # GBNF, whose texts are quoted as in JSON
        return {
            "grammar": (
                "root ::= "
                + " | ".join(json.dumps(option, ensure_ascii=False) for option in choice)
            )
        }
    return (
        {"structured_outputs": {"choice": choice}}
        if kind == "structured_outputs"
        else {"guided_choice": choice}
    )


def find_model(endpoint: Endpoint, model: str) -> dict[str, Any]:
    """What the server says of the model; an empty card where it keeps no list."""

    async def question(server: Client) -> list[dict[str, Any]]:
        return [dict(card) for card in (await server.get("/models"))["data"]]

    try:
        cards = endpoint.ask_one(question)
    except UserError as error:
        if getattr(error.__cause__, "status_code", None) in (404, 405):
            return {}
        raise
    matches = [card for card in cards if card.get("id") == model]
    if not matches:
        raise unknown_model(endpoint.url, model, [str(card.get("id")) for card in cards])
    return matches[0]


def served_length(endpoint: Endpoint, card: Mapping[str, Any]) -> int:
    """Tokens that the served model takes, where the server says so.

    Raises:
        UserError: it says something else than a positive number.
    """
    length = card.get("max_model_len") or 1_000_000
    if not isinstance(length, int) or length < 2:
        raise UserError(
            endpoint.url,
            "responds, but not with an OpenAI-style answer (max_model_len is not a number of"
            " tokens).",
            "Check the server.",
        )
    return length


def attempt(
    endpoint: Endpoint, path: str, body: Mapping[str, Any], read: Callable[[Any], Found]
) -> Found | None:
    """What ``read`` finds in the answer, or None where the server refuses this kind of request.

    Raises:
        UserError: the server cannot be asked, or its answers are not what ``read`` takes.
    """

    async def question(server: Client) -> Found:
        return read(await server.post(path, body))

    try:
        return endpoint.ask_one(question)
    except UserError as error:
        refusal = error.__cause__
        is_refused = getattr(refusal, "status_code", None) in (400, 404, 405, 422, 501)
        if is_refused and not only_streams(refusal):
            return None
        raise


def probe_text(endpoint: Endpoint, model: str) -> dict[str, Any] | None:
    """How a fixed text is continued; None where the server offers no completions."""
    return _probe(endpoint, "/completions", {"model": model, "prompt": PROBE})


def probe_chat(endpoint: Endpoint, model: str) -> dict[str, Any] | None:
    """The answer to a fixed message; None where the server offers no chat."""
    return _probe(endpoint, CHAT_PATH, {"model": model, "messages": ONE_MESSAGE})


def probe_dialects(endpoint: Endpoint, model: str) -> dict[str, Any] | None:
    """The answer to a fixed message in the first other dialect that the server takes, which it is
    asked in from here on.
    """
    for endpoint.dialect in DIALECTS:
        if (chatted := probe_chat(endpoint, model)) is not None:
            return chatted
    return None


def drops_messages(endpoint: Endpoint, model: str, n_prompt: int | None) -> bool:
    """Does the server's chat template leave out what a message says, as its counts of the prompt's
    tokens show?

    Args:
        endpoint: the server.
        model: the model's name there.
        n_prompt: tokens that it counted for ``ONE_MESSAGE``, where it counts any.
    """
    if not n_prompt:
        return False
    body = {"model": model, "messages": HELLO, "max_tokens": 1, "temperature": 0}
    answer = attempt(endpoint, CHAT_PATH, body, dict) or {}
    n_short = (answer.get("usage") or {}).get("prompt_tokens")
    return isinstance(n_short, int) and n_prompt < n_short + FEWER


def _probe(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
    def read(answer: Any) -> dict[str, Any]:
        written_text(answer)
        return dict(answer)

    length = (
        PROBE_LENGTH if endpoint.dialect.takes_temperature else ONE_WORD_TOKENS
    )  # reasoning models refuse a few
    return attempt(endpoint, path, {**body, "max_tokens": length, "temperature": 0}, read)


#: Where a model's thoughts are opened: nowhere, in its own text or apart from it, or by the chat
#: template, so that they are closed in the text but not opened.
Thoughts = Literal["", "seen", "unseen"]


def probe_thoughts(endpoint: Endpoint, model: str, how: Mapping[str, Any]) -> Thoughts:
    """Does a model think before it answers in a conversation?

    Args:
        endpoint: the server.
        model: the model's name there.
        how: further fields of the request, as in those for replies.
    """

    def read(answer: Any) -> tuple[str, bool, bool]:
        usage = answer.get("usage") or {}
        n_thoughts = _as_count(
            (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
        )
        is_apart = bool(thoughts_apart(answer) or n_thoughts)
        return written_text(answer), is_apart, count_tokens(answer) <= FEW_TOKENS

    body = {
        "model": model,
        "max_tokens": ONE_WORD_TOKENS,
        "temperature": 0,
        "messages": ONE_WORD,
        **how,
    }
    text, is_apart, is_short = attempt(endpoint, CHAT_PATH, body, read) or ("", False, True)
    thoughts, reply = split_thoughts(text)
    if is_apart or thoughts or reply != text:
        return "unseen" if closes_only(text) else "seen"
    if not is_short:
        LOGGER.warning(
            "%s writes more than %d tokens where one word is asked for, and marks no thoughts. If"
            " it thinks, start its server with a reasoning parser: thoughts without marks cannot be"
            " told from replies",
            model,
            FEW_TOKENS,
        )
    return ""


def probe_echo(endpoint: Endpoint, model: str) -> tuple[int, list[str], bool] | None:
    """Number and names of the server's start tokens, and whether it adds a space of its own; None
    where it does not echo the log probabilities of a prompt.
    """

    def read(answer: Any) -> dict[str, Any] | None:
        try:
            echoed = str(answer["choices"][0]["text"])
            return read_echo(answer) if echoed.strip() == text.strip() else None
        except (MalformedAnswerError, KeyError, IndexError, TypeError, AttributeError, ValueError):
            return None

    echoes = []
    for text in ("a a", "a", " a"):
        logprobs = attempt(endpoint, "/completions", echo_body(model, text), read)
        if logprobs is None:
            return None
        echoes.append(logprobs)
    values = [
        value for logprobs in echoes for value in logprobs["token_logprobs"] if value is not None
    ]
    located = spans("a a", echoes[0]["tokens"], echoes[0]["text_offset"])
    if located is None or (values and not any(values)):  # zeros are no log probabilities
        return None
    starts = located[0]
    if _is_shifted(starts, echoes[0], echoes[1]):
        return None
    inside, bare, spaced = (logprobs["tokens"][starts:] for logprobs in echoes)
    adds_space = inside == bare * 2 and spaced != bare
    return starts, list(echoes[0]["tokens"][:starts]), adds_space


def _is_shifted(starts: int, twice: Mapping[str, Any], once: Mapping[str, Any]) -> bool:
    """Does a log probability depend on what comes behind its token, or lacks a token one that has
    something before it?

    Args:
        starts: start tokens of both texts.
        twice: the echo of "a a".
        once: that of "a".
    """
    if twice["tokens"][: starts + 1] != once["tokens"] or len(twice["tokens"]) < 2:
        return False  # another cutting, whose values differ
    values = twice["token_logprobs"]
    first, alone = values[starts], once["token_logprobs"][starts]
    if first is None or alone is None:
        return first is not alone or starts > 0 or values[-1] is None
    return bool(abs(first - alone) > SAME_TOKEN)


def has_marks(endpoint: Endpoint, model: str) -> bool:
    """Has the served model's tokenizer tokens of their own for marks of thoughts, as its echo of
    them shows?
    """
    echoed = attempt(endpoint, "/completions", echo_body(model, " ".join(MARKS)), read_echo)
    return echoed is not None and any(token.strip() in MARKS for token in echoed["tokens"])


def find_set_up(
    model: str,
    card: Mapping[str, Any],
    completed: Mapping[str, Any] | None,
    chatted: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What sets one served model apart from another, or from itself with another chat template or
    parser.

    Args:
        model: the model's name there.
        card: what the server says of it.
        completed: how it continued a fixed text.
        chatted: how it answered a fixed message.
    """
    stated = {key: card[key] for key in ("root", "parent", "owned_by", "meta") if card.get(key)}
    probes = {"completion": completed, "chat": chatted}
    return {
        "model": model,
        **stated,
        **{name: _told(answer) for name, answer in probes.items() if answer},
    }


def probe_constraint(endpoint: Endpoint, model: str, chat: bool) -> str | None:
    """The server's word for a list of options, if it obeys one."""
    for kind in ("structured_outputs", "guided_choice", "grammar"):
        how = {
            "model": model,
            "max_tokens": OPTION_ROOM,
            "temperature": 0,
            **constrain(kind, [SHIBBOLETH]),
        }
        asked = {"messages": HELLO} if chat else {"prompt": "a"}
        text = attempt(
            endpoint, CHAT_PATH if chat else "/completions", {**how, **asked}, written_text
        )
        if text is not None and text.strip() == SHIBBOLETH:
            return kind
    return None


def load_encoder(name: str, bos: str, trust_remote_code: bool, max_length: int) -> Encoder:
    """The tokenizer of a folder or fetched hub id, with its start convention."""
    from transformers import AutoConfig

    path = os.path.expanduser(name)
    tokenizer = tokenizers.open_tokenizer(path, f"--tokenizer {name}", trust_remote_code)
    try:
        config = AutoConfig.from_pretrained(
            path, local_files_only=True, trust_remote_code=trust_remote_code
        )
        family, start = config.model_type, getattr(config, "bos_token_id", None)
    except Exception:  # a folder with a tokenizer only
        family, start = "", None
    return Encoder(tokenizer, family, start, max_length, bos, name)


def check_tokenizer(endpoint: Endpoint, model: str, encoder: Encoder, name: str) -> None:
    """The server must read our token ids as the text that we mean, and cut that text into as many
    tokens.
    """
    ours = encoder.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    by_text = attempt(endpoint, "/completions", echo_body(model, PROBE), read_echo)
    read_back = attempt(
        endpoint,
        "/completions",
        echo_body(model, ours),
        lambda answer: str(answer["choices"][0].get("text", "")),
    )
    if by_text is not None and read_back is not None:
        cut = spans(PROBE, by_text["tokens"], by_text["text_offset"])
        if read_back.strip() == PROBE and (cut is None or len(cut[1]) == len(ours)):
            return
    raise UserError(
        f"--tokenizer {name}",
        f"does not fit {model} at {endpoint.url}: its token ids are read there as another text.",
        "Name the tokenizer of the model that is served, or leave --tokenizer out to send text.",
    )


def _told(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt's number of tokens, as a chat template moves it, and the parts of the answer, as a
    parser of thoughts does.
    """
    message = answer["choices"][0].get("message") or {}
    n_tokens = (answer.get("usage") or {}).get("prompt_tokens")
    return {
        "prompt_tokens": n_tokens,
        "parts": sorted(name for name, value in message.items() if value and name != "role"),
    }


#: More than any reply or prompt has.
MOST_TOKENS = 2**31


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """A conversation as the protocol takes it; plain text as one user message."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return [{"role": message.role, "content": message.content} for message in prompt]


def read_finish(answer: Any, stops: Sequence[str] = ()) -> Finish:
    """Why writing ended. Most servers report a stop text like an end token: the stop is assumed
    where one was set.
    """
    choice = answer["choices"][0]
    if _refusal(choice):
        return "refusal"
    if (finish := choice.get("finish_reason")) in ("length", "content_filter", "refusal"):
        return cast("Finish", finish)
    if "stop_reason" in choice:  # vLLM: the stop text, or the number or absence of an end token
        return "stop" if isinstance(choice["stop_reason"], str) else "end"
    return "stop" if stops else "end"


def _refusal(choice: Mapping[str, Any]) -> str:
    """The words in which a model refuses, where the server puts them apart from replies."""
    message = choice.get("message") or {}
    return str(message.get("refusal") or _joined(message.get("content"), ["refusal"]))


def check_length(endpoint: Endpoint, asked: Mapping[str, Any], answer: Any) -> None:
    """A server must have read all that it was asked.

    Args:
        endpoint: the server.
        asked: ``prompt`` (text or token ids) or ``messages``.
        answer: what it answered.

    Raises:
        UserError: it counts fewer tokens than so many words can have.
    """
    texts = [message["content"] for message in asked.get("messages", ())]
    texts += [asked["prompt"]] if isinstance(asked.get("prompt"), str) else []
    details = (answer.get("usage") or {}).get("prompt_tokens_details") or {}
    n_read = count_tokens(answer, "prompt_tokens")
    n_words = sum(len(text.split()) for text in texts)
    if n_read and WORDS_PER_TOKEN * (n_read + _as_count(details.get("cached_tokens"))) < n_words:
        raise UserError(
            endpoint.url,
            f"read {n_read} tokens of a prompt of {n_words} words: it cuts prompts that are longer"
            " than its context.",
            "Start it with a longer context (Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size;"
            " vLLM: --max-model-len), or ask shorter prompts.",
        )


def count_tokens(
    answer: Any, which: Literal["completion_tokens", "prompt_tokens"] = "completion_tokens"
) -> int:
    """New tokens, or those of the prompt, as the server counts them; 0 where it does not."""
    return _as_count((answer.get("usage") or {}).get(which))


def _as_count(value: Any) -> int:
    """A number of tokens; 0 for what cannot be one."""
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0


def is_sound(answer: Any) -> bool:
    """Are the log probabilities of the written tokens numbers? True where the server reports
    none.
    """
    logprobs = answer["choices"][0].get("logprobs") or {}
    values = logprobs.get("token_logprobs") or [
        entry.get("logprob") for entry in logprobs.get("content") or ()
    ]
    return all(value is not None and math.isfinite(float(value)) for value in values)


def thoughts_apart(answer: Any) -> str:
    """Thoughts that a server puts into a field of their own, or into a part of the reply."""
    message = answer["choices"][0].get("message") or {}
    thoughts = str(message.get("reasoning_content") or message.get("reasoning") or "")
    return whole_characters(thoughts or _joined(message.get("content"), THINKING)).strip()


#: Kinds of parts of a reply: what is said, what is thought.
SAYING, THINKING = ("text", "output_text", "refusal"), ("thinking", "reasoning")


def _joined(content: Any, kinds: Sequence[str]) -> str:
    """The text of a reply's parts of some kinds; their text may be in parts again.

    >>> parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
    >>> _joined(parts, THINKING), _joined([*parts, {"type": "text", "text": "TRUE"}], SAYING)
    ('Hm.', 'TRUE')
    """
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if part["type"] not in (*SAYING, *THINKING):
            raise MalformedAnswerError(f"a part of type {str(part['type'])[:20]}")
        if part["type"] in kinds:
            inner = part[part["type"] if part["type"] in part else "text"]
            texts.append(inner if isinstance(inner, str) else _joined(inner, SAYING))
    return "".join(texts)


def read_completion(
    answer: Any,
    decoding: Decoding,
    was_cut: bool,
    count: Callable[[str], int] | None,
    prompt: str = "",
) -> Completion:
    """What a server wrote, thoughts apart: in a field of their own (``reasoning_content``,
    ``reasoning``), or between marks.

    Args:
        answer: a completion or a chat.
        decoding: how it was written.
        was_cut: the prompt lost its beginning.
        count: text -> number of tokens; where not known, tokens are shared out by characters.
        prompt: the end of what the text continues.
    """
    thoughts = thoughts_apart(answer)
    usage = answer.get("usage") or {}
    whole = count_tokens(answer)
    text = written_text(answer)
    finish, n_prompt = (
        read_finish(answer, decoding.ends_early),
        count_tokens(answer, "prompt_tokens"),
    )
    if finish in ("content_filter", "refusal"):
        return Completion(text, finish, whole, was_cut, thoughts=thoughts, n_prompt_tokens=n_prompt)
    by_share = count or (lambda part: round(whole * len(part) / max(len(thoughts) + len(text), 1)))
    n_thoughts = _as_count((usage.get("completion_tokens_details") or {}).get("reasoning_tokens"))
    if not thoughts and not n_thoughts:
        return part_thoughts(
            Completion(text, finish, whole, was_cut, n_prompt_tokens=n_prompt),
            prompt,
            decoding,
            by_share,
        )
    text = before_stop(text.lstrip(), decoding.stops)
    n_thoughts = n_thoughts or min(by_share(thoughts), whole)
    written = Completion(
        text, finish, max(whole - n_thoughts, 0), was_cut, None, thoughts, n_thoughts, n_prompt
    )
    is_long = decoding.thoughts and (
        written.n_tokens > decoding.max_new_tokens or n_thoughts > decoding.thoughts
    )
    return replace(written, finish="length") if is_long else written


def written_text(answer: Any) -> str:
    """What was written, of a completion or of a chat, without the parts that are thoughts.

    Raises:
        MalformedAnswerError: a part of it is neither text nor thoughts.
        TypeError: it is not text.
    """
    choice = answer["choices"][0]
    text = choice["message"].get("content") if "message" in choice else choice["text"]
    text = _joined(text, SAYING) if isinstance(text, list) else text or _refusal(choice)
    if not isinstance(text, str):
        raise TypeError("not text")
    return whole_characters(text)


def whole_characters(text: str) -> str:
    """The text without halves of characters, which some servers write where a limit cuts one, and
    no file can contain.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def spans(
    text: str, tokens: Sequence[str], offsets: Sequence[int]
) -> tuple[int, list[tuple[int, int]]] | None:
    """Number of start tokens, and [begin, end) in characters of every token after them; None where
    it is not certain.

    >>> spans("a cat", ["a", " cat"], [0, 1])
    (0, [(0, 1), (1, 5)])
    >>> spans("a cat", ["<s>", "a", "cat"], [0, 3, 4])
    (1, [(0, 1), (1, 5)])
    >>> spans("a cat", ["a", " dog"], [0, 1]) is None
    True
    """
    for starts in range(min(2, len(tokens)) + 1):
        rest = list(tokens[starts:])
        if (
            starts
            and all(text.startswith(token) for token in tokens[:starts])
            and _laid(text, tokens) is not None
        ):
            break  # the text itself begins so
        shift = sum(len(token) for token in tokens[:starts])
        for by in {0, shift}:
            given = [offset - by for offset in offsets[starts:]]
            if _agree(text, rest, given):
                ends = [*given[1:], len(text)]
                return starts, list(zip(given, ends, strict=True))
        laid = _laid(text, rest)
        if laid is not None:
            return starts, laid
    return None


def _agree(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> bool:
    """Do the offsets cover the text without a gap, and is each token where its offset says?"""
    if not tokens or len(tokens) != len(offsets) or offsets[0] != 0:
        return False
    for token, low, high in zip(tokens, offsets, [*offsets[1:], len(text)], strict=True):
        if low > high or (PART not in token and text[low:high] != token):
            return False
    return True


def _laid(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """Lay the tokens along the text; a space that a token lacks, or has too many, is the
    tokenizer's own.
    """
    at = 0
    intervals = []
    for k, token in enumerate(tokens):
        if PART in token:
            return None
        if text.startswith(token, at):
            end = at + len(token)
        elif text.startswith(" " + token, at):
            end = at + 1 + len(token)
        elif k == 0 and token.startswith(" ") and text.startswith(token[1:]):
            end = len(token) - 1
        else:
            return None
        intervals.append((at, end))
        at = end
    return intervals if at == len(text) else None
