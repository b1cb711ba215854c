"""``worldsense analyse``: answers to means, in the official layout's terms."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

TRIALS = "official trials (.jsonl, .jsonl.bz2, .jsonl.gz) or our table (.parquet)"
RESULTS = "<prompting>___<model>___results.jsonl (also .bz2, .gz), or a table of responses (.parquet); any number"


def add_actions(actions: argparse._SubParsersAction) -> None:
    """The actions of the analysis."""
    analyse = actions.add_parser(
        "analyse",
        help="accuracy and bias of answers, by problem, size, domain and more",
        description="Accuracy and response bias by tuples with the paper's weights, rebalancing and 95%% intervals. Writes "
        "statistics.csv, and answers.csv with what was answered and what was invalid.",
    )
    analyse.add_argument("trials", metavar="TRIALS", help=TRIALS)
    analyse.add_argument("results", nargs="+", metavar="RESULTS", help=RESULTS)
    add_skin_folder(analyse)
    analyse.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder of statistics.csv and answers.csv")
    analyse.set_defaults(run=run_analyse)


def add_skin_folder(parser: argparse.ArgumentParser) -> None:
    """``--skin-folder``, for the domains of further skins."""
    parser.add_argument(
        "--skin-folder", type=Path, metavar="FOLDER", help="folder of further skins (default: the skins of this repository)"
    )


def run_analyse(args: argparse.Namespace) -> None:
    """Read, analyse, write, print the averages."""
    from worldprobe.benchmarks.worldsense.analysis.decompress import Reader

    reader = Reader()  # decompresses while the libraries are loaded
    trials, *results = [reader.start(path) for path in (args.trials, *args.results)]
    from worldprobe.benchmarks.worldsense.analysis.analyse import compute_statistics, count_answers
    from worldprobe.benchmarks.worldsense.analysis.answers import read_series
    from worldprobe.benchmarks.worldsense.analysis.questions import read_questions
    from worldprobe.files import whole_files, write_text

    questions = read_questions(args.trials, trials, args.skin_folder)
    series = read_series(args.results, questions, results)
    statistics, counts = compute_statistics(questions, series), count_answers(questions, series)
    places = {args.out / "statistics.csv": statistics, args.out / "answers.csv": counts}
    with whole_files(places):
        for place, table in places.items():
            write_text(place, table.to_csv(index=False, lineterminator="\n"))
    print(describe(statistics, counts))


def describe(statistics: pd.DataFrame, counts: pd.DataFrame) -> str:
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
    dropped, foreign = int(counts["incomplete_tuples"].sum()), int(counts["not_in_set"].sum())
    if dropped:
        lines.append(f"{dropped:,} tuples were left out, as some of their trials have no answer.")
    if foreign:
        lines.append(f"{foreign:,} answers were left out, as the set does not have their trials.")
    return "\n".join(lines)
