"""Whether lessons contain anything of a test: a relation's words, an entity, or the sentence that begins a description.

Stricter than ``contamination``, which looks for trials: of a test's words a lesson may have those of grammar alone. A
description of a test, and a test's entity in a test's relation, are then impossible. It does not ask whether the form of the
task is taught: lessons do teach it (docs/background/worldsense_training.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from worldprobe.benchmarks.worldsense.skins.phrases import GRAMMAR, pieces_of, words_of
from worldprobe.benchmarks.worldsense.skins.skins import Skin
from worldprobe.errors import UserError

#: Uses of skins that only tests have.
TESTED = ("test", "test-new")
#: Pieces of tests' sentences that say nothing by themselves.
FUNCTION = ("is", "was", "did", "does", "to", "from", "of")


class LessonCheck:
    """Finds the words of tests in lessons."""

    def __init__(self, skins: Iterable[Skin]) -> None:
        """Read the tests' entities and words, and take from them what a training skin says too."""
        skins = list(skins)
        tested, trained = (
            {_words(text) for skin in skins if skin.use in uses for text in (*skin.entities, *pieces_of(words_of(skin)))}
            for uses in (TESTED, ("train",))
        )
        self.tested = tested - trained - set(map(_words, (*GRAMMAR, *FUNCTION)))
        # A training skin's phrase is looked for too: it may contain a test's, as "Cousin Emily" does.
        self.phrases: dict[str, list[tuple[str, ...]]] = {}
        for phrase in sorted(self.tested | trained, key=lambda phrase: (-len(phrase), phrase)):
            self.phrases.setdefault(phrase[0], []).append(phrase)

    def found_in(self, texts: Iterable[str]) -> str | None:
        """The first phrase of a test in some texts."""
        words = _words("\n".join(texts))
        place = 0
        while place < len(words):
            here = self.phrases.get(words[place], ())
            phrase = next((one for one in here if words[place : place + len(one)] == one), words[place : place + 1])
            if phrase in self.tested:
                return " ".join(phrase)
            place += len(phrase)
        return None

    def checked(self, lesson: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
        """A lesson.

        Raises:
            UserError: a phrase of a test is in it.
        """
        found = self.found_in([text for text, _ in lesson])
        if found:
            problem = f"contains {found!r}, which only tests have."
            raise UserError("write-lessons", problem, "Take skins for training (`use: train`) whose words no test has.")
        return lesson


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))
