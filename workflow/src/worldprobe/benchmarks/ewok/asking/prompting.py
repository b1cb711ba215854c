"""Likert and Choice: the model is asked about each item, writes freely or within the answers, and is read (Sections A.3, A.4)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.asking.shards import Shards, collect
from worldprobe.benchmarks.ewok.asking.logprobs import ITEM_COLUMNS, digest_texts
from worldprobe.benchmarks.ewok.asking.prompts import Prompt
from worldprobe.benchmarks.ewok.ways import EVAL_TYPES
from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import Progress
from worldprobe.models.engine import Engine, Written

#: Free answers: the paper's limit, and where they end.
MAX_NEW_TOKENS = 20
STOP = "\n\n"
#: Answers closer than this, in nats, are counted as near ties.
NEAR_TIE = 1e-3
NUMERAL = re.compile(r"(?<![\w.,])-?\d+(?:[.,]\d+)*(?![\w])")
#: (presentation, target, context) of the four Likert questions per item.
LIKERT = (("t1c1", 1, 1), ("t1c2", 1, 2), ("t2c1", 2, 1), ("t2c2", 2, 2))


def parse_eval_type(eval_type: str) -> tuple[str, str, str]:
    """Paradigm, generation and shots of a prompting eval type.

    Raises:
        UserError: no such eval type.

    >>> parse_eval_type("likert_constrained_two")
    ('likert', 'constrained', 'two')
    """
    if eval_type not in EVAL_TYPES[1:]:
        known = EVAL_TYPES[1:]
        raise UserError(
            f"eval type {eval_type}", f"is unknown{did_you_mean(eval_type, known)}", "Known: " + ", ".join(known) + "."
        )
    paradigm, generation, shots = eval_type.split("_")
    return paradigm, generation, shots


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


def read_answer(text: str, answers: Sequence[str]) -> tuple[float | None, str]:
    """Value and status of a free answer: the first numeral in the text that is one of the answers.

    >>> read_answer("I would say 4.", "12345")
    (4.0, 'ok')
    >>> read_answer("10 out of 10", "12345"), read_answer("none", "12345")
    ((None, 'out_of_range'), (None, 'no_numeral'))
    """
    numerals = NUMERAL.findall(text)
    for numeral in numerals:
        if numeral in answers:
            return float(numeral), "ok"
    return None, "out_of_range" if numerals else "no_numeral"


def ask(
    items: pd.DataFrame,
    engine: Engine,
    eval_type: str,
    prompt: Prompt,
    shards: Path | str,
    method: int = 1,
    model: str = "",
    swap: bool = False,
    chat: bool = False,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask about every item.

    Args:
        items: columns item_id, context1, context2, target1, target2.
        engine: a loaded model.
        eval_type: paradigm_generation_shots.
        prompt: the paradigm's texts.
        shards: folder of all shards.
        method: version of the computation.
        model: the model's name, for the progress lines.
        swap: ask Choice in both orders of the contexts.
        chat: ask through the model's chat template.

    Returns:
        responses (contract Responses), and counts for the provenance.
    """
    paradigm, generation, shots = parse_eval_type(eval_type)
    asked = [(item, name, prompt.text(slots, shots)) for item, name, slots in presentations(items, paradigm, swap)]
    distinct = sorted({text for _, _, text in asked})
    index = {text: i for i, text in enumerate(distinct)}
    identity = {
        "kind": f"{paradigm}_{generation}",
        "method": method,
        "prompts": digest_texts(distinct),
        "answers": list(prompt.answers),
        "chat": chat,
        **({"max_new_tokens": MAX_NEW_TOKENS, "stop": STOP} if generation == "free" else {}),
        **engine.facts.identity(),
    }

    def answers(skip: Any) -> Iterator[tuple[int, Written]]:
        if generation == "free":
            return engine.generate(distinct, max_new_tokens=MAX_NEW_TOKENS, stop=STOP, skip=skip, chat=chat)
        return engine.choose(distinct, prompt.answers, skip=skip, chat=chat)

    written = collect(
        answers,
        len(distinct),
        Shards(shards, identity),
        lambda w: [w.text, w.is_truncated, w.margin],
        lambda plain: Written(*plain),
        Progress(f"Asking {model or engine.facts.checkpoint} ({eval_type})", len(items)),
    )
    return _frame(asked, [written[index[text]] for _, _, text in asked], eval_type, prompt, engine, len(distinct))


def _frame(
    asked: Sequence[tuple[str, str, str]],
    written: Sequence[Written],
    eval_type: str,
    prompt: Prompt,
    engine: Engine,
    distinct: int,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    read = [read_answer(w.text, prompt.answers) for w in written]
    statuses = ["truncated" if w.is_truncated else status for w, (_, status) in zip(written, read, strict=True)]
    values = [None if status == "truncated" else value for (value, _), status in zip(read, statuses, strict=True)]
    frame = pd.DataFrame(
        {
            "item_id": pd.Series([item for item, _, _ in asked], dtype="str"),
            "eval_type": pd.Series([eval_type] * len(asked), dtype="str"),
            "presentation": pd.Series([name for _, name, _ in asked], dtype="str"),
            "prompt_digest": pd.Series([hashlib.sha256(text.encode()).hexdigest() for _, _, text in asked], dtype="str"),
            "text": pd.Series([w.text for w in written], dtype="str"),
            "value": pd.Series(values, dtype="float64"),
            "status": pd.Series(statuses, dtype="str"),
        }
    )
    margins = [w.margin for w in written if w.margin is not None]
    counts: dict[str, Any] = {
        "distinct_prompts": distinct,
        "status": dict(sorted(Counter(statuses).items())),
        "values": {f"{value:g}": count for value, count in sorted(Counter(v for v in values if v is not None).items())},
    }
    if eval_type.split("_")[1] == "constrained" and margins:
        counts["near_ties"] = {"within_nats": NEAR_TIE, "prompts": sum(m < NEAR_TIE for m in margins)}
    return frame, counts
