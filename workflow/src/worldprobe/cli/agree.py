"""``worldprobe agree``: Choice against the choice that Likert implies."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.arguments import add_missing_argument, missing_models

#: version of the computation.
METHOD = 2


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "agree",
        help="confusion matrices of Choice and the choice that Likert ratings imply",
        description="For every model asked both ways in one set-up: which context each way prefers, or none.",
    )
    parser.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements tables, Likert and Choice")
    add_missing_argument(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="agreements table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Build all matrices."""
    from worldprobe.benchmarks.ewok.analysis.agreement import agree
    from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.contracts import Agreements
    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    judgements = read_judgements(args.judgements, ["item_id", "target", "model", "eval_type", "accuracy", "status"])
    provenance = made(
        METHOD,
        {str(path): path for path in args.judgements},
        ["numpy", "pandas"],
        details=missing_models(args.missing, judgements["model"].unique()) | kinds_of(args.judgements),
    )
    write_table(agree(judgements), Agreements, args.out, provenance)
