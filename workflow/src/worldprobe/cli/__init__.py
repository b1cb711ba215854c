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
from worldprobe.benchmarks import MODULES
from worldprobe.cli.extras import missing_extra
from worldprobe.cli.parsing import LABELS, Parser, check_paths, mark_leaves
from worldprobe.cli.streams import patient_output
from worldprobe.errors import UserError
from worldprobe.files import whole_files

#: Stage modules, in the order of the data's way; each has ``add_parsers(stages)``. A benchmark's own bears its name.
STAGES = (
    "config",
    "fetch",
    "materials",
    "templates",
    "items",
    "release",
    "models",
    "controls",
    *(name for name in MODULES if find_spec(f"worldprobe.cli.{name}")),
    "score",
    "baselines",
    "human",
    "importing",
    "judge",
    "summarize",
    "fit",
    "correlate",
    "agree",
    "compare",
    "evaluate",
    "reproduction",
    "table",
    "figure",
    "notebook",
    "report",
    "workflow",
    "status",
    "unlock",
)


#: Modules whose command has another name.
COMMANDS = {"importing": "import"}  # a word of Python's own


def build_parser(only: str | None = None) -> Parser:
    """The parser, as the rules' shell lines are checked against it.

    Args:
        only: build this stage's command alone, so that a fault in another stage's module does not matter; None: all of them.
    """
    parser = Parser(prog="worldprobe", description="Does a language model know how the world works?")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--verbose", action="store_true", help="log more")
    stages = parser.add_subparsers(title="stages", metavar="STAGE", required=True)
    for name in STAGES:
        if only in (None, COMMANDS.get(name, name)):
            importlib.import_module(f"worldprobe.cli.{name}").add_parsers(stages)
    mark_leaves(parser)
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line, importing the module of its stage only."""
    stage = next((word for word in arguments if not word.startswith("-")), None)
    is_known = stage in {COMMANDS.get(name, name) for name in STAGES}
    parser = build_parser(stage if is_known else None)
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
            print(_with_file(error, args).lines(), file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        lacking = missing_extra(error)
        if lacking is None:
            raise
        print(lacking.lines(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: finished work is kept, and the same command continues from there", file=sys.stderr)
        return 130
    return status or 0
