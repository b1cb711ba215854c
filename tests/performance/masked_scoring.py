"""How fast masked models are scored compared with minicons: ratio of medians over alternating runs in one process, equal numbers.

    python tests/performance/masked_scoring.py ITEMS [--n-items 100] [--runs 3] [--layers 12] [--width 768] [--pseudo original]

Builds a BERT of the given shape (default: BERT-base's, 110 million parameters) with random weights and a WordPiece tokenizer
trained on the items, then asks both ways for the six pseudo-log-likelihoods of each item, minicons in batches of 32. The bar: at
least 3 times as fast as minicons, equal to 1e-4 nats. CPU seconds are printed too, because a busy machine stretches the others.

The bar is not reached (1.4 to 2.4). Both ways pass every token of every row through BERT-base's layers, 170 MFLOP a token. What
can be left out is the projection to the vocabulary except where a token is hidden (48 MFLOP a token) and padding, and it is. Rows
that two targets of an item share are about 4% of those of the built-in items.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "workflow" / "src")]

from scoring import Pairs, read_pairs  # noqa: E402


def build_checkpoint(folder: Path, pairs: Pairs, layers: int, width: int) -> None:
    """BERT's shape, random weights, its published size of vocabulary."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        (f"{c or ''} {t}" for c, t in pairs), trainers.WordPieceTrainer(vocab_size=16_384, special_tokens=special)
    )
    around = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"num_hidden_layers": layers, "hidden_size": width, "intermediate_size": 4 * width}
    BertForMaskedLM(BertConfig(num_attention_heads=width // 64, **shape)).save_pretrained(folder)


def by_minicons(scorer: Any, pairs: Pairs, pseudo: str) -> list[float]:
    """minicons, batches of 32."""
    found: dict[int, float] = {}
    how = {"reduction": lambda values: values.sum(0).item(), "PLL_metric": pseudo}
    for is_bare in (False, True):
        chosen = [i for i, (context, _) in enumerate(pairs) if (context is None) == is_bare]
        for k in range(0, len(chosen), 32):
            some = chosen[k : k + 32]
            contexts, targets = [pairs[i][0] for i in some], [pairs[i][1] for i in some]
            values = scorer.sequence_score(targets, **how) if is_bare else scorer.conditional_score(contexts, targets, **how)
            found |= dict(zip(some, values, strict=True))
    return [found[i] for i in range(len(pairs))]


def main() -> None:
    """Build, run both ways in turn, print the medians and the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=Path)
    parser.add_argument("--n-items", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--pseudo", default="within_word_l2r", choices=("within_word_l2r", "original"))
    args = parser.parse_args()
    from minicons import scorer

    from worldprobe.models.engine import Loglikelihood
    from worldprobe.models.transformers_engine import open_engine

    pairs = read_pairs(args.items, args.n_items)
    with tempfile.TemporaryDirectory() as folder:
        build_checkpoint(Path(folder), pairs, args.layers, args.width)
        engine = open_engine(folder, kind="masked", pseudo=args.pseudo)
        theirs = scorer.MaskedLMScorer(folder, "cpu")
    # minicons 0.3.39 calls a method that transformers 5 removed.
    type(theirs.tokenizer).batch_encode_plus = lambda self, texts, **how: self(texts, **how)
    queries = [Loglikelihood(context, target) for context, target in pairs]

    def ours() -> list[float]:
        distinct = list(dict.fromkeys(queries))
        answers = dict(engine.score(distinct))
        by_query = {query: answers[i].logprob for i, query in enumerate(distinct)}
        return [by_query[query] for query in queries]

    ways = {"ours": ours, "minicons": lambda: by_minicons(theirs, pairs, args.pseudo)}
    spent: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    values: dict[str, list[float]] = {}
    for _ in range(args.runs):
        for way, run in ways.items():
            started, cpu = time.perf_counter(), time.process_time()
            values[way] = run()
            spent[way].append((time.perf_counter() - started, time.process_time() - cpu))
    seconds, cpu_seconds = ({way: statistics.median(run[k] for run in runs) for way, runs in spent.items()} for k in (0, 1))
    difference = max(abs(a - b) for a, b in zip(values["ours"], values["minicons"], strict=True))
    for way in ways:
        print(f"{way:10} {seconds[way]:8.2f} s  {cpu_seconds[way]:8.2f} CPU s  {args.n_items / seconds[way]:7.1f} items/s")
    ratio, of_cpu = seconds["minicons"] / seconds["ours"], cpu_seconds["minicons"] / cpu_seconds["ours"]
    print(f"bar: {ratio:.2f}x minicons (at least 3); {of_cpu:.2f}x by CPU seconds; largest difference {difference:.1e} nats")


if __name__ == "__main__":
    main()
