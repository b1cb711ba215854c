"""``worldprobe reproduction check``: every published number next to ours."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES

#: Version of the computation.
METHOD = 1
PUBLISHED = RESOURCES / "published"


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    stage = stages.add_parser("reproduction", help="published numbers next to ours")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser(
        "check",
        help="every published number next to ours, with a summary line",
        description="Compares whatever was run with the published tables and text; what was not run says so.",
    )
    parser.add_argument("summaries", type=Path, metavar="SUMMARIES", help="summaries table")
    parser.add_argument("--coefficients", type=Path, metavar="FILE", help="coefficients table of the mixed model")
    parser.add_argument(
        "--items", type=Path, metavar="ITEMS", help="items table, to check whether the items are the official ones"
    )
    parser.add_argument("--published", type=Path, metavar="FOLDER", default=PUBLISHED, help="folder of the published numbers")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="reproduction table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Compare, print the summary line, write the table; the summaries' own kind says which paper is meant."""
    from worldprobe.benchmarks.worldsense.contracts import Summaries
    from worldprobe.contracts import table_name

    _check_worldsense(args) if table_name(args.summaries) == Summaries.Config.name else _check_ewok(args)


def _check_worldsense(args: argparse.Namespace) -> None:
    from worldprobe.benchmarks.worldsense.analysis.published import SOURCE, read_published
    from worldprobe.benchmarks.worldsense.analysis.reproduction import check_reproduction, released_sets, summary_line
    from worldprobe.benchmarks.worldsense.contracts import Reproduction, Summaries
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.provenance import made

    for option in ("coefficients", "items"):
        if getattr(args, option):
            raise UserError(f"--{option}", "is about EWoK, but these summaries are WorldSense's.", "Leave the option out.")
    published = args.published / "worldsense.csv"
    released = released_sets(read_provenance(args.summaries).inputs.values())
    table = check_reproduction(read_published(published), read_table(args.summaries, Summaries), released)
    line = summary_line(table)
    inputs = {"summaries": args.summaries, "published": published}
    details = {"summary": line, "source": SOURCE, "released_sets": sorted(released)}
    write_table(table, Reproduction, args.out, made(METHOD, inputs, ["numpy", "pandas"], details=details))
    print(line)


def _check_ewok(args: argparse.Namespace) -> None:
    """Compare, print the summary line, write the table."""
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items, check_same_items
    from worldprobe.benchmarks.ewok.analysis.published import are_official, read_published
    from worldprobe.benchmarks.ewok.analysis.reproduction import Results, check_reproduction, summary_line
    from worldprobe.benchmarks.ewok.contracts import Coefficients, Items, Reproduction, Summaries
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.provenance import made

    published = read_published(args.published)
    computed = [args.summaries, *([args.coefficients] if args.coefficients else [])]
    check_same_items(computed)
    results = Results(read_table(args.summaries, Summaries))
    inputs = {"summaries": args.summaries, "published": args.published}
    if args.coefficients:
        results.coefficients = read_table(args.coefficients, Coefficients)
        details = read_provenance(args.coefficients).details
        results.fitted_models, results.target_coding = details["models"], details["target_coding"]
        inputs["coefficients"] = args.coefficients
    if args.items:
        check_items(args.items, computed)
        results.items = read_table(args.items, Items)
        results.is_official = are_official(results.items, published)
        inputs["items"] = args.items
    table = check_reproduction(published, results)
    line = summary_line(table)
    provenance = made(
        METHOD,
        inputs,
        ["numpy", "pandas"],
        details={"summary": line, "sources": published.sources, "is_official": results.is_official},
    )
    write_table(table, Reproduction, args.out, provenance)
    print(line)
