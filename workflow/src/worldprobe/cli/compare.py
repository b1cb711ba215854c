"""``worldprobe compare``: is one model better than another?"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    parser = stages.add_parser(
        "compare",
        help="paired permutation test between models, with an honest sentence",
        description="Every pair of the models in the tables, overall and by domain; prints one sentence per pair.",
    )
    parser.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements tables of two models or more")
    parser.add_argument("--eval-type", default="logprobs", help="the judgements to compare (logprobs)")
    parser.add_argument("--permutations", type=int, default=10_000, metavar="N", help="random flips and bootstrap draws (10000)")
    parser.add_argument("--seed", type=int, default=0, help="of both (0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="comparisons table; as JSON where the name ends in .json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Compare, print the sentences, write the numbers."""
    from worldprobe.benchmarks.ewok.analysis.compare import compare_models
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.contracts import Comparisons, Judgements
    from worldprobe.contracts import read_tables, validate, write_table
    from worldprobe.errors import UserError
    from worldprobe.files import write_text
    from worldprobe.provenance import Provenance, digests, versions

    if args.permutations < 1:
        raise UserError("--permutations", f"{args.permutations} flips test nothing.", "Give 1000 or more.")
    judgements = read_tables(args.judgements, Judgements, COLUMNS)
    comparisons = compare_models(judgements, args.eval_type, args.permutations, args.seed)
    for sentence in comparisons.loc[comparisons["grouping"] == "overall", "sentence"]:
        print(sentence)
    if args.out is None:
        return
    if args.out.suffix == ".json":
        write_text(args.out, validate(comparisons, Comparisons).to_json(orient="records", indent=1) + "\n")
        return
    provenance = Provenance(
        method=1,
        seed=args.seed,
        inputs=digests({str(path): path for path in args.judgements}),
        packages=versions(["numpy", "pandas"]),
        details={"n_permutations": args.permutations, "exchanged": "the signs of the templates' differences"},
    )
    write_table(comparisons, Comparisons, args.out, provenance)
