"""The language of materials: how sentences begin and end, and how words of a sentence agree with
what fills its slots. English unless the materials' ``language.yml`` says another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any

from pydantic import Field

from worldprobe.errors import UserError, did_you_mean
from worldprobe.settings.blocks import Block, Finding, parse
from worldprobe.settings.documents import Source

#: Where materials state their language.
FILE = "language.yml"
#: A word with alternatives, one of which agrees with a filler, such as roj(o/os|a/as).
CHOICE = re.compile(r"\(([^()\[\]{}]*[|/][^()\[\]{}]*)\)")
_COLUMN = re.compile(r"\{(\w+)\}")
_SIGNS = "|/"
#: Behind a sentence's end, which may be that of what somebody says.
_CLOSING = "\"'”’»」』"
#: The paper's set of prompts.
PAPER = "ewok"


class Language(Block):
    """What sentences of a language are made of."""

    language: Annotated[str, Field(pattern="^[a-z]{2,3}$")] = "en"
    """Its code, as wordfreq has it."""

    name: Annotated[str, Field(pattern=r"\S")] = "English"
    """Its name in English."""

    ends: Annotated[str, Field(pattern=r"^\S+$")] = ".!?"
    """What may end a sentence; one without gets the first of these. Behind a full-width one stands
    no blank."""

    capital: bool = True
    """Whether a sentence begins with a capital letter."""

    negations: list[str] = []
    """Words and phrases that make two contexts a negation of each other; ``*`` at an end stands for
    the rest of a word."""

    no_negations: list[str] = []
    """Words and phrases, written likewise, that negate nothing although a negation is in them."""

    agreement: Annotated[
        dict[str, Annotated[list[str], Field(min_length=1)]], Field(max_length=2)
    ] = {}
    """Columns of fillers, and their values in the order in which alternatives are written; | stands
    between those for the values of the first column, and / for the second."""

    forms: dict[str, str] = {}
    """What a word before a slot's variable stands for, with {item} and other columns of the filler.
    """

    spelling: dict[str, str] = {}
    """Regular expression -> what takes the place of what it finds in a finished sentence."""

    faults: dict[str, str] = {}
    """Regular expression that no sentence of the materials, with its slots in square brackets, may
    contain -> what to write."""

    prompts: str = PAPER
    """The prompts that are asked where no others are named."""

    __hash__ = object.__hash__  # one that is read is never changed

    def findings(self) -> Iterator[Finding]:
        """What is not stated, and expressions and forms that cannot be read."""
        for key in ("language", "name"):
            if key not in self.model_fields_set:
                yield (key,), "is missing.", "State it, as in `language: de` and `name: German`."
        for key in ("negations", "no_negations"):
            for entry in getattr(self, key):
                if not re.search(r"\w", entry):
                    yield (key, entry), "has no letter.", "Write a word or phrase."
        for key in ("spelling", "faults"):
            for pattern, text in getattr(self, key).items():
                try:
                    re.compile(pattern).sub(text if key == "spelling" else "", "")
                except (re.error, IndexError) as error:
                    yield (key, pattern), f"cannot be read ({error}).", "Correct it."
                if not pattern:
                    yield (key, pattern), "finds what is between any two letters.", "Remove it."
        for form, text in self.forms.items():
            if problem := self._problem_of(form, text):
                yield ("forms", form), *problem

    def _problem_of(self, form: str, text: str) -> tuple[str, str] | None:
        if re.search(r"[\s\[\]{}()|/:=]", form):
            return "is no name of a form.", "Write one word of letters."
        if left := re.search(r"[(){}|]", _COLUMN.sub("", CHOICE.sub("", text))):
            fix = "Write alternatives as in (el|la), and columns as in {item}."
            return f'has a "{left[0]}" that belongs to nothing.', fix
        known = [*self.agreement.values(), [""], [""]][:2]
        for choice in CHOICE.findall(text):
            parts = choice.split("|")
            counts = (len(parts), max(part.count("/") + 1 for part in parts))
            for count, sign, values in zip(counts, _SIGNS, known, strict=True):
                if count > len(values):
                    fix = "State columns and their values in agreement, or take some out."
                    return (
                        f"has {count} alternatives by {sign} for {len(values)} of its values.",
                        fix,
                    )
        signs = zip(_SIGNS, known, strict=True)
        asked = [values if sign in text else values[:1] for sign, values in signs]
        for chosen in product(*asked):
            cells = dict.fromkeys(_COLUMN.findall(text), "x")
            try:
                self.say(form, "a filler", cells | dict(zip(self.agreement, chosen, strict=False)))
            except UserError as error:
                return error.problem, error.fix
        return None

    @property
    def is_english(self) -> bool:
        """Whether what is known of English alone applies."""
        return self.language == "en"

    def details(self) -> dict[str, Any]:
        """What tables made of the materials state of it; nothing for plain English."""
        stated = self.model_dump(exclude_unset=True)
        return {"language": stated} if stated else {}

    def sentence(self, text: str) -> str:
        """The text as this language spells it, with an end."""
        for pattern, spelt in self.spelling.items():
            text = re.sub(pattern, spelt, text)
        said = text if self.is_english else text.rstrip(_CLOSING)
        return text if said.endswith(tuple(self.ends)) else text + self.ends[0]

    def prompt_set(self, name: str) -> str:
        """The set of prompts that is asked by a name: the paper's are those of the language.

        Raises:
            UserError: the paper's are named, which are English, and the language states none.
        """
        if name != PAPER or self.is_english:
            return name
        if "prompts" not in self.model_fields_set:
            problem = f"names no prompts for {self.name}, and the paper's are English."
            fix = "State prompts:, the file of resources/prompts or a path, or name a set yourself."
            raise UserError(FILE, problem, fix)
        return self.prompts

    def needs(self, form: str) -> set[str]:
        """The columns of a filler that a form reads, besides its text."""
        text = self.forms[form]
        choices = "".join(CHOICE.findall(text))
        agreeing = {c for sign, c in zip(_SIGNS, self.agreement, strict=False) if sign in choices}
        return {*_COLUMN.findall(text), *agreeing} - {"item"}

    def say(self, form: str, item: str, columns: Mapping[str, str]) -> str:
        """What a slot with a form says: the filler as it needs it, or a word that agrees with it.

        Args:
            form: one of ``forms``, or a word with alternatives.
            item: the filler.
            columns: its other columns.

        Raises:
            UserError: there is no such form, or the filler lacks what it needs.

        >>> spanish = Language(
        ...     agreement={"gender": ["m", "f", "f-el"], "number": ["s", "p"]},
        ...     forms={"el": "(el/los|la/las|el/las) {item}"},
        ... )
        >>> water = {"gender": "f-el", "number": "s"}
        >>> spanish.say("el", "agua", water), spanish.say("frí(o/os|a/as)", "agua", water)
        ('el agua', 'fría')
        """
        text = self.forms.get(form, form)
        if text is form and not CHOICE.search(form):
            near = did_you_mean(form, self.forms, f"; there are {', '.join(self.forms) or 'none'}.")
            fix = f"Correct it, or write the alternatives, as in roj(o|a); {FILE} lists forms."
            raise UserError(f"[{form} ...]", f'there is no form "{form}"{near}', fix)
        text = CHOICE.sub(lambda match: self._choose(match[1], form, item, columns), text)
        cells = {"item": item, **columns}
        return _COLUMN.sub(lambda match: _cell(cells, match[1], form, item), text)

    def _choose(self, text: str, form: str, item: str, columns: Mapping[str, str]) -> str:
        is_chosen = False
        for sign, (column, values) in zip(_SIGNS, self.agreement.items(), strict=False):
            options = text.split(sign)
            value = _cell(columns, column, form, item) if len(options) > 1 or is_chosen else ""
            if len(options) > 1:
                number = min(
                    (values.index(v) for v in (value, value.partition("-")[0]) if v in values),
                    key=lambda index: (index >= len(options), -index),
                    default=len(options),
                )
                if number >= len(options):
                    problem = f'"{item}" has {column}={value}, for which {form} has no alternative.'
                    fix = f"Correct the filler's {column}, or write {form} with an alternative."
                    raise UserError(f"[{form} ...]", problem, fix)
                text, is_chosen = options[number], True
            elif is_chosen and value != values[0]:
                problem = f'"{item}" has {column}={value}, and {form} is for {values[0]} alone.'
                fix = f"Write both, separated by {sign}, or restrict the slot to {values[0]}."
                raise UserError(f"[{form} ...]", problem, fix)
        return text


def _cell(cells: Mapping[str, str], column: str, form: str, item: str) -> str:
    """A cell of a filler that a form needs."""
    if column not in cells:
        problem = f'the filler "{item}" has no column {column}, which {form} needs.'
        raise UserError(f"[{form} ...]", problem, f"Add the column {column} to its file.")
    return cells[column]


#: Where materials state no language.
ENGLISH = Language()


def read_language(source: Source) -> Language:
    """The language that a ``language.yml`` describes.

    Raises:
        UserError: a key is missing, unknown or of another type.
    """
    return parse(Language, source.document, [source])


def language_of(details: Mapping[str, Any]) -> Language:
    """The language of a table, by its provenance."""
    return Language(**details["language"]) if "language" in details else ENGLISH
