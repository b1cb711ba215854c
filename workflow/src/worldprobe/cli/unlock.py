"""``worldprobe unlock``: after a run was killed."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "unlock",
        help="remove the lock that a killed run left behind",
        description="Removes the lock of a run that was killed, unless a Snakemake of this machine is still at work there. "
        "On a cluster, look at the queue first (worldprobe status).",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="FOLDER", help="where Snakemake ran (.)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Unlock, or say who holds the lock."""
    from worldprobe import locks

    if locks.unlock(args.folder):
        print("An earlier run was cut short; its lock is removed and this run goes on from what it finished.")
