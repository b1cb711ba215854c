"""How EWoK is asked of checkpoints, and its learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import methods
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe_lab.learning_curves import learning_displays
from worldprobe_lab.series import Learning

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine

_PAIRS = "pairs of concepts and versions"
OVER = {"overall": _PAIRS, "domain": _PAIRS, "context_contrast": _PAIRS, "target_contrast": _PAIRS}
OVER |= {"concept": "templates and versions"}


def accuracy_cells(
    items: pd.DataFrame, scores: pd.DataFrame, model: str, dtype: str
) -> pd.DataFrame:
    """Cells that curves of accuracy are computed from (``curves.to_cells``), with eval_type.

    Args:
        items: contract Items.
        scores: contract TargetScores.
        model: its name.
        dtype: in which it computed them.
    """
    import numpy as np

    from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
    from worldprobe.benchmarks.ewok.analysis.panel import DEFAULT_CLUSTER, build_panel
    from worldprobe.benchmarks.ewok.analysis.summarize import item_groups, metric_values
    from worldprobe_lab.curves import to_cells

    panel = build_panel(judge_target_scores(items, scores, model, dtype=dtype).table)
    values = metric_values(panel)[0, 0].astype(float)
    version = panel.items["version"].to_numpy().astype(str)
    none = np.full(len(version), "")
    groups = (
        group for group in item_groups(panel.items, DEFAULT_CLUSTER) if group.grouping in OVER
    )
    condition, stratum = (none, version) if panel.has_own_fillings else (version, none)
    return to_cells(values, condition, stratum, groups).assign(eval_type="logprobs")


def _prepare(
    paths: Sequence[Path], _prompts: Sequence[str]
) -> Callable[[Engine, Store, str], pd.DataFrame]:
    """See ``Learning.prepare``."""
    import pandas as pd

    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.scoring import check_texts, score_logprobs
    from worldprobe.contracts import read_provenance, read_table

    tables = []
    for path in paths:
        tables.append(read_table(path, Items))
        check_texts(tables[-1], path)
    items = pd.concat(tables, ignore_index=True)
    canaries = [read_provenance(path).canary for path in paths]

    def measure(engine: Engine, store: Store, model: str) -> pd.DataFrame:
        for canary in canaries:
            store.add_canary(canary)
        scores, _, _ = score_logprobs(items, engine, store, methods.SCORE, model)
        return accuracy_cells(items, scores, model, engine.facts.dtype)

    return measure


def _people(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The paper's participants, where the items are the paper's."""
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.reproduction import (
        are_official,
        people_of_paper,
        read_published,
    )
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table
    from worldprobe.paths import RESOURCES

    published = read_published(RESOURCES / "published")
    if not are_official(pd.concat([read_table(path, Items) for path in paths]), published):
        return []
    rows = people_of_paper(published).to_dict("records")
    return [{str(name): value for name, value in row.items() if pd.notna(value)} for row in rows]


LEARNING = Learning(
    lambda study: [item_table(study)],
    lambda _study: [],
    _prepare,
    OVER,
    f"ewok {methods.SCORE}",
    _people,
)
DISPLAYS = learning_displays("ewok", ["domain"], "concept", Summaries)
