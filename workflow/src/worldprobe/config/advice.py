"""What to write instead of a wrong value, as a schema has it: the ``fix:`` of an error message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Type of JSON Schema -> the value in words, for one and for several.
KINDS = {
    "boolean": ("true or false", "true or false"),
    "integer": ("a whole number", "whole numbers"),
    "number": ("a number", "numbers"),
    "string": ("a text", "texts"),
    "array": ("a list", "lists"),
    "object": ("a block of keys", "blocks of keys"),
    "null": ("null", "null"),
}


def advise(part: Mapping[str, Any], value: Any = None) -> str:
    """What may be written, and what it means.

    Args:
        part: the schema of one key, an entry or a name.
        value: what was written.

    >>> advise({"type": ["integer", "null"], "minimum": 1, "description": "GPUs that share the weights."}, "x")
    'Write a whole number of 1 or more, or null. Meaning: GPUs that share the weights.'
    >>> advise({"type": "array", "items": {"enum": ["age", "gender"]}, "minItems": 1}, [])
    'Write a list of at least one of these: age, gender.'
    >>> advise({"type": "string", "description": "Family of the model."}, 5)
    'Write a text, in quotes. Meaning: Family of the model.'
    """
    meaning = meaning_of(part)
    if part.get("title") == "name":  # the description says which letters a name may have
        return meaning
    return f"{_order(part, value)}{f' Meaning: {meaning}' if meaning else ''}"


def meaning_of(part: Mapping[str, Any]) -> str:
    """What a key means, in one line; empty where the schema does not say it."""
    return str(part.get("description", "")).strip().partition("\n")[0]


def _order(part: Mapping[str, Any], value: Any) -> str:
    allowed = part.get("enum", [part["const"]] if "const" in part else None)
    if allowed is not None:
        return f"Choose one of {', '.join(map(str, allowed))}."
    types = [part["type"]] if isinstance(part.get("type"), str) else list(part.get("type", []))
    if not types:
        return "Change the value."
    words = [_words(part, kind) for kind in types]
    if "string" in types and isinstance(value, bool | int | float):
        words[types.index("string")] += ", in quotes"
    *others, last = words
    return f"Write {', '.join(others)}, or {last}." if others else f"Write {last}."


def _words(part: Mapping[str, Any], kind: str) -> str:
    one = KINDS[kind][0]
    if kind in ("integer", "number"):
        return one + _bounds(part)
    if kind == "string":
        return one + (f" of at most {part['maxLength']} characters" if "maxLength" in part else "")
    if kind == "object" and part.get("properties"):
        return f"{one} ({', '.join(part['properties'])})"
    return _list(part) if kind == "array" else one


def _list(part: Mapping[str, Any]) -> str:
    items = part.get("items", {})
    fewest = part.get("minItems", 0)
    least = f" at least {'one' if fewest == 1 else fewest}" if fewest else ""
    if "enum" in items:
        return f"a list of{least}{' of' if least else ''} these: {', '.join(map(str, items['enum']))}"
    kind = items.get("type")
    if kind not in KINDS:
        return "a list"
    bounds = _bounds(items) if kind in ("integer", "number") else ""
    return f"a list of{least} {KINDS[kind][fewest != 1]}".replace("one a ", "one ") + bounds


def _bounds(part: Mapping[str, Any]) -> str:
    low, high, above = part.get("minimum"), part.get("maximum"), part.get("exclusiveMinimum")
    if above is not None:
        return f" above {above}" + (f" and up to {high}" if high is not None else "")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of {low} or more"
    return f" up to {high}" if high is not None else ""
