"""``worldprobe status``: how far a study is, and what to do next."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "status",
        help="which models are done, running, waiting or failed",
        description="From the results tree, the processes of this machine and SLURM's queue: every model of a study, with the "
        "last line of its log, and the next step. Changes nothing.",
    )
    parser.add_argument(
        "--configfile", type=Path, nargs="+", default=[], metavar="FILE", help="configuration files, as given to snakemake"
    )
    parser.add_argument(
        "--directory", type=Path, default=Path(), metavar="FOLDER", help="working folder, as given to snakemake (default: .)"
    )
    parser.add_argument(
        "--prefix",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="prefix of the module, where another workflow uses this one as a module with a prefix",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Look and report."""
    from worldprobe.benchmarks import add_models, all_models, answers_by_rule, complete_registry, settings_classes
    from worldprobe.operations import locks, status
    from worldprobe.operations.settings import read_settings
    from worldprobe.paths import REPOSITORY, RESULTS, StudyPaths
    from worldprobe.settings import merge, read_yaml

    settings: dict = {}
    base = Path("config/config.yaml")  # the Snakefile lays the others over it
    files = [*([base] if base.exists() else []), *args.configfile]
    for path in files:
        settings = merge(settings, read_yaml(path).document or {})
    results = (args.prefix / RESULTS).as_posix()
    study, registry, _, _ = read_settings(
        settings, files, {}, REPOSITORY, settings_classes(), complete_registry, results, add_models, all_models
    )
    print(f"Study {study['study']}")
    models = all_models(study)
    if not any(answers_by_rule(study, model) for model in models):
        print("No model is asked: this study uses released results, or none of its benchmarks asks models.")
        return
    found = status.read_queue(args.directory)
    queue, silence = found or ([], "")
    pids = locks.running(args.directory)
    on_cluster = bool(queue) or locks.is_on_cluster(pids)
    is_running = bool(pids or locks.held_elsewhere(args.directory))
    states = status.model_states(study, registry, answers_by_rule, args.directory, queue, is_running, on_cluster, silence, models)
    width = max(len(state.model) for state in states)
    for state in states:
        print(f"{state.model:{width}}  {state.state:11}  {state.detail}".rstrip())
    print()
    options = "".join(f" {shlex.quote(str(path))}" for path in args.configfile)
    options = (f" --configfile{options}" if options else "") + (
        f" --directory {shlex.quote(str(args.directory))}" if args.directory != Path() else ""
    )
    for step in status.next_steps(
        states, args.directory, queue, pids, found is not None, silence, options, StudyPaths.of(study).logs
    ):
        print(step)
