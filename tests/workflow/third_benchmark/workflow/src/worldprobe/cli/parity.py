"""``parity``: count even and odd numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.arguments import positive

METHOD = 1


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``parity count``."""
    actions = stages.add_parser("parity", help="parity of numbers").add_subparsers(metavar="ACTION", required=True)
    count = actions.add_parser("count", help="count even and odd numbers")
    count.add_argument("--numbers", type=positive, required=True, metavar="N", help="largest number")
    count.add_argument("--out", type=Path, required=True, metavar="FILE", help="table of counts")
    count.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Count, write."""
    from worldprobe.benchmarks.parity.contracts import Counts
    from worldprobe.benchmarks.parity.parity import count_parity

    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    write_table(count_parity(args.numbers), Counts, args.out, made(METHOD, packages=["pandas"]))
