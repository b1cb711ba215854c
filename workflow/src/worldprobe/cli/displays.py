"""The commands of tables and figures, from their declarations in all benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from worldprobe.benchmark import FORMATS, Display
from worldprobe.benchmarks import benchmarks
from worldprobe.cli.arguments import shipped_file

Run = Callable[[argparse.Namespace], None]


def displays_of(kind: str) -> dict[str, Display]:
    """All benchmarks' tables or figures by name; a name is a command, so no two benchmarks share one."""
    return {one.name: one for benchmark in benchmarks().values() for one in benchmark.displays if one.kind == kind}


def add_display_parsers(names: argparse._SubParsersAction, kind: str, run: Run) -> None:
    """A command per table or figure: its inputs, its options, the registry and the files to write."""
    for display in displays_of(kind).values():
        parser = names.add_parser(display.name, help=display.title, description=display.caption)
        for one in display.inputs:
            where = f" ({Path(one.path).name})" if isinstance(one.path, str) else ""
            parser.add_argument(one.name, metavar=one.name.upper(), help=f"the {one.name} table{where}")
        for option in display.options:
            flag = "--" + option.name.replace("_", "-")
            parser.add_argument(
                flag, choices=option.choices, default=display.default(option), help=f"{option.help} (default: %(default)s)"
            )
        parser.set_defaults(run=run, display=display)
        _add_common(parser, kind)


def _add_common(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument(
        "--registry",
        type=shipped_file,
        metavar="FILE",
        help="model registry, for names, order and colours (default: ids are shown)",
    )
    suffixes = ", ".join(f".{suffix}" for suffix in FORMATS[kind])
    parser.add_argument(
        "--out", type=Path, nargs="+", required=True, metavar="FILE", help=f"files to write; suffixes: {suffixes}"
    )


def options_of(args: argparse.Namespace) -> dict[str, str]:
    """The values of a table's or figure's options."""
    return {option.name: getattr(args, option.name) for option in args.display.options}
