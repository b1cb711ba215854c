"""Results of invented models, as `worldprobe evaluate` writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def estimate(value: float | None, half: float, n: int, **counts: int) -> dict[str, Any]:
    known = value is not None
    numbers = {
        "mean": value,
        "stderr": half / 1.96 if known else None,
        "ci_low": value - half if known else None,
        "ci_high": value + half if known else None,
    }
    return numbers | {"n": n, "counts": counts}


def part(metric: str, grouping: str, group: str, numbers: dict[str, Any]) -> dict[str, Any]:
    return {"metric": metric, "grouping": grouping, "group": group, **numbers}


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
        ewok = estimate(value, half, 200, ties=3) | {
            "title": "EWoK",
            "unit": "items",
            "chance": 0.5,
            "interval": "pairs of concepts and versions",
            "eval_type": "logprobs",
            "asked": {"ties": "count 0.5", "start tokens": "none"},
            "items_digest": items,
            "parts": [
                part("accuracy", "domain", "social-relations", estimate(value, 0.02, 100)),
                part("accuracy", "domain", "spatial-relations", estimate(0.6, 0.02, 100)),
            ],
            "baselines": {},
            "published": {
                "source": "Table 1",
                "is_comparable": False,
                "means": {"gpt2_xl": 0.655},
            },
            "release": None,
            "notes": [],
        }
        worldsense = estimate(0.55, 0.05, 60, invalid=2) | {
            "title": "WorldSense",
            "unit": "tuples",
            "chance": 0.5,
            "interval": "skins (18)",
            "eval_type": "basic",
            "asked": {"way of asking": "basic prompting, as text"},
            "items_digest": "t" * 64,
            "parts": [
                part("accuracy", "problem", "Infer.trivial", estimate(0.6, 0.05, 60)),
                part("bias", "overall", "all", estimate(-0.1, 0.05, 60)),
            ],
            "baselines": {"counting (rule)": estimate(0.5, 0.05, 60)},
            "published": {"source": "Table 2", "is_comparable": False, "means": {"GPT4": 0.7}},
            "release": None,
            "notes": ["A rule that counts has 0.500."],
        }
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
            "benchmarks": {"ewok": ewok, "worldsense": worldsense},
        } | changes

    return make
