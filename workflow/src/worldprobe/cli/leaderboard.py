"""``worldprobe leaderboard``: results of several models as one page."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "leaderboard",
        help="rank the models of a folder of results on one page",
        description="Reads every result.json below a folder and writes one page that loads nothing: a ranking per benchmark, "
        "items and way of asking, sortable, with 95% intervals, and with ranks shared by models that cannot be told apart.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where results are, e.g. results/evaluate")
    parser.add_argument("--title", default="worldprobe leaderboard", metavar="TITLE", help="heading of the page")
    parser.add_argument("--out", type=Path, required=True, metavar="HTML", help="the page")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read all results, rank, write."""
    from worldprobe.benchmarks import benchmarks, list_scores
    from worldprobe.errors import UserError
    from worldprobe.files import write_text
    from worldprobe.log import LOGGER
    from worldprobe.report.leaderboard import build_page, build_rankings
    from worldprobe.report.results import read_result

    paths = sorted(args.folder.rglob("result.json"))
    if not paths:
        problem = "contains no result.json."
        raise UserError(args.folder, problem, "Give the folder that `worldprobe evaluate` wrote, e.g. results/evaluate.")
    results = [read_result(path) for path in paths]
    rankings = build_rankings([(result, list_scores(result)) for result in results])
    write_text(args.out, build_page(rankings, args.title, {name: benchmark.title for name, benchmark in benchmarks().items()}))
    LOGGER.info("%d results in %d rankings: %s", len(results), len(rankings), args.out)
