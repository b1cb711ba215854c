"""The tasks of inspect_ai give our accuracy to the same replies; skipped where inspect_ai is
not installed.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REASON = "inspect_ai is not installed; `make test-inspect` installs it"
inspect_ai = pytest.importorskip("inspect_ai", reason=REASON)

from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

from worldprobe.benchmarks.ewok import inspect_tasks  # noqa: E402
from worldprobe.benchmarks.ewok.analysis.judge import (  # noqa: E402
    judge_responses,
    judge_target_scores,
)
from worldprobe.benchmarks.ewok.analysis.summarize import item_means  # noqa: E402
from worldprobe.benchmarks.ewok.contracts import Items  # noqa: E402
from worldprobe.benchmarks.ewok.scoring import (  # noqa: E402
    ask,
    load_prompts,
    score_logprobs,
)
from worldprobe.benchmarks.ewok.vocabulary import way_of  # noqa: E402
from worldprobe.cli import main  # noqa: E402
from worldprobe.contracts import read_provenance, read_table, write_table  # noqa: E402
from worldprobe.contracts.results import ALL  # noqa: E402
from worldprobe.inference.store import open_store  # noqa: E402
from worldprobe.models.engine import Completion, EngineFacts  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

pytestmark = pytest.mark.slow
#: Readable and unreadable ones, one of which names no accepted answer.
REPLIES = ["1", "2", "I would say 2.", " 1\nbecause", "10", "none of them", "", "4", "**5**", "3"]


def reply(prompt: str) -> str:
    return REPLIES[zlib.crc32(prompt.encode()) % len(REPLIES)]


class Scripted:
    """Our engine with the same replies."""

    facts = EngineFacts("scripted", None, "0", "scripted", "float32", {}, 100, {})

    def generate(
        self, prompts: list[str], decoding: Any, *, skip: Any = ()
    ) -> Iterator[tuple[int, Completion]]:
        yield from (
            (place, Completion(reply(prompt)))
            for place, prompt in enumerate(prompts)
            if place not in skip
        )

    def rendered(self, prompt: str, chooses: bool = False) -> str:
        return prompt


@pytest.fixture(scope="module")
def item_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of two domains and two versions of unequal size."""
    folder = tmp_path_factory.mktemp("inspect")
    whole, path = folder / "whole.parquet", folder / "items.parquet"
    assert main(f"items build builtin --versions 0-1 --out {whole}".split()) == 0
    items = read_table(whole, Items)
    few = (
        items[items["domain"].isin(["social-relations", "physical-dynamics"])]
        .groupby(["domain", "version"])
        .head(4)
    )
    write_table(few.iloc[:-3].reset_index(drop=True), Items, path, read_provenance(whole))
    return path


def run(task: Any, folder: Path, limit: int | None = None, **arguments: str) -> dict[str, float]:
    def answer(messages: list[Any], *_: Any) -> ModelOutput:
        [message] = messages
        written = ModelOutput.from_content("mockllm", reply(message.text))
        written.usage = (
            ModelUsage()
        )  # else the mock model counts tokens with a tokenizer from the internet
        return written

    model = get_model("mockllm/model", custom_outputs=answer)
    return metrics(evaluate(task, model, folder, limit, **arguments))


def evaluate(
    task: Any, model: Any, folder: Path, limit: int | None = None, **arguments: str
) -> Any:
    [log] = inspect_ai.eval(
        task,
        model=model,
        task_args=arguments,
        log_dir=str(folder),
        display="none",
        limit=limit,
    )
    assert log.status == "success", log.error
    return log


def metrics(log: Any) -> dict[str, float]:
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


@pytest.mark.parametrize("eval_type", ["choice_free_two", "choice_free_zero", "likert_free_two"])
def test_the_same_replies_give_the_same_accuracy(
    item_table: Path, tmp_path: Path, eval_type: str
) -> None:
    way, items = way_of(eval_type), read_table(item_table, Items)
    named = f"worldprobe/ewok_{way.paradigm}"  # as ``inspect eval`` finds it
    theirs = run(named, tmp_path / "log", items=str(item_table), shots=way.shots)
    engine: Any = Scripted()
    responses, _ = ask(
        items, engine, way, load_prompts()[way.paradigm], open_store(tmp_path / "store", engine)
    )
    judged = judge_responses(items, responses, "ours").table
    assert theirs["accuracy"] == pytest.approx(overall(judged), abs=1e-12)
    assert ("pairing" in theirs) == way.is_rated
    if way.is_rated:
        assert theirs["pairing"] == pytest.approx(overall(judged, "pairing"), abs=1e-12)
    assert theirs["read"] == pytest.approx((responses["status"] == "ok").mean(), abs=1e-12)
    assert 0 < theirs["read"] < 1
    assert theirs["n_missing"] == (responses["status"] != "ok").sum() > 0
    assert theirs["n_items"] == len(items)


def test_what_inspect_needs_is_pinned(repository: Path) -> None:
    """All that it imports is in one of the two files of which its environment is made."""
    pinned = {
        canonicalize_name(re.split("==| @", line)[0])
        for name in ("requirements.txt", "requirements-inspect.txt")
        for line in (repository / "envs" / name).read_text().splitlines()
        if "==" in line and not line.startswith("#")
    }
    needed, seen = ["inspect_ai"], set()
    while needed:
        name = canonicalize_name(needed.pop())
        if name not in seen:
            seen.add(name)
            wanted = map(Requirement, distribution(name).requires or [])
            needed += [each.name for each in wanted if _applies(each)]
    assert seen - pinned == set()


def _applies(each: Requirement) -> bool:
    return each.marker is None or each.marker.evaluate({"extra": ""})


def overall(judged: pd.DataFrame, metric: str = "accuracy") -> float:
    means = item_means(judged).set_index(["grouping", "metric", "condition"])
    return float(means.loc[("overall", metric, ALL), "mean"])


class Completions:
    """A server of /v1/completions on loopback, as vLLM is one: ``prompt_logprobs`` of token
    ids, none for the first token.
    """

    def __init__(self, checkpoint: Path) -> None:
        import transformers

        self.model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint).eval()

    def prompt_logprobs(self, ids: list[int]) -> list[dict[str, Any] | None]:
        import torch

        with torch.no_grad():
            table = self.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
        found: list[dict[str, Any] | None] = [None]
        for place, token in enumerate(ids[1:]):
            entry = {
                "decoded_token": f"<{token}>",
                "logprob": table[place, token].item(),
                "rank": 2,
            }
            best = int(table[place].argmax())
            likeliest = {
                "decoded_token": f"<{best}>",
                "logprob": table[place, best].item(),
                "rank": 1,
            }
            found.append({str(token): entry} | ({} if best == token else {str(best): likeliest}))
        return found

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "text": "x",
            "finish_reason": "length",
            "logprobs": None,
        }
        if body.get("prompt_logprobs"):
            choice["prompt_logprobs"] = self.prompt_logprobs(body["prompt"])
        usage = {
            "prompt_tokens": len(body["prompt"]),
            "completion_tokens": 1,
            "total_tokens": len(body["prompt"]) + 1,
        }
        return {
            "id": "1",
            "object": "text_completion",
            "created": 0,
            "model": "tiny",
            "choices": [choice],
            "usage": usage,
        }


@pytest.fixture
def completions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function: checkpoint -> its server, and inspect's model there."""
    opened = []

    def serve(checkpoint: Path) -> tuple[Completions, Any]:
        stub = Completions(checkpoint)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/completions"
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                content = json.dumps(stub.answer(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        opened.append(server)
        monkeypatch.setenv("STUB_API_KEY", "none")
        monkeypatch.setenv("STUB_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        return stub, get_model("openai-api-completions/stub/tiny", memoize=False)

    yield serve
    for server in opened:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [("gpt2", "byte_level"), ("llama", "sentencepiece"), ("llama", "prepended")],
)
def test_log_probabilities_are_judged_as_ours(
    item_table: Path,
    tmp_path: Path,
    tiny_checkpoint: Any,
    completions: Any,
    architecture: str,
    kind: str,
) -> None:
    checkpoint, items = tiny_checkpoint(architecture, kind), read_table(item_table, Items)
    _, model = completions(checkpoint)
    log = evaluate(
        inspect_tasks.ewok_logprobs(str(item_table), str(checkpoint)), model, tmp_path / "log"
    )
    engine = open_engine(str(checkpoint))
    ours, _, _ = score_logprobs(items, engine, open_store(tmp_path / "store", engine))
    wanted = {
        f"{row.item_id} t{row.target}c{row.context}": row.logprob
        for row in ours.itertuples()
        if row.context
    }
    theirs = {sample.id: sample.scores["log_probability"].value for sample in log.samples}
    assert theirs == pytest.approx(wanted, abs=1e-4)
    judged = judge_target_scores(items, ours, "ours").table
    assert metrics(log)["accuracy"] == pytest.approx(overall(judged), abs=1e-12)
    assert 0 < metrics(log)["accuracy"] < 1
    assert metrics(log)["n_missing"] == 0
    assert metrics(log)["n_items"] == len(items)


def test_with_a_limit_only_items_that_were_asked_as_a_whole_count(
    item_table: Path, tmp_path: Path
) -> None:
    assert run(inspect_tasks.ewok_likert(str(item_table)), tmp_path, limit=6)["n_items"] == 1
    none = run(inspect_tasks.ewok_likert(str(item_table)), tmp_path, limit=2)
    assert none["n_items"] == 0
    assert pd.isna(none["accuracy"])
