"""The most that sharing can save when constrained Likert and Choice are asked, counted in
multiplications; no model is run.

    python tests/performance/prompting_counts.py ITEMS [--n-items 10]

A causal model gives exactly the same answer from keys and values that were computed for another
prompt only where both prompts begin alike, so the least that any exact way reads is every distinct
beginning of all prompts once: the nodes of their token trie. The original's constrained loop reads
each prompt whole, with logits at every position, then the answer with logits again. Both are
counted for GPT-2-small's shape: weights, attention and output projection, of which the answers' few
columns alone are needed. The ratio bounds what an exact way can reach where a multiplication takes
the same time in both. A measured ratio may be higher, because the loop multiplies small matrices,
with fewer multiplications per second.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "workflow" / "src")]

from scoring import build_tokenizer, read_pairs  # noqa: E402

LAYERS, WIDTH, VOCABULARY = 12, 768, 50_257
WAYS = tuple(
    f"{paradigm}_constrained_{shots}"
    for paradigm in ("choice", "likert")
    for shots in ("zero", "two")
)


def body(position: int) -> int:
    """Multiplications of all layers for one token that sees ``position`` tokens and itself."""
    return LAYERS * (12 * WIDTH * WIDTH + 2 * WIDTH * (position + 1))


def loop(prompts: Iterable[Sequence[int]]) -> int:
    """Of the original's loop: each prompt and its answer's one token, the whole vocabulary at
    each.
    """
    return sum(
        body(position) + WIDTH * VOCABULARY
        for tokens in prompts
        for position in range(len(tokens) + 1)
    )


def shared(prompts: Iterable[Sequence[int]], n_answers: int) -> tuple[int, int]:
    """Of every distinct beginning once, and the answers' columns behind each distinct prompt; and
    the number of beginnings.
    """
    trie: dict[int, dict] = {}
    multiplications = beginnings = 0
    distinct = {tuple(tokens) for tokens in prompts}
    for tokens in distinct:
        node = trie
        for position, token in enumerate(tokens):
            if token not in node:
                node[token] = {}
                beginnings += 1
                multiplications += body(position)
            node = node[token]
    return multiplications + len(distinct) * WIDTH * n_answers, beginnings


def main() -> None:
    """Count for each way of asking, and for all of them together."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path)
    parser.add_argument("--n-items", type=int, default=10)
    args = parser.parse_args()

    import pandas as pd

    from worldprobe.benchmarks.ewok.scoring import load_prompts, presentations
    from worldprobe.benchmarks.ewok.vocabulary import way_of

    items = pd.read_parquet(args.items)
    items = items.iloc[:: max(len(items) // args.n_items, 1)].head(args.n_items)
    texts = {}
    for name in WAYS:
        way = way_of(name)
        prompt = load_prompts()[way.paradigm]
        texts[name] = [
            prompt.text(slots, way.shots) for _, _, slots in presentations(items, way.paradigm)
        ]
    learned = [
        *read_pairs(args.items, 100),
        *((None, text) for many in texts.values() for text in many[:50]),
    ]
    tokenizer = build_tokenizer(learned)
    tokens = {name: tokenizer(many)["input_ids"] for name, many in texts.items()}
    print(f"{'way':24} {'prompts':>8} {'read':>10} {'shared':>10} {'at most':>8}")
    tokens["all four"] = [one for many in tokens.values() for one in many]
    for name, rows in tokens.items():
        least, beginnings = shared(rows, 2 if name.startswith("choice") else 5)
        read = sum(len(row) + 1 for row in rows)
        print(f"{name:24} {len(rows):8} {read:10} {beginnings:10} {loop(rows) / least:7.1f}x")


if __name__ == "__main__":
    main()
