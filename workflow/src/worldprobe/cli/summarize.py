"""``worldprobe summarize``: judgements to means."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import add_missing_argument, missing_models

if TYPE_CHECKING:
    from worldprobe.contracts import Table

#: version of the computation: 3 has intervals that hold with few versions and clusters.
METHOD = 3


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "summarize",
        help="means per model, version and group, with ranges and intervals",
        description="Mean accuracy (and strict, both_right, context_sensitivity) overall and by group.",
    )
    parser.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements or scores tables, any number")
    parser.add_argument(
        "--cluster",
        choices=["concept_pair", "template"],
        default="concept_pair",
        help="what is a sample of more, as versions are; templates of a pair of concepts share sentences (default: %(default)s)",
    )
    parser.add_argument(
        "--average",
        choices=["items", "domains"],
        default="items",
        help="what weighs equally in overall means; domains: as in BabyLM's leaderboards, with no interval (default: items)",
    )
    add_missing_argument(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="summaries table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Summarize all tables together: EWoK's judgements, or scores of any benchmark."""
    from worldprobe.benchmarks import scores_in

    contract = scores_in(args.judgements[0])
    if contract is None:
        _summarize_judgements(args)
    else:
        _summarize_scores(args, contract)


def _summarize_scores(args: argparse.Namespace, contract: type[Table]) -> None:
    from worldprobe.analysis.summaries import summarize_scores
    from worldprobe.contracts import read_tables, write_table
    from worldprobe.contracts.results import Scores, Summaries
    from worldprobe.provenance import made

    scores = read_tables(args.judgements, contract)
    summaries = summarize_scores(scores, [name for name in contract.columns if name not in Scores.columns])
    inputs = {str(path): path for path in args.judgements}
    details = missing_models(args.missing, scores["model"].unique())
    write_table(summaries, Summaries, args.out, made(METHOD, inputs, ["numpy", "pandas", "scipy"], details=details))


def _summarize_judgements(args: argparse.Namespace) -> None:
    from worldprobe.benchmarks.ewok.analysis.clusters import drawn_in_words
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import has_own_fillings, items_of, kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.analysis.summarize import intervals_by_template, summarize
    from worldprobe.benchmarks.ewok.contracts import Summaries
    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    judgements = read_judgements(args.judgements, COLUMNS)
    missing = missing_models(args.missing, judgements["model"].unique())
    is_own = has_own_fillings(args.judgements)
    summaries = summarize(judgements, args.cluster, args.average, is_own)
    provenance = made(
        METHOD,
        {str(path): path for path in args.judgements},
        ["numpy", "pandas", "scipy"],
        details={
            "cluster": args.cluster,
            "drawn": drawn_in_words(args.cluster, is_own),
            "n_rows": len(judgements),
        }
        | items_of(args.judgements)
        | kinds_of(args.judgements)
        | missing
        | ({"average": args.average} if args.average != "items" else {}),
    )
    if args.average == "items":
        provenance.details["overall_intervals_by_template"] = intervals_by_template(judgements, is_own)
    write_table(summaries, Summaries, args.out, provenance)
    LOGGER.info("%d means of %d judgements of %d models", len(summaries), len(judgements), summaries["model"].nunique())
    for model, reason in missing.get("missing_models", {}).items():
        LOGGER.warning("%s is missing: %s", model, reason)
