"""Samples of our task that lm-evaluation-harness logged, read back as target scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from worldprobe.asking.lm_eval_samples import NOT_OURS, Run, Sample, read_samples
from worldprobe.errors import UserError
from worldprobe.models.engine import NOT_FINITE

FIX = "Export these items again (`worldprobe items export ITEMS --format lm-eval`) and log the samples of that task."
#: An item and one of its targets.
Key = tuple[str, int]


def read_target_scores(run: Run, items: pd.DataFrame) -> pd.DataFrame:
    """The log probabilities of every item's targets under both contexts.

    Args:
        run: of our task.
        items: contracts.Items, all of which must have been asked, and no others. Samples of the gated dataset name no item, and
            are known by their texts.

    Returns:
        contracts.TargetScores; lm-eval does not log numbers of tokens, so n_tokens is 0.

    Raises:
        UserError: a line is not a sample of these items, or some were not asked.
    """
    wanted: dict[Key, tuple[str, str, str]] = {}
    by_texts: dict[tuple[str, str, str, int], list[Key]] = {}
    for target in (1, 2):
        columns = ["item_id", "context1", "context2", f"target{target}"]
        for item, *texts in items.sort_values("item_id", ascending=False)[columns].astype(object).to_numpy().tolist():
            wanted[item, target] = (texts[0], texts[1], texts[2])
            by_texts.setdefault((texts[0], texts[1], texts[2], target), []).append((item, target))
    found: dict[Key, list[float]] = {}
    for sample in read_samples(run.files, FIX):
        key = _key(sample, by_texts)
        _check(sample, key, wanted)
        if key in found:
            problem = f"target {key[1]} of {key[0]} occurs a second time."
            raise UserError(sample.where, problem, "Name the folder of one run.")
        found[key] = sample.logprobs
    if missing := sorted(wanted.keys() - found.keys()):
        problem = f"{len(missing)} of {len(wanted)} targets were not asked, e.g. target {missing[0][1]} of {missing[0][0]}."
        raise UserError(run.place.parent, problem, FIX)
    return _frame(found)


def _key(sample: Sample, by_texts: Mapping[tuple[str, str, str, int], list[Key]]) -> Key:
    """The item and target that a sample is about: as it says, or the next one with its texts."""
    try:
        target = sample.doc["target"]
        if type(target) is not int or not isinstance(sample.doc.get("item_id", ""), str):
            raise TypeError
        if "item_id" in sample.doc:
            return sample.doc["item_id"], target
        (context1, text), (context2, _) = sample.asked
    except NOT_OURS as error:
        raise UserError(sample.where, "is not a sample of worldprobe's task.", FIX) from error
    same = by_texts.get((context1, context2, text.removeprefix(" "), target))
    if same is None:
        raise UserError(sample.where, "was asked about an item that is not among these.", "Give the items of the release.")
    return same.pop() if len(same) > 1 else same[0]


def _check(sample: Sample, key: Key, wanted: Mapping[Key, tuple[str, str, str]]) -> None:
    if key not in wanted:
        raise UserError(sample.where, f"target {key[1]} of {key[0][:60]!r} is not among these items.", FIX)
    context1, context2, target = wanted[key]
    if sample.asked != [(context1, " " + target), (context2, " " + target)]:
        problem = f"target {key[1]} of {key[0]} was asked with other texts than those of these items."
        raise UserError(sample.where, problem, FIX)


def _frame(found: Mapping[Key, Sequence[float]]) -> pd.DataFrame:
    rows = [
        (item, target, context, value, 0, "")
        if math.isfinite(value) and value <= 0
        else (item, target, context, None, 0, NOT_FINITE)
        for (item, target), values in sorted(found.items())
        for context, value in zip((1, 2), values, strict=True)
    ]
    columns = ["item_id", "target", "context", "logprob", "n_tokens", "flags"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"item_id": "str", "logprob": "float64", "flags": "str"})
