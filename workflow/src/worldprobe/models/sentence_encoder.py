"""Vectors of sentences: the mean of a transformer's last hidden states over a sentence's tokens
(Reimers & Gurevych 2019).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldprobe.errors import UserError
from worldprobe.log import LOGGER, Progress

BATCH = 64
#: Steps of sentence-transformers that are known here; others, such as Dense, change the vectors.
TRANSFORMER, POOLING, NORMALIZE = "Transformer", "Pooling", "Normalize"


@dataclass(frozen=True)
class Recipe:
    """How a folder's vectors are made.

    Attributes:
        transformer: the folder of weights and tokenizer.
        longest: tokens behind which a text is cut; None leaves it to tokenizer and model.
        lowers: texts are read in small letters.
        prompt: what stands before each text.
        normalizes: vectors have length 1.
    """

    transformer: Path
    longest: int | None
    lowers: bool
    prompt: str
    normalizes: bool


def encode(folder: Path, texts: Sequence[str], allow_pickle: bool = False) -> np.ndarray:
    """A vector per text, from a folder as sentence-transformers writes it.

    Args:
        folder: the transformer, its tokenizer, and 1_Pooling/config.json, which must say that
            tokens are averaged.
        texts: longer ones are cut where the folder says, or the model's positions end.
        allow_pickle: weights may be a pickle, of which tensors are read and no code is run.

    Returns:
        shape (texts, dimensions), float32.

    Raises:
        UserError: the folder is not of such an encoder, or its weights are not whole.
    """
    import torch
    from transformers import AutoModel

    from worldprobe.models import loading, tokenizers
    from worldprobe.models.checkpoint import Checkpoint

    recipe = read_recipe(folder)
    tokenizer = tokenizers.open_tokenizer(str(recipe.transformer), str(folder))
    try:
        loaded: Any = AutoModel.from_pretrained(
            recipe.transformer,
            local_files_only=True,
            dtype=torch.float32,
            use_safetensors=not allow_pickle or None,
            weights_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below
        )
    except (OSError, ValueError, KeyError) as error:
        raise _no_encoder(folder, error) from error
    model, report = loaded
    # What reads a whole text at once, which many files lack, is not used.
    report["missing_keys"] = {
        name for name in report["missing_keys"] if not name.startswith("pooler.")
    }
    checkpoint = Checkpoint(str(folder), recipe.transformer)
    loading.check_report(checkpoint, model, report)
    loading.check_vocabulary(checkpoint, tokenizer, model.get_input_embeddings().weight.shape[0])
    model.eval()
    lengths = (recipe.longest, tokenizer.model_max_length, loading.longest_read(model))
    longest = min(length for length in lengths if length is not None)
    texts = [recipe.prompt + (text.lower() if recipe.lowers else text) for text in texts]
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
    with Progress("Encoding sentences", len(texts)) as progress, torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            indices = order[start : start + BATCH]
            batch = tokenizer(
                [texts[index] for index in indices],
                padding=True,
                truncation=True,
                max_length=longest,
                return_tensors="pt",
            )
            mask = batch["attention_mask"][..., None]
            vectors[indices] = (
                (model(**batch).last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1)
            ).numpy()
            progress.advance(len(indices))
    if recipe.normalizes:
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def read_recipe(folder: Path) -> Recipe:
    """The recipe of a folder of sentence-transformers, of any version.

    Raises:
        UserError: the folder is not of an encoder that averages tokens, or does more than that.
    """
    try:
        modules = _read(folder / "modules.json", [{"type": TRANSFORMER, "path": ""}])
        steps = [str(module["type"]).rpartition(".")[2] for module in modules]
        folders = {
            step: folder / module["path"] for step, module in zip(steps, modules, strict=True)
        }
        pooling = _read(folders.get(POOLING, folder / "1_Pooling") / "config.json")
        transformer = folders[TRANSFORMER]
        settings = _read(transformer / "sentence_bert_config.json", {})
        prompts = _read(folder / "config_sentence_transformers.json", {})
        modes = pooling.get("pooling_mode") or [
            name.removeprefix("pooling_mode_").removesuffix("_tokens")
            for name, is_used in pooling.items()
            if name.startswith("pooling_mode_") and is_used
        ]
        prompt = (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name"), "")
        recipe = Recipe(
            transformer,
            settings.get("max_seq_length"),
            bool(settings.get("do_lower_case")),
            prompt,
            NORMALIZE in steps,
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise _no_encoder(folder, error) from error
    fix = "Give another sentence encoder."
    if unknown := [step for step in steps if step not in (TRANSFORMER, POOLING, NORMALIZE)]:
        problem = (
            f"changes its vectors by a step that is not known here ({unknown[0]}); known are"
            f" {TRANSFORMER}, {POOLING} and {NORMALIZE}."
        )
        raise UserError(folder / "modules.json", problem, fix)
    if modes not in ("mean", ["mean"]):
        raise UserError(folder, "does not average tokens, the only pooling known here.", fix)
    if prompt and not pooling.get("include_prompt", True):
        problem = f"leaves its default prompt {prompt!r} out of the mean, which is not done here."
        raise UserError(folder, problem, fix)
    if prompt:
        LOGGER.info("%s: each text begins with its default prompt %r", folder, prompt)
    return recipe


def _no_encoder(folder: Path, error: Exception) -> UserError:
    return UserError(
        folder, f"is not a sentence encoder ({error}).", "Give a folder of sentence-transformers."
    )


def _read(path: Path, otherwise: Any = None) -> Any:
    """The content of a JSON file, or ``otherwise`` where there is none."""
    if otherwise is not None and not path.is_file():
        return otherwise
    return json.loads(path.read_text(encoding="utf-8"))
