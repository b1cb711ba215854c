"""From training files to tokens: trials and dialogues become lessons, and test tuples among them are refused or noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from worldprobe.benchmarks.worldsense.finetuning import contamination, training_files
from worldprobe.benchmarks.worldsense.finetuning.contamination import TestedTuples
from worldprobe.benchmarks.worldsense.inference.prompts import PromptSet
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.chat import Encoder
from worldprobe.training.lessons import Lesson, Material, encode_lessons


@dataclass
class MaterialReader:
    """Reads training files, all in one form.

    Attributes:
        prompts: how a trial is asked.
        is_chat: lessons are written through the chat template; else as plain text.
        encoder: of the model that is trained.
        is_all: every token of a lesson counts for the loss; else the answer's alone.
        tests: what must not be trained on.
        is_contamination_allowed: test tuples are noted in ``contamination``; else they are refused.
        contamination: ids of the test tuples in what was read.
        canary: what was read carries it, if any.
    """

    prompts: PromptSet
    is_chat: bool
    encoder: Encoder
    is_all: bool
    tests: TestedTuples
    is_contamination_allowed: bool
    contamination: list[str] = field(default_factory=list)
    canary: str | None = None

    def read_train(self, paths: Sequence[Path], most: int | None) -> Material:
        """The lessons of files of trials or dialogues.

        Args:
            paths: the files.
            most: trials and dialogues to take, the first ones, trials as whole tuples; None: all.

        Raises:
            UserError: a file cannot be read, contains test tuples, or there are no lessons.
        """
        lessons: list[Iterator[Lesson]] = []
        for path in paths:
            if most == 0:
                break
            if training_files.is_trials(path):
                trials = training_files.first_tuples(read_trials(path), most)
                number = len(trials)
                lessons.append(training_files.lessons_of_trials(trials, self.prompts, self.is_chat))
                self._note(path, contamination.in_trials(trials, self.tests), training_files.canary_of(path))
            else:
                dialogues = training_files.read_dialogues(path)[:most]
                number = len(dialogues)
                lessons.append(self._of_dialogues(path, dialogues))
            most = None if most is None else max(most - number, 0)
        material = encode_lessons(chain(*lessons), self.encoder, self.is_all)
        if not len(material):
            raise UserError(", ".join(map(str, paths)), "contain no lessons.", "Give trials, or dialogues.")
        return material

    def read_mixed(self, paths: Sequence[Path], room: int) -> Material:
        """The lessons of dialogues that are mixed in; those of more than ``room`` tokens are left out and counted.

        Raises:
            UserError: a file cannot be read or contains test tuples, or all lessons are too long.
        """
        lessons = [self._of_dialogues(path, training_files.read_dialogues(path)) for path in paths]
        whole = encode_lessons(chain(*lessons), self.encoder, self.is_all)
        kept = whole.without(room)
        if not len(kept):
            problem = f"all {len(whole)} lessons have more than {room} tokens."
            raise UserError("--mix", problem, "Take a longer --sequence-length.")
        if len(kept) < len(whole):
            LOGGER.warning(
                "--mix: %d of %d lessons have more than %d tokens and are left out", len(whole) - len(kept), len(whole), room
            )
        return kept

    def _of_dialogues(self, path: Path, dialogues: Sequence[training_files.Dialogue]) -> Iterator[Lesson]:
        canary = training_files.canary_of(path, dialogues)
        self._note(path, contamination.in_dialogues(dialogues, self.tests), canary)
        return training_files.lessons_of_dialogues(dialogues, self.prompts, self.is_chat)

    def _note(self, path: Path, found: Sequence[str], canary: str | None) -> None:
        contamination.refuse_tests(path, found, self.is_contamination_allowed)
        self.contamination += found
        self.canary = canary or self.canary
