"""Likert and Choice as tasks of inspect_ai: our prompts, our reading of answers and our judgement, its models.

``inspect eval worldprobe/ewok_choice -T items=items.parquet --model ...``. Items are read where they are: nothing is exported,
but inspect's logs contain what was asked. Only this module imports inspect_ai, and nothing imports this module: inspect finds it
by its entry point. Written against inspect_ai 0.3.285.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from worldprobe.asking.readers import first_numeral
from worldprobe.benchmarks.ewok.analysis.judge import judge_responses
from worldprobe.benchmarks.ewok.analysis.summarize import summarize
from worldprobe.benchmarks.ewok.asking.prompting import FREE, presentations
from worldprobe.benchmarks.ewok.asking.prompts import PAPER, load_prompts
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.vocabulary import DESIGN, OVER_VERSIONS
from worldprobe.benchmarks.ewok.ways import Way, way_of
from worldprobe.contracts import read_table

#: Questions about one item.
ASKED = {"likert": 4, "choice": 2}


@task
def ewok_choice(items: str, shots: str = "two", prompts: str = PAPER) -> Task:
    """Which of two contexts makes more sense, given the target?

    Args:
        items: the items table.
        shots: zero or two worked examples.
        prompts: a set of prompts, or a YAML file.
    """
    return _task(items, Way("choice", "free", shots), prompts)


@task
def ewok_likert(items: str, shots: str = "two", prompts: str = PAPER) -> Task:
    """How much sense does a target make after a context, from 1 to 5?

    Args:
        items: the items table.
        shots: zero or two worked examples.
        prompts: a set of prompts, or a YAML file.
    """
    return _task(items, Way("likert", "free", shots), prompts)


def _task(path: str, way: Way, prompts: str) -> Task:
    way_of(way.name)
    items, prompt = read_table(path, Items), load_prompts(prompts)[way.paradigm]
    design = items.set_index("item_id")[list(DESIGN)].astype(object)
    facts = design.where(design.notna(), None).to_dict("index")
    samples = [
        Sample(
            input=prompt.text(slots, way.shots),
            id=f"{item} {name}",
            metadata={"item_id": item, "presentation": name, "eval_type": way.name, **facts[item]},
        )
        for item, name, slots in presentations(items, way.paradigm)
    ]
    config = GenerateConfig(temperature=0.0, max_tokens=FREE.max_new_tokens, stop_seqs=list(FREE.stops))
    return Task(
        dataset=MemoryDataset(samples, name=way.name), solver=generate(), scorer=numeral(list(prompt.answers)), config=config
    )


@metric
def accuracy() -> Metric:
    """The accuracy of worldprobe: the mean of the versions' means; a question without an answer counts as wrong."""

    def compute(scores: list[SampleScore]) -> float:
        items, responses = _tables(scores)
        if items.empty:
            return float("nan")
        means = summarize(judge_responses(items, responses, "inspect").table, n_bootstrap=0)
        overall = (means["grouping"] == "overall") & (means["metric"] == "accuracy") & (means["version"] == OVER_VERSIONS)
        return float(means.loc[overall, "mean"].iloc[0])

    return compute


@metric
def read() -> Metric:
    """The share of replies that contain an answer."""

    def compute(scores: list[SampleScore]) -> float:
        return float((_tables(scores)[1]["status"] == "ok").mean())

    return compute


@metric
def n_items() -> Metric:
    """How many items were asked as a whole; with ``--limit``, the questions of others are left out."""

    def compute(scores: list[SampleScore]) -> float:
        return len(_tables(scores)[0])

    return compute


@scorer(metrics=[accuracy(), read(), n_items()])
def numeral(answers: list[str]) -> Scorer:
    """The first numeral that is one of the answers, 0 where there is none.

    Args:
        answers: the accepted ones.
    """
    reader = first_numeral(answers)

    async def score(state: TaskState, target: Target) -> Score:
        reading = reader(state.output.completion)
        return Score(
            value=float(reading.value or 0),
            answer=reading.value,
            explanation=reading.status,
            metadata={**state.metadata, "status": reading.status},
        )

    return score


def _tables(scores: list[SampleScore]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items that were asked as a whole, with their design, and the answers about them."""
    rows: list[dict[str, Any]] = [{**(one.score.metadata or {}), "value": one.score.as_float()} for one in scores]
    asked = pd.DataFrame(rows, columns=["item_id", "presentation", "eval_type", "status", "value", *DESIGN])
    asked["value"] = asked["value"].where(asked["status"] == "ok")
    n_asked = asked.groupby("item_id")["presentation"].transform("nunique")
    whole = asked[n_asked == asked["eval_type"].str.partition("_")[0].map(ASKED)]
    items = whole.drop_duplicates("item_id")[["item_id", *DESIGN]].reset_index(drop=True)
    return items, whole[["item_id", "eval_type", "presentation", "status", "value"]].reset_index(drop=True)
