"""How often the mixed model finds what is not there, where models differ in their slopes."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from studies import percent, table

from worldprobe.benchmarks.ewok.analysis.regression import build_design, fit_mixed_model

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from simulated_judgements import simulate_features, simulate_items, simulate_judgements

CONTRASTS = ("context_contrast", "target_contrast", "context_type")
FEATURES = ("log_frequency", "n_words")
N_MODELS = 8


def study(number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judgements and surface features: contrasts and features change nothing on average, but
    models have slopes of their own.
    """
    items, rng = simulate_items(48, 2, number), np.random.default_rng([number, 27])
    surface = simulate_features(items, number)

    def effect(sd: float, *names: str) -> np.ndarray:
        code = items.groupby(list(names), dropna=False).ngroup().to_numpy()
        return sd * rng.standard_normal(code.max() + 1)[code]

    shared = 0.5 + effect(0.4, "domain", "meta_template") + effect(0.05, "version")
    shared += effect(0.3, "domain", "concept_a", "concept_b") + effect(0.3, "item_id")
    log_odds = np.empty((N_MODELS, len(items), 2))
    for model in log_odds:
        own = 0.6 * rng.standard_normal() + effect(0.4, "domain")
        model[:] = (shared + own + sum(effect(0.4, name) for name in CONTRASTS))[:, None]
        for name in FEATURES:
            value = surface[name].to_numpy().reshape(-1, 2)
            model += 0.3 * rng.standard_normal() * (value - value.mean()) / value.std()
    names = [f"model_{number}" for number in range(N_MODELS)]
    return simulate_judgements(items, log_odds, names, "logprobs", number), surface


@table(quick=2, page=100)
def random_slopes(n: int) -> pd.DataFrame:
    """Share of false positives of the paper's random effects and of the maximal ones."""
    tests = []
    for number in range(n):
        design = build_design(*study(number))
        for structure in ("intercepts", "maximal"):
            fitted = fit_mixed_model(design, structure=structure)[0]
            fitted = fitted[fitted["group"].isin([*CONTRASTS, "surface_features"])]
            tests.append(fitted.dropna(subset="p").assign(structure=structure, study=number))
    found = pd.concat(tests, ignore_index=True)
    kind = (found["group"] == "surface_features").map({True: "features", False: "contrasts"})
    rows = []
    for structure, title in (("intercepts", "intercepts, as in the paper"), ("maximal", "maximal")):
        row = {"random effects": title}
        for group in ("contrasts", "features"):
            for level in (0.05, 0.01):
                here = found[(found["structure"] == structure) & (kind == group)]
                by_study = (here["p"] < level).groupby(here["study"]).mean()
                error = by_study.sem() if n > 1 else np.nan
                row[f"{group} at {level:.0%}"] = f"{percent(by_study.mean())} ± {100 * error:.1f}"
        rows.append(row)
    return pd.DataFrame(rows)
