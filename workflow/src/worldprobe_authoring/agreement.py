"""Whether slots and their fillers agree, in materials whose language says what that takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine, Problems
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.language import CHOICE, Language
from worldprobe.benchmarks.ewok.materials.slots import KEY, split_form
from worldprobe.benchmarks.ewok.vocabulary import slot_class
from worldprobe.errors import UserError

_SQUARE = str.maketrans("{}", "[]")


def check_agreement(text: str, line: MaterialsLine, fillers: Fillers, problems: Problems) -> None:
    """Note slots that do not agree with a filler, and words that belong into a slot.

    Args:
        text: a sentence with its slots in braces.
        line: its place.
        fillers: of the slots.
        problems: where errors go, and warnings of the language's own ``faults``.
    """
    language = fillers.rules.language
    for key in KEY.findall(text):
        form, slot = split_form(key)
        for filler in fillers.options(slot) if form else ():
            try:
                language.say(form, filler.text, filler.columns)
            except UserError as error:
                file = fillers.classes[slot_class(slot)].place.file
                problems.refuse(line, f"[{key}]: {error.problem} ({file})", error.fix)
                break
    if loose := CHOICE.search(KEY.sub("", text)):
        problem = f"{loose[0]} stands before all slots, so it is unclear what it agrees with."
        problems.refuse(line, problem, "Write it into a slot, as in [roj(o|a) object1].")
    if "|" in CHOICE.sub("", text):
        problem = "has a | that is in no brackets."
        problems.refuse(line, problem, "Write alternatives as in roj(o|a).")
    square = text.translate(_SQUARE)
    for form in language.forms:
        for typed, key in _typed(language, form, fillers).findall(square):
            slot = split_form(key)[1]
            of_slot = fillers.classes.get(slot_class(slot))
            if not typed.strip() or not of_slot or not language.needs(form) <= {*of_slot.columns}:
                continue
            problem = f'"{typed}" is typed before the slot [{key}], which has to bring it.'
            fix = f"Write [{form} {slot}], and nothing before it; another word that is spelt so is"
            problems.refuse(line, problem, f"{fix} a form of its own.")
    for pattern, fix in language.faults.items():
        if match := re.search(pattern, square):
            problems.warn(line, f'contains "{match[0]}".', fix)


def _typed(language: Language, form: str, fillers: Fillers) -> re.Pattern[str]:
    """What a form puts before a filler, with or without what the filler brings, typed by hand;
    where the filler brings all of it, nothing.
    """
    before, is_in, _ = language.forms[form].partition("{item}")
    parts = re.split(r"(\([^()]*\)|\{\w+\})", before)
    brought = [f.columns for c in fillers.classes.values() for f in c.fillers]
    values = {
        column: {columns[column] for columns in brought if column in columns}
        for column in language.needs(form)
    }
    if not is_in or not any(re.search(r"\w", part) and part[0] != "{" for part in parts if part):
        return re.compile(r"(?!)()()")
    written = [
        f"(?:{_either(re.split('[|/]', part[1:-1]))})"
        if part[:1] == "("
        else f"(?:{_either(values[part[1:-1]])})?"
        if part[:1] == "{"
        else re.escape(part)
        for part in parts
    ]
    return re.compile(rf"(?<![^\W\u3400-\u9fff])({''.join(written)})\[([^\]]*)\]", re.IGNORECASE)


def _either(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words)))
