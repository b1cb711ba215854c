"""Who may have which model: what is on this machine already, and which tokens and keys are set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from worldprobe import engines
from worldprobe.models.checkpoint import HUB, HUB_PREFIX, availability, folder_of
from worldprobe.models.engine_types import TOKEN_VARIABLE
from worldprobe.models.packages import PREFIX, parse_package_url
from worldprobe.models.server import LOOPBACK
from worldprobe.operations.settings import is_made
from worldprobe.settings.registry import REHEARSAL_ENDPOINT


def credential(card: Mapping[str, Any]) -> str:
    """The variable with what opens a gated model.

    >>> credential({"engine": "openai"}), credential({"engine": "vllm"})
    ('OPENAI_API_KEY', 'HF_TOKEN')
    """
    return engines.of(card).credential


def has_credential(variable: str) -> bool:
    """Whether it is set, or, a token of the hub, stored by ``hf auth login``."""
    if os.environ.get(variable) or variable != TOKEN_VARIABLE:
        return bool(os.environ.get(variable))
    try:
        from huggingface_hub import get_token
    except ModuleNotFoundError:  # nothing can be fetched
        return False
    return get_token() is not None


def refusal(card: Mapping[str, Any], accepted: Collection[str] = ()) -> str:
    """Why a model cannot be had, in words that say what to do; nothing where nobody knows yet.

    Args:
        card: the model's registry entry.
        accepted: names of owners' terms that the study accepts.
    """
    terms = card.get("terms")
    is_refused = terms and not is_made(card) and terms not in accepted
    if is_refused and not parse_package_url(card["checkpoint"]).local_path.exists():
        return (
            f"the terms of its owner are not accepted (`models fetch {card['model']}` says"
            f" where they are; accept_terms: [{terms}] accepts them)"
        )
    is_served = engines.of(card).is_remote
    is_elsewhere = (
        card["endpoint"] != REHEARSAL_ENDPOINT
        and urlsplit(card["endpoint"]).hostname not in LOOPBACK
        if is_served
        else is_to_be_fetched(card)
    )
    variable = credential(card)
    if not card.get("gated") or not is_elsewhere or has_credential(variable):
        return ""
    if is_served:
        return f"{card['endpoint']} needs a key, and {variable} is not set"
    return f"gated (accept the terms on {HUB} first), and {variable} is not set"


def is_to_be_fetched(card: Mapping[str, Any]) -> bool:
    """Whether a model's weights come from the hub and are not in the local cache."""
    checkpoint = card["checkpoint"] or ""
    if is_made(card) or not engines.of(card).sources(card):
        return False
    if checkpoint.startswith(PREFIX) or (
        not checkpoint.startswith(HUB_PREFIX) and folder_of(checkpoint)
    ):
        return False
    return availability(card) == "to be fetched"


def hub_cache() -> Path:
    """The folder into which the hub's models are downloaded."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ModuleNotFoundError:  # nothing can be fetched
        return Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    return Path(HF_HUB_CACHE)


def free_gb(folder: Path) -> float:
    """Free space, GB (1e9 bytes), where a folder is or will be."""
    folders = (folder.absolute(), *folder.absolute().parents)
    there = next(path for path in folders if os.path.exists(path))  # no error of permission
    return shutil.disk_usage(there).free / 1e9
