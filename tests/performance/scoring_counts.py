"""The least that LogProbs scoring can compute, against lm-evaluation-harness, counted in
multiplications; no model is run.

    python tests/performance/scoring_counts.py ITEMS [--n-items 100]

lm-eval reads every question whole, in batches of 32 padded to the longest, and takes the logits of
the whole vocabulary at every position. An exact way can read every distinct beginning of all
questions once, the nodes of their token trie, and needs logits only where a target's token is
predicted. Both are counted for GPT-2-small's shape: weights, attention and output projection. The
ratio bounds what an exact way can reach where a multiplication takes the same time in both; a
measured ratio may be higher, because lm-eval also writes, copies and normalises all logits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "workflow" / "src")]

from prompting_counts import VOCABULARY, WIDTH, body  # noqa: E402
from scoring import BATCH, build_tokenizer, read_pairs  # noqa: E402

from worldprobe.models.prefix_trie import pack, row_width  # noqa: E402

#: Token ids of a whole question, and the first position that is scored.
Sequences = Sequence[tuple[Sequence[int], int]]


def padded(sequences: Sequences) -> tuple[int, int]:
    """Multiplications of batches of whole sequences, longest first, logits everywhere; and the
    tokens with their padding.
    """
    lengths = sorted((len(ids) - 1 for ids, _ in sequences), reverse=True)
    widths = [lengths[at] for at in range(0, len(lengths), BATCH) for _ in lengths[at : at + BATCH]]
    return sum(body(place) + WIDTH * VOCABULARY for width in widths for place in range(width)), sum(
        widths
    )


def shared(sequences: Sequences) -> tuple[int, int, int]:
    """Multiplications of every distinct beginning once, logits behind those that predict; the
    beginnings; those that predict.
    """
    beginnings = {tuple(ids[:end]) for ids, _ in sequences for end in range(1, len(ids))}
    predicting = {tuple(ids[:end]) for ids, start in sequences for end in range(start, len(ids))}
    return (
        sum(body(len(one) - 1) for one in beginnings) + len(predicting) * WIDTH * VOCABULARY,
        len(beginnings),
        len(predicting),
    )


def main() -> None:
    """Count both, and what our rows add to the least."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path)
    parser.add_argument("--n-items", type=int, default=100)
    args = parser.parse_args()

    from worldprobe.models.chat import Encoder
    from worldprobe.models.engine import Loglikelihood

    pairs = read_pairs(args.items, args.n_items)
    tokenizer = build_tokenizer(pairs)
    encoder = Encoder(tokenizer, "gpt2", tokenizer.bos_token_id, 1024)
    sequences = [
        (one.ids, one.start)
        for one in encoder.encode([Loglikelihood(context, target) for context, target in pairs])
    ]
    theirs, read = padded(sequences)
    least, beginnings, predicting = shared(sequences)
    rows = pack(
        list(dict.fromkeys(sequences)), row_width(max(len(ids) for ids, _ in sequences), WIDTH)
    )
    tokens = sum(len(row.tokens) for row in rows)
    print(
        f"lm-eval: {theirs / 1e9:.0f} billion multiplications; {read} tokens with padding, logits"
        " at each"
    )
    print(
        f"least:   {least / 1e9:.0f}; {beginnings} beginnings, logits at {predicting}; packed"
        f" {tokens}"
    )
    print(f"bound:   {theirs / least:.2f}x, where a multiplication takes the same time in both")


if __name__ == "__main__":
    main()
