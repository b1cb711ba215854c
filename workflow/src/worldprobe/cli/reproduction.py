"""``worldprobe reproduction check``: every published number next to ours."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES

app = App(name="reproduction", help="Published numbers next to ours.")

#: Version of the computation.
METHOD = 1
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
    from worldprobe.benchmarks.worldsense.contracts import Summaries
    from worldprobe.contracts import table_name

    if table_name(summaries) != Summaries.Config.name:
        _check_ewok(summaries, coefficients, items, published, out)
        return
    for option, given in (("--coefficients", coefficients), ("--items", items)):
        if given:
            raise UserError(option, "is about EWoK, but these summaries are WorldSense's.", "Leave the option out.")
    _check_worldsense(summaries, published / "worldsense.csv", out)


def _check_worldsense(summaries: Path, published: Path, out: Path) -> None:
    from worldprobe.benchmarks.worldsense.analysis.published import SOURCE, read_published
    from worldprobe.benchmarks.worldsense.analysis.reproduction import check_reproduction, released_sets, summary_line
    from worldprobe.benchmarks.worldsense.contracts import Reproduction, Summaries
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.provenance import made

    released = released_sets(read_provenance(summaries).inputs.values())
    table = check_reproduction(read_published(published), read_table(summaries, Summaries), released)
    line = summary_line(table)
    inputs = {"summaries": summaries, "published": published}
    details = {"summary": line, "source": SOURCE, "released_sets": sorted(released)}
    write_table(table, Reproduction, out, made(METHOD, inputs, ["numpy", "pandas"], details=details))
    print(line)


def _check_ewok(summaries: Path, coefficients: Path | None, items: Path | None, published: Path, out: Path) -> None:
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items, check_same_items
    from worldprobe.benchmarks.ewok.analysis.published import are_official, read_published
    from worldprobe.benchmarks.ewok.analysis.reproduction import Results, check_reproduction, summary_line
    from worldprobe.benchmarks.ewok.contracts import Coefficients, Items, Reproduction, Summaries
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.provenance import made

    numbers = read_published(published)
    computed = [summaries, *([coefficients] if coefficients else [])]
    check_same_items(computed)
    results = Results(read_table(summaries, Summaries))
    inputs = {"summaries": summaries, "published": published}
    if coefficients:
        results.coefficients = read_table(coefficients, Coefficients)
        details = read_provenance(coefficients).details
        results.fitted_models, results.target_coding = details["models"], details["target_coding"]
        inputs["coefficients"] = coefficients
    if items:
        check_items(items, computed)
        results.items = read_table(items, Items)
        results.is_official = are_official(results.items, numbers)
        inputs["items"] = items
    table = check_reproduction(numbers, results)
    line = summary_line(table)
    provenance = made(
        METHOD,
        inputs,
        ["numpy", "pandas"],
        details={"summary": line, "sources": numbers.sources, "is_official": results.is_official},
    )
    write_table(table, Reproduction, out, provenance)
    print(line)
