"""Prompts as data: the paper's Likert and Choice texts (Appendix A.4), and sets that users add by name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import RESOURCES
from worldprobe.settings.documents import read_yaml

FOLDER = RESOURCES / "prompts"
PAPER = "ewok"
SLOTS = {"likert": ("context", "target"), "choice": ("context1", "context2", "target")}
SLOT = r"\{(\w+)\}"
TEXTS = ("instructions", "trial_heading", "test_heading", "block")
#: Two blank lines before a heading.
GAP = "\n\n\n"


@dataclass(frozen=True)
class Prompt:
    """How one paradigm asks.

    Attributes:
        answers: the possible answers, e.g. ("1", "2").
        instructions: the opening.
        trial_heading: the line above each trial example.
        test_heading: the line above the item.
        block: text with slots; the model continues after it.
        trials: slot values and response of each trial example.
    """

    answers: tuple[str, ...]
    instructions: str
    trial_heading: str
    test_heading: str
    block: str
    trials: tuple[Mapping[str, str], ...]

    def text(self, slots: Mapping[str, str], shots: str) -> str:
        """The whole prompt, ending with a newline.

        Args:
            slots: the item's texts.
            shots: zero or two (the trials, however many there are).
        """
        parts = [self.instructions]
        if shots == "two":
            parts += [f"{self.trial_heading}\n\n{_fill(self.block, trial)}\n{trial['response']}" for trial in self.trials]
        parts.append(f"{self.test_heading}\n\n{_fill(self.block, slots)}\n")
        return GAP.join(parts)


def _fill(block: str, slots: Mapping[str, str]) -> str:
    """Put texts into slots, each once; braces inside a text stay as they are."""
    return re.sub(SLOT, lambda match: slots[match[1]], block)


def prompt_file(name: str) -> Path:
    """The file of a set of prompts, or the user's own."""
    return FOLDER / f"{name}.yaml" if "/" not in name and not name.endswith((".yaml", ".yml")) else Path(name)


def load_prompts(name: str = PAPER) -> dict[str, Prompt]:
    """Paradigm -> prompt, of a set in resources/prompts or of a file.

    Raises:
        UserError: no such set, or something is missing, unknown or of the wrong type in it.
    """
    path = prompt_file(name)
    known = sorted(p.stem for p in FOLDER.glob("*.yaml"))
    if path.parent == FOLDER and path.stem not in known:
        problem = "there is no such set of prompts" + did_you_mean(name, known)
        raise UserError(f"prompts {name}", problem, f"Choose one of {', '.join(known)}, or give a YAML file.")
    document = read_yaml(path).document
    if not isinstance(document, dict) or not document:
        raise UserError(path, "contains no prompts.", "Copy resources/prompts/ewok.yaml and change it.")
    return {paradigm: _read(path, paradigm, entry) for paradigm, entry in document.items()}


def _read(path: Path, paradigm: str, entry: Any) -> Prompt:
    where = f"{path}: {paradigm}"
    if paradigm not in SLOTS:
        raise UserError(where, "is not a paradigm" + did_you_mean(paradigm, SLOTS), f"Use one of these keys: {', '.join(SLOTS)}.")
    _check_keys(where, entry, {"answers", "trials", *TEXTS})
    _check_answers(f"{where}.answers", paradigm, entry["answers"])
    for key in TEXTS:
        if not isinstance(entry[key], str):
            raise UserError(f"{where}.{key}", "is not a text.", 'Put it in quotes; an empty text is "".')
    slots = set(SLOTS[paradigm])
    for key in TEXTS:
        found = set(re.findall(SLOT, entry[key]))
        if key == "block" and found != slots:
            raise UserError(f"{where}.block", f"must contain the slots {sorted(slots)}, and no other.", "Fix the block.")
        if key != "block" and found:
            raise UserError(f"{where}.{key}", f"contains slots ({sorted(found)}), and only the block may.", "Remove the braces.")
    _check_trials(f"{where}.trials", entry["trials"], slots, entry["answers"])
    return Prompt(answers=tuple(entry["answers"]), trials=tuple(entry["trials"]), **{key: entry[key] for key in TEXTS})


def _check_keys(where: str, entry: Any, keys: set[str]) -> None:
    if not isinstance(entry, dict):
        raise UserError(where, "is not a mapping of keys.", "Give exactly the keys of resources/prompts/ewok.yaml.")
    missing, unknown = sorted(keys - set(entry)), sorted(set(entry) - keys)
    if missing or unknown:
        problems = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has unknown keys ({', '.join(unknown)})"] * bool(unknown)
        raise UserError(where, " and ".join(problems) + ".", "Give exactly the keys of resources/prompts/ewok.yaml.")


def _check_answers(where: str, paradigm: str, answers: Any) -> None:
    numerals = isinstance(answers, list) and all(isinstance(one, str) and re.fullmatch("[0-9]+", one) for one in answers)
    if not numerals or not answers:
        raise UserError(where, 'must be numerals in quotes, such as ["1", "2"].', "Fix the answers.")
    if len(set(answers)) < len(answers):
        raise UserError(where, "contain the same answer twice.", "Remove one of them.")
    if paradigm == "choice" and sorted(answers) != ["1", "2"]:
        raise UserError(where, 'must be "1" and "2", the numbers of the two contexts.', 'Write ["1", "2"].')
    if len(answers) < 2:
        raise UserError(where, "leave no choice.", "Give at least two.")
    for one, other in itertools.permutations(answers, 2):
        if other.startswith(one):
            raise UserError(where, f'"{one}" is the beginning of "{other}".', "Choose answers that do not begin alike.")


def _check_trials(where: str, trials: Any, slots: set[str], answers: list[str]) -> None:
    if not isinstance(trials, list) or not trials:
        raise UserError(where, "must be a list of at least one trial example.", "Add one; with zero shots it is not shown.")
    for number, trial in enumerate(trials, start=1):
        if not isinstance(trial, dict) or set(trial) != slots | {"response"}:
            raise UserError(f"{where}, number {number}", f"must have the keys {sorted(slots)} and response.", "Fix the trial.")
        if not all(isinstance(text, str) for text in trial.values()):
            raise UserError(f"{where}, number {number}", "contains something that is not a text.", "Put it in quotes.")
        if trial["response"] not in answers:
            raise UserError(f"{where}, number {number}", "has a response that is not one of the answers.", "Fix the response.")
