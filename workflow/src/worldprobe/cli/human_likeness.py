"""``human likeness``: models' preferences against people's, and the noise ceiling."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.arguments import add_missing_argument, add_seed_argument, missing_models, whole_number

#: Bumped when the same files and options give other numbers.
METHOD = 1


def add_parsers(actions: argparse._SubParsersAction) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "likeness",
        help="correlate models' preferences with people's, next to what people's noise permits",
        description=(
            "For every target, how much better one context fits than the other: people's mean ratings against a model's log "
            "probabilities or ratings. Pearson's r with a bootstrap interval over pairs of concepts, and the r that a model of "
            "people without noise would reach."
        ),
    )
    add = parser.add_argument
    add("items", type=Path, metavar="ITEMS", help="items table")
    add("ratings", type=Path, metavar="RATINGS", help="people's ratings, from `human clean` or `import human-ratings`")
    add("evidence", type=Path, nargs="+", metavar="EVIDENCE", help="target_scores and responses tables of models")
    add("--draws", type=whole_number(10, 100_000), default=1000, metavar="N", help="number of bootstrap samples")
    add_seed_argument(parser, "the samples")
    add_missing_argument(parser)
    add("--out", type=Path, required=True, metavar="FILE", help="likeness table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read, correlate, write."""
    from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER
    from worldprobe.benchmarks.ewok.analysis.judge import read_evidence
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Items, Likeness, Ratings
    from worldprobe.benchmarks.ewok.human.human_correlation import measure_likeness
    from worldprobe.contracts import read_table, write_table
    from worldprobe.provenance import made

    items = read_table(args.items, Items)
    check_items(args.items, [args.ratings, *args.evidence])
    likeness = measure_likeness(
        items, read_table(args.ratings, Ratings), map(read_evidence, args.evidence), args.draws, args.seed
    )
    inputs = {"items": args.items, "ratings": args.ratings} | {str(path): path for path in args.evidence}
    details = {"cluster": DEFAULT_CLUSTER, "n_draws": args.draws} | missing_models(args.missing, likeness["model"].unique())
    write_table(likeness, Likeness, args.out, made(METHOD, inputs, ["numpy", "pandas"], seed=args.seed, details=details))
