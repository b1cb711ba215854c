"""``worldprobe fetch``: the one command that uses the network."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.arguments import shipped_file


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser("fetch", help="download a file that resources/sources.yaml lists")
    parser.add_argument("source", metavar="SOURCE", help="name of the file in the listing")
    parser.add_argument(
        "--sources",
        type=shipped_file,
        default="resources/sources.yaml",
        metavar="FILE",
        help="YAML listing of the files that may be downloaded",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to keep the downloaded file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Download, check, keep."""
    from worldprobe.log import LOGGER
    from worldprobe.sources import download, read_source

    source = read_source(args.sources, args.source)
    LOGGER.info("terms: %s", source["licence"])
    download(source["url"], source["sha256"], args.out)
    LOGGER.info("%s is at %s", args.source, args.out)
