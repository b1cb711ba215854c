"""On a machine with a GPU, in fifteen minutes: vLLM and transformers on both real models, and a
model of 7 billion parameters beside lm-eval: seconds, and how far log probabilities differ.

    worldprobe models fetch smollm2_135m
    worldprobe models fetch gemma3_270m --accept-terms gemma
    python docs/benchmarks/gpu.py --out gpu.md

A program that is not installed is named and left out; each has a process of its own and at most
four minutes. To try it without a GPU: --items 20 --models smollm2_135m --device cpu.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Llama 2's shape with random weights, made on the spot.
LARGE = "7B shape"
SMALL = ("smollm2_135m", "gemma3_270m")
#: Package -> how a program is called in the table; the first is the reference.
PROGRAMS = {"transformers": "worldprobe", "vllm": "worldprobe, vLLM", "lm_eval": "lm-eval"}
SECONDS = 240
WARM_UP = 32


def make_large(folder: Path, device: str) -> None:
    """Write the 7B shape in bfloat16, with SmolLM2's tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(folder_of(SMALL[0]))
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device):
        model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **ids))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def folder_of(model: str) -> str:
    """The fetched folder of a model of the registry."""
    from worldprobe.models.checkpoint import locate
    from worldprobe.settings import read_registry

    card = read_registry(ROOT / "config" / "models.yaml")[model]
    return str(locate(card["checkpoint"]).folder)


def questions(number: int) -> list[Any]:
    """Both contexts with both targets of built-in items, spread evenly."""
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.cli import main
    from worldprobe.contracts import read_table
    from worldprobe.models.engine import Loglikelihood

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "items.parquet")
        main(["items", "build", "builtin@3", "--versions", "0", "--out", str(table)])
        items = read_table(table, Items)
    chosen = items.iloc[:: max(1, len(items) // number)].head(number)
    return [
        Loglikelihood(getattr(row, f"context{c}"), getattr(row, f"target{t}"))
        for row in chosen.itertuples()
        for c in (1, 2)
        for t in (1, 2)
    ]


def measure(folder: str, program: str, dtype: str, device: str, number: int) -> dict[str, Any]:
    """Seconds for all questions, the model loaded and warm, and their log probabilities."""
    asked = questions(number)
    if program == "lm_eval":
        from lm_eval.api.instance import Instance
        from lm_eval.models.huggingface import HFLM

        peer = HFLM(pretrained=folder, dtype=dtype, device=device, batch_size=64)

        def answer(queries: list[Any]) -> list[float]:
            texts = [(query.context, f"{query.join}{query.target}") for query in queries]
            found = peer.loglikelihood(
                [Instance("loglikelihood", {}, text, i) for i, text in enumerate(texts)]
            )
            return [value for value, _ in found]
    else:
        from worldprobe.models import transformers_engine, vllm_engine

        if program == "vllm":
            engine: Any = vllm_engine.open_engine(folder, dtype=dtype)
        else:
            engine = transformers_engine.open_engine(folder, dtype=dtype, device=device)

        def answer(queries: list[Any]) -> list[float]:
            return [scored.logprob for _, scored in sorted(engine.score(queries))]

    answer(asked[:WARM_UP])
    start = time.perf_counter()
    values = answer(asked)
    return {"seconds": time.perf_counter() - start, "values": values}


def compared(model: str, folder: str, given: argparse.Namespace) -> list[str]:
    """Rows of the table: each program on one model, in a process of its own."""
    dtypes = ["bfloat16"] if model == LARGE else ["float32", "bfloat16"]
    rows, reference = [], None
    for dtype in dtypes:
        for program, name in PROGRAMS.items():
            shown = f"| {model} | {dtype} | {name} |"
            if importlib.util.find_spec(program) is None:
                rows.append(f"{shown} not installed | |")
                continue
            how = [folder, program, dtype, given.device, str(given.items)]
            try:
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", *how],
                    stdout=subprocess.PIPE,
                    text=True,
                    timeout=SECONDS,
                    check=True,
                )
            except subprocess.SubprocessError as error:
                rows.append(f"{shown} failed ({type(error).__name__}) | |")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            reference = reference or found["values"]
            far = max(abs(a - b) for a, b in zip(found["values"], reference, strict=True))
            rows.append(f"{shown} {found['seconds']:.2f} | {far:.1e} |")
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Measure everything, or one program, which prints JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--models", nargs="+", default=[*SMALL, LARGE])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", nargs=5)
    given = parser.parse_args()
    if given.measure:
        *how, number = given.measure
        print(json.dumps(measure(*how, int(number))))
        return
    rows = [
        f"{given.items} items, {4 * given.items} log probabilities; differences (nats) from the"
        " first program of each model",
        "",
        "| model | precision | program | seconds | largest difference |",
        "|---|---|---|---:|---:|",
    ]
    for model in given.models:
        with tempfile.TemporaryDirectory() as folder:
            if model == LARGE:
                make_large(Path(folder), given.device)
            rows += compared(model, folder if model == LARGE else folder_of(model), given)
    text = "\n".join(rows) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
