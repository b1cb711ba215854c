"""LogProbs, Likert and Choice as tasks of inspect_ai: our questions, our reading of answers and our
judgement, its models.

``inspect eval worldprobe/ewok_choice -T items=items.parquet --model ...``. Items are read where
they are: nothing is exported, but inspect's logs contain what was asked. LogProbs need a provider
of completions whose server returns ``prompt_logprobs``; token ids are sent, so that start tokens
and the target's tokens are those of our own engines. Only this module imports inspect_ai, and
nothing imports this module: inspect finds it by its entry point. Written against inspect_ai
0.3.285.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from worldprobe.benchmarks.ewok.analysis.judge import Judged, judge_responses, judge_target_scores
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.scoring import FREE, PAPER, load_prompts, presentations, prompts_of
from worldprobe.benchmarks.ewok.vocabulary import DESIGN, Way, joint, way_of
from worldprobe.contracts import read_table
from worldprobe.contracts.results import ALL
from worldprobe.inference.dialogue import first_numeral
from worldprobe.models.answers import add_up
from worldprobe.models.engine import Loglikelihood
from worldprobe.models.server.capabilities import load_encoder

#: Questions about one item.
ASKED = {"logprobs": 4, "likert": 4, "choice": 2}
#: Tokens of the longest sequence: the server knows its own limit and refuses what is longer.
LONGEST = 1_000_000


@task
def ewok_logprobs(items: str, tokenizer: str, bos: str = "auto") -> Task:
    """Is a target more probable after the context that it fits?

    Args:
        items: the items table.
        tokenizer: the model's own, a folder or a fetched hub id.
        bos: auto, always or never: the start token, as in ``worldprobe score logprobs``.
    """
    way, table = Way("logprobs"), read_table(items, Items)
    facts, encoder = _facts(table), load_encoder(tokenizer, bos, False, LONGEST)
    texts = _by_item(table.set_index("item_id")[["context1", "context2", "target1", "target2"]])
    asked = [(item, target, context) for item in texts for target in (1, 2) for context in (1, 2)]
    queries = [
        Loglikelihood(
            texts[item][f"context{context}"],
            texts[item][f"target{target}"],
            joint(texts[item]["context1"]),
        )
        for item, target, context in asked
    ]
    samples = []
    for (item, target, context), query, encoded in zip(
        asked, queries, encoder.encode(queries), strict=True
    ):
        name = f"t{target}c{context}"
        sent = ChatMessageUser(
            content=query.text,
            metadata={"prompt_token_ids": list(encoded.ids)},
        )
        read = {"n_tokens": len(encoded.ids), "start": encoded.start, "flags": list(encoded.flags)}
        metadata = {
            "item_id": item,
            "presentation": name,
            "eval_type": way.name,
            **facts[item],
            **read,
        }
        samples.append(Sample(input=[sent], id=f"{item} {name}", metadata=metadata))
    config = GenerateConfig(temperature=0.0, max_tokens=1, prompt_logprobs=1)
    return Task(
        dataset=MemoryDataset(samples, name=way.name),
        solver=generate(),
        scorer=log_probability(),
        config=config,
    )


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
    items, prompt = read_table(path, Items), load_prompts(prompts_of(path, prompts))[way.paradigm]
    facts = _facts(items)
    samples = [
        Sample(
            input=prompt.text(slots, way.shots),
            id=f"{item} {name}",
            metadata={"item_id": item, "presentation": name, "eval_type": way.name, **facts[item]},
        )
        for item, name, slots in presentations(items, way.paradigm)
    ]
    config = GenerateConfig(
        temperature=0.0, max_tokens=FREE.max_new_tokens, stop_seqs=list(FREE.stops)
    )
    return Task(
        dataset=MemoryDataset(samples, name=way.name),
        solver=generate(),
        scorer=(rating if way.is_rated else choice)(list(prompt.answers)),
        config=config,
    )


def _facts(items: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The design of every item."""
    design = items.set_index("item_id")[list(DESIGN)].astype(object)
    return _by_item(design.where(design.notna(), None))


def _by_item(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows of a table whose index is the item."""
    return {
        str(item): {str(name): value for name, value in row.items()}
        for item, row in frame.to_dict("index").items()
    }


@metric
def accuracy() -> Metric:
    """The accuracy of worldprobe: the mean of the versions' means.

    A question without an answer counts as wrong; a target without a log probability has no accuracy
    and is left out.
    """

    def compute(scores: list[SampleScore]) -> float:
        return _mean(scores, "accuracy")

    return compute


@metric
def pairing() -> Metric:
    """The mean pairing of worldprobe: whether an item's contexts and targets fit as they belong
    together.
    """

    def compute(scores: list[SampleScore]) -> float:
        return _mean(scores, "pairing")

    return compute


@metric
def read() -> Metric:
    """The share of replies that contain an answer, or a target's log probability."""

    def compute(scores: list[SampleScore]) -> float:
        return float((_tables(scores)[1]["status"] == "ok").mean())

    return compute


@metric
def n_items() -> Metric:
    """How many items were asked as a whole; with ``--limit``, the questions of others are left
    out.
    """

    def compute(scores: list[SampleScore]) -> float:
        return len(_tables(scores)[0])

    return compute


@metric
def n_missing() -> Metric:
    """How many replies contain none, among the items that were asked as a whole."""

    def compute(scores: list[SampleScore]) -> float:
        return int((_tables(scores)[1]["status"] != "ok").sum())

    return compute


@scorer(metrics=[accuracy(), pairing(), read(), n_missing(), n_items()])
def log_probability() -> Scorer:
    """A target's log probability after a context, in nats; 0 where the server does not return it
    for all its tokens.
    """

    async def score(state: TaskState, target: Target) -> Score:
        asked = state.metadata
        logprobs = state.output.choices[0].prompt_logprobs if state.output.choices else None
        values = [token.logprob for token in logprobs.content] if logprobs is not None else []
        # The first token may be absent, because nothing predicts it; where others are, the target's
        # cannot be found.
        n_absent = asked["n_tokens"] - len(values)
        values = values[asked["start"] - n_absent :] if n_absent in (0, 1) else []
        scored = add_up(values, tuple(asked["flags"]), None, asked["n_tokens"])
        status = "ok" if scored.logprob is not None else "missing_score"
        metadata = {**asked, "status": status, "flags": list(scored.flags)}
        return Score(
            value=scored.logprob or 0.0,
            explanation=", ".join([status, *scored.flags]),
            metadata=metadata,
        )

    return score


def _numeral(answers: list[str]) -> Scorer:
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


choice = scorer(metrics=[accuracy(), read(), n_missing(), n_items()], name="choice")(_numeral)
rating = scorer(metrics=[accuracy(), pairing(), read(), n_missing(), n_items()], name="rating")(
    _numeral
)


def _mean(scores: list[SampleScore], metric: str) -> float:
    """The mean over versions of a metric; not a number where nothing was judged."""
    items, responses = _tables(scores)
    judged = _judge(items, responses).table if len(items) else pd.DataFrame()
    if judged.empty or metric not in judged or judged[metric].isna().all():
        return float("nan")
    means = item_means(judged)
    overall = (
        (means["grouping"] == "overall") & (means["metric"] == metric) & (means["condition"] == ALL)
    )
    return float(means.loc[overall, "mean"].iloc[0])


def _judge(items: pd.DataFrame, asked: pd.DataFrame) -> Judged:
    if asked["eval_type"].iloc[0] != "logprobs":
        return judge_responses(items, asked, "inspect")
    target, context = (asked["presentation"].str[position].astype(int) for position in (1, 3))
    rows = asked.assign(
        target=target, context=context, logprob=asked["value"], n_tokens=0, flags=""
    )
    return judge_target_scores(items, rows, "inspect")


def _tables(scores: list[SampleScore]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items that were asked as a whole, with their design, and the answers about them."""
    rows: list[dict[str, Any]] = [
        {**(sample.score.metadata or {}), "value": sample.score.as_float()} for sample in scores
    ]
    asked = pd.DataFrame(
        rows, columns=["item_id", "presentation", "eval_type", "status", "value", *DESIGN]
    )
    asked["value"] = asked["value"].where(asked["status"] == "ok")
    n_asked = asked.groupby("item_id")["presentation"].transform("nunique")
    whole = asked[n_asked == asked["eval_type"].str.partition("_")[0].map(ASKED)]
    items = whole.drop_duplicates("item_id")[["item_id", *DESIGN]].reset_index(drop=True)
    return items, whole[["item_id", "eval_type", "presentation", "status", "value"]].reset_index(
        drop=True
    )
