"""``worldprobe judge``: items and evidence to judgements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import number

if TYPE_CHECKING:
    from worldprobe.benchmarks.ewok.analysis.judge import Judged

#: version of the computation: 2 takes the tolerance of near ties from the dtype.
METHOD = 2


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "judge",
        help="accuracy of every target from scores, answers, similarities or ratings",
        description="A target is right when the context it fits wins; ties count 0.5 and are counted.",
    )
    parser.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    parser.add_argument(
        "evidence",
        type=Path,
        nargs="+",
        metavar="EVIDENCE",
        help="target_scores, responses, similarities or ratings tables, any number",
    )
    parser.add_argument("--model", metavar="NAME", help="name of the model in the tables (default: what the evidence names)")
    parser.add_argument(
        "--compare-targets",
        choices=["sum", "mean", "pmi"],
        help="log probabilities: compare both targets under one context, by their sum, their mean per token, or the sum minus "
        "the target's log probability without context (default: one target under both contexts, as in the paper)",
    )
    parser.add_argument(
        "--near-tie",
        type=number(0, 1e6),
        metavar="DIFFERENCE",
        help="differences up to this count as near ties (default: by the evidence; log probabilities: 1e-3 nats for float32, "
        "0.025 for float16, 0.2 for bfloat16)",
    )
    parser.add_argument(
        "--out", type=Path, nargs="+", required=True, metavar="FILE", help="judgements tables, one for each table of evidence"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Judge every table of evidence by itself; nothing is written before all are judged."""
    from worldprobe.benchmarks.ewok.analysis.judge import judge_evidence, kind_of, read_evidence
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements
    from worldprobe.contracts import read_provenance, read_table, validate, write_table
    from worldprobe.provenance import made

    _check_arguments(args, [kind_of(path) for path in args.evidence])
    items = read_table(args.items, Items)
    filled = {key: value for key, value in read_provenance(args.items).details.items() if key == "mode"}
    check_items(args.items, args.evidence)
    finished = []
    for path, out in zip(args.evidence, args.out, strict=True):
        evidence = read_evidence(path, args.model)
        judged = judge_evidence(items, evidence, args.near_tie, args.compare_targets)
        source = evidence.provenance
        provenance = made(
            METHOD,
            {"items": args.items, evidence.kind: path},
            ["numpy", "pandas"],
            model=evidence.model,
            checkpoint=source.checkpoint,
            revision=source.revision,
            dtype=source.dtype,
            engine=source.engine,
            kind=source.kind,
            details=judged.details
            | filled
            | {key: source.details[key] for key in ("pseudo_log_likelihood",) if key in source.details},
        )
        finished.append((validate(judged.table, Judgements), out, provenance))
        _report(judged, evidence.model)
    for table, out, provenance in finished:
        write_table(table, Judgements, out, provenance)


def _check_arguments(args: argparse.Namespace, kinds: list[str]) -> None:
    """Refuse options that would do nothing.

    Raises:
        UserError: an option does not apply to a table of evidence, or the numbers of files differ.
    """
    from worldprobe.errors import UserError

    if len(args.evidence) != len(args.out):
        problem = f"names {len(args.out)} files for {len(args.evidence)} tables of evidence."
        raise UserError("--out", problem, "Name one file for each table, in the same order.")
    for path, kind in zip(args.evidence, kinds, strict=True):
        if args.near_tie is not None and kind == "responses":
            raise UserError("--near-tie", f"{path} contains answers, which tie exactly or not at all.", "Leave --near-tie out.")
        if args.compare_targets and kind != "target_scores":
            problem = f"{path} contains {kind}, not log probabilities."
            raise UserError("--compare-targets", problem, "Leave it out, or give target_scores only.")


def _report(judged: Judged, model: str) -> None:
    """Log how many targets are right, tied or missing."""
    from worldprobe.log import LOGGER

    rows = judged.table
    LOGGER.info(
        "%s, %s: accuracy %.3f over %d targets; %d ties, %d near ties, %d missing",
        model,
        ", ".join(sorted(rows["eval_type"].unique())),
        rows["accuracy"].mean(),
        len(rows),
        rows["is_tie"].sum(),
        rows["is_near_tie"].sum(),
        (rows["status"] != "ok").sum(),
    )
    for eval_type, details in judged.details.items():
        if isinstance(details, dict) and "position_bias" in details:
            bias = details["position_bias"]
            LOGGER.info(
                "%s, %s: position bias %s (0.5 of the answers name the first context where there is none)", model, eval_type, bias
            )
