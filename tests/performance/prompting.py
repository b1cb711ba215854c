"""How fast constrained Likert and Choice are compared with the original's loop.

That loop (EWoK's paper repository, which pins outlines 0.0.13) takes one prompt at a time. Each
step is a forward pass with a cache of keys and values and with logits at every position; a mask
over the vocabulary allows the numerals first, then only the end of the text, which is generated
too. Beside it stands its free loop, of 20 tokens at most, once.

    python tests/performance/prompting.py ITEMS [--n-items 10] [--runs 5] [--eval-type
    choice_constrained_two]

A model of GPT-2-small's shape with random weights; both ways in one process, in turn, and every
answer compared. The bar: at least 10 times the original's way.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "workflow" / "src")]

from scoring import build_checkpoint, read_pairs  # noqa: E402


def main() -> None:
    """Build, ask in turn, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path)
    parser.add_argument("--n-items", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--eval-type", default="choice_constrained_two")
    parser.add_argument("--checkpoint", type=Path, help="keep the model here")
    args = parser.parse_args()

    import pandas as pd
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from worldprobe.benchmarks.ewok.scoring import load_prompts, presentations
    from worldprobe.benchmarks.ewok.vocabulary import way_of
    from worldprobe.models.transformers_engine import open_engine

    way = way_of(args.eval_type)
    prompt = load_prompts()[way.paradigm]
    items = pd.read_parquet(args.items)
    items = items.iloc[:: max(len(items) // args.n_items, 1)].head(args.n_items)
    prompts = [prompt.text(slots, way.shots) for _, _, slots in presentations(items, way.paradigm)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.checkpoint or Path(temporary)
        if not (folder / "config.json").exists():
            learned = [*read_pairs(args.items, 100), *((None, text) for text in prompts)]
            build_checkpoint(folder, learned, layers=12, vocabulary=50_257)
        engine = open_engine(str(folder))
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    end = tokenizer.eos_token_id
    masks = []
    for allowed in ([tokenizer(answer)["input_ids"][0] for answer in prompt.answers], [end]):
        mask = torch.full((model.config.vocab_size,), float("-inf"))
        mask[allowed] = 0
        masks.append(mask)

    @torch.inference_mode()
    def original() -> list[str]:
        answers = []
        for text in prompts:
            tokens = tokenizer(text, return_tensors="pt")["input_ids"]
            cache, written = None, []
            while not written or written[-1] != end:
                attended = torch.ones((1, tokens.shape[1] + len(written)), dtype=torch.long)
                step = torch.tensor([written[-1:]]) if written else tokens
                out = model(step, attention_mask=attended, past_key_values=cache, use_cache=True)
                cache = out.past_key_values
                written.append(int((out.logits[0, -1] + masks[min(len(written), 1)]).argmax()))
            answers.append(tokenizer.decode(written[:-1]))
        return answers

    def original_free() -> list[str]:
        written = []
        for text in prompts:
            inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
            with torch.inference_mode():
                out = model.generate(
                    **inputs,
                    max_new_tokens=20,
                    do_sample=False,
                    stop_strings=["\n\n"],
                    tokenizer=tokenizer,
                )
            written.append(tokenizer.decode(out[0, inputs["input_ids"].shape[1] :]))
        return written

    def ours() -> list[str]:
        found = dict(engine.choose(prompts, [prompt.answers] * len(prompts)))
        return [found[i].text for i in range(len(prompts))]

    ways = {"ours": ours, "original": original}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    answers: dict[str, list[str]] = {}
    for _ in range(args.runs):
        for name, way in ways.items():
            started = time.perf_counter()
            answers[name] = way()
            seconds[name].append(time.perf_counter() - started)
    median = {name: statistics.median(runs) for name, runs in seconds.items()}
    started = time.perf_counter()
    original_free()
    free = time.perf_counter() - started
    rows = [
        ("ours", median["ours"]),
        ("original, constrained", median["original"]),
        ("original, free (one run)", free),
    ]
    for name, taken in rows:
        print(
            f"{name:25} {taken:8.2f} s  {len(prompts) / taken:8.1f} prompts/s  ours is"
            f" {taken / median['ours']:.1f}x"
        )
    differing = sum(a != b for a, b in zip(answers["ours"], answers["original"], strict=True))
    print(f"constrained answers that differ: {differing} of {len(prompts)}")
    print(
        f"bar: {median['original'] / median['ours']:.1f}x the original's constrained loop (at"
        " least 10)"
    )


if __name__ == "__main__":
    main()
