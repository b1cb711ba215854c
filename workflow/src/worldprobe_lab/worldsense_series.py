"""How WorldSense is asked of checkpoints, and its learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe import methods
from worldprobe.benchmark import Study
from worldprobe.benchmarks.worldsense.contracts import Summaries
from worldprobe.benchmarks.worldsense.outputs import asked_sets, trial_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError
from worldprobe_lab.learning_curves import learning_displays
from worldprobe_lab.series import Learning

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine

OVER = {OVERALL: "skins", "problem": "skins", "set": "skins"}


def _items(study: Study) -> list[str]:
    sets = asked_sets(study)
    return [
        trial_table(study, name)
        for name in sorted(sets, key=lambda name: (name != "test", sets.index(name)))
    ]


def _prepare(
    paths: Sequence[Path], promptings: Sequence[str]
) -> Callable[[Engine, Store, str], pd.DataFrame]:
    """See ``Learning.prepare``."""
    import numpy as np
    import pandas as pd

    from worldprobe.analysis.summaries import Group
    from worldprobe.benchmarks.worldsense.analysis.answers import series_of
    from worldprobe.benchmarks.worldsense.analysis.questions import from_frame
    from worldprobe.benchmarks.worldsense.analysis.statistics import score_tuples
    from worldprobe.benchmarks.worldsense.inference.ask import ask
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.settings import TrialAsking
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.contracts import read_provenance
    from worldprobe_lab.curves import to_cells

    prompt_sets = [load_prompt_set(name) for name in promptings or ("constrained",)]
    for prompt_set in prompt_sets:
        if prompt_set.examples:
            raise UserError(
                f"prompting {prompt_set.name}",
                "shows examples, and checkpoints are asked without.",
                "Leave it out.",
            )
    names = [set_of(path) for path in paths]
    if len(set(names)) < len(names):
        raise UserError(
            "series", "takes each set of trials once.", "Leave one out, or rename its file."
        )
    prepared, covered = [], set()
    for number, (path, name) in enumerate(zip(paths, names, strict=True)):
        trials = read_trials(str(path))
        questions = from_frame(trials, str(path))
        tuples = questions.tuples
        skin, everything = tuples["skin"].astype(str).to_numpy(), np.arange(len(tuples))
        groups = [Group(OVERALL, ALL, everything, skin, "skins")] if number == 0 else []
        groups += [Group("set", name, everything, skin, "skins")] if len(paths) > 1 else []
        for problem, indices in tuples.groupby("problem", observed=True, sort=True).indices.items():
            if problem not in covered:
                groups.append(
                    Group("problem", str(problem), np.asarray(indices), skin[indices], "skins")
                )
        covered |= set(tuples["problem"])
        stratum = (tuples["problem"].astype(str) + "|" + tuples["size"].astype(str)).to_numpy()
        prepared.append((trials, questions, stratum, groups))
    canaries = [read_provenance(path).canary for path in paths if path.suffix == ".parquet"]

    def measure(engine: Engine, store: Store, model: str) -> pd.DataFrame:
        for canary in canaries:
            store.add_canary(canary)
        tables = []
        for trials, questions, stratum, groups in prepared:
            none = np.full(len(stratum), "")
            for prompts in prompt_sets:
                frame, _ = ask(
                    trials, engine, prompts, store, TrialAsking(), method=methods.ASK, model=model
                )
                (answered,) = series_of(frame, model, questions)
                values = score_tuples(questions, answered.answers)["accuracy"]
                tables.append(
                    to_cells(values, none, stratum, groups).assign(eval_type=prompts.name)
                )
        return pd.concat(tables, ignore_index=True)

    return measure


def _promptings(study: Study) -> list[str]:
    return list(study["worldsense"]["promptings"])


LEARNING = Learning(
    _items, _promptings, _prepare, OVER, f"worldsense {methods.ASK} {methods.READING}"
)
DISPLAYS = learning_displays("worldsense", ["set", "problem"], "problem", Summaries)


def set_of(path: Path) -> str:
    """The set that a file of trials contains, by the names of the two functions above.

    >>> (
    ...     set_of(Path("results/default/worldsense/trials/ood-size.parquet")),
    ...     set_of(Path("test_set/trials.jsonl.bz2")),
    ... )
    ('ood-size', 'test')
    """
    name = path.name.partition(".")[0]
    return path.absolute().parent.name.removesuffix("_set") if name == "trials" else name
