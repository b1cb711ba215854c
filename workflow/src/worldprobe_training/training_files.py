"""Reading what a model is fine-tuned on: trials in any layout, and dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from worldprobe.benchmarks.worldsense.inference.prompts import PromptSet
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY, problem_type
from worldprobe.benchmarks.worldsense.trials.files import read_lines, read_trials
from worldprobe.contracts import read_provenance
from worldprobe.errors import UserError
from worldprobe.models.engine import Message, Role
from worldprobe_training.lessons import Lesson

ROLES = ("system", "user", "assistant")
DIALOGUES = (
    "dialogues: one JSON object per line with messages (role and content), the last one the"
    " assistant's"
)


@dataclass(frozen=True)
class TrainingDialogue:
    """One conversation to learn from.

    Attributes:
        name: its id, or its line.
        messages: all of it but the answer.
        answer: the last message, which is the assistant's.
        canary: that the line carries, if any.
        is_plain: as plain text it is its messages and nothing else, and every answer in it counts.
    """

    name: str
    messages: tuple[Message, ...]
    answer: str
    canary: str | None = None
    is_plain: bool = False


def is_trials(path: Path | str) -> bool:
    """Whether a file has trials with their abstract fields rather than dialogues.

    Raises:
        UserError: the file cannot be read.
    """
    if str(path).endswith(".parquet"):
        return True
    first = next(read_lines(path), None)
    if first is None:
        raise UserError(path, "contains no lines.", f"Give trials, or {DIALOGUES}.")
    return "goldresp_obfusc" in first[1]


def first_tuples(trials: pd.DataFrame, number: int | None) -> pd.DataFrame:
    """About the first ``number`` trials: whole tuples, at least one."""
    if number is None or number >= len(trials):
        return trials
    starts = trials["tuple_id"].ne(trials["tuple_id"].shift()).to_numpy().nonzero()[0].tolist()
    end = max([start for start in starts if start <= number] or [0])
    return trials.iloc[: end or int(starts[1] if len(starts) > 1 else len(trials))]


def trials_as_dialogues(trials: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    """Name, text, kind of problem and answer of each trial."""
    rows = trials[["trial_id", "text", "problem", "gold"]].itertuples(index=False, name=None)
    for trial_id, text, problem, gold in rows:
        yield f"trial {trial_id}", text, problem_type(problem), ANSWER_OF[gold]


def lessons_of_trials(trials: pd.DataFrame, prompts: PromptSet, is_chat: bool) -> Iterator[Lesson]:
    """Trials as a prompting strategy asks them, with the right answers.

    Raises:
        UserError: the strategy finds nothing to rewrite in a text.
    """
    for name, text, kind, answer in trials_as_dialogues(trials):
        body = prompts.body(text, kind)
        if body is None:
            raise UserError(
                f"prompt_set: {prompts.name}",
                f"finds nothing to rewrite in the text of {name}.",
                "Take another one.",
            )
        yield _lesson(
            (Message("user", body),), prompts.written(kind, answer), name, prompts, is_chat
        )


def lessons_of_dialogues(
    dialogues: Sequence[TrainingDialogue], prompts: PromptSet, is_chat: bool
) -> Iterator[Lesson]:
    """Dialogues, in the form in which trials are asked where they are plain text."""
    for dialogue in dialogues:
        messages = dialogue.messages
        if not is_chat and dialogue.is_plain:
            pieces = tuple((message.content, message.role == "assistant") for message in messages)
            yield Lesson("", "", dialogue.name, (*pieces, (dialogue.answer, True)))
            continue
        if not is_chat:
            last = messages[-1]
            body = (
                prompts.question.replace("{text}", last.content)
                if _is_frame(prompts)
                else last.content
            )
            messages = (*messages[:-1], Message(last.role, body))
        yield _lesson(messages, dialogue.answer, dialogue.name, prompts, is_chat)


def _is_frame(prompts: PromptSet) -> bool:
    """Whether a strategy only puts words around a text."""
    return not prompts.rewrite and prompts.question.count("{") == 1


def _lesson(
    messages: tuple[Message, ...], answer: str, name: str, prompts: PromptSet, is_chat: bool
) -> Lesson:
    if is_chat:
        opening = (
            (Message("system", prompts.system),)
            if prompts.system and messages[0].role != "system"
            else ()
        )
        return Lesson((*opening, *messages), answer, name)
    text = "\n\n".join(message.content for message in messages)
    if prompts.system and messages[0].role != "system":
        text = f"{prompts.system}\n\n{text}"
    return Lesson(text if prompts.compares else f"{text}\n", answer, name)


def read_dialogues(path: Path | str) -> list[TrainingDialogue]:
    """The dialogues of a file: ours (``messages``), or the release's (``dialog_history`` and
    ``target_message``).

    Raises:
        UserError: the first line that is not one, by file and line.
    """
    dialogues = [
        _dialogue(entry, f"{path}, line {number}", number) for number, entry in read_lines(path)
    ]
    if not dialogues:
        raise UserError(path, "contains no dialogues.", f"Give {DIALOGUES}.")
    return dialogues


def _dialogue(entry: dict[str, Any], where: str, number: int) -> TrainingDialogue:
    messages = entry.get("messages")
    if messages is None and "dialog_history" in entry:
        history, target = entry["dialog_history"], entry.get("target_message")
        messages = history.get("messages") if isinstance(history, dict) else None
        last = target if isinstance(target, dict) else {"role": "assistant", "content": target}
        messages = [*messages, last] if isinstance(messages, list) else None
    if not isinstance(messages, list) or len(messages) < 2:
        raise UserError(where, "has no list of at least two messages.", f"Give {DIALOGUES}.")
    read = tuple(_message(message, where) for message in messages)
    if read[-1].role != "assistant" or read[-2].role != "user":
        raise UserError(
            where,
            "does not end with a message of the user and one of the assistant.",
            f"Give {DIALOGUES}.",
        )
    if not read[-1].content.strip():
        raise UserError(where, "has an empty answer.", "Give the text that the model must write.")
    canary = entry.get("canary")
    name = str(entry.get("id") or f"line {number}")
    carried = canary if isinstance(canary, str) else None
    return TrainingDialogue(
        name, read[:-1], read[-1].content.strip(), carried, entry.get("plain") is True
    )


def _message(message: Any, where: str) -> Message:
    if not isinstance(message, dict) or not isinstance(message.get("content"), str):
        raise UserError(where, "has a message without text as its content.", f"Give {DIALOGUES}.")
    role = {"human": "user", "gpt": "assistant"}.get(str(message.get("role")), message.get("role"))
    if role not in ROLES:
        raise UserError(
            where, f"has a message of the role {role!r}.", f"The roles are {', '.join(ROLES)}."
        )
    return Message(cast(Role, role), message["content"])


def canary_of_dialogues(path: Path | str, dialogues: Sequence[TrainingDialogue] = ()) -> str | None:
    """The canary that a training file carries, so that the tuned model's card can carry it too."""
    if str(path).endswith(".parquet"):
        return read_provenance(path).canary
    return CANARY if any(dialogue.canary == CANARY for dialogue in dialogues) else None


def read_texts(paths: Iterable[Path | str]) -> Iterator[str]:
    """The texts of training files with their answers, as a tokenizer learns from them."""
    for path in paths:
        if is_trials(path):
            yield from (
                f"{text}\nAnswer: {answer}"
                for _, text, _, answer in trials_as_dialogues(read_trials(path))
            )
        else:
            for dialogue in read_dialogues(path):
                yield "\n".join(
                    [
                        *(message.content for message in dialogue.messages),
                        f"Answer: {dialogue.answer}",
                    ]
                )
