"""Where a checkpoint lies: an ordinary folder, or what ``models fetch`` put into the hub's cache; never the network."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import digest_file

HUB_ID = re.compile(r"^[A-Za-z0-9][\w.-]*(/[\w.-]+)?$")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
#: What a model needs, and nothing that can run code.
SAFE_FILES = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.model", "*.txt", "*.tiktoken", "*.jinja")
PICKLE_FILES = ("*.bin", "*.bin.index.json")
CODE_FILES = ("*.py",)


@dataclass(frozen=True)
class Checkpoint:
    """A folder that holds weights, configuration and tokenizer.

    Attributes:
        name: as it was named: hub id or folder.
        folder: where the files are.
        revision: the commit of a hub snapshot; None for a plain folder.
        allow_pickle: weights may be pickles, which can run code when they are read.
        trust_remote_code: the folder's own Python code may run.
    """

    name: str
    folder: Path
    revision: str | None = None
    allow_pickle: bool = False
    trust_remote_code: bool = False

    def digest(self) -> str:
        """SHA-256 over names and contents of all files that make the scores.

        A hub snapshot links to files that are named after their digests, which saves reading them.
        """
        digest = hashlib.sha256()
        for path in sorted(p for p in self.folder.iterdir() if p.is_file() and _makes_scores(p.name)):
            blob = os.path.basename(os.readlink(path)) if path.is_symlink() else ""
            content = blob if re.fullmatch(r"[0-9a-f]{64}", blob) else digest_file(path)
            digest.update(f"{path.name}\0{content}\n".encode())
        return digest.hexdigest()


def _makes_scores(name: str) -> bool:
    if name.startswith((".", "training_args", "optimizer", "README", "generation_config")):
        return False
    return name.endswith((".safetensors", ".json", ".model", ".txt", ".jinja", ".tiktoken", ".bin", ".py"))


def locate(name: str, revision: str | None = None, allow_pickle: bool = False, trust_remote_code: bool = False) -> Checkpoint:
    """Find a checkpoint on this machine and check that it is whole and safe to load.

    Args:
        name: a folder, or a hub id that was fetched before.
        revision: branch, tag or commit of a hub id.
        allow_pickle: accept weights that exist as pickles only.
        trust_remote_code: accept models that bring their own code.

    Raises:
        UserError: no such folder, not fetched, or something is missing or unsafe in it.
    """
    folder = Path(name)
    if folder.is_dir():
        checkpoint = Checkpoint(name, folder, None, allow_pickle, trust_remote_code)
    elif folder.exists():
        raise UserError(name, "is a file, not a model folder.", "Give the folder that holds config.json and the weights.")
    elif not HUB_ID.match(name):
        raise UserError(name, f"there is no such model folder{_nearest_folder(folder)}", "Check the path.")
    else:
        snapshot = _cached_snapshot(name, revision)
        checkpoint = Checkpoint(name, snapshot, snapshot.name, allow_pickle, trust_remote_code)
    check_folder(checkpoint)
    return checkpoint


def _nearest_folder(folder: Path) -> str:
    siblings = [p.name for p in folder.parent.iterdir() if p.is_dir()] if folder.parent.is_dir() else []
    return did_you_mean(folder.name, siblings)


def _cached_snapshot(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        # Only config.json: a snapshot without the files that we do not fetch (e.g. pickles) counts as incomplete otherwise.
        return Path(snapshot_download(name, revision=revision, local_files_only=True, allow_patterns=["config.json"]))
    except (LocalEntryNotFoundError, FileNotFoundError) as error:
        at = f" in revision {revision}" if revision else ""
        raise UserError(
            name,
            f"is neither a folder here nor a model that was fetched{at} (scoring never goes online){_nearest_folder(Path(name))}",
            f"Fetch it where there is internet: python -m worldprobe models fetch {name}"
            + (f" --revision {revision}" if revision else "")
            + "; or check the spelling.",
        ) from error
    except HFValidationError as error:
        raise UserError(name, "is neither a folder here nor a valid hub id.", "Check the spelling.") from error


def check_folder(checkpoint: Checkpoint) -> None:
    """Raise UserError unless the folder has a configuration, safe weights and a tokenizer."""
    folder, name = checkpoint.folder, checkpoint.name
    if not (folder / "config.json").is_file():
        raise UserError(name, "holds no config.json, so it is no model folder.", "Give a folder that save_pretrained wrote.")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(folder / "config.json", f"is not valid JSON ({error}).", "Fetch or save the model again.") from error
    check_weights(checkpoint)
    if not any((folder / file).is_file() for file in TOKENIZER_FILES):
        raise UserError(
            name,
            "holds no tokenizer (none of " + ", ".join(TOKENIZER_FILES) + ").",
            "Save the tokenizer into the same folder: tokenizer.save_pretrained(folder).",
        )
    if config.get("auto_map") and checkpoint.trust_remote_code is False:
        _refuse_foreign_code(name, config)


def _refuse_foreign_code(name: str, config: dict) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if config.get("model_type") not in CONFIG_MAPPING_NAMES:
        raise UserError(
            name,
            "brings its own Python code, which transformers would have to run.",
            "Read that code; if you trust it, set trust_remote_code: true for this model (or pass --trust-remote-code).",
        )


def check_weights(checkpoint: Checkpoint) -> None:
    """Raise UserError unless weights are there as safetensors, all parts of them, or as pickles that are allowed."""
    folder, name = checkpoint.folder, checkpoint.name
    for index in sorted(folder.glob("*.safetensors.index.json")):
        parts = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        absent = sorted(part for part in parts if not (folder / part).is_file())
        if absent:
            raise UserError(name, f"{len(absent)} of {len(parts)} weight files are missing, e.g. {absent[0]}.", "Fetch it again.")
    if any(folder.glob("*.safetensors")):
        return
    if not any(path for pattern in PICKLES for path in folder.glob(pattern)):
        raise UserError(name, "holds no weights (no *.safetensors).", "Save or fetch the whole model into this folder.")
    if not checkpoint.allow_pickle:
        raise UserError(
            name,
            "has its weights as pickle files only, and reading a pickle can run any code.",
            "Convert it to safetensors, or, if you trust its source, set allow_pickle: true (or pass --allow-pickle).",
        )
