"""Mistakes in EWoK's block of a configuration that its schema cannot see; checked before the first job."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldprobe.config import Finding, Keys
from worldprobe.errors import did_you_mean
from worldprobe.paths import RESOURCES

MOST_VERSIONS = 1000
#: Settings of items that a way of filling does not use.
_UNUSED = {"fixed": ("per_template", "seed"), "independent": ("versions",)}


def check_settings(block: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with the complete settings of EWoK, each with its key in the block, the problem and the fix."""
    classes = _filler_classes(block["materials"]["source"])
    yield from _check_items(block["items"], ("items",), classes)
    for name, condition in block["conditions"].items():
        # "main" repeats the block itself.
        if condition["items"] != block["items"]:
            yield from _check_items(condition["items"], ("conditions", name, "items"), classes)
    if len({condition.get("title", name) for name, condition in block["conditions"].items()}) < len(block["conditions"]):
        yield ("conditions",), "two conditions have the same title.", "Give each its own."
    yield from _check_alike(block)
    frequency = block["baselines"]["frequency"]
    if frequency["source"] == "ngrams" and not frequency["files"]:
        problem = "ngrams needs the files that frequencies are counted from."
        yield ("baselines", "frequency", "source"), problem, "Name them under baselines.frequency.files, or use wordfreq."
    yield from _check_human(block["human"])


def _check_alike(block: Mapping[str, Any]) -> Iterator[Finding]:
    """Conditions that ask the same: what only one mode uses, and prompts where nobody is prompted, make no difference."""
    is_prompted = any(name != "logprobs" for name in block["eval_types"])
    known: dict[str, str] = {}
    for name, condition in block["conditions"].items():
        items = {key: value for key, value in condition["items"].items() if key not in _UNUSED[condition["items"]["mode"]]}
        asked = json.dumps([items, condition["prompting"] if is_prompted else None], sort_keys=True)
        if asked in known:
            hint = "" if is_prompted else " (prompts count only where eval_types names Likert or Choice)"
            problem = f"asks the same questions as {known[asked]}{hint}."
            yield ("conditions", name), problem, "Change what it says of items or prompting, or remove it."
        known.setdefault(asked, name)


def _check_human(human: Mapping[str, Any]) -> Iterator[Finding]:
    if human["ratings"] and human["responses"]:
        problem = "both ratings and responses are given, so people would be judged twice."
        yield ("human", "responses"), problem, "Leave one of them null."
    shortest, longest = human["lists"]["shortest"], human["lists"]["longest"]
    if shortest > longest:
        problem = f"{shortest} is more than longest ({longest})."
        yield ("human", "lists", "shortest"), problem, "Exchange the two, or lower it."
    shares = human["simulation"]["kinds"].values()
    if sum(shares) > 1:
        yield ("human", "simulation", "kinds"), f"the shares add up to {sum(shares):g}.", "Lower them to 1 or less in all."


def _check_items(items: Mapping[str, Any], keys: Keys, classes: set[str]) -> Iterator[Finding]:
    first, _, last = str(items["versions"]).partition("-")
    if last and int(last) < int(first):
        yield (*keys, "versions"), f"{items['versions']} ends before it begins.", f'Write "{last}-{first}".'
    elif int(last or first) >= MOST_VERSIONS:
        problem = f"{items['versions']} goes beyond version {MOST_VERSIONS - 1}."
        yield (*keys, "versions"), problem, "No set of fillers has enough of them: set fewer."
    if items["filter"] is not None:
        try:
            re.compile(items["filter"])
        except (re.error, OverflowError, RecursionError) as error:
            problem = f"{items['filter']!r} is not a valid regular expression ({error})."
            yield (*keys, "filter"), problem, "Put a backslash before characters that are meant as they are."
    for number, swap in enumerate(items["swap"]):
        source, _, target = swap.partition("->")
        for name in (source.strip(), target.strip().partition(":")[0]):
            if classes and name not in classes:
                near = did_you_mean(name, classes, f"; the classes are {', '.join(sorted(classes))}.")
                problem = f'the materials have no filler class "{name}"{near}'
                yield (*keys, "swap", number), problem, "Name a class of the materials."


def _filler_classes(source: str) -> set[str]:
    """The filler classes of materials in a folder; none are known of an archive before it is opened."""
    folder = RESOURCES / "materials" / "ewok-builtin" if source == "builtin" else Path(source)
    return {path.stem.removeprefix("filler-") for path in folder.glob("fillers/filler-*.csv")}
