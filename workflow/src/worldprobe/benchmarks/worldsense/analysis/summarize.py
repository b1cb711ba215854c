"""Everything that is averaged over the tuples of a set: the paper's groupings, and what the paper
lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from worldprobe.analysis.clusters import Estimates, near_ends, variance_of_mean
from worldprobe.analysis.comparisons import compare_models as compare_pairs
from worldprobe.analysis.comparisons import corrected
from worldprobe.analysis.components import NO_VARIANCE, Components, Part, interval, p_value
from worldprobe.analysis.summaries import Group
from worldprobe.benchmarks.worldsense.analysis.answers import Series
from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, INVALID, WORDS, Questions
from worldprobe.benchmarks.worldsense.analysis.statistics import (
    Z,
    average,
    score_metrics,
    score_tuples,
)
from worldprobe.benchmarks.worldsense.contracts import GROUPINGS, Comparisons
from worldprobe.contracts.results import ALL, JOINT, OVERALL


def summarize(
    name: str, questions: Questions, series: Sequence[Series], seed: int = 0
) -> pd.DataFrame:
    """Rows of ``contracts.Summaries`` of one set.

    Args:
        name: of the set.
        questions: its trials.
        series: the answers to them.
        seed: of the exchanges of answers that say what accuracy explains of consistency.
    """
    labels, scores = [], []
    for one in series:
        for metric, score in score_metrics(questions, one.answers).items():
            labels.append((name, one.prompting, one.model, metric))
            scores.append(score)
    named, values = pd.DataFrame(labels, columns=_KEY), np.array(scores)
    blocks = [
        _means(questions.tuples, grouping, by, values, named)
        for grouping, by in GROUPINGS.items()
        if set(by) <= set(questions.tuples.columns)
    ]
    blocks += [measure_consistency(name, questions, one, seed) for one in series]
    table = pd.concat(blocks, ignore_index=True)
    return table.sort_values([*_KEY, "grouping", "group"], kind="stable").reset_index(drop=True)


_KEY = ["condition", "eval_type", "model", "metric"]


def _means(
    tuples: pd.DataFrame, grouping: str, by: Sequence[str], values: np.ndarray, named: pd.DataFrame
) -> pd.DataFrame:
    """The rows of one grouping."""
    means = average(tuples, values, by)
    spread = spread_of_means(
        tuples, values, by, lowest=np.where(named["metric"].str.startswith("bias"), -1.0, 0.0)
    )
    group = [JOINT.join(map(str, row)) or ALL for row in means.groups.to_numpy(object)]
    columns = {
        "mean": means.mean,
        "sem": means.sem,
        "conf95": Z * means.sem,
        "n": means.count.astype(int),
        "n_clusters": spread.n_clusters,
        "std_error": spread.std_error,
        "ci_low": spread.ci_low,
        "ci_high": spread.ci_high,
        "status": spread.status,
    }
    rows = named.iloc[np.repeat(np.arange(len(named)), len(group))].reset_index(drop=True)
    rows = rows.assign(
        grouping=grouping, group=np.tile(np.array(group, object), len(named)), interval_over=OVER
    )
    rows = rows.assign(**{column: numbers.ravel() for column, numbers in columns.items()})
    return rows[rows["n"] > 0]


def compare_models(name: str, questions: Questions, series: Sequence[Series]) -> pd.DataFrame:
    """Rows of ``contracts.Comparisons`` of one set: pairs of models with the same prompting, on the
    tuples that both answered.

    The difference is a mean over tuples like any other; its interval and its p are for other skins
    and abstract problems.
    """
    tuples = questions.tuples
    places = {(OVERALL, ALL): np.arange(len(tuples))}
    places |= {
        ("problem", str(key)): np.asarray(found)
        for key, found in tuples.groupby("problem", observed=True).indices.items()
    }
    groups = [
        Group(*key, units, tuples["skin"].cat.codes.to_numpy()[units], OVER)
        for key, units in places.items()
    ]

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        found = spread_of_means(tuples.iloc[group.units], values, (), tested)
        return Estimates(**{field: array[:, 0] for field, array in vars(found).items()})

    rules = {one.model for one in series if one.is_rule}
    tables = [
        pd.DataFrame(
            {
                field: pd.Series(dtype=_TYPES[rules.kind])
                for field, rules in Comparisons.columns.items()
            }
        )
    ]
    for prompting in sorted({one.prompting for one in series}):
        scores = {
            one.model: score_tuples(questions, one.answers)["accuracy"]
            for one in series
            if one.prompting == prompting
        }
        models = sorted(scores)
        if len(models) > 1:
            found = compare_pairs(
                models, np.array([scores[model] for model in models]), groups, estimate
            )
            tables.append(found.assign(eval_type=prompting, condition_a=name, condition_b=name))
    table = corrected(
        pd.concat(tables[1:] or tables, ignore_index=True),
        ["eval_type", "grouping", "group"],
        rules,
    )
    return table[list(Comparisons.columns)]


_TYPES = {"str": "str", "int": "int64", "float": "float64"}


#: Those of ``contracts.results.STATUSES`` that a mean over tuples can have.
OK, ONE_CLUSTER, NO_SPREAD = "ok", "one_cluster", "no_spread"
#: What intervals of means over tuples take as random factors.
OVER = "skins and abstract problems"
_STRATUM = ["problem", "size", "complexity", "query"]


def spread_of_means(
    tuples: pd.DataFrame,
    scores: np.ndarray,
    by: Sequence[str],
    tested: bool = False,
    lowest: np.ndarray | None = None,
) -> Estimates:
    """Intervals of the rebalanced means by a grouping, groups in the order of
    ``statistics.average``.

    Args:
        tuples: with the columns of ``by``, problem, size, complexity, query, skin, and core where
            it is known.
        scores: shape (series, tuples); missing (NaN) where a tuple was not answered.
        by: columns of the grouping; tuples where one of them is missing are in no group.
        tested: whether p is wanted, which takes most of the time.
        lowest: the smallest value that each series' mean can have, where the largest is 1; None: of
            differences.

    Returns:
        Arrays of the shape (series, groups); clusters are skins.
    """
    group = _code(tuples, list(by)) if by else np.zeros(len(tuples), int)
    codes = {
        name: _code(tuples, columns)
        for name, columns in {"skin": ["skin"], "problem": ["problem"], "stratum": _STRATUM}.items()
    }
    codes["size"] = _code(tuples, ["problem", "size"])
    if "core" in tuples:
        codes["core"] = _code(tuples, [*_STRATUM, "core"])
    shape = (len(scores), int(group.max(initial=-1)) + 1)
    found = {
        name: np.full(shape, np.nan)
        for name in ("mean", "std_error", "ci_low", "ci_high", "p", "detectable")
    }
    n_skins, status = np.zeros(shape, int), np.full(shape, NO_SPREAD, object)
    patterns, which = np.unique(~np.isnan(scores), axis=0, return_inverse=True)
    for number, known in enumerate(patterns):
        series = np.flatnonzero(which.reshape(-1) == number)
        for place in range(shape[1]):
            inside = np.flatnonzero(known & (group == place))
            if not len(inside):
                continue
            here = {
                name: np.unique(code[inside], return_inverse=True)[1].reshape(-1)
                for name, code in codes.items()
            }
            share = _shares(here["problem"], here["size"])
            values = scores[np.ix_(series, inside)]
            mean = values @ share
            n_skins[series, place] = n = int(here["skin"].max()) + 1
            within_size = values - _cluster_means(values, here["size"])
            between, *others = _parts(values, within_size, share, here)
            components = Components(between, others=tuple(others))
            spread = between.variance > NO_VARIANCE
            status[series, place] = np.where(spread, OK, NO_SPREAD) if n > 1 else ONE_CLUSTER
            found["mean"][series, place] = mean
            found["std_error"][series, place] = np.sqrt(components.variance)
            drawn = series[spread]
            if n > 1 and len(drawn):
                chosen = components.only(spread)
                if lowest is None:
                    ends = interval(mean[spread], chosen)
                else:
                    bounded = near_ends(chosen, within_size[spread], share, here["skin"])
                    ends = interval(mean[spread], bounded, (lowest[drawn], 1.0))
                found["ci_low"][drawn, place], found["ci_high"][drawn, place] = ends
                if tested:
                    found["p"][drawn, place] = p_value(mean[spread], chosen)
                    found["detectable"][drawn, place] = chosen.detectable()
    one = np.ones(shape, int)
    found |= {
        "n_versions": one,
        "enough_versions": 0 * one,
        "p_versions": one * np.nan,
        "over_versions": one < 1,
    }
    return Estimates(**found, status=status, n_clusters=n_skins)


def _shares(problem: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The weight of each tuple in the mean: sizes weigh equally in a problem, and problems in the
    mean.
    """
    of_size = np.zeros(int(size.max()) + 1, int)
    of_size[size] = problem
    n_sizes = np.bincount(of_size)
    return np.asarray(1 / (np.bincount(size)[size] * n_sizes[problem] * len(n_sizes)))


def _parts(
    values: np.ndarray, within_size: np.ndarray, share: np.ndarray, codes: dict[str, np.ndarray]
) -> list[Part]:
    """The variance between skins, and what abstract problems add."""
    between = variance_of_mean(within_size, share, codes["skin"])
    if "core" not in codes:
        return [between]
    parts = (values - _cluster_means(values, codes["stratum"])) * share
    core, stratum = codes["core"], codes["stratum"]
    both = np.unique(
        core.astype(np.int64) * (int(codes["skin"].max()) + 1) + codes["skin"], return_inverse=True
    )[1].reshape(-1)
    n_cores = np.bincount(_first(core, stratum))
    added = sum(
        sign * _within_strata(parts, cluster, stratum)[:, n_cores > 1].sum(axis=1)
        for sign, cluster in ((1, core), (-1, both))
    )
    return [between, Part(np.maximum(added, 0), max(float((n_cores - 1).sum()), 1.0))]


def _within_strata(parts: np.ndarray, cluster: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """The variance between clusters within each stratum, shape (series, strata)."""
    stratum_of = _first(cluster, stratum)
    number = np.bincount(stratum_of)
    squares = np.apply_along_axis(
        lambda row: np.bincount(stratum_of, np.bincount(cluster, row) ** 2), 1, parts
    )
    return np.asarray(squares * np.where(number > 1, number / np.maximum(number - 1, 1), 0))


def _cluster_means(values: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The mean of each value's class."""
    return np.asarray(
        np.apply_along_axis(
            lambda row: (np.bincount(code, row) / np.bincount(code))[code], 1, values
        )
    )


def _code(tuples: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """The number of each tuple's class, in order; -1 where a column is missing."""
    return tuples.groupby(columns, sort=True, observed=True).ngroup().fillna(-1).to_numpy(int)


def _first(fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """The coarse code of each fine one, which lies in one coarse class only."""
    found = np.zeros(int(fine.max()) + 1, int)
    found[fine] = coarse
    return found


LEVEL = 0.95
#: Abstract trials with pairs that a problem must have; with fewer, chance and interval are not
#: known well enough to say anything.
FEWEST = 30
TOO_FEW_PAIRS, ONE_ANSWER, MISSING_PROBLEM = "too_few_pairs", "one_answer", "missing_problem"
AGREEMENT, CONSISTENCY, EXPLAINED = "agreement", "consistency", "explained"


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
        found, pairs = _pair(self.trial[kept], self.skin[kept])
        return kept[found], pairs


def measure_consistency(
    name: str, questions: Questions, series: Series, seed: int = 0, n_draws: int = 100
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
    found = []
    for code, title in enumerate(tuples["problem"].cat.categories):
        here = np.flatnonzero((answers != ABSENT) & (problem == code))
        skin = np.unique(
            tuples["skin"].cat.codes.to_numpy()[questions.tuple_of[here]], return_inverse=True
        )[1]
        paired, pairs = _pair(np.unique(questions.abstract[here], return_inverse=True)[1], skin)
        if len(paired):
            said = answers[here] - INVALID  # an invalid answer is 0
            stratum = kinds[here] * (len(WORDS) + 1) + questions.gold["released"][here] + 1
            found.append(
                (
                    title,
                    *_of_problem(
                        pairs, paired, said, stratum, np.random.default_rng([seed, code]), n_draws
                    ),
                )
            )
    rows = [
        row | {"grouping": "problem", "group": title}
        for title, measures, _ in found
        for row in measures
    ]
    if found:
        rows += [
            row | {"grouping": OVERALL, "group": ALL}
            for row in _over_problems(rows, np.array([draws for *_, draws in found]))
        ]
    table = pd.DataFrame(
        rows,
        columns=[
            "grouping",
            "group",
            "metric",
            "mean",
            "std_error",
            "sem",
            "ci_low",
            "ci_high",
            "n",
            "n_clusters",
            "status",
        ],
    )
    named = table.assign(
        condition=name,
        eval_type=series.prompting,
        model=series.model,
        conf95=np.nan,
        interval_over="skins",
    )
    return named.astype(
        {
            "n": int,
            "n_clusters": int,
            **dict.fromkeys(("mean", "std_error", "sem", "ci_low", "ci_high"), float),
        }
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
    status = TOO_FEW_PAIRS if n_trials < FEWEST else ONE_ANSWER if np.isnan(consistency) else OK
    nothing = {"mean": np.nan, "sem": np.nan, "ci_low": np.nan, "ci_high": np.nan}
    shown = {
        "metric": AGREEMENT,
        **nothing,
        **basis,
        "status": TOO_FEW_PAIRS if n_trials < FEWEST else OK,
    }
    rows: list[dict[str, object]] = [shown | ({"mean": agreement} if n_trials >= FEWEST else {})]
    if status != OK:
        rows += [
            {"metric": measure, **nothing, **basis, "status": status}
            for measure in (CONSISTENCY, EXPLAINED)
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
    found = []
    for skin in skins:
        kept, others = pairs.without(int(skin))
        found.append(others.measure(answers[kept])[1] if len(kept) else np.nan)
    left = np.array(found)
    return (
        float((len(skins) - 1) / len(skins) * ((left - left.mean()) ** 2).sum())
        if not np.isnan(left).any()
        else np.inf
    )


def _over_problems(rows: list[dict[str, object]], draws: np.ndarray) -> list[dict[str, object]]:
    """Means over problems; missing where a problem's is."""
    table = pd.DataFrame(rows)
    found: list[dict[str, object]] = []
    for measure, part in table.groupby("metric", sort=False):
        n_skins = int(part["n_clusters"].min())
        basis: dict[str, object] = {
            "metric": str(measure),
            "n": int(part["n"].sum()),
            "n_clusters": n_skins,
        }
        if (part["status"].isin([TOO_FEW_PAIRS, ONE_ANSWER])).any():
            nothing = {"mean": np.nan, "sem": np.nan, "ci_low": np.nan, "ci_high": np.nan}
            found.append(basis | nothing | {"status": MISSING_PROBLEM})
        elif measure == EXPLAINED:
            found.append(basis | _of_draws(draws.mean(axis=0)))
        else:
            mean = float(part["mean"].mean())
            # Problems share skins, so their errors may add up: the mean of their errors is the most
            # that it can be.
            is_known = measure == AGREEMENT or (part["status"] == OK).all()
            error = float(part["sem"].mean()) if is_known else np.inf
            found.append(basis | _with_interval(mean, error, n_skins))
    return found


def _with_interval(mean: float, error: float, n_skins: int) -> dict[str, object]:
    """A mean with its standard error and Student's interval; an agreement has none, and skins that
    are all alike have none.
    """
    is_known = 0 < error < np.inf
    half = float(stdtrit(n_skins - 1, (1 + LEVEL) / 2)) * error if is_known else np.nan
    ends = {
        "ci_low": float(np.maximum(mean - half, -1)),
        "ci_high": float(np.minimum(mean + half, 1)),
    }
    status = OK if is_known or np.isnan(error) else NO_SPREAD
    std_error = error if is_known else np.nan
    return {
        "mean": mean,
        "std_error": std_error,
        "sem": error if error < np.inf else np.nan,
        **ends,
        "status": status,
    }


def _of_draws(draws: np.ndarray) -> dict[str, object]:
    known = draws[~np.isnan(draws)]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
    mean = known.mean() if len(known) else np.nan
    return {
        "mean": mean,
        "sem": np.nan,
        "ci_low": low,
        "ci_high": high,
        "status": OK if len(known) else ONE_ANSWER,
    }


def _pair(trial: np.ndarray, skin: np.ndarray) -> tuple[np.ndarray, _Pairs]:
    """Which trials have a partner in another skin, and these, their abstract trials numbered from
    0.
    """
    if not len(trial):
        return np.zeros(0, int), _Pairs(trial, skin)
    n = int(trial.max()) + 1
    lowest, highest = np.full(n, skin.max()), np.zeros(n, int)
    np.minimum.at(lowest, trial, skin)
    np.maximum.at(highest, trial, skin)
    found = np.flatnonzero((lowest < highest)[trial])
    return found, _Pairs(np.unique(trial[found], return_inverse=True)[1].reshape(-1), skin[found])


def _count(trial: np.ndarray, n_trials: int, *parts: tuple[np.ndarray, int]) -> np.ndarray:
    """How many trials of each abstract trial have each combination of codes, shape (abstract
    trials, combinations).
    """
    code, width = trial.astype(np.int64), 1
    for part, size in parts:
        code, width = code * size + part, width * size
    return np.bincount(code, minlength=n_trials * width).reshape(n_trials, width).astype(float)
