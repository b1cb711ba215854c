"""Small trainings, for a study's rehearsal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldprobe.operations.rehearsal import STEPS

#: Lessons, and trials that are trained on.
LESSONS = 100


def rehearse(study: dict[str, Any], registry: dict[str, dict[str, Any]]) -> None:
    """Cut the trainings of WorldSense's block to a few steps over a few lessons, in place."""
    if study["worldsense"] is None:
        return
    block = study["worldsense"]["finetuning"]
    block["settings"] |= {"steps": STEPS, "warm_up": 1, "trials": LESSONS}
    for lessons in block["lessons"].values():
        lessons["number"] = min(lessons["number"], LESSONS)
    for training in _trainings(block):
        changes = training.get("settings") or {}
        for key in changes.keys() & block["settings"].keys() & {"steps", "warm_up", "trials"}:
            changes[key] = block["settings"][key]
        for part in (*training["train"], *training.get("mix", ())):
            if "set" in part:
                part["per_cell"] = 1


def _trainings(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from block["variants"].values()
    for model in block["start"].values():
        yield from model["stages"]
