"""How one trial is asked and read (paper, Section 4.2): where the first reply gives no answer, one second question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worldprobe.inference.dialogue import Reader, Reading, extend
from worldprobe.inference.requests import Generate
from worldprobe.models.engine import Completion, Decoding, Prompt


def is_whole(reply: Completion) -> bool:
    """Can a reply be read? Not one that was cut, nor one to a question that was cut."""
    return reply.finish not in ("length", "not_finite") and not reply.prompt_was_cut


@dataclass(frozen=True)
class TrialDialogue:
    """A reply, and a second question where it gives no answer; a ``Dialogue``.

    Attributes:
        reader: reads a reply.
        decoding: how the first reply is written.
        says: the second question; None for none.
        then: how its reply is written.
    """

    reader: Reader
    decoding: Decoding
    says: str | None
    then: Decoding

    def question(self, prompt: Prompt, replies: Sequence[Completion]) -> Generate:
        """See ``Dialogue.question``."""
        return Generate(prompt, self.then if replies else self.decoding)

    def follow_up(self, prompt: Prompt, replies: Sequence[Completion]) -> Prompt | None:
        """See ``Dialogue.follow_up``: one, where the first reply was cut or gives no answer for certain."""
        if self.says is None or len(replies) > 1 or self.read(replies).status in ("ok", "truncated", "not_finite"):
            return None
        return extend(prompt, replies[-1], self.says)

    def read(self, replies: Sequence[Completion]) -> Reading:
        """See ``Dialogue.read``: the last reply counts; one that was cut is not read, as its end is not there."""
        last = replies[-1]
        if last.finish == "not_finite":
            return Reading(None, "not_finite")
        if last.prompt_was_cut:
            return Reading(None, "truncated")
        if last.finish == "length":
            return Reading(None, "length")
        reading = self.reader(last.text)
        return Reading(reading.value, reading.status if reading.status in ("ok", "ambiguous", "refused") else "invalid")
