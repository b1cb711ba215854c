"""``figure NAME``: a figure as PDF, SVG and PNG, with the tidy CSV it is drawn from, by the suffixes of ``--out``."""

from __future__ import annotations

import argparse

from worldprobe.vocabulary import EVAL_TYPES


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per figure."""
    names = stages.add_parser("figure", help="draw a figure and save its tidy CSV").add_subparsers(metavar="NAME", required=True)

    def add(name: str, help_text: str, *inputs: str) -> argparse.ArgumentParser:
        parser = names.add_parser(name, help=help_text, description=help_text)
        for table in inputs:
            parser.add_argument(table, metavar=table.upper(), help=f"the {table} table (Parquet)")
        parser.add_argument("--models", metavar="FILE", help="model registry, for names, order and colours (config/models.yaml)")
        parser.add_argument("--width", choices=("single", "double"), default="double", help="column width (default: %(default)s)")
        parser.set_defaults(run=run, figure=name)
        return parser

    eval_type = {"choices": EVAL_TYPES, "default": "logprobs", "help": "paradigm (default: %(default)s)"}
    by_domain = add("accuracy_by_domain", "bars per model in a panel per domain (paper, Figure 4)", "summaries")
    by_domain.add_argument("--eval-type", **eval_type)  # type: ignore[arg-type]
    for parser in names.choices.values():
        parser.add_argument("--out", nargs="+", required=True, metavar="FILE", help="paths that end in .pdf, .svg, .png or .csv")


def run(args: argparse.Namespace) -> None:
    """Read, draw, write."""
    from worldprobe.contracts import Summaries, read_table
    from worldprobe.figures import by_domain
    from worldprobe.figures.drawing import render
    from worldprobe.roster import read_roster

    roster = read_roster(args.models)
    frame = by_domain.tidy(read_table(args.summaries, Summaries), roster, args.eval_type)
    render(frame, by_domain.draw, args.out, width=args.width)
