"""The parser of every command: closed, brief about mistakes, and silent about values that may be secrets."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import check_place

#: Arguments whose value is a label, never a path that is read.
LABELS = {"model", "filter", "password", "eval_type", "eval_types", "versions", "skip", "swap", "replace"}
#: Folders that are read whole: no output may be written over one of their files.
READ_WHOLE = {"materials", "source", "corpus", "tokenizer", "checkpoint"}


class Formatter(argparse.HelpFormatter):
    """Appends the default to the help of every option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        if (
            text
            and action.option_strings
            and "default" not in text
            and action.default not in (None, False, [], argparse.SUPPRESS)
        ):
            return f"{text} (default: %(default)s)"
        return text


class _StoreOnce(argparse._StoreAction):
    """An option that stores a value may be given once: of two values, neither is silently dropped."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        seen: set[str] = namespace.__dict__.setdefault("_seen", set())
        if self.option_strings and self.dest in seen:
            raise argparse.ArgumentError(self, "is given twice; give it once")
        seen.add(self.dest)
        super().__call__(parser, namespace, values, option_string)


class Parser(argparse.ArgumentParser):
    """A closed parser: no abbreviations, no option twice, and mistakes in the three lines of every other error."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", Formatter)
        super().__init__(*args, **settings)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse; unknown options are named without their values, which may be a misplaced password."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            leaf: Parser = getattr(parsed, "leaf", self)
            options = [word.partition("=")[0] for word in unknown if word.startswith("--")]
            if options:
                leaf.fail_unknown(options[0])
            leaf.fail("too many arguments: the last ones have no meaning here.")
        parsed.__dict__.pop("_seen", None)
        return parsed

    def check_options_before_stage(self, arguments: Sequence[str]) -> None:
        """Name an unknown option before the stage: argparse would only say that the stage, or what it needs, is missing."""
        for word in arguments:
            if not word.startswith("-"):
                return
            option = word.partition("=")[0] if word.startswith("--") else word[:2]
            if option not in self._option_string_actions:
                self.fail_unknown(option)

    def fail_unknown(self, option: str) -> NoReturn:
        """Name an unknown option, with the nearest known one, and exit with status 2."""
        self.fail(f"unknown option {option}{did_you_mean(option, self._option_string_actions)}")

    def error(self, message: str) -> NoReturn:
        """Print the mistake; a word that is not a known stage, action or name is repeated only where it resembles one."""
        if found := re.fullmatch(r"(?:argument (.+?): )?invalid choice: '?(.*?)'? \(choose from (.*)\)", message, re.DOTALL):
            argument, given, listed = found.groups()
            known = [word.strip(" '\"") for word in listed.split(",")]
            near = did_you_mean(given, known, "")
            if argument and argument.startswith("-"):
                message = f'{argument}: "{given[:40]}" is unknown{near or ": choose one of " + ", ".join(known)}'
            else:
                what = f'"{given}"{near}' if near else f"choose one of {', '.join(known)}."
                message = f"unknown {(argument or 'word').lower()}: {what}"
        self.fail(message)

    def fail(self, problem: str) -> NoReturn:
        """Print a mistake on the command line in three lines and exit with status 2."""
        end = "" if problem.endswith((".", "?")) else "."
        message = UserError(self.prog, problem.removeprefix("argument ") + end, f"Run: {self.prog} --help")
        print(message.lines(), file=sys.stderr)
        raise SystemExit(2)


def mark_leaves(parser: argparse.ArgumentParser) -> None:
    """Let every command's parsed arguments name the parser that knows them, and its ``--help`` begin with what it does."""
    _describe(parser)
    for leaf in leaves(parser):
        leaf.set_defaults(leaf=leaf)


def _describe(parser: argparse.ArgumentParser) -> None:
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            for entry in group._choices_actions:
                inner = group.choices[entry.dest]
                if inner.description is None and entry.help:
                    inner.description = f"{entry.help[:1].upper()}{entry.help[1:]}."
                _describe(inner)


def leaves(parser: argparse.ArgumentParser) -> Iterable[argparse.ArgumentParser]:
    """The parsers of all commands."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield parser
    for group in groups:
        for inner in group.choices.values():
            yield from leaves(inner)


def is_output(action: argparse.Action) -> bool:
    """Whether an argument names what is written: ``--out``, ``--tokens-out`` and their like."""
    return action.dest == "out" or action.dest.endswith("_out")


def check_paths(args: argparse.Namespace) -> list[Path]:
    """Refuse outputs that cannot be written, are inputs as well, or are named twice, before anything is computed.

    Returns:
        The outputs.

    Raises:
        UserError: naming the option.
    """
    leaf: argparse.ArgumentParser | None = getattr(args, "leaf", None)
    if leaf is None:
        return []
    inputs: list[tuple[str, Path]] = []
    outputs: list[tuple[str, Path]] = []
    for action in leaf._actions:
        given = getattr(args, action.dest, None)
        values = given if isinstance(given, list | tuple) else [given]
        name = max(action.option_strings, key=len, default=action.metavar if isinstance(action.metavar, str) else action.dest)
        for value in values:
            if not isinstance(value, str | Path):
                continue
            if is_output(action):
                path = Path(value)
                is_folder = str(action.metavar).startswith("FOLDER") and path.suffix != ".zip"
                if not is_folder or path.name in ("", ".."):
                    check_place(path)
                outputs.append((name, path))
            elif action.dest not in LABELS and not action.choices and _exists(value):
                inputs.append((action.dest if action.dest in READ_WHOLE else name, Path(value)))
    for number, (name, path) in enumerate(outputs):
        for other, twin in outputs[:number]:
            if path.resolve() == twin.resolve():
                raise UserError(f"{name} {path}", f"is named by {other} too; one would overwrite the other.", "Name two files.")
        for other, source in inputs:
            if path.exists() and path.samefile(source):
                raise UserError(f"{name} {path}", "is one of the inputs; it would be overwritten.", "Choose another name.")
            if other in READ_WHOLE and source.is_dir() and path.exists() and path.resolve().is_relative_to(source.resolve()):
                problem = f"is a file of the input folder {source}; it would be overwritten."
                raise UserError(f"{name} {path}", problem, "Choose another name.")
    return [path for _, path in outputs]


def _exists(value: str | Path) -> bool:
    try:
        return bool(str(value)) and Path(value).exists()
    except (OSError, ValueError):  # no path at all: too long, or with a null character
        return False
