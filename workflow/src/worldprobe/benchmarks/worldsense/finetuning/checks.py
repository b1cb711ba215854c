"""Mistakes in the settings of fine-tuning that the schema cannot see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from worldprobe.benchmarks.worldsense.finetuning.plan import PHRASES
from worldprobe.config import Finding, Keys
from worldprobe.config.advice import advise
from worldprobe.config.schemas import schema_at
from worldprobe.errors import did_you_mean

_PART = "Write one of {set: ...}, {file: ...} and {lessons: ...}."
_OF_SETS = ("sizes", "problems", "skins", "per_cell", "seed")


def check_finetuning(how: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong in ``worldsense.finetuning``, each with its key below it, the problem and the fix."""
    for base, start in how["start"].items():
        keys: Keys = ("start", base)
        if start["width"] % (2 * start["heads"]):
            problem = f"{start['width']} cannot be divided among {start['heads']} heads of even size."
            yield (*keys, "width"), problem, f"Choose a multiple of {2 * start['heads']}, or other heads."
        if bool(start.get("tokenizer")) == bool(start.get("vocabulary_from")):
            yield keys, "needs a tokenizer, or files to learn one from.", "Set tokenizer or vocabulary_from, not both."
        named = start.get("tokenizer")
        if named and named != PHRASES and not Path(named).is_dir():
            yield (*keys, "tokenizer"), f"there is no folder {named}.", "Correct the path."
        yield from _check_parts(start.get("vocabulary_from", ()), (*keys, "vocabulary_from"))
        names: set[str] = set()
        for number, stage in enumerate(start["stages"]):
            place: Keys = (*keys, "stages", number)
            if stage["name"] in names:
                yield (*place, "name"), f"is the second stage named {stage['name']}.", "Give each stage its own name."
            names.add(stage["name"])
            yield from _check_training(stage, how["settings"], place)
    for variant, one in how["variants"].items():
        yield from _check_training(one, how["settings"], ("variants", variant))
    if how["variants"] and not how["bases"]:
        yield ("bases",), "names no model that the variants are made of.", "Name models of the registry."


def _check_training(one: Mapping[str, Any], settings: Mapping[str, Any], keys: Keys) -> Iterator[Finding]:
    known = schema_at("config", ("worldsense", "finetuning", "settings"))["properties"]
    for key, value in one.get("settings", {}).items():
        place = (*keys, "settings", key)
        if key not in known:
            yield place, f"unknown key{did_you_mean(key, known)}", "Fix or remove the key."
        elif not jsonschema.Draft202012Validator(known[key]).is_valid(value):
            yield place, f"{value!r} is not allowed here.", advise(known[key], value)
    complete = {**settings, **one.get("settings", {})}
    if bool(complete["share"]) != bool(one.get("mix")):
        yield keys, "mix and share do nothing without each other.", "Set both, or neither."
    steps, warm_up = complete["steps"], complete["warm_up"]
    if isinstance(steps, int) and isinstance(warm_up, int) and warm_up >= steps:
        problem = f"the learning rate would never reach its peak: there are {steps} steps, and it rises for {warm_up}."
        yield keys, problem, "Take fewer steps of warm_up, or more steps."
    for kind in ("train", "mix"):
        yield from _check_parts(one.get(kind, ()), (*keys, kind))


def _check_parts(parts: Sequence[Mapping[str, Any]], keys: Keys) -> Iterator[Finding]:
    for number, part in enumerate(parts):
        place = (*keys, number)
        kinds = [kind for kind in ("set", "file", "lessons") if kind in part]
        if len(kinds) != 1:
            yield place, f"names {' and '.join(kinds) if kinds else 'nothing'}.", _PART
        elif kinds != ["set"] and (extra := next((key for key in _OF_SETS if key in part), None)):
            yield (*place, extra), "is for sets that are generated.", "Remove the key."
        elif "file" in part and not Path(part["file"]).is_file():
            yield (*place, "file"), f"there is no file {part['file']}.", "Correct the path, or put the file there."
