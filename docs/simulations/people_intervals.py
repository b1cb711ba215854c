"""Do intervals of people's accuracy contain the true accuracy in 95 % of studies? Simulated people,
who differ or not.

Every cell of a template is in another of twenty lists, and the people of a list give all of its
ratings; a share of their answers are guesses, and where they differ it has a standard deviation of
0.15. The truth is the mean of all studies.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from worldprobe_survey.lists import find_preference
from worldprobe_survey.people import find_likeness, mean_accuracy

N_TEMPLATES, N_LISTS = 150, 20


def draw_study(random, noise, differ, n_people):
    """Accuracy of every target, its template, and whose answers it rests on."""
    own = np.clip(noise + differ * random.standard_normal((N_LISTS, n_people)), 0.02, 0.995)
    lists = random.random((N_TEMPLATES, N_LISTS)).argsort(axis=1)[:, :4]
    is_guess = random.random((N_TEMPLATES, 4, n_people)) < own[lists]
    guess = random.integers(1, 6, is_guess.shape)
    ratings = np.where(is_guess, guess, np.array([5, 1, 5, 1])[:, None]).sum(axis=2)
    accuracy = (np.sign(ratings[:, 0::2] - ratings[:, 1::2]) + 1) / 2
    # The people of a list answer alike much of it: one column for each list is as good as one for
    # each person.
    places = np.repeat(np.arange(2 * N_TEMPLATES), 2), lists.ravel()
    raters = sparse.csr_array(
        (np.full(4 * N_TEMPLATES, 0.5), places), shape=(2 * N_TEMPLATES, N_LISTS)
    )
    return accuracy.ravel(), np.repeat(np.arange(N_TEMPLATES), 2), raters


def measure_coverage(accuracy, differ, n_people, n_studies):
    """The share of intervals that contain the truth, and their relative width."""
    random = np.random.default_rng([n_people, round(100 * accuracy), round(100 * differ)])
    noise = brentq(lambda share: find_preference(share, n_people) - accuracy, 0.01, 0.995)
    rows = []
    for _ in range(n_studies):
        study = draw_study(random, noise, differ, n_people)
        rows.append(mean_accuracy(*study, find_likeness(*study)))
    mean, low, high = np.array(rows).T
    truth = mean.mean()
    spread = np.diff(np.quantile(mean, [0.025, 0.975]))[0]
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean() / spread)
