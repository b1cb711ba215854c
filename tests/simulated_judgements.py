"""Judgements with known causes: to check intervals, tests and models, and for measuring speed at
paper scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    TARGET_CONTRASTS,
    has_pairing,
)

DOMAINS = ("domain-a", "domain-b", "domain-c")


def simulate_items(
    n_templates: int, n_versions: int, seed: int, domains: Sequence[str] = DOMAINS
) -> pd.DataFrame:
    """The design of an items table, no texts: template i is in domain i mod len(domains), other
    factors are drawn.

    Returns:
        item_id and the design columns of contracts.Judgements, one row per item.
    """
    rng = np.random.default_rng([seed, 1])
    number = np.arange(n_templates)
    templates = pd.DataFrame(
        {
            "domain": np.asarray(domains, dtype=object)[number % len(domains)],
            "meta_template": number // len(domains) + 1,
            "template": 1,
            "concept_a": [f"concept{i % 7}" for i in number],
            "concept_b": [f"concept{i % 7}x" if i % 3 else None for i in number],
            "context_contrast": (
                rng.choice(CONTEXT_CONTRASTS, n_templates, p=[0.35, 0.15, 0.3, 0.2]).astype(object)
            ),
            "context_type": rng.choice(CONTEXT_TYPES, n_templates).astype(object),
            "target_contrast": (
                rng.choice(TARGET_CONTRASTS, n_templates, p=[0.7, 0.3]).astype(object)
            ),
        }
    )
    items = templates.loc[templates.index.repeat(n_versions)].reset_index(drop=True)
    items["version"] = np.tile(np.arange(n_versions), n_templates)
    parts = zip(
        items["domain"], items["meta_template"], items["template"], items["version"], strict=True
    )
    items.insert(0, "item_id", [f"{d}_{m}_{t}_v{v}" for d, m, t, v in parts])
    return items


def simulate_features(items: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Surface features (contracts.SurfaceFeatures) of both targets of every item, drawn."""
    rng = np.random.default_rng([seed, 2])
    n = 2 * len(items)
    return pd.DataFrame(
        {
            "item_id": items["item_id"].repeat(2).to_numpy(),
            "target": np.tile([1, 2], len(items)),
            "n_words": rng.integers(8, 40, n) / 2,
            "log_frequency": rng.normal(14, 1.5, n),
        }
    )


def simulate_judgements(
    items: pd.DataFrame,
    log_odds: np.ndarray,
    models: Sequence[str],
    eval_type: str,
    seed: int,
    share_tied: float = 0.0,
) -> pd.DataFrame:
    """Draw accuracies.

    Args:
        items: as ``simulate_items`` makes them.
        log_odds: of a right answer, shape (models, items, 2).
        models: names.
        eval_type: of all rows.
        seed: of the draws.
        share_tied: this share of the targets is an exact tie instead.

    Returns:
        contracts.Judgements.
    """
    rng = np.random.default_rng([seed, 3])
    shape = (len(models), len(items), 2)
    is_tie = (rng.random(shape) < share_tied).ravel()
    right = (rng.random(shape) < 1 / (1 + np.exp(-log_odds))).ravel()
    design = (
        items.loc[items.index.repeat(2)]
        .reset_index(drop=True)
        .assign(target=np.tile([1, 2], len(items)))
    )
    table = pd.concat([design.assign(model=model) for model in models], ignore_index=True)
    accuracy = np.where(is_tie, 0.5, right.astype(float)).reshape(shape)
    is_decided = rng.random(shape[:2]) < 0.5  # where one target is right and one is wrong
    pairing = np.where(accuracy.sum(axis=2) == 1, is_decided, accuracy.sum(axis=2) > 1)
    pairing = np.where((accuracy == 0.5).all(axis=2), 0.5, pairing)
    return table.assign(
        eval_type=eval_type,
        accuracy=accuracy.ravel(),
        is_tie=is_tie,
        is_near_tie=False,
        status="ok",
        **(
            {"pairing": pairing.ravel().repeat(2), "is_near_pairing_tie": False}
            if has_pairing(eval_type)
            else {}
        ),
    )
