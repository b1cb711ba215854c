"""The command line: ``python -m worldprobe STAGE ACTION inputs... --flags --out FILE``.

One module here per stage; each only parses, loads, calls and writes. Heavy packages are imported inside the commands, so
that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from worldprobe import __version__, log
from worldprobe.errors import UserError

#: Stage modules, in the order of the data's way; each has ``add_parsers(stages)``.
STAGES = (
    "config",
    "fetch",
    "materials",
    "templates",
    "items",
    "models",
    "controls",
    "worldsense",
    "score",
    "baselines",
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
    "report",
    "status",
    "unlock",
)


def build_parser() -> argparse.ArgumentParser:
    """The whole parser, as the rules' shell lines are checked against it."""
    parser = argparse.ArgumentParser(prog="worldprobe", description="Does a language model know how the world works?")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--verbose", action="store_true", help="log more")
    stages = parser.add_subparsers(title="stages", metavar="STAGE", required=True)
    for name in STAGES:
        importlib.import_module(f"worldprobe.cli.{name}").add_parsers(stages)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 only when its output is whole, 2 with one message for what the user can fix."""
    args = build_parser().parse_args(arguments)
    log.configure(args.verbose)
    try:
        args.run(args)
    except UserError as error:
        print(error.lines(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; finished work is kept, the same command goes on from there", file=sys.stderr)
        return 130
    return 0
