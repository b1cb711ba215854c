"""``results``: check the results of single models, and write them in the forms that others read."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

FORMATS = ("lm-eval", "eee", "hub")


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``results check`` and ``results export``."""
    stage = stages.add_parser("results", help="check and export what `evaluate` wrote")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)
    checking = actions.add_parser("check", help="whether results follow the schema (workflow/schemas/result.schema.yaml)")
    checking.add_argument("results", type=Path, nargs="+", metavar="RESULT", help="result.json of `worldprobe evaluate`")
    checking.set_defaults(run=run_check)
    exporting = actions.add_parser(
        "export",
        help="write a result for lm-eval's readers, Every Eval Ever or the hub",
        description="Writes a result in another form. No form has any item's text.",
    )
    exporting.add_argument("results", type=Path, metavar="RESULT", help="result.json of `worldprobe evaluate`")
    exporting.add_argument(
        "--format",
        choices=FORMATS,
        required=True,
        help="lm-eval: a results file of lm-evaluation-harness; eee: a record of Every Eval Ever; hub: .eval_results/*.yaml",
    )
    exporting.add_argument("--date", metavar="DAY", help="day of the evaluation, e.g. 2026-01-31 (default: the file's own)")
    exporting.add_argument(
        "--organization", default="unknown", metavar="NAME", help="eee: who computed the numbers (default: %(default)s)"
    )
    exporting.add_argument(
        "--dataset", metavar="ID", help="hub: the dataset with these items (default: EWoK's release, for its items)"
    )
    exporting.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON, or YAML for the hub")
    exporting.set_defaults(run=run_export)


def run_check(args: argparse.Namespace) -> None:
    """Check each, and say what is in it."""
    from worldprobe.benchmarks import list_scores
    from worldprobe.report.results import read_result

    for path in args.results:
        result = read_result(path)
        overall = [
            f"{s.benchmark} {s.metric} {s.value:.3f}" for s in list_scores(result) if s.group == "overall" and s.value is not None
        ]
        print(f"{path}: {result['model']}: {', '.join(overall) or 'no number'}")


def run_export(args: argparse.Namespace) -> None:
    """Read, convert, write."""
    import json

    import yaml

    from worldprobe.benchmarks import list_scores
    from worldprobe.files import write_text
    from worldprobe.report import exports
    from worldprobe.report.results import read_result

    result = read_result(args.results)
    scores, date = list_scores(result), day_of(args)
    if args.format == "hub":
        entries = exports.to_hub(result, scores, args.dataset)
        write_text(args.out, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=200))
        return
    record = (
        exports.to_lm_eval(result, scores, date)
        if args.format == "lm-eval"
        else exports.to_every_eval_ever(result, scores, date, args.organization)
    )
    write_text(args.out, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def day_of(args: argparse.Namespace) -> float:
    """Seconds since 1970 of the day that is given, at midnight UTC, or of the file.

    Raises:
        UserError: what is given is not a day.
    """
    from datetime import UTC, datetime

    from worldprobe.errors import UserError

    if args.date is None:
        return float(int(args.results.stat().st_mtime))
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", args.date):
            raise ValueError
        return datetime.fromisoformat(args.date).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise UserError("--date", f'"{args.date}" is not a day.', "Write it as 2026-01-31.") from error
