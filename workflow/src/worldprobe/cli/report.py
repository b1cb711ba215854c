"""``report build``: one HTML page that opens offline."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import shipped_file
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

if TYPE_CHECKING:
    from worldprobe.benchmark import Benchmark


RULEGRAPH = (
    "The rules of the workflow; an arrow leads from a rule to one that reads its output. Arrows implied by others are left out."
)


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    actions = stages.add_parser("report", help="build the HTML report").add_subparsers(metavar="ACTION", required=True)
    help_text = "build one HTML page that opens offline"
    build = actions.add_parser("build", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
    build.add_argument(
        "summaries", nargs="+", metavar="SUMMARIES", help="summary table (Parquet), one per benchmark of the study"
    )
    build.add_argument(
        "--registry", type=shipped_file, metavar="FILE", help="model registry, for names and order (default: ids are shown)"
    )
    build.add_argument("--study", default="", metavar="NAME", help="name of the study, shown at the top")
    build.add_argument("--title", metavar="TITLE", help="heading of the page (default: the question of the benchmark)")
    build.add_argument("--tables", nargs="*", default=[], metavar="JSON", help="printed tables (.json, from `worldprobe table`)")
    build.add_argument("--figures", nargs="*", default=[], metavar="SVG", help="figures (.svg, from `worldprobe figure`)")
    build.add_argument(
        "--made-from", nargs="*", default=[], metavar="PARQUET", help="tables that the methods paragraph describes"
    )
    build.add_argument("--benchmarks", metavar="FOLDER", help="Snakemake's benchmark files, for the run times")
    build.add_argument("--answers", type=Path, metavar="FOLDER", help="store of all answers, for what each model's answers cost")
    build.add_argument("--rulegraph", metavar="SVG", help="picture of the workflow's rules")
    build.add_argument(
        "--notebooks", nargs="*", default=[], metavar="HTML", help="notebooks that were run (from `worldprobe notebook run`)"
    )
    build.add_argument(
        "--item-text",
        nargs="*",
        default=[],
        metavar="ITEMS",
        help="items of which one per domain is shown; only worldprobe's own (one table per benchmark)",
    )
    build.add_argument(
        "--headlines",
        nargs="+",
        metavar="NAME",
        help="way of asking of each part's headline, one per summary table; auto: the first one in the table (default)",
    )
    build.add_argument("--out", type=Path, required=True, metavar="HTML", help="the page")
    build.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read the parts, build, write."""
    from worldprobe.asking.cost import cost_by_model
    from worldprobe.present.origins import read_origins
    from worldprobe.present.page import Material, Page, build_part, read_fragment, write_page
    from worldprobe.present.pictures import read_picture
    from worldprobe.present.printed import read_printed
    from worldprobe.present.roster import read_roster
    from worldprobe.present.runtimes import AnswerTime, read_run_times, with_all_attempts

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
        parts.append(build_part(_benchmark_of(path), material, tables, own(args.figures)))
    spent = cost_by_model(args.answers, [one.provenance for one in read_origins(args.made_from)]) if args.answers else {}
    answer_times = [
        AnswerTime(roster[model].name, **vars(spent[model]), prices=roster[model].prices) for model in roster.in_order(spent)
    ]
    page = Page(
        parts=parts,
        study=args.study,
        title=args.title,
        run_times=with_all_attempts(read_run_times(args.benchmarks), answer_times),
        answer_times=answer_times,
        rulegraph=read_picture(args.rulegraph, RULEGRAPH) if args.rulegraph else None,
        notebooks={Path(path).stem.replace("_", " "): read_fragment(path) for path in args.notebooks},
    )
    write_page(page, args.out)


def _check_parts(args: argparse.Namespace, summaries: list[Path]) -> None:
    """Refuse what would be shown twice, and folders that are not there.

    Raises:
        UserError: two summaries of one benchmark, a file given twice, or a folder that does not exist.
    """
    known: dict[str, Path] = {}
    for path in summaries:
        name = _benchmark_of(path).name
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


def _benchmark_of(path: Path) -> Benchmark:
    """The benchmark whose summary table a file is.

    Raises:
        UserError: not a table of ours, or one that no report is built around.
    """
    from worldprobe.benchmark import load
    from worldprobe.benchmarks import benchmarks
    from worldprobe.present.origins import read_origins

    kind = read_origins([path])[0].kind
    known = {load(one.page.summary.contract).Config.name: one for one in benchmarks().values() if one.page}
    if kind not in known:
        raise UserError(path, f"contains {kind}, not {' or '.join(known)}.", "Give the summary table of a benchmark.")
    return known[kind]


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
