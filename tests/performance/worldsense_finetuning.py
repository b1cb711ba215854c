"""What the fine-tuning study shows, by what was taught, over seeds and skins (docs/background/worldsense_training.md).

    python tests/performance/worldsense_finetuning.py results/finetuning

Each number is a mean over seeds of a mean over skins; sizes weigh equally. The interval is for other seeds and other skins: the
variances of the means of seeds and of skins are added, and Student's t has Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import read_questions
from worldprobe.benchmarks.worldsense.analysis.scoring import score_tuples
from worldprobe.benchmarks.worldsense.skins.groups import IN, NEW, OUT, group_skins

#: Set and group of skins -> what was seen of it when trials were learned.
GROUPS = {
    ("memorisation", None): "the trials that the smallest variant is trained on",
    ("same-skins", None): "other trials of the training skins",
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
        for path in sorted((study / f"worldsense/responses/{name}/constrained_sum").glob("*-*.parquet")):
            (series,) = read_series([path], questions)
            tuples = questions.tuples.assign(right=score_tuples(questions, series.answers)["accuracy"])
            base, _, variant = path.stem.partition("+")
            reader, _, seed = base.rpartition("-")
            training = tuples["skin"].map({name: of.training for name, of in group_skins(tuples["skin"].unique()).items()})
            for (of, wanted), label in GROUPS.items():
                if of == name:
                    part = tuples if wanted is None else tuples[training == wanted]
                    found = part.groupby(["problem", "size", "skin"], as_index=False)["right"].mean()
                    rows.append(found.assign(model=f"{reader}+{variant}" if variant else reader, seed=seed, group=label))
    return pd.concat(rows, ignore_index=True)


def interval(table: pd.DataFrame) -> tuple[float, float]:
    """Mean and half width of its interval, of a table of seeds (rows) and skins (columns)."""
    parts = [(values.var(ddof=1) / len(values), len(values) - 1) for values in (table.mean(axis=1), table.mean(axis=0))]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / n for part, n in parts) if variance else 1.0
    return float(table.to_numpy().mean()), float(stdtrit(freedom, 0.975) * np.sqrt(variance))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("study", type=Path)
    parser.add_argument("--by-size", action="store_true")
    args = parser.parse_args()
    found = means_of(args.study)
    keys = ["problem", "size", "group"] if args.by_size else ["problem", "group"]
    models = sorted(found["model"].unique())
    print("| " + " | ".join([*keys, *models]) + " |")
    for key, part in found.groupby(keys, sort=False):
        cells = []
        for model in models:
            table = part[part["model"] == model].pivot_table(index="seed", columns="skin", values="right")
            mean, half = interval(table)
            cells.append(f"{mean:.3f} ± {half:.3f}")
        print("| " + " | ".join([*map(str, key), *cells]) + " |")


if __name__ == "__main__":
    main()
