"""The configuration, checked against closed JSON Schemas; every complaint names file, line and key.

The schemas (``workflow/schemas``) also hold the defaults, so a configuration states only what differs from them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import SCHEMAS

Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Source:
    """One place that settings come from.

    Attributes:
        name: the file's name, or the option.
        document: what it says.
        lines: line of every key and list entry; empty for options of the command line.
    """

    name: str
    document: Any
    lines: Mapping[Keys, int]

    def place(self, keys: Keys) -> str | None:
        """``file, line N`` of a key, or None where this source does not set it."""
        if not self.lines:
            return self.name if _reach(self.document, keys) else None
        return f"{self.name}, line {self.lines[keys]}" if keys in self.lines else None


def read_yaml(path: Path | str) -> Source:
    """Read a YAML file with the line of every key.

    Raises:
        UserError: no such file, broken YAML, or a key given twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(path, "is not UTF-8 text.", "Save it as UTF-8.") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[Keys, int] = {(): 1}
        if root is not None:
            _collect_lines(root, (), lines, str(path))
        return Source(str(path), yaml.safe_load(text), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise UserError(
            where, f"is not valid YAML: {error.problem or error.context}.", "Fix the line or the one above it."
        ) from error


def validate(document: Any, schema: str, sources: Sequence[Source]) -> None:
    """Check a document against ``workflow/schemas/{schema}.schema.yaml``.

    Args:
        document: what is checked; merged from the sources.
        schema: the schema's name.
        sources: where the settings come from, the strongest last.

    Raises:
        UserError: the first problem, in the order of the document; where there are more, the fix says so.
    """
    found = complaints(document, schema, sources)
    if found:
        first, more = found[0], len(found) - 1
        fix = first.fix + (f" ({more} more in the same place or below.)" if more else "")
        raise UserError(first.where, first.problem, fix)


def complaints(document: Any, schema: str, sources: Sequence[Source]) -> list[UserError]:
    """All problems of a document, in the order of its lines."""
    validator = jsonschema.Draft202012Validator(read_schema(schema))
    found = [c for error in validator.iter_errors(document) for c in _complain(error, sources, schema)]
    return sorted(found, key=lambda c: _line(c.where))


@lru_cache
def read_schema(name: str) -> dict[str, Any]:
    """A schema by name."""
    return read_yaml(SCHEMAS / f"{name}.schema.yaml").document


def with_defaults(document: Any, schema: str) -> Any:
    """A copy of the document with the schema's defaults where it is silent.

    >>> with_defaults({"materials": {"compat": True}}, "config")["materials"]["source"]
    'builtin'
    """
    root = read_schema(schema)
    return _fill(copy.deepcopy(document), root, root)


def read_registry(path: Path | str) -> dict[str, dict[str, Any]]:
    """The model registry: model id -> card, defaults filled in.

    Raises:
        UserError: the file is missing or breaks ``models.schema.yaml``.
    """
    source = read_yaml(path)
    registry = source.document or {}
    validate(registry, "models", [source])
    return {model: {"model": model} | card for model, card in with_defaults(registry, "models").items()}


def read_study(
    settings: Mapping[str, Any], files: Iterable[Path | str], options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The validated study: the merged settings with every default filled in.

    Args:
        settings: the settings as merged by the caller.
        files: the files they come from, the strongest last; only to name lines.
        options: settings given on the command line, stronger than any file. Snakemake hands their inner values over as
            text, so ``materials={compat: true}`` is read again here.

    Raises:
        UserError: an unknown key, a wrong type, a value outside its bounds.
    """
    options = _reread(dict(options or {}))
    merged = merge(settings, options)
    sources = [read_yaml(path) for path in files] + ([Source("--config", options, {})] if options else [])
    validate(merged, "config", sources)
    return with_defaults(merged, "config")


def read_site(path: Path | str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The facts of a SLURM site; ``WORLDPROBE_PARTITION`` and its like in the environment are stronger than the file.

    Raises:
        UserError: the file is missing, or it or the environment breaks ``cluster.schema.yaml``.
    """
    source = read_yaml(path)
    stated = source.document or {}
    validate(stated, "cluster", [source])
    site = with_defaults(stated, "cluster")
    given: dict[str, Any] = {fact: text for fact in site if (text := environment.get(f"WORLDPROBE_{fact.upper()}"))}
    given |= {fact: yaml.safe_load(given[fact]) for fact in ("gpu_memory_gb", "longest_minutes") if fact in given}
    validate(given, "cluster", [Source("the environment's WORLDPROBE_...", given, {})])
    return site | given


def merge(base: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with stronger ones laid over them: mappings are merged, everything else is replaced.

    >>> merge({"items": {"seed": 0, "mode": "fixed"}}, {"items": {"seed": 1}})
    {'items': {'seed': 1, 'mode': 'fixed'}}
    """
    merged = dict(base)
    for key, value in stronger.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def check_models(study: Mapping[str, Any], registry: Mapping[str, Any], files: Iterable[Path | str], registry_name: str) -> None:
    """Every model of the study stands in the registry.

    Raises:
        UserError: an unknown model id, with the nearest known one.
    """
    sources = [read_yaml(path) for path in files]
    for number, model in enumerate(study["models"]):
        if model not in registry:
            raise UserError(
                _place(("models", number), sources, default="models"),
                f"models: {model}: no such model in {registry_name}{did_you_mean(model, registry, '; it has no similar name.')}",
                f"Choose one of its {len(registry)} models, or add an entry of that name to {registry_name}.",
            )


def _collect_lines(node: yaml.Node, keys: Keys, lines: dict[Keys, int], name: str) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*keys, key.value)
            line = key.start_mark.line + 1
            if inner in lines:
                raise UserError(
                    f"{name}, line {line}",
                    f"{_dotted(inner)}: stands twice; the first is in line {lines[inner]}.",
                    "Keep one of them.",
                )
            lines[inner] = line
            _collect_lines(value, inner, lines, name)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[(*keys, number)] = value.start_mark.line + 1
            _collect_lines(value, (*keys, number), lines, name)


def _complain(error: jsonschema.ValidationError, sources: Sequence[Source], schema: str) -> list[UserError]:
    keys: Keys = tuple(error.absolute_path)
    rule, wanted = error.validator, error.validator_value
    if rule == "additionalProperties" and isinstance(error.instance, dict):
        known = sorted(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        nearest = {key: did_you_mean(str(key), known, f"; known are {', '.join(known)}.") for key in unknown}
        return [
            UserError(_place((*keys, key), sources), f"{_dotted((*keys, key))}: unknown key{nearest[key]}", "Fix or remove it.")
            for key in unknown
        ]
    name = _dotted(keys) or schema
    value = error.instance
    if rule == "required":
        missing = [key for key in wanted if key not in value]
        return [UserError(_place(keys, sources), f"{_dotted((*keys, key))}: missing.", "Add the key.") for key in missing]
    fix = error.schema.get("description", "").strip().split("\n")[0] or "Fix the value."
    if rule == "type":
        kinds = " or ".join([wanted] if isinstance(wanted, str) else wanted)
        problem = f"{name}: {value!r} should be of type {kinds}."
    elif rule in ("enum", "const"):
        allowed = [str(v) for v in (wanted if rule == "enum" else [wanted])]
        problem = f"{name}: {value!r} is not known{did_you_mean(str(value), allowed)}"
        fix = f"Choose one of {', '.join(allowed)}."
    elif rule == "pattern" and error.schema.get("title") == "name":
        problem = f"{_dotted((*keys, value))}: is no valid name."
        keys = (*keys, value)
    elif rule == "pattern":
        problem = f"{name}: {value!r} has not the right form."
    elif rule in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        sense = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than"}[
            rule
        ]
        problem = f"{name}: {value!r} must be {sense} {wanted}."
    elif rule == "uniqueItems":
        problem = f"{name}: an entry stands twice."
    elif rule in ("minItems", "minLength", "minProperties"):
        problem = f"{name}: is empty."
    else:
        problem = f"{name}: {error.message}."
    return [UserError(_place(keys, sources), problem, fix)]


def _place(keys: Keys, sources: Sequence[Source], default: str = "configuration") -> str:
    """The strongest source that sets the key; where none does, the nearest key above it."""
    for length in range(len(keys), -1, -1):
        for source in reversed(sources):
            if place := source.place(keys[:length]):
                return place
    return default


def _line(where: str) -> tuple[str, int]:
    name, _, line = where.rpartition(", line ")
    return (name, int(line)) if name else (where, 0)


def _dotted(keys: Keys) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


def _reach(document: Any, keys: Keys) -> bool:
    for key in keys:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _reread(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _reread(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_reread(inner) for inner in value]
    if isinstance(value, str):
        scalar = yaml.safe_load(value)
        return scalar if scalar is None or isinstance(scalar, bool | int | float) else value
    return value


def _fill(document: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if not isinstance(document, dict):
        return document
    for key, inner in schema.get("properties", {}).items():
        if key not in document and "default" in inner:
            document[key] = copy.deepcopy(inner["default"])
        if key in document:
            document[key] = _fill(document[key], inner, root)
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping):
        for key in document:
            if key not in schema.get("properties", {}):
                document[key] = _fill(document[key], extra, root)
    return document
