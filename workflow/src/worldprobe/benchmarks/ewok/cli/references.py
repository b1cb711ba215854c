"""``references``: the results of known models and baselines on our own items, which the package
brings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from worldprobe.log import LOGGER
from worldprobe.provenance import made

app = App(
    name="references",
    help="Results of known models and baselines on our own items, to compare with.",
)

Items = Annotated[Path, Parameter(help="items table that was asked")]


@app.command
def judge(
    items: Items,
    /,
    *,
    models: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    out: Path,
) -> None:
    """Write the references' judgements of items, for `compare`, `summarize` and others.

    Args:
        models: names of references (default: all)
        out: judgements table
    """
    from worldprobe.benchmarks.ewok.references import write_answers

    write_answers(items, models, out)


@app.command
def compare(judgements: Path, items: Items, /, *, out: Path) -> None:
    """Compare a model with each reference of the same items, as `compare` does.

    Where there is no reference of these items, nothing is written.

    Args:
        judgements: judgements table of one model
        out: comparisons table
    """
    from worldprobe.benchmarks.ewok import contracts
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.references import FILE, METHOD, compare_with
    from worldprobe.contracts import read_provenance, read_table, write_table

    check_items(items, [judgements])
    table = compare_with(
        read_table(judgements, contracts.Judgements, COLUMNS),
        read_table(items, contracts.Items),
        read_provenance(judgements).kind,
    )
    if table is None:
        out.unlink(missing_ok=True)
        LOGGER.info("no reference results of these items")
        return
    inputs = {"items": items, "judgements": judgements, "references": FILE}
    write_table(table, contracts.Comparisons, out, made(METHOD, inputs, ["numpy", "scipy"]))
