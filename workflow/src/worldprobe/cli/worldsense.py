"""``worldsense``: audit trials, check skins, generate sets."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``worldsense audit``."""
    stage = stages.add_parser("worldsense", help="WorldSense: audit trials, check skins, generate sets")
    actions = stage.add_subparsers(metavar="ACTION", required=True)
    audit = actions.add_parser(
        "audit",
        help="compare the gold answers of a set with an exact solver's",
        description="Compare every gold answer with an exact solver's. Exit status 1 where one is wrong, 0 where none is.",
    )
    audit.add_argument("trials", metavar="TRIALS", help="official trials (.jsonl, .jsonl.bz2, .jsonl.gz) or our table (.parquet)")
    audit.add_argument("--out", type=Path, metavar="FILE.csv", help="one row for each trial whose gold answer is wrong")
    audit.set_defaults(run=run_audit)


def run_audit(args: argparse.Namespace) -> None:
    """Read, solve, print, write; exit status 1 where a gold answer is wrong."""
    from worldprobe.benchmarks.worldsense.audit import audit_trials
    from worldprobe.benchmarks.worldsense.audit_text import write_audit
    from worldprobe.benchmarks.worldsense.trials import read_trials
    from worldprobe.files import write_text

    audit = audit_trials(read_trials(args.trials), args.trials)
    if args.out:
        write_text(args.out, audit.wrong.to_csv(index=False, lineterminator="\n"))
    print(write_audit(audit, args.trials))
    if len(audit.wrong):
        raise SystemExit(1)
