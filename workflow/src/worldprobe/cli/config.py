"""``worldprobe config check``: the configuration without the workflow."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser("config", help="check configuration files")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="every problem, with file, line and key",
        description="Checks configuration files, each laid over the ones before it, and the model registry that they name.",
    )
    check.add_argument("files", type=Path, nargs="+", metavar="FILE", help="configuration files, the strongest last")
    check.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print all problems, then fail on the first."""
    import sys

    from worldprobe.config import check_models, complaints, merge, read_registry, read_study, read_yaml

    sources = [read_yaml(path) for path in args.files]
    settings: dict = {}
    for source in sources:
        settings = merge(settings, source.document or {})
    for complaint in complaints(settings, "config", sources)[1:]:
        print(complaint.lines(), file=sys.stderr)
    study = read_study(settings, args.files)
    registry = read_registry(study["registry"])
    check_models(study, registry, args.files, study["registry"])
    counts = f"{len(study['models'])} models, {len(study['eval_types'])} eval types"
    print(f"{', '.join(map(str, args.files))}: {counts}; no problem found")
