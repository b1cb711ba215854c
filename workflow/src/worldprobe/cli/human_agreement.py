"""``human agreement``: people's accuracy, reliability, and Likert against Choice."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import add_seed_argument, whole_number
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

#: Bumped when the same files and options give other numbers.
METHOD = 2


def add_parsers(actions: argparse._SubParsersAction) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "agreement",
        help="measure people's accuracy and reliability, and compare Likert with Choice",
        description=(
            "Accuracy by domain, version and design, with intervals over people; split-half reliability and what it lets a model "
            "reach; correlation with the labels; and, where people were asked both ways, the confusion matrix of Figure 7. "
            "Prints the main numbers."
        ),
    )
    add = parser.add_argument
    add("items", type=Path, metavar="ITEMS", help="items table")
    add("answers", type=Path, metavar="ANSWERS", help="answers that count, from `human clean --answers-out`")
    add("--key", type=Path, required=True, metavar="FILE", help="answer key of the lists that were shown")
    add(
        "--draws",
        type=whole_number(10, 100_000),
        default=200,
        metavar="N",
        help="number of bootstrap samples, and of splits into halves",
    )
    add_seed_argument(parser, "the draws")
    add("--matrix-out", type=Path, metavar="FILE", help="confusion matrix of Likert and Choice (agreements table)")
    add("--out", type=Path, required=True, metavar="FILE", help="table of statistics of people")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Compute, print, write."""
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Agreements, HumanStatistics, Items
    from worldprobe.benchmarks.ewok.human.statistics import Adder, confuse, measure
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.human.contracts import CleanAnswers
    from worldprobe.human.exports import read_key
    from worldprobe.provenance import made

    items = read_table(args.items, Items)
    check_items(args.items, [args.answers, args.key])
    answers = read_table(args.answers, CleanAnswers)
    key, digest = read_key(args.key)
    if read_provenance(args.answers).details.get("lists_digest") != digest:
        raise UserError(
            args.key, "is the key of other lists than the answers'.", "Give the key that the answers were cleaned with."
        )
    strange = sorted(set(key["item_id"]) - {""} - set(items["item_id"]))
    if strange:
        problem = f"does not have {len(strange)} items of the key, the first is {strange[0]}."
        raise UserError(args.items, problem, "Give the items that the lists were made from.")
    statistics = measure(items, answers, key, args.draws, args.seed)
    inputs = {"items": args.items, "answers": args.answers, "key": args.key}
    provenance = made(METHOD, inputs, ["numpy", "pandas"], seed=args.seed, model="human", details={"n_draws": args.draws})
    if args.matrix_out:
        ordered = items.sort_values("item_id").reset_index(drop=True)
        ways = {way: answers[answers["eval_type"] == way] for way in ("likert", "choice")}
        likert, choice = (Adder(ordered, part, key, way).add() for way, part in ways.items())
        write_table(confuse(likert, choice), Agreements, args.matrix_out, provenance)
    _print(statistics)
    write_table(statistics, HumanStatistics, args.out, provenance)


def _print(statistics: pd.DataFrame) -> None:
    """The numbers next to which a model's are shown."""
    named = {
        "accuracy": "accuracy (the paper: 0.951)",
        "split_half_r": "split-half reliability (Spearman-Brown)",
        "noise_ceiling_r": "correlation with people that a model without noise would reach",
        "label_r": "correlation of mean ratings with the labels",
        "label_r_binarised": "the same, with mean ratings binarised",
        "likert_choice_r": "Likert difference against share choosing context 1, Pearson's r",
    }
    found = {(row["eval_type"], row["quantity"]): row for row in statistics.to_dict("records") if row["grouping"] == "overall"}
    for way in sorted({way for way, _ in found}):
        for quantity, words in named.items():
            if row := found.get((way, quantity)):
                interval = "" if math.isnan(row["ci_low"]) else f" ({row['ci_low']:.3f}-{row['ci_high']:.3f})"
                print(f"{way}: {words}: {row['value']:.3f}{interval}")
    versions = statistics.query("quantity == 'accuracy' and eval_type == 'likert' and grouping == 'version'")["value"]
    if len(versions):
        print(f"likert: range over versions (the paper: 0.942-0.957): {versions.min():.3f}-{versions.max():.3f}")
