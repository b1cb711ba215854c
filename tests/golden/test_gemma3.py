"""Gemma 3 270M, which others trained: log probabilities of two other programs.

It has what SmolLM2 lacks: layers that see 512 tokens, a vocabulary of 262 thousand tokens whose
weights are tied, a start token that the tokenizer adds. It is fetched by who accepts its terms.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from llama_server import serve
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.contracts import read_table
from worldprobe.models import gguf, packages
from worldprobe.models.engine import Loglikelihood
from worldprobe.settings.registry import read_registry

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
written = pytest.importorskip("gguf")

pytestmark = pytest.mark.slow

CARD = read_registry(Path(__file__).resolve().parents[2] / "config" / "models.yaml")["gemma3_270m"]
NOT_HERE = (
    "Gemma is not here: who accepts its terms runs `worldprobe models fetch gemma3_270m"
    " --accept-terms gemma`"
)
#: Layers other than each sixth see so many tokens.
WINDOW = 512
#: How far the log probability of a token may be from that of transformers, in nats, and from that
#: of llama.cpp with the same weights in float32.
BOUND, BOUND_LLAMA_CPP = 1e-3, 1e-2
#: The likeliest tokens that llama.cpp tells.
LIKELIEST = 2_000


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    path = packages.parse_package_url(CARD["checkpoint"]).local_path
    if not path.exists():
        pytest.skip(NOT_HERE)
    return path


@pytest.fixture(scope="session")
def checkpoint(gguf_file: Path) -> str:
    return str(gguf.imported(gguf_file))


@pytest.fixture(scope="session")
def tokenize(checkpoint: str) -> Callable[[str], list[int]]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    return lambda text: tokenizer(text)["input_ids"]


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Contexts and targets: two of each domain, spread over its items, and one behind the contexts
    of all, which is longer than the window.
    """
    table = tmp_path_factory.mktemp("items") / "items.parquet"
    assert run(f"items build builtin@4 --versions 0 --limit 26 --out {table}") == 0
    pairs = [(row.context1, row.target1) for row in read_table(table, Items).itertuples()]
    contexts = " ".join(context for context, _ in pairs * 3)
    return [*pairs, (contexts, pairs[0][1])]


@pytest.fixture(scope="session")
def ours(texts: list[tuple[str, str]], checkpoint: str) -> list[list[float]]:
    """Our log probabilities of each target's tokens."""
    from worldprobe.models.transformers_engine import open_engine

    queries = [Loglikelihood(*text) for text in texts]
    scored = sorted(open_engine(checkpoint).score(queries, per_token=True))
    return [[*one.token_logprobs] for _, one in scored]


def plain(checkpoint: str, ids: list[int], start: int, **config: Any) -> list[float]:
    """The same by transformers, of all tokens from ``start`` on."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="eager", **config
    ).eval()
    with torch.inference_mode():
        logits = model(torch.tensor([ids]), logits_to_keep=len(ids) - start + 1).logits[0]
    rows = logits[:-1].log_softmax(-1)
    return rows.gather(1, torch.tensor(ids[start:])[:, None])[:, 0].tolist()


def farthest(ours: list[float], theirs: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def test_the_model_is_what_others_publish(checkpoint: str, tokenize: Any) -> None:
    config = transformers.AutoConfig.from_pretrained(checkpoint)
    assert (config.vocab_size, config.sliding_window) == (262_144, WINDOW)
    assert config.tie_word_embeddings
    assert config.final_logit_softcapping is config.attn_logit_softcapping is None
    assert config.layer_types.count("sliding_attention") == 15
    assert len(config.layer_types) == 18
    assert tokenize("A cat.")[0] == config.bos_token_id == 2
    assert tokenize("A cat.").count(2) == 1


def test_log_probabilities_are_those_of_transformers(
    texts: list[tuple[str, str]], ours: list[list[float]], checkpoint: str, tokenize: Any
) -> None:
    for (context, target), scored in zip(texts, ours, strict=True):
        ids, start = tokenize(f"{context} {target}"), len(tokenize(context))
        assert farthest(scored, plain(checkpoint, ids, start)) < BOUND
    assert start > WINDOW
    wider = plain(checkpoint, ids, start, sliding_window=8 * WINDOW)
    assert farthest(scored, wider) > 10 * BOUND, "the window counts in the long text"


@pytest.fixture(scope="session")
def float32_file(gguf_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with its weights in float32: of quantised ones llama.cpp also rounds what flows
    between layers.
    """
    path = tmp_path_factory.mktemp("gguf") / "float32.gguf"
    read = written.GGUFReader(gguf_file)
    writer = written.GGUFWriter(path, "gemma3")
    for name, field in read.fields.items():
        if not name.startswith("GGUF.") and name not in ("general.architecture", "split.count"):
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, inner[-1] if inner else None)
    for tensor in read.tensors:
        writer.add_tensor(tensor.name, written.dequantize(tensor.data, tensor.tensor_type))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    return path


def test_log_probabilities_are_those_of_llama_cpp(
    texts: list[tuple[str, str]], ours: list[list[float]], float32_file: Path, tokenize: Any
) -> None:
    differences, n_tokens = [], 0
    with serve(float32_file, "gemma") as address:
        for (context, target), scored in [*zip(texts, ours, strict=True)][::-4]:
            ids, start = tokenize(f"{context} {target}"), len(tokenize(context))
            for place, value in enumerate(scored, start):
                asked = {"prompt": ids[:place], "n_predict": 1, "n_probs": LIKELIEST}
                body = json.dumps(asked | {"temperature": -1.0, "cache_prompt": True}).encode()
                request = urllib.request.Request(f"{address}/completion", body)
                request.add_header("Content-Type", "application/json")
                with urllib.request.urlopen(request) as response:
                    [step] = json.load(response)["completion_probabilities"]
                told = {top["id"]: top["logprob"] for top in step["top_logprobs"]}
                differences += [abs(told[ids[place]] - value)] if ids[place] in told else []
            n_tokens += len(scored)
    assert len(differences) > 0.8 * n_tokens, "the others are not among the likeliest"
    assert max(differences) < BOUND_LLAMA_CPP
