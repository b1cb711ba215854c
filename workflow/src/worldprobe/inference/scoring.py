"""A benchmark's items asked of a model, and its responses scored, for every benchmark that says how (``Benchmark.asking``)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from worldprobe.benchmark import Asking
from worldprobe.contracts import Table
from worldprobe.errors import UserError
from worldprobe.inference.requests import run_requests
from worldprobe.inference.store import Store
from worldprobe.models.engine import Engine, Scored

#: The one condition of such a benchmark, and the metric of its scores.
CONDITION, METRIC = "items", "accuracy"


def first_is_likeliest(_item: Any, responses: Sequence[Scored]) -> float | None:
    """The score of a minimal pair: 1 where the first target has the highest log probability, 0.5 where another one has the same.

    >>> first_is_likeliest(None, [Scored(-1.0, 1), Scored(-2.0, 1)]), first_is_likeliest(None, [Scored(None, 0), Scored(-2.0, 1)])
    (1.0, None)
    """
    first, *others = (response.logprob for response in responses)
    known = [value for value in others if value is not None]
    if first is None or len(known) < len(others):
        return None
    return 1.0 if first > max(known) else 0.5 if first == max(known) else 0.0


def list_items(asking: Asking, block: Mapping[str, Any]) -> pd.DataFrame:
    """The items of a benchmark.

    Raises:
        UserError: there are none, or two have one id.
    """
    items: pd.DataFrame = asking.items(block)
    if items.empty or items["unit"].duplicated().any():
        raise UserError("items", "there are none, or two have the same unit.", "Correct the settings or the items.")
    return items


def digest_items(items: pd.DataFrame) -> str:
    """SHA-256 of all items."""
    return hashlib.sha256(items.to_csv(index=False).encode()).hexdigest()


def score_responses(
    asking: Asking, contract: type[Table], block: Mapping[str, Any], engine: Engine, store: Store, benchmark: str, model: str
) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    """Ask a model about every item.

    Args:
        asking: what is asked.
        contract: inherits ``contracts.results.Scores``.
        block: settings of the benchmark.
        engine: a loaded model.
        store: the engine's answers.
        benchmark: its name.
        model: the model's name.

    Returns:
        its scores, the digest of what was asked, and facts for the provenance.
    """
    items = list_items(asking, block)
    rows = list(items.itertuples(index=False))
    requests = [list(asking.requests(row)) for row in rows]
    wanted = [request for one in requests for request in one]
    answers = run_requests(
        wanted, engine, store, f"{benchmark} {asking.method}", what=f"Asking {model} ({benchmark})", total=len(items)
    )
    responses = iter(answers.values)
    values = [asking.score(row, [next(responses) for _ in one]) for row, one in zip(rows, requests, strict=True)]
    scores = items.assign(
        model=model,
        eval_type=asking.eval_type,
        condition=CONDITION,
        metric=METRIC,
        value=pd.Series(values, dtype="float64"),
        status=["ok" if value is not None else "not_scored" for value in values],
    )
    return scores[list(contract.columns)], {"items": digest_items(items)}, {"answers": answers.origins}
