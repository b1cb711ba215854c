"""EWoK as the shared parts see it: its tables, its figures and its part of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import methods
from worldprobe.benchmark import Benchmark, Input, Learning, Page, Section, Study, find_displays
from worldprobe.benchmarks.ewok import figures, tables
from worldprobe.benchmarks.ewok.analysis.reproduction import reproduce
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.evaluation import EVALUATION
from worldprobe.benchmarks.ewok.outputs import answers, outputs, page_files, refuse_models
from worldprobe.benchmarks.ewok.report import compose
from worldprobe.benchmarks.ewok.settings import Ewok
from worldprobe.report.learning_curves import SECTION as LEARNING_SECTION
from worldprobe.report.learning_curves import learning_displays

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine

SECTIONS = (
    Section(
        "accuracy",
        "Accuracy",
        "An item has two contexts and two targets. A model is right about a target if it finds it"
        " more likely after the context that it belongs to. Chance is 0.5.",
    ),
    Section(
        "controls",
        "What the control models know",
        "What the control models know is known exactly: what they read. So this shows which"
        " accuracy the measure gives to ignorance, to items known by heart, and to what a model was"
        " taught with other fillings.",
    ),
    Section(
        "conditions",
        "Conditions",
        "The same models on differently built items or with different prompts. Differences are"
        " paired: template by template.",
    ),
    Section(
        "concepts",
        "Concepts",
        "Accuracy by concept and model.",
    ),
    Section(
        "families",
        "Families with a level",
        "Templates that differ in one thing alone, the level, with matched words. A model that"
        " knows what a family is about may still lose accuracy from level to level.",
    ),
    Section("scale", "Model size", "Accuracy against the number of parameters."),
    Section(
        "design",
        "Design and surface features",
        "How accuracy varies with the type of context, with the contrasts between contexts and"
        " between targets, and with surface features of the sentences.",
        is_folded=True,
    ),
    Section(
        "paradigms",
        "Ways of asking",
        "The same items scored by log probabilities, by Likert ratings and by a direct choice.",
    ),
    Section(
        "people",
        "People",
        "The same items asked of people. Whose answers count was decided in the steps that the"
        " table of cleaning lists.",
    ),
    LEARNING_SECTION,
    Section("comparisons", "Pairwise comparisons", "Do two models differ on the same items?"),
    Section(
        "planning",
        "What a study can find",
        "How large a study must be to find a difference of this size.",
    ),
    Section(
        "reproduction",
        "Published numbers",
        "Numbers printed in the EWoK paper, next to ours where the same was run.",
    ),
    Section("materials", "Materials", "What the items were built from.", is_folded=True),
)


_PAIRS = "pairs of concepts and versions"
OVER = {"overall": _PAIRS, "domain": _PAIRS, "context_contrast": _PAIRS, "target_contrast": _PAIRS}
OVER |= {"concept": "templates and versions"}


def _items(study: Study) -> list[str]:
    from worldprobe.benchmarks.ewok.outputs import item_table

    return [item_table(study)]


def _prepare(
    paths: Sequence[Path], _prompts: Sequence[str]
) -> Callable[[Engine, Store, str], pd.DataFrame]:
    """See ``Learning.prepare``."""
    import numpy as np
    import pandas as pd

    from worldprobe.analysis.curves import to_cells
    from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
    from worldprobe.benchmarks.ewok.analysis.panel import DEFAULT_CLUSTER, build_panel
    from worldprobe.benchmarks.ewok.analysis.summarize import groups_of, metric_values
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
        panel = build_panel(
            judge_target_scores(items, scores, model, dtype=engine.facts.dtype).table
        )
        values = metric_values(panel)[0, 0].astype(float)
        version = panel.items["version"].to_numpy().astype(str)
        none = np.full(len(version), "")
        groups = (one for one in groups_of(panel.items, DEFAULT_CLUSTER) if one.grouping in OVER)
        condition, stratum = (none, version) if panel.has_own_fillings else (version, none)
        return to_cells(values, condition, stratum, groups).assign(eval_type="logprobs")

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


LEARNING = Learning(_items, lambda _study: [], _prepare, OVER, f"ewok {methods.SCORE}", _people)

BENCHMARK = Benchmark(
    name="ewok",
    title="EWoK",
    settings=Ewok,
    outputs=outputs,
    answers=answers,
    rule="score",
    rules="rules/ewok/main.smk",
    complete=refuse_models,
    displays=find_displays(tables, figures)
    + learning_displays("ewok", ["domain"], "concept", Summaries),
    page=Page(SECTIONS, Input(Summaries), compose, page_files),
    reproduce=reproduce,
    evaluation=EVALUATION,
    learning=LEARNING,
)
