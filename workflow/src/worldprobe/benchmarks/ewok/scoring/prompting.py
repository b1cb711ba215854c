"""Likert and Choice: the model is asked about each item, writes freely or within the answers, and is read (Sections A.3, A.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.eval_types import Way
from worldprobe.benchmarks.ewok.scoring.logprobs import ITEM_COLUMNS
from worldprobe.benchmarks.ewok.scoring.prompts import Prompt
from worldprobe.inference.dialogue import Exchange, OneRound, converse, first_numeral
from worldprobe.inference.requests import near_tie_of
from worldprobe.inference.store import Store
from worldprobe.log import LOGGER
from worldprobe.models.engine import Decoding, Engine, Message

#: Free answers: the paper's limit, and where they end in text that the model continues; a message of a chat ends by itself.
FREE = Decoding(max_new_tokens=20, stops=("\n\n",))
#: (presentation, target, context) of the four Likert questions per item.
LIKERT = (("t1c1", 1, 1), ("t1c2", 1, 2), ("t2c1", 2, 1), ("t2c2", 2, 2))


def uses_chat(mode: str, engine: Engine) -> bool:
    """Is the model asked through its chat template? ``auto``: where it has one; ``never`` and ``always`` as they say."""
    return mode == "always" or (mode == "auto" and engine.facts.has_chat)


def presentations(items: pd.DataFrame, paradigm: str, swap: bool = False) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(item_id, presentation, slots) of every prompt; ``swap`` also asks Choice with the contexts in the other order."""
    columns = (items[name].tolist() for name in ITEM_COLUMNS)
    for item, *texts in zip(*columns, strict=True):
        contexts, targets = texts[:2], texts[2:]
        if paradigm == "likert":
            for name, target, context in LIKERT:
                yield item, name, {"context": contexts[context - 1], "target": targets[target - 1]}
            continue
        for target in (1, 2):
            for name, order in ((f"t{target}", contexts), (f"t{target}s", contexts[::-1]))[: 2 if swap else 1]:
                yield item, name, {"context1": order[0], "context2": order[1], "target": targets[target - 1]}


def ask(
    items: pd.DataFrame,
    engine: Engine,
    way: Way,
    prompt: Prompt,
    store: Store,
    method: int = 1,
    model: str = "",
    swap: bool = False,
    chat: bool = False,
    thoughts: int = 0,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask about every item: a dialogue of one round for each presentation.

    Args:
        items: columns item_id, context1, context2, target1, target2.
        engine: a loaded model.
        way: which paradigm, whether answers are free, and how many examples.
        prompt: the paradigm's texts.
        store: the engine's answers.
        method: version of the computation.
        model: the model's name, for the progress lines.
        swap: ask Choice in both orders of the contexts.
        chat: ask through the model's chat template, as one user message.
        thoughts: tokens of thoughts at most before a free answer, in addition to its own.

    Returns:
        responses (contract Responses), and facts for the provenance.
    """
    read = first_numeral(prompt.answers)
    free = replace(FREE, stops=() if chat else FREE.stops, thoughts=thoughts)
    dialogue = OneRound(read, free) if way.generation == "free" else OneRound(read, options=prompt.answers)
    asked = [(item, name, prompt.text(slots, way.shots)) for item, name, slots in presentations(items, way.paradigm, swap)]
    openings = [((Message("user", text),) if chat else text, dialogue) for _, _, text in asked]
    what = f"Asking {model or engine.facts.checkpoint} ({way.name})"
    exchanges, origins = converse(openings, engine, store, f"ewok prompting {method}", what, len(items))
    frame = _frame(asked, exchanges, way.name)
    counts = _counts(frame, exchanges, near_tie_of(engine.facts.dtype) if way.generation == "constrained" else None)
    if thoughts and way.generation == "free":
        counts["thoughts"] = {"limit": thoughts, **counts.get("thoughts", {})}
    return frame, {**counts, "distinct_prompts": len({text for _, _, text in asked}), "answers": origins}


def _frame(asked: Sequence[tuple[str, str, str]], exchanges: Sequence[Exchange], eval_type: str) -> pd.DataFrame:
    readings = [exchange.reading for exchange in exchanges]
    values = [float(reading.value) if reading and reading.value is not None else None for reading in readings]
    return pd.DataFrame(
        {
            "item_id": pd.Series([item for item, _, _ in asked], dtype="str"),
            "eval_type": pd.Series([eval_type] * len(asked), dtype="str"),
            "presentation": pd.Series([name for _, name, _ in asked], dtype="str"),
            "prompt_digest": pd.Series([exchange.sent[0] for exchange in exchanges], dtype="str"),
            "text": pd.Series([exchange.replies[-1].text for exchange in exchanges], dtype="str"),
            "value": pd.Series(values, dtype="float64"),
            "status": pd.Series([reading.status if reading else "failed" for reading in readings], dtype="str"),
        }
    )


def _counts(frame: pd.DataFrame, exchanges: Sequence[Exchange], tolerance: float | None) -> dict[str, Any]:
    """How often each status, value and finish occurs, and near ties of constrained answers within ``tolerance`` nats."""
    replies = [exchange.replies[-1] for exchange in exchanges]
    values = Counter(frame["value"].dropna())
    counts: dict[str, Any] = {
        "status": dict(sorted(Counter(frame["status"]).items())),
        "values": {f"{value:g}": count for value, count in sorted(values.items())},
        "finish": dict(sorted(Counter(reply.finish for reply in replies).items())),
    }
    if any(reply.thoughts for reply in replies):
        unfinished = sum(bool(reply.thoughts) and not reply.text for reply in replies)
        counts["thoughts"] = {"tokens": sum(reply.n_thought_tokens for reply in replies), "unfinished": unfinished}
        if unfinished:
            problem = "%d of %d replies are thoughts only, so they have no answer: raise their limit of tokens (thoughts)"
            LOGGER.warning(problem, unfinished, len(replies))
    if counts["status"].get("not_finite"):
        LOGGER.warning("the model computed NaN or infinity for %d of %d prompts", counts["status"]["not_finite"], len(replies))
    margins = [reply.margin for reply in replies if reply.margin is not None]
    if tolerance is not None and margins:
        counts["near_ties"] = {"within_nats": tolerance, "prompts": sum(margin < tolerance for margin in margins)}
    return counts
