"""From text to tokens: exactly one start token, the target found by character offsets, nothing
miscounted silently.

The whole text (context, what joins both, target) is tokenised once. Every token that ends behind
the context belongs to the target, so the joining space does too, and a token that reaches across
the border is counted to the target and flagged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.engine import (
    FIRST_UNSCORED,
    SPECIAL_TOKEN,
    STRADDLE,
    TRUNCATED,
    UNKNOWN_TOKEN,
    Loglikelihood,
    Message,
    Prompt,
)
from worldprobe.models.reasoning import closes_thoughts, closing_of, opens_thoughts
from worldprobe.models.tokenizers import ensure_embedded, special_tokens

#: The day that templates which write a date are given. Llama 3's own templates have it as their
#: default.
DAY = date(2024, 7, 26)
#: Variables by which templates leave thoughts out: of Qwen, GLM, SmolLM and others, and DeepSeek.
WITHOUT_THOUGHTS = {"enable_thinking": False, "thinking": False}
#: An answer that no template writes by itself.
ANSWER = "Sixty-one."


def has_template(tokenizer: Any) -> bool:
    """Has a tokenizer a chat template that says anything?"""
    template = tokenizer.chat_template
    return bool(template.strip() if isinstance(template, str) else template)


def turn_ends(tokenizer: Any) -> set[int]:
    """The token with which the chat template ends an assistant's message, whatever eos says.

    It is the added token right behind the last message. Templates that write none there (GLM's) end
    a message with what opens the next one. Empty where there is no such token.
    """
    if not has_template(tokenizer):
        return set()
    question = {"role": "user", "content": "How many?"}
    answered = [question, {"role": "assistant", "content": ANSWER}]
    added = special_tokens(tokenizer) | set(tokenizer.added_tokens_decoder)
    for messages in (answered, [*answered, question]):
        try:
            text = render_chat(tokenizer, messages, opens_turn=False)
        except UserError:  # of some other use, or for the user's messages only
            continue
        behind = tokenizer(text[text.rindex(ANSWER) + len(ANSWER) :], add_special_tokens=False)[
            "input_ids"
        ]
        first = next((token for token in behind if tokenizer.decode([token]).strip()), None)
        if first in added:
            return {first}
    return set()


def render_chat(
    tokenizer: Any,
    messages: Sequence[Mapping[str, str]],
    opens_turn: bool = True,
    without_thoughts: bool = False,
) -> str:
    """The text of a conversation, ready for the model's turn.

    Args:
        tokenizer: of transformers; its ``chat_template_kwargs`` are what its card states.
        messages: each with role and content.
        opens_turn: write what opens the model's turn.
        without_thoughts: ask the template for none, whatever its card states.

    Raises:
        UserError: there is no chat template, it fails on these messages, or it leaves one of them
            out.
    """
    name = tokenizer.name_or_path
    if not has_template(tokenizer):
        raise UserError(
            name,
            "has no chat template, but a conversation is asked for.",
            "Ask without it (chat_template: never).",
        )
    try:
        text = tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            tokenize=False,
            add_generation_prompt=opens_turn,
            **{
                "date_string": DAY.strftime("%d %b %Y"),
                "strftime_now": DAY.strftime,
                **getattr(tokenizer, "chat_template_kwargs", {}),
                **(WITHOUT_THOUGHTS if without_thoughts else {}),
            },
        )
    except Exception as error:  # a template is a program of its author's
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        raise UserError(
            name,
            f"has a chat template that fails here ({type(error).__name__}: {reason}).",
            "Fix the template (chat_template.jinja or tokenizer_config.json), state its variables"
            " (chat_template_kwargs), or ask without it (chat_template: never).",
        ) from error
    # A template for messages in parts may write nothing of a plain text: every question would be
    # the same prompt.
    dropped = [
        message["role"] for message in messages if message["content"].strip() not in str(text)
    ]
    if dropped:
        raise UserError(
            name,
            f"has a chat template that does not write the text of the {dropped[0]}'s message, so"
            " the model would not be asked.",
            "Fix the template (chat_template.jinja or tokenizer_config.json), or ask without it"
            " (chat_template: never).",
        )
    return str(text)


def render_to_choose(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> str:
    """The text of a conversation, ready for a reply without thoughts: an option that is compared
    where thoughts begin would be their first word.

    Thoughts are left out or closed as the chat template does it: where its variables ask for none,
    else before a reply that it is given; else by the mark that closes them.

    Args:
        tokenizer: of transformers.
        messages: each with role and content.

    Raises:
        UserError: the template opens thoughts, and nothing says how they are closed; or it fails.
    """
    text = render_chat(tokenizer, messages)
    without = render_chat(tokenizer, messages, without_thoughts=True)
    if closes_thoughts(without) or (opens_thoughts(text) and not opens_thoughts(without)):
        return without
    before = _before_reply(tokenizer, messages)
    if before.startswith(text) and closes_thoughts(before):
        return before
    if not opens_thoughts(text):
        return text
    mark, closing = closing_of(text) or ("", "")
    if mark and (mark in str(tokenizer.chat_template) or mark in tokenizer.get_vocab()):
        return text + closing
    raise UserError(
        tokenizer.name_or_path,
        "has a chat template that opens thoughts and does not say how they end, so a constrained"
        " answer would be their first word.",
        "Ask for free answers, or without the template (chat_template: never); or state what turns"
        " its thoughts off (chat_template_kwargs).",
    )


def _before_reply(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> str:
    """The text that a chat template puts before an assistant's reply; empty where it takes none."""
    answered = [*messages, {"role": "assistant", "content": ANSWER}]
    try:
        text = render_chat(tokenizer, answered, opens_turn=False)
    except UserError:
        return ""
    return text[: text.rindex(ANSWER)]


def leaves_turn(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> bool:
    """Does a chat template ignore that it is to open the model's turn, though it opens the turn of
    a reply that it is given?
    """
    text, before = render_chat(tokenizer, messages), _before_reply(tokenizer, messages)
    opening = before[len(text) :] if before.startswith(text) else ""
    return bool(opening.strip()) and render_chat(tokenizer, messages, opens_turn=False) == text


#: Part of the names of families (gemma3_text, recurrent_gemma, ...) -> start token with which they
#: were trained and without which they fail, even where a tokenizer's file forgets to add it.
NEEDS_BOS = {"gemma": "<bos>"}


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of a whole sequence; those from ``start`` on are scored (``start`` is at least
    1).
    """

    ids: tuple[int, ...]
    start: int
    flags: tuple[str, ...]


class Encoder:
    """Encodes queries and prompts for one tokenizer.

    Args:
        tokenizer: a fast tokenizer of transformers (one that gives character offsets).
        model_type: the configuration's family, e.g. gpt2.
        config_bos: the configuration's bos_token_id; used where the tokenizer names none.
        max_length: the model's longest sequence, in tokens.
        bos: auto (the tokenizer's own way, what its configuration states, or the family's), always
            or never.
        name: the model's name, for messages.

    Raises:
        UserError: the tokenizer gives no character offsets, or a start token is demanded that it
            does not have.
    """

    def __init__(
        self,
        tokenizer: Any,
        model_type: str = "",
        config_bos: int | None = None,
        max_length: int = 1_000_000,
        bos: str = "auto",
        name: str = "",
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UserError(
                name or type(tokenizer).__name__,
                "has a tokenizer without character offsets, so the target's tokens cannot be found"
                " for certain.",
                "Save a fast tokenizer next to the weights (a tokenizer.json); most slow ones can"
                " be converted.",
            )
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.name = name or tokenizer.name_or_path
        self._is_checked = False
        start_token = tokenizer.bos_token_id
        if (
            start_token is None
            and config_bos is not None
            and config_bos in tokenizer.all_special_ids
        ):
            start_token = config_bos
        starts, _ = own_tokens(tokenizer)
        if bos == "never":
            self.prefix: tuple[int, ...] = ()
        elif starts:
            self.prefix = starts
        elif bos == "always" or any(
            part in model_type and token == tokenizer.bos_token for part, token in NEEDS_BOS.items()
        ):
            if start_token is None:
                raise UserError(
                    name,
                    "has no start token (BOS), but one is asked for.",
                    "Set bos: auto or never for it.",
                )
            self.prefix = (start_token,)
        elif start_token is not None and getattr(tokenizer, "states_start", False):
            self.prefix = (start_token,)
        else:
            self.prefix = ()
        self.bare_prefix = self.prefix or ((start_token,) if start_token is not None else ())
        self.adds_space = self._adds_own_space()
        self.unknown = (
            tokenizer.unk_token_id
            if tokenizer.unk_token_id not in (start_token, tokenizer.eos_token_id)
            else None
        )
        #: Those that a text has only where it spells them.
        self.special = special_tokens(tokenizer) - {tokenizer.unk_token_id}

    def _adds_own_space(self) -> bool:
        """Does the tokenizer put a space of its own before a text, as SentencePiece models in
        Llama's style do?
        """
        inside = self.tokenizer("a a", add_special_tokens=False)["input_ids"]
        alone = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        spaced = self.tokenizer(" a", add_special_tokens=False)["input_ids"]
        return inside == alone * 2 and spaced != alone

    def convention(self) -> dict[str, Any]:
        """How sequences start, for the provenance."""
        names = self.tokenizer.convert_ids_to_tokens
        return {
            "before_text": names(list(self.prefix)),
            "before_bare_target": names(list(self.bare_prefix)),
            "bare_target_space": "the tokenizer's own" if self.adds_space else "one",
        }

    def texts(self, queries: Sequence[Loglikelihood]) -> list[str]:
        """The whole text of each query; behind an empty context the tokenizer may put the joining
        space itself.
        """
        return [q.target if q.context == "" and self.adds_space else q.text for q in queries]

    def encode(self, queries: Sequence[Loglikelihood]) -> list[Encoded]:
        """Tokenise whole sequences in one call and find each target in its sequence."""
        texts = self.texts(queries)
        borders = [len(query.context or "") for query in queries]
        if not texts:
            return []
        batch = self.tokenizer(
            texts,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        rows = zip(
            queries, texts, borders, batch["input_ids"], batch["offset_mapping"], strict=True
        )
        encoded = [self._encoded(*row) for row in rows]
        ensure_embedded(self.tokenizer, (token for sequence in encoded for token in sequence.ids))
        return encoded

    def _encoded(
        self,
        query: Loglikelihood,
        text: str,
        border: int,
        ids: list[int],
        offsets: list[tuple[int, int]],
    ) -> Encoded:
        """One sequence with its start token; ``border`` is the character at which the target
        begins.
        """
        prefix = self.prefix if query.context else self.bare_prefix
        spells_special = not self.special.isdisjoint(ids)
        if (
            prefix and tuple(ids[: len(prefix)]) == prefix
        ):  # the text itself opens with the start token: never two of them
            ids, offsets = ids[len(prefix) :], offsets[len(prefix) :]
        flags = []
        if not query.target:
            first = len(
                ids
            )  # the joining space alone is no target, though some tokenizers have a token for it
        elif not query.context:
            first = 0
        else:
            first = next((i for i, (_, end) in enumerate(offsets) if end > border), len(ids))
            first = self._with_trimmed_space(ids, offsets, border, first)
            if first < len(ids) and offsets[first][0] < border:
                flags.append(STRADDLE)
        start = len(prefix) + first
        whole = (*prefix, *ids)
        if len(whole) > self.max_length:
            cut = len(whole) - self.max_length
            whole = (*prefix, *ids[cut:])
            start = max(start - cut, len(prefix))
            flags.append(TRUNCATED)
        if start == 0:
            start = 1
            flags.append(FIRST_UNSCORED)
        if (self.unknown is not None and self.unknown in ids) or drops_text(text, offsets):
            flags.append(UNKNOWN_TOKEN)
        if spells_special:
            flags.append(SPECIAL_TOKEN)
        return Encoded(whole, start, tuple(flags))

    def _with_trimmed_space(
        self, ids: list[int], offsets: list[tuple[int, int]], border: int, first: int
    ) -> int:
        """Some tokenizers trim spaces from offsets: the joining space may then be at the end of the
        token before.
        """
        if first in (0, len(ids)) or offsets[first][0] <= border:
            return first
        piece = self.tokenizer.convert_ids_to_tokens(ids[first])
        if piece.startswith(("Ġ", "▁", " ")):
            return first
        before = self.tokenizer.convert_ids_to_tokens(ids[first - 1])
        return first - 1 if before.endswith(("Ġ", "▁", " ")) else first

    def encode_prompts(
        self, prompts: Sequence[Prompt], reserve: int, chooses: bool = False
    ) -> list[tuple[tuple[int, ...], bool]]:
        """Token ids of prompts with exactly one start token, and whether each lost its beginning.

        Args:
            prompts: whole prompts; conversations go through the chat template.
            reserve: tokens that must stay free behind the prompt.
            chooses: whether the answers are chosen among options.

        Raises:
            UserError: a conversation and no chat template, or no room for a prompt at all.
        """
        if not prompts:
            return []
        room = self.max_length - reserve - len(self.prefix)
        if room < 1:
            raise UserError(
                self.tokenizer.name_or_path,
                f"takes {self.max_length} tokens, which leaves no room for a prompt before"
                f" {reserve} new ones.",
                "Ask for shorter answers.",
            )
        texts = [self.rendered(prompt, chooses) for prompt in prompts]
        self._check_turn(next((prompt for prompt in prompts if not isinstance(prompt, str)), ()))
        rows = self.tokenizer(
            texts, add_special_tokens=False, return_attention_mask=False, verbose=False
        )["input_ids"]
        encoded = []
        for row in rows:
            ids = tuple(row)
            if self.prefix and ids[: len(self.prefix)] == self.prefix:
                ids = ids[len(self.prefix) :]
            encoded.append(((*self.prefix, *ids[max(len(ids) - room, 0) :]), len(ids) > room))
        ensure_embedded(self.tokenizer, (token for ids, _ in encoded for token in ids))
        return encoded

    def count(self, text: str) -> int:
        """Tokens of a text, without a start token."""
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """The text that is sent: a conversation as the chat template writes it, ready for the
        model's turn, or to choose (see ``render_to_choose``).

        Raises:
            UserError: a conversation, but no chat template, or one that cannot be used so.
        """
        return rendered(self.tokenizer, prompt, chooses)

    def _check_turn(self, prompt: Sequence[Message]) -> None:
        """Warn, once, of a chat template that does not open the model's turn."""
        if prompt and not self._is_checked:
            self._is_checked = True
            if leaves_turn(self.tokenizer, _plain(prompt)):
                LOGGER.warning(
                    "%s: its chat template ignores add_generation_prompt, so the model's turn is"
                    " never opened; fix the template, or ask without it (chat_template: never)",
                    self.name,
                )


def rendered(tokenizer: Any, prompt: Prompt, chooses: bool = False) -> str:
    """The text that is sent; see ``Encoder.rendered``."""
    if isinstance(prompt, str):
        return prompt
    written = render_to_choose if chooses else render_chat
    return written(tokenizer, _plain(prompt))


def _plain(prompt: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt]


def own_tokens(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens that the tokenizer itself puts before and behind a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for k in range(len(full) - len(bare) + 1):
        if full[k : k + len(bare)] == bare:
            return tuple(full[:k]), tuple(full[k + len(bare) :])
    return (), ()


def drops_text(text: str, offsets: Sequence[tuple[int, int]]) -> bool:
    """Some tokenizers drop characters that they do not know, without a token for them."""
    at = 0
    for begin, end in (*offsets, (len(text), len(text))):
        if begin > at and not text[at:begin].isspace():
            return True
        at = max(at, end)
    return False
