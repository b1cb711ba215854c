"""Prompting strategies as data (paper, Section 5.3, Appendices B and E): one YAML file each, which
users can copy and change.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, ANSWERS, answers_of
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import digest_file
from worldprobe.paths import RESOURCES
from worldprobe.settings.blocks import Block, Count, Distinct, Finding, Text, parse
from worldprobe.settings.documents import read_yaml

if TYPE_CHECKING:
    import pandas as pd

FOLDER = RESOURCES / "prompts" / "worldsense"
#: Names of sets, which are names of folders and values of a column.
NAME = re.compile(r"[a-z][a-z0-9_]*")
_SLOT = re.compile(r"\{(\w+)\}")
#: Key -> the slots that are filled in its text.
_SLOTS = {
    "question": {"text", "answers", "quoted", "number"},
    "follow_up": {"answers", "quoted", "number"},
    "solution": {"answer"},
}
#: Keys that say how a model writes.
_OF_WRITING = ("system", "follow_up", "tokens", "follow_up_tokens", "stops")
_Truth = Literal["TRUE", "FALSE"]
_Possibility = Literal["POSSIBLE", "IMPOSSIBLE"]
_Number = Literal["1", "2", "3"]


class Rewrite(Block):
    """Passages that are replaced."""

    find: Text
    """A regular expression (Python)."""

    put: str
    r"""What takes its place; \1 is its first group."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.find, re.DOTALL)

    def findings(self) -> Iterator[Finding]:
        """Faults in the expression and its replacement."""
        try:
            self.pattern.sub(self.put, "")  # reads the replacement, too
        except (re.error, OverflowError, IndexError) as error:
            yield (
                ("find",),
                f"is not a valid regular expression with its replacement ({error}).",
                "Fix it.",
            )


class Answers(Block):
    """The order in which answers are listed, where it is not the problem's own."""

    Infer: Annotated[Distinct[_Truth], Field(min_length=2)] = ["TRUE", "FALSE"]
    """Order of TRUE and FALSE."""

    Consist: Annotated[Distinct[_Possibility], Field(min_length=2)] = ["POSSIBLE", "IMPOSSIBLE"]
    """Order of POSSIBLE and IMPOSSIBLE."""

    Compl: Annotated[Distinct[_Number], Field(min_length=3)] = ["1", "2", "3"]
    """Order of 1, 2 and 3."""

    def __getitem__(self, kind: str) -> Sequence[str]:
        """The answers of a kind of problem."""
        listed: Sequence[str] = getattr(self, kind)
        return listed


class Meaning(Block):
    """What a written answer means in the trial's own terms, where rewriting changed it."""

    Infer: dict[_Truth, _Truth] = {}
    """Written answers, each with the TRUE or FALSE that it means."""

    Consist: dict[_Possibility, _Possibility] = {}
    """Written answers, each with the POSSIBLE or IMPOSSIBLE that it means."""

    Compl: dict[_Number, _Number] = {}
    """Written answers, each with the 1, 2 or 3 that it means."""

    def findings(self) -> Iterator[Finding]:
        """Two answers of one meaning."""
        for kind, words in ANSWERS.items():
            pairs = getattr(self, kind)
            if len({pairs.get(word, word) for word in words}) < len(words):
                yield (kind,), "gives two answers the same meaning.", "Give each its own."


class Examples(Block):
    """Solved examples before the question."""

    number: Annotated[int, Field(ge=1, le=100)]
    """Number of examples."""

    skin: Literal["same_skin", "other_domain"] = Field(alias="from")
    """Whose words the examples have. same_skin, the question's own; other_domain, those of one skin
    of another domain.
    """

    opening: str
    """What precedes the examples."""

    heading: str
    """What precedes each example and the question."""

    solution: str = Field(pattern=r"\{answer\}")
    """What follows an example; {answer} is its answer."""

    @property
    def other_domain(self) -> bool:
        """Whether they have another skin, of another domain; else the question's own."""
        return self.skin == "other_domain"

    def findings(self) -> Iterator[Finding]:
        """Slots that are not filled."""
        yield from _slot_findings("solution", self.solution)
        for key in ("opening", "heading"):
            yield from _slot_findings(key, getattr(self, key))


class PromptSet(Block):
    """A prompting strategy: how a trial is asked; one file per strategy
    (`resources/prompts/worldsense`).
    """

    ask: Literal["write", "compare"]
    """How a model answers. write, in words of which the last is its answer; compare, by the
    answers' log probabilities.
    """

    calibrated: bool = False
    """Compare answers relative to the mean log odds over all tuples of a form (problem, wording,
    form of query); else plain sums.
    """

    system: Text | None = None
    """A system message, for models that are asked through a chat template; null for none."""

    question: str = Field(pattern=r"\{text\}")
    """What is asked, with {text} for the trial's text; {answers} becomes TRUE, FALSE; {quoted}
    ‘TRUE’, ‘FALSE’; {number} 2.
    """

    rewrite: list[Rewrite] = []
    """Passages of the trial's text that are replaced, each with find (a regular expression) and
    put; at least one must be found.
    """

    answers: Answers = Answers()
    meaning: Meaning = Meaning()

    examples: Examples | None = None
    """Solved examples before the question."""

    follow_up: Text | None = None
    """What is said once where a reply has no accepted answer; null says nothing."""

    tokens: Count = 256
    """Most new tokens of the first reply, thoughts apart."""

    follow_up_tokens: Count = 64
    """Most new tokens of the reply to the follow-up, thoughts apart."""

    stops: list[Text] = []
    """Texts that end a reply of a model that is asked in plain text."""

    _name: str = PrivateAttr("")
    _digest: str = PrivateAttr("")

    @property
    def name(self) -> str:
        """Name of its file."""
        return self._name

    @property
    def digest(self) -> str:
        """SHA-256 of its file."""
        return self._digest

    @property
    def compares(self) -> bool:
        """Whether the answers' log probabilities are compared; else the model writes."""
        return self.ask == "compare"

    def findings(self) -> Iterator[Finding]:
        """Keys that do nothing, and slots that are not filled."""
        for key in _OF_WRITING if self.compares else ():
            if key in self.model_fields_set and getattr(self, key):
                yield (
                    (key,),
                    "has no effect on answers that are compared.",
                    "Remove the key, or set ask: write.",
                )
        if self.calibrated and not self.compares:
            yield (
                ("calibrated",),
                "has no effect on answers that are written.",
                "Remove the key, or set ask: compare.",
            )
        for key in ("question", "follow_up", "system"):
            yield from _slot_findings(key, getattr(self, key) or "")
        if self.question.count("{text}") != 1:
            yield ("question",), "contains {text} more than once.", "Name it once."

    def body(self, text: str, kind: str) -> str | None:
        """A question or example: the trial's text, rewritten, in the question's words; None where
        nothing is found to rewrite.

        Args:
            text: the trial's text.
            kind: Infer, Consist or Compl.
        """
        total = 0
        for rewriting in self.rewrite:
            text, count = rewriting.pattern.subn(rewriting.put, text)
            total += count
        if self.rewrite and not total:
            return None
        if self.rewrite or self.examples or self.question != "{text}":
            text = text.rstrip()
        return self._fill(self.question, kind, text=text)

    def whole(self, body: str, solved: Sequence[tuple[str, str]]) -> str:
        """The whole prompt.

        Args:
            body: the question's body.
            solved: body and answer of each example.
        """
        if self.examples is None:
            return body
        layout = self.examples
        blocks = [
            f"{layout.heading}\n{example}\n{_put(layout.solution, {'answer': answer})}\n"
            for example, answer in solved
        ]
        return f"{layout.opening}\n{''.join(blocks)}{layout.heading}\n{body}{self.ending}"

    @property
    def ending(self) -> str:
        """The beginning of a solution for the model to complete (Appendix E.2)."""
        begun = (
            ""
            if self.examples is None
            else self.examples.solution.partition("{answer}")[0].rstrip()
        )
        return f"\n{begun}" if begun else ""

    def second_question(self, kind: str) -> str | None:
        """The follow-up to a first reply without an accepted answer; None where there is none."""
        return None if self.follow_up is None else self._fill(self.follow_up, kind)

    def meant(self, kind: str, answer: str) -> str:
        """A written answer in the trial's own terms."""
        meaning: Mapping[str, str] = getattr(self.meaning, kind)
        return meaning.get(answer, answer)

    def written(self, kind: str, answer: str) -> str:
        """How an answer in the trial's own terms is written: the inverse of ``meant``."""
        return next((word for word in ANSWERS[kind] if self.meant(kind, word) == answer), answer)

    def _fill(self, template: str, kind: str, **more: str) -> str:
        listed = self.answers[kind]
        quoted = ", ".join(
            f"\N{LEFT SINGLE QUOTATION MARK}{answer}\N{RIGHT SINGLE QUOTATION MARK}"
            for answer in listed
        )
        return _put(
            template,
            {"answers": ", ".join(listed), "quoted": quoted, "number": str(len(listed)), **more},
        )


def _put(template: str, slots: Mapping[str, str]) -> str:
    """Put texts into slots, each once; braces inside a text stay as they are."""
    return _SLOT.sub(lambda match: slots[match[1]], template)


def _slot_findings(key: str, text: str) -> Iterator[Finding]:
    """Slots of a text that nothing is put into; texts without slots may have other braces."""
    for slot in _SLOT.findall(text):
        if key in _SLOTS and slot not in _SLOTS[key]:
            slot_list = ", ".join(f"{{{name}}}" for name in sorted(_SLOTS[key]))
            yield (
                (key,),
                f"contains the unknown slot {{{slot}}}.",
                f"The slots here are {slot_list}.",
            )
        elif key not in _SLOTS and any(slot in slots for slots in _SLOTS.values()):
            problem = f"contains {{{slot}}}, which is not filled here."
            yield (key,), problem, "Write it into `question`, or use other words."


def known_sets() -> list[str]:
    """Names of the sets in resources/prompts/worldsense."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def prompt_file(name: str | Path) -> Path:
    """The file of a set in resources/prompts/worldsense, or the file itself."""
    return Path(name) if str(name).endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"


def load_prompt_set(name: str | Path) -> PromptSet:
    """A set of resources/prompts/worldsense, or of a YAML file.

    Raises:
        UserError: no such set, or something is missing, unknown or of the wrong form in it.
    """
    path = prompt_file(name)
    if path.parent == FOLDER and path.stem not in known_sets():
        problem = f"there is no such set of prompts{did_you_mean(str(name), known_sets())}"
        raise UserError(
            f"--prompting {name}",
            problem,
            f"Choose from {', '.join(known_sets())}, or give a YAML file.",
        )
    if not NAME.fullmatch(path.stem):
        problem = (
            "its name becomes a value of tables and a folder's name: small letters, digits and"
            " underscores, a letter first."
        )
        raise UserError(path, problem, "Rename the file.")
    source = read_yaml(path)
    prompts = parse(PromptSet, source.document, [source])
    prompts._name, prompts._digest = path.stem, digest_file(path)
    return prompts


#: What examples have in common with the question, apart from the skin.
SHARED = ("problem", "size", "complexity", "wording")


class Pool:
    """Trials from which examples are drawn.

    Args:
        trials: solved trials, whole tuples.
        seed: of all draws; the trials of a tuple have the same examples.
        domains: skin -> domain.
    """

    def __init__(self, trials: pd.DataFrame, seed: int, domains: Mapping[str, str]) -> None:
        self.seed, self.domains = seed, domains
        self.cells: dict[tuple[Any, ...], dict[str, dict[str, dict[str, str]]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        columns = [*SHARED, "skin", "tuple_id", "gold", "text"]
        for *shared, skin, tuple_id, gold, text in trials[columns].itertuples(
            index=False, name=None
        ):
            self.cells[tuple(shared)][skin].setdefault(tuple_id, {})[ANSWER_OF[gold]] = text

    def draw(
        self, number: int, other_domain: bool, cell: tuple[Any, ...], skin: str, tuple_id: str
    ) -> list[tuple[str, str]]:
        """Text and answer of each example, in the order in which they are shown.

        Args:
            number: how many.
            other_domain: they have one other skin, of another domain; else the question's own.
            cell: the question's problem, size, complexity and wording.
            skin: the question's skin.
            tuple_id: the question's tuple.

        Raises:
            UserError: the pool has too few tuples of this kind, or the skin's domain is not known.
        """
        import numpy as np

        digest = hashlib.sha256(
            repr((self.seed, other_domain, cell, skin, tuple_id)).encode()
        ).digest()
        rng = np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
        skins = self.cells.get(cell, {})
        right = [name for name in sorted(skins) if self._is_right(name, skin, other_domain)]
        enough = [name for name in right if len(skins[name]) - (tuple_id in skins[name]) >= number]
        if not enough:
            kind = "a skin of another domain" if other_domain else f"the skin {skin}"
            problem, size, complexity, wording = cell
            what = f"{problem}, size {size}, complexity {complexity}, {wording}"
            few = f"has fewer than {number} other tuples of {what}, with {kind}."
            raise UserError(
                "--examples",
                few,
                "Name a larger set, for example one that `worldsense generate` makes with another"
                " seed.",
            )
        tuples = skins[enough[int(rng.integers(len(enough)))]]
        others = [other for other in tuples if other != tuple_id]
        chosen = [others[i] for i in rng.choice(len(others), size=number, replace=False)]
        answers = list(rng.permutation(answers_of(str(cell[0]))))
        golds = [str(answers[i % len(answers)]) for i in range(number)]
        rng.shuffle(golds)
        return [(tuples[other][gold], gold) for other, gold in zip(chosen, golds, strict=True)]

    def _is_right(self, skin: str, asked: str, other_domain: bool) -> bool:
        if not other_domain:
            return skin == asked
        return (
            skin in self.domains
            and asked in self.domains
            and self.domains[skin] != self.domains[asked]
        )
