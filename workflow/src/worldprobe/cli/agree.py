"""``worldprobe agree``: Choice against the choice that Likert implies."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "agree",
        help="confusion matrices of Choice and the choice that Likert ratings imply",
        description="For every model asked both ways in one set-up: which context each way prefers, or none.",
    )
    parser.add_argument("responses", type=Path, nargs="+", metavar="RESPONSES", help="responses tables, Likert and Choice")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="agreements table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Build all matrices."""
    import pandas as pd

    from worldprobe.analysis.agreement import agree
    from worldprobe.contracts import Agreements, Responses, read_provenance, read_tables, write_table
    from worldprobe.provenance import Provenance, digests, versions

    columns = ["item_id", "eval_type", "presentation", "value", "status"]
    parts = []
    for path in args.responses:
        model = read_provenance(path).model or path.stem
        parts.append(read_tables([path], Responses, columns).assign(model=model))
    provenance = Provenance(
        method=1, inputs=digests({str(path): path for path in args.responses}), packages=versions(["numpy", "pandas"])
    )
    write_table(agree(pd.concat(parts, ignore_index=True)), Agreements, args.out, provenance)
