"""How one trial is asked and read (paper, Section 4.2): the last word counts; where it is no answer, one second question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worldprobe.asking.dialogue import extend
from worldprobe.asking.questions import Write
from worldprobe.asking.readers import Reading, last_word
from worldprobe.models.engine import Decoding, Prompt, Written


@dataclass(frozen=True)
class TrialDialogue:
    """A reply, and a second question where it gives no answer; a ``Dialogue``.

    Attributes:
        answers: the accepted ones.
        decoding: how the first reply is written.
        says: the second question; None for none.
        then: how its reply is written.
    """

    answers: tuple[str, ...]
    decoding: Decoding
    says: str | None
    then: Decoding

    def question(self, prompt: Prompt, replies: Sequence[Written]) -> Write:
        """See ``Dialogue.question``."""
        return Write(prompt, self.then if replies else self.decoding)

    def follow_up(self, prompt: Prompt, replies: Sequence[Written]) -> Prompt | None:
        """See ``Dialogue.follow_up``: one, where the first reply was cut or ends with no accepted answer."""
        if self.says is None or len(replies) > 1 or self.read(replies).status not in ("invalid", "length"):
            return None
        return extend(prompt, replies[-1], self.says)

    def read(self, replies: Sequence[Written]) -> Reading:
        """See ``Dialogue.read``: the last reply counts; the last word of one that was cut is not its end, so it is not read."""
        last = replies[-1]
        if last.finish == "not_finite":
            return Reading(None, "not_finite")
        if last.prompt_was_cut:
            return Reading(None, "truncated")
        if last.finish == "length":
            return Reading(None, "length")
        value = last_word(self.answers)(last.text).value
        return Reading(value, "invalid" if value is None else "ok")
