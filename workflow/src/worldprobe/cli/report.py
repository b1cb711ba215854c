"""``report build``: one HTML page that opens offline."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.report_parts import add_content_arguments, read_parts

RULEGRAPH = (
    "The rules of the workflow; an arrow leads from a rule to one that reads its output. Arrows implied by others are left out."
)


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    actions = stages.add_parser("report", help="build the HTML report").add_subparsers(metavar="ACTION", required=True)
    help_text = "build one HTML page that opens offline"
    build = actions.add_parser("build", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
    add_content_arguments(build)
    build.add_argument("--title", metavar="TITLE", help="heading of the page (default: the question of the benchmark)")
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
    build.add_argument("--out", type=Path, required=True, metavar="HTML", help="the page")
    build.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read the parts, build, write."""
    from dataclasses import replace

    from worldprobe.files import read_text
    from worldprobe.report.model_names import read_roster
    from worldprobe.report.origins import read_origins
    from worldprobe.report.page import Page, read_picture, write_page
    from worldprobe.report.runtimes import cost_by_model, read_run_times, with_all_attempts

    parts = read_parts(args)
    roster = read_roster(args.registry)
    spent = cost_by_model(args.answers, [one.provenance for one in read_origins(args.made_from)]) if args.answers else {}
    answer_times = [
        replace(spent[model], name=roster[model].name, prices=roster[model].prices) for model in roster.in_order(spent)
    ]
    page = Page(
        parts=parts,
        study=args.study,
        title=args.title,
        run_times=with_all_attempts(read_run_times(args.benchmarks), answer_times),
        answer_times=answer_times,
        rulegraph=read_picture(args.rulegraph, RULEGRAPH) if args.rulegraph else None,
        notebooks={
            Path(path).stem.replace("_", " "): read_text(path, "Run the notebook first, or leave it out.")
            for path in args.notebooks
        },
    )
    write_page(page, args.out)
