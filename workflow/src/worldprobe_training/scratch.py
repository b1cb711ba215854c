"""Small causal language models, trained from scratch on the corpus and saved as ordinary Hugging
Face folders.

The only module next to ``worldprobe.models`` that imports torch and transformers. With the same
corpus, settings and packages the weights are the same, byte for byte: one seed, deterministic
kernels, a fixed number of threads, and pinned instructions (``worldprobe.models.checkpoint``), so
that Intel processors of different types agree. Other makes may differ.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

from worldprobe.errors import UserError
from worldprobe.log import LOGGER, Progress
from worldprobe.provenance import Provenance, of_rehearsal
from worldprobe_training.settings import ScratchSettings
from worldprobe_training.tokenizer import END_OF_TEXT, PADDING

IGNORED = -100
#: Batches that are sorted by length together: less padding, and still a new mixture in every epoch.
BATCHES_SORTED_TOGETHER = 32
#: Share of the steps in which the learning rate rises from 0 to its peak; then it falls along a
#: cosine to a tenth.
WARM_UP, LOWEST = 0.05, 0.1
STEPS_AVERAGED = 50


def train(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    settings: ScratchSettings,
    name: str,
    starts: Sequence[int] | None = None,
    keep: Callable[[int, transformers.PreTrainedModel], None] | None = None,
) -> tuple[transformers.PreTrainedModel, list[float]]:
    """Train one model on documents.

    Args:
        texts: documents; each is one sequence, begun and ended by the end-of-text token.
        tokenizer: a tokenizer of ``worldprobe_training.tokenizer``.
        settings: architecture and training.
        name: the model's name in the progress lines.
        starts: character of each document at which begins what the model learns to continue; None:
            with all of it.
        keep: called with 0 and the model before the first step, and with the number of steps after
            each.

    Returns:
        the model and its loss at every step (nats per token).
    """
    torch.set_num_threads(settings.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(settings.seed)
    model = build_model(settings, tokenizer)
    if keep:
        keep(0, model)
    if settings.steps == 0:
        return model.eval(), []
    end, padding = (tokenizer.token_to_id(token) or 0 for token in (END_OF_TEXT, PADDING))
    documents = []
    for encoding, start in zip(
        tokenizer.encode_batch(list(texts), add_special_tokens=False),
        starts or [0] * len(texts),
        strict=True,
    ):
        n_given = 1 + sum(last <= start for _, last in encoding.offsets) if start else 1
        documents.append(([end, *encoding.ids, end][: settings.positions], n_given))
    optimiser = torch.optim.AdamW(
        model.parameters(),
        lr=settings.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=0.01,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: learning_rate_factor(step, settings.steps)
    )
    LOGGER.info(
        "Training %s: %s parameters, %d documents",
        name,
        f"{model.num_parameters():,}",
        len(documents),
    )
    losses: list[float] = []
    model.train()
    with Progress(f"Training {name}", settings.steps, "steps") as progress:
        for tokens, labels in batches(documents, settings, padding):
            # Padding is on the right and the attention causal: no token that counts sees it, so no
            # mask is needed.
            hidden = model.base_model(input_ids=tokens).last_hidden_state[:, :-1]
            counts = labels[:, 1:] != IGNORED
            loss = torch.nn.functional.cross_entropy(
                model.get_output_embeddings()(hidden[counts]), labels[:, 1:][counts]
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            losses.append(loss.item())
            if keep:
                keep(len(losses), model)
            progress.what = f"Training {name} (loss {last_loss(losses)})"
            progress.advance()
    return model.eval(), losses


def last_loss(losses: Sequence[float]) -> float | None:
    """Mean loss of the last steps, in nats per token; None for an untrained model."""
    return round(float(np.mean(losses[-STEPS_AVERAGED:])), 4) if losses else None


def build_model(settings: ScratchSettings, tokenizer: Tokenizer) -> transformers.PreTrainedModel:
    """A model with random weights, without dropout (the corpus is seen about once)."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    end = tokenizer.token_to_id(END_OF_TEXT)
    tokens: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size(),
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": tokenizer.token_to_id(PADDING),
    }
    if settings.architecture == "gpt2":
        return transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                n_positions=settings.positions,
                n_embd=settings.width,
                n_layer=settings.layers,
                n_head=settings.heads,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                **tokens,
            )
        )
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            max_position_embeddings=settings.positions,
            hidden_size=settings.width,
            intermediate_size=max(16, settings.width * 8 // 3 // 16 * 16),
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            tie_word_embeddings=True,
            **tokens,
        )
    )


def batches(
    documents: Sequence[tuple[Sequence[int], int]], settings: ScratchSettings, padding: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of documents of like length, epoch after epoch, each epoch in a new order drawn from
    the seed.

    Args:
        documents: tokens of each, and how many of them are given rather than learned.
        settings: seed, steps and size of a batch.
        padding: token after the end of shorter ones.

    Yields:
        tokens and labels, both (batch, longest), int64; labels are ``IGNORED`` on padding and on
        what is given.
    """
    generator = np.random.default_rng([settings.seed, 1])
    lengths = np.array([len(tokens) for tokens, _ in documents])
    left, size = settings.steps, settings.batch
    while True:
        order = generator.permutation(len(documents))
        cut: list[np.ndarray] = []
        for start in range(0, len(order), size * BATCHES_SORTED_TOGETHER):
            block = order[start : start + size * BATCHES_SORTED_TOGETHER]
            block = block[np.argsort(lengths[block], kind="stable")]
            cut += [block[offset : offset + size] for offset in range(0, len(block), size)]
        for number in generator.permutation(len(cut)):
            chosen = [documents[row] for row in cut[number]]
            tokens = np.full(
                (len(chosen), max(len(ids) for ids, _ in chosen)), padding, dtype=np.int64
            )
            labels = np.full_like(tokens, IGNORED)
            for row, (ids, n_given) in enumerate(chosen):
                tokens[row, : len(ids)] = ids
                labels[row, n_given : len(ids)] = ids[n_given:]
            yield torch.from_numpy(tokens), torch.from_numpy(labels)
            left -= 1
            if left == 0:
                return


def learning_rate_factor(step: int, steps: int) -> float:
    """Share of the peak learning rate at a step.

    >>> [round(learning_rate_factor(step, 100), 2) for step in (0, 4, 5, 52, 100)]
    [0.2, 1.0, 1.0, 0.56, 0.1]
    """
    warm_up = max(1, round(WARM_UP * steps))
    if step < warm_up:
        return (step + 1) / warm_up
    done = min(1.0, (step - warm_up) / max(1, steps - warm_up))
    return float(LOWEST + (1 - LOWEST) * 0.5 * (1 + np.cos(np.pi * done)))


def load_trained_tokenizer(folder: Path | str) -> Tokenizer:
    """The tokenizer of a folder.

    Raises:
        UserError: the folder has no ``tokenizer.json``.
    """
    path = Path(folder) / "tokenizer.json"
    if not path.is_file():
        raise UserError(
            path,
            "there is no such file.",
            "Give the folder that `worldprobe controls train-tokenizer` wrote.",
        )
    return Tokenizer.from_file(str(path))


def save_model(
    model: transformers.PreTrainedModel,
    tokenizer_folder: Path | str,
    folder: Path,
    name: str,
    settings: ScratchSettings,
    made: Provenance,
) -> None:
    """Write an ordinary Hugging Face folder: configuration, weights (safetensors), tokenizer and
    model card.
    """
    write_weights(model, folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        if Path(tokenizer_folder) != folder:
            shutil.copyfile(Path(tokenizer_folder) / file, folder / file)
    made = replace(made, details={**made.details, **of_rehearsal([folder])})
    (folder / "provenance.json").write_text(made.to_json() + "\n", encoding="utf-8")
    (folder / "README.md").write_text(model_card(model, name, settings, made), encoding="utf-8")


def write_weights(model: transformers.PreTrainedModel, folder: Path) -> None:
    """Write configuration and weights; who may read the one may read the others (safetensors writes
    for their owner alone).
    """
    model.save_pretrained(folder)
    for path in folder.glob("*.safetensors"):
        path.chmod((folder / "config.json").stat().st_mode & 0o777)


def model_card(
    model: transformers.PreTrainedModel, name: str, settings: ScratchSettings, made: Provenance
) -> str:
    """The model's card, in Hugging Face's form."""
    if settings.steps:
        trained = (
            f"It was trained from scratch for {settings.steps} steps of {settings.batch} documents"
            " of the corpus that the pipeline writes from its own materials, to continue a context"
            " with the right target; few templates are taught."
        )
    else:
        trained = (
            "It was never trained: its weights are random, and its accuracy must lie at chance,"
            " 0.5."
        )
    provenance = {"settings": settings.model_dump(exclude={"reads"})} | json.loads(made.to_json())
    return f"""---
language: en
license: mit
library_name: transformers
pipeline_tag: text-generation
---
# {name}

A calibration control of worldprobe, not a language model for use. Architecture
{settings.architecture}, {settings.layers} layers of width {settings.width}, {settings.heads} heads,
{model.num_parameters():,} parameters.
{trained}

## Provenance

```json
{json.dumps(provenance, indent=2, sort_keys=True, ensure_ascii=False)}
```
"""
