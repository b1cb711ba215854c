"""How fast trials are asked: constrained against lm-evaluation-harness, and basic chat against
transformers' own generation.

    python tests/performance/worldsense_asking.py TRIALS [--n-trials 2000] [--n-chats 64] [--layers
    12] [--runs 3]

A model of GPT-2-small's shape with random weights, both ways in one process, in turn, and every
answer compared.

* constrained: ``asking.ask`` with a fresh store, against HFLM's ``loglikelihood`` in batches of 32,
  which is what the harness's multiple choice asks: each answer behind the same prompt. The bar:
  twice as fast, the same choices.
* basic: the engine's ``write`` on chats of 64 new tokens at most, against greedy ``generate``, one
  chat at a time. The bar: five times as fast, the same texts.

Seconds of the processor are printed too, because a busy machine stretches the others.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "workflow" / "src")]

from scoring import build_checkpoint  # noqa: E402

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt"
    " %}assistant:{% endif %}"
)
NEW_TOKENS = 64


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, seconds, and seconds of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - processor


def compare(
    name: str, bar: float, runs: int, ours: Callable[[], list[Any]], peer: Callable[[], list[Any]]
) -> None:
    """Both in turn; prints medians, their ratio next to the bar, and how many answers are equal."""
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
    found: dict[str, list[Any]] = {}
    for _ in range(runs):
        for way, work in (("ours", ours), ("peer", peer)):
            found[way], *seconds = timed(work)
            times[way].append((seconds[0], seconds[1]))
    wall, processor = (
        {way: statistics.median(t[k] for t in times[way]) for way in times} for k in (0, 1)
    )
    equal = sum(a == b for a, b in zip(found["ours"], found["peer"], strict=True))
    print(
        f"{name}: ours {wall['ours']:.1f} s, peer {wall['peer']:.1f} s:"
        f" {wall['peer'] / wall['ours']:.1f} times (bar {bar:g}); of the processor"
        f" {processor['ours']:.1f} s and {processor['peer']:.1f} s:"
        f" {processor['peer'] / processor['ours']:.1f} times; {equal} of {len(found['ours'])} equal"
    )


def main() -> None:
    """Build, ask in turn, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trials", type=Path)
    parser.add_argument("--n-trials", type=int, default=2000)
    parser.add_argument("--n-chats", type=int, default=64)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()

    import torch
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from worldprobe.benchmarks.worldsense.inference.ask import Asking, ask, write_prompts
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.skins.vocabulary import answers_of
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.inference.store import open_store
    from worldprobe.models.engine import Decoding, Message
    from worldprobe.models.transformers_engine import open_engine

    trials = read_trials(args.trials).head(args.n_trials)
    constrained = load_prompt_set("constrained_sum")
    texts = write_prompts(trials, constrained, None)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        build_checkpoint(
            folder, [(None, text) for text in texts], layers=args.layers, vocabulary=16_384
        )
        (folder / "chat_template.jinja").write_text(TEMPLATE)
        engine = open_engine(str(folder))
        peer = HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=32)
        stores = iter(range(1000))

        def ours_constrained() -> list[Any]:
            store = open_store(Path(temporary) / f"store{next(stores)}", engine)
            frame, _ = ask(trials, engine, constrained, store, Asking())
            return frame.set_index("trial_id").loc[trials["trial_id"], "answer"].tolist()

        options = [answers_of(problem) for problem in trials["problem"]]
        pairs = [
            (text, f" {option}") for text, one in zip(texts, options, strict=True) for option in one
        ]
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=i)
            for i, pair in enumerate(pairs)
        ]

        def peer_constrained() -> list[Any]:
            values = iter([value for value, _ in peer.loglikelihood(requests, disable_tqdm=True)])
            return [max((next(values), option) for option in one)[1] for one in options]

        compare(
            f"constrained, {len(trials)} trials", 2, args.runs, ours_constrained, peer_constrained
        )

        chats = [(Message("user", text),) for text in trials["text"].head(args.n_chats)]
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

        def ours_basic() -> list[Any]:
            return [
                written.text
                for _, written in sorted(
                    engine.generate(chats, Decoding(NEW_TOKENS)), key=lambda one: one[0]
                )
            ]

        @torch.inference_mode()
        def peer_basic() -> list[Any]:
            found = []
            for chat in chats:
                text = engine.rendered(chat)
                ids = torch.tensor(
                    [
                        [
                            *engine.encoder.prefix,
                            *tokenizer(text, add_special_tokens=False)["input_ids"],
                        ]
                    ]
                )
                how = {
                    "max_new_tokens": NEW_TOKENS,
                    "do_sample": False,
                    "pad_token_id": tokenizer.eos_token_id,
                }
                new = model.generate(ids, attention_mask=torch.ones_like(ids), **how)[
                    0, ids.shape[1] :
                ]
                found.append(tokenizer.decode(new, skip_special_tokens=True))
            return found

        compare(f"basic, {len(chats)} chats", 5, args.runs, ours_basic, peer_basic)


if __name__ == "__main__":
    main()
