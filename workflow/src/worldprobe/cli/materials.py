"""``materials``: check them, and list what differs from the original generator."""

from __future__ import annotations

import argparse
import os

from worldprobe.cli.arguments import whole_number
from worldprobe.errors import UserError

#: The most versions, or items per template, that one command makes.
MOST = 10_000
PASSWORD_HELP = "password of the .zip (or the environment variable WORLDPROBE_MATERIALS_PASSWORD)"


def add_materials_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that reads materials."""
    parser.add_argument("materials", metavar="MATERIALS", help="a folder in EWoK's official layout, or a .zip file of one")
    parser.add_argument("--password", metavar="PASSWORD", help=PASSWORD_HELP)


def version_range(text: str) -> list[int]:
    """Versions as the command line gives them.

    >>> version_range("0-2"), version_range("7")
    ([0, 1, 2], [7])
    """
    first, dash, last = text.partition("-")
    if not (_is_number(first) and (_is_number(last) or not dash)):
        raise argparse.ArgumentTypeError(f'"{text}" is not a range of versions. Write e.g. 0-4, or 0.')
    start, end = int(first), int(last or first)
    if end < start:
        raise argparse.ArgumentTypeError(f'"{text}" ends before it starts. Write the smaller number first.')
    if end >= MOST:
        raise argparse.ArgumentTypeError(f'"{text}": at most {MOST} versions (0-{MOST - 1}) are possible.')
    return list(range(start, end + 1))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def password(args: argparse.Namespace) -> str | None:
    """The password from the option or the environment."""
    from worldprobe.benchmarks.ewok.materials.source import PASSWORD_VARIABLE

    return args.password or os.environ.get(PASSWORD_VARIABLE)


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``materials check`` and ``materials differences``."""
    actions = stages.add_parser("materials", help="check materials").add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help="list every error and warning, with file, line and fix")
    add_materials_arguments(check)
    check.add_argument("--compat", action="store_true", help="judge as the original generator would")
    check.add_argument(
        "--versions",
        type=whole_number(1, MOST),
        default=5,
        metavar="N",
        help="number of versions for which the fillers must suffice",
    )
    check.set_defaults(run=run_check)
    differ = actions.add_parser(
        "differences", help="what fixing each quirk of the original changes here: counts and ids, no text"
    )
    add_materials_arguments(differ)
    differ.add_argument(
        "--versions", type=whole_number(1, MOST), default=5, metavar="N", help="number of versions to fill, 0 to N-1"
    )
    differ.add_argument("--limit", type=whole_number(0), default=8, metavar="N", help="number of ids of each kind to print")
    differ.add_argument("--out", metavar="CSV", help="CSV file of all ids: quirk, change, id")
    differ.set_defaults(run=run_differences)


def run_check(args: argparse.Namespace) -> None:
    """Print what is wrong; fail if there are errors."""
    from worldprobe.benchmarks.ewok.materials.check import check_all
    from worldprobe.benchmarks.ewok.materials.materials import read_materials
    from worldprobe.benchmarks.ewok.materials.rules import ORIGINAL, RIGHT

    materials = read_materials(args.materials, ORIGINAL if args.compat else RIGHT, password(args), is_lenient=args.compat)
    templates = check_all(materials, args.versions)
    for problem in materials.problems.by_place():
        print(problem)
    n_errors = len(materials.problems.errors())
    if n_errors:
        raise UserError(args.materials, f"{n_errors} errors are listed above.", "Fix them from the top; one may cause others.")
    print(f"{args.materials}: {templates} templates, no errors, {len(materials.problems)} warnings")


def run_differences(args: argparse.Namespace) -> None:
    """Build once per quirk, compare, print."""
    from worldprobe.benchmarks.ewok.materials.differences import as_table, differences, report
    from worldprobe.benchmarks.ewok.materials.source import Source
    from worldprobe.files import write_text

    found = differences(Source(args.materials, password(args)), range(args.versions))
    print(report(found, args.limit))
    if args.out:
        write_text(args.out, as_table(found).to_csv(index=False, lineterminator="\n"))
