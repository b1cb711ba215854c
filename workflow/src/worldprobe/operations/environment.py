"""What the jobs of a run find in their environment: the code, and the facts of the site."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from shlex import quote
from typing import Any

from worldprobe.paths import PACKAGE


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
