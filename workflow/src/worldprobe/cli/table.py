"""``table NAME``: a printed table as CSV, LaTeX, Markdown and JSON, by the suffixes of ``--out``."""

from __future__ import annotations

import argparse

from worldprobe.cli.displays import add_display_parsers, options_of


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per table."""
    help_text = "print a table as CSV, LaTeX, Markdown and JSON"
    names = stages.add_parser("table", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.").add_subparsers(
        title="tables", metavar="NAME", required=True
    )
    add_display_parsers(names, "table", run)


def run(args: argparse.Namespace) -> None:
    """Read, build, write."""
    from worldprobe.report.model_names import read_roster
    from worldprobe.report.render import print_table

    tables = [getattr(args, one.name) for one in args.display.inputs]
    print_table(args.display, tables, read_roster(args.registry), args.out, **options_of(args))
