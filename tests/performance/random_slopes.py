"""How often the mixed model finds what is not there, where models differ in their slopes;
correctness, not speed.

Simulated models judge items of three domains; contrasts and surface features change nothing on
average, but each model has slopes of its own, templates, pairs of concepts and versions theirs.
Printed, for the intercepts of the paper and for the maximal structure: the share of tests of
contrasts and of features at 5 % and at 1 % that find something (bar: 4 to 6 % and 1 %), and how
often which random effect was dropped. A file, where one is named, keeps the fits of each study: a
second run goes on from there. With "alike" for the file, models respond alike, 80 templates are in
three versions, and all is at chance, so that tests of domains are wrong where they find something,
too.

    python tests/performance/random_slopes.py [REPETITIONS [MODELS [FILE | alike]]]
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.analysis.regression import build_design, fit_mixed_model

sys.path.insert(0, str(Path(__file__).parents[1]))  # pytest looks for doctests here, too

from simulated_judgements import simulate_features, simulate_items, simulate_judgements

N_TEMPLATES, N_VERSIONS = 48, 2
#: standard deviations of log odds.
SD = {
    "model": 0.6,
    "template": 0.4,
    "pair": 0.3,
    "version": 0.05,
    "item": 0.3,
    "contrast": 0.4,
    "feature": 0.3,
}
CONTRASTS = ("context_contrast", "target_contrast", "context_type")
FEATURES = ("log_frequency", "n_words")


def simulate(number, n_models, are_alike=False):
    """Judgements and surface features of one study."""
    size = (80, 3) if are_alike else (N_TEMPLATES, N_VERSIONS)
    items, random = simulate_items(*size, number), np.random.default_rng([number, 27])
    surface = simulate_features(items, number)
    effect = lambda codes, sd: sd * random.standard_normal(int(codes.max()) + 1)[codes]  # noqa: E731
    code = lambda *names: items.groupby(list(names), dropna=False).ngroup().to_numpy()  # noqa: E731
    shared = effect(code("domain", "meta_template"), SD["template"]) + effect(
        code("domain", "concept_a", "concept_b"), SD["pair"]
    )
    shared += effect(items["version"].to_numpy(), SD["version"]) + SD[
        "item"
    ] * random.standard_normal(len(items))
    if are_alike:
        log_odds = np.tile(shared[:, None], (n_models, 1, 2))
        return (
            simulate_judgements(
                items, log_odds, [f"model_{i:02}" for i in range(n_models)], "logprobs", number
            ),
            surface,
        )
    shared = shared + 0.5
    log_odds = np.empty((n_models, len(items), 2))
    for model in log_odds:
        own = SD["model"] * random.standard_normal() + effect(code("domain"), SD["contrast"])
        for name in CONTRASTS:
            own += effect(code(name), SD["contrast"])
        model[:] = (shared + own)[:, None]
        for name in FEATURES:
            value = surface[name].to_numpy().reshape(-1, 2)
            model += SD["feature"] * random.standard_normal() * (value - value.mean()) / value.std()
    return (
        simulate_judgements(
            items, log_odds, [f"model_{i:02}" for i in range(n_models)], "logprobs", number
        ),
        surface,
    )


def fit(number, n_models, are_alike=False):
    """The fits of one study, for JSON: structure -> p, z and df of each tested term, and what the
    fit says of itself.
    """
    design, fits = build_design(*simulate(number, n_models, are_alike)), {}
    for structure in ("intercepts", "maximal"):
        table, details = fit_mixed_model(design, structure=structure)
        groups = [*CONTRASTS, "surface_features", *(["domain"] if are_alike else [])]
        tested = table[table["group"].isin(groups) & table["p"].notna()]
        kept = {name: details[name] for name in ("dropped", "is_converged", "random_sd")}
        fits[structure] = tested[["group", "term", "p", "z", "df"]].to_dict(orient="list") | kept
    return {"number": number, "n_models": n_models} | fits


def shares(fits, structure):
    """What one structure found, in words."""
    tests = pd.concat(
        [pd.DataFrame({name: one[structure][name] for name in ("group", "p")}) for one in fits]
    )
    kinds = (
        tests["group"]
        .map({"surface_features": "features", "domain": "domains"})
        .fillna("contrasts")
    )
    parts = [
        f"{kind} {(p < 0.05).mean():.3f} {(p < 0.01).mean():.3f} of {len(p)}"
        for kind, p in tests["p"].groupby(kinds)
    ]
    failed = sum(not one[structure]["is_converged"] for one in fits)
    return f"{structure}: {', '.join(parts)}, not converged {failed}"


def main(n_repetitions, n_models, file, are_alike=False):
    """All repetitions; what is known so far is printed after every tenth."""
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    fits = {one["number"]: one for one in map(json.loads, lines) if one["n_models"] == n_models}
    for number in range(n_repetitions):
        if number not in fits:
            fits[number] = fit(number, n_models, are_alike)
            if file:
                with open(file, "a", encoding="utf-8") as lines:
                    lines.write(json.dumps(fits[number]) + "\n")
        if number % 10 == 9 or number == n_repetitions - 1:
            known = [fits[one] for one in range(number + 1)]
            dropped = Counter(name for one in known for name in one["maximal"]["dropped"])
            print(
                number + 1,
                "; ".join(shares(known, structure) for structure in ("intercepts", "maximal")),
                dict(dropped),
                flush=True,
            )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        int(arguments[0]) if arguments else 500,
        int(arguments[1]) if len(arguments) > 1 else 8,
        Path(arguments[2]) if len(arguments) > 2 and arguments[2] != "alike" else None,
        arguments[2:] == ["alike"],
    )
