"""``compare`` and ``compare-conditions``: is one model, or one condition, better than another?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from worldprobe.cli.options import Cluster, EvalType, Groups, Judgements, Missing
from worldprobe.cli.step import Step

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.contracts import Table

#: version of the computations: 3 takes versions as a sample too.
METHOD = 3


def compare(
    judgements: Judgements,
    /,
    *,
    eval_type: EvalType = "logprobs",
    cluster: Cluster = "concept_pair",
    missing: Missing = (),
    out: Path | None = None,
) -> None:
    """Compare every pair of models in the tables, overall and by domain, and print one sentence per pair.

    Args:
        out: comparisons table; JSON where the name ends in .json
    """
    from worldprobe.benchmarks import scored_in
    from worldprobe.benchmarks.ewok.analysis.compare import compare_models, pairs_without_items
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, drawn_in_words
    from worldprobe.benchmarks.ewok.analysis.provenances import has_own_fillings
    from worldprobe.benchmarks.ewok.contracts import Comparisons

    step = Step(METHOD, judgements, missing)
    if scored := scored_in(judgements[0]):
        from worldprobe.analysis.comparisons import compare_scores
        from worldprobe.contracts import results

        table, units = step.read_scores(scored)
        _write(step, compare_scores(table, units), results.Comparisons, out, {"cluster": cluster})
        return
    rows = step.read(COLUMNS)
    is_own = has_own_fillings(judgements)
    comparisons = compare_models(rows, eval_type, cluster, is_own)
    judged = rows.loc[rows["eval_type"] == eval_type, "model"].unique()
    apart = pairs_without_items(comparisons, map(str, judged))
    details = {"cluster": cluster, "drawn": drawn_in_words(cluster, is_own)} | ({"not_compared": apart} if apart else {})
    _write(step, comparisons, Comparisons, out, details)


def compare_conditions(
    *,
    judgements: Annotated[Groups, Parameter(help="name of a condition and its tables; once per condition, the reference first")],
    condition_title: Sequence[tuple[str, str]] = (),
    cluster: Cluster = "concept_pair",
    missing: Missing = (),
    out: Path | None = None,
) -> None:
    """Compare the first condition with each other one, for every model and eval type that both have, paired by template.

    Prints one sentence per comparison.

    Args:
        condition_title: name of a condition and what tables and figures call it (default: its name); once per condition
        out: condition_comparisons table; JSON where the name ends in .json
    """
    from worldprobe.benchmarks.ewok.analysis.compare import compare_conditions
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, drawn_in_words
    from worldprobe.benchmarks.ewok.analysis.provenances import has_own_fillings
    from worldprobe.benchmarks.ewok.contracts import ConditionComparisons
    from worldprobe.errors import UserError

    paths: dict[str, list[Path]] = {}
    for name, *files in judgements:
        if name in paths or not files or not name.strip():
            problem = f"{name} is given twice." if name in paths else f'"{name}" has no name or no judgements table.'
            raise UserError("--judgements", problem, "Give each condition once, as NAME JUDGEMENTS [JUDGEMENTS ...].")
        paths[name] = [Path(file) for file in files]
    titles = dict(condition_title)
    for name in titles.keys() - paths.keys():
        raise UserError("--condition-title", f'there is no condition "{name}".', f"Choose one of: {', '.join(paths)}.")
    step = Step(METHOD, [], missing, {f"{name}: {path}": path for name, files in paths.items() for path in files})
    rows = step.read_conditions(paths, COLUMNS)
    own = [name for name, files in paths.items() if has_own_fillings(files)]
    details: dict[str, Any] = {"cluster": cluster, "reference": next(iter(paths)), "conditions": list(paths)}
    details |= {"titles": titles} if titles else {}
    details |= {"drawn": drawn_in_words(cluster, len(own) == len(paths))} | ({"own_fillings": own} if own else {})
    _write(step, compare_conditions(rows, cluster, own), ConditionComparisons, out, details)


def _write(step: Step, comparisons: pd.DataFrame, contract: type[Table], out: Path | None, details: dict[str, Any]) -> None:
    """Print the overall sentences and write the table, as Parquet or JSON."""
    from worldprobe.contracts import validate
    from worldprobe.files import write_text

    if "sentence" in comparisons:
        print(*comparisons.loc[comparisons["grouping"] == "overall", "sentence"], sep="\n")
    for model, kind in step.details.get("kinds", {}).items():
        print(f"{model}: {kind}; its scores are another measure than those of causal language models.")
    if out is not None and out.suffix == ".json":
        write_text(out, validate(comparisons, contract).to_json(orient="records", indent=1) + "\n")
    elif out is not None:
        step.write(comparisons, contract, out, ["scipy"], details)
