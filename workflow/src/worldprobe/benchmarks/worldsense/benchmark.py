"""WorldSense as the shared parts see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe import methods
from worldprobe.benchmark import Benchmark, Learning, Page, Section, Study, find_displays
from worldprobe.benchmarks.worldsense import figures, tables
from worldprobe.benchmarks.worldsense.analysis.reproduction import reproduce
from worldprobe.benchmarks.worldsense.contracts import Summaries
from worldprobe.benchmarks.worldsense.evaluation import EVALUATION
from worldprobe.benchmarks.worldsense.outputs import answers, extra_models, outputs, page_files
from worldprobe.benchmarks.worldsense.report import compose
from worldprobe.benchmarks.worldsense.selection import SUMMARIES
from worldprobe.benchmarks.worldsense.settings import WorldSense, complete_registry
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError
from worldprobe.report.learning_curves import SECTION as LEARNING_SECTION
from worldprobe.report.learning_curves import learning_displays

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine

SECTIONS = (
    Section(
        "problems",
        "Problems",
        "Does a model keep a small world in mind? It draws inferences from descriptions, finds"
        " contradictions, and notices what a description leaves open. Each problem has a trivial"
        " control that needs no world. Chance is 0.5.",
    ),
    Section("promptings", "Ways of asking", "The same trials asked in other ways."),
    Section("sets", "Sets", "The test set, the training set as a test, and sets unlike both."),
    Section(
        "finetuning",
        "Fine-tuning",
        "Models that were trained on such problems: what they learn, and how far it carries.",
    ),
    LEARNING_SECTION,
    Section(
        "difficulty",
        "Size, depth and open worlds",
        "More entities, more relations to combine, more worlds left open.",
    ),
    Section("skins", "Words and domains", "The same abstract problems in other words."),
    Section("pairs", "Pairs of models", "Do two models differ on the same tuples?"),
    Section(
        "published",
        "Published numbers",
        "Numbers that the paper prints, next to ours where the same was run.",
    ),
)


OVER = {OVERALL: "skins", "problem": "skins", "set": "skins"}


def _items(study: Study) -> list[str]:
    from worldprobe.benchmarks.worldsense.outputs import asked_sets, trial_table

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

    from worldprobe.analysis.curves import to_cells
    from worldprobe.analysis.summaries import Group
    from worldprobe.benchmarks.worldsense.analysis.answers import series_of
    from worldprobe.benchmarks.worldsense.analysis.questions import from_frame
    from worldprobe.benchmarks.worldsense.analysis.statistics import score_tuples
    from worldprobe.benchmarks.worldsense.inference.ask import Asking, ask
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.outputs import set_of
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.contracts import read_provenance

    prompt_sets = [load_prompt_set(name) for name in promptings or ("constrained",)]
    for one in prompt_sets:
        if one.examples:
            raise UserError(
                f"prompting {one.name}",
                "shows examples, and checkpoints are asked without.",
                "Leave it out.",
            )
    names = [set_of(path) for path in paths]
    if len(set(names)) < len(names):
        raise UserError(
            "series", "takes each set of trials once.", "Leave one out, or rename its file."
        )
    prepared, known = [], set()
    for number, (path, name) in enumerate(zip(paths, names, strict=True)):
        trials = read_trials(str(path))
        questions = from_frame(trials, str(path))
        tuples = questions.tuples
        skin, everything = tuples["skin"].astype(str).to_numpy(), np.arange(len(tuples))
        groups = [Group(OVERALL, ALL, everything, skin, "skins")] if number == 0 else []
        groups += [Group("set", name, everything, skin, "skins")] if len(paths) > 1 else []
        for problem, found in tuples.groupby("problem", observed=True, sort=True).indices.items():
            if problem not in known:
                groups.append(
                    Group("problem", str(problem), np.asarray(found), skin[found], "skins")
                )
        known |= set(tuples["problem"])
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
                frame, _ = ask(trials, engine, prompts, store, Asking(), None, methods.ASK, model)
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

BENCHMARK = Benchmark(
    name="worldsense",
    title="WorldSense",
    settings=WorldSense,
    outputs=outputs,
    answers=answers,
    rule="ask",
    rules="rules/worldsense/main.smk",
    extra_models=extra_models,
    complete=complete_registry,
    displays=find_displays(tables, figures)
    + learning_displays("worldsense", ["set", "problem"], "problem", Summaries),
    page=Page(SECTIONS, SUMMARIES, compose, page_files),
    reproduce=reproduce,
    evaluation=EVALUATION,
    learning=LEARNING,
)
