"""How sentences with slots are written, ``[agent1]`` in materials and ``{object1:large=true}`` in
templates: parsed once, swapped, filled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from worldprobe.benchmarks.ewok.materials.language import CHOICE, ENGLISH, Language
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.vocabulary import slot_class

#: Keys of a finished template: everything between braces.
KEY = re.compile(r"\{([^}]+)\}")
_BRACES = str.maketrans("[]", "{}")
#: A form before a variable: how its filler is said, or a word that agrees with it.
_FORM = re.compile(r"[^\s:=\[\]{}]+ ")
#: A slot, or a word with alternatives that is in none.
_SLOT_OR_CHOICE = re.compile(rf"\[[^\]]*\]|[^\s\[\](]*{CHOICE.pattern}\w*")


def braces(text: str) -> str:
    """Slots as templates show them; a word with alternatives agrees with the slot before it.

    >>> braces("[agent1] sees [object1:large=true]")
    '{agent1} sees {object1:large=true}'
    >>> braces("[el object1] es roj(o|a)")
    '{el object1} es {roj(o|a) object1}'
    """
    return (_bind(text) if CHOICE.search(text) else text).translate(_BRACES)


def _bind(text: str) -> str:
    slot = ""

    def bound(match: re.Match[str]) -> str:
        nonlocal slot
        if match[0].startswith("["):
            slot = split_form(match[0][1:-1])[1]
            return match[0]
        return f"[{match[0]} {slot}]" if slot else match[0]

    return _SLOT_OR_CHOICE.sub(bound, text)


def split_form(key: str) -> tuple[str, str]:
    """The form that a slot has before its variable, and the rest.

    >>> split_form("el object1:kind=soft toy"), split_form("object1:kind=soft toy")
    (('el', 'object1:kind=soft toy'), ('', 'object1:kind=soft toy'))
    """
    form = _FORM.match(key)
    return (form[0].rstrip(), key[form.end() :]) if form else ("", key)


class Key(str):
    """The text between the braces of a slot: a variable and its restrictions.

    >>> key = Key("object1:large=true:rollable=true")
    >>> key.variable, key.filler_class, key.restrictions
    ('object1', 'object', ['large=true', 'rollable=true'])
    """

    @classmethod
    def of(cls, variable: str, restrictions: Iterable[str]) -> Key:
        """The one spelling of a key.

        >>> Key.of("object1", ["rollable=true", "large=true"])
        'object1:large=true:rollable=true'
        """
        return cls(":".join([variable, *sorted(restrictions)]))

    @cached_property
    def variable(self) -> str:
        """The variable: one filler throughout an item."""
        return split_form(self)[1].partition(":")[0]

    @cached_property
    def filler_class(self) -> str:
        """The class that its fillers are of."""
        return slot_class(self)

    @cached_property
    def restrictions(self) -> list[str]:
        """Conditions on its fillers, ``column=value``."""
        return [part for part in self.split(":")[1:] if part]


def keys(text: str) -> list[Key]:
    """The slot keys of a template's text, restrictions included, in order and with repetitions."""
    return [Key(key) for key in KEY.findall(text)]


def split_restrictions(written: str) -> list[str]:
    """Single restrictions; a colon or a comma separates them.

    >>> split_restrictions("large=true:rollable=true")
    ['large=true', 'rollable=true']
    """
    return [part for part in re.split("[:,]", written) if part]


@dataclass(frozen=True)
class Sentence:
    """A sentence with slots in either kind of bracket, as the compiler sees it.

    Attributes:
        text: the sentence.
        rules: which behaviours of the original are kept.
        mentions: variables and their restrictions as written, in order.
    """

    text: str
    rules: Rules
    mentions: tuple[tuple[str, str], ...]

    @cached_property
    def variables(self) -> dict[str, str]:
        """Variables in order of first mention -> restrictions as written at their last mention.

        >>> parse_sentence("[agent1] likes [agent2:sex=male]", Rules()).variables
        {'agent1': '', 'agent2': 'sex=male'}
        """
        return dict(self.mentions)

    @cached_property
    def by_type(self) -> dict[str, list[str]]:
        """Type -> its variables.

        >>> parse_sentence("[agent12] has [item]", Rules()).by_type
        {'agent': ['agent12'], 'item': ['item']}
        >>> parse_sentence("[item]", Rules(type_by_last_letter=True)).by_type
        {'ite': ['item']}
        """
        by_kind: dict[str, list[str]] = {}
        for name in self.variables:
            kind = name[:-1] if self.rules.type_by_last_letter else name.rstrip("0123456789")
            by_kind.setdefault(kind, []).append(name)
        return by_kind

    @cached_property
    def restrictions(self) -> dict[str, set[str]]:
        """Variable -> the single restrictions of all its mentions; in the original of its last."""
        by_name: dict[str, set[str]] = {}
        for name, written in (
            self.variables.items() if self.rules.loose_variables else self.mentions
        ):
            by_name.setdefault(name, set()).update(split_restrictions(written))
        return by_name

    def swapped(self) -> str | None:
        """Exchange two variables of the most frequent type: numbers 1 and 2 of two, or 2 and 3 of
        three.

        Returns:
            The sentence after the exchange, or None where it is not possible: another number of
            variables, or restrictions that differ between the two.

        >>> parse_sentence("{agent1} leads {agent2}.", Rules()).swapped()
        '{agent2} leads {agent1}.'
        """
        kind, names = max(
            self.by_type.items(), key=lambda kind_names: len(kind_names[1]), default=("", [])
        )
        if len(names) not in (2, 3):
            return None
        first, second = (f"{kind}{number}" for number in ((1, 2) if len(names) == 2 else (2, 3)))
        if first not in self.variables or second not in self.variables:
            return None
        if self.restrictions[first] != self.restrictions[second]:
            return None
        if not self.rules.loose_variables:
            other = {first: second, second: first}
            return _slot_pattern(self.rules).sub(
                lambda m: f"{{{m[1]}{other.get(m[2], m[2])}{m[3]}}}", self.text
            )
        one, two = (
            f"{{{name}:{written}}}" if (written := self.variables[name]) else f"{{{name}}}"
            for name in (first, second)
        )
        exchange = {one: two, two: one}
        either = "|".join(map(re.escape, exchange))
        return re.sub(either, lambda m: exchange[m[0]], self.text)

    def carrying(self, slots: Mapping[str, str]) -> str:
        """The text with the slots of some variables written as told."""
        if not self.rules.loose_variables:
            return _slot_pattern(self.rules).sub(
                lambda m: f"[{m[1]}{slots[m[2]][1:]}" if m[2] in slots else m[0], self.text
            )
        text = self.text
        for name, written in self.variables.items():
            text = text.replace(
                f"[{name}:{written}]" if written else f"[{name}]", slots.get(name, f"[{name}]")
            )
        return text


@lru_cache(maxsize=1 << 16)
def parse_sentence(text: str, rules: Rules) -> Sentence:
    """A sentence, parsed once."""
    slots = _slot_pattern(rules).findall(text)
    return Sentence(
        text, rules, tuple((name, written.removeprefix(":")) for _, name, written in slots)
    )


@lru_cache(maxsize=64)
def _slot_pattern(rules: Rules) -> re.Pattern[str]:
    """A slot: group 1 its form, group 2 its variable, group 3 its restrictions as written."""
    character = r"[\w=,]" if rules.narrow_restrictions else r"[^\[\]{}:]"
    restrictions = rf"(:?{character}*)" if rules.one_restriction else rf"((?::{character}*)*)"
    return re.compile(rf"[\[{{]((?:{_FORM.pattern})?)(\w+){restrictions}[\]}}]")


def propagate(target: str, probe: str, rules: Rules) -> tuple[str, str]:
    """Carry each variable's restrictions between the two patterns (segments do not take part).

    >>> propagate("[agent1] lifts [object1].", "There is [object1:large=true].", Rules())
    ('[agent1] lifts [object1:large=true].', 'There is [object1:large=true].')
    """
    sentences = parse_sentence(target, rules), parse_sentence(probe, rules)
    joint = "," if rules.joined_by_comma and rules.one_restriction else ":"
    carried = {}
    for name in dict.fromkeys(name for sentence in sentences for name in sentence.variables):
        parts = set().union(*(sentence.restrictions.get(name, ()) for sentence in sentences))
        if parts:
            carried[name] = f"[{name}:{joint.join(sorted(parts))}]"
    return sentences[0].carrying(carried), sentences[1].carrying(carried)


#: What a reader does not see but a model does, for a class of a pattern: control characters,
#: no-break spaces, characters without width, marks of direction.
UNSEEN = r"\x00-\x1f\x7f-\xa0\xad\u200b\u200e\u200f\u2028-\u202f\u2060-\u2069\ufeff"
_START = re.compile(r"([.!?] )([a-z])")
_START_OF_ANY = re.compile(r"([.!?] [¿¡]?)([^\W\d_])")
_FIRST = re.compile(r"^[^\w]*\w")
_PLAIN = re.compile(r"[\w:=' -]*")


def fill(
    text: str,
    fillings: Mapping[str, str],
    rules: Rules,
    columns: Callable[[str, str], Mapping[str, str]] | None = None,
) -> str:
    """A template's text as a sentence.

    Args:
        text: with slots in braces.
        fillings: slot key -> filler text.
        rules: which behaviours of the original are kept, and the language.
        columns: the columns of a filler, by slot key and text; needed where slots have forms.

    >>> fill(
    ...     "{agent1} lifts {object1:large=true}. it falls",
    ...     {"agent1": "Ruth", "object1:large=true": "the crate"},
    ...     Rules(),
    ... )
    'Ruth lifts the crate. It falls.'
    """
    if rules.greedy_filling:
        for key in sorted(fillings):
            text = _fill_greedily(text, key, fillings[key])
    else:
        before, slots = _parts(text)
        said = [
            rules.language.say(form, fillings[key], columns(key, fillings[key]))
            if form and columns
            else fillings[key]
            for form, key in slots
        ]
        text = "".join(chain.from_iterable(zip(before, (*said, ""), strict=True)))
    return sentence(text, rules.language)


@lru_cache(maxsize=1 << 16)
def _parts(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The texts before and after the slots, and the slots' forms and keys."""
    parts = KEY.split(text)
    return tuple(parts[::2]), tuple(map(split_form, parts[1::2]))


def _fill_greedily(text: str, key: str, filling: str) -> str:
    """As the original: the key is a regular expression, and restrictions after it match up to the
    last brace.
    """
    if f"{{{key}:" not in text and _PLAIN.fullmatch(key):
        return text.replace(f"{{{key}}}", filling)
    return re.sub(rf"\{{{key}(:.*=.*)*\}}", filling, text)


def sentence(text: str, language: Language = ENGLISH) -> str:
    """Trimmed, with capitals at the start of each sentence and a stop at the end.

    >>> sentence(" the crate falls. why? nobody knows")
    'The crate falls. Why? Nobody knows.'
    """
    text = language.sentence(text.strip())
    if not language.capital:
        return text
    text = (
        text[:1].upper() + text[1:]
        if language.is_english
        else _FIRST.sub(lambda match: match[0].upper(), text)
    )
    if ". " not in text and "! " not in text and "? " not in text:
        return text  # one sentence
    start = _START if language.is_english else _START_OF_ANY
    return start.sub(lambda m: m[1] + m[2].upper(), text)
