"""``worldprobe compare`` and ``compare-conditions``: is one model, or one condition, better than another?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.cli.arguments import add_missing_argument, missing_models

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.contracts import Table

#: version of the computation: 3 takes versions as a sample too.
METHOD = 3
#: the same.
CONDITIONS_METHOD = 3


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    models = stages.add_parser(
        "compare",
        help="paired test between models",
        description="Compares every pair of models in the tables, overall and by domain, and prints one sentence per pair.",
    )
    models.add_argument(
        "judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements or scores tables of two models or more"
    )
    models.add_argument("--eval-type", default="logprobs", metavar="NAME", help="way of asking whose judgements are compared")
    _add_test_arguments(models)
    models.add_argument("--out", type=Path, metavar="FILE", help="comparisons table; JSON where the name ends in .json")
    models.set_defaults(run=run)

    conditions = stages.add_parser(
        "compare-conditions",
        help="paired test between conditions of a study, model by model",
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
        "--cluster",
        choices=["concept_pair", "template"],
        default="concept_pair",
        help="what is a sample of more, as versions are; templates of a pair of concepts share sentences (default: %(default)s)",
    )
    add_missing_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Compare models, by EWoK's judgements or any benchmark's scores."""
    from worldprobe.benchmarks import scores_in

    contract = scores_in(args.judgements[0])
    if contract is None:
        _compare_judgements(args)
    else:
        _compare_scores(args, contract)


def _compare_scores(args: argparse.Namespace, contract: type[Table]) -> None:
    from worldprobe.analysis.comparisons import compare_scores
    from worldprobe.contracts import read_tables
    from worldprobe.contracts.results import Comparisons, Scores

    scores = read_tables(args.judgements, contract)
    comparisons = compare_scores(scores, [name for name in contract.columns if name not in Scores.columns])
    details = missing_models(args.missing, scores["model"].unique())
    _write(comparisons, Comparisons, args, METHOD, {str(path): path for path in args.judgements}, details)


def _compare_judgements(args: argparse.Namespace) -> None:
    """Compare models, print the sentences, write the numbers."""
    from worldprobe.benchmarks.ewok.analysis.clusters import drawn_in_words
    from worldprobe.benchmarks.ewok.analysis.compare import compare_models, pairs_without_items
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import has_own_fillings, kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.contracts import Comparisons

    judgements = read_judgements(args.judgements, COLUMNS)
    is_own = has_own_fillings(args.judgements)
    comparisons = compare_models(judgements, args.eval_type, args.cluster, is_own)
    missing = missing_models(args.missing, judgements["model"].unique())
    judged = judgements.loc[judgements["eval_type"] == args.eval_type, "model"].unique()
    apart = pairs_without_items(comparisons, map(str, judged))
    details = missing | kinds_of(args.judgements) | ({"not_compared": apart} if apart else {})
    details["drawn"] = drawn_in_words(args.cluster, is_own)
    _write(comparisons, Comparisons, args, METHOD, {str(path): path for path in args.judgements}, details)


def run_conditions(args: argparse.Namespace) -> None:
    """Compare conditions, print the sentences, write the numbers."""
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.clusters import drawn_in_words
    from worldprobe.benchmarks.ewok.analysis.conditions import compare_conditions
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import has_own_fillings, kinds_of, read_judgements
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
    own = [name for name, files in paths.items() if has_own_fillings(files)]
    comparisons = compare_conditions(judgements, args.cluster, own)
    missing = missing_models(args.missing, pd.concat([rows["model"] for rows in judgements.values()]).unique())
    inputs = {f"{name}: {path}": path for name, files in paths.items() for path in files}
    conditions = {"reference": next(iter(paths)), "conditions": list(paths)} | ({"titles": titles} if titles else {})
    conditions |= {"drawn": drawn_in_words(args.cluster, len(own) == len(paths))} | ({"own_fillings": own} if own else {})
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

    if "sentence" in comparisons:
        print(*comparisons.loc[comparisons["grouping"] == "overall", "sentence"], sep="\n")
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
        details={"cluster": args.cluster} | details,
    )
    write_table(comparisons, contract, args.out, provenance)
