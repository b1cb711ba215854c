"""``results`` and ``leaderboard``: check the results of single models, write them as others read them, and rank them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from cyclopts import App

app = App(name="results", help="Check and export what `evaluate` wrote.")


@app.command
def check(results: list[Path], /) -> None:
    """Check whether results follow the schema (workflow/schemas/result.schema.yaml), and print what is in them.

    Args:
        results: result.json of `worldprobe evaluate`, any number
    """
    from worldprobe.benchmarks import list_scores
    from worldprobe.report.results import read_result

    for path in results:
        result = read_result(path)
        overall = [
            f"{s.benchmark} {s.metric} {s.value:.3f}" for s in list_scores(result) if s.group == "overall" and s.value is not None
        ]
        print(f"{path}: {result['model']}: {', '.join(overall) or 'no number'}")


@app.command
def export(
    results: Path,
    /,
    *,
    format: Literal["lm-eval", "eee", "hub"],
    date: str | None = None,
    organization: str = "unknown",
    dataset: str | None = None,
    out: Path,
) -> None:
    """Write a result for lm-eval's readers, Every Eval Ever or the hub; no form has any item's text.

    Args:
        results: result.json of `worldprobe evaluate`
        format: lm-eval: a results file of lm-evaluation-harness; eee: a record of Every Eval Ever; hub: .eval_results/*.yaml
        date: day of the evaluation, e.g. 2026-01-31 (default: the file's own)
        organization: eee: who computed the numbers
        dataset: hub: the dataset with these items (default: EWoK's release, for its items)
        out: JSON, or YAML for the hub
    """
    import json

    import yaml

    from worldprobe.benchmarks import list_scores
    from worldprobe.files import write_text
    from worldprobe.report import exports
    from worldprobe.report.results import read_result

    result = read_result(results)
    scores, day = list_scores(result), day_of(date, results)
    if format == "hub":
        entries = exports.to_hub(result, scores, dataset)
        write_text(out, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=200))
        return
    record = (
        exports.to_lm_eval(result, scores, day)
        if format == "lm-eval"
        else exports.to_every_eval_ever(result, scores, day, organization)
    )
    write_text(out, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def day_of(date: str | None, path: Path) -> float:
    """Seconds since 1970 of the day that is given, at midnight UTC, or of the file at ``path``.

    Raises:
        UserError: what is given is not a day.
    """
    from datetime import UTC, datetime

    from worldprobe.errors import UserError

    if date is None:
        return float(int(path.stat().st_mtime))
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
            raise ValueError
        return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise UserError("--date", f'"{date}" is not a day.', "Write it as 2026-01-31.") from error


def leaderboard(folder: Path, /, *, title: str = "worldprobe leaderboard", out: Path) -> None:
    """Rank the models of a folder of results on one page that loads nothing.

    Reads every result.json below the folder: a ranking per benchmark, items and way of asking, sortable, with 95% intervals,
    and with ranks shared by models that cannot be told apart.

    Args:
        folder: where results are, e.g. results/evaluate
        title: heading of the page
        out: the page (HTML)
    """
    from worldprobe.benchmarks import benchmarks, list_scores
    from worldprobe.errors import UserError
    from worldprobe.files import write_text
    from worldprobe.log import LOGGER
    from worldprobe.report.leaderboard import build_page, build_rankings
    from worldprobe.report.results import read_result

    paths = sorted(folder.rglob("result.json"))
    if not paths:
        problem = "contains no result.json."
        raise UserError(folder, problem, "Give the folder that `worldprobe evaluate` wrote, e.g. results/evaluate.")
    results = [read_result(path) for path in paths]
    rankings = build_rankings([(result, list_scores(result)) for result in results])
    write_text(out, build_page(rankings, title, {name: benchmark.title for name, benchmark in benchmarks().items()}))
    LOGGER.info("%d results in %d rankings: %s", len(results), len(rankings), out)
