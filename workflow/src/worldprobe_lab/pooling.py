"""Domains and concepts by partial pooling: means drawn together as far as chance sets them apart,
and what holds of their order.

With 10 to 14 pairs of concepts a domain's mean is known to some nine points, and the lowest of
eleven such means is low by bad luck too. So the true means of groups are a sample from one normal
distribution:

    mean_d ~ N(theta_d + g, s_d² + s_gv²),   theta_d ~ N(mu, tau²)

- s_d² is the variance between the clusters of group d (``analysis.components``), itself pooled over
  groups with its degrees of freedom (Smyth 2004): a group of three clusters does not know its
  variance.
- s_gv² is what versions do to single groups, from the mean square of groups x versions; g is what
  they do to all groups alike, which moves every mean and no order.
- mu and tau have flat priors (Gelman 2006); tau is summed over a grid, and all else is drawn from
  its conditional distribution.

Coverage of intervals, and how often statements about order are right, are simulated in
``docs/simulations/domains.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import polygamma, psi

from worldprobe.analysis.clusters import bell_mccaffrey
from worldprobe.analysis.components import LEVEL

#: draws of the posterior; the chance in a probability of 0.95 is 0.005.
N_DRAWS = 2000
#: values of tau, up to this many standard deviations of the means.
_N_TAUS, _WIDEST = 40, 4.0
#: degrees of freedom of a variance that does not vary between groups.
_CERTAIN = 1e6


@dataclass(frozen=True)
class Pooled:
    """Groups of one series, in the order of their labels.

    Attributes:
        groups: labels.
        mean: plain mean over templates.
        pooled, ci_low, ci_high: mean and 95% interval of the posterior, for other clusters and
            versions.
        rank_low, rank_high: 95% of the posterior of the rank; 1 has the lowest mean.
        lower: probability that the row's true mean is below the column's, shape (groups, groups).
        n_clusters, n_templates: of each group.
    """

    groups: np.ndarray
    mean: np.ndarray
    pooled: np.ndarray
    ci_low: np.ndarray
    ci_high: np.ndarray
    rank_low: np.ndarray
    rank_high: np.ndarray
    lower: np.ndarray
    n_clusters: np.ndarray
    n_templates: np.ndarray


def pool(values: np.ndarray, group: np.ndarray, cluster: np.ndarray, seed: int = 0) -> Pooled:
    """Pool the groups of one series.

    Args:
        values: shape (templates, versions); templates with a missing value (NaN) are left out.
            Where versions share nothing, or there is one: shape (templates, 1), and intervals are
            for other clusters only.
        group: label of each template's group; three or more are pooled, two are only drawn.
        cluster: label of each template's cluster, which is in one group.
        seed: of the draws.
    """
    is_known = ~np.isnan(values).any(axis=1)
    values, cluster = values[is_known].astype(float), cluster[is_known]
    groups, code = np.unique(group[is_known], return_inverse=True)
    rng = np.random.default_rng([seed, 27])
    n_groups, n_versions = len(groups), values.shape[1]
    tables = np.array([values[code == number].mean(axis=0) for number in range(n_groups)])
    components = np.array(
        [
            _between_clusters(values[code == number], cluster[code == number])
            for number in range(n_groups)
        ]
    )
    share, unit, df, cells, n_clusters = components.T
    mean = tables.mean(axis=1)
    spread = share * _draw_variances(rng, unit, df)
    common = np.zeros(N_DRAWS)
    if n_versions > 1:
        left = tables - mean[:, None] - tables.mean(axis=0) + mean.mean()
        df_both = max((n_groups - 1) * (n_versions - 1), 1)
        both = (left**2).sum() / df_both
        alike = tables.mean(axis=0).var(ddof=1) - both / n_groups
        common = np.sqrt(max(alike, 0) / n_versions) * rng.standard_t(n_versions - 1, N_DRAWS)
        of_groups = (
            max(both / n_versions - cells.mean(), 0) * df_both / rng.chisquare(df_both, N_DRAWS)
        )
        spread = spread + of_groups[:, None]
    theta = _draw_means(rng, mean, spread)
    rank = theta.argsort(axis=1).argsort(axis=1) + 1
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(theta + common[:, None], tails, axis=0)
    rank_low, rank_high = np.quantile(rank, tails, axis=0, method="closest_observation").astype(int)
    lower = (theta[:, :, None] < theta[:, None, :]).mean(axis=0)
    return Pooled(
        groups=groups,
        mean=mean,
        pooled=theta.mean(axis=0),
        ci_low=low,
        ci_high=high,
        rank_low=rank_low,
        rank_high=rank_high,
        lower=lower,
        n_clusters=n_clusters.astype(int),
        n_templates=np.bincount(code),
    )


def _between_clusters(
    values: np.ndarray, cluster: np.ndarray
) -> tuple[float, float, float, float, int]:
    """Of one group: sum of squared weights of clusters, variance of one cluster and its degrees of
    freedom, variance of cells.

    Args:
        values: shape (templates, versions).
        cluster: label of each template's cluster.
    """
    n_templates, n_versions = values.shape
    code = np.unique(cluster, return_inverse=True)[1]
    weight = np.bincount(code) / n_templates
    square = float((weight**2).sum())
    scale, df = bell_mccaffrey(weight)
    of_template = values.mean(axis=1) - values.mean()
    variance = scale * (np.bincount(code, of_template / n_templates) ** 2).sum()
    cells = 0.0
    if n_versions > 1:
        left = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
        sums = np.array([np.bincount(code, column) for column in left.T]) / (
            n_templates * n_versions
        )
        cells = scale * n_versions / (n_versions - 1) * float((sums**2).sum())
    return square, variance / square, df if len(weight) > 1 else 0.0, cells, len(weight)


def _draw_variances(rng: np.random.Generator, unit: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Variances of single clusters, shape (draws, groups), pooled over groups by moments of their
    logarithms (Smyth 2004).
    """
    is_known = (df > 0) & (unit > 0)
    if not is_known.any():
        return np.zeros((N_DRAWS, len(unit)))
    half = df[is_known] / 2
    log = np.log(unit[is_known]) - psi(half) + np.log(half)
    excess = float(log.var(ddof=1) - polygamma(1, half).mean()) if is_known.sum() > 1 else 0.0
    prior_df = 2 * _inverse_trigamma(excess) if excess > 0 else _CERTAIN
    prior = np.exp(log.mean() + psi(prior_df / 2) - np.log(prior_df / 2))
    whole = df + prior_df
    return np.asarray((prior_df * prior + df * unit) / rng.chisquare(whole, (N_DRAWS, len(unit))))


def _inverse_trigamma(value: float) -> float:
    """X with trigamma(x) = value, by Newton's method on 1 / trigamma (Smyth 2004, appendix).

    >>> round(_inverse_trigamma(float(polygamma(1, 3.0))), 6)
    3.0
    """
    x = 0.5 + 1 / value
    for _ in range(20):
        now = float(polygamma(1, x))
        x += now * (1 - now / value) / float(polygamma(2, x))
    return x


def _draw_means(rng: np.random.Generator, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """True means of groups, shape (draws, groups).

    Args:
        rng: of the draws.
        mean: of the groups.
        variance: of these means, shape (draws, groups).
    """
    normal = rng.standard_normal((len(variance), len(mean)))
    if len(mean) < 3:
        return np.asarray(mean + np.sqrt(variance) * normal)
    tau = np.linspace(0, _WIDEST * mean.std(ddof=1), _N_TAUS)
    precision = 1 / np.maximum(
        variance[:, None, :] + tau[:, None] ** 2, 1e-12
    )  # draws x taus x groups
    whole = precision.sum(axis=2)
    centre = (precision * mean).sum(axis=2) / whole
    fit = (np.log(precision) - precision * (mean - centre[:, :, None]) ** 2).sum(axis=2) - np.log(
        whole
    )
    chance = np.exp((fit - fit.max(axis=1, keepdims=True)) / 2).cumsum(axis=1)
    chosen = (chance < rng.random((len(chance), 1)) * chance[:, -1:]).sum(axis=1)
    row = np.arange(len(chosen))
    mu = centre[row, chosen] + rng.standard_normal(len(row)) / np.sqrt(whole[row, chosen])
    drawn = tau[chosen][:, None] ** 2
    pull = variance / np.maximum(variance + drawn, 1e-12)
    return np.asarray(
        pull * mu[:, None] + (1 - pull) * mean + np.sqrt(variance * (1 - pull)) * normal
    )
