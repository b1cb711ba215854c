"""``config``, ``fetch``, ``workflow``, ``status`` and ``unlock``: what surrounds a run of the
workflow.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from cyclopts import App

from worldprobe.benchmarks import (
    add_models,
    all_models,
    answers_by_rule,
    complete_registry,
    settings_classes,
)
from worldprobe.cli.options import ConfigFiles, shipped_file
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.paths import REPOSITORY, RESULTS, StudyPaths

config = App(name="config", help="Check configuration files.")


@config.command
def check(files: list[Path], /) -> None:
    """Check configuration files, and the model registry that they name.

    Each file is laid over the ones before it.

    Prints every problem, with file, line and key.

    Args:
        files: configuration files, the strongest last
    """
    from worldprobe.settings import (
        check_models,
        merge,
        read_registry,
        read_study,
        read_yaml,
        registry_problems,
        study_problems,
    )

    sources = [read_yaml(path) for path in files]
    found = study_problems(sources, settings_classes)
    settings: dict = {}
    for source in sources:
        settings = (
            merge(settings, source.document or {})
            if isinstance(source.document, dict | None)
            else settings
        )
    registry = shipped_file(Path(str(settings.get("registry", "config/models.yaml"))))
    if registry.is_file():  # otherwise one of the complaints says so
        found += registry_problems(read_yaml(registry))
    for complaint in found[:-1]:
        print(complaint.lines(), file=sys.stderr)
    if found:
        raise found[-1]
    study = read_study(settings, files, settings_classes)
    check_models(study, read_registry(registry), files, str(registry))
    asked = []
    for name in study["benchmarks"]:
        conditions = (study.get(name) or {}).get("conditions")
        asked.append(
            name if conditions is None else f"{name} in {_number(len(conditions), 'condition')}"
        )
    counted = [
        _number(len(study["models"]), "model"),
        *([f"{len(study['series'])} series"] if study.get("series") else []),
    ]
    what = f"study {study['study']}, {', '.join([*counted, *asked])}"
    print(f"{', '.join(map(str, files))}: {what}; no problem found")


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def fetch(source: str, /, *, sources: Path = Path("resources/sources.yaml"), out: Path) -> None:
    """Download a file that resources/sources.yaml lists.

    Args:
        source: name of the file in the listing
        sources: YAML listing of the files that may be downloaded
        out: where to keep the downloaded file
    """
    from worldprobe.sources import download, read_source

    listed = read_source(shipped_file(sources), source)
    LOGGER.info("terms: %s", listed["licence"])
    download(listed["url"], listed["sha256"], out)
    LOGGER.info("%s is at %s", source, out)


def workflow() -> None:
    """Print the path of the Snakefile that belongs to this installation.

    So a study runs in any folder: `snakemake all -s "$(worldprobe workflow)" --cores all
    --configfile STUDY.yaml` makes it there.
    """
    print(REPOSITORY / "workflow" / "Snakefile")


def status(
    *, configfile: ConfigFiles = (), directory: Path = Path(), prefix: Path = Path()
) -> None:
    """Print whether each model of a study is done, running, waiting or failed.

    The next step is printed as well.

    From the results tree, the processes of this machine and SLURM's queue, with the last line of
    each log. Changes nothing.

    Args:
        directory: working folder, as given to snakemake
        prefix: prefix of the module, where another workflow uses this one as a module with a prefix
    """
    from worldprobe.operations import status
    from worldprobe.operations.settings import read_settings
    from worldprobe.settings import merge, read_yaml

    settings: dict = {}
    files = list(configfile) or ([status.BASE] if status.BASE.exists() else [])
    for path in files:
        stated = read_yaml(path).document
        if not isinstance(stated, dict | None):
            raise UserError(
                path,
                "contains no settings.",
                "Give a configuration file: a line `key: value` for each setting.",
            )
        settings = merge(settings, stated or {})
    results = (prefix / RESULTS).as_posix()
    study, registry, _, _ = read_settings(
        settings,
        files,
        {},
        REPOSITORY,
        settings_classes,
        complete_registry,
        results,
        add_models,
        all_models,
    )
    print(f"Study {study['study']}")
    models = all_models(study)
    if not any(answers_by_rule(study, model) for model in models):
        print(
            "No model is asked: this study uses released results, or none of its benchmarks asks"
            " models."
        )
        return
    found = status.read_queue(directory)
    queue, silence = found or ([], "")
    pids = status.running(directory)
    # A workflow that uses this one as a module has a configuration of its own.
    others = status.of_other_studies(pids, configfile) if prefix == Path() else {}
    pids = [pid for pid in pids if pid not in others]
    on_cluster = bool(queue) or status.is_on_cluster(pids)
    is_running = bool(pids or (not others and status.held_elsewhere(directory)))
    states = status.model_states(
        study, registry, answers_by_rule, directory, queue, is_running, on_cluster, silence, models
    )
    width = max(len(state.model) for state in states)
    for state in states:
        print(f"{state.model:{width}}  {state.state:11}  {state.detail}".rstrip())
    print()
    has_own = any(Path(place).is_file() for place in ("Snakefile", "workflow/Snakefile"))
    options = "" if has_own else ' -s "$(worldprobe workflow)"'
    options += f" --configfile {shlex.join(map(str, configfile))}" if configfile else ""
    options += f" --directory {shlex.quote(str(directory))}" if directory != Path() else ""
    logs = StudyPaths.of(study).logs
    for step in status.next_steps(
        states, directory, queue, pids, found is not None, silence, options, logs, others
    ):
        print(step)


def unlock(folder: Path = Path(), /) -> None:
    """Remove the lock of a run that was killed.

    It stays where a Snakemake of this machine is still at work there, the run began on another
    machine, or jobs of the killed one are still in SLURM's queue, whose work would be done twice.

    Args:
        folder: folder where Snakemake ran
    """
    from worldprobe.operations import status

    if status.is_locked(folder):
        jobs, _silence = status.read_queue(folder) or ([], "")
        if alive := " ".join(job.number for job in jobs if job.is_alive):
            problem = (
                "jobs of the run that held this lock are still in SLURM's queue; a new run would do"
                " their work a second time."
            )
            raise UserError(
                folder, problem, f"scancel {alive}, or wait for them; then run this command again."
            )
    if status.unlock(folder):
        print(
            "An earlier run was cut short; its lock is removed, and this run continues from what it"
            " finished."
        )
