"""worldprobe's command line, called in this process."""

import shlex

from worldprobe.cli import main


def run(line: str) -> int:
    """The exit status of a line as one types it, without the program's name.

    >>> run("materials check nowhere")
    2
    """
    return main(shlex.split(line))
