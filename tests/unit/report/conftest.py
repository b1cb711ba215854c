"""Results of invented models, as `worldprobe evaluate` writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def mean(value: float | None, half: float = 0.02, **counts: int) -> dict[str, Any]:
    known = value is not None
    ends = (
        {"ci_low": value - half, "ci_high": value + half}
        if known
        else {"ci_low": None, "ci_high": None}
    )
    row = {
        "mean": value,
        "low": value,
        "high": value,
        **ends,
        "stderr": half / 1.96 if known else None,
    }
    return row | {"n_items": 100, "n_ties": 0, "n_near_ties": 0, "n_missing": 0} | counts


def tuples(value: float) -> dict[str, Any]:
    spread = {
        "conf95": 0.05,
        "ci_low": value - 0.05,
        "ci_high": value + 0.05,
        "stderr": 0.05 / 1.96,
        "n_clusters": 18,
    }
    return {"mean": value, **spread, "n_tuples": 60}


@pytest.fixture
def make_result() -> Callable[..., dict[str, Any]]:
    """A function: name, accuracy, width of the interval -> a result of both benchmarks."""

    def make(
        name: str,
        value: float | None = 0.7,
        half: float = 0.02,
        items: str = "a" * 64,
        **changes: Any,
    ) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "worldprobe_version": "0.1.0",
            "model": name,
            "checkpoint": f"lab/{name}",
            "revision": None,
            "checkpoint_digest": "c" * 64,
            "dtype": "float32",
            "engine": "transformers",
            "packages": {"transformers": "5.0.0", "worldprobe": "0.1.0"},
            "materials": {
                "source": "builtin",
                "digest": "m" * 64,
                "items_digest": items,
                "n_items": 200,
                "versions": [0, 1],
                "is_official_release": False,
            },
            "eval_type": "logprobs",
            "measure": "contexts",
            "metric": "accuracy",
            "tie_rule": "half",
            "average": "versions",
            "start_tokens": [],
            "accuracy": mean(value, half, n_items=200, n_ties=3),
            "accuracy_by_domain": {"social-relations": mean(value), "spatial-relations": mean(0.6)},
            "published": {"gpt2_xl": 0.655},
            "published_source": "Table 1",
            "worldsense": {
                "trials": {"digest": "t" * 64, "n_trials": 240},
                "prompting": "basic",
                "form": "text",
                "accuracy": tuples(0.55),
                "bias": tuples(-0.1),
                "accuracy_by_problem": {"Infer.trivial": tuples(0.6)},
                "invalid": 2,
                "published": {"GPT4": 0.7},
                "published_source": "Table 2",
            },
        } | changes

    return make
