"""Learning curves: bands over all checkpoints at once, from where on a curve exceeds a level for
good, and whether it falls again.

Intervals at a checkpoint are those of every other mean of ours (``analysis.clusters``). The band is
as wide as the largest of all deviations of a curve is (max-t). How alike the errors of two
checkpoints are follows from what each cluster, version and seed adds to the whole curve. From few
of these it is badly known, and looks too close; so correlations are shrunk as far as they are
uncertain (Schaefer and Strimmer 2005), and each draw of a curve's error is divided by the intervals
that such a sample would have, which differ from checkpoint to checkpoint (normal curves and Wishart
matrices, one for each of these three). Falls are told by the same draws.

The interval of an onset inverts the intervals of the curve: it begins where their upper ends rise
above the level for good, and ends where their lower ends do. Between two checkpoints curves are
straight over the logarithm of the step. How often they hold: docs/extras/learning_curves.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from worldprobe.analysis.clusters import Estimates, crossed_means, sum_by_code
from worldprobe.analysis.comparisons import Z95, corrected
from worldprobe.analysis.components import LEVEL, Components, VarianceComponent, interval
from worldprobe.analysis.reliability import halve
from worldprobe.analysis.summaries import Group
from worldprobe.benchmark import Analysis, Computed
from worldprobe.contracts import read_provenance, read_tables, typed
from worldprobe.contracts.results import ALL, OVERALL, Comparisons
from worldprobe.errors import UserError
from worldprobe_lab.contracts import (
    ALL_SEEDS,
    ALREADY,
    CHANCE,
    NEVER,
    NONE,
    OPEN,
    REACHED,
    CheckpointScores,
    Curves,
    Onsets,
    OrderAgreements,
)

#: The highest level that is taken for an onset by default: a curve whose band is wider may have
#: learned, and could not show it.
HIGHEST_LEVEL = 0.75
#: With fewer clusters the band is narrow enough for an onset only where it is too narrow by chance:
#: of six, such intervals hold in 78 %, of eight in 94 % (docs/extras/learning_curves.md).
FEWEST_CLUSTERS = 8
#: Groups of which the order of onsets is compared.
FEWEST_GROUPS = 5
#: Random splits of clusters into halves.
N_SPLITS = 20
DRAWS = 1000
#: More degrees of freedom would hardly narrow a band, and take time.
_MOST_DF = 40
#: Falls that are smaller than so many standard errors are none, whatever the draws say.
_LEAST_FALL = 2.0
_NO_VARIANCE = 1e-10
_CELL = ["cluster", "condition", "stratum"]
#: Series, model and seed.
_Training = tuple[str, str, str]


def to_cells(
    values: np.ndarray, condition: np.ndarray, stratum: np.ndarray, groups: Iterable[Group]
) -> pd.DataFrame:
    """Scores of units as means of cells (columns grouping to n of
    ``contracts.CheckpointScores``).

    Args:
        values: shape (units,); missing (NaN) where a unit has no score.
        condition: label of each unit's version, shape (units,); empty where versions are no random
            factor.
        stratum: label of each unit's stratum, shape (units,).
        groups: units that are averaged together.
    """
    taken = list(groups)
    units = [np.arange(len(values))[group.units] for group in taken]
    positions = np.concatenate(units)
    table = pd.DataFrame(
        {
            "number": np.repeat(np.arange(len(taken)), [len(unit) for unit in units]),
            "cluster": np.concatenate([group.cluster.astype(str) for group in taken]),
            "condition": condition.astype(str)[positions],
            "stratum": stratum.astype(str)[positions],
            "value": values[positions],
        }
    ).dropna(subset="value")
    cells = (
        table.groupby(["number", *_CELL], sort=True)["value"]
        .agg(mean="mean", n="size")
        .reset_index()
    )
    names = pd.DataFrame(
        {"grouping": [group.grouping for group in taken], "group": [group.name for group in taken]}
    )
    return cells.drop(columns="number").join(names.iloc[cells["number"]].reset_index(drop=True))


@dataclass(frozen=True)
class Curve:
    """One curve, its intervals, and how its errors are correlated.

    Attributes:
        steps: shape (checkpoints,), ascending.
        estimates: mean, interval and status at each.
        half: half the width of the interval at each; missing where no cluster differs from another,
            so that nothing says how another would.
        factor: how many times as wide as an interval the band is.
        parts: what each cluster, each version and each seed adds to the means, shapes (checkpoints,
            units); the sums of their squares are the squared standard errors, and 0 where these are
            not known.
        draws: number and seed.
        between_seeds, between_versions: standard deviations of means, shape (checkpoints,).
    """

    steps: np.ndarray
    estimates: Estimates
    half: np.ndarray
    factor: float
    parts: tuple[np.ndarray, ...]
    draws: tuple[int, int]
    between_seeds: np.ndarray
    between_versions: np.ndarray


def estimate_curves(
    steps: np.ndarray,
    values: np.ndarray,
    cluster: np.ndarray,
    version: np.ndarray | None = None,
    stratum: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    n_draws: int = DRAWS,
    seed: int = 0,
) -> Curve:
    """A curve from the scores of cells.

    Args:
        steps: shape (checkpoints,).
        values: shape (seeds, checkpoints, cells); several seeds are a random factor.
        cluster: label of each cell's cluster; see ``analysis.clusters.crossed_means``.
        version: label of each cell's version.
        stratum: label of each cell's stratum.
        weight: units of each cell.
        n_draws: draws of the bootstrap.
        seed: of the draws.
    """
    n_seeds, mean = len(values), values.mean(axis=0)
    others, apart = [], np.zeros((len(steps), 0))
    between_seeds = np.full(len(steps), np.nan)
    if n_seeds > 1:
        of_seeds = np.stack(
            [
                crossed_means(value, cluster, version, stratum, weight, tested=False).mean
                for value in values
            ]
        )
        between_seeds = of_seeds.std(axis=0, ddof=1)
        # It contains what single cells of single seeds add, which is in the clusters' part too.
        # Less an estimate of that, it would often be 0 where it is not, and bands of five seeds
        # hold in 89 % only (docs/extras/learning_curves.md).
        others = [VarianceComponent(between_seeds**2 / n_seeds, n_seeds - 1)]
        apart = (of_seeds - of_seeds.mean(axis=0)).T / n_seeds
    estimates = crossed_means(mean, cluster, version, stratum, weight, others, tested=False)
    of_clusters, of_versions = _influence(mean, cluster, version, stratum, weight)
    has_error = ~np.isnan(estimates.std_error) & (estimates.std_error > 0)
    parts = _parts(
        np.where(has_error, estimates.std_error, 0.0) ** 2,
        of_clusters,
        (of_versions / max(of_versions.shape[1], 1), apart),
    )
    half, factor = (estimates.ci_high - estimates.ci_low) / 2, np.nan
    if has_error.any():
        largest = []
        for errors, drawn in _drawn([part[has_error] for part in parts], n_draws, seed):
            clusters, *rest = (
                VarianceComponent((draw**2).mean(axis=1), draw.shape[1]) for draw in drawn
            )
            half_widths = interval(np.zeros_like(errors), Components(clusters, others=tuple(rest)))[
                1
            ]
            largest.append((np.abs(errors) / np.maximum(half_widths, _NO_VARIANCE)).max(axis=1))
        factor = float(np.quantile(np.concatenate(largest), LEVEL))
    between_versions = np.full(len(steps), np.nan)
    if of_versions.shape[1] > 1:
        between_versions = of_versions.std(axis=1, ddof=1)
    return Curve(
        steps, estimates, half, factor, parts, (n_draws, seed), between_seeds, between_versions
    )


def _parts(
    variance: np.ndarray, of_clusters: np.ndarray, of_others: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """The share of each unit, so that squares sum to the variance: the clusters' to theirs, those
    of versions and seeds to the rest.

    Args:
        variance: shape (checkpoints,); 0 where it is not known.
        of_clusters: what each cluster adds, shape (checkpoints, clusters).
        of_others: what each version and each seed adds; both contain the variance of cells, which
            is in the clusters' part.
    """
    n = of_clusters.shape[1]
    sums = [(of_clusters**2).sum(axis=1), sum((other**2).sum(axis=1) for other in of_others)]
    clusters = np.minimum(sums[0] * n / max(n - 1, 1), variance)
    scales = [
        np.sqrt(np.divide(component, total, out=np.zeros_like(variance), where=total > 0))
        for component, total in zip((clusters, variance - clusters), sums, strict=True)
    ]
    added = [of_clusters * scales[0][:, None], *(other * scales[1][:, None] for other in of_others)]
    return tuple(part for part in added if part.shape[1] > 1)


def _drawn(
    parts: Sequence[np.ndarray], n_draws: int, seed: int
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Draws of a curve's error, and of what such samples would say of its covariance.

    Args:
        parts: as in ``Curve``, of checkpoints whose standard errors are known.
        n_draws: number of draws.
        seed: of the draws.

    Yields:
        Errors, shape (draws, checkpoints), and of each part as many errors as it has degrees of
        freedom, shape (draws, df, checkpoints), whose mean squares are its variances; in portions.
    """
    rng = np.random.default_rng([seed, len(parts[0])])
    roots, counts = (
        [_root(part) for part in parts],
        [min(part.shape[1] - 1, _MOST_DF) for part in parts],
    )
    portion = max(2**20 // (len(parts[0]) * (sum(counts) + len(counts))), 1)
    for start in range(0, n_draws, portion):
        n = min(portion, n_draws - start)
        drawn = [
            rng.standard_normal((n, count + 1, len(root)), np.float32) @ root
            for root, count in zip(roots, counts, strict=True)
        ]
        yield np.sum([draw[:, 0] for draw in drawn], axis=0), [draw[:, 1:] for draw in drawn]


def _root(part: np.ndarray) -> np.ndarray:
    """A root of the covariance of one part's errors, their correlations shrunk as far as so many
    units leave them uncertain.
    """
    std_error = np.sqrt((part**2).sum(axis=1))
    scaled = part / np.maximum(std_error, 1e-12)[:, None]
    correlation = scaled @ scaled.T
    square = correlation[~np.eye(len(part), dtype=bool)] ** 2
    uncertain = ((1 - square) ** 2).sum() / (part.shape[1] - 1)
    correlation *= 1 - min(uncertain / max(square.sum(), 1e-12), 1.0)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    return ((vectors * np.sqrt(np.maximum(values, 0))).T * std_error).astype(np.float32)


def _influence(
    values: np.ndarray,
    cluster: np.ndarray,
    version: np.ndarray | None,
    stratum: np.ndarray | None,
    weight: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Influence of each cluster on the curve, shape (checkpoints, clusters), and difference of each
    version's mean.
    """
    weight = np.ones(values.shape[1]) if weight is None else weight.astype(float)
    none = np.zeros(values.shape[1], int)
    versions, strata = (
        none if codes is None else np.unique(codes, return_inverse=True)[1]
        for codes in (version, stratum)
    )
    cell = np.unique(np.stack([versions, strata]), axis=1, return_inverse=True)[1].reshape(-1)
    weighted = np.where(np.isnan(values), 0.0, 1.0) * weight
    filled = np.nan_to_num(values)
    totals = sum_by_code(weighted, cell)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.nan_to_num(sum_by_code(filled * weighted, cell) / totals)
        share = np.nan_to_num(weighted / totals[:, cell]) / totals.shape[1]
    added = sum_by_code(
        (filled - centre[:, cell]) * share, np.unique(cluster, return_inverse=True)[1]
    )
    if version is None:
        return added, np.zeros((len(values), 0))
    of_versions = sum_by_code(filled * share, versions) * (int(versions.max()) + 1)
    return added, of_versions - of_versions.mean(axis=1, keepdims=True)


def crossing(steps: np.ndarray, values: np.ndarray, level: float) -> float:
    """From where on values stay above a level: interpolated, -inf where all are, inf where the last
    is not.

    >>> crossing(np.array([1.0, 10.0, 100.0]), np.array([0.5, 0.7, 0.6]), 0.55)
    1.7782794100389239
    """
    below = np.flatnonzero(~(values > level))
    if not len(below):
        return -np.inf
    last = int(below[-1])
    if last == len(values) - 1:
        return np.inf
    share = (level - values[last]) / (values[last + 1] - values[last])
    first, then = steps[last], steps[last + 1]
    return float(first * (then / first) ** share if first > 0 else then * share)


def onset_of(curve: Curve, level: float | None = None) -> dict[str, Any]:
    """When a curve exceeds a level for good (columns level to status of ``contracts.Onsets``).

    Args:
        curve: with its intervals.
        level: None takes chance and the mean half width of the band, which depends on the number of
            items, so that onsets are not comparable; above ``HIGHEST_LEVEL`` there is no level and
            no onset, and of fewer than ``FEWEST_CLUSTERS`` no interval.
    """
    mean = curve.estimates.mean
    is_alike = curve.estimates.status == "no_spread"
    half = np.where(is_alike, 0.0, curve.half)
    nothing = dict.fromkeys(("level", "onset", "ci_low", "ci_high"), np.nan) | {"status": NONE}
    if np.isnan(mean).any() or np.isnan(half).any() or not np.isfinite(curve.factor):
        return nothing
    if level is None:
        level = CHANCE + float(half[~is_alike].mean()) * curve.factor
        if level > HIGHEST_LEVEL:
            return nothing
        if curve.estimates.n_clusters.min() < FEWEST_CLUSTERS:
            half = np.ones(len(mean))
    low, onset, high = (crossing(curve.steps, mean + sign * half, level) for sign in (1, 0, -1))
    status = REACHED if high < np.inf else OPEN
    status = NEVER if low == np.inf else ALREADY if high == -np.inf else status
    ends = [end if np.isfinite(end) else np.nan for end in (onset, low, high)]
    return {
        "level": level,
        "onset": ends[0],
        "ci_low": ends[1],
        "ci_high": ends[2],
        "status": status,
    }


def fall_of(curve: Curve) -> dict[str, float]:
    """The largest fall between two checkpoints that is beyond the band of all such differences; 0
    where there is none.
    """
    nothing = {"fall": 0.0, "fall_from": np.nan, "fall_to": np.nan}
    mean = curve.estimates.mean
    if np.isnan(curve.factor) or len(mean) < 2:
        return nothing | {"fall": np.nan}
    covariance = np.sum([part @ part.T for part in curve.parts], axis=0)
    varying = np.flatnonzero(np.diag(covariance) > 0)
    first, then = (varying[positions] for positions in np.triu_indices(len(varying), 1))
    fall = mean[first] - mean[then]
    variance = covariance[first, first] + covariance[then, then] - 2 * covariance[first, then]
    ratio = fall / np.sqrt(np.maximum(variance, _NO_VARIANCE))
    if not (ratio > _LEAST_FALL).any():
        return nothing
    largest = np.zeros(0)
    for errors, drawn in _drawn([part[varying] for part in curve.parts], *curve.draws):
        cross = sum(draw.transpose(0, 2, 1) @ draw / draw.shape[1] for draw in drawn)
        variances = np.diagonal(cross, axis1=1, axis2=2)
        squares = (errors[:, :, None] - errors[:, None, :]) ** 2
        squares /= np.maximum(
            variances[:, :, None] + variances[:, None, :] - 2 * cross, _NO_VARIANCE
        )
        largest = np.append(largest, np.sqrt(squares.max(axis=(1, 2))))
        if (largest > ratio.max()).mean() > 5 * (1 - LEVEL):  # whatever further draws will say
            return nothing
    beyond = (ratio > np.quantile(largest, LEVEL)) & (variance > _NO_VARIANCE)
    if not beyond.any():
        return nothing
    steepest = int(np.argmax(np.where(beyond, fall, -1)))
    return {
        "fall": float(fall[steepest]),
        "fall_from": float(curve.steps[first[steepest]]),
        "fall_to": float(curve.steps[then[steepest]]),
    }


def trace(
    cells: pd.DataFrame, unit: str, over: dict[str, str], level: float | None = None, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The curves and onsets of all trainings of one series, and of the mean over its seeds.

    Args:
        cells: ``contracts.CheckpointScores`` of one series.
        unit: of the steps.
        over: grouping -> what its intervals take as random factors, in words.
        level: see ``onset_of``.
        seed: of the draws.

    Returns:
        ``contracts.Curves`` and ``contracts.Onsets``; without rows where nothing has a score.
    """
    _check_once(cells)
    if cells.empty:
        return typed([], Curves), typed([], Onsets)
    curves, onsets = [], []
    for (series, eval_type, grouping, group), rows in cells.groupby(
        ["series", "eval_type", "grouping", "group"], observed=True, sort=True
    ):
        wide = rows.pivot_table(
            index=_CELL, columns=["model", "seed", "step"], values="mean", observed=True, sort=True
        )
        weight = (
            rows.groupby(_CELL, observed=True, sort=True)["n"]
            .max()
            .reindex(wide.index)
            .to_numpy(float)
        )
        cell = wide.index.to_frame(index=False).astype(str)
        has_versions, has_strata = (
            bool((cell["condition"] != "").any()),
            cell["stratum"].nunique() > 1,
        )
        design = (
            cell["cluster"].to_numpy(),
            cell["condition"].to_numpy() if has_versions else None,
            cell["stratum"].to_numpy() if has_strata else None,
            weight,
        )
        trainings = list(dict.fromkeys((str(column[0]), str(column[1])) for column in wide.columns))
        by_training = {key: wide[key] for key in trainings}
        steps = sorted(set.intersection(*(set(table.columns) for table in by_training.values())))
        wanted = {
            key: (table.columns.to_numpy(float), table.to_numpy().T[None])
            for key, table in by_training.items()
        }
        if len(trainings) > 1 and steps:
            stacked = np.stack([table[steps].to_numpy().T for table in by_training.values()])
            wanted[(str(series), ALL_SEEDS)] = (np.array(steps, float), stacked)
        for (model, of_seed), (at, values) in wanted.items():
            curve = estimate_curves(at, values, *design, seed=seed)
            facts = {
                "series": str(series),
                "model": model,
                "seed": of_seed,
                "eval_type": str(eval_type),
            }
            facts |= {"grouping": str(grouping), "group": str(group), "unit": unit}
            curves.append(
                _rows(
                    curve,
                    facts,
                    over.get(str(grouping), "") + (" and seeds" if of_seed == ALL_SEEDS else ""),
                )
            )
            onsets.append(facts | onset_of(curve, level) | fall_of(curve))
    return (
        pd.concat(curves, ignore_index=True)[list(Curves.columns)],
        pd.DataFrame(onsets)[list(Onsets.columns)],
    )


def _rows(curve: Curve, facts: dict[str, str], interval_over: str) -> pd.DataFrame:
    estimates, wide = curve.estimates, curve.half * curve.factor
    half = {"ci": curve.half, "band": wide}
    ends = {
        f"{name}_{side}": estimates.mean + sign * by
        for name, by in half.items()
        for side, sign in (("low", -1), ("high", 1))
    }
    return pd.DataFrame(
        {
            "step": curve.steps,
            "mean": np.clip(estimates.mean, 0, 1),
            **{name: np.clip(end, 0, 1) for name, end in ends.items()},
            "status": estimates.status,
            "between_seeds": curve.between_seeds,
            "between_versions": curve.between_versions,
            "n_clusters": estimates.n_clusters,
        }
    ).assign(**facts, interval_over=interval_over)


def agree_on_order(onsets: pd.DataFrame, cells: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """How far every two trainings agree on the order of onsets, by grouping.

    Trainings that are scored on the same items share how hard these are, so that groups which are
    truly alike have their onsets in a similar order, too. So each training has its onsets on
    another random half of each group's clusters: the mean correlation over such splits. All onsets
    are those of one level.

    Args:
        onsets: ``contracts.Onsets``; the level is the median of theirs in a grouping. Means over
            seeds are compared with one another, and single trainings likewise.
        cells: ``contracts.CheckpointScores`` that they are from.
        seed: of the splits.

    Returns:
        ``contracts.OrderAgreements``.
    """
    rows = []
    for (eval_type, grouping), table in onsets[onsets["grouping"] != OVERALL].groupby(
        ["eval_type", "grouping"], observed=True, sort=True
    ):
        level = float(table["level"].median())
        here = cells[(cells["eval_type"] == eval_type) & (cells["grouping"] == grouping)]
        by_training = _onsets_of_halves(here, level, seed)
        reached: dict[_Training, set[str]] = {
            (str(key[0]), str(key[1]), str(key[2])): set(
                group_onsets.loc[group_onsets["status"] != NONE, "group"]
            )
            for key, group_onsets in table.groupby(["series", "model", "seed"], observed=True)
        }
        for first, second in combinations(reached, 2):
            if (first[2] == ALL_SEEDS) != (second[2] == ALL_SEEDS):
                continue
            a, b = by_training.get(first, {}), by_training.get(second, {})
            groups = sorted(reached[first] & reached[second] & set(a) & set(b))
            shape = (0, 1 + 2 * N_SPLITS)
            sides = [
                np.array([onset[name] for name in groups]).reshape(-1, shape[1]) for onset in (a, b)
            ]
            facts = {
                "model_a": first[1],
                "seed_a": first[2],
                "model_b": second[1],
                "seed_b": second[2],
                "eval_type": str(eval_type),
                "grouping": str(grouping),
                "same_series": first[0] == second[0],
                "level": level,
                "n": len(groups),
                "n_onsets": int(np.isfinite([side[:, 0] for side in sides]).all(axis=0).sum()),
            }
            rows.append(facts | _correlate(*sides))
    return typed(rows, OrderAgreements)


def _onsets_of_halves(
    cells: pd.DataFrame, level: float, seed: int
) -> dict[_Training, dict[str, np.ndarray]]:
    """Of each training (series, model, seed) and group: where its curve exceeds the level for good,
    on all clusters, on the first halves of all splits, and on the second ones; groups with a
    single cluster have no halves.
    """
    onsets: dict[_Training, dict[str, np.ndarray]] = {}
    rng = np.random.default_rng([seed, N_SPLITS])
    for group, rows in cells.groupby("group", observed=True, sort=True):
        columns = ["series", "model", "seed", "step"]
        wide = rows.pivot_table(
            index=_CELL, columns=columns, values="mean", observed=True, sort=True
        )
        cell = wide.index.to_frame(index=False).astype(str)
        cluster, names = pd.factorize(cell["cluster"])
        if len(names) < 2 or np.isnan(level):
            continue
        weight = rows.groupby(_CELL, observed=True, sort=True)["n"].max().reindex(wide.index)
        cell_code = cell.groupby(["condition", "stratum"], sort=True).ngroup().to_numpy()
        halves = halve(np.zeros(len(names), int), N_SPLITS, rng)[:, cluster]
        taken = np.vstack([np.ones((1, len(cell)), bool), halves, ~halves])
        means = _means_of_parts(wide.to_numpy(float).T, taken * weight.to_numpy(float), cell_code)
        of_column = pd.DataFrame(means, index=wide.columns)
        trainings: dict[str, list[pd.DataFrame]] = {}
        for key, part in of_column.groupby(level=[0, 1, 2], observed=True):
            curve = part.droplevel([0, 1, 2])
            series, model, of_seed = map(str, key)
            onsets.setdefault((series, model, of_seed), {})[str(group)] = _crossings(curve, level)
            trainings.setdefault(series, []).append(curve)
        for series, parts in trainings.items():
            steps = sorted(set.intersection(*(set(curve_part.index) for curve_part in parts)))
            if len(parts) > 1 and steps:
                mean = (
                    pd.concat([curve_part.loc[steps] for curve_part in parts])
                    .groupby(level=0)
                    .mean()
                )
                pooled = onsets.setdefault((series, series, ALL_SEEDS), {})
                pooled[str(group)] = _crossings(mean, level)
    return onsets


def _means_of_parts(values: np.ndarray, weight: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Means of curves over parts of the cells, in which versions and strata weigh equally.

    Args:
        values: shape (curves, cells).
        weight: of each cell in each part, 0 where it is in another one, shape (parts, cells).
        codes: version and stratum of each cell, shape (cells,).

    Returns:
        Shape (curves, parts); missing where a part has no score.
    """
    is_known, filled = (~np.isnan(values)).astype(float), np.nan_to_num(values)
    of_places = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for code in range(int(codes.max()) + 1):
            here = codes == code
            of_places.append(
                (filled[:, here] @ weight[:, here].T) / (is_known[:, here] @ weight[:, here].T)
            )
    return np.asarray(np.ma.masked_invalid(of_places).mean(axis=0).filled(np.nan))


def _crossings(curves: pd.DataFrame, level: float) -> np.ndarray:
    """Where each column exceeds the level for good, ``crossing``; the index has the steps."""
    steps, values = curves.index.to_numpy(float), curves.to_numpy()
    return np.array(
        [np.nan if np.isnan(curve).any() else crossing(steps, curve, level) for curve in values.T]
    )


def _correlate(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Spearman's correlation of onsets on different halves, with its interval, and on the same
    items; missing with fewer than five groups, or where all tie.

    Args:
        a: onsets of one training, shape (groups, 1 + splits + splits).
        b: of the other one.
    """
    n = len(a)
    same = _spearman(a[:, 0], b[:, 0])
    halves = [
        _spearman(a[:, first], b[:, second])
        for split in range(1, 1 + N_SPLITS)
        for first, second in ((split, split + N_SPLITS), (split + N_SPLITS, split))
    ]
    none = {"correlation": np.nan, "ci_low": np.nan, "ci_high": np.nan, "same_items": same}
    if np.isnan(halves).mean() > 0.5:
        return none
    correlation = float(np.nanmean(halves))
    low, high = interval_of_rank(correlation, n)
    return none | {"correlation": correlation, "ci_low": low, "ci_high": high}


def interval_of_rank(correlation: float, n: int) -> tuple[float, float]:
    """The 95% interval of Spearman's correlation of n independent pairs of ranks (Bonett & Wright
    2000, Psychometrika 65: 23).
    """
    middle = np.arctanh(np.clip(correlation, -0.999, 0.999))
    half = Z95 * np.sqrt((1 + correlation**2 / 2) / (n - 3))
    low, high = (float(np.tanh(middle + sign * half)) for sign in (-1, 1))
    return min(low, correlation), max(high, correlation)


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    if len(a) < FEWEST_GROUPS or len(np.unique(a)) < 2 or len(np.unique(b)) < 2:
        return np.nan
    return float(np.clip(np.corrcoef(rankdata(a), rankdata(b))[0, 1], -1, 1))


def compare_series(cells: pd.DataFrame) -> pd.DataFrame:
    """Every pair of trainings at each checkpoint that both have, and over all of these, overall and
    by group.

    Args:
        cells: ``contracts.CheckpointScores`` of two trainings or more.

    Returns:
        ``contracts.results.Comparisons``; the condition is the step, or all. Holm's correction is
        for all checkpoints, pairs and groups of a grouping.

    Raises:
        UserError: no two trainings have a checkpoint in common.
    """
    _check_once(cells)
    cells = cells.assign(model=_told_apart(cells))
    names = sorted(cells["model"].unique())
    tables = []
    for (eval_type, grouping, group), rows in cells.groupby(
        ["eval_type", "grouping", "group"], observed=True, sort=True
    ):
        wide = rows.pivot_table(
            index=_CELL, columns=["model", "step"], values="mean", observed=True, sort=True
        )
        count = (
            rows.groupby(_CELL, observed=True, sort=True)["n"].max().reindex(wide.index).to_numpy()
        )
        cell = wide.index.to_frame(index=False).astype(str)
        version = cell["condition"].to_numpy() if (cell["condition"] != "").any() else None
        stratum = cell["stratum"].to_numpy() if cell["stratum"].nunique() > 1 else None
        for first, second in combinations(
            [name for name in names if name in wide.columns.get_level_values(0)], 2
        ):
            a, b = wide[first], wide[second]
            steps = sorted(set(a.columns) & set(b.columns))
            if not steps:
                continue
            sides = [
                np.vstack([curves[steps].to_numpy().T, curves[steps].to_numpy().mean(axis=1)])
                for curves in (a, b)
            ]
            both = ~np.isnan(sides[0] - sides[1])
            design = (cell["cluster"].to_numpy(), version, stratum, count.astype(float))
            estimates = crossed_means(sides[0] - sides[1], *design)
            means = [
                crossed_means(np.where(both, side, np.nan), *design, tested=False).mean
                for side in sides
            ]
            at = [f"{step:.15g}" for step in steps] + [ALL]
            columns = {
                "model_a": first,
                "model_b": second,
                "eval_type": str(eval_type),
                "condition_a": at,
                "condition_b": at,
                "grouping": str(grouping),
                "group": str(group),
                "mean_a": np.clip(means[0], 0, 1),
                "mean_b": np.clip(means[1], 0, 1),
                "difference": np.clip(estimates.mean, -1, 1),
                "ci_low": np.clip(estimates.ci_low, -1, 1),
                "ci_high": np.clip(estimates.ci_high, -1, 1),
                "interval_over": "clusters" + ("" if version is None else " and versions"),
                "p": estimates.p,
                "test": estimates.test,
                "detectable": estimates.detectable,
                "status": estimates.status,
                "n": both @ count,
                "n_clusters": estimates.n_clusters,
            }
            tables.append(pd.DataFrame(columns))
    if not tables:
        raise UserError(
            "series",
            "no two trainings have a checkpoint in common.",
            "Give two series with equal steps.",
        )
    table = corrected(pd.concat(tables, ignore_index=True), ["eval_type", "grouping"])
    return table[[name for name in Comparisons.columns if name in table]]


def _check_once(cells: pd.DataFrame) -> None:
    """Refuse scores of which some are there twice, which would be averaged: of two trainings with
    one name.

    Raises:
        UserError: there are some.
    """
    twice = cells.duplicated(list(CheckpointScores.Config.unique))
    if twice.any():
        row = cells[twice].iloc[0]
        problem = (
            f"two tables have scores of {row['model']} (seed {row['seed']}) at {row['step']:.15g}."
        )
        raise UserError(
            f"series {row['series']}",
            problem,
            "Give each once, or name trainings apart: --training-seed.",
        )


def _told_apart(cells: pd.DataFrame) -> pd.Series:
    """The name of each row's training: its model, and what else it needs where several trainings
    have this model.
    """
    names, keys = cells["model"].astype(str), ["series", "seed"]
    for key in keys:
        several = cells.groupby(names, observed=True)[key].transform("nunique") > 1
        names = names.where(~several, names + f", {key} " + cells[key].astype(str))
    return names


def differences(comparisons: pd.DataFrame) -> list[dict[str, Any]]:
    """Of every two trainings, the comparison over all checkpoints, and where they differ.

    Args:
        comparisons: as ``compare_series`` gives them.
    """
    overall = comparisons[comparisons["grouping"] == OVERALL]
    pairs = []
    for _, rows in overall.groupby(["model_a", "model_b", "eval_type"], observed=True, sort=False):
        single = rows[rows["condition_a"] != ALL]
        pairs.append(
            {
                "mean": rows[rows["condition_a"] == ALL].iloc[0].to_dict(),
                "differing": single.loc[single["p_holm"] < 1 - LEVEL, "condition_a"].tolist(),
                "n_checkpoints": len(single),
            }
        )
    return pairs


def compare_checkpoints(scores: Sequence[Path]) -> Computed:
    """Every pair of trainings, at each checkpoint and over all, with one correction.

    Args:
        scores: checkpoint_scores tables of one benchmark.

    Raises:
        UserError: they are of several benchmarks.
    """
    benchmarks = {read_provenance(path).details.get("benchmark") for path in scores}
    if len(benchmarks) > 1:
        raise UserError(
            scores[0], "and others are of several benchmarks.", "Give the tables of one."
        )
    table = compare_series(read_tables(scores, CheckpointScores))
    return Computed(
        table,
        {*table["model_a"], *table["model_b"]},
        {"corrected_over": "checkpoints"},
        template="worldprobe_lab/series.txt.jinja",
        shown={"pairs": differences(table)},
    )


#: What ``worldprobe compare`` does with checkpoint_scores tables.
COMPARED = Analysis(compare_checkpoints, Comparisons, 7)
