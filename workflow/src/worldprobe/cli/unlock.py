"""``worldprobe unlock``: after a run was killed."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "unlock",
        help="remove the lock that a killed run left behind",
        description="Removes the lock of a run that was killed, unless a Snakemake of this machine is still at work there, the "
        "run began on another machine, or jobs of the killed one are still in SLURM's queue, whose work would be done twice.",
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), metavar="FOLDER", help="folder where Snakemake ran (default: .)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Unlock, or say who holds the lock."""
    from worldprobe.errors import UserError
    from worldprobe.operations import locks, status

    if locks.is_locked(args.folder):
        jobs, _silence = status.read_queue(args.folder) or ([], "")
        if alive := " ".join(job.number for job in jobs if job.is_alive):
            raise UserError(
                args.folder,
                "jobs of the run that held this lock are still in SLURM's queue; a new run would do their work a second time.",
                f"scancel {alive}, or wait for them; then run this command again.",
            )
    if locks.unlock(args.folder):
        print("An earlier run was cut short; its lock is removed, and this run continues from what it finished.")
