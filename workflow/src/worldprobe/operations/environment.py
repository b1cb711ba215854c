"""The environment of a run's jobs: the code, and the facts of the site."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Mapping, MutableMapping
from pathlib import Path
from shlex import quote
from typing import Any

from worldprobe.errors import UserError
from worldprobe.paths import PACKAGE, REPOSITORY


def prepare_jobs(deployed_by: Collection[str]) -> str:
    """The first line of each job's shell: where the code and its Python are.

    Args:
        deployed_by: how Snakemake makes environments of rules (``--sdm``).
    """
    if "apptainer" in deployed_by:
        advice = (
            "Build envs/worldprobe.def and run Snakemake inside it (docs/cluster.md), or take --sdm"
            " conda."
        )
        problem = "does nothing: no rule has a container of its own."
        sys.exit(UserError("--sdm apptainer", problem, advice).lines())
    slurm = str(REPOSITORY / "slurm" / "bin")
    # two commands of SLURM whose answers would make Snakemake wait for ever (slurm/bin says when)
    if shutil.which("sbatch") and slurm not in os.get_exec_path():
        os.environ.update(PATH=os.pathsep.join([slurm, *os.get_exec_path()]))
    source = jobs_source(REPOSITORY, bool(deployed_by))
    python = "" if deployed_by else sys.executable
    return (
        f"export WORLDPROBE_SOURCE={quote(source)} WORLDPROBE_PYTHON={quote(python)}"
        f" PATH={quote(str(REPOSITORY / 'workflow' / 'bin'))}:$PATH; "
    )


def jobs_source(home: Path, has_environments: bool) -> str:
    """Where jobs find the code: in the clone, or, in environments of their own, by links to the
    installed packages alone; empty: they run in an environment that has it.

    Args:
        home: the folder of the rules and of all that is next to them.
        has_environments: whether jobs have environments of their own.
    """
    source = home / "workflow" / "src"
    if not source.is_dir() and has_environments:
        source = Path(".snakemake", "worldprobe").absolute()
        source.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent for path in PACKAGE.parent.glob("worldprobe*/__init__.py")):
            link = source / folder.name
            if not link.is_symlink() or link.readlink() != folder:
                link.unlink(missing_ok=True)
                link.symlink_to(folder)
    return str(source) if source.is_dir() else ""


def state_site(site: Mapping[str, Any], environment: MutableMapping[str, str]) -> None:
    """Put into the environment what slurm/config.yaml asks for; what is not there is left to the
    site. squeue and scancel look for SLURM_CLUSTERS, too.

    >>> environment = {"WORLDPROBE_SITE_QOS": "old"}
    >>> state_site({"partition": "gpu", "cluster": "east", "reservation": "my own"}, environment)
    >>> environment["WORLDPROBE_SITE_EXTRA"], environment["SLURM_CLUSTERS"], len(environment)
    ("--reservation='my own'", 'east', 4)
    """
    reservation = site.get("reservation")
    facts = {name: site.get(name) for name in ("partition", "account", "qos", "cluster")}
    facts["extra"] = reservation and f"--reservation={quote(reservation)}"
    variables = {f"WORLDPROBE_SITE_{name.upper()}": fact for name, fact in facts.items()}
    variables["SLURM_CLUSTERS"] = site.get("cluster") or environment.get("SLURM_CLUSTERS")
    for name, fact in variables.items():
        environment.pop(name, None)
        if fact:
            environment[name] = fact
