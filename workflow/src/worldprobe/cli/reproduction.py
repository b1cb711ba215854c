"""``worldprobe reproduction check``: every published number next to ours."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES

if TYPE_CHECKING:
    from worldprobe.analysis.reproduction import Checked

#: Version of the computation.
METHOD = 2
PUBLISHED = RESOURCES / "published"


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    stage = stages.add_parser("reproduction", help="published numbers next to ours")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser(
        "check",
        help="every published number next to ours, with a summary line",
        description="Compares whatever was run with the published tables and text; what was not run says so.",
    )
    parser.add_argument("summaries", type=Path, metavar="SUMMARIES", help="summaries table")
    parser.add_argument("--coefficients", type=Path, metavar="FILE", help="coefficients table of the mixed model")
    parser.add_argument(
        "--items", type=Path, metavar="ITEMS", help="items table, to check whether the items are the official ones"
    )
    parser.add_argument("--published", type=Path, metavar="FOLDER", default=PUBLISHED, help="folder of the published numbers")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="reproduction table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Compare, print the summary line, write the table; the summaries' own kind says which benchmark's numbers are meant.

    Raises:
        UserError: an option that is about another benchmark.
    """
    from worldprobe.benchmarks import benchmark_of
    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    benchmark = benchmark_of(args.summaries)
    if benchmark.reproduce is None:
        raise UserError(args.summaries, f"there are no published numbers of {benchmark.title}.", "Give another benchmark's.")
    given = {option: getattr(args, option) for option in ("coefficients", "items") if getattr(args, option)}
    if unknown := given.keys() - inspect.signature(benchmark.reproduce).parameters.keys():
        option = sorted(unknown)[0]
        raise UserError(
            f"--{option}", f"does not apply to these summaries, which are {benchmark.title}'s.", "Leave the option out."
        )
    checked: Checked = benchmark.reproduce(args.summaries, args.published, **given)
    provenance = made(METHOD, dict(checked.inputs), ["numpy", "pandas"], details=checked.details)
    write_table(checked.table, checked.contract, args.out, provenance)
    print(checked.details["summary"])
