"""What `report` and `paper` are built from: arguments, and the benchmarks' parts that these name."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import shipped_file
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

if TYPE_CHECKING:
    from worldprobe.report.page import ShownPart


def add_content_arguments(parser: argparse.ArgumentParser) -> None:
    """The tables and figures of a study."""
    parser.add_argument(
        "summaries", nargs="+", metavar="SUMMARIES", help="summary table (Parquet), one per benchmark of the study"
    )
    parser.add_argument(
        "--registry", type=shipped_file, metavar="FILE", help="model registry, for names and order (default: ids are shown)"
    )
    parser.add_argument("--study", default="", metavar="NAME", help="name of the study, shown at the top")
    parser.add_argument("--tables", nargs="*", default=[], metavar="JSON", help="printed tables (.json, from `worldprobe table`)")
    parser.add_argument("--figures", nargs="*", default=[], metavar="SVG", help="figures (.svg, from `worldprobe figure`)")
    parser.add_argument(
        "--made-from", nargs="*", default=[], metavar="PARQUET", help="tables that the methods paragraph describes"
    )
    parser.add_argument(
        "--headlines",
        nargs="+",
        metavar="NAME",
        help="way of asking of each part's headline, one per summary table; auto: the first one in the table (default)",
    )


def read_parts(args: argparse.Namespace) -> list[ShownPart]:
    """Each benchmark's part, from its summary table, printed tables and figures.

    Raises:
        UserError: files that do not belong together, or cannot be read.
    """
    from worldprobe.benchmarks import benchmark_of
    from worldprobe.report.model_names import read_roster
    from worldprobe.report.origins import read_origins
    from worldprobe.report.page import Material, build_part
    from worldprobe.report.sheet import read_printed

    roster = read_roster(args.registry)
    summaries = [Path(path) for path in args.summaries]
    _check_parts(args, summaries)
    eval_types = args.headlines or ["auto"] * len(summaries)
    if len(eval_types) != len(summaries):
        problem = f"names {len(eval_types)} for {len(summaries)} summary tables."
        raise UserError("--headlines", problem, "Name one per summary table, or auto.")
    parts = []
    for path, eval_type in zip(summaries, eval_types, strict=True):

        def own(files: Iterable[str], path: Path = path) -> list[Path]:
            return _of_part(files, path, summaries)

        material = Material(
            summary=path,
            roster=roster,
            origins=read_origins(own(args.made_from)),
            item_text=next(iter(own(args.item_text)), None),
            eval_type=None if eval_type == "auto" else eval_type,
        )
        tables = [read_printed(one) for one in own(args.tables)]
        parts.append(build_part(benchmark_of(path), material, tables, own(args.figures)))
    return parts


def _check_parts(args: argparse.Namespace, summaries: list[Path]) -> None:
    """Refuse what would be shown twice, and folders that are not there.

    Raises:
        UserError: two summaries of one benchmark, a file given twice, or a folder that does not exist.
    """
    from worldprobe.benchmarks import benchmark_of

    known: dict[str, Path] = {}
    for path in summaries:
        name = benchmark_of(path).name
        if name in known:
            problem = f"is a second summary table of {name}, after {known[name]}."
            raise UserError(path, problem, "Give one summary table per benchmark; a report is about one study.")
        known[name] = path
    for option in ("tables", "figures", "made_from", "notebooks"):
        seen: set[Path] = set()
        for path in (Path(one).resolve() for one in getattr(args, option)):
            if path in seen:
                raise UserError(f"--{option.replace('_', '-')}", f"names {path.name} twice.", "Give each file once.")
            seen.add(path)
    if args.benchmarks is not None and not Path(args.benchmarks).is_dir():
        problem = "there is no such folder."
        raise UserError(f"--benchmarks {args.benchmarks}", problem, "Check the path, or leave the option out.")
    if args.answers is not None and not Path(args.answers).is_dir():  # released results have none, and it may be deleted
        LOGGER.warning("there is no folder %s, so what answers cost is left out", args.answers)


def _of_part(files: Iterable[str | Path], summary: Path, summaries: list[Path]) -> list[Path]:
    """The files that belong to a part: those in its summary's folder, and to the first part also all in no part's folder."""
    folders = [path.resolve().parent for path in summaries]
    mine = summary.resolve().parent
    found = []
    for path in map(Path, files):
        home = next((folder for folder in folders if path.resolve().is_relative_to(folder)), folders[0])
        if home == mine:
            found.append(path)
    return found
