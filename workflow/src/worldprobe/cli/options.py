"""Options that several commands share, each declared once: its type, its bounds and its help."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from worldprobe.archives import EXPORT_VARIABLE
from worldprobe.errors import TooLittleError, UserError
from worldprobe.missing import present
from worldprobe.paths import Place

if TYPE_CHECKING:
    from cyclopts import Token

#: The variable with the password of materials.
PASSWORD_VARIABLE = "WORLDPROBE_MATERIALS_PASSWORD"
#: The most versions, or items per template, that one command makes.
MOST = 10_000
#: Marks an output that is a folder: it may replace what the same command wrote.
FOLDER = "output folder"

#: Marks an argument whose type is a block of settings: an option for each of its keys, with the
#: block's default, bounds and text.
KEYS = Parameter(name="*")


def contains(hint: Any, *parts: Any) -> bool:
    """Whether a type is one of some types or marks, or has one in its arguments.

    >>> contains(Sequence[Annotated[Path, FOLDER]] | None, FOLDER), contains(list[int], float)
    (True, False)
    """
    return any(hint is part for part in parts) or any(
        contains(inner, *parts) for inner in get_args(hint)
    )


@dataclass(frozen=True)
class Bounds:
    """Reads the numbers of an option, whole or not by its type, and refuses those out of bounds."""

    low: float
    high: float

    def __call__(self, hint: Any, tokens: Sequence[Token]) -> Any:
        """The option's value; cyclopts says which option it is when this raises."""
        numbers = [self.read(token.value, not contains(hint, float)) for token in tokens]
        kind = get_origin(hint)
        return (
            tuple(numbers) if kind is tuple else numbers if kind in (list, Sequence) else numbers[0]
        )

    def read(self, text: str, is_whole: bool) -> float:
        """One number.

        >>> Bounds(1, 10).read("3", True), Bounds(0, 1).read("1e-3", False)
        (3, 0.001)

        Raises:
            ValueError: it is none, or out of bounds.
        """
        try:
            value: float = int(text) if is_whole else float(text)
        except ValueError:
            value = math.nan
        if not (self.low <= value <= self.high) or math.isinf(value):
            raise ValueError(f'"{text}" is not a {"whole " * is_whole}number {self}')
        return value

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"of {self.low:g} or more"
        return f"from {self.low} to {self.high}"


def between(low: float, high: float = 10_000_000) -> Parameter:
    """The bounds of a number, both included."""
    return Parameter(converter=Bounds(low, high))


def groups_of(_hint: Any, tokens: Sequence[Token]) -> list[list[str]]:
    """The values of an option that is repeated, one list for each time."""
    groups: list[list[str]] = []
    for token in tokens:
        if token.index == 0:
            groups.append([])
        groups[-1].append(token.value)
    return groups


@dataclass(frozen=True)
class Pairs:
    """Refuses values of an option that are not of the form NAME=VALUE, or name something twice."""

    form: str
    bounds: Bounds | None = None

    def __call__(self, _hint: Any, texts: Sequence[str]) -> None:
        """Check the option's values; cyclopts says which option it is when this raises."""
        names = set()
        for text in texts:
            name, _, value = (part.strip() for part in text.partition("="))
            if not (name and value):
                raise ValueError(f'"{text[:40]}" is not of the form {self.form}')
            if name in names:
                raise ValueError(f"names {name} twice")
            if self.bounds:
                self.bounds.read(value, False)
            names.add(name)


def pairs_of(texts: Iterable[str]) -> dict[str, str]:
    """The values of an option of the form NAME=VALUE.

    >>> pairs_of(["mine = no memory"])
    {'mine': 'no memory'}
    """
    return {
        name.strip(): value.strip() for name, _, value in (text.partition("=") for text in texts)
    }


#: An option that takes several values and is repeated.
Groups = Annotated[list[list[Place]], Parameter(converter=groups_of)]
ReplicateModels = Annotated[
    Sequence[Sequence[str]],
    Parameter(
        converter=groups_of,
        help="NAME MODEL MODEL ...: these models are replicates of NAME, such as training runs or"
        " groups of raters; repeat the option for each name. Their test is conservative",
    ),
]
Count = Annotated[int, between(1)]
OutFolder = Annotated[Path, FOLDER]

#: The largest seed that numpy, torch and gensim all take.
Seed = Annotated[int, between(0, 2**32 - 1), Parameter(help="seed of everything that is drawn")]
Draws = Annotated[int, between(10, 100_000), Parameter(help="number of bootstrap samples")]
Processes = Annotated[
    int,
    between(1, 4096),
    Parameter(help="number of processes; the files are the same for any number"),
]
Judgements = Annotated[list[Path], Parameter(help="judgements tables, any number")]
Answers = Annotated[
    list[Path],
    Parameter(
        help="what models answered, any number of tables of one benchmark: judgements (EWoK),"
        " scores, responses (WorldSense; also PROMPTING___MODEL___results.jsonl, .bz2 or .gz)"
    ),
]
Sets = Annotated[
    Sequence[str],
    Parameter(
        help="WorldSense: trials that are answered, a file for each set; NAME=FILE names the set,"
        " which tables of ours do themselves"
    ),
]
Surface = Annotated[Path, Parameter(help="surface features table")]
EvalType = Annotated[
    str, Parameter(help="EWoK: way of asking (default: logprobs)", show_default=False)
]
Cluster = Annotated[
    Literal["concept_pair", "template"],
    Parameter(
        help="EWoK: random factor of the intervals (default: concept_pair); versions are a second"
        " one if all items of a version share one filling, or if a test finds that versions differ",
        show_default=False,
    ),
]
Metric = Annotated[
    Literal["accuracy", "pairing"],
    Parameter(
        help="EWoK: of an item, the mean of its two targets, or whether its contexts and targets"
        " fit as they belong together"
    ),
]
Missing = Annotated[
    Sequence[str],
    Parameter(
        validator=Pairs("MODEL=REASON"),
        help="MODEL=REASON: a model of the study without answers, and why; tables, figures and the"
        " report name it",
    ),
]
Registry = Annotated[
    Path, Parameter(help="model registry; if there is no such file, the package's")
]
Names = Annotated[
    Path | None,
    Parameter(
        name="--registry", help="model registry, for names and order (default: ids are shown)"
    ),
]
Revision = Annotated[str | None, Parameter(help="branch, tag or commit of the hub id")]
Dtype = Annotated[
    str | None, Parameter(help="precision of the weights: float32 (default), bfloat16 or float16")
]
Adapter = Annotated[
    Place | None,
    Parameter(
        help="adapter of peft (LoRA) to put on the checkpoint: folder or fetched hub id; if a"
        " folder has both full weights and an adapter, none ignores the adapter"
    ),
]
AllowPickle = Annotated[
    bool, Parameter(help="accept weights that exist as pickles only (which can run code)")
]
TrustRemoteCode = Annotated[bool, Parameter(help="run the Python code that comes with the model")]
ModelName = Annotated[
    str | None, Parameter(help="the model's name in tables (default: the checkpoint's)")
]
ConfigFiles = Annotated[
    Sequence[Path], Parameter(help="configuration files, as given to snakemake")
]
Samples = Annotated[Path, Parameter(help="folder that was lm-eval's --output_path")]

MaterialsPlace = Annotated[
    Place,
    Parameter(
        help="builtin (our own, newest edition), builtin@1 to builtin@4 (a given edition),"
        " builtin-es, builtin-zh (Spanish, Chinese), a folder in EWoK's official layout, or a .zip"
        " file of one"
    ),
]
Password = Annotated[
    str | None,
    Parameter(help=f"password of the .zip; set {PASSWORD_VARIABLE} to hide it from other users"),
]
Compat = Annotated[bool, Parameter(help="EWoK: repeat the original generator, quirks included")]
Families = Annotated[
    bool,
    Parameter(
        help="take families (templates that differ in the level of one factor) instead of domains"
    ),
]
ReleaseFilter = Annotated[bool, Parameter(help="keep only the items of the official release")]

Trials = Annotated[
    Place, Parameter(help="official trials (.jsonl, .jsonl.bz2, .jsonl.gz) or our table (.parquet)")
]
SkinFolder = Annotated[
    Path | None, Parameter(help="folder of skins (default: the skins of this repository)")
]
WordingVersion = Annotated[
    int,
    between(1, 4),
    Parameter(
        help="version of the wording; 1 to 3 give the texts of earlier releases, byte for byte"
    ),
]
Encrypt = Annotated[
    bool,
    Parameter(help=(f"encrypt texts with the password in {EXPORT_VARIABLE}; readers need it too")),
]


class Deferred:
    """A command with an argument whose type takes long to know, as it depends on all benchmarks: it
    is asked for when the command is called, or its own help is printed.

    Args:
        function: the command's.
        name: the argument.
        kind: gives the argument's type, whose instance without arguments is the default.
    """

    def __init__(self, function: Callable[..., Any], name: str, kind: Callable[[], Any]) -> None:
        self.function, self.name, self.kind = function, name, kind
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        if self.name not in kwargs:
            kwargs[self.name] = self.kind()()
        return self.function(*args, **kwargs)

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        """The types of all arguments."""
        hints = get_type_hints(self.function, include_extras=True)
        return hints | {self.name: Annotated[self.kind(), KEYS]}

    @property
    def __signature__(self) -> Signature:
        """The arguments, with the default of the one."""
        plain, hints = signature(self.function), self.__annotations__
        arguments = [
            argument.replace(
                annotation=hints[name],
                default=self.kind()() if name == self.name else argument.default,
            )
            for name, argument in plain.parameters.items()
        ]
        return plain.replace(parameters=arguments, return_annotation=hints.get("return"))


def deferred(**kinds: Callable[[], Any]) -> Callable[[Callable[..., Any]], Deferred]:
    """Decorator of a command: argument=function that gives its type; see ``Deferred``."""
    [(name, kind)] = kinds.items()
    return lambda function: Deferred(function, name, kind)


def named_groups(groups: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Name -> models, of an option that takes both.

    >>> named_groups([["small", "small_0", "small_1"]])
    {'small': ['small_0', 'small_1']}

    Raises:
        UserError: a name is given twice, or with fewer than two models.
    """
    by_name: dict[str, list[str]] = {}
    for name, *models in groups:
        if name in by_name or len(models) < 2:
            problem = (
                f"{name} is given twice."
                if name in by_name
                else f"{name} has fewer than two models."
            )
            raise UserError(
                "--replicates",
                problem,
                "Give each name once, with the models that are replicates of one another.",
            )
        by_name[name] = models
    return by_name


def read_password(given: str | None) -> str | None:
    """The password of materials: what is given, or else the environment's."""
    return given or os.environ.get(PASSWORD_VARIABLE)


def export_password(is_encrypted: bool) -> str | None:
    """The password of what is exported; None where it is not encrypted.

    Raises:
        UserError: there is none in the environment.
    """
    word = os.environ.get(EXPORT_VARIABLE)
    if is_encrypted and not word:
        raise UserError(
            "--encrypt", "needs a password.", f"Set the environment variable {EXPORT_VARIABLE}."
        )
    return word if is_encrypted else None


def answered(tables: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The tables of answers that are there, and the models of the others, as ``--missing`` names
    them.

    Args:
        tables: of answers, or files in their place that say why they are missing.

    Raises:
        TooLittleError: none is there.
    """
    there, missing = present(tables)
    reasons: dict[str, str] = {}
    for model in missing:
        told = reasons.get(model.name, "")
        if model.reason not in told.split("; "):
            reasons[model.name] = f"{told}; {model.reason}" if told else model.reason
    if missing and not there:
        listed = "; ".join(f"{name}: {why}" for name, why in reasons.items())
        problem = f"none of the models has answers ({listed})."
        raise TooLittleError(tables[0], problem, "Repair that, and run again.")
    return there, [f"{name}={why}" for name, why in reasons.items()]


def missing_models(
    missing: Iterable[str], present: Iterable[str], without: Iterable[str] = ()
) -> dict[str, dict[str, str]]:
    """Provenance details that name the missing models, ``{"missing_models": {model: reason}}``, and
    those that answered in part, ``{"partly_missing": {model: reason}}``, or nothing.

    Args:
        missing: the values of ``--missing``.
        present: models that the tables do have.
        without: models some of whose tables are missing, as ``answered`` names them.

    >>> missing_models(["a=no weights"], ["b"], ["b=no chat template"])
    {'missing_models': {'a': 'no weights'}, 'partly_missing': {'b': 'no chat template'}}

    Raises:
        UserError: a model is not missing.
    """
    named, there = pairs_of(missing), set(present)
    for model in sorted(named.keys() & there):
        raise UserError(
            "--missing",
            f"names {model}, but the tables contain it.",
            "Leave it out, or leave its tables out.",
        )
    marked = sorted(pairs_of(without).items())
    named |= {model: why for model, why in marked if model not in there}
    partly = {model: why for model, why in marked if model in there}
    details = {"missing_models": dict(sorted(named.items())), "partly_missing": partly}
    return {name: models for name, models in details.items() if models}
