"""Which tokens may follow so that an answer stays within its options; plain Python over a tokenizer.

Constrained greedy decoding takes, at each step, the likeliest token whose text keeps the answer a beginning of an option. As soon
as one option is left the answer is settled, so numerals need one step: one forward pass per prompt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldprobe.errors import UserError

#: Tokens that stay free behind a prompt whose answer is one of a few options: the longest answer.
OPTION_ROOM = 16
BYTE_PIECE = re.compile(r"^<0x([0-9A-F]{2})>$")


class Options:
    """The allowed answers, and the tokens that can write them.

    Args:
        tokenizer: of transformers.
        options: answers, none the beginning of another.

    Raises:
        UserError: an option begins another, or the tokenizer cannot write one.
    """

    def __init__(self, tokenizer: Any, options: Sequence[str]) -> None:
        self.options = tuple(options)
        for one in options:
            if not one or any(other != one and other.startswith(one) for other in options):
                raise UserError(
                    f"option {one!r}", "is empty or the beginning of another option.", "Choose options that differ earlier."
                )
        #: token id -> the text that it adds.
        self.pieces = self._pieces(tokenizer)
        for option in options:
            if not self._can_write(option):
                raise UserError(f"option {option!r}", "cannot be written in this tokenizer.", "Choose other options.")

    def _pieces(self, tokenizer: Any) -> dict[int, str]:
        """Token -> text, for all tokens whose text occurs in an option; read off behind a newline, as prompts end."""
        letters = set("".join(self.options))
        plain = all(option.isascii() for option in self.options)
        special = set(tokenizer.all_special_ids)
        candidates = []
        for piece, index in tokenizer.get_vocab().items():
            byte = BYTE_PIECE.match(piece)
            text = chr(int(byte[1], 16)) if byte else piece
            if index not in special and (not plain or byte or set(text) <= letters):
                candidates.append(index)
        anchor = tokenizer("\n", add_special_tokens=False)["input_ids"]
        before = tokenizer.decode(anchor, clean_up_tokenization_spaces=False)
        rows = [[*anchor, index] for index in sorted(candidates)]
        texts = [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in rows]
        pieces = {
            index: text[len(before) :] for index, text in zip(sorted(candidates), texts, strict=True) if text.startswith(before)
        }
        return {index: text for index, text in pieces.items() if text and any(text in option for option in self.options)}

    def _can_write(self, option: str, written: str = "") -> bool:
        return written == option or any(
            option.startswith(written + text) and self._can_write(option, written + text) for text in set(self.pieces.values())
        )

    def allowed(self, written: str) -> dict[int, str]:
        """Tokens that keep the answer a beginning of an option."""
        return {
            index: text
            for index, text in self.pieces.items()
            if any(option.startswith(written + text) for option in self.options)
        }

    def settled(self, written: str) -> str | None:
        """The one option that is left, or None while there are several."""
        left = [option for option in self.options if option.startswith(written)]
        return left[0] if len(left) == 1 else None

    def takes_one_token(self) -> bool:
        """Does any first token settle the answer, as with numerals?"""
        return all(self.settled(text) for text in self.allowed("").values())


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer within its options, as far as it is written: one implementation for every engine.

    Attributes:
        options: what may be answered.
        written: the text so far.
        margin: by how many nats, at the closest step, the best token of other text was behind; infinite where there was none.
    """

    options: Options
    written: str = ""
    margin: float = math.inf

    def best(self, values: Mapping[int, float]) -> int | None:
        """The likeliest allowed token, by log probabilities or logits; of equals the one with the smallest id.

        None where an allowed token's value is not finite: then no token is the likeliest.
        """
        allowed = sorted(self.options.allowed(self.written))
        if not all(math.isfinite(values[token]) for token in allowed):
            return None
        return max(allowed, key=lambda token: values[token])

    def take(self, token: int, values: Mapping[int, float]) -> Answer | None:
        """The answer with one token more, or None where the options do not allow it.

        Args:
            token: what is written.
            values: token -> log probability or logit, at least of the likeliest allowed ones; empty where they are not known.
        """
        texts = self.options.allowed(self.written)
        if token not in texts:
            return None
        others = [value for other, value in values.items() if other in texts and texts[other] != texts[token]]
        gap = values[token] - max(others) if others and token in values else math.inf
        return Answer(self.options, self.written + texts[token], min(self.margin, gap))

    def settled(self) -> tuple[str, float | None] | None:
        """The option that is settled on, and the margin where it is known; None while there are several."""
        option = self.options.settled(self.written)
        return None if option is None else (option, self.margin if math.isfinite(self.margin) else None)
