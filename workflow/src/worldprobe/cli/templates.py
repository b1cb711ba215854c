"""``templates compile``: from materials to templates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.materials import add_materials_arguments, password

if TYPE_CHECKING:
    from worldprobe.benchmarks.ewok.materials.entries import Materials
    from worldprobe.provenance import Provenance

#: Bumped when the same materials give other templates.
METHOD = 1


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``templates compile``."""
    stage = stages.add_parser("templates", help="compile materials into templates")
    actions = stage.add_subparsers(metavar="ACTION", required=True)
    compile_ = actions.add_parser("compile", help="every concept pair's targets with every fitting context, and their swaps")
    add_materials_arguments(compile_)
    compile_.add_argument("--compat", action="store_true", help="repeat the original generator, quirks included")
    compile_.add_argument("--out", type=Path, required=True, metavar="TEMPLATES", help="templates table (Parquet)")
    compile_.set_defaults(run=run_compile)


def read_and_check(args: argparse.Namespace) -> Materials:
    """The materials that a command names, free of errors."""
    from worldprobe.benchmarks.ewok.materials.check import check_materials
    from worldprobe.benchmarks.ewok.materials.materials import read_materials
    from worldprobe.benchmarks.ewok.materials.rules import ORIGINAL, RIGHT
    from worldprobe.log import LOGGER

    rules = ORIGINAL if args.compat else RIGHT
    materials = read_materials(args.materials, rules, password(args), is_lenient=args.compat)
    check_materials(materials)
    materials.problems.raise_first()
    if materials.problems:
        LOGGER.info("The materials have %d warnings; `worldprobe materials check` lists them.", len(materials.problems))
    return materials


def made_from_materials(materials: Materials, is_compat: bool) -> Provenance:
    """What a table compiled from materials says of them."""
    from worldprobe.provenance import made

    return made(
        METHOD,
        packages=["numpy", "PyYAML", "inflection"],
        digests={"materials": materials.source.digest()},
        canary=materials.canary,
        details={"compat": is_compat},
    )


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
