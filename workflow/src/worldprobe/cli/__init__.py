"""The command line: ``worldprobe COMMAND SUBCOMMAND inputs... --flags --out FILE``.

One module here per stage. A command is a function: its signature declares the arguments, its
docstring is their help, and its body only loads, calls and writes. Heavy packages are imported
inside, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Sequence
from itertools import takewhile

from cyclopts import App
from cyclopts.exceptions import CycloptsError

from worldprobe import __version__, extensions, log
from worldprobe.cli import parsing
from worldprobe.errors import (
    CombinedError,
    UserError,
    did_you_mean,
    errors_of,
    is_text,
    lack_of_memory,
)
from worldprobe.inference.preemption import Preemption
from worldprobe.stages import GROUPS, STAGES

#: What may stand before the stage.
OPTIONS = ("--help", "-h", "--version", "--verbose")


def build_app(stages: Sequence[str] = tuple(STAGES)) -> App:
    """The parser of these stages; the modules are imported when one of their commands is looked
    up.
    """
    app = App(
        name="worldprobe",
        default_parameter=parsing.DEFAULTS,
        version=__version__,
        help_format="markdown",
    )
    for stage in stages:
        app.command(extensions.with_actions(stage, STAGES[stage][0]), name=stage)
    return app


def parse(words: Sequence[str]) -> parsing.Call | None:
    """A command line as a call of a command's function, importing the module of its stage only.

    Returns:
        None where help or the version was asked for, which are printed here.

    Raises:
        UserError: a mistake on the command line.
    """
    for number, word in enumerate(words, start=1):
        if not is_text(word):  # and is not repeated: it may be a password
            problem = f"word {number} of the command line is not UTF-8 text."
            raise UserError(
                "worldprobe", problem, "Rename the file, or choose another name or password."
            )
    leading = list(takewhile(lambda word: word.startswith("-"), words))
    for word in leading:
        option = word.partition("=")[0] if word.startswith("--") else word[:2]
        if option not in OPTIONS:
            stage = next((word for word in words if word in STAGES), "")
            after = f"Options follow their command: worldprobe {stage} {option}"
            raise UserError(
                "worldprobe",
                f"unknown option {option}{did_you_mean(option, OPTIONS)}",
                after if stage else "Run: worldprobe --help",
            )
    rest = list(words[len(leading) :])
    if "--version" in leading:
        print(__version__)
        return None
    if {"--help", "-h"} & set(leading):
        print_stages()
        return None
    if not rest or rest[0] not in STAGES:
        near = _command_meant(rest[0]) if rest else ""
        problem = (
            f'unknown command: "{rest[0]}"{near}'
            if near
            else "unknown command."
            if rest
            else "needs a command."
        )
        raise UserError("worldprobe", problem, "Run: worldprobe --help")
    app = build_app(rest[:1])
    try:
        function, bound, _ = app.parse_args(rest, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise parsing.in_our_words(error, parsing.unknown_options(app, rest)) from error
    if isinstance(getattr(function, "__self__", None), App):  # prints help
        if not {"--help", "-h"} & set(rest):
            command = " ".join(
                ("worldprobe", *takewhile(lambda word: not word.startswith("-"), rest))
            )
            raise UserError(command, "needs a subcommand.", f"Run: {command} --help")
        function(*bound.args, **bound.kwargs)
        return None
    call = parsing.Call(" ".join(rest[:2]), function, bound)
    call.check_settings()
    return call


def _command_meant(word: str) -> str:
    """What an unknown first word may stand for: a command, or a subcommand without its command."""
    named = [words for words, _ in parsing.commands(build_app()) if words.endswith(f" {word}")]
    return did_you_mean(word, STAGES, f'; did you mean "{named[0]}"?' if named else "")


def print_stages() -> None:
    """The list of all stages, by group."""
    print("Usage: worldprobe [--verbose] COMMAND ...\n")
    print("Does a language model know how the world works?")
    for group, stages in (GROUPS | extensions.commands_by_title()).items():
        print(f"\n{group}:")
        for stage in stages:
            print(f"  {stage:20}{STAGES[stage][1]}")
    print(
        "\nOptions:\n  --help              show this, or help of a command or subcommand\n"
        "  --version           print the version\n"
        "  --verbose           log more"
    )


def _with_files(error: UserError, call: parsing.Call) -> UserError:
    """The error, or each of several, with the file in place of the argument that names it:
    functions below the commands see tables, not files.
    """
    errors = errors_of(error)
    files = [call.places.get(fault.where, []) for fault in errors]
    named = [
        UserError(paths[0], fault.problem, fault.fix)
        if len(paths) == 1 and paths[0].is_file()
        else fault
        for fault, paths in zip(errors, files, strict=True)
    ]
    return named[0] if len(named) == 1 else CombinedError(named)


def run(words: Sequence[str]) -> int:
    """Run one command, and give its status.

    Args:
        words: of the command line.

    Raises:
        UserError: what the user can fix; others as they are.
    """
    call = parse(words)
    if call is None:
        return 0
    try:
        call.check_outputs()
        return call.run() or 0
    except UserError as error:
        reported = lack_of_memory(error) or _with_files(error, call)
        if reported is error:
            raise
        raise reported from error


def is_disk_full(error: Exception) -> bool:
    """Whether an error is that of a disk without room."""
    return isinstance(error, OSError) and error.errno == errno.ENOSPC


def as_user_error(error: Exception) -> UserError | None:
    """An error as the user is told of it; None where only a traceback says what it is."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, ModuleNotFoundError):
        return parsing.missing_extra(error)
    if is_disk_full(error):
        return UserError("output", "the disk is full.", "Make room, or write elsewhere.")
    return lack_of_memory(error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 only when its output is whole, 2 with one message for what the user can
    fix.

    A command may return a status of its own, such as 1 for an audit that found faults: its output
    is whole then, too.
    """
    # Imports and vocabularies are many objects that stay: looking for garbage among them takes a
    # fifth of a start.
    gc.set_threshold(100_000, 50, 100)
    words = [str(word) for word in (sys.argv[1:] if arguments is None else arguments)]
    log.configure("--verbose" in takewhile(lambda word: word.startswith("-"), words))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with Preemption():
            code = run(words)
            print(end="", flush=True)
            return code
    except BrokenPipeError:  # its reader has gone (``| head -1``)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if is_disk_full(error):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still held
        user_error = as_user_error(error)
        if user_error is None:
            raise
        with contextlib.suppress(OSError):
            print(user_error.lines(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "interrupted: finished work is kept, and the same command continues from there",
            file=sys.stderr,
        )
        return 130
