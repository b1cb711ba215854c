"""Snakemake that is imported once and forked for every command: imports are half of the time of a dry run.

A program of its own (``conftest.py`` starts it): it reads a JSON line for each command and prints how its process ended.
"""

import json
import os
import runpy
import signal
import sys
from importlib import import_module
from typing import Any


def import_snakemake() -> None:
    """Import what every run needs, its plugins too. Nothing of worldprobe: which one is found belongs to each run."""
    import_module("snakemake.scheduling.job_scheduler")
    import_module("snakemake.cli").get_argument_parser()  # imports the plugins


def enter(request: dict[str, Any]) -> None:
    """Make this process look as if it had been started with the request's arguments, environment and files."""
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.alarm(request["seconds"])
    for number, (path, flags) in enumerate(
        [(os.devnull, os.O_RDONLY), *((path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in request["files"])]
    ):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.executable = request["python"]  # which the jobs are started with
    sys.argv[1:] = request["arguments"]
    sys.path[0] = os.getcwd()


def main() -> None:
    """Fork for each line; the forked process leaves the loop and ends as ``python -m snakemake`` does."""
    import_snakemake()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            enter(json.loads(line))
            runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
