"""``worldprobe judge``: items and evidence to judgements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldprobe import contracts


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "judge",
        help="accuracy of every target from scores, answers, similarities or ratings",
        description="A target is right when the context it fits wins; ties count 0.5 and are counted.",
    )
    parser.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    parser.add_argument("evidence", type=Path, metavar="EVIDENCE", help="target_scores, responses, similarities or ratings table")
    parser.add_argument("--model", help="name in the table (default: what the evidence names)")
    parser.add_argument("--metric", choices=["sum", "mean", "pmi"], default="sum", help="log probabilities: sum (the paper)")
    parser.add_argument("--near-tie", type=float, metavar="NATS", help="differences up to this count as near ties (1e-3)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="judgements table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Judge one table of evidence."""
    from worldprobe.analysis import judge
    from worldprobe.contracts import Items, Judgements, read_provenance, read_table, table_name, write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance, digests, versions

    contract = _contract(args.evidence)
    items = read_table(args.items, Items)
    evidence = read_table(args.evidence, contract)
    made = read_provenance(args.evidence)
    kind = table_name(args.evidence)
    options = {} if args.near_tie is None else {"near_tie": args.near_tie}
    model = args.model or made.model or {"similarities": "word2vec", "ratings": "human"}.get(kind) or args.evidence.stem
    if kind == "target_scores":
        judged = judge.judge_target_scores(items, evidence, model, args.metric, **options)
    elif kind == "similarities":
        judged = judge.judge_similarities(items, evidence, model, **options)
    elif kind == "ratings":
        judged = judge.judge_ratings(items, evidence, model, **options)
    else:
        judged = judge.judge_responses(items, evidence, model)
    provenance = Provenance(
        method=1,
        model=model,
        checkpoint=made.checkpoint,
        revision=made.revision,
        dtype=made.dtype,
        engine=made.engine,
        inputs=digests({"items": args.items, kind: args.evidence}),
        packages=versions(["numpy", "pandas"]),
        details=judged.details,
    )
    write_table(judged.table, Judgements, args.out, provenance)
    rows = judged.table
    LOGGER.info(
        "%s: accuracy %.3f over %d targets; %d ties, %d near ties, %d missing",
        model,
        rows["accuracy"].mean(),
        len(rows),
        rows["is_tie"].sum(),
        rows["is_near_tie"].sum(),
        (rows["status"] != "ok").sum(),
    )
    if "position_bias" in judged.details:
        LOGGER.info(
            "%s: position bias %s (0.5 of the answers name the first context where there is none)",
            model,
            judged.details["position_bias"],
        )


def _contract(path: Path) -> type[contracts.Table]:
    """The contract of the evidence in a file.

    Raises:
        UserError: the file is no evidence.
    """
    from worldprobe import contracts
    from worldprobe.errors import UserError

    known = {c.to_schema().name: c for c in contracts.EVIDENCE}
    found = contracts.table_name(path)
    if found not in known:
        raise UserError(path, f"holds {found or 'no table of worldprobe'}.", f"Give one of these tables: {', '.join(known)}.")
    return known[found]
