"""``table NAME``: a printed table as CSV, LaTeX, Markdown and JSON, by the suffixes of ``--out``.

``table set`` prints many in one process, which saves starting one for each.
"""

from __future__ import annotations

import argparse

from worldprobe.cli.plans import add_plan_parsers, add_set_parser, files_by_plan, options_of


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per table, and one for many."""
    help_text = "print a table as CSV, LaTeX, Markdown and JSON"
    names = stages.add_parser("table", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.").add_subparsers(
        title="tables", metavar="NAME", required=True
    )
    add_plan_parsers(names, "table", run)
    add_set_parser(names, "table", run_set)


def run(args: argparse.Namespace) -> None:
    """Read, build, write."""
    from worldprobe.present.making import print_table
    from worldprobe.present.roster import read_roster

    tables = [getattr(args, one.name) for one in args.plan.inputs]
    print_table(args.plan, tables, read_roster(args.registry), args.out, **options_of(args))


def run_set(args: argparse.Namespace) -> None:
    """Print the tables that the files are named after.

    Raises:
        UserError: a file is not named after a table.
    """
    from worldprobe.present.making import print_table
    from worldprobe.present.roster import read_roster

    roster = read_roster(args.registry)
    for plan, paths in files_by_plan("table", args.out):
        print_table(plan, [args.folder / one.path for one in plan.inputs], roster, paths)
