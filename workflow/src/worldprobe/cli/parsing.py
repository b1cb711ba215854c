"""A command line as a call of a command's function: mistakes in three lines as all errors, outputs
and streams checked first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from importlib.util import find_spec
from inspect import BoundArguments
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from cyclopts import Parameter
from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from worldprobe.cli.options import FOLDER, contains
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import check_place
from worldprobe.paths import PATH_OR_NAME

if TYPE_CHECKING:
    from cyclopts import App, Argument

#: Folders that are read whole: no output may be written over one of their files.
READ_WHOLE = {"materials", "source", "corpus", "tokenizer", "checkpoint"}


def _shown_default(value: object) -> object:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or None
    return None if value is False or value in ("", {}) else value


#: Several values after one option, no ``--no-...``, no defaults that say nothing.
DEFAULTS = Parameter(negative=(), consume_multiple=(1, None), show_default=_shown_default)


@dataclass(frozen=True)
class Call:
    """A command with the values of its arguments."""

    command: str
    function: Callable[..., int | None]
    bound: BoundArguments

    @property
    def places(self) -> dict[str, list[Path]]:
        """Argument -> paths in its value, or in its default. A text is one if its type says so, or
        if it ends as a YAML file, which stands in many places for a name.
        """
        self.bound.apply_defaults()
        hints = get_type_hints(self.function, include_extras=True)
        values: dict[str, Any] = {}
        left = dict(self.bound.arguments)
        while left:
            name, value = left.popitem()
            if is_dataclass(value) or hasattr(value, "model_fields_set"):  # of several commands
                hints |= get_type_hints(type(value), include_extras=True)
                left |= vars(value)
            else:
                values[name] = value
        return {
            name: [
                Path(text)
                for text in _flat(value)
                if contains(hints[name], Path, PATH_OR_NAME)
                or str(text).endswith((".yaml", ".yml"))
            ]
            for name, value in values.items()
        }

    def check_settings(self) -> None:
        """Refuse settings that contradict each other; see ``check_settings``."""
        check_settings(self.bound.arguments.values())

    def run(self) -> int | None:
        """Run it."""
        return self.function(*self.bound.args, **self.bound.kwargs)

    def check_outputs(self) -> None:
        """Refuse outputs that cannot be written, are inputs as well, or are named twice, and inputs
        that are no files.

        It comes before anything is computed.

        Raises:
            UserError: naming the option.
        """
        hints = get_type_hints(self.function, include_extras=True)
        inputs: list[tuple[str, Path]] = []
        outputs: list[tuple[str, Path]] = []
        for argument, paths in self.places.items():
            for path in paths:
                if argument == "out" or argument.endswith("_out"):
                    is_folder = contains(hints[argument], FOLDER) and path.suffix != ".zip"
                    if not is_folder or path.name in ("", ".."):
                        check_place(path)
                    outputs.append(("--" + argument.replace("_", "-"), path))
                elif os.path.exists(path):  # False where it is too long
                    _check_is_regular(path)
                    inputs.append((argument, path))
        for number, (option, path) in enumerate(outputs):
            for earlier, twin in outputs[:number]:
                if path.resolve() == twin.resolve():
                    problem = f"is named by {earlier} too; one would overwrite the other."
                    raise UserError(f"{option} {path}", problem, "Name two files.")
            _check_is_no_input(option, path, inputs)


def check_settings(values: Iterable[Any]) -> None:
    """Refuse settings that contradict each other.

    Args:
        values: of a command's arguments, among them blocks of settings.

    Raises:
        UserError: naming the option.
    """
    for value in values:
        if hasattr(value, "model_fields_set"):
            from worldprobe.settings.blocks import all_findings

            for keys, problem, fix in all_findings(value):
                raise UserError(option_of(keys), problem, fix)


def _flat(value: Any) -> Iterator[str | Path]:
    """The texts and paths in a value, which may be a list, or a list of lists."""
    if isinstance(value, str | Path) and value != "":
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _flat(part)


def _check_is_regular(path: Path) -> None:
    """Refuse a pipe, which may never end and can be read only once: inputs are read, and their
    digests noted.
    """
    if not path.is_file() and not path.is_dir():
        problem = "is a device, pipe or socket, not a regular file."
        raise UserError(path, problem, "Write its content to a file, and give the path of that.")


def _check_is_no_input(option: str, path: Path, inputs: list[tuple[str, Path]]) -> None:
    for argument, source in inputs:
        if path.exists() and path.samefile(source):
            raise UserError(
                f"{option} {path}",
                "is one of the inputs; it would be overwritten.",
                "Choose another name.",
            )
        if (
            argument in READ_WHOLE
            and source.is_dir()
            and path.exists()
            and path.resolve().is_relative_to(source.resolve())
        ):
            problem = f"is a file of the input folder {source}; it would be overwritten."
            raise UserError(f"{option} {path}", problem, "Choose another name.")


def option_of(keys: Sequence[object]) -> str:
    """The option of a key of a block of settings, or of an entry of a list there.

    >>> option_of(("kinds", "straight_liner")), option_of(("sizes", 0))
    ('--kinds.straight-liner', '--sizes')
    """
    names = [key for key in keys if isinstance(key, str)]
    return "--" + ".".join(names).replace("_", "-")


def unknown_options(app: App, words: Sequence[str]) -> list[str]:
    """What is wrong with the options that a command does not know: of several mistakes the one that
    explains the others.
    """
    _, apps, _ = app.parse_commands(words)
    if apps[-1].default_command is None:
        return []
    names = [name for argument in arguments_of(apps[-1]) for name in argument.names] + ["--help"]
    before = ["", *words[:-1]]  # what follows --password is one, whatever it looks like
    options = [
        word
        for word, last in zip(words, before, strict=True)
        if word.startswith("--") and last != "--password"
    ]
    given = [word.partition("=")[0] for word in options]
    return [
        f"unknown option {option}{did_you_mean(option, names)}"
        for option in given
        if option not in names
    ]


def in_our_words(error: CycloptsError, unknown: Sequence[str] = ()) -> UserError:
    """A mistake on the command line; no value is repeated that may be a misplaced password."""
    cause = error.__cause__
    is_missing = isinstance(error, MissingArgumentError)
    if not (unknown or is_missing) and callable(errors := getattr(cause, "errors", None)):
        # pydantic's, of a block of settings
        from worldprobe.settings.blocks import complaint

        block = error.argument.hint  # type: ignore[union-attr]
        first = errors(include_url=False)[0]
        fault = complaint(first, block, [])
        return UserError(option_of(first["loc"]), fault.problem.partition(": ")[2], fault.fix)
    where = " ".join(("worldprobe", *(error.command_chain or ())))
    return UserError(where, unknown[0] if unknown else _problem(error), f"Run: {where} --help")


def _problem(error: CycloptsError) -> str:
    if isinstance(error, UnknownCommandError):
        word = (error.unused_tokens or [""])[0]
        names = (
            [name for name in error.app or () if not name.startswith("-")]
            if error.app is not None
            else []
        )
        near = did_you_mean(word, names, "")
        return (
            f'unknown action: "{word}"{near}'
            if near
            else f"unknown action: choose one of {', '.join(names)}."
        )
    if isinstance(error, UnknownOptionError):  # of one letter, or --
        return f"unknown option {error.token.value[:2]}."
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} is given twice; give it once."
    if isinstance(error, UnusedCliTokensError):
        return (
            "too many arguments: the last ones have no meaning here (several files or names stand"
            " side by side, without an option between them)."
        )
    name = error.argument.name if error.argument is not None else ""
    if isinstance(error, MissingArgumentError):
        return f"{name} is missing." if error.keyword is None else f"{error.keyword} needs a value."
    if isinstance(error, ValidationError):
        return f"{name}: {error.exception_message}."
    if isinstance(error, CoercionError):
        token = getattr(error, "token", None)
        choices = error.argument.get_choices() if error.argument is not None else None
        if token is not None and choices:
            near = did_you_mean(token.value, choices, f": choose one of {', '.join(choices)}.")
            return f'{name}: "{token.value[:40]}" is unknown{near}'
        if error.argument is not None and error.argument.hint is bool:
            return f"{name} takes no value."
        return f"{name}: {getattr(error, 'msg', None) or error}."
    return str(error)


def commands(app: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, App]]:
    """Every command below an app: its words, and the app that knows its arguments."""
    for name in app:
        if name.startswith("-"):
            continue
        inner = app[name]
        if inner.default_command is None:
            yield from commands(inner, (*words, name))
        else:
            yield " ".join((*words, name)), inner


def arguments_of(app: App) -> list[Argument]:
    """The arguments of a command, with their help; what a class of shared options holds counts one
    by one.
    """
    arguments = app.assemble_argument_collection(default_parameter=DEFAULTS, parse_docstring=True)
    return [
        argument
        for argument in arguments
        if argument.parse and argument.name != "*" and not argument.children
    ]


#: Extra -> what it brings that the package imports. The list of each with its versions is in
#: pyproject.toml.
EXTRAS = {
    "hf": (
        *(
            "torch",
            "transformers",
            "tokenizers",
            "safetensors",
            "accelerate",
            "huggingface_hub",
            "peft",
        ),
        *("sentencepiece", "google"),
    ),
    "vllm": ("vllm",),
    "openai": ("openai",),
    "workflow": ("snakemake", "gensim", "nbconvert", "nbformat", "nbclient", "ipykernel"),
    "r": ("rpy2",),
    "survey": ("fastapi", "starlette", "uvicorn", "jwt", "cryptography", "mistune"),
}


def need(module: str) -> None:
    """Stop where a package is not installed, before anything is read and without importing it.

    Raises:
        ModuleNotFoundError: which ``missing_extra`` turns into what to install.
    """
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def missing_extra(error: ModuleNotFoundError) -> UserError | None:
    """What to install where an import failed; None where the module belongs to no extra.

    >>> missing_extra(ModuleNotFoundError(name="torch.nn")).fix
    'pip install "worldprobe[hf]"'
    >>> missing_extra(ModuleNotFoundError(name="pandsa")) is None
    True
    """
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            problem = (
                f"is not installed, and this command needs it: it comes with the extra {extra}."
            )
            return UserError(
                f"Python package {module}", problem, f'pip install "worldprobe[{extra}]"'
            )
    return None
