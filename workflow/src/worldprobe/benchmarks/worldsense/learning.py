"""How WorldSense scores the checkpoints of a training: the trials of the first set, by every prompting without examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe import methods
from worldprobe.benchmark import Learning, Study
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine

OVER = {OVERALL: "skins", "problem": "skins"}


def _items(study: Study) -> list[str]:
    from worldprobe.benchmarks.worldsense.outputs import asked_sets, trial_table

    return [trial_table(study, name) for name in asked_sets(study)[:1]]


def _prepare(paths: Sequence[Path], promptings: Sequence[str]) -> Callable[[Engine, Store, str], pd.DataFrame]:
    """See ``Learning.prepare``."""
    import numpy as np
    import pandas as pd

    from worldprobe.analysis.curves import to_cells
    from worldprobe.analysis.summaries import Group
    from worldprobe.benchmarks.worldsense.analysis.answers import series_of
    from worldprobe.benchmarks.worldsense.analysis.questions import from_frame
    from worldprobe.benchmarks.worldsense.analysis.statistics import score_tuples
    from worldprobe.benchmarks.worldsense.inference.ask import Asking, ask
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.contracts import read_provenance

    if len(paths) != 1:
        raise UserError("series", "takes one set of trials.", "Score sets one by one.")
    prompt_sets = [load_prompt_set(name) for name in promptings or ("constrained",)]
    for one in prompt_sets:
        if one.examples:
            raise UserError(f"prompting {one.name}", "shows examples, and checkpoints are asked without.", "Leave it out.")
    trials = read_trials(str(paths[0]))
    canary = read_provenance(paths[0]).canary if paths[0].suffix == ".parquet" else None
    questions = from_frame(trials, str(paths[0]))
    tuples = questions.tuples
    skin, none = tuples["skin"].astype(str).to_numpy(), np.full(len(tuples), "")
    stratum = (tuples["problem"].astype(str) + "|" + tuples["size"].astype(str)).to_numpy()
    groups = [Group(OVERALL, ALL, np.arange(len(tuples)), skin, "skins")]
    for name, found in tuples.groupby("problem", observed=True, sort=True).indices.items():
        groups.append(Group("problem", str(name), np.asarray(found), skin[found], "skins"))

    def measure(engine: Engine, store: Store, model: str) -> pd.DataFrame:
        store.add_canary(canary)
        tables = []
        for prompts in prompt_sets:
            frame, _ = ask(trials, engine, prompts, store, Asking(), None, methods.ASK, model)
            (answered,) = series_of(frame, model, questions)
            values = score_tuples(questions, answered.answers)["accuracy"]
            tables.append(to_cells(values, none, stratum, groups).assign(eval_type=prompts.name))
        return pd.concat(tables, ignore_index=True)

    return measure


def _promptings(study: Study) -> list[str]:
    return list(study["worldsense"]["promptings"])


LEARNING = Learning(_items, _promptings, _prepare, OVER, f"worldsense {methods.ASK} {methods.READING}")
