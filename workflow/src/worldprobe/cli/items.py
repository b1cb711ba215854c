"""``items``: fill templates, or compile and fill in one go."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.materials import add_materials_arguments, password
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.ewok.materials import Materials
    from worldprobe.ewok.rules import Rules
    from worldprobe.provenance import Provenance


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``items build`` and ``items fill``."""
    actions = stages.add_parser("items", help="fill templates into items").add_subparsers(metavar="ACTION", required=True)
    build = actions.add_parser("build", help="compile and fill in one go")
    add_materials_arguments(build)
    build.add_argument("--templates-out", type=Path, metavar="TEMPLATES", help="write the templates too (Parquet)")
    build.set_defaults(run=run_build)
    fill = actions.add_parser("fill", help="fill compiled templates")
    fill.add_argument("templates", metavar="TEMPLATES", help="from `templates compile`")
    add_materials_arguments(fill)
    fill.set_defaults(run=run_fill)
    for parser in (build, fill):
        parser.add_argument(
            "--mode",
            choices=["fixed", "independent"],
            default="fixed",
            help="one constant filling per version, or each item anew",
        )
        parser.add_argument(
            "--versions", type=_versions, default="0-4", metavar="FIRST-LAST", help="fixed: which versions (default: %(default)s)"
        )
        parser.add_argument(
            "--per-template", type=int, default=5, metavar="K", help="independent: items per template (default: %(default)s)"
        )
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="independent: seed (default: %(default)s)")
        parser.add_argument(
            "--swap", action="append", default=[], metavar="SOURCE->TARGET", help="other fillers; may be repeated"
        )
        parser.add_argument("--filter", metavar="REGEX", help="keep items in whose tags this is found")
        parser.add_argument("--compat", action="store_true", help="repeat the original generator, quirks included")
        parser.add_argument("--release-filter", action="store_true", help="keep the items of the official release only")
        parser.add_argument("--out", type=Path, required=True, metavar="ITEMS", help="Parquet")


def _versions(text: str) -> list[int]:
    first, _, last = text.partition("-")
    try:
        versions = list(range(int(first), int(last or first) + 1))
    except ValueError:
        versions = []
    if not versions:
        raise argparse.ArgumentTypeError(f'"{text}" is no range of versions; write e.g. 0-4, or 0')
    return versions


def run_build(args: argparse.Namespace) -> None:
    """Read, check, compile, fill, write."""
    from worldprobe.contracts import Templates, write_table
    from worldprobe.ewok.check import check_materials
    from worldprobe.ewok.compile import compile_templates
    from worldprobe.ewok.materials import read_materials
    from worldprobe.provenance import Provenance

    rules = _rules(args)
    materials = read_materials(args.materials, rules, password(args), is_lenient=args.compat)
    check_materials(materials)
    materials.problems.raise_first()
    provenance = Provenance(
        canary=materials.canary, inputs={"materials": materials.source.digest()}, details={"compat": args.compat}
    )
    templates = compile_templates(materials)
    if args.templates_out:
        write_table(templates, Templates, args.templates_out, provenance)
    _fill_and_write(args, templates, materials, rules, provenance)


def run_fill(args: argparse.Namespace) -> None:
    """Read templates and fillers, fill, write."""
    from worldprobe.contracts import Templates, read_table
    from worldprobe.ewok.check import check_materials
    from worldprobe.ewok.materials import read_materials
    from worldprobe.files import digest_file
    from worldprobe.provenance import Provenance

    rules = _rules(args)
    materials = read_materials(args.materials, rules, password(args), is_lenient=args.compat)
    check_materials(materials)
    materials.problems.raise_first()
    inputs = {"materials": materials.source.digest(), "templates": digest_file(args.templates)}
    provenance = Provenance(canary=materials.canary, inputs=inputs, details={"compat": args.compat})
    _fill_and_write(args, read_table(args.templates, Templates), materials, rules, provenance)


def _rules(args: argparse.Namespace) -> Rules:
    from worldprobe.ewok.rules import ORIGINAL, RIGHT

    return ORIGINAL if args.compat else RIGHT


def _fill_and_write(
    args: argparse.Namespace, templates: pd.DataFrame, materials: Materials, rules: Rules, provenance: Provenance
) -> None:
    from worldprobe.contracts import Items, write_table
    from worldprobe.ewok import items as filling
    from worldprobe.ewok.check import check_slots
    from worldprobe.ewok.fillers import Fillers
    from worldprobe.ewok.release import apply_release_filter
    from worldprobe.ewok.slots import open_slots
    from worldprobe.ewok.swaps import parse_swaps
    from worldprobe.log import LOGGER

    if args.mode == "independent" and args.per_template < 1:
        raise UserError("--per-template", f"{args.per_template} is not positive.", "Ask for at least one item per template.")
    fillers = Fillers(materials.fillers, rules)
    slots = open_slots(templates, fillers, parse_swaps(args.swap, list(materials.fillers)))
    check_slots(slots, fillers, materials.problems)
    materials.problems.raise_first()
    if args.mode == "fixed":
        rows = filling.fill_fixed(slots, fillers, args.versions)
        provenance.details |= {"mode": "fixed", "versions": args.versions}
    else:
        rows = filling.fill_independent(slots, fillers, args.per_template, args.seed)
        provenance.seed = args.seed
        provenance.details |= {"mode": "independent", "per_template": args.per_template}
    items = filling.items_table(rows, args.filter)
    if args.release_filter:
        items = apply_release_filter(items, materials.source, rules)
    items = filling.flag_duplicates(items)
    n_duplicates = int(items["duplicate_of"].notna().sum())
    details = {"swap": args.swap, "filter": args.filter, "release_filter": args.release_filter, "duplicates": n_duplicates}
    provenance.details |= {key: value for key, value in details.items() if value}
    write_table(items, Items, args.out, provenance)
    LOGGER.info(
        "%d items of %d templates, %d of them with the texts of another: %s", len(items), len(templates), n_duplicates, args.out
    )
