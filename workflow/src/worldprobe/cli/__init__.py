"""The command line: ``worldprobe STAGE ACTION inputs... --flags --out FILE``.

One module here per stage; each only parses, loads, calls and writes. Heavy packages are imported inside the commands, so
that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from worldprobe import __version__, log
from worldprobe.benchmarks import NAMES
from worldprobe.cli.extras import missing_extra
from worldprobe.cli.parsing import LABELS, Parser, check_paths, mark_leaves
from worldprobe.cli.streams import patient_output
from worldprobe.errors import UserError, lack_of_memory
from worldprobe.files import whole_files

#: Every command in the order of the data's way, with its line in the list of all; a benchmark's own is found by its name.
COMMANDS = {
    "config": "check configuration files",
    "fetch": "download a file that resources/sources.yaml lists",
    "materials": "check, count, show, start and review materials",
    "templates": "compile materials into templates",
    "items": "fill templates into items",
    "release": "pass materials and items on, encrypted, and search folders for what got out",
    "models": "list, plan and fetch the registry's models",
    "controls": "small models of known behaviour, trained on a corpus of our own",
    **{name: "" for name in NAMES if find_spec(f"worldprobe.cli.{name}")},
    "score": "score items, or prompt the model about them",
    "baselines": "word2vec bag of words; number and frequency of words",
    "human": "study with people: lists, survey, cleaning, agreement, likeness of models",
    "import": "results of EWoK's authors or of lm-evaluation-harness, and people's ratings",
    "judge": "accuracy of every target from scores, answers, similarities or ratings",
    "summarize": "means per model, version and group, with ranges and intervals",
    "fit": "logistic regressions on accuracy, with and without R",
    "correlate": "r(accuracy, word2vec), r(accuracy, words), r(accuracy, frequency) per model",
    "agree": "confusion matrices of Choice and the choice that Likert ratings imply",
    "compare": "paired test between models",
    "compare-conditions": "paired test between conditions of a study, model by model",
    "evaluate": "score one model and print it next to the published numbers",
    "results": "check and export what `evaluate` wrote",
    "leaderboard": "rank the models of a folder of results on one page",
    "reproduction": "published numbers next to ours",
    "table": "print a table as CSV, LaTeX, Markdown and JSON",
    "figure": "draw a figure as PDF, SVG and PNG, and save its numbers as CSV",
    "notebook": "run a notebook",
    "report": "build the HTML report",
    "paper": "write a study as a LaTeX article, and typeset it",
    "crate": "pack a finished study as an RO-Crate",
    "workflow": "print the path of the Snakefile",
    "status": "which models are done, running, waiting or failed",
    "unlock": "remove the lock that a killed run left behind",
}
#: Commands whose module has another name.
ELSEWHERE = {"import": "importing", "compare-conditions": "compare"}  # a word of Python's own; one module of two commands
#: Stage modules; each has ``add_parsers(stages)``.
STAGES = tuple(dict.fromkeys(ELSEWHERE.get(command, command) for command in COMMANDS))


def build_parser(only: str | None = None) -> Parser:
    """The parser, as the rules' shell lines are checked against it.

    Args:
        only: build the parsers of this module alone, so that a fault in another one does not matter; None: all of them.
    """
    parser, stages = _empty_parser()
    for name in STAGES:
        if only in (None, name):
            importlib.import_module(f"worldprobe.cli.{name}").add_parsers(stages)
    mark_leaves(parser)
    return parser


def build_list() -> Parser:
    """A parser that knows the commands' names only: for their list, and for mistakes before a command."""
    parser, stages = _empty_parser()
    for command, text in COMMANDS.items():
        if text:
            stages.add_parser(command, help=text)
            continue
        try:
            importlib.import_module(f"worldprobe.cli.{command}").add_parsers(stages)
        except Exception as error:  # whatever its fault, the other commands stay
            stages.add_parser(command, help=f"cannot be loaded ({type(error).__name__})")
    return parser


def _empty_parser() -> tuple[Parser, argparse._SubParsersAction]:
    parser = Parser(prog="worldprobe", description="Does a language model know how the world works?")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--verbose", action="store_true", help="log more")
    return parser, parser.add_subparsers(title="stages", metavar="STAGE", required=True)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line, importing the module of its stage only."""
    stage = next((word for word in arguments if not word.startswith("-")), None)
    parser = build_parser(ELSEWHERE.get(stage, stage)) if stage in COMMANDS else build_list()
    parser.check_options_before_stage(arguments)
    return parser.parse_args(arguments)


def _with_file(error: UserError, args: argparse.Namespace) -> UserError:
    """The error with the file in place of the argument that names it: functions below the commands see tables, not files."""
    given = getattr(args, error.where, None) if error.where not in LABELS else None
    files = given if isinstance(given, list) else [given]
    is_file = len(files) == 1 and isinstance(files[0], str | Path) and Path(files[0]).is_file()
    return UserError(files[0], error.problem, error.fix) if is_file else error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 only when its output is whole, 2 with one message for what the user can fix.

    A command may return a status of its own, such as 1 for an audit that found faults: its output is whole then, too.
    """
    args = parse(sys.argv[1:] if arguments is None else arguments)
    log.configure(args.verbose)
    try:
        # Of several files none takes its place before all are written: a late failure leaves what was there before.
        with patient_output(), whole_files(check_paths(args)):
            status: int | None = args.run(args)
    except UserError as error:
        with contextlib.suppress(OSError):
            print((lack_of_memory(error) or _with_file(error, args)).lines(), file=sys.stderr)
        return 2
    except Exception as error:
        lacking = missing_extra(error) if isinstance(error, ModuleNotFoundError) else lack_of_memory(error)
        if lacking is None:
            raise
        print(lacking.lines(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: finished work is kept, and the same command continues from there", file=sys.stderr)
        return 130
    return status or 0
