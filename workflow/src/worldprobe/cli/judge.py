"""``worldprobe judge``: items and evidence to judgements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.contracts import Table

#: table -> the columns that are judged, where it has others too: what models wrote is long and not looked at.
NEEDED = {"responses": ("item_id", "eval_type", "presentation", "value", "status")}


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
    parser.add_argument("--model", help="name in the tables (default: what the evidence names)")
    parser.add_argument("--metric", choices=["sum", "mean", "pmi"], default="sum", help="log probabilities: sum (the paper)")
    parser.add_argument("--near-tie", type=float, metavar="NATS", help="differences up to this count as near ties (1e-3)")
    parser.add_argument(
        "--out", type=Path, nargs="+", required=True, metavar="FILE", help="judgements tables, one for each table of evidence"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Judge every table of evidence by itself; the items are read once."""
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table
    from worldprobe.errors import UserError

    if len(args.evidence) != len(args.out):
        problem = f"names {len(args.out)} files for {len(args.evidence)} tables of evidence."
        raise UserError("--out", problem, "Name one file for each table, in the same order.")
    kinds = [_contract(path) for path in args.evidence]
    items = read_table(args.items, Items)
    for path, contract, out in zip(args.evidence, kinds, args.out, strict=True):
        judge_table(items, path, contract, out, args)


def judge_table(items: pd.DataFrame, path: Path, contract: type[Table], out: Path, args: argparse.Namespace) -> None:
    """Judge one table of evidence, write the judgements and say how many targets are right."""
    from worldprobe.benchmarks.ewok.analysis import judge
    from worldprobe.benchmarks.ewok.contracts import Judgements
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance, digests, versions

    evidence = read_table(path, contract, NEEDED.get(contract.Config.name))
    made = read_provenance(path)
    kind = contract.Config.name
    options = {} if args.near_tie is None else {"near_tie": args.near_tie}
    model = args.model or made.model or {"similarities": "word2vec", "ratings": "human"}.get(kind) or path.stem
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
        inputs=digests({"items": args.items, kind: path}),
        packages=versions(["numpy", "pandas"]),
        details=judged.details,
    )
    write_table(judged.table, Judgements, out, provenance)
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
    if "position_bias" in judged.details:
        LOGGER.info(
            "%s: position bias %s (0.5 of the answers name the first context where there is none)",
            model,
            judged.details["position_bias"],
        )


def _contract(path: Path) -> type[Table]:
    """The contract of the evidence in a file.

    Raises:
        UserError: the file is no evidence.
    """
    from worldprobe.benchmarks.ewok import contracts
    from worldprobe.contracts import table_name
    from worldprobe.errors import UserError

    known = {c.Config.name: c for c in contracts.EVIDENCE}
    found = table_name(path)
    if found not in known:
        raise UserError(path, f"holds {found or 'no table of worldprobe'}.", f"Give one of these tables: {', '.join(known)}.")
    return known[found]
