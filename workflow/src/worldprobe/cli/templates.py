"""``templates compile``: from materials to templates."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.materials import add_materials_arguments, password


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``templates compile``."""
    actions = stages.add_parser("templates", help="compile materials into templates").add_subparsers(
        metavar="ACTION", required=True
    )
    compile_ = actions.add_parser("compile", help="every concept pair's targets with every fitting context, and their swaps")
    add_materials_arguments(compile_)
    compile_.add_argument("--compat", action="store_true", help="repeat the original generator, quirks included")
    compile_.add_argument("--out", type=Path, required=True, metavar="TEMPLATES", help="Parquet")
    compile_.set_defaults(run=run_compile)


def run_compile(args: argparse.Namespace) -> None:
    """Read, check, compile, write."""
    from worldprobe.contracts import Templates, write_table
    from worldprobe.ewok.check import check_materials
    from worldprobe.ewok.compile import compile_templates
    from worldprobe.ewok.materials import read_materials
    from worldprobe.ewok.rules import ORIGINAL, RIGHT
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance

    rules = ORIGINAL if args.compat else RIGHT
    materials = read_materials(args.materials, rules, password(args), is_lenient=args.compat)
    check_materials(materials)
    materials.problems.raise_first()
    templates = compile_templates(materials)
    provenance = Provenance(
        canary=materials.canary, inputs={"materials": materials.source.digest()}, details={"compat": args.compat}
    )
    write_table(templates, Templates, args.out, provenance)
    LOGGER.info("%d templates in %d domains: %s", len(templates), templates["domain"].nunique(), args.out)
