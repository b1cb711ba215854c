"""What a survey shows: lists of trials, and the order in which one person sees them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


_SHOWN = ["kind", "question", "first_context", "second_context", "target"]


@dataclass(frozen=True)
class Trial:
    """One page with one answer.

    Attributes:
        kind: test, catch (the scenario says what to answer) or practice (an example before the first).
        question: its name in the lists; empty for practice. It never leaves the server: a catch trial's says what to answer.
        contexts: Likert: the one that is shown, or none for a catch trial; choice: two, in the order shown.
        target: the sentence after the context.
    """

    kind: str
    question: str
    contexts: tuple[str, ...]
    target: str


@dataclass(frozen=True)
class TrialList:
    """The trials of one person, in the order of the lists file.

    Attributes:
        name: the list's name.
        eval_type: likert or choice.
        domain: of its items; "mixed" where they come from several.
        round: each round contains every question once.
        trials: tests, and catch trials at their places.
    """

    name: str
    eval_type: str
    domain: str
    round: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Wording:
    """The words around the trials of one way of asking.

    Attributes:
        instructions: the page before the first trial, word for word.
        task: the question under each trial, word for word.
        answers: the labels of the buttons; the first is answer 1.
        practice: examples with which a person begins.
    """

    instructions: str
    task: str
    answers: tuple[str, ...]
    practice: tuple[Trial, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All lists of a survey.

    Attributes:
        digest: of the lists; every rating carries it.
        lists: by name.
        wordings: by eval type.
    """

    digest: str
    lists: Mapping[str, TrialList]
    wordings: Mapping[str, Wording]

    def wording(self, name: str) -> Wording:
        """The words around the trials of a list."""
        return self.wordings[self.lists[name].eval_type]

    @property
    def n_rounds(self) -> int:
        """How many lists contain each question."""
        return max(one.round for one in self.lists.values())


def read_plan(frame: pd.DataFrame, digest: str, wordings: Mapping[str, Wording]) -> Plan:
    """The lists of a table (contracts.StudyLists of ``worldprobe.human``).

    Args:
        frame: its rows.
        digest: of the set of lists.
        wordings: by eval type.
    """
    lists = {}
    for name, rows in frame.sort_values(["list", "position"]).groupby("list", sort=True):
        domains = sorted(set(rows["domain"].dropna()))
        trials = tuple(
            Trial(str(kind), str(question), tuple(text for text in (first, second) if isinstance(text, str)), str(target))
            for kind, question, first, second, target in rows[_SHOWN].itertuples(index=False)
        )
        domain = str(domains[0]) if len(domains) == 1 else "mixed"
        lists[str(name)] = TrialList(str(name), str(rows["eval_type"].iloc[0]), domain, int(rows["round"].iloc[0]), trials)
    return Plan(digest, lists, wordings)


def read_wording(instructions: str, block: str, answers: Sequence[str], examples: Sequence[Mapping[str, str]]) -> Wording:
    r"""The words of a prompt, as people see them: without the headings and the place for an answer.

    Args:
        instructions: the prompt's instructions, under a heading.
        block: its block, with a section "## Task".
        answers: its answers.
        examples: texts of its trial examples.

    >>> wording = read_wording("# HOW\n\nRead.", "## Scenario\n{target}\n\n## Task\nRate it.\n\n## Response", ["1", "2"], [])
    >>> wording.instructions, wording.task, wording.answers
    ('Read.', 'Rate it.', ('Context 1', 'Context 2'))
    """
    paragraphs = [line for line in instructions.splitlines() if not line.startswith("#")]
    task = block.partition("## Task\n")[2].partition("\n\n##")[0]
    labels = ("Context 1", "Context 2") if len(answers) == 2 else ("makes no sense", "", "", "", "makes perfect sense")
    practice = tuple(
        Trial("practice", "", tuple(one[name] for name in sorted(one) if name.startswith("context")), one["target"])
        for one in examples
    )
    return Wording("\n".join(paragraphs).strip(), task.strip(), labels, practice)


def shuffled(trials: Sequence[Trial], seed: int, is_shuffled: bool = True) -> list[int]:
    """The order in which one person sees a list: indices of its trials.

    Catch trials keep their places, at which the list has spread them; the tests between them are shuffled.

    Args:
        trials: of the list.
        seed: the person's, which is stored.
        is_shuffled: False: the list's own order, as in the paper.

    >>> trials = [Trial(kind, "", (), "") for kind in ("test", "catch", "test", "test")]
    >>> shuffled(trials, seed=3)
    [0, 1, 3, 2]
    >>> shuffled(trials, seed=3, is_shuffled=False)
    [0, 1, 2, 3]
    """
    order = list(range(len(trials)))
    if is_shuffled:
        tests = [index for index in order if trials[index].kind == "test"]
        moved = iter(random.Random(seed).sample(tests, len(tests)))
        order = [next(moved) if trials[index].kind == "test" else index for index in order]
    return order
