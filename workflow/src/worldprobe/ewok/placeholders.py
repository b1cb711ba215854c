"""Slots: ``[agent1]`` or ``[object1:large=true]`` in materials, ``{object1:large=true}`` in templates.

A slot names a *variable* (``object1``), whose *type* (``object``) is also its filler class, and may *restrict* the filler
(``large=true``: the filler's column ``large`` says ``true``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from worldprobe.ewok.rules import Rules

#: The compiler of the original: one restriction at most, in either kind of bracket.
_ONE_RESTRICTION = re.compile(r"[\[{](\w+):?([\w=,]*)[\]}]")
#: Ours: any number of restrictions.
_SLOT = re.compile(r"[\[{]([^\[\]{}:]+)((?::[^\[\]{}:]*)*)[\]}]")
#: Keys of a finished template: all that stands between braces.
_KEY = re.compile(r"\{([^}]+)\}")
_BRACES = str.maketrans("[]", "{}")


def braces(text: str) -> str:
    """Slots as templates show them.

    >>> braces("[agent1] sees [object1:large=true]")
    '{agent1} sees {object1:large=true}'
    """
    return text.translate(_BRACES)


@lru_cache(maxsize=1 << 16)
def _restrictions(text: str, rules: Rules) -> tuple[tuple[str, str], ...]:
    if rules.one_restriction:
        return tuple(_ONE_RESTRICTION.findall(text))
    return tuple((name, joined.lstrip(":").replace(",", ":")) for name, joined in _SLOT.findall(text))


def variables(text: str, rules: Rules) -> dict[str, str]:
    """Variables in order of first mention -> restrictions as written at their last mention.

    >>> variables("[agent1] likes [agent2:sex=male]", Rules())
    {'agent1': '', 'agent2': 'sex=male'}
    """
    return dict(_restrictions(text, rules))


def all_restrictions(texts: Iterable[str], rules: Rules) -> dict[str, set[str]]:
    """Variable -> the single restrictions (``column=value``) of all its mentions.

    In the original only a variable's last mention in each text counts.
    """
    separator = "," if rules.one_restriction else ":"
    found: dict[str, set[str]] = {}
    for text in texts:
        mentions = variables(text, rules).items() if rules.one_restriction else _restrictions(text, rules)
        for name, joined in mentions:
            found.setdefault(name, set()).update(part for part in joined.split(separator) if part)
    return found


def variable_type(name: str, rules: Rules) -> str:
    """The type by which variables are counted.

    >>> variable_type("agent12", Rules()), variable_type("item", Rules()), variable_type("item", Rules(type_by_last_letter=True))
    ('agent', 'item', 'ite')
    """
    return name[:-1] if rules.type_by_last_letter else re.sub(r"\d+$", "", name)


def keys(text: str) -> list[str]:
    """The slot keys of a template's text, restrictions included, in order and with repetitions."""
    return _KEY.findall(text)


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
