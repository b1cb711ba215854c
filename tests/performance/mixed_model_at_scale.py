"""The maximal mixed model on simulated judgements of a study's size, and next to glmer itself.

    python tests/performance/mixed_model_at_scale.py fit TEMPLATES       # 875: 175,000 rows of 20
    models, five versions python tests/performance/mixed_model_at_scale.py compare TEMPLATES   # 88:
    a tenth, both ways; glmer takes long

``fit`` prints wall and processor time; ``compare`` also the largest difference of two coefficients
in glmer's standard errors (bar: 1e-3), and of the log likelihoods.
"""

import resource
import sys
import time
from pathlib import Path

import numpy as np

from worldprobe.benchmarks.ewok.analysis.regression import build_design, fit_mixed_model

sys.path.insert(0, str(Path(__file__).parents[1]))  # pytest looks for doctests here, too

from random_slopes import CONTRASTS, FEATURES, SD

from simulated_judgements import simulate_features, simulate_items, simulate_judgements

N_MODELS, N_VERSIONS = 20, 5
DOMAINS = [f"domain {letter}" for letter in "abcdefghijk"]


def simulate(n_templates):
    """A design of models that differ in their slopes, as in random_slopes.py, with eleven
    domains.
    """
    items, random = simulate_items(n_templates, N_VERSIONS, 1, DOMAINS), np.random.default_rng(27)
    surface = simulate_features(items, 1)
    code = lambda *names: items.groupby(list(names), dropna=False).ngroup().to_numpy()  # noqa: E731
    effect = lambda codes, sd: sd * random.standard_normal(int(codes.max()) + 1)[codes]  # noqa: E731
    shared = (
        0.5
        + effect(code("domain", "meta_template"), SD["template"])
        + SD["item"] * random.standard_normal(len(items))
    )
    shared += effect(code("domain", "concept_a", "concept_b"), SD["pair"]) + effect(
        items["version"].to_numpy(), SD["version"]
    )
    log_odds = np.empty((N_MODELS, len(items), 2))
    for model in log_odds:
        own = SD["model"] * random.standard_normal()
        own = own + sum(effect(code(name), SD["contrast"]) for name in ("domain", *CONTRASTS))
        model[:] = (shared + own)[:, None]
        for name in FEATURES:
            value = surface[name].to_numpy().reshape(-1, 2)
            model += SD["feature"] * random.standard_normal() * (value - value.mean()) / value.std()
    judgements = simulate_judgements(
        items, log_odds, [f"model_{i:02}" for i in range(N_MODELS)], "logprobs", 1
    )
    return build_design(judgements, surface)


def timed(design, method):
    """A fit of the maximal structure, its times printed."""
    began, spent = time.monotonic(), time.process_time()
    table, details = fit_mixed_model(design, method, "maximal")
    took = f"{time.monotonic() - began:.0f} s, {time.process_time() - spent:.0f} s of a processor"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{method}: {len(design.response)} rows, {len(design.models)} models, {len(table)}"
        f" coefficients, {len(details['random_sd'])} random effects"
        f" ({', '.join(details['dropped']) or 'none'} dropped), {details['n_evaluations']}"
        f" evaluations, converged {details['is_converged']}: {took}, {memory:.1f} GiB",
        flush=True,
    )
    return table, details


if __name__ == "__main__":
    what, design = sys.argv[1], simulate(int(sys.argv[2]))
    fast, details = timed(design, "whitened")
    if what == "compare":
        plain, of_plain = timed(design, "plain")
        difference = np.abs((fast["estimate"] - plain["estimate"]) / plain["std_error"]).max()
        print(f"coefficients differ by at most {difference:.1e} standard errors, ", end="")
        print(f"log likelihoods by {details['log_likelihood'] - of_plain['log_likelihood']:+.4f}")
