# Configuration, look-ups and wildcards; no analysis. Everything is checked before the first rule is defined.

import os
import sys
from pathlib import Path
from shlex import quote

HOME = Path(workflow.current_basedir).parents[1]
SOURCE = HOME / "workflow" / "src" / "worldprobe"
sys.path.insert(0, str(SOURCE.parent))
shell.prefix(f"export PYTHONPATH={quote(str(SOURCE.parent))}; ")

from worldprobe.config import check_models, read_registry, read_study
from worldprobe.errors import UserError


def ours(path):
    """A file of this repository, as seen from the working directory (which --directory may move)."""
    return os.path.relpath(HOME / path)


def modules(*names):
    """The package's modules that a cheap stage depends on: a folder means all that is in it."""
    found = [path for name in names for path in ([SOURCE / name] if name.endswith(".py") else sorted((SOURCE / name).rglob("*.py")))]
    return [os.path.relpath(path) for path in found]


def read_settings():
    """The study, and the registry of models, both checked.

    Raises:
        SystemExit: with three lines: where, what, and how to mend it.
    """
    try:
        study = read_study(config, workflow.configfiles, workflow.config_settings.config)
        path = study["registry"] if os.path.exists(study["registry"]) else ours(study["registry"])
        registry = read_registry(path)
        check_models(study, registry, workflow.configfiles, path)
    except UserError as error:
        sys.exit(error.lines())
    return study, registry, path


def card(field):
    """A function that looks a field up in the registry entry of a job's model."""

    def look_up(wildcards):
        return registry[wildcards.model][field]

    return look_up


def flag(option, value):
    """A command line option: left out for False, empty lists and None, alone for True, else with its quoted value(s)."""
    if value is True:
        return option
    if value in (False, None, [], ""):
        return ""
    values = value if isinstance(value, list) else [value]
    return " ".join([option, *(quote(str(one)) for one in values)])


study, registry, registry_file = read_settings()

# Inherited by every job, on this machine and on a cluster; never part of a command line or a log.
if study["materials"]["password"] is not None:
    os.environ.setdefault("WORLDPROBE_MATERIALS_PASSWORD", study["materials"]["password"])


wildcard_constraints:
    model="[A-Za-z][A-Za-z0-9_.-]*",
    eval_type="[a-z0-9_]+",
