"""What answers cost: time of all processes that computed them, all attempts together, and tokens; read from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldprobe.inference.requests import tokens_of
from worldprobe.inference.store import read_parts
from worldprobe.provenance import Provenance


@dataclass
class Cost:
    """Time, answers and tokens.

    Attributes:
        seconds: of wall-clock time.
        device_seconds: kind of device (cpu, cuda, ...) -> seconds times number of devices.
        answers: how many were computed.
        prompt_tokens: tokens that were read, where the engine says so.
        completion_tokens: tokens that were written, thoughts included.
    """

    seconds: float = 0.0
    device_seconds: dict[str, float] = field(default_factory=dict)
    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def cost(root: Path | str, origins: Iterable[Mapping[str, Any]]) -> Cost:
    """What the answers of some tables cost, each part of the store counted once.

    A part counts where its list of questions is one of the tables' lists. Time that a killed process spent after its last part is
    lost; loading the model is part of a process's first part.

    Args:
        root: folder of all stores, for example results/.answers.
        origins: ``provenance.details["answers"]`` of each table.
    """
    wanted: dict[str, set[str]] = {}
    for one in origins:
        wanted.setdefault(one["store"], set()).update(entry["list"] for entry in one["made_by"])
    total = Cost()
    for store, lists in sorted(wanted.items()):
        for part, answers in read_parts(Path(root) / store):
            if part.questions in lists:
                device = str(part.process.get("device") or "unknown")
                total.seconds += part.seconds
                total.device_seconds[device] = total.device_seconds.get(device, 0.0) + part.seconds * part.devices
                total.answers += len(answers)
                for read, written in map(tokens_of, answers):
                    total.prompt_tokens += read
                    total.completion_tokens += written
    return total


def cost_by_model(root: Path | str, made: Iterable[Provenance]) -> dict[str, Cost]:
    """What the answers of each model cost; models of whose answers the store has none left are missing.

    Args:
        root: folder of all stores, for example results/.answers.
        made: provenance of tables; those that do not come from the store are passed over.
    """
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for one in made:
        origins = one.details.get("answers")
        if one.model and isinstance(origins, dict) and origins.get("store"):
            by_model.setdefault(one.model, []).append(origins)
    spent = {model: cost(root, origins) for model, origins in by_model.items()}
    return {model: one for model, one in spent.items() if one.answers}
