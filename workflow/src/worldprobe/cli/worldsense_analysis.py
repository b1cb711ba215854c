"""``worldsense analyse``, ``summarize`` and ``compare``: answers to means."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import (
    add_missing_argument,
    add_seed_argument,
    add_skin_folder_argument,
    missing_models,
)
from worldprobe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.answers import Series
    from worldprobe.benchmarks.worldsense.analysis.questions import Questions

#: Bumped when the numbers of the same answers change.
METHOD = 2

TRIALS = "official trials (.jsonl, .jsonl.bz2, .jsonl.gz) or our table (.parquet)"
RESULTS = "<prompting>___<model>___results.jsonl (also .bz2, .gz), or a table of responses (.parquet); any number"


def add_actions(actions: argparse._SubParsersAction) -> None:
    """The actions of the analysis."""
    analyse = actions.add_parser(
        "analyse",
        help="compute accuracy and bias by problem, size, domain and more, as CSV",
        description="Accuracy and response bias by tuples with the paper's weights, rebalancing and 95% intervals. Writes "
        "statistics.csv, and answers.csv with what was answered and what was invalid.",
    )
    analyse.add_argument("trials", metavar="TRIALS", help=TRIALS)
    analyse.add_argument("results", nargs="+", metavar="RESULTS", help=RESULTS)
    add_skin_folder_argument(analyse, "further skins")
    analyse.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder of statistics.csv and answers.csv")
    analyse.set_defaults(run=run_analyse)
    summarize = actions.add_parser(
        "summarize",
        help="compute means of one or more sets by every grouping, with intervals over skins",
        description="Computes what analyse does, and also strict scores, invalid answers, consistency across skins and "
        "intervals over skins and abstract problems.",
    )
    _add_sets(summarize)
    add_seed_argument(summarize, "the exchanges of answers")
    add_missing_argument(summarize)
    summarize.add_argument("--out", type=Path, required=True, metavar="FILE", help="summaries table")
    summarize.set_defaults(run=run_summarize)
    compare = actions.add_parser("compare", help="compare every pair of models on the same tuples")
    _add_sets(compare)
    compare.add_argument("--out", type=Path, required=True, metavar="FILE", help="comparisons table")
    compare.set_defaults(run=run_compare)


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "TRIALS_RESULTS"),
        help="name of a set, its trials, and results or tables of responses; repeat the option for further sets",
    )
    add_skin_folder_argument(parser, "further skins")


def run_analyse(args: argparse.Namespace) -> None:
    """Read, analyse, write, print the averages."""
    from worldprobe.benchmarks.worldsense.analysis.analyse import compute_statistics, count_answers
    from worldprobe.benchmarks.worldsense.analysis.answers import read_series
    from worldprobe.benchmarks.worldsense.analysis.questions import read_questions
    from worldprobe.files import whole_files, write_text

    questions = read_questions(args.trials, args.skin_folder)
    series = read_series(args.results, questions)
    statistics, counts = compute_statistics(questions, series), count_answers(questions, series)
    places = {args.out / "statistics.csv": statistics, args.out / "answers.csv": counts}
    with whole_files(places):
        for place, table in places.items():
            write_text(place, table.to_csv(index=False, lineterminator="\n"))
    print(describe_analysis(statistics, counts))


def run_summarize(args: argparse.Namespace) -> None:
    """Read, summarise, write."""
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.answers import told_of
    from worldprobe.benchmarks.worldsense.analysis.summarize import summarize
    from worldprobe.benchmarks.worldsense.contracts import Summaries
    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    tables, counts = [], []
    for name, questions, series in _read_sets(args):
        tables.append(summarize(name, questions, series, args.seed))
        counts += [{"set": name, **row} for row in _counts(questions, series)]
    table = pd.concat(tables, ignore_index=True).sort_values(list(Summaries.Config.metadata["key"]), ignore_index=True)
    missing = missing_models(args.missing, table["model"].unique())
    told = told_of({name: paths for name, _, *paths in args.set})
    details = {"answers": counts} | told | missing
    write_table(
        table[list(Summaries.columns)],
        Summaries,
        args.out,
        made(METHOD, _inputs(args), ["numpy", "pandas", "scipy"], seed=args.seed, details=details),
    )
    LOGGER.info("%d means of %d models", len(table), table["model"].nunique())
    for model, reason in missing.get("missing_models", {}).items():
        LOGGER.warning("%s is missing: %s", model, reason)


def run_compare(args: argparse.Namespace) -> None:
    """Read, compare, write."""
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.summarize import compare_models
    from worldprobe.benchmarks.worldsense.contracts import Comparisons
    from worldprobe.contracts import write_table
    from worldprobe.provenance import made

    tables = [compare_models(name, questions, series) for name, questions, series in _read_sets(args)]
    table = pd.concat(tables, ignore_index=True).sort_values(list(Comparisons.Config.metadata["key"]), ignore_index=True)
    provenance = made(METHOD, _inputs(args), ["numpy", "pandas", "scipy"])
    write_table(table, Comparisons, args.out, provenance)


def _read_sets(args: argparse.Namespace) -> Iterator[tuple[str, Questions, list[Series]]]:
    """Name, trials and answers of each set.

    Raises:
        UserError: a set without trials or answers, or two of one name.
    """
    from worldprobe.benchmarks.worldsense.analysis.answers import read_series
    from worldprobe.benchmarks.worldsense.analysis.properties import add_properties
    from worldprobe.benchmarks.worldsense.analysis.questions import from_frame
    from worldprobe.benchmarks.worldsense.trials.files import read_trials

    names = [given[0] for given in args.set]
    for name, *paths in args.set:
        if not name.strip() or name != name.strip() or not name.isprintable():
            raise UserError(f"--set {name!r}", "is not a name for a set.", "Choose a name such as test or ood-size.")
        if len(paths) < 2:
            raise UserError(f"--set {name}", "names no trials, or no answers.", "Give NAME TRIALS RESULTS...")
        if names.count(name) > 1:
            raise UserError(f"--set {name}", "is given twice.", "Give all results of a set at once.")
        trials = read_trials(paths[0])
        questions = add_properties(from_frame(trials, paths[0], args.skin_folder), trials)
        yield name, questions, read_series(paths[1:], questions)


def _inputs(args: argparse.Namespace) -> dict[str, str]:
    return {path: path for _, *paths in args.set for path in paths}


def _counts(questions: Questions, series: list[Series]) -> list[dict[str, object]]:
    from worldprobe.benchmarks.worldsense.analysis.analyse import count_answers

    return [{str(key): value for key, value in row.items()} for row in count_answers(questions, series).to_dict("records")]


def describe_analysis(statistics: pd.DataFrame, counts: pd.DataFrame) -> str:
    """The averages in print, and what was left out."""
    whole = statistics[(statistics["gold"] == "released") & (statistics.loc[:, "problemname":"intraining"] == "all").all(axis=1)]
    lines = [f"{'prompting':<12} {'model':<20} {'accuracy':>14} {'bias':>14} {'invalid':>8}"]
    for row in counts.to_dict("records"):
        mine = whole[(whole["prompting"] == row["prompting"]) & (whole["model"] == row["model"])].set_index("measure")
        if mine.empty:
            lines.append(f"{row['prompting']:<12} {row['model']:<20} no tuple was answered as a whole")
            continue
        accuracy, bias = mine.loc["accuracy"], mine.loc["bias"]
        shown = f"{100 * accuracy['mean']:8.1f} ± {100 * accuracy['conf95']:.1f} {bias['mean']:8.2f} ± {bias['conf95']:.2f}"
        lines.append(f"{row['prompting']:<12} {row['model']:<20} {shown} {row['invalid']:>8}")
    lines.append("± is the paper's: 1.96 standard errors over tuples, for these skins only; `worldsense summarize` has others.")
    dropped, foreign = int(counts["incomplete_tuples"].sum()), int(counts["not_in_set"].sum())
    if dropped:
        lines.append(f"{dropped:,} tuples were left out, as some of their trials have no answer.")
    if foreign:
        lines.append(f"{foreign:,} answers were left out, as the set does not have their trials.")
    return "\n".join(lines)
