"""Slots, ``[agent1]`` in materials and ``{object1:large=true}`` in templates; the classes of
fillers for them; swaps.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from worldprobe.benchmarks.ewok.materials.documents import Place, Problems
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.vocabulary import TEXTS, slot_class
from worldprobe.commented_csv import check_separator, read_rows, without_empty_columns
from worldprobe.errors import UserError, did_you_mean

#: Keys of a finished template: everything between braces.
KEY = re.compile(r"\{([^}]+)\}")
_BRACES = str.maketrans("[]", "{}")


@lru_cache(maxsize=64)
def slot_pattern(rules: Rules) -> re.Pattern[str]:
    """A slot as the compiler sees it, in either kind of bracket: group 1 its variable, group 2 its
    restrictions as written.
    """
    character = r"[\w=,]" if rules.narrow_restrictions else r"[^\[\]{}:]"
    restrictions = rf"(:?{character}*)" if rules.one_restriction else rf"((?::{character}*)*)"
    return re.compile(r"[\[{](\w+)" + restrictions + r"[\]}]")


def braces(text: str) -> str:
    """Slots as templates show them.

    >>> braces("[agent1] sees [object1:large=true]")
    '{agent1} sees {object1:large=true}'
    """
    return text.translate(_BRACES)


@lru_cache(maxsize=1 << 16)
def _mentions(text: str, rules: Rules) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, written.removeprefix(":")) for name, written in slot_pattern(rules).findall(text)
    )


def variables(text: str, rules: Rules) -> dict[str, str]:
    """Variables in order of first mention -> restrictions as written at their last mention.

    >>> variables("[agent1] likes [agent2:sex=male]", Rules())
    {'agent1': '', 'agent2': 'sex=male'}
    """
    return dict(_mentions(text, rules))


def split_restrictions(written: str) -> list[str]:
    """Single restrictions; a colon or a comma separates them.

    >>> split_restrictions("large=true:rollable=true")
    ['large=true', 'rollable=true']
    """
    return [part for part in re.split("[:,]", written) if part]


def all_restrictions(texts: Iterable[str], rules: Rules) -> dict[str, set[str]]:
    """Variable -> the single restrictions (``column=value``) of all its mentions.

    In the original only a variable's last mention in each text counts.
    """
    found: dict[str, set[str]] = {}
    for text in texts:
        for name, written in (
            variables(text, rules).items() if rules.loose_variables else _mentions(text, rules)
        ):
            found.setdefault(name, set()).update(split_restrictions(written))
    return found


def variable_type(name: str, rules: Rules) -> str:
    """The type by which variables are counted.

    >>> (
    ...     variable_type("agent12", Rules()),
    ...     variable_type("item", Rules()),
    ...     variable_type("item", Rules(type_by_last_letter=True)),
    ... )
    ('agent', 'item', 'ite')
    """
    return name[:-1] if rules.type_by_last_letter else name.rstrip("0123456789")


def key_for(variable: str, restrictions: Iterable[str]) -> str:
    """The one spelling of a slot key.

    >>> key_for("object1", ["rollable=true", "large=true"])
    'object1:large=true:rollable=true'
    """
    return ":".join([variable, *sorted(restrictions)])


def keys(text: str) -> list[str]:
    """The slot keys of a template's text, restrictions included, in order and with repetitions."""
    return KEY.findall(text)


def variable_of(key: str) -> str:
    """The variable of a key.

    >>> variable_of("object1:large=true")
    'object1'
    """
    return key.partition(":")[0]


def restrictions_of(key: str) -> list[str]:
    """The restrictions of a key.

    >>> restrictions_of("object1:large=true:rollable=true")
    ['large=true', 'rollable=true']
    """
    return [part for part in key.split(":")[1:] if part]


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
        text = "".join([fillings[part] if is_key else part for part, is_key in _parts(text)])
    return sentence(text)


@lru_cache(maxsize=1 << 16)
def _parts(text: str) -> tuple[tuple[str, bool], ...]:
    """What is between the slots, and their keys, in turn."""
    return tuple((part, bool(number % 2)) for number, part in enumerate(KEY.split(text)))


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


#: The filler that the original reserves for the restriction is_magnet=true.
MAGNET = "the magnet"
_MAGNET_KEY = ":is_magnet=true"
#: No part of a sentence: what nobody sees, and the brackets of slots.
_ODD = re.compile(rf"[{UNSEEN}{{}}\[\]]")


@dataclass(frozen=True)
class Filler:
    """One row: the text that is filled in, and its other columns."""

    text: str
    columns: dict[str, str]

    def meets(self, restrictions: Sequence[str]) -> bool:
        """Whether every ``column=value`` is met.

        >>> Filler("the crate", {"large": "true"}).meets(["large=true"])
        True
        """
        return all(
            self.columns.get(column) == value
            for column, _, value in (r.partition("=") for r in restrictions)
        )


@dataclass(frozen=True)
class FillerClass:
    """A class of fillers in file order."""

    name: str
    columns: tuple[str, ...]
    fillers: tuple[Filler, ...]
    place: Place = field(compare=False)


def read_filler_class(
    file: str, name: str, content: bytes, problems: Problems, rules: Rules
) -> FillerClass:
    """Read one ``filler-<class>.csv``: a header with ``item`` and any restriction columns, then a
    row per filler.
    """
    try:
        rows = without_empty_columns(list(read_rows(file, content)) or [(1, [])])
        check_separator(f"{file}, line {rows[0][0]}", rows[0][1])
    except UserError as error:
        problems.add(error)
        return FillerClass(name, (), (), Place(file))
    line, header = rows[0]
    if "item" not in header or len(set(header)) < len(header):
        problems.error(
            Place(file, line),
            'the header has no column "item", or a column twice.',
            'Name the columns; "item" contains the text.',
        )
        return FillerClass(name, (), (), Place(file))
    fillers: dict[str, tuple[int, Filler]] = {}
    ordered = []
    for line, row in rows[1:]:
        place = Place(file, line)
        if len(row) != len(header):
            problems.error(
                place,
                f"has {len(row)} cells, the header {len(header)}.",
                "Give every column a value; quote text with commas.",
            )
            continue
        cells = dict(zip(header, row, strict=True))
        filler = Filler(cells.pop("item"), cells)
        empty = [column for column, value in zip(header, row, strict=True) if not value.strip()]
        if empty:
            problems.error(
                place,
                f'column "{empty[0]}" is empty.',
                "Fill it; restrictions require exact values such as true or false.",
            )
            continue
        odd = _ODD.search(",".join(row))
        if odd or any(cell != cell.strip() for cell in row):
            what = (
                f'the character "{odd[0].encode("unicode_escape").decode()}"'
                if odd
                else "a space at the start or end of a cell"
            )
            problems.refuse(
                place, f"contains {what}, which would be part of a sentence.", "Remove it."
            )
        if filler.text in fillers:
            line, first = fillers[filler.text]
            complain = problems.warn if first == filler else problems.refuse
            complain(place, f"the same item is already in line {line}.", "Keep one of the two.")
            if not rules.repeated_fillers:
                continue
        fillers.setdefault(filler.text, (place.line, filler))
        ordered.append(filler)
    if not ordered:
        problems.error(Place(file), "contains no filler.", "Add rows below the header.")
    return FillerClass(name, tuple(c for c in header if c != "item"), tuple(ordered), Place(file))


@lru_cache(maxsize=256)
def _order(count: int) -> tuple[int, ...]:
    import numpy as np

    order = list(range(count))
    np.random.default_rng(42).shuffle(order)
    return tuple(order)


class Fillers:
    """Which fillers may fill a slot key, in the one order that all keys of a class share."""

    def __init__(self, classes: dict[str, FillerClass], rules: Rules) -> None:
        self.classes, self.rules = classes, rules
        self._shuffled: dict[str, list[Filler]] = {}
        self._options: dict[tuple[str, tuple[str, ...]], list[Filler]] = {}

    def shuffled(self, name: str) -> list[Filler]:
        """All fillers of a class, shuffled once with seed 42.

        Raises:
            UserError: there is no such class.
        """
        if name not in self._shuffled:
            if name not in self.classes:
                known = did_you_mean(
                    name, self.classes, f"; there are {', '.join(sorted(self.classes))}."
                )
                raise UserError(
                    "fillers",
                    f'there is no filler class "{name}"{known}',
                    "Give the materials that the templates come from.",
                )
            fillers = self.classes[name].fillers
            self._shuffled[name] = [fillers[i] for i in _order(len(fillers))]
        return self._shuffled[name]

    def options(self, key: str) -> list[Filler]:
        """The fillers that meet all restrictions of a key, in shuffled order."""
        return self.meeting(slot_class(key), restrictions_of(key), is_magnet=self.is_magnet(key))

    def meeting(
        self, name: str, restrictions: Sequence[str], is_magnet: bool = False
    ) -> list[Filler]:
        """The fillers of a class that meet restrictions, in shuffled order."""
        asked = (name, (*restrictions, *([MAGNET] if is_magnet else [])))
        if asked not in self._options:
            fillers = self.shuffled(name)
            self._options[asked] = [
                f for f in fillers if (f.text == MAGNET if is_magnet else f.meets(restrictions))
            ]
        return self._options[asked]

    def is_magnet(self, key: str) -> bool:
        """Whether the original gives this key its one magnet, whatever else the key says."""
        return self.rules.one_magnet and key.endswith(_MAGNET_KEY)


@dataclass(frozen=True)
class Swap:
    """``agent->agent:western=false`` restricts a class further; ``object->nonword`` draws from
    another class instead.
    """

    source: str
    target: str
    #: Restrictions of the source that hold for the target class too, as it has such a column: a
    #: woman stays a woman.
    kept: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def is_restriction(self) -> bool:
        """Whether the class stays and only gets one more restriction."""
        return self.target.startswith(self.source + ":")


def parse_swaps(
    options: Sequence[str],
    known: Sequence[str],
    columns: Mapping[str, Collection[str]] | None = None,
) -> list[Swap]:
    """Swaps as the command line gives them; one option may contain several, separated by commas.

    Args:
        options: e.g. ``["agent->agent:western=false,object->nonword"]``.
        known: the filler classes there are.
        columns: class -> what its fillers can be restricted by; a swap to another class keeps the
            restrictions that it knows.

    Raises:
        UserError: not of the form SOURCE->TARGET, a class that is not there, or a class swapped
            twice.

    >>> parse_swaps(["object->nonword"], ["object", "nonword"])
    [Swap(source='object', target='nonword')]
    """
    swaps: list[Swap] = []
    for option in options:
        for text in option.split(","):
            source, arrow, target = text.strip().partition("->")
            source, target = source.strip(), target.strip()
            if not (arrow and source and target):
                raise UserError(
                    f"--swap {text}",
                    "is not of the form SOURCE->TARGET.",
                    'Write e.g. "object->nonword", in quotes.',
                )
            for name in (source, target.partition(":")[0]):
                if name not in known:
                    near = did_you_mean(
                        name, known, f"; the classes are {', '.join(sorted(known))}."
                    )
                    raise UserError(
                        f"--swap {text}",
                        f'there is no filler class "{name}"{near}',
                        "Name a class of the materials.",
                    )
            if target.endswith(":") or "::" in target:
                raise UserError(
                    f"--swap {text}",
                    "has an empty restriction.",
                    'Write e.g. "agent->agent:western=false".',
                )
            swap = Swap(
                source, target, frozenset((columns or {}).get(target.partition(":")[0], ()))
            )
            if any(
                other.source == source and not (other.is_restriction and swap.is_restriction)
                for other in swaps
            ):
                raise UserError(
                    f"--swap {text}", f"{source} is swapped already.", "Swap each class once."
                )
            swaps.append(swap)
    return swaps


def apply_swap(text: str, swap: Swap, rules: Rules) -> str:
    """One text of a template with one swap applied.

    >>> apply_swap("{object1:large=true} falls.", Swap("object", "nonword"), Rules())
    '{nonword_from_object1} falls.'
    >>> apply_swap("{agent1:sex=male} falls.", Swap("agent", "agent:western=false"), Rules())
    '{agent1:sex=male:western=false} falls.'
    >>> apply_swap(
    ...     "{agent1:sex=male} falls.", Swap("agent", "description", frozenset({"sex"})), Rules()
    ... )
    '{description_from_agent1:sex=male} falls.'
    """
    if rules.prefix_swaps:
        return _apply_as_original(text, swap)

    def swapped(found: re.Match[str]) -> str:
        key = found[1]
        if slot_class(key) != swap.source:
            return found[0]
        if swap.is_restriction:
            return f"{{{key}{swap.target[len(swap.source) :]}}}"
        name, _, restriction = swap.target.partition(":")
        kept = [part for part in restrictions_of(key) if part.partition("=")[0] in swap.kept]
        return (
            "{"
            + ":".join(
                [f"{name}_from_{variable_of(key)}", *kept, *([restriction] if restriction else [])]
            )
            + "}"
        )

    return KEY.sub(swapped, text)


def _apply_as_original(text: str, swap: Swap) -> str:
    """By text prefix; the order of mentions may matter, and the original leaves it to chance: here
    it is the text's.
    """
    mentions = list(dict.fromkeys(key for key in keys(text) if key.startswith(swap.source)))
    for mention in mentions:
        if swap.source in swap.target:
            text = text.replace(
                f"{{{mention}", f"{{{mention}{swap.target.replace(swap.source, '')}"
            )
        else:
            number = re.search(r"\d+", mention)
            text = text.replace(
                f"{{{mention}", f"{{{swap.target}_from_{swap.source}{number[0] if number else ''}"
            )
    return text


DESIGN = (
    "concept_a",
    "concept_b",
    "context_contrast",
    "context_type",
    "target_contrast",
    "situation",
)
#: What materials say of templates in lists (``compile.py``); fillings do not depend on it.
MARKS = ("culture_bound", "adversarial")
#: What pandas reads as a missing value, and so what the original lost from its tables.
_MISSING_WORDS = frozenset(
    [
        *(
            "",
            "#N/A",
            "#N/A N/A",
            "#NA",
            "-1.#IND",
            "-1.#QNAN",
            "-NaN",
            "-nan",
            "1.#IND",
            "1.#QNAN",
            "<NA>",
        ),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)


class Slots(NamedTuple):
    """A template ready to be filled.

    Attributes:
        texts: the four texts in the order of ``TEXTS``; every slot in them is one of ``keys``.
        keys: distinct, in code-point order.
        design: the columns ``DESIGN``, then ``MARKS``.
    """

    domain: str
    meta_template: int
    template: int
    texts: tuple[str, ...]
    keys: tuple[str, ...]
    design: tuple[str | None, ...]

    @property
    def template_id(self) -> str:
        """The id of the template."""
        return f"{self.domain}_{self.meta_template}_{self.template}"


def open_slots(
    templates: pd.DataFrame, fillers: Fillers, swaps: Sequence[Swap] = ()
) -> dict[str, list[Slots]]:
    """Domain -> its templates in row order."""
    domains: dict[str, list[Slots]] = {}
    columns = ["domain", "meta_template", "template", *TEXTS, *DESIGN, *MARKS]
    for domain, meta_template, template, *rest in templates.reindex(columns=columns).itertuples(
        index=False, name=None
    ):
        texts = tuple(rest[: len(TEXTS)])
        for swap in swaps:
            texts = tuple(apply_swap(text, swap, fillers.rules) for text in texts)
        texts, slot_keys = settle(texts, fillers)
        design = tuple(_present(value, fillers.rules) for value in rest[len(TEXTS) :])
        domains.setdefault(domain, []).append(
            Slots(domain, meta_template, template, texts, slot_keys, design)
        )
    return domains


def settle(texts: tuple[str, ...], fillers: Fillers) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the mentions of a variable one key with all their restrictions, so that it means one
    filler in an item.

    Where no filler meets them all (a context about cloth against one about a liquid), each mention
    keeps a key of its own. The original gives every spelling its own key.

    Returns:
        The texts with settled keys, and the distinct keys in code-point order.
    """
    mentioned = dict.fromkeys(key for text in texts for key in keys(text))
    if fillers.rules.loose_variables:
        return texts, tuple(sorted(mentioned))
    by_variable: dict[str, dict[str, list[str]]] = {}
    for mention in mentioned:
        variable, _, written = mention.partition(":")
        by_variable.setdefault(variable, {})[mention] = split_restrictions(written)
    settled = {}
    for variable, mentions in by_variable.items():
        together = key_for(
            variable,
            {restriction for restrictions in mentions.values() for restriction in restrictions},
        )
        is_met = len(mentions) == 1 or bool(fillers.options(together))
        for mention, restrictions in mentions.items():
            settled[mention] = together if is_met else key_for(variable, set(restrictions))
    return tuple(KEY.sub(lambda m: f"{{{settled[m[1]]}}}", text) for text in texts), tuple(
        sorted(set(settled.values()))
    )


def is_ambiguous(slot_keys: Sequence[str]) -> bool:
    """Whether a mention without restriction occurs next to mentions of the same variable that
    cannot be one filler.
    """
    variables = [variable_of(key) for key in slot_keys]
    return any(
        key == variable and variables.count(variable) > 1
        for key, variable in zip(slot_keys, variables, strict=True)
    )


def _present(value: object, rules: Rules) -> str | None:
    if not isinstance(value, str) or (rules.missing_words and value in _MISSING_WORDS):
        return None
    return value
