"""``config``, ``fetch``, ``workflow`` and ``status``: what surrounds a run of the workflow."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from worldprobe.benchmarks import settings_classes
from worldprobe.cli.options import ConfigFiles
from worldprobe.errors import UserError, raise_all
from worldprobe.files import write_text
from worldprobe.log import LOGGER
from worldprobe.missing import Stage
from worldprobe.paths import LISTING, REGISTRY, REPOSITORY, RESOURCES, shipped_file

#: What a job is missing for that was ended before it could say why.
SILENT = "its job was ended: killed, or out of memory or time"
config = App(name="config", help="Begin and check configuration files; completion in the shell.")


@config.command
def new(file: Path, /) -> None:
    """Write a commented start for the configuration of a study.

    Args:
        file: configuration file (.yaml), which must not be there
    """
    if file.exists():
        raise UserError(file, "is there already.", "Name another file.")
    if file.suffix not in (".yaml", ".yml"):
        raise UserError(file, "is not the name of a YAML file.", "Name a .yaml file.")
    text = (RESOURCES / "new_study.yaml").read_text(encoding="utf-8").replace("FILE", str(file))
    write_text(file, text)
    print(f"{file}: change what differs in your study, then: worldprobe config check {file}")


@config.command
def completion(*, shell: Literal["bash", "zsh", "fish"] | None = None) -> None:
    """Let the Tab key complete commands and options in new shells.

    Writes a script below your home folder, and a line that reads it into the shell's start file.

    Args:
        shell: shell (default: the one that is running)
    """
    from worldprobe.cli import build_app

    print(f"New shells complete commands by {build_app().install_completion(shell=shell)}")


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
        if (
            not wrong
            and isinstance(models, list)
            and all(isinstance(model, str) for model in models)
        ):
            cards = read_registry(registry)
            problems += model_problems(models, cards, sources, str(registry))
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


def attempt(
    name: str,
    command: list[str],
    /,
    *,
    stage: Stage = "ask",
    tries_left: int | None = None,
    inputs: Annotated[Sequence[Path], Parameter(consume_multiple=True)] = (),
    as_folder: bool = False,
) -> int:
    """Run a command whose results a study can do without: attempt NAME [--OPTIONS] -- COMMAND ...

    Where it fails for the last time, or what it needs is missing, its results say why they are
    missing, and what is made of them says so, too. Rules call it, so that a run goes on.

    Args:
        name: the model, file or baseline
        command: the command, with its results after --out, or after --note
        stage: what fails: fetching it, or asking or training a model
        tries_left: how often it may be tried, this time included; 0: it was ended every time, and
            is given up (default: it fails as any command does)
        inputs: what it needs
        as_folder: its results are folders
    """
    from worldprobe.cli import as_user_error, run
    from worldprobe.missing import Missing, read_missing, write_missing

    why = next(filter(None, map(read_missing, inputs)), None)
    if why is None and tries_left == 0:
        why = Missing(name, SILENT, stage)
    if why is None:
        try:
            return run(command)
        except Exception as error:
            if tries_left != 1:
                raise
            user_error = as_user_error(error)
            reason = (
                user_error.problem.rstrip(".") if user_error else f"{type(error).__name__}: {error}"
            )
            print(user_error.lines() if user_error else traceback.format_exc(), file=sys.stderr)
            why = Missing(name, " ".join(reason.split()), stage)
    named = "--note" if "--note" in command else "--out|--.*-out"
    for number, option in enumerate(command):
        if re.fullmatch(named, option):
            for output in takewhile(lambda word: not word.startswith("--"), command[number + 1 :]):
                write_missing(Path(output), why, as_folder)
    LOGGER.warning("%s is missing: %s", why.name, why.reason)
    return 0


def fetch(source: str, /, *, sources: Path = LISTING, note: Path | None = None, out: Path) -> None:
    """Download a file that resources/sources.yaml lists.

    Args:
        source: name of the file in the listing; of a source with several files NAME/PART
        sources: YAML listing of the files that may be downloaded
        note: where to note which file is there (JSON)
        out: where to keep the downloaded file
    """
    from worldprobe.files import write_text
    from worldprobe.sources import download, read_source

    listed = read_source(shipped_file(sources), source)
    LOGGER.info("terms: %s", listed.licence)
    download(listed.url, listed.sha256, out, listed.md5)
    LOGGER.info("%s is at %s", source, out)
    if note:
        facts = {"source": source, "file": str(out), "sha256": listed.sha256}
        write_text(note, f"{json.dumps(facts)}\n")


def workflow() -> None:
    """Print the path of the Snakefile that belongs to this installation.

    So a study runs in any folder: `snakemake all -s "$(worldprobe workflow)" --cores all
    --configfile STUDY.yaml` makes it there.
    """
    print(REPOSITORY / "workflow" / "Snakefile")


def status(*, configfile: ConfigFiles = (), directory: Path = Path()) -> None:
    """Print whether each model of a study is done, failed, unfinished or not begun, and why.

    It reads the results and the logs. `snakemake -n --quiet rules` counts the jobs that are left.

    Args:
        directory: working folder, as given to snakemake
    """
    from worldprobe.operations.settings import read_files
    from worldprobe.operations.status import progress

    study, *_ = read_files(configfile)
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
