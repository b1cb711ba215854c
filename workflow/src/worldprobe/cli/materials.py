"""``materials``: check, count, show, start and review them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import LARGEST_SEED, whole_number
from worldprobe.cli.reading_materials import MOST, add_materials_arguments, password
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.materials.materials import Materials


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``materials check``, ``stats``, ``preview``, ``new-domain`` and ``review``."""
    actions = stages.add_parser("materials", help="check, count, show, start and review materials").add_subparsers(
        metavar="ACTION", required=True
    )
    check = actions.add_parser("check", help="list every error and warning, with file, line and fix")
    add_materials_arguments(check)
    check.add_argument("--compat", action="store_true", help="judge as the original generator would")
    check.add_argument(
        "--n-versions",
        type=whole_number(1, MOST),
        default=5,
        metavar="N",
        help="number of versions for which the fillers must suffice",
    )
    check.set_defaults(run=run_check)
    _add_stats(actions)
    _add_preview(actions)
    _add_new_domain(actions)
    _add_review(actions)


def _add_stats(actions: argparse._SubParsersAction) -> None:
    stats = actions.add_parser(
        "stats", help="counts, crossing of design and domain, lengths and frequencies of the two sides, telltale words"
    )
    add_materials_arguments(stats)
    stats.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0, metavar="N", help="seed of the random turns")
    stats.add_argument("--out", type=Path, metavar="FOLDER", help="also write the tables as CSV files into this folder")
    stats.set_defaults(run=run_stats)


def _add_preview(actions: argparse._SubParsersAction) -> None:
    preview = actions.add_parser("preview", help="show the filled templates of a concept")
    add_materials_arguments(preview)
    preview.add_argument("concept", metavar="CONCEPT", help="name of a concept, in quotes if it has several words")
    preview.add_argument("--domain", metavar="DOMAIN", help="look in this domain only")
    preview.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0, metavar="N", help="seed of the fillings")
    preview.add_argument("--limit", type=whole_number(1), default=20, metavar="N", help="most templates to show (default: 20)")
    preview.set_defaults(run=run_preview)


def _add_new_domain(actions: argparse._SubParsersAction) -> None:
    start = actions.add_parser("new-domain", help="write a commented start for a domain of your own, which compiles as it is")
    start.add_argument("materials", type=Path, metavar="FOLDER", help="folder of materials; made if there is none")
    start.add_argument("name", metavar="NAME", help="two words joined by a hyphen, e.g. garden-work")
    start.set_defaults(run=run_new_domain)


def _add_review(actions: argparse._SubParsersAction) -> None:
    review = actions.add_parser(
        "review", help="a spreadsheet for a second reader's verdicts, and back: flags for `items --flags`"
    )
    add_materials_arguments(review)
    review.add_argument("--read", type=Path, metavar="SHEET", help="filled spreadsheet to turn into flags (CSV)")
    review.add_argument("--compat", action="store_true", help="templates as the original generator compiles them")
    review.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0, metavar="N", help="seed of the examples")
    review.add_argument(
        "--out", type=Path, required=True, metavar="CSV", help="spreadsheet to write; with --read, the flags to write"
    )
    review.set_defaults(run=run_review)


def run_check(args: argparse.Namespace) -> None:
    """Print what is wrong; fail if there are errors."""
    from worldprobe.benchmarks.ewok.materials.check import check_all
    from worldprobe.benchmarks.ewok.materials.materials import read_materials
    from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT

    materials = read_materials(args.materials, ORIGINAL if args.compat else RIGHT, password(args), is_lenient=args.compat)
    templates = check_all(materials, args.n_versions)
    for problem in materials.problems.by_place():
        print(problem)
    n_errors = len(materials.problems.errors())
    if n_errors:
        raise UserError(args.materials, f"{n_errors} errors are listed above.", "Fix them from the top; one may cause others.")
    print(f"{args.materials}: {templates} templates, no errors, {len(materials.problems)} warnings")


def _compile(args: argparse.Namespace) -> tuple[Materials, pd.DataFrame]:
    """The materials, free of errors, and their templates."""
    from worldprobe.benchmarks.ewok.materials.build import compile_all
    from worldprobe.cli.reading_materials import read_and_check

    materials = read_and_check(args)
    return materials, compile_all(materials)


def run_stats(args: argparse.Namespace) -> None:
    """Compile, count and compare, print, write."""
    from worldprobe.benchmarks.ewok.baselines.frequency import frequencies_of_wordfreq
    from worldprobe.benchmarks.ewok.materials.balance import overview
    from worldprobe.files import whole_folder

    args.compat = False
    _, templates = _compile(args)
    tables, text = overview(templates, frequencies_of_wordfreq, args.seed)
    print(text)
    if args.out:
        with whole_folder(args.out, "materials stats") as folder:
            for name, table in tables.items():
                csv = table.to_csv(index=False, float_format="%.9g", lineterminator="\n")
                (folder / f"{name}.csv").write_text(csv, encoding="utf-8", newline="")


def run_preview(args: argparse.Namespace) -> None:
    """Compile, fill, print."""
    from worldprobe.benchmarks.ewok.materials.review import preview_concept
    from worldprobe.cli.reading_materials import read_and_check

    args.compat = False
    print(preview_concept(read_and_check(args), args.concept, args.domain, args.seed, args.limit))


def run_new_domain(args: argparse.Namespace) -> None:
    """Write the files of a new domain."""
    from worldprobe.benchmarks.ewok.materials.materials import canary_lines
    from worldprobe.benchmarks.ewok.materials.new_domain import start_domain

    others = sorted(args.materials.glob("contexts/context-*.yml"))
    canary = "\n".join(canary_lines(others[0].read_bytes())) if others else None
    for path in start_domain(args.materials, args.name, canary):
        print(path)
    print(f"Next: change what you like, then `worldprobe materials check {args.materials}`.")


def run_review(args: argparse.Namespace) -> None:
    """Write the spreadsheet, or read the filled one back as flags."""
    from worldprobe.benchmarks.ewok.exports.canaries import is_protected
    from worldprobe.benchmarks.ewok.materials.review import fill_once, flags_text, read_sheet, review_sheet
    from worldprobe.files import write_text
    from worldprobe.log import LOGGER

    materials, templates = _compile(args)
    if args.read:
        flags = read_sheet(args.read, templates)
        write_text(args.out, flags_text(flags, materials.canary))
        counts = flags["verdict"].value_counts()
        LOGGER.info("%d templates excluded, %d reversed: %s", counts.get("exclude", 0), counts.get("reverse", 0), args.out)
        return
    if is_protected(materials.canary):
        problem = "is EWoK's own, whose terms forbid plain-text files of it."
        raise UserError(args.materials, problem, "Review materials of your own.")
    write_text(args.out, review_sheet(templates, fill_once(templates, materials, args.seed), materials.canary))
    LOGGER.info("%d templates to read: %s", len(templates), args.out)
