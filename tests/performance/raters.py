"""Is a difference of people and a model found as often as planned, with fewer and with more raters
than the pilot had?

Simulated people rate both targets of each item in both contexts from 1 to 5; how far a target's
ratings are apart depends on its pair of concepts, template, version and itself, and each rating has
an error of its own. A model is right more often where people are. Pilots have five ratings of each
sentence, and 20 versions, so that little of what is missed is theirs. For each number of raters the
planned difference of 80 % power is simulated, as such raters show it. Printed: people's accuracy;
that difference; the share of studies that find it (bar: 78 to 82 %); the same if raters are taken
to be as many as the pilot's.

    nice -n 19 python tests/performance/raters.py [REPETITIONS]
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from worldprobe.analysis.clusters import crossed_means
from worldprobe_lab.power import Raters, plan, variances_with_people

sys.path.insert(0, str(Path(__file__).parent))  # pytest looks for doctests here, too

import power

N_PAIRS, N_TEMPLATES, N_VERSIONS = 40, 400, 5
#: ratings of each sentence, and versions, of pilots.
N_PILOT, N_PILOT_VERSIONS = 5, 20
#: of a target's mean difference of ratings: pair of concepts, template, version, target; of one
#: rating.
SD_PAIR, SD_TEMPLATE, SD_VERSION, SD_TARGET, SD_RATING = 0.3, 0.5, 0.05, 0.5, 1.5
#: mean difference of ratings; the model's log odds by such a difference, and their own parts by
#: pair of concepts and version.
CLEAR, SLOPE, SD_OF_MODEL, SD_OF_VERSION = 1.6, 0.8, 0.2, 0.05
PAIR = power.sizes(N_PAIRS, N_TEMPLATES)
CLUSTER, VERSION = np.repeat(PAIR, N_VERSIONS), np.tile(np.arange(N_VERSIONS), N_TEMPLATES)


def answer(random, clear, log_odds, n_raters):
    """Answers about targets.

    Args:
        random: of the answers.
        clear: true differences of ratings.
        log_odds: of a right answer of the model, same shape.
        n_raters: ratings in each context.

    Returns:
        Differences of people's mean ratings, their squared errors, and the model's answers, each of
        this shape.
    """
    ratings = []
    for side in (1, -1):
        errors = SD_RATING * random.standard_normal((*clear.shape, n_raters), dtype=np.float32)
        ratings.append(np.clip(np.round(3 + side * clear[..., None] / 2 + errors), 1, 5))
    squares = (
        sum(side.var(axis=-1, ddof=1) / n_raters for side in ratings)
        if n_raters > 1
        else np.full(clear.shape, np.nan)
    )
    right = random.random(clear.shape) < 1 / (1 + np.exp(-log_odds))
    return ratings[0].mean(axis=-1) - ratings[1].mean(axis=-1), squares, right.astype(float)


def simulate(random, n_raters, shift, n_versions=N_VERSIONS):
    """``answer`` in a study, shape (2 targets, templates, versions)."""
    normal = random.standard_normal
    clear = (
        CLEAR + SD_PAIR * normal(N_PAIRS)[PAIR][:, None] + SD_TEMPLATE * normal((N_TEMPLATES, 1))
    )
    clear = (
        clear + SD_VERSION * normal(n_versions) + SD_TARGET * normal((2, N_TEMPLATES, n_versions))
    )
    own = SD_OF_MODEL * normal(N_PAIRS)[PAIR][:, None] + SD_OF_VERSION * normal(n_versions)
    return answer(random, clear, SLOPE * clear + own + shift, n_raters)


def accuracy(differences):
    """Of people, by target."""
    return (np.sign(differences) + 1) / 2


def shift_for(n_raters, difference):
    """How much the model's log odds are shifted so that people's accuracy is above the model's by
    this, and people's accuracy.
    """
    random = np.random.default_rng(1)
    clear = CLEAR + np.sqrt(
        SD_PAIR**2 + SD_TEMPLATE**2 + SD_VERSION**2 + SD_TARGET**2
    ) * random.standard_normal(1_000_000)
    log_odds = SLOPE * clear + np.hypot(SD_OF_MODEL, SD_OF_VERSION) * random.standard_normal(
        len(clear)
    )
    people = accuracy(answer(random, clear, log_odds, n_raters)[0]).mean()
    return (
        brentq(
            lambda shift: (1 / (1 + np.exp(-log_odds - shift))).mean() - people + difference, -5, 5
        ),
        people,
    )


def found(random, n, n_raters, shift):
    """The share of studies whose test finds a difference."""
    values = []
    for _ in range(n):
        differences, _, right = simulate(random, n_raters, shift)
        values.append((accuracy(differences) - right).mean(axis=0).ravel())
    means = crossed_means(np.array(values), CLUSTER, VERSION, tested=False)
    return float((means.ci_low > 0).mean())


def planned(random, n_raters, n_pilots, shift):
    """The difference of 80 % power with the mean of what pilots say, and with what they say of
    their own number of raters.
    """
    pilots = []
    for _ in range(n_pilots):
        differences, errors, right = simulate(random, N_PILOT, shift, N_PILOT_VERSIONS)
        values = np.stack([accuracy(differences).mean(axis=0), right.mean(axis=0)])
        raters = Raters.of(differences.ravel(), errors.ravel(), N_PILOT)
        pilots.append([variances_with_people(values, PAIR, raters, n) for n in (n_raters, N_PILOT)])
    names = ("cluster", "template", "version", "cluster_version", "item")
    means = [
        replace(
            kind[0],
            **{name: float(np.mean([getattr(one, name) for one in kind])) for name in names},
        )
        for kind in zip(*pilots, strict=True)
    ]
    return [float(plan(one, 0.02, [N_PAIRS], [N_VERSIONS]).detectable[0]) for one in means]


def main(n):
    """All numbers of raters."""
    print("raters accuracy_of_people difference found of_pilot found")
    for n_raters in (1, 2, 3, 5, 10, 20):
        random = np.random.default_rng(n_raters)
        print(f"{n_raters:6} {shift_for(n_raters, 0)[1]:18.3f}", end="")
        for difference in planned(random, n_raters, 30, shift_for(n_raters, 0.05)[0]):
            share = found(random, n, n_raters, shift_for(n_raters, difference)[0])
            print(f" {difference:10.4f} {share:.3f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
