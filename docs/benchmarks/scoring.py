"""How fast, and in how much memory, log probabilities are computed, beside lm-eval, minicons,
vLLM's CPU build and the original's loop; all are asked the same questions about items.

    python docs/benchmarks/scoring.py [--size page] [--threads 1] [--checkpoint FOLDER]
"""

from collections.abc import Callable, Sequence

import pandas as pd
from common import build_model, compared, read_arguments, take_turns, worldprobe, write

BATCH = 32
SIZES = {
    "tiny": {"cases": [["tiny", 2]], "rounds": 1, "programs": ["worldprobe", "original"]},
    "quick": {"cases": [["gpt2", 10], ["llama", 100]], "rounds": 3},
    "page": {"cases": [["gpt2", 25], ["llama", 100], ["llama", 400]], "rounds": 5},
}
#: (context, target) in the order of the items; repeats included, as an evaluation asks them.
Pairs = Sequence[tuple[str, str]]
Run = Callable[[], list[float]]


def ours(folder: str, pairs: Pairs) -> Run:
    """The engine, without the store."""
    from worldprobe.models.engine import Loglikelihood
    from worldprobe.models.transformers_engine import open_engine

    engine = open_engine(folder)

    def run() -> list[float]:
        queries = [Loglikelihood(*pair) for pair in pairs]
        distinct = list(dict.fromkeys(queries))
        by_query = {distinct[i]: answer.logprob for i, answer in engine.score(distinct)}
        return [by_query[query] for query in queries]

    return run


def original(folder: str, pairs: Pairs) -> Run:
    """One pass for each question, all logits; the target starts where the context's tokens end."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    @torch.no_grad()
    def score(context: str, target: str) -> float:
        start = len(tokenizer(context)["input_ids"])
        ids = torch.tensor([tokenizer(f"{context} {target}")["input_ids"]])
        logprobs = torch.log_softmax(model(ids).logits[0, :-1], dim=-1)
        return logprobs.gather(1, ids[0, 1:, None])[start - 1 :].sum().item()

    return lambda: [score(*pair) for pair in pairs]


def minicons(folder: str, pairs: Pairs) -> Run:
    """The package minicons."""
    from minicons import scorer

    model = scorer.IncrementalLMScorer(folder, "cpu")

    def run() -> list[float]:
        found = []
        for k in range(0, len(pairs), BATCH):
            both = map(list, zip(*pairs[k : k + BATCH], strict=True))
            found += model.conditional_score(*both, reduction=lambda x: x.sum(0).item())
        return found

    return run


def lm_eval(folder: str, pairs: Pairs, joint: str = " ") -> Run:
    """lm-evaluation-harness; ``joint`` stands between the two texts."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=BATCH)
    asked = [
        Instance(request_type="loglikelihood", doc={}, arguments=(context, joint + target), idx=i)
        for i, (context, target) in enumerate(pairs)
    ]
    return lambda: [value for value, _ in model.loglikelihood(asked, disable_tqdm=True)]


def vllm(folder: str, pairs: Pairs) -> Run:
    """The engine vLLM with prompt_logprobs; its prefix cache does not go with them."""
    from vllm import LLM, SamplingParams

    size = {"max_model_len": 512, "kv_cache_memory_bytes": 1 << 30}
    model = LLM(folder, dtype="float32", enable_prefix_caching=False, **size)
    tokenizer = model.get_tokenizer()
    prompts = [{"prompt_token_ids": tokenizer(f"{c} {t}")["input_ids"]} for c, t in pairs]
    starts = [len(tokenizer(context)["input_ids"]) for context, _ in pairs]
    how = SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False)

    def run() -> list[float]:
        answers = model.generate(prompts, how, use_tqdm=False)
        return [
            sum(next(iter(token.values())).logprob for token in answer.prompt_logprobs[start:])
            for answer, start in zip(answers, starts, strict=True)
        ]

    return run


WAYS = {
    "worldprobe": ours,
    "original": original,
    "minicons": minicons,
    "lm-eval": lm_eval,
    "vLLM": vllm,
}


def farthest(one: Sequence[float], other: Sequence[float]) -> str:
    """The largest difference, in nats."""
    return f"{max(abs(a - b) for a, b in zip(one, other, strict=True)):.1g} nats"


def main() -> None:
    """Build items and models, let the programs take turns."""
    given, rows = read_arguments(__doc__, SIZES), []
    table = given.out / "made" / "items.parquet"
    sample = ["--sample", "1"] if given.size == "tiny" else []
    worldprobe("items", "build", "builtin@3", "--versions", "0", *sample, "--out", table)
    items = pd.read_parquet(table)
    ways = {name: WAYS[name] for name in given.settings.get("programs", WAYS)}
    for shape, n_items in given.settings["cases"]:
        chosen = items.iloc[:: max(len(items) // n_items, 1)].head(n_items)
        pairs = [
            (getattr(item, f"context{c}"), getattr(item, f"target{t}"))
            for item in chosen.itertuples()
            for t in (1, 2)
            for c in (1, 2)
        ]
        texts = [" ".join(pair) for pair in pairs]
        folder = given.checkpoint or build_model(shape, texts, given.out / "made")
        runs = take_turns(ways, (folder, pairs), given.settings["rounds"])
        rows += compared(f"{shape}, {n_items} items", runs, farthest)
    write("scoring", given, rows)


if __name__ == "__main__":
    main()
