"""The model registry (``config/models.yaml``): model id -> card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.config.documents import Source, dotted, read_yaml
from worldprobe.config.schemas import complaints, place, raise_first, with_defaults
from worldprobe.errors import UserError, did_you_mean

#: Keys of a card that do something with some engines only.
OWN = {
    "tokenizer": ("openai",),
    "concurrency": ("openai",),
    "revision": ("transformers", "vllm"),
    "dtype": ("transformers", "vllm"),
    "allow_pickle": ("transformers", "vllm"),
    "tensor_parallel": ("transformers", "vllm"),
}


def read_registry(path: Path | str) -> dict[str, dict[str, Any]]:
    """The model registry: model id -> card, defaults filled in.

    Raises:
        UserError: the file is missing, breaks ``models.schema.yaml``, or has a card that cannot work.
    """
    source = read_yaml(path)
    raise_first(registry_complaints(source))
    return {model: {"model": model} | card for model, card in with_defaults(source.document, "models").items()}


def registry_complaints(source: Source) -> list[UserError]:
    """Every problem of a registry: of its form, and of cards whose keys contradict each other."""
    document = {} if source.document is None else source.document
    found = complaints(document, "models", [source])
    if not found:
        found = [c for model, card in document.items() for c in _contradictions(model, card, source)]
    return found


def check_models(study: Mapping[str, Any], registry: Mapping[str, Any], files: Iterable[Path | str], registry_name: str) -> None:
    """Every model of the study is in the registry, and no two share a display name.

    Raises:
        UserError: an unknown model id, with the nearest known one; or two models that figures could not distinguish.
    """
    sources = [read_yaml(path) for path in files]
    shown: dict[str, str] = {}
    for number, model in enumerate(study["models"]):
        where = place(("models", number), sources, default="models")
        if model not in registry:
            near = did_you_mean(model, registry, "; it has no similar name.")
            raise UserError(
                where,
                f"models: {model}: no such model in {registry_name}{near}",
                f"Choose one of its {len(registry)} models, or add an entry of that name to {registry_name}.",
            )
        name = registry[model].get("display_name", model)
        if name in shown:
            raise UserError(
                where,
                f'models: {shown[name]} and {model} have the same display_name "{name}".',
                f"Give one of them another display_name in {registry_name}.",
            )
        shown[name] = model


def _contradictions(model: str, card: Mapping[str, Any], source: Source) -> Sequence[UserError]:
    found = []

    def note(key: str, problem: str, fix: str) -> None:
        keys = (model, *key.split("."))
        found.append(UserError(place(keys, [source]), f"{dotted(keys)}: {problem}", fix))

    if not card.get("checkpoint") and not card.get("control"):
        note("checkpoint", "is missing.", "Give a hub id or a folder in Hugging Face format.")
    kind = card.get("kind", "causal")
    if kind != "causal" and card.get("engine", "transformers") != "transformers":
        note("kind", f"{kind} models are for the engine transformers.", "Remove engine.")
    if kind != "causal" and (card.get("control") or card.get("chat")):
        note("kind", "control models and models for chat are causal.", "Remove kind, or what contradicts it.")
    if card.get("pseudo") and kind != "masked":
        note("pseudo", "only masked models have a pseudo-log-likelihood.", "Set kind: masked, or remove pseudo.")
    if card.get("engine") == "openai" and not card.get("endpoint"):
        note("engine", "openai needs an endpoint.", "Add endpoint: the base URL of the server.")
    if card.get("engine", "transformers") != "openai" and card.get("endpoint"):
        note("endpoint", "only the engine openai has an endpoint.", "Set engine: openai, or remove the endpoint.")
    for key, engines in OWN.items():
        engine = card.get("engine", "transformers")
        if card.get(key) not in (None, False) and engine not in engines:
            note(key, f"does nothing with the engine {engine}.", f"Remove it; it is for {' and '.join(engines)}.")
    if card.get("engine") == "openai" and card.get("trust_remote_code") and not card.get("tokenizer"):
        note("trust_remote_code", "does nothing with the engine openai without a tokenizer.", "Remove it, or name a tokenizer.")
    control = card.get("control")
    if control and control["width"] % control["heads"]:
        note("control.heads", f"{control['heads']} heads do not divide a width of {control['width']}.", "Change heads or width.")
    if control and control["architecture"] == "llama" and (control["width"] // control["heads"]) % 2:
        note("control.heads", "rotary positions need an even width per head.", "Change heads or width.")
    if control and card.get("engine", "transformers") == "openai":
        note("engine", "a model that is trained here cannot be on a server.", "Remove engine, or remove control.")
    return found
