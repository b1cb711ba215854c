"""``worldprobe reproduction check``: every published number next to ours."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES

if TYPE_CHECKING:
    from worldprobe.analysis.reproduction import Checked

app = App(name="reproduction", help="Published numbers next to ours.")

#: Version of the computation.
METHOD = 2
PUBLISHED = RESOURCES / "published"


@app.command
def check(
    summaries: Path,
    /,
    *,
    coefficients: Path | None = None,
    items: Path | None = None,
    published: Path = PUBLISHED,
    out: Path,
) -> None:
    """Compare whatever was run with the published tables and text, and print a summary line; what was not run says so.

    Args:
        summaries: summaries table
        coefficients: coefficients table of the mixed model
        items: items table, to check whether the items are the official ones
        published: folder of the published numbers
        out: reproduction table
    """
    from worldprobe.benchmarks import benchmark_of
    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    benchmark = benchmark_of(summaries)
    if benchmark.reproduce is None:
        raise UserError(summaries, f"there are no published numbers of {benchmark.title}.", "Give another benchmark's.")
    given = {name: path for name, path in (("coefficients", coefficients), ("items", items)) if path}
    for option in sorted(given.keys() - inspect.signature(benchmark.reproduce).parameters.keys()):
        problem = f"does not apply to these summaries, which are {benchmark.title}'s."
        raise UserError(f"--{option}", problem, "Leave the option out.")
    checked: Checked = benchmark.reproduce(summaries, published, **given)
    provenance = made(METHOD, dict(checked.inputs), ["numpy", "pandas"], details=checked.details)
    write_table(checked.table, checked.contract, out, provenance)
    print(checked.details["summary"])
