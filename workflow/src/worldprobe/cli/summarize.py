"""``worldprobe summarize``: judgements to means."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "summarize",
        help="means per model, version and group, with ranges and bootstrap intervals",
        description="Mean accuracy (and strict, both_right, context_sensitivity) overall and by group.",
    )
    parser.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements tables, any number")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")
    parser.add_argument("--bootstrap", type=int, default=1000, metavar="N", help="draws; 0: no intervals (1000)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="summaries table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Summarize all tables together."""
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.summarize import summarize
    from worldprobe.benchmarks.ewok.contracts import Judgements, Summaries
    from worldprobe.contracts import read_tables, write_table
    from worldprobe.errors import UserError
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance, digests, versions

    if args.bootstrap < 0:
        raise UserError("--bootstrap", f"{args.bootstrap} draws make no sense.", "Give 0 or more; 1000 is usual.")
    judgements = read_tables(args.judgements, Judgements, COLUMNS)
    summaries = summarize(judgements, args.seed, args.bootstrap)
    provenance = Provenance(
        method=1,
        seed=args.seed,
        inputs=digests({str(path): path for path in args.judgements}),
        packages=versions(["numpy", "pandas", "scipy"]),
        details={
            "n_bootstrap": args.bootstrap,
            "interval": "95%, templates and versions drawn with replacement",
            "n_rows": len(judgements),
        },
    )
    write_table(summaries, Summaries, args.out, provenance)
    LOGGER.info("%d means of %d judgements of %d models", len(summaries), len(judgements), summaries["model"].nunique())
