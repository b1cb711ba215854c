"""What the benchmarks share: models with random weights, ways that take turns in processes of their
own, and tables that state machine, versions and settings.
"""

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SIZES = ("tiny", "quick", "page")
PACKAGES = ("worldprobe", "torch", "transformers", "lm_eval", "minicons", "vllm", "snakemake")
#: Loads a model and returns what is timed.
Way = Callable[..., Callable[[], list[Any]]]


def read_arguments(program: str, sizes: Mapping[str, Mapping[str, Any]]) -> argparse.Namespace:
    """The command line, with ``settings``: those of the size.

    Args:
        program: its docstring.
        sizes: size -> settings.
    """
    parser = argparse.ArgumentParser(
        description=program, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "benchmarks")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--checkpoint", help="a model in place of the first shape of random weights"
    )
    given = parser.parse_args()
    given.settings = dict(sizes[given.size])
    if given.checkpoint:
        given.settings["cases"] = [[Path(given.checkpoint).name, *given.settings["cases"][0][1:]]]
    # Read by PyTorch, NumPy and their libraries, in this process and in those that it starts.
    os.environ.update({"OMP_NUM_THREADS": str(given.threads), "HF_HUB_OFFLINE": "1"})
    (given.out / "made").mkdir(parents=True, exist_ok=True)
    return given


def worldprobe(*words: object) -> None:
    """Run a command of worldprobe."""
    subprocess.run([sys.executable, "-m", "worldprobe", *map(str, words)], check=True)


def build_model(name: str, texts: Sequence[str], folder: Path) -> str:
    """A checkpoint with random weights, and a byte-level tokenizer that has learned from texts.

    Args:
        name: its shape: gpt2 (GPT-2 small), llama (260 thousand weights) or tiny.
        texts: what the tokenizer learns from.
        folder: where models are kept.

    Returns:
        The checkpoint's folder.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedTokenizerFast

    place, end = folder / name, "<|endoftext|>"
    learned, rows = {"gpt2": (16_384, 50_257), "llama": (512, 512), "tiny": (300, 300)}[name]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    how = {"special_tokens": [end], "initial_alphabet": alphabet, "show_progress": False}
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=learned, **how))
    state = json.loads(tokenizer.to_str())
    known = state["model"]["vocab"]  # one token for each embedding, though some are in no text
    known |= {f"unused {number}": number for number in range(len(known), rows)}
    tokenizer = Tokenizer.from_str(json.dumps(state))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end)
    fast.save_pretrained(place)
    ends = {
        "vocab_size": rows,
        "bos_token_id": fast.bos_token_id,
        "eos_token_id": fast.eos_token_id,
    }
    layers, width = {"gpt2": (12, 768), "llama": (5, 64), "tiny": (1, 32)}[name]
    torch.manual_seed(0)
    config = (
        GPT2Config(n_layer=layers, **ends)
        if name == "gpt2"
        else LlamaConfig(
            hidden_size=width,
            intermediate_size=172,
            num_hidden_layers=layers,
            num_attention_heads=8,
            num_key_value_heads=4,
            tie_word_embeddings=True,
            max_position_embeddings=2048,
            **ends,
        )
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(place)
    return str(place)


def _memory(kind: str) -> float:
    """This process's memory in MB: VmRSS now, VmHWM at its highest."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


def _serve(pipe: Any, way: Way, given: Sequence[Any]) -> None:
    """A process: loads once, then works once for each message."""
    import transformers

    _ = transformers.AutoModelForCausalLM, transformers.AutoTokenizer  # loaded, with torch
    before, started = _memory("VmRSS"), time.perf_counter()
    try:
        run = way(*given)
    except ImportError as error:
        pipe.send(str(error))
        return
    loaded = time.perf_counter() - started
    pipe.send(None)
    while pipe.recv():
        started, cpu = time.perf_counter(), time.process_time()
        values = run()
        now = time.perf_counter() - started, time.process_time() - cpu
        pipe.send((*now, loaded, _memory("VmHWM") - before, values))


def take_turns(ways: Mapping[str, Way], given: Sequence[Any], rounds: int) -> dict[str, list[Any]]:
    """Each way works once in every round, so that a busy machine slows all alike.

    Args:
        ways: name -> way; one whose package is not installed is left out, with a line.
        given: the ways' arguments.
        rounds: how often.

    Returns:
        For each way its runs: seconds, seconds of the processor, seconds until it was loaded,
        megabytes beyond the imports, values.
    """
    context, pipes, runs = multiprocessing.get_context("spawn"), {}, dict[str, list[Any]]()
    for name, way in ways.items():
        pipe, theirs = context.Pipe()
        context.Process(target=_serve, args=(theirs, way, given)).start()
        theirs.close()
        if missing := pipe.recv():
            print(f"{name}: left out ({missing})")
        else:
            pipes[name] = pipe
    for _ in range(rounds):
        for name, pipe in pipes.items():
            pipe.send(True)
            runs.setdefault(name, []).append(pipe.recv())
    for pipe in pipes.values():
        pipe.send(False)
    return runs


def compared(case: str, runs: Mapping[str, list[Any]], differ: Callable[..., Any]) -> list[dict]:
    """A row for each way: medians, and how many times as long as worldprobe it takes, the median
    over the rounds.

    Args:
        case: what was asked.
        runs: of ``take_turns``.
        differ: two ways' values -> how far they are apart.
    """
    ours = runs["worldprobe"]
    return [
        {
            "case": case,
            "program": name,
            "seconds": rounded(statistics.median(run[0] for run in many)),
            "CPU seconds": rounded(statistics.median(run[1] for run in many)),
            "times worldprobe's": rounded(
                statistics.median(run[0] / our[0] for run, our in zip(many, ours, strict=True))
            ),
            "MB": round(max(run[3] for run in many)),
            "difference": differ(many[0][4], ours[0][4]),
        }
        for name, many in runs.items()
    ]


def rounded(value: float) -> float:
    """To three digits."""
    return float(f"{value:.3g}")


def differing(one: Sequence[Any], other: Sequence[Any]) -> str:
    """How many values of two ways are not the same."""
    return f"{sum(a != b for a, b in zip(one, other, strict=True))} of {len(one)}"


def write(name: str, given: argparse.Namespace, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write and print a table, with what it was measured on."""
    from worldprobe.models.checkpoint import processor

    versions = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    machine = {"processor": processor(), "threads": given.threads}
    settings = {"size": given.size, **given.settings}
    day = datetime.now(UTC).date().isoformat()
    table = {"date": day, "machine": machine, "versions": versions, "settings": settings}
    of_model = f"_{Path(given.checkpoint).name}" if given.checkpoint else ""
    place = given.out / f"{name}{of_model}.json"
    place.write_text(json.dumps(table | {"rows": rows}, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print("  ".join(f"{key}: {value}" for key, value in row.items()))
    print(place)
