"""What every class of settings is made of: closed blocks of keys, and what is said where a document
does not fit its class.

A setting is an attribute with its type, bounds and default; the text below it is its meaning. The
first sentence stands in messages and in ``config/config.yaml``, and all of it in the reference.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from worldprobe.errors import UserError, did_you_mean, raise_all
from worldprobe.settings.documents import Keys, Source, dotted, find_line, in_order, read_yaml

#: What is wrong with settings that fit their class: the key within the block, the problem, the fix.
Finding = tuple[Keys, str, str]
#: A number as YAML 1.2 has it.
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
#: For classes made of other classes: nobody looks for their texts in the source, which takes long.
MADE = {"use_attribute_docstrings": False}


class Block(BaseModel):
    """A block of settings that allows no unknown key.

    Words of a command line become the key's type; ``check`` is strict with documents.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _as_written(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        """A number stays whole where it is written so, because commands and digests repeat it."""
        return _whole(value, check(value))

    def findings(self) -> Iterator[Finding]:
        """What is wrong beyond types and bounds, e.g. settings that contradict each other or files
        that do not exist.
        """
        yield from ()


def _whole(written: Any, checked: Any) -> Any:
    if isinstance(checked, dict):
        return {key: _whole(written[key], value) for key, value in checked.items()}
    if not isinstance(checked, float):
        return checked
    if isinstance(written, int):
        return written
    is_whole = isinstance(written, str) and re.fullmatch(r"[-+]?[0-9]+", written)
    return int(written) if is_whole else checked


def _distinct(entries: list[T]) -> list[T]:
    if any(entry in entries[:number] for number, entry in enumerate(entries)):
        raise ValueError("an entry is given twice.", "Give each entry once.")
    return entries


def absent(**details: Any) -> Any:
    """The default of a key that is not there unless it is stated."""
    return Field(None, exclude_if=lambda value: value is None, **details)


Share = Annotated[float, Field(ge=0, le=1)]
#: A share that is never everything.
PartialShare = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Text = Annotated[str, Field(min_length=1)]
#: A SHA-256 digest.
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
#: A list without an entry twice.
Distinct = Annotated[
    list[T], AfterValidator(_distinct), Field(json_schema_extra={"uniqueItems": True})
]


def name(pattern: str, advice: str, longest: int = 60) -> Any:
    """What the free keys of a mapping are like.

    Args:
        pattern: that a name matches whole.
        advice: how names are written.
        longest: most characters.
    """
    return Field(pattern=f"^{pattern}$", max_length=longest, description=advice)


def check(
    kind: type[M], document: Any, sources: Sequence[Source], strict: bool = True
) -> tuple[M | None, list[UserError]]:
    """A document as its class, and every problem of it in the order of its lines.

    Args:
        kind: a class of settings.
        document: what is checked; merged from the sources.
        sources: where the settings come from, the strongest last.
        strict: whether a number must not be written as text, as in the environment.
    """
    if not isinstance(document, dict):
        where = sources[-1].name if sources else "configuration"
        return None, [
            UserError(where, "does not consist of keys and values.", "Write `key: value` lines.")
        ]
    try:
        parsed = kind.model_validate(document, strict=strict)
    except ValidationError as error:
        return None, in_order(
            complaint(fault, kind, sources) for fault in error.errors(include_url=False)
        )
    return parsed, in_order(
        _found(keys, problem, fix, sources) for keys, problem, fix in all_findings(parsed)
    )


def parse(
    kind: type[M],
    document: Any,
    sources: Sequence[Source],
    strict: bool = True,
) -> M:
    """A document as its class.

    Args:
        kind: a class of settings.
        document: what is checked; merged from the sources.
        sources: where the settings come from, the strongest last.
        strict: whether a number must not be written as text, as in the environment.

    Raises:
        UserError: every problem.
    """
    parsed, problems = check(kind, document, sources, strict)
    raise_all(problems)
    assert parsed is not None  # for mypy: without a problem there is something
    return parsed


def parse_given(kind: type[M], given: str | None, options: Mapping[str, Any] | None = None) -> M:
    """The settings that a command was given.

    Args:
        kind: a class of settings.
        given: name of a YAML file, or JSON (``{...}``); None: nothing but the options.
        options: settings that were given as options, which win.

    Raises:
        UserError: every problem.
    """
    source = Source("--settings", {})
    if given and given.lstrip().startswith("{"):
        try:
            source = Source("--settings", json.loads(given))
        except ValueError as error:
            raise UserError(
                "--settings", f"is not valid JSON: {error}.", "Correct it, or name a YAML file."
            ) from error
    elif given:
        source = read_yaml(given)
    stated = dict(options or {})
    document = (
        {**source.document, **stated} if isinstance(source.document, dict) else source.document
    )
    return parse(kind, document, [source, Source("options", stated)])


def option_words(settings: Mapping[str, Any], keys: Iterable[str] | None = None) -> list[str]:
    """Settings as options of the command that takes their block: one for each key that is set.

    Args:
        settings: a block, as a mapping.
        keys: those that are meant; None: all.

    >>> option_words({"per_domain": True, "swap": ["a", "b"], "limit": None, "seed": 3})
    ['--per-domain=true', '--swap', 'a', 'b', '--seed=3']
    >>> option_words({"skins": ["a", "-b"], "set": [["test", "a"], ["ood", "b"]]})
    ['--skins=a', '--skins=-b', '--set', 'test', 'a', '--set', 'ood', 'b']
    >>> option_words({"control": {"steps": 0}, "chat_template_kwargs": {"enable_thinking": False}})
    ['--control.steps=0', '--chat-template-kwargs={"enable_thinking": false}']
    """
    words = []
    for key in settings if keys is None else keys:
        option, value = f"--{key.replace('_', '-')}", settings.get(key)
        if isinstance(value, dict) and key.endswith("_kwargs"):  # its keys are not ours
            words += [f"{option}={json.dumps(value)}"] if value else []
        elif isinstance(value, dict):
            words += option_words({f"{key}.{inner}": inside for inner, inside in value.items()})
        elif isinstance(value, list) and value and isinstance(value[0], list):
            for texts in value:  # the option is repeated
                words += [option, *texts]
        elif isinstance(value, list):
            texts = [str(entry) for entry in value]
            if any(word.startswith("-") for word in texts):  # apart, it would be another option
                words += [f"{option}={word}" for word in texts]
            else:
                words += [option, *texts] if texts else []
        elif value is not None:
            words.append(f"{option}={str(value).lower() if isinstance(value, bool) else value}")
    return words


def options(
    block: Mapping[str, Any] | None = None, keys: Iterable[str] | None = None, /, **others: Any
) -> str:
    """A block of settings, or some keys of it, and others as options of a command: one for each
    that is set.

    >>> options({"limit": 3, "seed": None}, swap=["a b"])
    "--limit=3 --swap 'a b'"
    """
    return shlex.join([*option_words(block or {}, keys), *option_words(others)])


def all_findings(value: Any, keys: Keys = (), seen: set[int] | None = None) -> Iterator[Finding]:
    """The findings of all blocks in a value, each block once however often it is there."""
    seen = set() if seen is None else seen
    inner: Iterator[tuple[Any, Any]] = iter(())
    value = value.root if isinstance(value, RootModel) else value
    if isinstance(value, Block):
        if id(value) in seen:
            return
        seen.add(id(value))
        yield from (((*keys, *tail), problem, fix) for tail, problem, fix in value.findings())
        inner = iter(value)
    elif isinstance(value, Mapping):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = iter(enumerate(value))
    for key, entry in inner:
        yield from all_findings(entry, (*keys, key), seen)


@functools.cache
def json_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a class of settings."""
    return kind.model_json_schema()


def schema_at(kind: type[BaseModel], keys: Keys) -> dict[str, Any]:
    """The part of the JSON Schema of a class that describes a key; empty where the class does not
    know it.
    """
    root = json_schema(kind)
    part = _resolved(root, root)
    for key in keys:
        if isinstance(key, int):
            inner = part.get("items", {})
        else:
            free: Any = part.get("additionalProperties") or next(
                iter(part.get("patternProperties", {}).values()), {}
            )
            inner = part.get("properties", {}).get(key, free)
        part = _resolved(inner, root)
    return part


def _resolved(part: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A part in which references and ``null or ...`` are replaced by what they stand for."""
    if not isinstance(part, dict):
        return {}
    if "$ref" in part:
        target = root["$defs"][part["$ref"].rpartition("/")[2]]
        return _resolved(
            {**target, **{key: value for key, value in part.items() if key != "$ref"}}, root
        )
    others = [kind for kind in part.get("anyOf", ()) if kind != {"type": "null"}]
    if len(others) == 1:
        rest = {key: value for key, value in part.items() if key != "anyOf"}
        return {**_resolved(others[0], root), **rest, "nullable": True}
    return part


def meaning(part: Mapping[str, Any], whole: bool = False) -> str:
    """The meaning of a key: the first sentence, or the whole text."""
    text = " ".join(str(part.get("description", "")).split())
    return text if whole else re.split(r"(?<=\.) (?=[A-Z`])", text, maxsplit=1)[0]


def values_in_words(part: Mapping[str, Any]) -> str:
    """What may be written.

    >>> values_in_words(
    ...     {
    ...         "type": "array",
    ...         "items": {"type": "integer", "minimum": 3, "maximum": 8},
    ...         "minItems": 1,
    ...     }
    ... )
    'a list of at least 1 entry, each a whole number from 3 to 8'
    >>> values_in_words({"enum": ["a", "b", None]})
    'a, b or null'
    """
    if "enum" in part or "const" in part:
        *others, last = [
            "null" if value is None else str(value)
            for value in part.get("enum", [part.get("const")])
        ]
        return f"{', '.join(others)} or {last}" if others else last
    kind = part.get("type")
    low, high = part.get("minimum"), part.get("maximum")
    above, below = part.get("exclusiveMinimum"), part.get("exclusiveMaximum")
    if kind in ("integer", "number"):
        words = "a whole number" if kind == "integer" else "a number"
        if low is not None and high is not None:
            words += f" from {low} to {high}"
        else:
            bounds = [
                (low, "of", "or more"),
                (above, "above", ""),
                (high, "up to", ""),
                (below, "below", ""),
            ]
            words += "".join(
                f" {before} {bound:g} {after}".rstrip()
                for bound, before, after in bounds
                if bound is not None
            )
    elif kind == "array":
        fewest = part.get("minItems", 0)
        least = f" of at least {fewest} {'entry' if fewest == 1 else 'entries'}" if fewest else ""
        items = part.get("items", {})
        words = f"a list{least}" + (
            f", each {values_in_words(items)}" if "$ref" not in items else ""
        )
    else:
        words = {"string": "a text", "boolean": "true or false"}.get(str(kind), "a block of keys")
        words += f" of at most {part['maxLength']} characters" if "maxLength" in part else ""
    return f"{words}, or null" if part.get("nullable") else words


def _found(keys: Keys, problem: str, fix: str, sources: Sequence[Source]) -> UserError:
    return UserError(
        find_line(keys, sources), f"{dotted(keys)}: {problem}" if keys else problem, fix
    )


def complaint(error: Any, kind: type[BaseModel], sources: Sequence[Source]) -> UserError:
    """One of pydantic's errors in our three lines.

    Args:
        error: as ``ValidationError.errors`` lists it.
        kind: the class that a document does not fit.
        sources: where the document comes from, the strongest last.
    """
    keys, value, rule = tuple(error["loc"]), error["input"], error["type"]
    if rule == "extra_forbidden":
        allowed = sorted(schema_at(kind, keys[:-1]).get("properties", {}))
        near = did_you_mean(str(keys[-1]), allowed, f"; the known keys are {', '.join(allowed)}.")
        return _found(keys, f"unknown key{near}", "Fix or remove the key.", sources)
    if keys[-1:] == ("[key]",):
        advice = (
            schema_at(kind, keys[:-2])
            .get("propertyNames", {})
            .get("description", "Write it as text, in quotes.")
        )
        return _found(keys[:-1], "is not a valid name.", advice, sources)
    part = schema_at(kind, keys)
    meant = f" Meaning: {meaning(part)}" if "description" in part else ""
    if rule == "missing":
        return _found(keys, "is missing.", f"Add the key.{meant}", sources)
    if (
        isinstance(value, str)
        and rule.endswith("_type")
        and part.get("type") in ("integer", "number")
        and _NUMBER.fullmatch(value)
    ):
        # YAML 1.1 takes 1e-5 for a text
        number = float(value)
        text = str(int(number)) if number.is_integer() else yaml.safe_dump(number).split()[0]
        return _found(keys, f"YAML reads {value} as a text.", f"Write {text}.{meant}", sources)
    quotes = (
        ", in quotes" if rule == "string_type" and isinstance(value, bool | int | float) else ""
    )
    fix = (
        f"{'Choose' if 'enum' in part or 'const' in part else 'Write'}"
        f" {values_in_words(part)}{quotes}.{meant}"
    )
    if rule == "string_pattern_mismatch":
        fix = f"Write a text of that form.{meant}"
    if rule == "value_error":
        problem, *better = error["ctx"]["error"].args
        return _found(keys, problem, better[0] if better else fix, sources)
    text = re.sub(
        r"dictionary.*",
        "block of keys",
        error["msg"].replace(" after validation", "").replace("tuple", "list"),
    )
    text = text.replace("greater than or equal to", "at least").replace(
        "less than or equal to", "at most"
    )
    problem = re.sub(r"^(Input|String|List|Dictionary)", lambda _: _shown(value, part), text)
    if part.get("writeOnly") and rule == "string_pattern_mismatch":
        problem = "the value is not of the form that is meant"
    near = did_you_mean(str(value), map(str, part["enum"])) if "enum" in part else "."
    return _found(keys, problem + near, fix, sources)


def _shown(value: Any, part: Mapping[str, Any]) -> str:
    """A value as a message may show it: never a secret, nor a block that may contain one."""
    if part.get("writeOnly"):
        return "the value"
    if isinstance(value, dict | list):
        return "a block of keys" if isinstance(value, dict) else "a list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
