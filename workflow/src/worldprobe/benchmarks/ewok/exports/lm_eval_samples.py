"""Samples of our task that lm-evaluation-harness logged, read back as target scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.inference.lm_eval import NOT_OURS, Run, Sample, read_logprobs
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
    wanted: dict[Key, list[tuple[str, str]]] = {}
    by_texts: dict[tuple[str, str, str, int], list[Key]] = {}
    for target in (1, 2):
        columns = ["item_id", "context1", "context2", f"target{target}"]
        for item, *texts in items.sort_values("item_id", ascending=False)[columns].astype(object).to_numpy().tolist():
            context1, context2, text = texts
            wanted[item, target] = [(context1, " " + text), (context2, " " + text)]
            by_texts.setdefault((context1, context2, text, target), []).append((item, target))
    return _frame(read_logprobs(run, wanted, lambda sample: _key(sample, by_texts), _name, "these items", FIX))


def _name(key: Key) -> str:
    return f"target {key[1]} of {key[0][:60]!r}"


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
