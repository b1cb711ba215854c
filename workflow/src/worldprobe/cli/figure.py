"""``figure NAME``: a figure as PDF, SVG and PNG, with the tidy CSV it is drawn from, by the suffixes of ``--out``.

``figure set`` draws many in one process, which saves starting one for each.
"""

from __future__ import annotations

import argparse

from worldprobe.cli.plans import add_plan_parsers, add_set_parser, files_by_plan, options_of


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per figure, and one for many."""
    help_text = "draw a figure as PDF, SVG and PNG, and save its numbers as CSV"
    names = stages.add_parser("figure", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.").add_subparsers(
        title="figures", metavar="NAME", required=True
    )
    add_plan_parsers(names, "figure", run)
    add_set_parser(names, "figure", run_set)
    for parser in names.choices.values():
        parser.add_argument(
            "--trained", nargs="*", default=[], metavar="FOLDER", help="folders of control models, which state their parameters"
        )
        parser.add_argument(
            "--column-width", choices=("single", "double"), default="double", help="one column or two (default: %(default)s)"
        )


def run(args: argparse.Namespace) -> None:
    """Read, draw, write."""
    from worldprobe.present.making import draw_figure
    from worldprobe.present.roster import read_roster

    tables = [getattr(args, one.name) for one in args.plan.inputs]
    roster = read_roster(args.registry).with_trained(args.trained)
    draw_figure(args.plan, tables, roster, args.out, args.column_width, **options_of(args))


def run_set(args: argparse.Namespace) -> None:
    """Draw the figures that the files are named after.

    Raises:
        UserError: a file is not named after a figure.
    """
    from worldprobe.present.making import draw_figure
    from worldprobe.present.roster import read_roster

    roster = read_roster(args.registry).with_trained(args.trained)
    for plan, paths in files_by_plan("figure", args.out):
        draw_figure(plan, [args.folder / one.path for one in plan.inputs], roster, paths, args.column_width)
