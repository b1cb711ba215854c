"""``results export`` and ``leaderboard``: results for other tools, and ranks."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from cyclopts import App

from worldprobe.benchmark import FORMATS
from worldprobe.errors import UserError
from worldprobe.files import write_text
from worldprobe.log import LOGGER


def export(
    result: Path,
    /,
    *,
    format: Literal["lm-eval", "hub"],
    date: str | None = None,
    dataset: str | None = None,
    out: Path,
) -> None:
    """Write a result in lm-eval's format or the hub's.

    Neither contains item text.

    Args:
        result: result.json of `worldprobe evaluate`
        format: lm-eval: a results file of lm-evaluation-harness; hub: .eval_results/*.yaml
        date: day of the evaluation, e.g. 2026-01-31 (default: the file's own)
        dataset: hub: the dataset with these items (default: that of the released items, for these)
        out: JSON, or YAML for the hub
    """
    import yaml

    from worldprobe.report.results import read_result
    from worldprobe_authoring.result_exports import to_hub, to_lm_eval

    read = read_result(result)
    day = day_of(date, result)
    if format == "hub":
        entries = to_hub(read, dataset)
        write_text(out, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=200))
        return
    record = to_lm_eval(read, day)
    write_text(out, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def day_of(date: str | None, path: Path) -> float:
    """Seconds since 1970 of the day that is given, at midnight UTC, or of the file at ``path``.

    Raises:
        UserError: what is given is not a day.
    """
    if date is None:
        return float(int(path.stat().st_mtime))
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
            raise ValueError
        return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise UserError("--date", f'"{date}" is not a day.', "Write it as 2026-01-31.") from error


def leaderboard(folder: Path, /, *, title: str = "worldprobe leaderboard", out: Path) -> None:
    """Rank models by their results: on one page that opens offline, or as a table.

    Reads every result.json below the folder. Each set of items and way of asking has its own
    ranking, with 95% intervals. Intervals of models with equal rank
    overlap; `compare` may still find a difference.

    Args:
        folder: folder of results, e.g. results/evaluate
        title: heading of the page
        out: the page (.html), or the table (.csv with every number, .tex, .md, .json)
    """
    from worldprobe.report.results import read_result
    from worldprobe_authoring.leaderboard import build_page, build_rankings, print_rankings

    forms = [".html", *(f".{form}" for form in FORMATS["table"])]
    if out.suffix not in forms:
        problem = f'"{out.suffix}" is not a form of a leaderboard.'
        raise UserError(out, problem, f"Give a name that ends in {', '.join(forms)}.")

    def refuse(error: OSError) -> None:
        raise UserError(
            error.filename,
            f"cannot be listed ({error.strerror}).",
            "Allow it, or move the folder away.",
        )

    paths = sorted(
        Path(directory, "result.json")
        for directory, _, names in os.walk(folder, onerror=refuse)
        if "result.json" in names
    )
    if not paths:
        problem = "contains no result.json."
        raise UserError(
            folder,
            problem,
            "Give the folder that `worldprobe evaluate` wrote, e.g. results/evaluate.",
        )
    results = [read_result(path) for path in paths]
    rankings = build_rankings(results)
    if out.suffix == ".html":
        write_text(out, build_page(rankings, title))
    else:
        print_rankings(rankings, title).write([out])
    LOGGER.info("results: %d; rankings: %d; written: %s", len(results), len(rankings), out)


def add_export(app: App) -> None:
    """Add ``results export``."""
    app.command(export)
