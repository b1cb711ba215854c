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
    parser.add_argument("--people", type=Path, metavar="FILE", help="people's matrix, from `human agreement --matrix-out`")
    add_missing_argument(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="agreements table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Build all matrices."""
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.agreement import agree
    from worldprobe.benchmarks.ewok.analysis.provenances import check_same_items, kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.contracts import Agreements
    from worldprobe.contracts import read_table, write_table
    from worldprobe.errors import UserError
    from worldprobe.provenance import made
    from worldprobe.report.model_names import HUMAN

    judgements = read_judgements(args.judgements, ["item_id", "target", "model", "eval_type", "accuracy", "status"])
    provenance = made(
        METHOD,
        {str(path): path for path in [*args.judgements, *([args.people] if args.people else [])]},
        ["numpy", "pandas"],
        details=missing_models(args.missing, judgements["model"].unique()) | kinds_of(args.judgements),
    )
    matrices = [agree(judgements)]
    if args.people:
        check_same_items([*args.judgements, args.people])
        people = read_table(args.people, Agreements)
        if set(people["model"]) != {HUMAN}:
            problem = "contains the answers of models."
            raise UserError(args.people, problem, "Give the matrix of people, from `human agreement --matrix-out`.")
        matrices.append(people)
    write_table(pd.concat(matrices, ignore_index=True), Agreements, args.out, provenance)
