"""Prompts as data: the paper's Likert and Choice texts (Appendix A.4), and sets that users add by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import RESOURCES

FOLDER = RESOURCES / "prompts"
PAPER = "ewok"
SLOTS = {"likert": ("context", "target"), "choice": ("context1", "context2", "target")}
TEXTS = ("instructions", "trial_heading", "test_heading", "block")
#: Two blank lines before a heading.
GAP = "\n\n\n"


@dataclass(frozen=True)
class Prompt:
    """How one paradigm asks.

    Attributes:
        answers: what may be answered, e.g. ("1", "2").
        instructions: the opening.
        trial_heading: stands over each trial example.
        test_heading: stands over the item.
        block: text with slots; the model goes on behind it.
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
    return re.sub(r"\{(\w+)\}", lambda match: slots[match[1]], block)


def load_prompts(name: str = PAPER) -> dict[str, Prompt]:
    """Paradigm -> prompt, of a set in resources/prompts or of a file.

    Raises:
        UserError: no such set, or something is missing or unknown in it.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in FOLDER.glob("*.yaml"))
        raise UserError(
            f"prompts {name}", f"there is no such set of prompts{did_you_mean(name, known)}", f"Known: {', '.join(known)}."
        )
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise UserError(path, f"is not valid YAML: {error}", "Fix the file.") from error
    if not isinstance(document, dict):
        raise UserError(path, "holds no prompts.", "Copy resources/prompts/ewok.yaml and change it.")
    return {paradigm: _read(path, paradigm, entry) for paradigm, entry in document.items()}


def _read(path: Path, paradigm: str, entry: Any) -> Prompt:
    where = f"{path}: {paradigm}"
    if paradigm not in SLOTS:
        raise UserError(where, f"is no paradigm{did_you_mean(paradigm, SLOTS)}", f"Known: {', '.join(SLOTS)}.")
    keys = {"answers", "trials", *TEXTS}
    if not isinstance(entry, dict) or set(entry) != keys:
        found = set(entry) if isinstance(entry, dict) else set()
        raise UserError(
            where,
            f"lacks {sorted(keys - found)} and does not know {sorted(found - keys)}.",
            "Give exactly the keys of resources/prompts/ewok.yaml.",
        )
    slots = set(SLOTS[paradigm])
    if set(re.findall(r"\{(\w+)\}", entry["block"])) != slots:
        raise UserError(f"{where}.block", f"must hold the slots {sorted(slots)}, and no other.", "Fix the block.")
    for trial in entry["trials"]:
        if set(trial) != slots | {"response"} or trial["response"] not in entry["answers"]:
            raise UserError(f"{where}.trials", f"each needs {sorted(slots)} and a response among the answers.", "Fix the trials.")
    answers = entry["answers"]
    if not answers or any(not isinstance(answer, str) or not re.fullmatch(r"\d+", answer) for answer in answers):
        raise UserError(f"{where}.answers", 'must be numerals in quotes, such as "1".', "Fix the answers.")
    return Prompt(answers=tuple(answers), trials=tuple(entry["trials"]), **{key: entry[key] for key in TEXTS})
