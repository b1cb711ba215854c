"""Whether slots and their fillers agree, in materials whose language says what that takes."""

from __future__ import annotations

import re

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
    square = text.translate(_SQUARE)
    for form in language.forms:
        if match := _typed(language, form, fillers).search(square):
            problem = f'"{match[1]}" is typed before the slot [{match[2]}], which has to bring it.'
            slot = split_form(match[2])[1]
            problems.refuse(line, problem, f"Write [{form} {slot}], and nothing before it.")
    for pattern, fix in language.faults.items():
        if match := re.search(pattern, square):
            problems.warn(line, f'contains "{match[0]}".', fix)


def _typed(language: Language, form: str, fillers: Fillers) -> re.Pattern[str]:
    """What a form puts before a filler, with or without what the filler brings, typed by hand."""
    before = CHOICE.sub(
        lambda match: "(?:" + "|".join(re.split("[|/]", match[1])) + ")",
        language.forms[form].partition("{item}")[0],
    )
    values = {
        column: sorted(
            {
                f.columns[column]
                for c in fillers.classes.values()
                for f in c.fillers
                if column in f.columns
            }
        )
        for column in re.findall(r"{(\w+)}", before)
    }
    before = re.sub(r"{(\w+)}", lambda m: f"(?:{'|'.join(values[m[1]])})?", before)
    return re.compile(rf"(?<![^\W\u3400-\u9fff])({before})\[([^\]]*)\]", re.IGNORECASE)
