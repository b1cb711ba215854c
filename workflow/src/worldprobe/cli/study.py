"""``config``, ``fetch``, ``workflow`` and ``status``: what surrounds a run of the workflow."""

from __future__ import annotations

import os
from pathlib import Path

from cyclopts import App

from worldprobe.benchmarks import settings_classes
from worldprobe.cli.options import ConfigFiles
from worldprobe.errors import UserError, raise_all
from worldprobe.log import LOGGER
from worldprobe.paths import LISTING, REGISTRY, REPOSITORY, RESULTS, shipped_file

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
        merge,
        model_problems,
        read_registry,
        read_site,
        read_study,
        read_yaml,
        registry_problems,
        study_problems,
    )

    sources = [read_yaml(path) for path in files]
    problems = study_problems(sources, settings_classes)
    settings: dict = {}
    for source in sources:
        settings = (
            merge(settings, source.document or {})
            if isinstance(source.document, dict | None)
            else settings
        )
    registry = shipped_file(Path(str(settings.get("registry", REGISTRY))))
    if registry.is_file():  # otherwise one of the complaints says so
        wrong = registry_problems(read_yaml(registry))
        models = (
            settings.get("models")
            if problems
            else read_study(settings, files, settings_classes)["models"]
        )
        if not wrong and isinstance(models, list) and all(isinstance(one, str) for one in models):
            known = read_registry(registry)
            problems += model_problems(models, known, sources, str(registry))
        problems += wrong
    try:
        read_site(shipped_file(Path("config/cluster.yaml")), os.environ)
    except UserError as error:
        problems.append(error)
    raise_all(problems)
    study = read_study(settings, files, settings_classes)
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


def fetch(source: str, /, *, sources: Path = LISTING, out: Path) -> None:
    """Download a file that resources/sources.yaml lists.

    Args:
        source: name of the file in the listing; of a source with several files NAME/PART
        sources: YAML listing of the files that may be downloaded
        out: where to keep the downloaded file
    """
    from worldprobe.sources import download, read_source

    listed = read_source(shipped_file(sources), source)
    LOGGER.info("terms: %s", listed.licence)
    download(listed.url, listed.sha256, out, listed.md5)
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
    """Print whether each model of a study is done, failed, unfinished or not begun, and why.

    It reads the results and the logs. `snakemake -n --quiet rules` counts the jobs that are left.

    Args:
        directory: working folder, as given to snakemake
        prefix: prefix of the module, where another workflow uses this one as a module with a prefix
    """
    from worldprobe.operations.settings import read_files
    from worldprobe.operations.status import progress

    study, *_ = read_files(configfile, (prefix / RESULTS).as_posix())
    print(f"Study {study['study']}")
    lines = progress(study, directory)
    if not lines:
        print(
            "No model is asked: this study uses released results, or none of its benchmarks asks"
            " models."
        )
    width = max((len(model) for model, *_ in lines), default=0)
    for model, state, detail in lines:
        print(f"{model:{width}}  {state:10}  {detail}".rstrip())
