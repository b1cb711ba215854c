"""``figure NAME``: a figure as PDF, SVG and PNG, with the tidy CSV it is drawn from, by the suffixes of ``--out``."""

from __future__ import annotations

import argparse

from worldprobe.cli.displays import add_display_parsers, options_of


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per figure."""
    help_text = "draw a figure as PDF, SVG and PNG, and save its numbers as CSV"
    names = stages.add_parser("figure", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.").add_subparsers(
        title="figures", metavar="NAME", required=True
    )
    add_display_parsers(names, "figure", run)
    for parser in names.choices.values():
        parser.add_argument(
            "--trained", nargs="*", default=[], metavar="FOLDER", help="folders of control models, which state their parameters"
        )
        parser.add_argument(
            "--column-width", choices=("single", "double"), default="double", help="one column or two (default: %(default)s)"
        )


def run(args: argparse.Namespace) -> None:
    """Read, draw, write."""
    from worldprobe.report.model_names import read_roster
    from worldprobe.report.render import draw_figure

    tables = [getattr(args, one.name) for one in args.display.inputs]
    roster = read_roster(args.registry).with_trained(args.trained)
    draw_figure(args.display, tables, roster, args.out, args.column_width, **options_of(args))
