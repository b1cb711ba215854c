"""worldprobe's command line, called in this process, and what other programs printed."""

import shlex
import subprocess

from worldprobe.cli import main


def run(line: str) -> int:
    """The exit status of a line as one types it, without the program's name.

    >>> run("materials check nowhere")
    2
    """
    return main(shlex.split(line))


def check_success(done: subprocess.CompletedProcess[str]) -> None:
    """Fail with the end of what a program printed unless it succeeded."""
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
