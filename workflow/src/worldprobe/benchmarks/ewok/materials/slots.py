"""How sentences with slots are written, ``[agent1]`` in materials and ``{object1:large=true}`` in
templates: parsed once, swapped, filled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.vocabulary import slot_class

#: Keys of a finished template: everything between braces.
KEY = re.compile(r"\{([^}]+)\}")
_BRACES = str.maketrans("[]", "{}")


def braces(text: str) -> str:
    """Slots as templates show them.

    >>> braces("[agent1] sees [object1:large=true]")
    '{agent1} sees {object1:large=true}'
    """
    return text.translate(_BRACES)


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
        return self.partition(":")[0]

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
                lambda m: f"{{{other.get(m[1], m[1])}{m[2]}}}", self.text
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
            return _slot_pattern(self.rules).sub(lambda m: slots.get(m[1], m[0]), self.text)
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
        text, rules, tuple((name, written.removeprefix(":")) for name, written in slots)
    )


@lru_cache(maxsize=64)
def _slot_pattern(rules: Rules) -> re.Pattern[str]:
    """A slot: group 1 its variable, group 2 its restrictions as written."""
    character = r"[\w=,]" if rules.narrow_restrictions else r"[^\[\]{}:]"
    restrictions = rf"(:?{character}*)" if rules.one_restriction else rf"((?::{character}*)*)"
    return re.compile(r"[\[{](\w+)" + restrictions + r"[\]}]")


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
_PLAIN = re.compile(r"[\w:=' -]*")


def fill(text: str, fillings: Mapping[str, str], rules: Rules) -> str:
    """A template's text as a sentence.

    Args:
        text: with slots in braces.
        fillings: slot key -> filler text.
        rules: which behaviours of the original are kept.

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
        parts = _parts(text)
        text = "".join([fillings[part] if i % 2 else part for i, part in enumerate(parts)])
    return sentence(text)


@lru_cache(maxsize=1 << 16)
def _parts(text: str) -> tuple[str, ...]:
    """The texts between the slots, and the slots' keys, in turn."""
    return tuple(KEY.split(text))


def _fill_greedily(text: str, key: str, filling: str) -> str:
    """As the original: the key is a regular expression, and restrictions after it match up to the
    last brace.
    """
    if f"{{{key}:" not in text and _PLAIN.fullmatch(key):
        return text.replace(f"{{{key}}}", filling)
    return re.sub(rf"\{{{key}(:.*=.*)*\}}", filling, text)


def sentence(text: str) -> str:
    """Trimmed, with capitals at the start of each sentence and a stop at the end.

    >>> sentence(" the crate falls. why? nobody knows")
    'The crate falls. Why? Nobody knows.'
    """
    text = text.strip()
    text = text[:1].upper() + text[1:]
    if not text.endswith((".", "!", "?")):
        text += "."
    if ". " not in text and "! " not in text and "? " not in text:
        return text  # one sentence
    return _START.sub(lambda m: m[1] + m[2].upper(), text)
