"""Lessons for fine-tuning: prompts with their right answers, as tokens, and the order in which
training sees them.

A lesson is tokenised as ``worldprobe.models.chat`` tokenises the same prompt when the model is
asked, so that training and asking agree token by token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from worldprobe.errors import UserError
from worldprobe.models.chat import Encoder
from worldprobe.models.engine import STRADDLE, Loglikelihood, Message, Prompt

#: Lessons that are tokenised in one call.
_BLOCK = 4096
#: Steps whose lessons are sorted by length together.
STEPS_SORTED_TOGETHER = 32


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt with its right answer.

    Attributes:
        prompt: text that the model continues after one space, or a conversation that goes through
            its chat template.
        answer: what the model must write.
        name: of the trial or line, for messages.
        pieces: a text of several answers instead: pieces that are joined by one space, each with
            whether it is one.
    """

    prompt: Prompt
    answer: str
    name: str
    pieces: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True)
class TokenisedLessons:
    """Tokenised lessons, one behind the other.

    Attributes:
        ids: token ids of all lessons.
        ends: where each lesson ends in ``ids``.
        counts: for each token, whether it counts for the loss.
        names: of the lessons.
    """

    ids: np.ndarray
    ends: np.ndarray
    counts: np.ndarray
    names: tuple[str, ...]

    def __len__(self) -> int:
        """Number of lessons."""
        return len(self.ends)

    def lesson(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of a lesson, and which of them count."""
        here = slice(self.ends[number - 1] if number else 0, self.ends[number])
        return self.ids[here], self.counts[here]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each lesson."""
        return np.diff(self.ends, prepend=0)

    def without(self, longer_than: int) -> TokenisedLessons:
        """The lessons that have at most so many tokens."""
        is_kept = self.lengths <= longer_than
        tokens = np.repeat(is_kept, self.lengths)
        names = tuple(name for name, keep in zip(self.names, is_kept, strict=True) if keep)
        return TokenisedLessons(
            self.ids[tokens], np.cumsum(self.lengths[is_kept]), self.counts[tokens], names
        )


def encode_lessons(
    lessons: Iterable[Lesson], encoder: Encoder, is_all: bool = False
) -> TokenisedLessons:
    """Tokenise lessons.

    Args:
        lessons: all of one form or mixed.
        encoder: of the model that is trained.
        is_all: every token of a lesson counts for the loss but the first; else the answer's and the
            end token alone.

    Raises:
        UserError: a conversation and no chat template, or an answer whose first token contains a
            part of the prompt.
    """
    rows: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    names: list[str] = []
    waiting = iter(lessons)
    while block := list(islice(waiting, _BLOCK)):
        for lesson, (ids, is_answer) in zip(block, _encode_block(block, encoder), strict=True):
            rows.append(np.array(ids, np.int32))
            counts.append(np.ones(len(ids), bool) if is_all else np.array(is_answer, bool))
            names.append(lesson.name)
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    if not rows:
        return TokenisedLessons(np.zeros(0, np.int32), ends, np.zeros(0, bool), ())
    return TokenisedLessons(np.concatenate(rows), ends, np.concatenate(counts), tuple(names))


def _encode_block(
    lessons: Sequence[Lesson], encoder: Encoder
) -> Iterator[tuple[Sequence[int], Sequence[bool]]]:
    """Token ids, and which are those of answers, lesson by lesson."""
    # The longest sequence is checked once for all lessons (``tuning_checks``); here nothing may be
    # cut.
    whole = Encoder.__new__(Encoder)
    whole.__dict__ |= encoder.__dict__ | {"max_length": 1 << 40}
    end = encoder.tokenizer.eos_token_id
    after = (end,) if end is not None else ()
    texts = [lesson for lesson in lessons if isinstance(lesson.prompt, str) and not lesson.pieces]
    encoded = iter(
        whole.encode([Loglikelihood(str(lesson.prompt), lesson.answer) for lesson in texts])
    )
    conversations = [lesson.prompt for lesson in lessons if not isinstance(lesson.prompt, str)]
    prompts = iter(whole.encode_prompts(conversations, 0))
    for lesson in lessons:
        if lesson.pieces:
            ids, is_answer = _encode_pieces(lesson, whole)
            yield (*ids, *after), (*is_answer, *(True for _ in after))
            continue
        if isinstance(lesson.prompt, str):
            query = next(encoded)
            if STRADDLE in query.flags:
                problem = (
                    "has a token that joins the end of the prompt and the beginning of the answer."
                )
                fix = (
                    "Train through the chat template (--chat always), or end the prompt otherwise."
                )
                raise UserError(lesson.name, problem, fix)
            ids, start = (*query.ids, *after), query.start
        else:
            opening = next(prompts)[0]
            ids, start = (*opening, *_turn(lesson, encoder.tokenizer, whole)), len(opening)
        yield ids, [position >= start for position in range(len(ids))]


def _encode_pieces(lesson: Lesson, encoder: Encoder) -> tuple[tuple[int, ...], list[bool]]:
    """Token ids of a text of pieces; the space before an answer belongs to it."""
    text = " ".join(piece for piece, _ in lesson.pieces)
    batch = encoder.tokenizer(
        text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    ends = np.cumsum([len(piece) + (number > 0) for number, (piece, _) in enumerate(lesson.pieces)])
    of_token = np.searchsorted(ends, [end for _, end in batch["offset_mapping"]])
    is_answer = [lesson.pieces[min(piece, len(ends) - 1)][1] for piece in of_token]
    return (*encoder.prefix, *batch["input_ids"]), [*(False for _ in encoder.prefix), *is_answer]


def _turn(lesson: Lesson, tokenizer: Any, encoder: Encoder) -> list[int]:
    """The tokens of the model's turn: its answer and what the chat template ends a turn with."""
    messages = [
        {"role": message.role, "content": message.content}
        for message in lesson.prompt
        if isinstance(message, Message)
    ]
    before = encoder.rendered(lesson.prompt)
    try:
        whole = tokenizer.apply_chat_template(
            [*messages, {"role": "assistant", "content": lesson.answer}], tokenize=False
        )
    except (
        Exception
    ):  # a template is a program of its author's; some take no turn of the model at the end
        whole = ""
    turn = whole.removeprefix(before).rstrip() if whole.startswith(before) else ""
    if (
        lesson.answer not in turn
    ):  # the template writes finished turns in another way than it opens one
        turn = lesson.answer + (tokenizer.eos_token or "")
    return list(tokenizer(turn, add_special_tokens=False, verbose=False)["input_ids"])


def lesson_order(
    n_lessons: int,
    n_mixed: int,
    batch: int,
    steps: int,
    share: float = 0.0,
    is_shuffled: bool = True,
    seed: int = 0,
    lengths: np.ndarray | None = None,
) -> np.ndarray:
    """The number of the lesson that training sees at each place.

    Args:
        n_lessons: lessons.
        n_mixed: lessons that are mixed in; their numbers follow those of the lessons.
        batch: places of a step.
        steps: optimiser steps.
        share: of the places that have mixed-in lessons; exact over all steps, and in every step up
            to one place.
        is_shuffled: both are seen in an order drawn anew for each pass; else in their own.
        seed: of the order.
        lengths: of all lessons; where given, lessons of like length share a step.

    Returns:
        Shape (steps * batch), int64.

    >>> lesson_order(3, 2, batch=2, steps=3, share=0.5, is_shuffled=False)
    array([0, 3, 1, 4, 2, 3])
    """
    done = np.floor(np.arange(1, steps + 1) * batch * share + 1e-9).astype(np.int64)
    mixed_in_step = np.diff(done, prepend=0)
    rng = np.random.default_rng([seed, 2])
    mixed = _passes(n_mixed, int(done[-1]) if steps else 0, is_shuffled, rng) + n_lessons
    drawn = _passes(n_lessons, steps * batch - len(mixed), is_shuffled, rng)
    order = np.empty((steps, batch), np.int64)
    is_mixed = np.arange(batch)[::-1] < mixed_in_step[:, None]
    order[~is_mixed] = drawn
    order[is_mixed] = mixed
    return order.ravel() if lengths is None else _group(order, lengths, rng)


def _group(order: np.ndarray, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same lessons, sorted by length within some steps at a time; the steps are then
    shuffled.
    """
    grouped = []
    for start in range(0, len(order), STEPS_SORTED_TOGETHER):
        block = order[start : start + STEPS_SORTED_TOGETHER]
        flat = block.ravel()
        steps = flat[np.argsort(lengths[flat], kind="stable")].reshape(block.shape)
        grouped.append(steps[rng.permutation(len(steps))])
    return np.concatenate(grouped).ravel()


def _passes(number: int, length: int, is_shuffled: bool, rng: np.random.Generator) -> np.ndarray:
    """Numbers below ``number``, each once in every pass, as many passes as the places need."""
    if not length:
        return np.zeros(0, np.int64)
    passes = [
        rng.permutation(number) if is_shuffled else np.arange(number)
        for _ in range(-(-length // number))
    ]
    return np.concatenate(passes)[:length]


#: Label of a token that does not count.
IGNORED = -100


@dataclass(frozen=True)
class Collator:
    """Puts lessons into the rows of a batch.

    Attributes:
        padding: token id of places without a lesson.
        is_packed: several lessons may share a row.
    """

    padding: int
    is_packed: bool = True

    def __call__(self, lessons: Sequence[Mapping[str, np.ndarray]]) -> dict[str, torch.Tensor]:
        """A batch.

        Args:
            lessons: each with ``ids`` and ``labels`` of one length.

        Returns:
            ``input_ids``, ``labels`` and ``position_ids``, each of shape (rows, longest), int64.
        """
        longest = max(len(lesson["ids"]) for lesson in lessons)
        rows = (
            pack([len(lesson["ids"]) for lesson in lessons], longest)
            if self.is_packed
            else [[n] for n in range(len(lessons))]
        )
        tokens = np.full((len(rows), longest), self.padding, np.int64)
        labels = np.full_like(tokens, IGNORED)
        # Padding behind a single lesson continues its positions, which leaves transformers its
        # fastest way; behind several it has positions of its own, so that each place is a lesson of
        # one token.
        positions = np.tile(np.arange(longest), (len(rows), 1))
        for row, members in enumerate(rows):
            at = 0
            for number in members:
                ids = lessons[number]["ids"]
                here = slice(at, at + len(ids))
                tokens[row, here], labels[row, here] = ids, lessons[number]["labels"]
                labels[row, at] = IGNORED  # nothing predicts the first token of a lesson
                positions[row, here] = np.arange(len(ids))
                at += len(ids)
            if len(members) > 1:
                positions[row, at:] = 0
        arrays = {"input_ids": tokens, "labels": labels, "position_ids": positions}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


def pack(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Lessons that share a row: each, longest first, goes into the first row with room for it.

    >>> pack([2, 5, 3, 4], room=5)
    [[1], [3], [2, 0]]
    """
    rows: list[list[int]] = []
    left: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        row = next((row for row, free in enumerate(left) if free >= lengths[number]), None)
        if row is None:
            rows.append([])
            left.append(room)
            row = len(rows) - 1
        rows[row].append(number)
        left[row] -= lengths[number]
    return rows
