"""Whether a model answers the same abstract trial alike in the words of several skins, and how much
of that its accuracy explains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from worldprobe.analysis.components import LEVEL
from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, INVALID, WORDS, Questions
from worldprobe.contracts.results import ALL, OVERALL

#: Abstract trials with pairs that a problem must have; with fewer, chance and interval are not
#: known well enough to say anything.
FEWEST = 30
TOO_FEW_PAIRS, ONE_ANSWER, MISSING_PROBLEM = "too_few_pairs", "one_answer", "missing_problem"
AGREEMENT, CONSISTENCY, EXPLAINED = "agreement", "consistency", "explained"


def measure_consistency(
    name: str, questions: Questions, series: AnswerSeries, seed: int = 0, n_draws: int = 100
) -> pd.DataFrame:
    """Agreement, consistency and what accuracy explains of it, by problem, and means over problems,
    as rows of ``Summaries``.

    Args:
        name: of the set.
        questions: its trials.
        series: answers of one model; the first sample counts.
        seed: of the exchanges.
        n_draws: how often answers are exchanged.
    """
    tuples = questions.tuples
    problem = tuples["problem"].cat.codes.to_numpy()[questions.tuple_of]
    kinds = (
        tuples.groupby(["problem", "size", "complexity", "query"], observed=True)
        .ngroup()
        .to_numpy()[questions.tuple_of]
    )
    answers = series.answers[0].astype(np.int64)
    measured = []
    for code, title in enumerate(tuples["problem"].cat.categories):
        here = np.flatnonzero((answers != ABSENT) & (problem == code))
        skin = np.unique(
            tuples["skin"].cat.codes.to_numpy()[questions.tuple_of[here]], return_inverse=True
        )[1]
        paired, pairs = _pair(np.unique(questions.abstract[here], return_inverse=True)[1], skin)
        if len(paired):
            answered = answers[here] - INVALID  # an invalid answer is 0
            stratum = kinds[here] * (len(WORDS) + 1) + questions.gold["released"][here] + 1
            measured.append(
                (
                    title,
                    *_of_problem(
                        pairs,
                        paired,
                        answered,
                        stratum,
                        np.random.default_rng([seed, code]),
                        n_draws,
                    ),
                )
            )
    rows = [
        row | {"grouping": "problem", "group": title}
        for title, measures, _ in measured
        for row in measures
    ]
    if measured:
        rows += [
            row | {"grouping": OVERALL, "group": ALL}
            for row in _over_problems(rows, np.array([draws for *_, draws in measured]))
        ]
    counts, numbers = ("n", "n_clusters"), ("mean", "std_error", "sem", "ci_low", "ci_high")
    table = pd.DataFrame(
        rows, columns=["grouping", "group", "metric", *numbers, *counts, "status"]
    ).astype({**dict.fromkeys(counts, int), **dict.fromkeys(numbers, float)})
    return table.assign(
        condition=name,
        eval_type=series.prompting,
        model=series.model,
        conf95=np.nan,
        interval_over="skins",
    )


def _of_problem(
    pairs: _Pairs,
    paired: np.ndarray,
    answers: np.ndarray,
    stratum: np.ndarray,
    rng: np.random.Generator,
    n_draws: int,
) -> tuple[list[dict[str, object]], np.ndarray]:
    """The rows of one problem, and the consistencies of exchanged answers."""
    agreement, consistency, moved = pairs.measure(answers[paired])
    n_trials, skins = len(moved), np.unique(pairs.skin)
    basis = {"n": n_trials, "n_clusters": len(skins)}
    lacking = TOO_FEW_PAIRS if n_trials < FEWEST else ONE_ANSWER if np.isnan(consistency) else None
    shown = {"status": TOO_FEW_PAIRS} if n_trials < FEWEST else {"status": "ok", "mean": agreement}
    rows: list[dict[str, object]] = [{"metric": AGREEMENT, **basis, **shown}]
    if lacking:
        rows += [
            {"metric": measure, **basis, "status": lacking} for measure in (CONSISTENCY, EXPLAINED)
        ]
        return rows, np.full(n_draws, np.nan)
    variance = max(
        _between_skins(pairs, answers[paired], skins),
        float((moved**2).sum()) / (n_trials * (n_trials - 1)),
    )
    rows.append(
        {
            "metric": CONSISTENCY,
            **basis,
            **_with_interval(consistency, float(np.sqrt(variance)), len(skins)),
        }
    )
    draws = np.empty(n_draws)
    order = np.argsort(stratum, kind="stable")
    for number in range(n_draws):
        exchanged = np.empty_like(answers)
        exchanged[order] = answers[np.lexsort((rng.random(len(answers)), stratum))]
        draws[number] = pairs.measure(exchanged[paired])[1]
    rows.append({"metric": EXPLAINED, **_of_draws(draws), **basis})
    return rows, draws


def _between_skins(pairs: _Pairs, answers: np.ndarray, skins: np.ndarray) -> float:
    """The variance of consistency between skins: the jackknife's, one skin left out at a time;
    infinite where it has no value.
    """
    values = []
    for skin in skins:
        kept, others = pairs.without(int(skin))
        values.append(others.measure(answers[kept])[1] if len(kept) else np.nan)
    left = np.array(values)
    variance = (len(skins) - 1) / len(skins) * ((left - left.mean()) ** 2).sum()
    return np.inf if np.isnan(variance) else float(variance)


def _over_problems(rows: list[dict[str, object]], draws: np.ndarray) -> list[dict[str, object]]:
    """Means over problems; missing where a problem's is."""
    table = pd.DataFrame(rows, columns=["metric", "mean", "sem", "n", "n_clusters", "status"])
    summaries: list[dict[str, object]] = []
    for measure, part in table.groupby("metric", sort=False):
        n_skins = int(part["n_clusters"].min())
        basis: dict[str, object] = {
            "metric": str(measure),
            "n": int(part["n"].sum()),
            "n_clusters": n_skins,
        }
        if (part["status"].isin([TOO_FEW_PAIRS, ONE_ANSWER])).any():
            summaries.append(basis | {"status": MISSING_PROBLEM})
        elif measure == EXPLAINED:
            summaries.append(basis | _of_draws(draws.mean(axis=0)))
        else:
            mean = float(part["mean"].mean())
            # Problems share skins, so their errors may add up: the mean of their errors is the most
            # that it can be.
            is_known = measure == AGREEMENT or (part["status"] == "ok").all()
            error = float(part["sem"].mean()) if is_known else np.inf
            summaries.append(basis | _with_interval(mean, error, n_skins))
    return summaries


def _with_interval(mean: float, error: float, n_skins: int) -> dict[str, object]:
    """A mean with its standard error and Student's interval; an agreement has none, and skins that
    are all alike have none.
    """
    if not 0 < error < np.inf:
        status = "ok" if np.isnan(error) else "no_spread"
        return {"mean": mean, "sem": 0.0 if error == 0 else np.nan, "status": status}
    half = float(stdtrit(n_skins - 1, (1 + LEVEL) / 2)) * error
    return {
        "mean": mean,
        "std_error": error,
        "sem": error,
        "ci_low": max(mean - half, -1.0),
        "ci_high": min(mean + half, 1.0),
        "status": "ok",
    }


def _of_draws(draws: np.ndarray) -> dict[str, object]:
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return {"status": ONE_ANSWER}
    low, high = np.quantile(defined, [0.025, 0.975])
    return {"mean": defined.mean(), "ci_low": low, "ci_high": high, "status": "ok"}


@dataclass(frozen=True)
class _Pairs:
    """The trials of one problem that have a partner in another skin.

    Attributes:
        trial: number of each one's abstract trial, from 0.
        skin: code of each one's skin, from 0.
    """

    trial: np.ndarray
    skin: np.ndarray

    def measure(self, answers: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Agreement, consistency, and by how much each abstract trial moves consistency (its
        influence).

        Args:
            answers: code of each trial's answer, 0 where it is invalid.
        """
        n_trials, n_words, n_skins = (
            int(self.trial.max()) + 1,
            len(WORDS) + 1,
            int(self.skin.max()) + 1,
        )
        by_word = _count(self.trial, n_trials, (answers, n_words))
        by_skin = _count(self.trial, n_trials, (self.skin, n_skins))
        by_both = _count(self.trial, n_trials, (self.skin, n_skins), (answers, n_words)).reshape(
            n_trials, n_skins, n_words
        )
        size = by_word.sum(axis=1)
        n_pairs = (size**2 - (by_skin**2).sum(axis=1)) / 2
        same = (by_word**2 - (by_both**2).sum(axis=1)) / 2
        # How often each answer is a member of a pair: every trial once for each partner in another
        # skin.
        partners = size[:, None] - by_skin
        members = np.einsum("ts,tsw->tw", partners, by_both) / (2 * n_pairs[:, None])
        agree = same[:, 1:].sum(axis=1) / n_pairs
        agreement, shares = float(agree.mean()), members.mean(axis=0)[1:]
        chance = float((shares**2).sum())
        if chance > 1 - 1e-12:
            return agreement, np.nan, np.zeros(n_trials)
        beyond = (agreement - chance) / (1 - chance)
        moved = (agree - agreement) - (1 - beyond) * 2 * ((members[:, 1:] - shares) @ shares)
        return agreement, beyond, moved / (1 - chance)

    def without(self, skin: int) -> tuple[np.ndarray, _Pairs]:
        """The trials that still have a partner without a skin, and their pairs."""
        kept = np.flatnonzero(self.skin != skin)
        paired, pairs = _pair(self.trial[kept], self.skin[kept])
        return kept[paired], pairs


def _pair(trial: np.ndarray, skin: np.ndarray) -> tuple[np.ndarray, _Pairs]:
    """The trials that have a partner in another skin, and their pairs, with abstract trials
    numbered from 0.
    """
    if not len(trial):
        return np.zeros(0, int), _Pairs(trial, skin)
    n = int(trial.max()) + 1
    lowest, highest = np.full(n, skin.max()), np.zeros(n, int)
    np.minimum.at(lowest, trial, skin)
    np.maximum.at(highest, trial, skin)
    paired = np.flatnonzero((lowest < highest)[trial])
    return paired, _Pairs(
        np.unique(trial[paired], return_inverse=True)[1].reshape(-1), skin[paired]
    )


def _count(trial: np.ndarray, n_trials: int, *parts: tuple[np.ndarray, int]) -> np.ndarray:
    """How many trials of each abstract trial have each combination of codes, shape (abstract
    trials, combinations).
    """
    code, width = trial.astype(np.int64), 1
    for part, size in parts:
        code, width = code * size + part, width * size
    return np.bincount(code, minlength=n_trials * width).reshape(n_trials, width).astype(float)
