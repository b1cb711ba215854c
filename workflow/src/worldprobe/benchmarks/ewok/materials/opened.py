"""Templates ready to be filled: their slots swapped for others and settled, each variable one
filler.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine, Problems
from worldprobe.benchmarks.ewok.materials.fillers import Fillers, FillersOfTemplates, values_of
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.slots import (
    KEY,
    Key,
    keys,
    split_form,
    split_restrictions,
)
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError, did_you_mean


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
    classes: Sequence[str],
    columns: Mapping[str, Mapping[str, Collection[str]]] | None = None,
) -> list[Swap]:
    """Swaps as the command line gives them; one option may contain several, separated by commas.

    Args:
        options: e.g. ``["agent->agent:western=false,object->nonword"]``.
        classes: the filler classes there are.
        columns: class -> what its fillers can be restricted by -> the values that occur; a swap to
            another class keeps the restrictions that it knows. None: restrictions are not checked.

    Raises:
        UserError: not of the form SOURCE->TARGET, a class that is not there, a restriction that no
            filler meets, or a class swapped twice.

    >>> parse_swaps(["object->nonword"], ["object", "nonword"])
    [Swap(source='object', target='nonword')]
    >>> known = {"agent": {"western": ["true", "false"]}}
    >>> parse_swaps(["agent->agent:western=False"], ["agent"], known)
    [Swap(source='agent', target='agent:western=false')]
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
                if name not in classes:
                    near = did_you_mean(
                        name, classes, f"; the classes are {', '.join(sorted(classes))}."
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
            name, *restrictions = target.split(":")
            known_columns = (columns or {}).get(name, {})
            if columns is not None:
                spelt = [_as_spelt(text, name, part, known_columns) for part in restrictions]
                target = ":".join([name, *spelt])
            swap = Swap(source, target, frozenset(known_columns))
            if any(
                other.source == source and not (other.is_restriction and swap.is_restriction)
                for other in swaps
            ):
                raise UserError(
                    f"--swap {text}", f"{source} is swapped already.", "Swap each class once."
                )
            swaps.append(swap)
    return swaps


def _as_spelt(
    swap: str, name: str, restriction: str, columns: Mapping[str, Collection[str]]
) -> str:
    """A restriction as the fillers spell it: the paper prints False where they say false.

    Raises:
        UserError: no filler of the class meets it.
    """
    column, _, value = (part.strip() for part in restriction.partition("="))
    if column not in columns:
        near = did_you_mean(column, columns, f"; they have {', '.join(columns) or 'none'}.")
        problem = f'fillers of {name} have no property "{column}"{near}'
        raise UserError(f"--swap {swap}", problem, "Write e.g. agent->agent:western=false.")
    values = {spelling.casefold(): spelling for spelling in sorted(columns[column])}
    if value.casefold() not in values:
        shown = sorted(values.values())
        near = did_you_mean(value.casefold(), shown, f"; the values are {', '.join(shown[:9])}.")
        problem = f'no filler of {name} has {column}="{value}"{near}'
        raise UserError(f"--swap {swap}", problem, "Name a value of this property.")
    return f"{column}={values[value.casefold()]}"


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

    def swapped(match: re.Match[str]) -> str:
        key = Key(match[1])
        if key.filler_class != swap.source:
            return match[0]
        form = key[: len(key) - len(split_form(key)[1])]
        if swap.is_restriction:
            return f"{{{key}{swap.target[len(swap.source) :]}}}"
        name, _, restriction = swap.target.partition(":")
        kept = [part for part in key.restrictions if part.partition("=")[0] in swap.kept]
        parts = [f"{name}_from_{key.variable}", *kept, *([restriction] if restriction else [])]
        return f"{{{form}{':'.join(parts)}}}"

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


class OpenTemplate(NamedTuple):
    """A template ready to be filled.

    Attributes:
        domain: of the template.
        meta_template: its number in the domain.
        template: its number among those of the same meta-template.
        texts: the four texts in the order of ``TEXTS``; every slot in them is one of ``keys``.
        keys: distinct, in code-point order.
        design: the columns ``DESIGN``, then ``MARKS``.
    """

    domain: str
    meta_template: int
    template: int
    texts: tuple[str, ...]
    keys: tuple[Key, ...]
    design: tuple[str | None, ...]

    @property
    def template_id(self) -> str:
        """The id of the template."""
        return f"{self.domain}_{self.meta_template}_{self.template}"


def open_templates(
    templates: pd.DataFrame, fillers: Fillers, swaps: Sequence[Swap] = ()
) -> dict[str, list[OpenTemplate]]:
    """Domain -> its templates in row order."""
    domains: dict[str, list[OpenTemplate]] = {}
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
            OpenTemplate(domain, meta_template, template, texts, slot_keys, design)
        )
    return domains


def ready_templates(
    templates: pd.DataFrame, materials: Materials | FillersOfTemplates, swaps: Sequence[str] = ()
) -> tuple[dict[str, list[OpenTemplate]], Fillers]:
    """The templates ready to be filled, if they can be."""
    fillers = Fillers(materials.fillers, materials.rules)
    if templates.empty:
        raise UserError(
            "templates",
            "the table has no rows.",
            "Compile the templates again from these materials.",
        )
    parsed = parse_swaps(swaps, list(materials.fillers), values_of(materials.fillers))
    slots = open_templates(templates, fillers, parsed)
    check_slots(slots, fillers, materials.problems)
    materials.problems.raise_first()
    return slots, fillers


def settle(texts: tuple[str, ...], fillers: Fillers) -> tuple[tuple[str, ...], tuple[Key, ...]]:
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
    by_variable: dict[str, dict[Key, list[str]]] = {}
    for mention in mentioned:
        restrictions = split_restrictions(mention.partition(":")[2])
        by_variable.setdefault(mention.variable, {})[mention] = restrictions
    settled: dict[str, Key] = {}

    def written(match: re.Match[str]) -> str:
        form = split_form(match[1])[0]
        return f"{{{form} {settled[match[1]]}}}" if form else f"{{{settled[match[1]]}}}"

    for variable, mentions in by_variable.items():
        together = Key.of(variable, set().union(*mentions.values()))
        is_met = len(mentions) == 1 or bool(fillers.options(together))
        for mention, restrictions in mentions.items():
            settled[mention] = together if is_met else Key.of(variable, set(restrictions))
    return tuple(KEY.sub(written, text) for text in texts), tuple(sorted(set(settled.values())))


def check_slots(
    domains: dict[str, list[OpenTemplate]], fillers: Fillers, problems: Problems
) -> None:
    """Note templates whose slots no filler can fill, after restrictions have met across context and
    target.
    """
    for templates in domains.values():
        checked: set[tuple[str, ...]] = set()
        for template in templates:
            if template.keys in checked:
                continue
            checked.add(template.keys)
            line = MaterialsLine("templates", 0, template.template_id)
            for key in template.keys:
                if not fillers.options(key):
                    problems.refuse(
                        line,
                        f"no filler meets {{{key}}}.",
                        "Loosen its restrictions, or add a filler that meets them.",
                    )
            if not fillers.rules.loose_variables and is_ambiguous(template.keys):
                slots = ", ".join(f"{{{key}}}" for key in template.keys)
                problems.refuse(
                    line,
                    f"it is unclear which filler a slot without restriction means ({slots}).",
                    "Number them.",
                )


def is_ambiguous(slot_keys: Sequence[Key]) -> bool:
    """Whether a mention without restriction occurs next to mentions of the same variable that
    cannot be one filler.
    """
    variables = [key.variable for key in slot_keys]
    return any(variables.count(key) > 1 for key in slot_keys)


def _present(value: object, rules: Rules) -> str | None:
    if not isinstance(value, str) or (rules.missing_words and value in _MISSING_WORDS):
        return None
    return value
