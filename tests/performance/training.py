"""What a step of a control model's training costs, as it is and in ways that were tried instead.

    python tests/performance/training.py results/controls/DIGEST [--ways plain,targets,chunks,bf16,compile] [--steps 50]

Prints the processor milliseconds of a step (forward, backward, optimiser), the share of padding and the loss of the last step,
on one thread. ``targets`` computes logits only where a token counts, ``chunks`` 128 of them at a time, ``bf16`` computes in
bfloat16, ``compile`` compiles the layers. All but ``bf16`` train the same model, up to rounding.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd
import torch
from torch.nn import functional

from worldprobe.training import scratch
from worldprobe.training.tokenizer import END_OF_TEXT, PADDING

WAYS = ("plain", "targets", "chunks", "bf16", "compile")
#: Steps before the clock starts: memory is allocated, and code compiled.
WARM_UP = 10
CHUNK = 128


def loss_of(way: str, model: torch.nn.Module, body: torch.nn.Module, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean loss of a batch, nats per token."""
    if way in ("plain", "bf16"):
        with torch.autocast("cpu", torch.bfloat16, enabled=way == "bf16"):
            return model(input_ids=tokens, labels=labels).loss
    states, wanted = body(input_ids=tokens, use_cache=False).last_hidden_state[:, :-1], labels[:, 1:]
    counts = wanted != scratch.IGNORED
    states, wanted = states[counts], wanted[counts]
    size = CHUNK if way == "chunks" else len(wanted)
    head = model.get_output_embeddings().weight
    pairs = zip(states.split(size), wanted.split(size), strict=True)
    return sum(functional.cross_entropy(part @ head.T, answers, reduction="sum") for part, answers in pairs) / len(wanted)


def main() -> None:
    """Train each shape in each way for some steps, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("controls", type=Path)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--shapes", default="gpt2-64,llama-128", help="architecture-width")
    args = parser.parse_args()
    tokenizer = scratch.load_tokenizer(args.controls / "tokenizer")
    end, padding = (tokenizer.token_to_id(token) for token in (END_OF_TEXT, PADDING))
    texts = pd.read_parquet(args.controls / "corpus" / "documents.parquet", columns=["text"])["text"].tolist()
    documents = [[end, *encoding.ids, end] for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    for shape in args.shapes.split(","):
        architecture, width = shape.split("-")
        settings = scratch.Settings(architecture, 2, int(width), 4, args.steps + WARM_UP, 32, 0.003, 0)
        for way in args.ways.split(","):
            torch.set_num_threads(1)
            torch.manual_seed(0)
            model = scratch.build_model(settings, tokenizer).train()
            body = torch.compile(model.base_model, dynamic=True) if way == "compile" else model.base_model
            optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, fused=True)
            spent, n_places, n_padding, loss = [0.0, 0.0, 0.0], 0, 0, float("nan")
            for step, (tokens, labels) in enumerate(scratch.batches(documents, settings, padding)):
                clock = [time.process_time()]
                found = loss_of(way, model, body, tokens, labels)
                clock.append(time.process_time())
                found.backward()
                clock.append(time.process_time())
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimiser.step()
                optimiser.zero_grad()
                clock.append(time.process_time())
                loss = found.item()
                if step >= WARM_UP:
                    spent = [total + after - before for total, before, after in zip(spent, clock, clock[1:], strict=False)]
                    n_places += tokens.numel()
                    n_padding += int((labels == scratch.IGNORED).sum())
            forward, backward, rest = (1000 * total / args.steps for total in spent)
            print(
                f"{shape:10} {way:8} {forward + backward + rest:7.1f} ms a step: forward {forward:.1f}, backward {backward:.1f},"
                f" optimiser {rest:.1f}; padding {n_padding / n_places:.1%}, last loss {loss:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
