"""Learning curves of two invented trainings, one of them with three seeds, for tests of tables and
figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from worldprobe.contracts import write_table
from worldprobe.provenance import Provenance
from worldprobe_lab.contracts import Curves, Onsets, OrderAgreements
from worldprobe_lab.curves import agree, trace

STEPS = (1, 10, 100, 1000, 10000)
#: Series -> its trainings and their seeds.
TRAININGS = {
    "small": {"small": "one"},
    "large": {f"large.seed-{seed}": str(seed) for seed in range(3)},
}
#: So many groups of a grouping are traced, each of which is learned at another place; further ones
#: repeat all but the first.
TRACED = len(STEPS) + 1


def trace_learning(
    groups: Mapping[str, Sequence[str]], eval_type: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and onsets: groups are learned one after the other, and the first is forgotten.

    Args:
        groups: grouping -> its groups.
        eval_type: how the models were asked.
    """
    return _traced(tuple((grouping, tuple(names)) for grouping, names in groups.items()), eval_type)


@cache
def _traced(
    groups: tuple[tuple[str, tuple[str, ...]], ...], eval_type: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    curves, onsets = [], []
    for series, seeds in TRAININGS.items():
        rows = []
        for model, seed in seeds.items():
            for grouping, names in groups:
                for number, group in enumerate(names[:TRACED]):
                    for place, step in enumerate(STEPS):
                        learned = 0.35 if place > number % len(STEPS) else 0.0
                        forgotten = 0.2 if number == 0 and step == STEPS[-1] else 0.0
                        for cluster in range(6):
                            key = (
                                series,
                                model,
                                seed,
                                step,
                                eval_type,
                                grouping,
                                group,
                                str(cluster),
                                "",
                                "",
                            )
                            rows.append(
                                (
                                    *key,
                                    float(
                                        np.clip(
                                            0.5 + learned - forgotten + rng.normal(0, 0.03), 0, 1
                                        )
                                    ),
                                    4,
                                )
                            )
        columns = [
            "series",
            "model",
            "seed",
            "step",
            "eval_type",
            "grouping",
            "group",
            "cluster",
            "condition",
            "stratum",
            "mean",
            "n",
        ]
        found = trace(
            pd.DataFrame(rows, columns=columns),
            "steps",
            dict.fromkeys(dict(groups), "pairs of concepts"),
        )
        curves.append(found[0])
        onsets.append(found[1])
    return _repeat(pd.concat(curves), groups), _repeat(pd.concat(onsets), groups)


def _repeat(table: pd.DataFrame, groups: tuple[tuple[str, tuple[str, ...]], ...]) -> pd.DataFrame:
    """The rows of all groups, from those of the traced ones."""
    rows = [table]
    for grouping, names in groups:
        for number, group in enumerate(names[TRACED:], TRACED):
            traced = names[1 + (number - 1) % len(STEPS)]
            rows.append(
                table[(table["grouping"] == grouping) & (table["group"] == traced)].assign(
                    group=group
                )
            )
    return pd.concat(rows, ignore_index=True)


def write_learning(
    folder: Path, groups: Mapping[str, Sequence[str]], eval_type: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The three tables that ``worldprobe series curves`` writes, into a folder; returns curves and
    onsets.
    """
    curves, onsets = trace_learning(groups, eval_type)
    for name, table, contract in (
        ("curves", curves, Curves),
        ("onsets", onsets, Onsets),
        ("order_agreements", agree(onsets), OrderAgreements),
    ):
        keys = list(contract.Config.key)
        write_table(
            table.sort_values(keys, ignore_index=True),
            contract,
            folder / f"{name}.parquet",
            Provenance(),
        )
    return curves, onsets
