"""``worldprobe summarize``: judgements to means."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.arguments import add_missing_argument, add_seed_argument, missing_models, whole_number

#: version of the computation: 2 draws pairs of concepts, and a model without preferences is not context sensitive.
METHOD = 2


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "summarize",
        help="means per model, version and group, with ranges and bootstrap intervals",
        description="Mean accuracy (and strict, both_right, context_sensitivity) overall and by group.",
    )
    parser.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements tables, any number")
    parser.add_argument(
        "--bootstrap",
        type=whole_number(0, 1_000_000),
        default=1000,
        metavar="N",
        help="number of bootstrap draws; 0: no intervals (default: %(default)s)",
    )
    parser.add_argument(
        "--cluster",
        choices=["concept_pair", "template"],
        default="concept_pair",
        help="what is drawn as a whole: templates of one pair of concepts share sentences (default: %(default)s)",
    )
    parser.add_argument(
        "--average",
        choices=["items", "domains"],
        default="items",
        help="what weighs equally in overall means; domains: as in BabyLM's leaderboards, with no interval (default: items)",
    )
    add_seed_argument(parser, "the bootstrap")
    add_missing_argument(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="summaries table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Summarize all tables together."""
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of, kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.analysis.summarize import intervals_by_template, summarize
    from worldprobe.benchmarks.ewok.contracts import Summaries
    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    judgements = read_judgements(args.judgements, COLUMNS)
    missing = missing_models(args.missing, judgements["model"].unique())
    summaries = summarize(judgements, args.seed, args.bootstrap, args.cluster, args.average)
    drawn = "pairs of concepts" if args.cluster == "concept_pair" else "templates"
    provenance = made(
        METHOD,
        {str(path): path for path in args.judgements},
        ["numpy", "pandas", "scipy"],
        seed=args.seed,
        details={
            "n_bootstrap": args.bootstrap,
            "cluster": args.cluster,
            "interval": f"95%, {drawn} and versions drawn with replacement (a concept's own rows: templates and versions)",
            "n_rows": len(judgements),
        }
        | items_of(args.judgements)
        | kinds_of(args.judgements)
        | missing
        | ({"average": args.average} if args.average != "items" else {}),
    )
    if args.bootstrap and args.average == "items":
        provenance.details["overall_intervals_by_template"] = intervals_by_template(judgements, args.seed, args.bootstrap)
    write_table(summaries, Summaries, args.out, provenance)
    LOGGER.info("%d means of %d judgements of %d models", len(summaries), len(judgements), summaries["model"].nunique())
    for model, reason in missing.get("missing_models", {}).items():
        LOGGER.warning("%s is missing: %s", model, reason)
