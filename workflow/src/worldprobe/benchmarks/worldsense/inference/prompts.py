"""Prompting strategies as data (paper, Section 5.3, Appendices B and E): one YAML file each, which users can copy and change."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, ANSWERS, answers_of
from worldprobe.config import read_yaml, validate, with_defaults
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import digest_file
from worldprobe.paths import RESOURCES

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


@dataclass(frozen=True)
class Examples:
    """Solved examples before the question.

    Attributes:
        number: how many.
        other_domain: they have another skin, of another domain; else the question's own skin.
        opening: what precedes them.
        heading: what precedes each, and the question.
        solution: what follows each, with the slot {answer}.
    """

    number: int
    other_domain: bool
    opening: str
    heading: str
    solution: str


@dataclass(frozen=True)
class PromptSet:
    """One prompting strategy.

    Attributes:
        name: name of its file.
        digest: SHA-256 of its file.
        compares: the answers' log probabilities are compared; else the model writes.
        calibrated: they are compared relative to what a model usually says to trials of the form.
        system: system message, or None.
        question: text with slots; ``rewrite``: replaced passages of the trial's text, in order.
        answers: by kind of problem, the answers in the order in which they are listed.
        meaning: by kind of problem, what a written answer means in the trial's own terms.
        examples: solved examples, or None.
        follow_up: what is said once where a reply has no accepted answer, or None.
        tokens, follow_up_tokens: limits of the replies.
        stops: texts that end a reply in plain text.
    """

    name: str
    digest: str
    compares: bool
    calibrated: bool
    system: str | None
    question: str
    rewrite: tuple[tuple[re.Pattern[str], str], ...]
    answers: Mapping[str, tuple[str, ...]]
    meaning: Mapping[str, Mapping[str, str]]
    examples: Examples | None
    follow_up: str | None
    tokens: int
    follow_up_tokens: int
    stops: tuple[str, ...]

    def body(self, text: str, kind: str) -> str | None:
        """A question or example: the trial's text, rewritten, in the question's words; None where nothing is found to rewrite.

        Args:
            text: the trial's text.
            kind: Infer, Consist or Compl.
        """
        found = 0
        for pattern, put in self.rewrite:
            text, count = pattern.subn(put, text)
            found += count
        if self.rewrite and not found:
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
        blocks = [f"{layout.heading}\n{example}\n{_put(layout.solution, {'answer': answer})}\n" for example, answer in solved]
        return f"{layout.opening}\n{''.join(blocks)}{layout.heading}\n{body}{self.ending}"

    @property
    def ending(self) -> str:
        """What follows the question: the beginning of the solution, which the model completes (Appendix E.2)."""
        begun = "" if self.examples is None else self.examples.solution.partition("{answer}")[0].rstrip()
        return f"\n{begun}" if begun else ""

    def second_question(self, kind: str) -> str | None:
        """What is said where the first reply has no accepted answer."""
        return None if self.follow_up is None else self._fill(self.follow_up, kind)

    def meant(self, kind: str, answer: str) -> str:
        """A written answer in the trial's own terms."""
        return self.meaning.get(kind, {}).get(answer, answer)

    def written(self, kind: str, answer: str) -> str:
        """How an answer in the trial's own terms is written: the inverse of ``meant``."""
        return next((word for word in ANSWERS[kind] if self.meant(kind, word) == answer), answer)

    def _fill(self, template: str, kind: str, **more: str) -> str:
        listed = self.answers[kind]
        quoted = ", ".join(f"\N{LEFT SINGLE QUOTATION MARK}{one}\N{RIGHT SINGLE QUOTATION MARK}" for one in listed)
        return _put(template, {"answers": ", ".join(listed), "quoted": quoted, "number": str(len(listed)), **more})


def _put(template: str, slots: Mapping[str, str]) -> str:
    """Put texts into slots, each once; braces inside a text stay as they are."""
    return _SLOT.sub(lambda match: slots[match[1]], template)


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
        raise UserError(f"--prompting {name}", problem, f"Choose from {', '.join(known_sets())}, or give a YAML file.")
    if not NAME.fullmatch(path.stem):
        problem = "its name becomes a value of tables and a folder's name: small letters, digits and underscores, a letter first."
        raise UserError(path, problem, "Rename the file.")
    source = read_yaml(path)
    validate(source.document, "prompting", [source])
    unused = [key for key in _OF_WRITING if source.document["ask"] == "compare" and source.document.get(key)]
    if unused:
        where = source.place((unused[0],)) or str(path)
        raise UserError(where, f"{unused[0]}: has no effect on answers that are compared.", "Remove the key, or set ask: write.")
    if source.document["ask"] == "write" and source.document.get("calibrated"):
        where = source.place(("calibrated",)) or str(path)
        raise UserError(where, "calibrated: has no effect on answers that are written.", "Remove the key, or set ask: compare.")
    document = with_defaults(source.document, "prompting")
    _check_slots(path, document)
    examples = document.get("examples")
    if examples is not None:
        how = {key: examples[key] for key in ("number", "opening", "heading", "solution")}
        examples = Examples(other_domain=examples["from"] == "other_domain", **how)
    return PromptSet(
        name=path.stem,
        digest=digest_file(path),
        compares=document["ask"] == "compare",
        calibrated=document["calibrated"],
        rewrite=tuple(_pattern(path, number, entry) for number, entry in enumerate(document["rewrite"], start=1)),
        answers={kind: tuple(document["answers"].get(kind, usual)) for kind, usual in ANSWERS.items()},
        meaning=_check_meaning(path, document["meaning"]),
        examples=examples,
        stops=tuple(document["stops"]),
        **{key: document[key] for key in ("system", "question", "follow_up", "tokens", "follow_up_tokens")},
    )


def _check_slots(path: Path, document: Mapping[str, Any]) -> None:
    texts = {key: document[key] for key in ("question", "follow_up") if document[key]}
    texts |= {"solution": document["examples"]["solution"]} if document.get("examples") else {}
    for key, text in texts.items():
        for slot in _SLOT.findall(text):
            if slot not in _SLOTS[key]:
                known = ", ".join(f"{{{one}}}" for one in sorted(_SLOTS[key]))
                raise UserError(f"{path}: {key}", f"contains the unknown slot {{{slot}}}.", f"The slots here are {known}.")
    examples = document.get("examples") or {}
    for key, text in {"system": document["system"], **{key: examples.get(key) for key in ("opening", "heading")}}.items():
        for slot in _SLOT.findall(text or ""):
            if any(slot in slots for slots in _SLOTS.values()):
                problem = f"contains {{{slot}}}, which is not filled here."
                raise UserError(f"{path}: {key}", problem, "Write it into `question`, or use other words.")
    if document["question"].count("{text}") != 1:
        raise UserError(f"{path}: question", "contains {text} more than once.", "Name it once.")


def _pattern(path: Path, number: int, entry: Mapping[str, str]) -> tuple[re.Pattern[str], str]:
    where = f"{path}: rewrite, number {number}"
    try:
        pattern = re.compile(entry["find"], re.DOTALL)
        pattern.sub(entry["put"], "")  # reads the replacement, too
    except (re.error, OverflowError, RecursionError, IndexError) as error:
        raise UserError(where, f"is not a valid regular expression with its replacement ({error}).", "Fix it.") from error
    return pattern, entry["put"]


def _check_meaning(path: Path, meaning: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    for kind, pairs in meaning.items():
        known = ANSWERS[kind]
        for word in pairs:
            if word not in known:
                raise UserError(f"{path}: meaning.{kind}", f"{word!r} is not an answer.", f"Use {', '.join(known)}.")
        if sorted(pairs.get(word, word) for word in known) != sorted(known):
            raise UserError(f"{path}: meaning.{kind}", "gives two answers the same meaning.", "Give each its own.")
    return {kind: dict(pairs) for kind, pairs in meaning.items()}


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
        self.cells: dict[tuple[Any, ...], dict[str, dict[str, dict[str, str]]]] = defaultdict(lambda: defaultdict(dict))
        columns = [*SHARED, "skin", "tuple_id", "gold", "text"]
        for *shared, skin, tuple_id, gold, text in trials[columns].itertuples(index=False, name=None):
            self.cells[tuple(shared)][skin].setdefault(tuple_id, {})[ANSWER_OF[gold]] = text

    def draw(self, number: int, other_domain: bool, cell: tuple[Any, ...], skin: str, tuple_id: str) -> list[tuple[str, str]]:
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
        digest = hashlib.sha256(repr((self.seed, other_domain, cell, skin, tuple_id)).encode()).digest()
        rng = np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
        skins = self.cells.get(cell, {})
        right = [one for one in sorted(skins) if self._is_right(one, skin, other_domain)]
        enough = [one for one in right if len(skins[one]) - (tuple_id in skins[one]) >= number]
        if not enough:
            kind = "a skin of another domain" if other_domain else f"the skin {skin}"
            problem, size, complexity, wording = cell
            what = f"{problem}, size {size}, complexity {complexity}, {wording}"
            few = f"has fewer than {number} other tuples of {what}, with {kind}."
            raise UserError(
                "--examples", few, "Name a larger set, for example one that `worldsense generate` makes with another seed."
            )
        tuples = skins[enough[int(rng.integers(len(enough)))]]
        others = [one for one in tuples if one != tuple_id]
        chosen = [others[i] for i in rng.choice(len(others), size=number, replace=False)]
        answers = list(rng.permutation(answers_of(str(cell[0]))))
        golds = [str(answers[i % len(answers)]) for i in range(number)]
        rng.shuffle(golds)
        return [(tuples[one][gold], gold) for one, gold in zip(chosen, golds, strict=True)]

    def _is_right(self, skin: str, asked: str, other_domain: bool) -> bool:
        if not other_domain:
            return skin == asked
        return skin in self.domains and asked in self.domains and self.domains[skin] != self.domains[asked]
