"""The model registry, read: what a card says as options of a command, and whether a model is here. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.model_types import CAUSAL

#: Names of rows that are not models; the registry's schema refuses them as well.
RESERVED = ("human", "word2vec", "released")


def check_name(name: str, where: object) -> str:
    """A model's name for tables, as it was given.

    Raises:
        UserError: it is blank, cannot be shown or be part of a file's name, or is that of rows that are not a model's.
    """
    fix = "Choose a name such as gpt2-xl: letters, digits, dots, dashes and underscores."
    if not name.strip() or name != name.strip() or not name.isprintable():
        problem = (
            f"{name!r} is not a name for a model: it is blank, begins or ends with a space, or contains a line break or the like."
        )
        raise UserError(where, problem, fix)
    if "/" in name or "\\" in name or name in (".", ".."):
        raise UserError(where, f'"{name}" is not a name for a model: it looks like a path.', fix)
    if name in RESERVED:
        raise UserError(where, f'"{name}" is the name of rows that are not a model\'s.', fix)
    return name


def card(registry: Mapping[str, Mapping[str, Any]], model: str, registry_name: object = "the registry") -> Mapping[str, Any]:
    """A model's entry.

    Raises:
        UserError: the registry does not know it.
    """
    if model not in registry:
        raise UserError(
            f"model {model}",
            f"is not in {registry_name}{did_you_mean(model, registry)}",
            "Add an entry for it, or choose one of: " + ", ".join(registry) + ".",
        )
    return registry[model]


def select(registry: Mapping[str, Mapping[str, Any]], models: Iterable[str] | None) -> list[str]:
    """The named models, or all of the registry.

    Raises:
        UserError: one of them is unknown, or none is named.
    """
    chosen = list(registry) if models is None else [m.strip() for m in models if m.strip()]
    if not chosen:
        raise UserError("--models", "names no model.", "Choose some of: " + ", ".join(registry) + ".")
    for model in chosen:
        card(registry, model)
    return chosen


def loading_options(entry: Mapping[str, Any]) -> list[str]:
    """Options of ``score`` that say how a model is loaded, besides its checkpoint: all of an entry that can move an answer.

    >>> loading_options({"checkpoint": "someone/tiny", "engine": "vllm", "dtype": "bfloat16"})
    ['--revision', 'main', '--dtype', 'bfloat16', '--engine', 'vllm']
    """
    engine = entry.get("engine") or "transformers"
    options: list[str] = []
    if engine != "openai":  # a server decides them
        options += ["--revision", entry.get("revision") or "main", "--dtype", entry.get("dtype") or "float32"]
    options += ["--engine", engine]
    if (entry.get("kind") or CAUSAL) != CAUSAL:
        options += ["--kind", entry["kind"]]
    if entry.get("pseudo"):
        options += ["--pseudo", entry["pseudo"]]
    if engine == "openai":
        options += [word for key in ("endpoint", "tokenizer") if entry.get(key) for word in (f"--{key}", str(entry[key]))]
    return [*options, *trust_options(entry)]


def trust_options(entry: Mapping[str, Any]) -> list[str]:
    """Options that say what a checkpoint may do, for ``score`` and ``models fetch``."""
    return [f"--{key.replace('_', '-')}" for key in ("allow_pickle", "trust_remote_code") if entry.get(key)]


def speed_options(entry: Mapping[str, Any]) -> list[str]:
    """Options that make answers faster and change none."""
    key = {"vllm": "tensor_parallel", "openai": "concurrency"}.get(entry.get("engine") or "", "")
    return [f"--{key.replace('_', '-')}", str(entry[key])] if entry.get(key) else []


def availability(entry: Mapping[str, Any]) -> str:
    """Where a model is: on a server, trained by a study, in a folder, fetched, or still to come."""
    if entry.get("engine") in ("openai", "rule"):
        return "on a server" if entry["engine"] == "openai" else "a rule"
    from worldprobe.models.checkpoint import folder_of, locate

    if entry.get("control"):
        return "trained by a study"
    folder = folder_of(entry["checkpoint"])
    if folder is not None and folder.is_dir():
        return "here"
    if folder is not None:
        return "no such folder"
    try:
        trust = (entry.get("allow_pickle", False), entry.get("trust_remote_code", False))
        locate(entry["checkpoint"], entry.get("revision"), *trust, entry.get("kind") or CAUSAL)
    except UserError:
        return "to be fetched"
    except ModuleNotFoundError:  # huggingface_hub, without which nothing can be fetched
        return "needs the extra hf"
    return "fetched"
