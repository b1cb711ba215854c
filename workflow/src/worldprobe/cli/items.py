"""``items``: fill templates, or compile and fill in one go."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.materials import add_materials_arguments
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.materials.entries import Materials
    from worldprobe.provenance import Provenance

#: Bumped when the same materials and options give other items.
METHOD = 1


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``items build``, ``items fill`` and ``items export``."""
    actions = stages.add_parser("items", help="fill templates into items").add_subparsers(metavar="ACTION", required=True)
    build = actions.add_parser("build", help="compile and fill in one go")
    add_materials_arguments(build)
    build.add_argument("--templates-out", type=Path, metavar="TEMPLATES", help="write the templates too (Parquet)")
    build.set_defaults(run=run_build)
    fill = actions.add_parser("fill", help="fill compiled templates")
    fill.add_argument("templates", metavar="TEMPLATES", help="from `templates compile`")
    add_materials_arguments(fill)
    fill.set_defaults(run=run_fill)
    export = actions.add_parser("export", help="write items in the original's CSV format, for tools made for it")
    export.add_argument("items", metavar="ITEMS", help="from `items build` or `items fill`")
    export.add_argument("templates", metavar="TEMPLATES", help="the templates they come from")
    export.add_argument("--format", choices=["official"], default="official", help="the original's files (default: %(default)s)")
    export.add_argument("--password", help="of the .zip (or in the environment: WORLDPROBE_EXPORT_PASSWORD)")
    export.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER_OR_ZIP",
        help="one folder per version, one file per domain; a .zip of them where a password is given",
    )
    export.set_defaults(run=run_export)
    for parser in (build, fill):
        add = parser.add_argument
        add(
            "--mode",
            choices=["fixed", "independent"],
            default="fixed",
            help="fixed: one constant filling per domain and version; independent: each item on its own",
        )
        add("--versions", type=_versions, default="0-4", metavar="0-4", help="fixed: which versions (default: %(default)s)")
        add(
            "--per-template",
            type=_positive,
            default=5,
            metavar="K",
            help="independent: items per template (default: %(default)s)",
        )
        add("--seed", type=_natural, default=0, metavar="S", help="independent: seed (default: %(default)s)")
        add(
            "--swap", action="append", default=[], metavar="FROM->TO", help="other fillers, e.g. object->nonword; may be repeated"
        )
        add("--filter", metavar="REGEX", help="keep items in whose tags this is found")
        add("--compat", action="store_true", help="repeat the original generator, quirks included")
        add("--release-filter", action="store_true", help="keep the items of the official release only")
        add("--out", type=Path, required=True, metavar="ITEMS", help="Parquet")


def _versions(text: str) -> list[int]:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal() and int(first) <= int(last or first)):
        raise argparse.ArgumentTypeError(f'"{text}" is no range of versions; write e.g. 0-4, or 0')
    return list(range(int(first), int(last or first) + 1))


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number from 0')
    return int(text)


def _positive(text: str) -> int:
    if _natural(text) == 0:
        raise argparse.ArgumentTypeError("at least 1")
    return int(text)


def run_build(args: argparse.Namespace) -> None:
    """Read, check, compile, fill, write."""
    from worldprobe.benchmarks.ewok.contracts import Templates
    from worldprobe.benchmarks.ewok.materials.compile import compile_templates
    from worldprobe.cli.templates import made_from, read_and_check
    from worldprobe.contracts import write_table

    materials = read_and_check(args)
    templates = compile_templates(materials)
    if args.templates_out:
        write_table(templates, Templates, args.templates_out, made_from(materials, args.compat))
    _fill_and_write(args, templates, materials, made_from(materials, args.compat))


def run_fill(args: argparse.Namespace) -> None:
    """Read templates and fillers, fill, write."""
    from worldprobe.benchmarks.ewok.contracts import Templates
    from worldprobe.cli.templates import made_from, read_and_check
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe.files import digest_file

    templates = read_table(args.templates, Templates)
    if read_provenance(args.templates).details.get("compat", args.compat) != args.compat:
        raise UserError(
            args.templates, "was compiled with another --compat than this.", "Use the same --compat for both commands."
        )
    materials = read_and_check(args)
    provenance = made_from(materials, args.compat)
    provenance.inputs["templates"] = digest_file(args.templates)
    _fill_and_write(args, templates, materials, provenance)


def _fill_and_write(args: argparse.Namespace, templates: pd.DataFrame, materials: Materials, made: Provenance) -> None:
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials import items as filling
    from worldprobe.benchmarks.ewok.materials.check import check_slots
    from worldprobe.benchmarks.ewok.materials.fillers import Fillers
    from worldprobe.benchmarks.ewok.materials.release import apply_release_filter
    from worldprobe.benchmarks.ewok.materials.slots import open_slots
    from worldprobe.benchmarks.ewok.materials.swaps import parse_swaps
    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER

    fillers = Fillers(materials.fillers, materials.rules)
    slots = open_slots(templates, fillers, parse_swaps(args.swap, list(materials.fillers)))
    check_slots(slots, fillers, materials.problems)
    materials.problems.raise_first()
    made.method = METHOD
    if args.mode == "fixed":
        rows = filling.fill_fixed(slots, fillers, args.versions)
        made.details |= {"mode": "fixed", "versions": args.versions}
    else:
        rows = filling.fill_independent(slots, fillers, args.per_template, args.seed)
        made.seed = args.seed
        made.details |= {"mode": "independent", "per_template": args.per_template}
    items = filling.items_table(rows)
    asked = len(args.versions) if args.mode == "fixed" else args.per_template
    fewer = filling.shortfalls(items, templates, asked)
    if args.filter:
        items = filling.filter_tags(items, args.filter)
    if args.release_filter:
        if not args.compat:
            LOGGER.warning("--release-filter knows items by their exact texts; without --compat many of them are not made")
        items = apply_release_filter(items, materials.source, materials.rules)
    items = filling.flag_duplicates(items)
    n_duplicates = int(items["duplicate_of"].notna().sum())
    options = {"swap": args.swap, "filter": args.filter, "release_filter": args.release_filter}
    facts = {"fewer_items": fewer, "duplicates": n_duplicates}
    made.details |= {key: value for key, value in (options | facts).items() if value}
    write_table(items, Items, args.out, made)
    repeated = f", {n_duplicates} of them with the texts of another" if n_duplicates else ""
    LOGGER.info("%d items of %d templates%s: %s", len(items), len(templates), repeated, args.out)


def run_export(args: argparse.Namespace) -> None:
    """Read, refuse what may not leave in the open, write."""
    from worldprobe.benchmarks.ewok.contracts import Items, Templates
    from worldprobe.benchmarks.ewok.materials.export import official_files, refuse_protected, write_archive
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe.errors import UserError
    from worldprobe.files import whole_folder

    canary = read_provenance(args.items).canary
    password: str = args.password or os.environ.get("WORLDPROBE_EXPORT_PASSWORD", "")
    is_archive = args.out.suffix == ".zip"
    if is_archive != bool(password):
        fix = "Add --password WORD." if is_archive else "Name an archive: --out NAME.zip."
        raise UserError(args.out, "a password and a .zip go together.", fix)
    if not is_archive:
        refuse_protected(canary, args.items)
    files = official_files(read_table(args.items, Items), read_table(args.templates, Templates), canary)
    if is_archive:
        write_archive(files, args.out, password)
        return
    with whole_folder(args.out, "items export") as folder:
        for name, text in files:
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
