"""Vectors of sentences: the mean of a transformer's last hidden states over a sentence's tokens
(Reimers & Gurevych 2019).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worldprobe.errors import UserError
from worldprobe.log import Progress

BATCH = 64


def encode(folder: Path, texts: Sequence[str]) -> np.ndarray:
    """A vector per text, from a folder as sentence-transformers writes it.

    Args:
        folder: the transformer, its tokenizer, and 1_Pooling/config.json, which must say that
            tokens are averaged.
        texts: longer ones are cut where the folder's max_seq_length says.

    Returns:
        shape (texts, dimensions), float32.

    Raises:
        UserError: the folder is not of such an encoder.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    try:
        pooling = _read(folder / "1_Pooling" / "config.json")
        longest = _read(folder / "sentence_bert_config.json")["max_seq_length"]
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            folder,
            f"is not a sentence encoder ({error}).",
            "Give a folder of sentence-transformers.",
        ) from error
    if [
        name for name, is_used in pooling.items() if name.startswith("pooling_mode_") and is_used
    ] != ["pooling_mode_mean_tokens"]:
        raise UserError(
            folder,
            "does not average tokens, the only pooling that is known here.",
            "Give another sentence encoder.",
        )
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
    with Progress("Encoding sentences", len(texts)) as progress, torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            places = order[start : start + BATCH]
            batch = tokenizer(
                [texts[place] for place in places],
                padding=True,
                truncation=True,
                max_length=longest,
                return_tensors="pt",
            )
            mask = batch["attention_mask"][..., None]
            vectors[places] = (
                (model(**batch).last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1)
            ).numpy()
            progress.advance(len(places))
    return vectors


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))
