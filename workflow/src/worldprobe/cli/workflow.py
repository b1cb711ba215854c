"""``worldprobe workflow``: where the Snakefile is."""

from __future__ import annotations

import argparse


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "workflow",
        help="print the path of the Snakefile",
        description="Prints the path of the Snakefile that belongs to this installation. So a study runs in any folder: "
        'snakemake -s "$(worldprobe workflow)" --cores all --configfile STUDY.yaml makes it there.',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print it."""
    from worldprobe.paths import REPOSITORY

    print(REPOSITORY / "workflow" / "Snakefile")
