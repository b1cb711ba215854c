"""YAML of materials as classes whose objects know their lines, and all that is wrong with them at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    ValidationInfo,
)
from pydantic.json_schema import SkipJsonSchema

from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.errors import UserError, printable
from worldprobe.settings.blocks import complaint
from worldprobe.settings.documents import LOADER, Keys, Repeated, Source, dotted, parse_yaml


class MaterialsLine(NamedTuple):
    """A line of a file of the materials, and the entry it belongs to (e.g. ``target 3``)."""

    file: str
    line: int = 0
    entry: str = ""

    def __str__(self) -> str:
        return (
            self.file
            + (f", line {self.line}" if self.line else "")
            + (f" ({self.entry})" if self.entry else "")
        )


@dataclass(frozen=True)
class Problem:
    """One thing to fix; a warning (``is_error`` false) does not stop a build."""

    place: MaterialsLine
    problem: str
    fix: str
    is_error: bool = True

    def __str__(self) -> str:
        return printable(
            f"{'error' if self.is_error else 'warning'}: {self.place}\n  problem: {self.problem}\n "
            f" fix: {self.fix}"
        )


class Problems(list[Problem]):
    """Problems in the order in which they were found.

    Args:
        is_lenient: let pass, with a warning, what the original generator lets pass.
    """

    def __init__(self, is_lenient: bool = False) -> None:
        super().__init__()
        self.is_lenient = is_lenient

    def error(self, place: MaterialsLine, problem: str, fix: str) -> None:
        """Note something that cannot be compiled."""
        self._note(Problem(place, problem, fix))

    def refuse(self, place: MaterialsLine, problem: str, fix: str) -> None:
        """Note something that is surely a mistake; only the original lets it pass."""
        self._note(Problem(place, problem, fix, is_error=not self.is_lenient))

    def warn(self, place: MaterialsLine, problem: str, fix: str) -> None:
        """Note something that a build can live with."""
        self._note(Problem(place, problem, fix, is_error=False))

    def _note(self, problem: Problem) -> None:
        if problem not in self:
            self.append(problem)

    def errors(self) -> list[Problem]:
        """The problems that stop a build."""
        return [p for p in self if p.is_error]

    def add(
        self, error: UserError, note: Callable[[MaterialsLine, str, str], None] | None = None
    ) -> None:
        """Note an error of reading.

        Args:
            error: its place is a file, or a file and a line.
            note: how (``error``).
        """
        file, _, line = error.where.rpartition(", line ")
        (note or self.error)(
            MaterialsLine(file, int(line)) if file else MaterialsLine(error.where),
            error.problem,
            error.fix,
        )

    def raise_first(self) -> None:
        """Raise the first error, if there is one, saying how many more there are.

        Raises:
            UserError: there is at least one error.
        """
        errors = self.errors()
        if errors:
            first, others = errors[0], len(errors) - 1
            more = (
                f" ({others} more: `worldprobe materials check` lists them all.)" if others else ""
            )
            raise UserError(first.place, first.problem, first.fix + more)


_BOOL, _NULL, _STR = (f"tag:yaml.org,2002:{kind}" for kind in ("bool", "null", "str"))
_TRUTH = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}


class _Bare(str):
    """A word without quotes that YAML 1.1 takes for a truth value."""


class _Texts(LOADER):  # type: ignore[misc, valid-type]
    """Reads every key as text, and every value except null."""

    yaml_implicit_resolvers = {
        start: [(tag, form) for tag, form in forms if tag in (_BOOL, _NULL)]
        for start, forms in LOADER.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                key.tag = _STR
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


_Texts.add_constructor(_BOOL, lambda _, node: _Bare(node.value))


def _text(value: Any, context: ValidationInfo) -> Any:
    """A text, or None where there is none."""
    if isinstance(value, _Bare):
        rules: Any = context.context
        if rules.yaml_1_1_truth:
            return (
                str(value) if _TRUTH[value.lower()] else None
            )  # The original takes "no" for "there is none".
        if value.lower() in ("true", "false"):
            raise ValueError(
                f"is the truth value {value.lower()}.",
                "Put it in quotes if you mean the word, or write null.",
            )
    return str(value) if isinstance(value, str) else value


def texts(value: Any, context: ValidationInfo) -> Any:
    """One text or a list of them."""
    if isinstance(value, list):
        return [text for entry in value if (text := _text(entry, context)) is not None]
    text = _text(value, context)
    return [text] if isinstance(text, str) else text


def _text_or_texts(value: Any, context: ValidationInfo) -> Any:
    content = (texts if isinstance(value, list) else _text)(value, context)
    if not all(
        isinstance(text, str)
        for text in (content if isinstance(content, list) else [content or ""])
    ):
        raise ValueError(
            "is neither a text nor a list of texts.",
            "Write a text, or a list with a dash before each text.",
        )
    return content


def _flag(value: Any) -> bool:
    if value is not None and str(value).lower() not in _TRUTH:
        raise ValueError("is neither true nor false.", "Write true or false.")
    return value is not None and _TRUTH[str(value).lower()]


TextOrTexts = Annotated[str | tuple[str, ...] | None, BeforeValidator(_text_or_texts)]
OptionalText = Annotated[str | None, BeforeValidator(_text)]
Text = Annotated[str, Field(min_length=1), BeforeValidator(_text)]
OptionalTexts = Annotated[tuple[str, ...] | None, BeforeValidator(texts)]
Flag = Annotated[bool, BeforeValidator(_flag)]


class Entry(BaseModel):
    """A mapping of a file of materials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Under a name that nobody writes as a key.
    place: SkipJsonSchema[Annotated[MaterialsLine, SkipValidation]] = Field(
        default=MaterialsLine(""), alias="\0place", repr=False
    )


E = TypeVar("E", bound=Entry)


def read_document(file: str, content: bytes, problems: Problems) -> Source | None:
    """A file's values, each of them text, null, a list or a mapping; None with a problem noted."""
    repeated: list[Repeated] = []
    try:
        source = parse_yaml(file, content, _Texts, repeated)
    except UserError as error:
        problems.add(error)
        return None
    for keys, line, first, is_same in repeated:
        problem = f"{dotted(keys)}: is set twice (first on line {first}); the last one counts."
        (problems.warn if is_same else problems.refuse)(
            MaterialsLine(file, line), problem, "Keep one of the two."
        )
    if source.document is None:
        problems.error(
            MaterialsLine(file), "is empty.", "Write at least one entry, or remove the file."
        )
        return None
    return source


def parse_entry(
    kind: type[E],
    source: Source,
    keys: Keys,
    problems: Problems,
    rules: Rules,
    has_flags: bool = False,
) -> E | None:
    """A part of a document as its class, or None with problems noted.

    Args:
        kind: what it is.
        source: the file.
        keys: where in the file.
        problems: unknown keys are refused.
        rules: which behaviours of the original are kept.
        has_flags: whether an unknown key that is true or false may be meant as a flag.
    """
    value = source.document
    for key in keys:
        value = value[key]
    while True:
        try:
            return kind.model_validate(_placed(value, keys, source), context=rules)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
        for fault in errors:
            is_unknown = fault["type"] == "extra_forbidden"
            lines = {
                at[len(keys) :]: line
                for at, line in source.lines.items()
                if at[: len(keys)] == keys
            }
            error = complaint(fault, kind, [Source(source.name, None, lines)])
            last = fault["loc"][-1]
            is_flag = has_flags and str(fault["input"]).lower() in ("true", "false")
            if is_flag and is_unknown and "did you mean" not in error.problem:
                problem = (
                    f"{last}: unknown key; as a flag it does nothing, since no target's criteria"
                    " name it, or the name has another meaning."
                )
                fix = "Name it in the criteria of a target, rename it, or remove it."
                error = UserError(error.where, problem, fix)
            problems.add(
                error,
                problems.refuse if is_unknown else None,
            )
        if not problems.is_lenient or any(fault["type"] != "extra_forbidden" for fault in errors):
            return None
        for fault in errors:
            *above, last = fault["loc"]
            inner = value
            for key in above:
                inner = inner[key]
            del inner[last]


def _placed(value: Any, keys: Keys, source: Source) -> Any:
    """A value whose mappings state their places: that of their pattern, if they have one."""
    if isinstance(value, list):
        return [_placed(part, (*keys, number), source) for number, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    line = source.lines.get((*keys, "pattern"), source.lines.get(keys, 0))
    return {key: _placed(part, (*keys, key), source) for key, part in value.items()} | {
        "\0place": MaterialsLine(source.name, line)
    }
