"""``worldprobe compare`` and ``compare-conditions``: is one model, or one condition, better than another?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.cli.arguments import add_missing_argument, add_seed_argument, missing_models, whole_number

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.contracts import Table

#: version of the computation: 2 draws and flips pairs of concepts.
METHOD = 2
#: and 2 states the spread over versions.
CONDITIONS_METHOD = 2


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    models = stages.add_parser(
        "compare",
        help="paired permutation test between models",
        description="Compares every pair of models in the tables, overall and by domain, and prints one sentence per pair.",
    )
    models.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements tables of two models or more")
    models.add_argument("--eval-type", default="logprobs", metavar="NAME", help="way of asking whose judgements are compared")
    _add_test_arguments(models)
    models.add_argument("--out", type=Path, metavar="FILE", help="comparisons table; JSON where the name ends in .json")
    models.set_defaults(run=run)

    conditions = stages.add_parser(
        "compare-conditions",
        help="paired permutation test between conditions of a study, model by model",
        description="Compares the first condition with each other one, for every model and eval type that both have, paired by "
        "template; prints one sentence per comparison.",
    )
    conditions.add_argument(
        "--judgements",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "JUDGEMENTS"),
        help="name of a condition and its judgements tables; give it once per condition, the reference first",
    )
    conditions.add_argument(
        "--condition-title",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "TITLE"),
        help="what tables and figures call a condition (default: its name); give it once per condition",
    )
    _add_test_arguments(conditions)
    conditions.add_argument(
        "--out", type=Path, metavar="FILE", help="condition_comparisons table; JSON where the name ends in .json"
    )
    conditions.set_defaults(run=run_conditions)


def _add_test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--permutations",
        type=whole_number(1, 1_000_000),
        default=10_000,
        metavar="N",
        help="random flips, and bootstrap draws (default: %(default)s)",
    )
    parser.add_argument(
        "--cluster",
        choices=["concept_pair", "template"],
        default="concept_pair",
        help="what is flipped and drawn as a whole: templates of one pair of concepts share sentences (default: %(default)s)",
    )
    add_seed_argument(parser, "the permutations and the bootstrap")
    add_missing_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Compare models, print the sentences, write the numbers."""
    from worldprobe.benchmarks.ewok.analysis.compare import compare_models, pairs_without_items
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.contracts import Comparisons

    judgements = read_judgements(args.judgements, COLUMNS)
    comparisons = compare_models(judgements, args.eval_type, args.permutations, args.seed, args.cluster)
    missing = missing_models(args.missing, judgements["model"].unique())
    judged = judgements.loc[judgements["eval_type"] == args.eval_type, "model"].unique()
    apart = pairs_without_items(comparisons, map(str, judged))
    details = missing | kinds_of(args.judgements) | ({"not_compared": apart} if apart else {})
    _write(comparisons, Comparisons, args, METHOD, {str(path): path for path in args.judgements}, details)


def run_conditions(args: argparse.Namespace) -> None:
    """Compare conditions, print the sentences, write the numbers."""
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.conditions import compare_conditions
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.contracts import ConditionComparisons
    from worldprobe.errors import UserError

    paths: dict[str, list[Path]] = {}
    for name, *files in args.judgements:
        if name in paths or not files or not name.strip():
            problem = f"{name} is given twice." if name in paths else f'"{name}" has no name or no judgements table.'
            raise UserError("--judgements", problem, "Give each condition once, as NAME JUDGEMENTS [JUDGEMENTS ...].")
        paths[name] = [Path(file) for file in files]
    titles = dict(args.condition_title)
    for name in titles.keys() - paths.keys():
        raise UserError("--condition-title", f'there is no condition "{name}".', f"Choose one of: {', '.join(paths)}.")
    judgements = {name: read_judgements(files, COLUMNS) for name, files in paths.items()}
    comparisons = compare_conditions(judgements, args.permutations, args.seed, args.cluster)
    missing = missing_models(args.missing, pd.concat([rows["model"] for rows in judgements.values()]).unique())
    inputs = {f"{name}: {path}": path for name, files in paths.items() for path in files}
    conditions = {"reference": next(iter(paths)), "conditions": list(paths)} | ({"titles": titles} if titles else {})
    _write(
        comparisons, ConditionComparisons, args, CONDITIONS_METHOD, inputs, missing | kinds_of(list(inputs.values())) | conditions
    )


def _write(
    comparisons: pd.DataFrame,
    contract: type[Table],
    args: argparse.Namespace,
    method: int,
    inputs: dict[str, Path],
    details: dict[str, Any],
) -> None:
    """Print the overall sentences and write the table, as Parquet or JSON."""
    from worldprobe.contracts import validate, write_table
    from worldprobe.files import write_text
    from worldprobe.provenance import made

    for sentence in comparisons.loc[comparisons["grouping"] == "overall", "sentence"]:
        print(sentence)
    for model, kind in details.get("kinds", {}).items():
        print(f"{model}: {kind}; its scores are another measure than those of causal language models.")
    if args.out is None:
        return
    if args.out.suffix == ".json":
        write_text(args.out, validate(comparisons, contract).to_json(orient="records", indent=1) + "\n")
        return
    provenance = made(
        method,
        inputs,
        ["numpy", "pandas", "scipy"],
        seed=args.seed,
        details={"n_permutations": args.permutations, "cluster": args.cluster, "exchanged": "signs of the clusters' differences"}
        | details,
    )
    write_table(comparisons, contract, args.out, provenance)
