"""From the last weights of a training to an ordinary Hugging Face folder, which every engine can load."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from worldprobe.models.checkpoint import Checkpoint
from worldprobe.training.scratch import write_weights
from worldprobe.training.tuning_checks import stored_dtype

#: Files that are the base's, unchanged: its tokenizer, chat template, way of generating, and code.
KEPT = (
    *("tokenizer*", "vocab*", "merges.txt", "spiece.model", "*.tiktoken", "tekken.json"),
    *("special_tokens_map.json", "added_tokens.json", "chat_template*", "generation_config.json", "*.py"),
)


def save_tuned(final: Path, base: Checkpoint, config: dict[str, Any], is_lora: bool, folder: Path) -> None:
    """Write the model in the precision of its base, LoRA's matrices added to the weights.

    Args:
        final: what ``tuning.tune`` left.
        base: what was fine-tuned.
        config: its configuration.
        is_lora: ``final`` has added matrices alone.
        folder: to write into.
    """
    dtype = getattr(torch, stored_dtype(config))
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": base.trust_remote_code}
    if is_lora:
        from peft import PeftModel

        loaded = AutoModelForCausalLM.from_pretrained(str(base.folder), dtype=torch.float32, **options)
        with warnings.catch_warnings():  # matrices under other names would be left out, and the base saved as it was
            warnings.filterwarnings("error", message=".*adapter keys")
            added = PeftModel.from_pretrained(loaded, str(final))
        model: Any = added.merge_and_unload().to(dtype)
    else:
        model = AutoModelForCausalLM.from_pretrained(str(final), dtype=dtype, **options)
    model.config.use_cache = config.get("use_cache", True)
    write_weights(model, folder)
    for pattern in KEPT:
        for path in sorted(base.folder.glob(pattern)):
            if path.is_file():
                shutil.copyfile(path, folder / path.name)
