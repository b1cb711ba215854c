"""What the fine-tuning study shows, by what was taught, over seeds and skins
(docs/background/worldsense_training.md).

    python tests/performance/worldsense_finetuning.py results/finetuning
    python tests/performance/worldsense_finetuning.py results/finetuning --stages 150
    python tests/performance/worldsense_finetuning.py results/motion --updates same-skins-motion
    python tests/performance/worldsense_finetuning.py results/motion --orders same-skins-motion

Each number is a mean over seeds of a mean over skins; sizes weigh equally. The interval is for
other seeds and other skins: the variances of the means of seeds and of skins are added, and
Student's t has Satterthwaite's degrees of freedom.

With --stages: what each stage's model says of new lessons with entities of training skins, one
statement or question each, in binary clauses, half of them by the converse: the share of right
answers where the description decides, and where it does not.

With --updates: accuracy in a set of worlds in motion by number of changes, entities and prompting,
next to two rules about the same problems: who keeps to the order at first, and who follows nobody
but what is asked about.

With --orders: how often each model's written replies to questions of inference in such a set begin
with the order at first, and go on with the order after each change that counts.
"""

from __future__ import annotations

import argparse
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import read_questions
from worldprobe.benchmarks.worldsense.analysis.statistics import score_tuples
from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import decided_orders, draw_lessons
from worldprobe.benchmarks.worldsense.finetuning.trainings import ReadingLessons
from worldprobe.benchmarks.worldsense.problems.motion import Story, follow_alone
from worldprobe.benchmarks.worldsense.problems.problems import Cell, cores, numbers_in
from worldprobe.benchmarks.worldsense.problems.worlds import MOMENTS, UPDATES, read_description
from worldprobe.benchmarks.worldsense.skins.skins import IN, NEW, OUT, group_skins, read_skins

VERDICTS, COMPLETENESS = ("TRUE", "FALSE", "UNKNOWN"), ("1", "2", "3")
#: Set and group of skins -> what was seen of it when trials were learned.
GROUPS = {
    ("memorisation", None): "the trials that the smallest variant is trained on",
    ("same-skins", None): "trials of the training skins, drawn anew",
    ("test", IN): "test skins with a relation of training",
    ("test", OUT): "test skins with another relation",
    ("test-new", NEW): "test-new: no relation word is in training",
    ("ood-size", None): "six entities, test skins",
}


def means_of(study: Path) -> pd.DataFrame:
    """Accuracy by model, seed, group, problem, size and skin."""
    rows = []
    for name in dict.fromkeys(name for name, _ in GROUPS):
        questions = read_questions(study / f"worldsense/trials/{name}.parquet")
        for path in sorted(
            (study / f"worldsense/responses/{name}/constrained_sum").glob("*-*.parquet")
        ):
            (series,) = read_series([path], questions)
            tuples = questions.tuples.assign(
                right=score_tuples(questions, series.answers)["accuracy"]
            )
            base, _, variant = path.stem.partition("+")
            reader, _, seed = base.rpartition("-")
            training = tuples["skin"].map(
                {name: of.training for name, of in group_skins(tuples["skin"].unique()).items()}
            )
            for (of, wanted), label in GROUPS.items():
                if of == name:
                    part = tuples if wanted is None else tuples[training == wanted]
                    found = part.groupby(["problem", "size", "skin"], as_index=False)[
                        "right"
                    ].mean()
                    rows.append(
                        found.assign(
                            model=f"{reader}+{variant}" if variant else reader,
                            seed=seed,
                            group=label,
                        )
                    )
    return pd.concat(rows, ignore_index=True)


def print_stages(study: Path, number: int) -> None:
    """Right answers to new lessons by stage and seed, entities, and whether the relation is
    invented.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    skins = read_skins()
    print("| stage | seed | form | relation | entities | decided | undecided |")
    for folder in sorted((study / "worldsense/finetuning/models").glob("*-*.*")):
        seed, _, stage = folder.name.rpartition("-")[2].partition(".")
        tokenizer, model = (
            AutoTokenizer.from_pretrained(folder),
            AutoModelForCausalLM.from_pretrained(folder).eval(),
        )
        first = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else []
        kinds = ("judge", "asked") if stage == "questions" else ("judge",)
        for kind, invented, size in product(kinds, (1, 0), (2, 3, 4)):
            drawn = {
                "number": number,
                "sizes": [size],
                "statements": 1,
                "ternary": 0,
                "indirect": 0.7,
                "seed": 99,
            }
            how = ReadingLessons(kinds={kind: 1}, invented=invented, **drawn)
            right: dict[bool, list[bool]] = {True: [], False: []}
            for lesson in draw_lessons(how, skins):
                gold = lesson[-1][0]
                options = (
                    COMPLETENESS
                    if gold in COMPLETENESS
                    else VERDICTS
                    if kind == "judge"
                    else VERDICTS[:2]
                )
                ids = [
                    tokenizer(f" {option}", add_special_tokens=False)["input_ids"][0]
                    for option in options
                ]
                text = (
                    first
                    + tokenizer(
                        " ".join(text for text, _ in lesson[:-1]), add_special_tokens=False
                    )["input_ids"]
                )
                with torch.no_grad():
                    said = options[int(model(torch.tensor([text])).logits[0, -1, ids].argmax())]
                right[gold not in ("UNKNOWN", "3")].append(said == gold)
            shares = " | ".join(
                f"{np.mean(right[side]):.2f} ({len(right[side])})" for side in (True, False)
            )
            print(
                f"| {stage} | {seed} | {kind} | {'invented' if invented else 'training'} | {size} |"
                f" {shares} |",
                flush=True,
            )


def print_updates(study: Path, of_set: str) -> None:
    """Accuracy by number of changes (hard problems: by complexity), with its interval over seeds
    and skins.
    """
    questions = read_questions(study / f"worldsense/trials/{of_set}.parquet")
    print(
        "| model | prompting | problem | entities | changes | accuracy | seeds | order at first |"
        " followed alone |"
    )
    for folder in sorted((study / f"worldsense/responses/{of_set}").iterdir()):
        rows = []
        for path in sorted(folder.glob("*-*.parquet")):
            (series,) = read_series([path], questions)
            base, _, variant = path.stem.partition("+")
            tuples = questions.tuples.assign(
                right=score_tuples(questions, series.answers)["accuracy"]
            )
            tuples = tuples.assign(model=variant or "base", seed=base.rpartition("-")[2])
            rows.append(tuples[["model", "problem", "seed", "skin", "size", "complexity", "right"]])
        found = pd.concat(rows).astype({"problem": str, "complexity": str})
        for (model, problem, size, number), part in found.groupby(
            ["model", "problem", "size", "complexity"]
        ):
            table = part.pivot_table(index="seed", columns="skin", values="right", observed=True)
            mean, half = interval(table)
            changes = number.rpartition("_")[2]
            rules = rules_of(int(size), int(changes)) if problem == "Infer.motion" else ()
            told = [
                f"{mean:.3f} ± {half:.3f}",
                ", ".join(f"{one:.3f}" for one in table.mean(axis=1)),
                *(f"{one:.3f}" for one in rules),
            ]
            print(
                f"| {model} | {folder.name} | {problem} | {size} | {changes} |"
                f" {' | '.join(told)} |",
                flush=True,
            )


def print_orders(study: Path, of_set: str) -> None:
    """Right orders in written replies about inference, by seed, model, entities and number of
    changes.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(study / "worldsense/finetuning/phrases/tokenizer.json"))
    trials = pd.read_parquet(study / f"worldsense/trials/{of_set}.parquet").set_index("trial_id")
    rows = []
    for path in sorted((study / f"worldsense/responses/{of_set}/written").glob("*-*.parquet")):
        base, _, variant = path.stem.partition("+")
        replies = pd.read_parquet(path).set_index("trial_id")[["reply"]]
        for trial in trials[trials["problem"] == "Infer.motion"].join(replies).itertuples():
            description = read_description(trial.description)
            names = tokenizer.encode(
                " ".join(json.loads(trial.entities)), add_special_tokens=False
            ).tokens
            lines = [
                part.split(" Answer:")[0].split() for part in re.split(r" \w+ change:", trial.reply)
            ]
            changes = tuple(r for r in description if r.kind in UPDATES)
            moment = next((r for r in description if r.kind in MOMENTS), None)
            n_first = len(
                {entity for r in description if r.kind == "before" for entity in r.entities}
            )
            orders = [
                [names[i] for i in order] for _, order in decided_orders(n_first, changes, moment)
            ]
            rows.append(
                (
                    variant or "base",
                    base[-1],
                    trial.size,
                    len(changes),
                    lines[:1] == orders[:1],
                    lines == orders,
                )
            )
    found = pd.DataFrame(rows, columns=["model", "seed", "size", "changes", "first", "all"])
    print(
        found.groupby(["model", "size", "changes", "seed"])[["first", "all"]]
        .mean()
        .unstack()
        .round(2)
        .to_string()
    )


def rules_of(size: int, number: int) -> tuple[float, float]:
    """How often two rules are right about the problems of inference that only tests have."""
    cell = Cell("Infer.motion", size, number, 2)
    right = []
    for core in (cores(cell)[one] for one in numbers_in(cell, is_training=False)):
        changes = tuple(r for r in core.description if r.kind in UPDATES)
        moment = next((r for r in core.description if r.kind in MOMENTS), None)
        first = sorted(
            {entity for r in core.description if r.kind == "before" for entity in r.entities}
        )
        counted = Story(changes, moment).counted()
        asked = core.queries[0].entities
        right.append([follow_alone(first, told, asked) / 2 + 0.5 for told in ((), counted)])
    return tuple(np.mean(right, axis=0))


def interval(table: pd.DataFrame) -> tuple[float, float]:
    """Mean and half width of its interval, of a table of seeds (rows) and skins (columns)."""
    parts = [
        (values.var(ddof=1) / len(values), len(values) - 1)
        for values in (table.mean(axis=1), table.mean(axis=0))
    ]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / n for part, n in parts) if variance else 1.0
    return float(table.to_numpy().mean()), float(stdtrit(freedom, 0.975) * np.sqrt(variance))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("study", type=Path)
    parser.add_argument("--by-size", action="store_true")
    parser.add_argument("--stages", type=int, metavar="LESSONS")
    parser.add_argument("--updates", metavar="SET")
    parser.add_argument("--orders", metavar="SET")
    args = parser.parse_args()
    if args.updates:
        print_updates(args.study, args.updates)
        return
    if args.orders:
        print_orders(args.study, args.orders)
        return
    if args.stages:
        print_stages(args.study, args.stages)
        return
    found = means_of(args.study)
    keys = ["problem", "size", "group"] if args.by_size else ["problem", "group"]
    models = sorted(found["model"].unique())
    print("| " + " | ".join([*keys, *models]) + " |")
    for key, part in found.groupby(keys, sort=False):
        cells = []
        for model in models:
            table = part[part["model"] == model].pivot_table(
                index="seed", columns="skin", values="right"
            )
            mean, half = interval(table)
            cells.append(f"{mean:.3f} ± {half:.3f}")
        print("| " + " | ".join([*map(str, key), *cells]) + " |")


if __name__ == "__main__":
    main()
