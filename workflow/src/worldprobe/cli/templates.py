"""``templates compile``: from materials to templates."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.reading_materials import add_materials_arguments, made_from_materials, read_and_check


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``templates compile``."""
    stage = stages.add_parser("templates", help="compile materials into templates")
    actions = stage.add_subparsers(metavar="ACTION", required=True)
    compile_ = actions.add_parser("compile", help="every concept pair's targets with every fitting context, and their swaps")
    add_materials_arguments(compile_)
    compile_.add_argument("--compat", action="store_true", help="repeat the original generator, quirks included")
    compile_.add_argument("--out", type=Path, required=True, metavar="TEMPLATES", help="templates table (Parquet)")
    compile_.set_defaults(run=run_compile)


def run_compile(args: argparse.Namespace) -> None:
    """Read, check, compile, write."""
    from worldprobe.benchmarks.ewok.contracts import Templates
    from worldprobe.benchmarks.ewok.materials.build import compile_all
    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER

    materials = read_and_check(args)
    templates = compile_all(materials)
    write_table(templates, Templates, args.out, made_from_materials(materials, args.compat))
    LOGGER.info("%d templates in %d domains: %s", len(templates), templates["domain"].nunique(), args.out)
