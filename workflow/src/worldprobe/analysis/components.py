"""Parts of the variance of a mean: the interval and the test that they give, and what the test
would find.

Each part (clusters, versions, ...) is known from few units, with degrees of freedom of its own.
Half an interval is the root of

    sum over parts of t(df_i)² v_i

with Student's quantile t and the part's variance v_i (Banerjee 1960, Sankhyā 22: 357): never wrong
too often, whatever the parts' shares. One t with the degrees of freedom of the sum (Satterthwaite
1946; Judd, Westfall & Kenny 2012) takes the shares as known: up to 12 % of its tests at 5 % find
what is not there with two versions, 7 % with three (``docs/simulations/comparisons.py``).

A mean that has a smallest and a largest value gets Korn & Graubard's interval (1998, Survey
Methodology 24: 193): Clopper and Pearson's of as many independent values as would be as uncertain.
The clusters' degrees of freedom are then at most those that the fourth moment of their sums leaves
(Valliant & Rust 2010, J. Official Statistics 26: 585), as few bad clusters make up most of the
variance of a mean near its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from scipy.special import betaincinv, gammaincinv, nctdtrinc, ndtr, ndtri, stdtr, stdtrit

from worldprobe.analysis.sign_flips import rejected

LEVEL = 0.95
#: share of samples in which a difference is found, where "could have been found" is said.
POWER = 0.8
#: p of the F test from which on versions of items with fillings of their own are strata. Bozivich,
#: Bancroft & Hartley (1956, Annals of Mathematical Statistics 27: 1017) take 0.25, as the test that
#: follows then holds its level; with 0.05 it finds 8 to 9 % at 5 % where versions shift models by
#: 0.1 in log odds.
VERSIONS_ALIKE = 0.25
#: a variance of values between -1 and 1 that is smaller is a rounding error.
NO_VARIANCE = 1e-18
#: samples of the estimated parts that power is a mean over; 500 more change it by less than 0.002.
_N_SAMPLES = 512
#: the least standard error, as a share of the true one, which makes power a smooth function.
_SAMPLED = 0.1
#: numbers of versions that a study might have.
VERSIONS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)


@dataclass(frozen=True)
class VarianceComponent:
    """A part of the variance of a mean.

    Attributes:
        variance: shape (series,).
        df: degrees of freedom, of each series or of all.
    """

    variance: np.ndarray
    df: np.ndarray | float


@dataclass(frozen=True)
class Components:
    """The variance of means of several series.

    Attributes:
        clusters: the part of the clusters, with that of the cells.
        versions: the part of the versions, with that of the cells; None where versions are not
            random, or there is one.
        cells: the variance of cells of clusters and versions, which both contain, shape (series,).
        others: further parts.
        repeated: what the others contain of the clusters' part, which the test counts twice, shape
            (series,).
        inflation: how many times its size the variance of cells is estimated as where clusters are
            unequal (``clusters.inflation``).
        is_pretested: whether versions are random only in samples whose F test of versions has a p
            below ``VERSIONS_ALIKE``.
        shares: the weight of each cluster in the mean where the test is by flips of signs, unless
            versions are random; None: it is Student's.
        within: with shares, the part of the clusters' variance that is due to values within them,
            shape (series,).
    """

    clusters: VarianceComponent
    versions: VarianceComponent | None = None
    cells: np.ndarray | float = 0.0
    others: tuple[VarianceComponent, ...] = ()
    repeated: np.ndarray | float = 0.0
    inflation: float = 1.0
    is_pretested: bool = False
    shares: np.ndarray | None = None
    within: np.ndarray | float = 0.0

    @property
    def parts(self) -> list[VarianceComponent]:
        """All parts; the cells, which clusters and versions both contain, are in that of the
        versions alone.
        """
        if self.versions is None:
            return [self.clusters, *self.others]
        cells = np.minimum(self.cells, np.minimum(self.clusters.variance, self.versions.variance))
        return [
            VarianceComponent(self.clusters.variance - cells, self.clusters.df),
            self.versions,
            *self.others,
        ]

    @property
    def variance(self) -> np.ndarray:
        """Of the means, shape (series,); at least that of the clusters and that of the versions."""
        return np.asarray(np.sum([part.variance for part in self.parts], axis=0))

    def only(self, chosen: np.ndarray) -> Components:
        """Some of the series.

        Args:
            chosen: which: truth values, shape (series,), or places.
        """
        clusters, *others = (
            VarianceComponent(part.variance[chosen], part.df)
            for part in (self.clusters, *self.others)
        )
        versions = (
            None
            if self.versions is None
            else VarianceComponent(self.versions.variance[chosen], self.versions.df)
        )
        return replace(
            self,
            clusters=clusters,
            versions=versions,
            cells=np.broadcast_to(self.cells, self.clusters.variance.shape)[chosen],
            others=tuple(others),
            within=np.broadcast_to(self.within, self.clusters.variance.shape)[chosen],
        )

    def random_in(self, chosen: np.ndarray) -> Components:
        """The same with versions as strata in the other series.

        Args:
            chosen: in which series versions are a random factor, shape (series,).
        """
        assert self.versions is not None
        versions = VarianceComponent(
            np.where(chosen, self.versions.variance, 0.0), self.versions.df
        )
        return replace(self, versions=versions, cells=np.where(chosen, self.cells, 0.0))

    def with_versions(self, n_versions: float, n_new: float) -> Components:
        """The same with another number of versions: what they and the cells add goes down with it.

        Args:
            n_versions: how many these are from, at least 2.
            n_new: how many there would be.
        """
        assert self.versions is not None
        share, cells = n_versions / n_new, np.asarray(self.cells)
        clusters = np.maximum(self.clusters.variance - cells, 0) + cells * share
        versions = VarianceComponent(np.maximum(self.versions.variance, cells) * share, n_new - 1)
        return replace(
            self,
            clusters=replace(self.clusters, variance=clusters),
            versions=versions,
            cells=cells * share,
        )

    def power(self, difference: np.ndarray | float) -> np.ndarray:
        """The share of samples in which a true difference is found at 5%, shape (series,).

        Args:
            difference: shape (series,) or one for all.
        """
        critical, std_error = self._sampled()
        return _found(np.asarray(difference)[..., None], critical, std_error)

    def detectable(self) -> np.ndarray:
        """The smallest true difference that is found at 5% with ``POWER``, shape (series,)."""
        critical, std_error = self._sampled()
        low = np.zeros(len(critical))
        high = np.quantile(critical, POWER, axis=1) + 4 * std_error.max(axis=1)
        for _ in range(12):
            middle = (low + high) / 2
            is_found = _found(middle[:, None], critical, std_error) >= POWER
            high, low = np.where(is_found, middle, high), np.where(is_found, low, middle)
        return high

    def _sampled(self) -> tuple[np.ndarray, np.ndarray]:
        """From which mean on samples find a difference, and the standard error of this mean, shapes
        (series, samples).
        """
        versions = self.versions or VarianceComponent(np.zeros_like(self.clusters.variance), 1.0)
        cells = np.asarray(self.cells)
        parts = [
            VarianceComponent(np.maximum(part.variance, cells), part.df)
            for part in (self.clusters, versions)
        ] + list(self.others)
        drawn = [
            VarianceComponent(
                part.variance[:, None]
                * 2
                * _half_chi_squares(float(part.df), index, len(parts))
                / part.df,
                part.df,
            )
            for index, part in enumerate(parts)
        ]
        tail, others = np.asarray((1 - LEVEL) / 2), tuple(drawn[2:])
        error = np.sqrt(self.variance - self.repeated)[:, None]
        alone = np.sqrt(_squared_half_width(tail, Components(drawn[0], others=others)))
        spread = np.broadcast_to(error, alone.shape)
        if self.shares is not None:
            within = np.broadcast_to(self.within, len(error))
            alone = np.sqrt(self.clusters.variance)[:, None] * rejected(self.shares, within)
            left = np.sqrt(np.maximum(error**2 - self.clusters.variance[:, None], 0))
            spread = np.maximum(left, _SAMPLED * error)  # clusters' error is drawn with the rest
            factor = 1 + within * (self.inflation - 1)
            drawn[0] = replace(drawn[0], variance=drawn[0].variance * factor[:, None])
        if self.versions is None:
            return alone, spread
        sample = Components(drawn[0], drawn[1], cells[..., None], others)
        half = np.sqrt(_squared_half_width(tail, sample))
        is_random = np.ones(half.shape, bool)
        if self.is_pretested:
            df = float(self.versions.df)
            limit = 2 * gammaincinv(df / 2, 1 - VERSIONS_ALIKE) / df  # cells are known well
            is_random = drawn[1].variance > limit * self.inflation * cells[..., None]
        return np.where(is_random, half, alone), np.where(is_random, error, spread)


def detectable_by_t(
    std_error: np.ndarray | float, df: np.ndarray | float, one_sided: bool = False
) -> np.ndarray:
    """The smallest true value that a t test finds at 5% in 80% of samples; missing where there is
    no test.

    Args:
        std_error: of the estimate.
        df: degrees of freedom; infinite: the normal test.
        one_sided: whether the test is.

    >>> detectable_by_t(0.01, np.array([2.0, np.inf])).round(3)
    array([0.057, 0.028])
    """
    critical = stdtrit(df, LEVEL if one_sided else (1 + LEVEL) / 2)
    return np.asarray(nctdtrinc(df, 1 - POWER, critical) * std_error)


def enough_versions(components: Components, n_versions: int, difference: np.ndarray) -> np.ndarray:
    """The smallest number of versions from which on a true difference would be found.

    Args:
        components: of a study with versions.
        n_versions: how many it has.
        difference: shape (series,).

    Returns:
        Shape (series,); 0 where none of ``VERSIONS`` is enough: clusters are too few.
    """
    smallest = np.zeros(len(difference), int)
    left = np.arange(len(difference))
    for number in sorted(
        (number for number in VERSIONS if number > n_versions), reverse=True
    ):  # few series are left soon
        left = left[
            components.only(left).with_versions(n_versions, number).power(difference[left]) >= POWER
        ]
        if not len(left):
            break
        smallest[left] = number
    return smallest


def interval(
    mean: np.ndarray,
    components: Components,
    bounds: tuple[np.ndarray | float, float] | None = None,
    n_clusters: int = 0,
    is_exact: np.ndarray | bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval.

    Args:
        mean: shape (series,).
        components: of its variance.
        bounds: the smallest and the largest value that the mean can have, of each series or of all;
            None: there are none.
        n_clusters: with bounds, the effective sample size where all clusters are alike, as at 0 and
            1. The National Center for Health Statistics takes the sample's there (Parker et al.
            2017, Vital and Health Statistics 2(175)); the number of clusters is the cautious one.
            A mean within -1 and 1, such as a bias, has no interval there unless it is at its end.
        is_exact: of which series the clusters are single right or wrong answers, so that Clopper
            and Pearson's interval of their number is exact; shape (series,), or for all.
    """
    half = np.sqrt(_squared_half_width(np.asarray((1 - LEVEL) / 2), components))
    if bounds is None:
        return mean - half, mean + half
    low, high = bounds
    share, half = np.clip((mean - low) / (high - low), 0, 1), half / (high - low)
    is_alike = components.clusters.variance < NO_VARIANCE
    is_share = (np.asarray(low) == 0) | (np.abs(share - 0.5) > 0.5 - 1e-9)  # sums are rounded
    with np.errstate(divide="ignore", invalid="ignore"):
        n = share * (1 - share) * (ndtri((1 + LEVEL) / 2) / half) ** 2
    # Other parts, such as versions, may leave less than that.
    n = np.where(is_alike, np.where(is_share, np.fmin(n, n_clusters), np.nan), n)
    n = np.where(is_exact, n_clusters, n)
    ends = korn_graubard(share, n)
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def korn_graubard(
    share: np.ndarray | float, n: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval of a share that is as uncertain as that of n independent values.

    Args:
        share: from 0 to 1.
        n: effective sample size, with the factor for few degrees of freedom; need not be a whole
            number.

    >>> [np.round(end, 3) for end in korn_graubard(np.array([0.9, 1.0]), 30.0)]
    [array([0.735, 0.884]), array([0.979, 1.   ])]
    """
    successes, tail = np.asarray(share * n), (1 - LEVEL) / 2
    low = np.where(successes <= 0, 0.0, betaincinv(successes, n - successes + 1, tail))
    high = np.where(successes >= n, 1.0, betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


def p_value(mean: np.ndarray, components: Components) -> np.ndarray:
    """Two-sided p that a mean is 0: the level at which its interval would end at 0, by bisection of
    its logarithm.

    Args:
        mean: shape (series,).
        components: of its variance, which is not 0.
    """
    ratio = np.abs(mean) / np.sqrt(components.variance)
    fewest = np.min([np.min(part.df) for part in components.parts])
    # The quantile lies between the normal one and that of the part known from the fewest units, so
    # p does too.
    low, high = (np.log(np.maximum(tail, 1e-300)) for tail in (ndtr(-ratio), stdtr(fewest, -ratio)))
    low, high = low - 1, np.minimum(high + 1, np.log(0.5))
    for _ in range(50):
        middle = (low + high) / 2
        is_inside = _squared_half_width(np.exp(middle), components) < mean**2
        high, low = np.where(is_inside, middle, high), np.where(is_inside, low, middle)
    return np.minimum(2 * np.exp((low + high) / 2), 1)


def _squared_half_width(tail: np.ndarray, components: Components) -> np.ndarray:
    """Of intervals that leave out ``tail`` on either side, shape (series,)."""
    return np.asarray(
        np.sum([stdtrit(part.df, tail) ** 2 * part.variance for part in components.parts], axis=0)
    )


def _found(difference: np.ndarray, half_width: np.ndarray, std_error: np.ndarray) -> np.ndarray:
    """The share of samples in which a mean of this size is farther from 0 than half the
    interval.
    """
    return np.asarray(
        (
            ndtr((difference - half_width) / std_error)
            + ndtr((-difference - half_width) / std_error)
        ).mean(axis=-1)
    )


@lru_cache(maxsize=1 << 10)  # a study has few designs, and half of a test's time would go into this
def _half_chi_squares(df: float, index: int, n_parts: int) -> np.ndarray:
    """Half of what chi squared is in samples, for one of several parts."""
    return np.asarray(gammaincinv(df / 2, _spread_points(n_parts)[index]))


@cache
def _spread_points(n_dimensions: int) -> np.ndarray:
    """Points spread evenly over the unit cube, shape (dimensions, samples): an additive recurrence
    (Roberts 2018).
    """
    root = 2.0
    for _ in range(50):
        root = (1 + root) ** (1 / (n_dimensions + 1))
    steps = root ** -np.arange(1, n_dimensions + 1)
    return np.asarray((0.5 + steps[:, None] * np.arange(1, _N_SAMPLES + 1)) % 1)
