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
    """Print every problem of the files and of the registry that they name.

    Raises:
        UserError: the last of the problems, the others having been printed.
    """
    import sys

    from worldprobe.benchmarks import settings_classes
    from worldprobe.paths import REPOSITORY
    from worldprobe.settings import check_models, merge, read_registry, read_study, read_yaml, registry_problems, study_problems

    blocks = settings_classes()
    sources = [read_yaml(path) for path in args.files]
    found = study_problems(sources, blocks)
    settings: dict = {}
    for source in sources:
        settings = merge(settings, source.document or {}) if isinstance(source.document, dict | None) else settings
    registry = Path(str(settings.get("registry", "config/models.yaml")))
    if not registry.exists() and (REPOSITORY / registry).exists():
        registry = REPOSITORY / registry
    if registry.is_file():  # otherwise one of the complaints says so
        found += registry_problems(read_yaml(registry))
    for complaint in found[:-1]:
        print(complaint.lines(), file=sys.stderr)
    if found:
        raise found[-1]
    study = read_study(settings, args.files, blocks)
    check_models(study, read_registry(registry), args.files, str(registry))
    asked = ", ".join(f"{name}: {len(study[name].get('conditions', {}))} condition(s)" for name in blocks if study.get(name))
    print(f"{', '.join(map(str, args.files))}: study {study['study']}, {len(study['models'])} models, {asked}; no problem found")
