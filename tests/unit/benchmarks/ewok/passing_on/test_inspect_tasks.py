"""The tasks of inspect_ai give our accuracy to the same replies; skipped where inspect_ai is not installed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

REASON = "inspect_ai is not installed (envs/requirements-inspect.txt)"
inspect_ai = pytest.importorskip("inspect_ai", reason=REASON)

from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

from worldprobe.asking.store import open_store  # noqa: E402
from worldprobe.benchmarks.ewok.analysis.judge import judge_responses  # noqa: E402
from worldprobe.benchmarks.ewok.analysis.summarize import summarize  # noqa: E402
from worldprobe.benchmarks.ewok.asking.prompting import ask  # noqa: E402
from worldprobe.benchmarks.ewok.asking.prompts import load_prompts  # noqa: E402
from worldprobe.benchmarks.ewok.contracts import Items  # noqa: E402
from worldprobe.benchmarks.ewok.passing_on import inspect_tasks  # noqa: E402
from worldprobe.benchmarks.ewok.ways import way_of  # noqa: E402
from worldprobe.cli import main  # noqa: E402
from worldprobe.contracts import read_provenance, read_table, write_table  # noqa: E402
from worldprobe.models.engine import EngineFacts, Written  # noqa: E402

pytestmark = pytest.mark.slow
#: Readable and unreadable ones, one of which names no accepted answer.
REPLIES = ["1", "2", "I would say 2.", " 1\nbecause", "10", "none of them", "", "4", "**5**", "3"]


def reply(prompt: str) -> str:
    return REPLIES[zlib.crc32(prompt.encode()) % len(REPLIES)]


class Scripted:
    """Our engine with the same replies."""

    facts = EngineFacts("scripted", None, "0", "scripted", "float32", {}, 100, {})

    def write(self, prompts: list[str], decoding: Any, *, skip: Any = ()) -> Iterator[tuple[int, Written]]:
        yield from ((place, Written(reply(prompt))) for place, prompt in enumerate(prompts) if place not in skip)

    def rendered(self, prompt: str) -> str:
        return prompt


@pytest.fixture(scope="module")
def item_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of two domains and two versions of unequal size."""
    folder = tmp_path_factory.mktemp("inspect")
    whole, path = folder / "whole.parquet", folder / "items.parquet"
    assert main(["items", "build", "builtin", "--versions", "0-1", "--out", str(whole)]) == 0
    items = read_table(whole, Items)
    few = items[items["domain"].isin(["social-relations", "physical-dynamics"])].groupby(["domain", "version"]).head(4)
    write_table(few.iloc[:-3].reset_index(drop=True), Items, path, read_provenance(whole))
    return path


def run(task: Any, folder: Path, limit: int | None = None) -> dict[str, float]:
    def answer(messages: list[Any], *_: Any) -> ModelOutput:
        [message] = messages
        written = ModelOutput.from_content("mockllm", reply(message.text))
        written.usage = ModelUsage()  # else the mock model counts tokens with a tokenizer from the internet
        return written

    model = get_model("mockllm/model", custom_outputs=answer)
    [log] = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", limit=limit)
    assert log.status == "success", log.error
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


@pytest.mark.parametrize("eval_type", ["choice_free_two", "choice_free_zero", "likert_free_two"])
def test_the_same_replies_give_the_same_accuracy(item_table: Path, tmp_path: Path, eval_type: str) -> None:
    way, items = way_of(eval_type), read_table(item_table, Items)
    task = getattr(inspect_tasks, f"ewok_{way.paradigm}")(str(item_table), shots=way.shots)
    theirs = run(task, tmp_path / "log")
    engine: Any = Scripted()
    responses, _ = ask(items, engine, way, load_prompts()[way.paradigm], open_store(tmp_path / "store", engine))
    means = summarize(judge_responses(items, responses, "ours").table, n_bootstrap=0).set_index(["grouping", "metric", "version"])
    ours = means.loc[("overall", "accuracy", -1), "mean"]
    assert theirs["accuracy"] == pytest.approx(ours, abs=1e-12)
    assert theirs["read"] == pytest.approx((responses["status"] == "ok").mean(), abs=1e-12)
    assert 0 < theirs["read"] < 1
    assert theirs["n_items"] == len(items)


def test_with_a_limit_only_items_that_were_asked_as_a_whole_count(item_table: Path, tmp_path: Path) -> None:
    assert run(inspect_tasks.ewok_likert(str(item_table)), tmp_path, limit=6)["n_items"] == 1
    none = run(inspect_tasks.ewok_likert(str(item_table)), tmp_path, limit=2)
    assert none["n_items"] == 0
    assert pd.isna(none["accuracy"])
