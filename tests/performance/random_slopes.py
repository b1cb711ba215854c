"""How often the mixed model finds what is not there, where models differ in their slopes; correctness, not speed.

Simulated models judge items of three domains; contrasts and surface features change nothing on average, but each model has slopes
of its own, templates, pairs of concepts and versions theirs. Printed, for the intercepts of the paper and for the maximal
structure: the share of tests of contrasts and of features at 5 % and at 1 % that find something (bar: 4 to 6 % and 1 %), and how
often which random effect was dropped.

    python tests/performance/random_slopes.py [REPETITIONS [MODELS]]
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from worldprobe.benchmarks.ewok.analysis.regression import build_design, fit_mixed_model

sys.path.insert(0, str(Path(__file__).parents[1]))  # pytest looks for doctests here, too

from simulated_judgements import simulate_features, simulate_items, simulate_judgements

N_TEMPLATES, N_VERSIONS = 48, 2
#: standard deviations of log odds.
SD = {"model": 0.6, "template": 0.4, "pair": 0.3, "version": 0.05, "item": 0.3, "contrast": 0.4, "feature": 0.3}
CONTRASTS = ("context_contrast", "target_contrast", "context_type")
FEATURES = ("log_frequency", "n_words")


def simulate(number, n_models):
    """Judgements and surface features of one study."""
    items, random = simulate_items(N_TEMPLATES, N_VERSIONS, number), np.random.default_rng([number, 27])
    surface = simulate_features(items, number)
    effect = lambda codes, sd: sd * random.standard_normal(int(codes.max()) + 1)[codes]  # noqa: E731
    code = lambda *names: items.groupby(list(names), dropna=False).ngroup().to_numpy()  # noqa: E731
    shared = effect(code("domain", "meta_template"), SD["template"]) + effect(
        code("domain", "concept_a", "concept_b"), SD["pair"]
    )
    shared += effect(items["version"].to_numpy(), SD["version"]) + SD["item"] * random.standard_normal(len(items)) + 0.5
    log_odds = np.empty((n_models, len(items), 2))
    for model in log_odds:
        own = SD["model"] * random.standard_normal() + effect(code("domain"), SD["contrast"])
        for name in CONTRASTS:
            own += effect(code(name), SD["contrast"])
        model[:] = (shared + own)[:, None]
        for name in FEATURES:
            value = surface[name].to_numpy().reshape(-1, 2)
            model += SD["feature"] * random.standard_normal() * (value - value.mean()) / value.std()
    return simulate_judgements(items, log_odds, [f"model_{i:02}" for i in range(n_models)], "logprobs", number), surface


def main(n_repetitions, n_models):
    """All repetitions; what is known so far is printed after every tenth."""
    counts = {(structure, kind): np.zeros(3) for structure in ("intercepts", "maximal") for kind in ("contrasts", "features")}
    dropped, failed = Counter(), Counter()
    for number in range(n_repetitions):
        design = build_design(*simulate(number, n_models))
        for structure in ("intercepts", "maximal"):
            table, details = fit_mixed_model(design, structure=structure)
            dropped.update(details["dropped"])
            failed[structure] += not details["is_converged"]
            for kind, groups in (("contrasts", CONTRASTS), ("features", ("surface_features",))):
                p = table.loc[table["group"].isin(groups), "p"].dropna()
                counts[structure, kind] += [(p < 0.05).sum(), (p < 0.01).sum(), len(p)]
        if number % 10 == 9:
            shares = (f"{structure} {kind} {a / n:.3f} {b / n:.3f}" for (structure, kind), (a, b, n) in counts.items())
            print(number + 1, "; ".join(shares), dict(failed), dict(dropped), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, int(sys.argv[2]) if len(sys.argv) > 2 else 8)
