"""Means and comparisons of EWoK's judgements, for the shared commands and rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Analysis, Computed
from worldprobe.benchmarks.ewok.contracts import Comparisons, Summaries
from worldprobe.benchmarks.ewok.outputs import judged_for_means, judged_for_pairs
from worldprobe.errors import TooLittleError, UserError, did_you_mean
from worldprobe.log import LOGGER

#: Versions of both. Summaries: 4 has intervals that hold with few versions and clusters, and no
#: wider than it takes; 5 has pairings, 6 whether versions differ, 7 reliability of what has a
#: score. Comparisons, of conditions, too: 3 takes versions as a sample, 4 no more widely than it
#: takes, 5 names the number of versions from which on a difference is found, 6 flips signs of
#: unequal clusters, 7 bounds p where no flip that is drawn comes near.
SUMMARIES, COMPARISONS = 7, 7


def means_of_judgements(
    files: Sequence[Path], cluster: str = "concept_pair", average: str = "items"
) -> Computed:
    """Mean accuracy (and strict, both_right, context_sensitivity, pairing), overall and by group.

    Args:
        files: judgements.
        cluster: the random factor of intervals.
        average: what the overall mean weighs equally.
    """
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, drawn_in_words, interval_notes
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of, kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.analysis.summarize import item_means

    rows = read_judgements(files, COLUMNS)
    table = item_means(rows, cluster, average)
    details: dict[str, Any] = {
        "cluster": cluster,
        "drawn": drawn_in_words(cluster, rows),
        "n_rows": len(rows),
    }
    details |= {"average": average} if average != "items" else {}
    overall = table.query("metric == 'accuracy' and grouping == 'overall' and condition == 'all'")
    return Computed(
        table,
        rows["model"].unique(),
        details | items_of(files) | kinds_of(files),
        warnings=interval_notes(overall, overall["model"] + " (" + overall["eval_type"] + ")"),
    )


def pairs_of_judgements(
    files: Sequence[Path],
    eval_type: str = "logprobs",
    cluster: str = "concept_pair",
    metric: str | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> Computed:
    """Every pair of models, and each with baselines, overall and by domain.

    Args:
        files: judgements.
        eval_type: way of asking.
        cluster: the random factor.
        metric: what is compared; None: accuracy and, where the way of asking has it, pairing.
        replicates: name -> the models that are replicates of one another.
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.compare import (
        compare_on_items,
        compared_baselines,
        compared_metrics,
        pairs_without_items,
    )
    from worldprobe.benchmarks.ewok.analysis.panel import (
        COLUMNS,
        has_own_fillings,
        own_fillings_notes,
    )
    from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements

    rows = read_judgements(files, COLUMNS)
    tables: list[pd.DataFrame] = []
    lacking: dict[str, str] = {}
    for name in [metric] if metric else compared_metrics(rows, eval_type):
        try:
            tables.append(compare_on_items(rows, eval_type, cluster, replicates, name))
        except TooLittleError as error:
            if not tables:
                raise
            lacking[name] = error.problem
            LOGGER.warning("Not compared by %s: %s", name, error.problem)
    table = pd.concat(tables, ignore_index=True)
    ways = [eval_type, *compared_baselines(eval_type)]
    judged = replicates or rows.loc[rows["eval_type"].isin(ways), "model"].unique()
    apart = pairs_without_items(table, map(str, judged))
    drawn = min(table["interval_over"], key=len)  # a note says where versions are random besides
    details: dict[str, Any] = {"cluster": cluster, "drawn": drawn}
    details |= {"not_compared": apart} if apart else {}
    are_own = has_own_fillings(rows)
    details |= {"own_fillings": True} if are_own else {}
    details |= {"lacking": lacking} if lacking else {}
    return Computed(
        table,
        rows["model"].unique(),
        details | kinds_of(files),
        notes=own_fillings_notes(table.query("grouping == 'overall'"), are_own),
    )


def write_reference(answers: Path, name: str, out: Path) -> None:
    """Judgements of a reference on the items of others' judgements, whose table lies beside these.

    Args:
        answers: judgements.
        name: of the reference.
        out: judgements table.

    Raises:
        UserError: there is no such reference, or none of these items.
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.references import made_by, write_answers

    known, items = made_by(), answers.with_name("items.parquet")
    if name not in known:
        near = did_you_mean(name, known)
        problem = f"is neither a file nor a folder, and no reference has this name{near}"
        raise UserError(name, problem, f"References: {', '.join(known)}.")
    if not items.is_file():
        problem = "is not there, so nobody knows whether the reference has answered these items."
        fix = f"Write its answers: worldprobe references judge ITEMS --models {name} --out FILE."
        raise UserError(items, problem, fix)
    check_items(items, [answers])
    write_answers(items, [name], out)


#: What ``worldprobe summarize`` and ``compare`` do with judgements.
ANALYSED = {
    "summarize": Analysis(means_of_judgements, Summaries, SUMMARIES, judged_for_means),
    "compare": Analysis(pairs_of_judgements, Comparisons, COMPARISONS, judged_for_pairs),
}
