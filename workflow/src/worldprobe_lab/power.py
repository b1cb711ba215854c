"""How large must a study be to find a difference? From the variance of a pilot's differences, by
what they share.

The model of the difference d of two models on version v of template i, which belongs to the pair of
concepts (cluster) p:

    d = D + cluster_p + template_i + version_v + (cluster x version)_pv + item_iv

with a variance of each, estimated without bias by the mean squares of an analysis of variance
(Searle, Casella & McCulloch 1992), and averaged over the pairs of models. Where each item has
fillings of its own, versions share nothing: version_v and (cluster x version)_pv are left out.
Where models come in replicates, such as training runs from several seeds or halves of the raters, a
mean over R of them has what all replicates share and an R-th of what sets them apart, by the same
model. A study of another size has the same variances; ``analysis.components`` says how often its
test, which is that of ``compare``, finds D. Simulated in
``docs/simulations/comparisons.py``.

People are right about a target where the mean of n ratings in the right context is above that in
the wrong one. The difference of these means is normal around a target's own, which is normal over
targets; so n decides how often chance turns an answer (``RaterModel``). Simulated in
``docs/simulations/people.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaincinv, ndtr, ndtri

from worldprobe.analysis.clusters import bell_mccaffrey, inflation, sum_by_code
from worldprobe.analysis.components import LEVEL, POWER, VERSIONS, Components, VarianceComponent
from worldprobe.analysis.sign_flips import can_flip
from worldprobe.errors import TooLittleError

#: How many times the pilot's clusters a study might have.
MULTIPLES = (0.5, 1.0, 2.0, 4.0)
#: Degrees of freedom of the clusters below which a pilot hardly knows how they vary.
FEW_DF = 5.0
#: variance of people's accuracy between targets, below which a pilot does not tell how it would
#: grow.
LEAST_SIGNAL = 0.001
#: What the variances of a difference are of.
SOURCES = ("cluster", "template", "version", "cluster_version", "item")


@dataclass(frozen=True)
class Variances:
    """Of the difference of two models on one item.

    Attributes:
        cluster, template, version, cluster_version, item: what each adds; all versions and items of
            a study share nothing else.
        sizes: the number of templates of each cluster of the pilot.
        n_versions: versions of the pilot.
        has_own_fillings: whether each item was filled on its own, so that versions are random only
            where they differ.
    """

    cluster: float
    template: float
    version: float
    cluster_version: float
    item: float
    sizes: np.ndarray
    n_versions: int
    has_own_fillings: bool = False

    @property
    def cluster_df(self) -> float:
        """Degrees of freedom from which the pilot knows how clusters vary (Bell & McCaffrey
        2002).
        """
        return bell_mccaffrey(self.sizes / self.sizes.sum())[1]

    def df(self, study: Components) -> float:
        """Degrees of freedom of the variance of a study that is planned from the pilot
        (Satterthwaite 1946).
        """
        assert study.versions is not None
        versions = study.versions
        known_from: list[Any] = [self.cluster_df, self.n_versions - 1]
        parts = study.parts
        if self.has_own_fillings:  # cells are known from all items
            parts[:2] = [
                study.clusters,
                replace(versions, variance=versions.variance - study.cells),
            ]
        known_from += [other.df for other in study.others]
        squares = sum(part.variance**2 / df for part, df in zip(parts, known_from, strict=True))
        return float((study.variance**2 / squares)[0]) if squares > 0 else self.cluster_df

    def of_study(
        self, n_clusters: int, n_versions: int, per_cluster: float | None = None
    ) -> Components:
        """The variance of the mean difference in a study of another size.

        Args:
            n_clusters: clusters, whose numbers of templates are spread as in the pilot.
            n_versions: of each template.
            per_cluster: templates per cluster, on average (as in the pilot).
        """
        sizes = np.quantile(self.sizes, (np.arange(n_clusters) + 0.5) / n_clusters)
        share = sizes / sizes.sum()
        n_templates = n_clusters * (self.sizes.mean() if per_cluster is None else per_cluster)
        squares, scale_df = float((share**2).sum()), bell_mccaffrey(share)[1]
        cells = (self.cluster_version * squares + self.item / n_templates) / n_versions
        clusters = self.cluster * squares + self.template / n_templates + cells
        versions = self.version / n_versions + cells
        return Components(
            VarianceComponent(np.array([clusters]), scale_df),
            VarianceComponent(np.array([versions]), n_versions - 1),
            np.array([cells]),
            inflation=inflation(share),
            is_pretested=self.has_own_fillings,
            shares=share if self.has_own_fillings and can_flip(share) else None,
            within=(self.template + self.item / n_versions) / n_templates / clusters
            if clusters > 0
            else 0.0,
        )

    def averaged(self, replicates: Variances, n_replicates: int) -> Variances:
        """The variances where each model is the mean of several replicates.

        Args:
            replicates: of the difference of two replicates of one model.
            n_replicates: of each model.
        """
        less = {
            name: max(getattr(self, name) - (1 - 1 / n_replicates) * getattr(replicates, name), 0.0)
            for name in SOURCES
        }
        return replace(self, **less)

    def independent_items(
        self, n_clusters: int, n_versions: int, per_cluster: float | None = None
    ) -> float:
        """The variance of the same mean if all items were independent, as common formulas have
        it.
        """
        whole = self.cluster + self.template + self.version + self.cluster_version + self.item
        return float(whole / (n_clusters * (per_cluster or self.sizes.mean()) * n_versions))


@dataclass(frozen=True)
class Replicates:
    """Variances between two replicates of one model.

    Attributes:
        items: the variances of their difference on one item.
        mean: the variance of their mean difference that is not due to items.
    """

    items: Variances
    mean: float

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        cluster: np.ndarray,
        pairs: Sequence[tuple[int, int]],
        has_own_fillings: bool = False,
    ) -> Replicates:
        """Of a pilot.

        Args:
            values: as in ``variances_of_differences``.
            cluster: as there.
            pairs: positions of two replicates of one model.
            has_own_fillings: as there.
        """
        items = variances_of_differences(values, cluster, pairs, has_own_fillings)
        complete = values[:, ~np.isnan(values).any(axis=(0, 2))]
        squares = [(complete[a].mean() - complete[b].mean()) ** 2 for a, b in pairs]
        by_items = items.of_study(len(items.sizes), values.shape[2]).variance[0]
        return cls(items, max(float(np.mean(squares) - by_items), 0.0))


@dataclass(frozen=True)
class RaterModel:
    """Distribution of the differences that decide people's answers: ratings of targets in the right
    context, less those in the wrong one; or, for pairings, the sum of an item's two such
    differences.

    Attributes:
        mean, spread: mean and standard deviation of the true differences.
        noise: variance of a difference of single ratings.
        n: ratings of each target in each context, in the pilot.
        n_decisions: whose mean an item's value is: two targets, or one pairing.
    """

    mean: float
    spread: float
    noise: float
    n: float
    n_decisions: int = 2

    @classmethod
    def of(
        cls, differences: np.ndarray, errors: np.ndarray, n: float, n_decisions: int = 2
    ) -> RaterModel:
        """Of a pilot.

        Args:
            differences: of the mean ratings, of each target or (pairings) item.
            errors: their squared standard errors.
            n: ratings that each mean is of.
            n_decisions: of an item.
        """
        error = float(errors.mean())
        spread = max(float(differences.var(ddof=1)) - error, 0.0) ** 0.5
        return cls(float(differences.mean()), spread, error * n, n, n_decisions)

    def accuracy(self, n: float) -> tuple[float, float, float]:
        """Of decisions with n ratings in each context: the mean, its variance between them, and
        the variance that raters add.

        Ratings are whole numbers, so means are equal (and accuracy a half) where their difference
        is within half a step of 0.

        >>> [round(x, 3) for x in RaterModel(mean=2.0, spread=0.0, noise=4.0, n=5).accuracy(1)]
        [0.841, 0.0, 0.103]
        """
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        weights = weights / weights.sum()
        error = max(self.noise / n, 1e-12) ** 0.5
        distance = (self.mean + self.spread * nodes) / error
        right = ndtr(distance)
        is_tie = ndtr(distance + 0.5 / n / error) - ndtr(distance - 0.5 / n / error)
        mean, square, ties = (float(weights @ values) for values in (right, right**2, is_tie))
        return mean, max(square - mean**2, 0.0), max(mean - square - ties / 4, 0.0)


def variances_with_people(
    values: np.ndarray,
    cluster: np.ndarray,
    raters: RaterModel,
    n_raters: int,
    has_own_fillings: bool = False,
) -> Variances:
    """The variances of the difference of people and a model, averaged over models, with another
    number of ratings.

    What sets targets apart for people grows with the number as their accuracy does; what raters add
    goes down with it. Raters are taken to err alone: a rater who errs more than others adds to what
    is found here.

    Args:
        values: accuracies or pairings of items, as in ``variances_of_differences``; people's come
            first.
        cluster: as there.
        raters: of the same pilot.
        n_raters: ratings of each target in each context.
        has_own_fillings: as there.
    """
    whole = np.concatenate(
        [values, np.zeros_like(values[:1])]
    )  # the variances of one series are those of its difference from 0
    last = len(values)
    kinds = (
        [(0, last)],
        [(index, last) for index in range(1, last)],
        [(0, index) for index in range(1, last)],
    )
    people, models, both = (
        variances_of_differences(whole, cluster, pairs, has_own_fillings) for pairs in kinds
    )
    (_, signal, chance), (_, new_signal, new_chance) = (
        raters.accuracy(raters.n),
        raters.accuracy(n_raters),
    )
    growth = new_signal / signal if signal > LEAST_SIGNAL else 1.0
    components = {}
    for name in SOURCES:
        human, other, difference = (getattr(source, name) for source in (people, models, both))
        shared = (human + other - difference) / 2
        drawn = min(chance / raters.n_decisions, human) if name == "item" else 0.0
        new = (human - drawn) * growth + drawn * (new_chance / chance if chance > 0 else 1.0)
        components[name] = max(new + other - 2 * shared * growth**0.5, 0.0)
    return replace(both, **components)


def variances_of_differences(
    values: np.ndarray,
    cluster: np.ndarray,
    pairs: Sequence[tuple[int, int]] | None = None,
    has_own_fillings: bool = False,
) -> Variances:
    """The variances of a pilot's differences, averaged over the pairs of models.

    Args:
        values: of two models or more, shape (models, templates, versions); templates with a missing
            value (NaN) are left out.
        cluster: label of each template's cluster.
        pairs: positions of the models whose differences are meant (all pairs).
        has_own_fillings: whether each item was filled on its own, so that versions share nothing.

    Raises:
        UserError: too few models, clusters or versions to tell the variances apart.
    """
    is_known = ~np.isnan(values).any(axis=(0, 2))
    values, code = (
        values[:, is_known].astype(float),
        np.unique(cluster[is_known], return_inverse=True)[1],
    )
    n_models, n_templates, n_versions = values.shape
    sizes = np.bincount(code)
    n_clusters = len(sizes)
    if n_models < 2 or n_versions < 2 or n_clusters < 2:
        problem = (
            f"{n_models} models, {n_clusters} clusters and {n_versions} versions do not tell how"
            " differences vary."
        )
        raise TooLittleError(
            "pilot", problem, "Give results of two models or more on items of two versions or more."
        )
    chosen = list(combinations(range(n_models), 2)) if pairs is None else pairs
    means = np.mean([_mean_squares(values[a] - values[b], code, sizes) for a, b in chosen], axis=0)
    of_clusters, of_templates, of_versions, of_cells, item = means
    squares = float((sizes**2).sum()) / n_templates
    typical = (n_templates - squares) / (n_clusters - 1)
    if has_own_fillings:
        apart = values - values.mean(axis=1, keepdims=True)  # versions' means have their own part
        item = float(np.mean([(apart[a] - apart[b]).var(axis=1, ddof=1).mean() for a, b in chosen]))
        item *= n_templates / (n_templates - 1)
        return Variances(
            cluster=max((of_clusters - of_templates) / typical, 0),
            template=max(of_templates - item / n_versions, 0),
            version=max((of_versions - of_cells) / n_templates, 0),
            cluster_version=0,
            item=item,
            sizes=sizes,
            n_versions=n_versions,
            has_own_fillings=True,
        )
    cluster_version = (
        of_cells - item
    ) / typical  # the others are without bias of what chance leaves of it, below 0 too
    return Variances(
        cluster=max((of_clusters - of_templates) / typical - cluster_version / n_versions, 0),
        template=max(of_templates - item / n_versions, 0),
        version=max((of_versions - item - squares * cluster_version) / n_templates, 0),
        cluster_version=max(cluster_version, 0),
        item=item,
        sizes=sizes,
        n_versions=n_versions,
    )


def _mean_squares(difference: np.ndarray, code: np.ndarray, sizes: np.ndarray) -> list[float]:
    """Mean squares of clusters, templates in clusters, versions, clusters x versions, and of
    items.
    """
    n_templates, n_versions = difference.shape
    inner = max(n_templates - len(sizes), 1)
    of_template, of_version, whole = (
        difference.mean(axis=1),
        difference.mean(axis=0),
        difference.mean(),
    )
    cells = sum_by_code(difference.T, code).T / sizes[:, None]
    of_cluster = cells.mean(axis=1)
    left = difference - of_template[:, None] - cells[code] + of_cluster[code, None]
    of_cells = cells - of_cluster[:, None] - of_version + whole
    squares = {
        "clusters": (sizes * (of_cluster - whole) ** 2).sum() / (len(sizes) - 1),
        "templates": ((of_template - of_cluster[code]) ** 2).sum() / inner,
        "versions": n_templates * ((of_version - whole) ** 2).sum() / (n_versions - 1),
        "cells": (sizes[:, None] * of_cells**2).sum() / ((len(sizes) - 1) * (n_versions - 1)),
        "items": (left**2).sum() / (inner * (n_versions - 1)),
    }
    return list(squares.values())


def plan(
    variances: Variances,
    difference: float,
    n_clusters: Sequence[int] = (),
    n_versions: Sequence[int] = VERSIONS,
    per_cluster: float | None = None,
    replicates: Replicates | None = None,
    n_replicates: Sequence[int] = (1,),
) -> pd.DataFrame:
    """The power of studies of several sizes.

    Args:
        variances: of the pilot.
        difference: the true difference of two models' accuracies.
        n_clusters: numbers of clusters (``MULTIPLES`` of the pilot's).
        n_versions: numbers of versions.
        per_cluster: templates per cluster, on average (as in the pilot).
        replicates: of the pilot's models, where they come in replicates.
        n_replicates: numbers of replicates of each model; 1: the study is about these trained
            models.

    Returns:
        One row per size: n_replicates, n_clusters, n_templates, n_versions, difference, power with
        its 95% interval (chi squared, with the degrees of freedom from which the pilot knows the
        variances of one difference), detectable (the smallest difference with a power of 80%), and
        detectable_if_independent, the same by the formula that takes items as independent.
    """
    average = float(variances.sizes.mean()) if per_cluster is None else per_cluster
    sizes = n_clusters or sorted(
        {max(round(multiple * len(variances.sizes)), 2) for multiple in MULTIPLES}
    )
    quantiles = float(ndtri((1 + LEVEL) / 2) + ndtri(POWER))
    rows = []
    for number, clusters, versions in product(n_replicates, sizes, n_versions):
        averaged = variances if replicates is None else variances.averaged(replicates.items, number)
        study = averaged.of_study(clusters, versions, per_cluster)
        if replicates is not None and number > 1:
            # The means of replicates differ by items, too, which the test takes as a difference of
            # the replicates as such.
            by_items = replicates.items.of_study(clusters, versions, per_cluster).variance / number
            of_one = VarianceComponent((replicates.mean / number + by_items) / 2, number - 1)
            study = replace(study, others=(of_one, of_one), repeated=by_items)
        df = averaged.df(study)
        low, high = (
            _scaled(study, df / (2 * gammaincinv(df / 2, tail)))
            for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
        )
        independent = np.sqrt(averaged.independent_items(clusters, versions, per_cluster))
        rows.append(
            {
                "n_replicates": number,
                "n_clusters": clusters,
                "n_templates": round(clusters * average),
                "n_versions": versions,
                "difference": difference,
                "power": float(study.power(difference)[0]),
                "power_low": float(low.power(difference)[0]),
                "power_high": float(high.power(difference)[0]),
                "detectable": float(study.detectable()[0]),
                "detectable_if_independent": float(quantiles * independent),
            }
        )
    return pd.DataFrame(rows)


def _scaled(study: Components, factor: float) -> Components:
    """The same with every variance multiplied by a factor."""

    def scale(part: VarianceComponent) -> VarianceComponent:
        return replace(part, variance=part.variance * factor)

    return replace(
        study,
        clusters=scale(study.clusters),
        versions=None if study.versions is None else scale(study.versions),
        cells=study.cells * factor,
        others=tuple(map(scale, study.others)),
        repeated=study.repeated * factor,
    )
