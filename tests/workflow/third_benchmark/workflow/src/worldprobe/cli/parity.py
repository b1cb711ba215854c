"""``parity``: count even and odd numbers."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from worldprobe.cli.options import Count

app = App(name="parity", help="Parity of numbers.")

METHOD = 1


@app.command
def count(*, numbers: Count, out: Path) -> None:
    """Count even and odd numbers.

    Args:
        numbers: largest number
        out: table of counts
    """
    from worldprobe.benchmarks.parity.contracts import Counts
    from worldprobe.benchmarks.parity.parity import count_parity

    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    write_table(count_parity(numbers), Counts, out, made(METHOD, packages=["pandas"]))
