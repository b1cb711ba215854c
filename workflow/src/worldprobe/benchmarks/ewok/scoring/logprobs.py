"""LogProbs: log P(target | context) of the four pairs of each item, and log P(target) of its two targets (Section 4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.inference.requests import run_requests
from worldprobe.inference.store import Store
from worldprobe.log import LOGGER
from worldprobe.models.engine import FLAGS, NOT_FINITE, POSITIVE, TRUNCATED, UNKNOWN_TOKEN, Engine, Loglikelihood, Scored

#: Columns of the items table that scoring reads.
ITEM_COLUMNS = ["item_id", "context1", "context2", "target1", "target2"]
#: (target, context) of the six questions per item; context 0 is none.
QUESTIONS = tuple((target, context) for target in (1, 2) for context in (0, 1, 2))


def check_texts(items: pd.DataFrame, where: Path | str) -> None:
    """Every item needs both contexts and both targets: a missing context is not the question without a context.

    Raises:
        UserError: no items, or a text is missing or empty.
    """
    if items.empty:
        raise UserError(where, "contains no items.", "Build the items again.")
    for name in ITEM_COLUMNS[1:]:
        is_absent = items[name].isna() | (items[name].astype("str").str.strip() == "")
        if is_absent.any():
            raise UserError(
                where,
                f"{int(is_absent.sum())} items have no {name}, for example {items.item_id[is_absent].iloc[0]}.",
                "Build the items again: each needs two contexts and two targets.",
            )


def item_queries(items: pd.DataFrame) -> tuple[list[Loglikelihood], list[int]]:
    """The distinct queries of all items, sorted, and for each of the six questions of each item the query's index."""
    texts = {name: items[name].tolist() for name in ITEM_COLUMNS[1:]}
    wanted = [
        Loglikelihood(texts[f"context{context}"][row] if context else None, texts[f"target{target}"][row])
        for row in range(len(items))
        for target, context in QUESTIONS
    ]
    distinct = sorted(set(wanted), key=lambda q: (q.context is not None, q.context or "", q.target))
    index = {query: i for i, query in enumerate(distinct)}
    return distinct, [index[query] for query in wanted]


def score_logprobs(
    items: pd.DataFrame, engine: Engine, store: Store, method: int = 1, model: str = "", per_token: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame | None, dict[str, Any]]:
    """Score every item.

    Args:
        items: columns ``ITEM_COLUMNS``, one row per item.
        engine: a loaded model.
        store: the engine's answers.
        method: version of the computation.
        model: the model's name, for the progress lines.
        per_token: also return each token's log probability.

    Returns:
        target scores (contract TargetScores), token scores (contract TokenScores) or None, and facts for the provenance.
    """
    queries, wanted = item_queries(items)
    LOGGER.info("%d items ask %d questions, %d of them distinct", len(items), len(wanted), len(queries))
    what = f"Scoring {model or engine.facts.checkpoint} (LogProbs)"
    answers = run_requests(queries, engine, store, f"ewok logprobs {method}", per_token, what, len(items))
    scored: list[Scored] = [answers.values[i] for i in wanted]
    ids = [item_id for item_id in items["item_id"] for _ in QUESTIONS]
    frame = pd.DataFrame(
        {
            "item_id": pd.Series(ids, dtype="str"),
            "target": [target for target, _ in QUESTIONS] * len(items),
            "context": [context for _, context in QUESTIONS] * len(items),
            "logprob": pd.Series([s.logprob for s in scored], dtype="float64"),
            "n_tokens": pd.Series([s.n_tokens for s in scored], dtype="int64"),
            "flags": pd.Series([",".join(s.flags) for s in scored], dtype="str"),
        }
    )
    return (
        frame,
        _token_frame(frame, scored) if per_token else None,
        {
            **_counts(scored, len(queries)),
            "answers": answers.origins,
        },
    )


def _counts(scored: Sequence[Scored], distinct: int) -> dict[str, Any]:
    """How many rows carry each flag; those that no study should contain are warned of."""
    flags = Counter(flag for s in scored for flag in s.flags)
    for flag in (TRUNCATED, NOT_FINITE, UNKNOWN_TOKEN, POSITIVE):
        if flags[flag]:
            LOGGER.warning("%d of %d scores are flagged %s", flags[flag], len(scored), flag)
    return {"distinct_queries": distinct, "flags": {flag: flags[flag] for flag in FLAGS}}


def _token_frame(frame: pd.DataFrame, scored: Sequence[Scored]) -> pd.DataFrame:
    """One row per scored token of each row of ``frame``."""
    lengths = [len(s.token_logprobs or ()) for s in scored]
    repeated = frame.loc[frame.index.repeat(lengths), ["item_id", "target", "context"]].reset_index(drop=True)
    repeated["position"] = pd.Series([p for n in lengths for p in range(n)], dtype="int64")
    repeated["token"] = pd.Series([t for s in scored for t in (s.tokens or ())], dtype="str")
    repeated["logprob"] = pd.Series([v for s in scored for v in (s.token_logprobs or ())], dtype="float64")
    return repeated
