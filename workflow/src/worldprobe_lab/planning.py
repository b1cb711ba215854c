"""How large a study of EWoK must be, from the judgements of one; and its domains and concepts by
partial pooling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import bell_mccaffrey
from worldprobe.benchmarks.ewok.analysis.judge import people_differ
from worldprobe.benchmarks.ewok.analysis.panel import (
    CLUSTERS,
    DEFAULT_CLUSTER,
    Panel,
    build_panel,
    cluster_codes,
)
from worldprobe.benchmarks.ewok.analysis.summarize import compared_values
from worldprobe.contracts import typed
from worldprobe.contracts.results import ALL, JOINT, OVERALL
from worldprobe.errors import TooLittleError, UserError
from worldprobe.log import LOGGER
from worldprobe_lab.contracts import Orders
from worldprobe_lab.pooling import Pooled, pool
from worldprobe_lab.power import (
    FEW_DF,
    RaterModel,
    Replicates,
    plan,
    variances_of_differences,
    variances_with_people,
)

#: Groupings of templates that are pooled, and the random factor in their groups.
POOLED = {"domain": "concept_pair", "concept_pair": "template"}


def _refuse_unknown_variance(
    replicates: Mapping[str, Sequence[str]] | None,
    n_replicates: Sequence[int],
    ratings: pd.DataFrame | None,
    n_raters: Sequence[int],
) -> None:
    if max(n_replicates) > 1 and not replicates:
        raise UserError(
            "--n-replicates",
            "nothing says how replicates vary.",
            "Name those of the pilot with --replicates.",
        )
    if n_raters and ratings is None:
        raise UserError(
            "--n-raters",
            "nothing says how raters vary.",
            "Give the ratings of a pilot with --people.",
        )
    if ratings is not None and replicates:
        problem = "does not go with --replicates: people are compared with single models."
        raise UserError("--people", problem, "Leave one of them out.")


def plan_studies(
    judgements: pd.DataFrame,
    difference: float,
    eval_type: str = "logprobs",
    cluster: str = DEFAULT_CLUSTER,
    n_clusters: Sequence[int] = (),
    n_versions: Sequence[int] = (),
    replicates: Mapping[str, Sequence[str]] | None = None,
    n_replicates: Sequence[int] = (1,),
    ratings: pd.DataFrame | None = None,
    n_raters: Sequence[int] = (),
    metric: str = "accuracy",
) -> pd.DataFrame:
    """The power of studies of several sizes to find a difference of two models, overall and in each
    domain.

    With people's ratings: a difference of people and a model.

    Args:
        judgements: contracts.Judgements of the pilot: two models or more, two versions or more.
        difference: of accuracies.
        eval_type: the paradigm.
        cluster: the random factor: ``concept_pair`` or ``template``.
        n_clusters: numbers of clusters (multiples of the pilot's).
        n_versions: numbers of versions (2 to 50).
        replicates: name -> the models that are replicates of one another, such as training runs
            from several seeds.
        n_replicates: numbers of replicates of each model.
        ratings: contracts.Ratings of people of the same items, of two versions or more.
        n_raters: with ratings, numbers of raters that each target has in each context (the
            pilot's).
        metric: accuracy or pairing.

    Returns:
        contracts.Plans; domains with a single cluster have no rows. With ratings, n_replicates are
        raters.

    Raises:
        UserError: the pilot cannot tell how differences vary, or has no such metric.
    """
    _refuse_unknown_variance(replicates, n_replicates, ratings, n_raters)
    rows = judgements[judgements["eval_type"] == eval_type]
    if rows.empty:
        raise UserError(
            "judgements",
            f"there are none by {eval_type}.",
            "Give judgements of two models or more.",
        )
    if ratings is not None:
        is_rated = rows["item_id"].isin(ratings.loc[ratings["rating"].notna(), "item_id"])
        if not is_rated.any():
            raise UserError(
                "ratings",
                "are of none of the judged items.",
                "Give ratings of the items that models judged.",
            )
        rows = rows[rows["version"].isin(rows.loc[is_rated, "version"].unique())]
    panel = build_panel(rows)
    templates, values = _by_template(panel, metric)
    codes = cluster_codes(templates, cluster)
    alike = [
        (panel.position(a, eval_type), panel.position(b, eval_type))
        for models in (replicates or {}).values()
        for a, b in combinations(models, 2)
    ]
    options: dict[str, Any] = {"n_clusters": n_clusters} | (
        {"n_versions": n_versions} if n_versions else {}
    )
    if ratings is None:
        options |= {"n_replicates": n_replicates}

        def planned(positions: np.ndarray) -> pd.DataFrame:
            return _plan(
                values[:, positions],
                codes[positions],
                difference,
                alike,
                panel.has_own_fillings,
                options,
            )

    else:
        people, raters = _people(panel, ratings, metric)
        values = np.concatenate([people[None], values])
        numbers = n_raters or [max(round(raters.n), 1)]

        def planned(positions: np.ndarray) -> pd.DataFrame:
            by_replicates = {
                n: variances_with_people(
                    values[:, positions], codes[positions], raters, n, panel.has_own_fillings
                )
                for n in numbers
            }
            return pd.concat(
                [
                    plan(variances, difference, **options).assign(n_replicates=n)
                    for n, variances in by_replicates.items()
                ]
            )

    def do_vary(positions: np.ndarray) -> bool:
        is_known = ~np.isnan(values[:, positions]).any(axis=(0, 2))
        differences = (values[:, positions] - values[:1, positions])[:, is_known]
        return not is_known.any() or bool(np.ptp(differences, axis=(1, 2)).max() > 1e-12)

    if len(values) > 1 and not do_vary(np.arange(len(templates))):
        problem = (
            "of these models are alike everywhere, or differ by the same, so nothing says how"
            " differences vary."
        )
        raise TooLittleError(
            "judgements", problem, "Give those of models that differ, not of a model and its copy."
        )
    tables = [planned(np.arange(len(templates))).assign(grouping=OVERALL, group=ALL)]
    for domain, positions in templates.groupby("domain", sort=True).indices.items():
        if len(np.unique(codes[positions])) == 1:
            LOGGER.warning("%s has one cluster: nothing says how others would vary", domain)
        elif len(values) > 1 and not do_vary(np.asarray(positions)):
            LOGGER.warning(
                "%s: all answers are alike, so nothing says how differences vary", domain
            )
        else:
            tables.append(
                planned(np.asarray(positions)).assign(grouping="domain", group=str(domain))
            )
    warn_of_few_clusters(templates, codes)
    return pd.concat(tables, ignore_index=True).assign(eval_type=eval_type)


def warn_of_few_clusters(templates: pd.DataFrame, codes: np.ndarray) -> None:
    """Say where clusters are too few or too unequal to know how others vary."""
    groups = {
        "overall": np.arange(len(templates)),
        **templates.groupby("domain", sort=True).indices,
    }
    for group, positions in groups.items():
        sizes = np.unique(codes[positions], return_counts=True)[1]
        df = bell_mccaffrey(sizes / sizes.sum())[1]
        if len(sizes) > 1 and df < FEW_DF:
            shown = f"{len(sizes)} clusters of unequal size are worth {df:.1f} degrees of freedom"
            LOGGER.warning(
                "%s: %s: its power is a guess, and probably less than is said", group, shown
            )


def _people(panel: Panel, ratings: pd.DataFrame, metric: str) -> tuple[np.ndarray, RaterModel]:
    """People's accuracies or pairings, shape (templates, versions), and what their ratings are
    like.

    Raises:
        UserError: the ratings do not say how raters differ.
    """
    differences = people_differ(ratings)
    is_first = differences.index.get_level_values("target") == 1
    differences["people"] = differences["people"].where(
        is_first, -differences["people"]
    )  # target 1 fits context 1, target 2 context 2
    if metric == "pairing":  # one decision of an item: the sum of its targets' differences
        differences = differences.groupby("item_id").sum(min_count=2).dropna(subset=["people"])
    measured = differences.dropna(subset=["error"])
    if len(measured) < 2:
        raise UserError(
            "ratings",
            "no two targets have two ratings in each context.",
            "Give ratings with n_raters and sd.",
        )
    right = ((np.sign(differences["people"]) + 1) / 2).rename("right")
    if metric == "accuracy":
        right = right.unstack("target").reindex(columns=[1, 2]).mean(axis=1, skipna=False)
    values = right.reindex(panel.items["item_id"]).to_numpy(float)
    n = ratings["n_raters"].to_numpy(float)
    n = n[n > 0]
    raters = RaterModel.of(
        measured["people"].to_numpy(float),
        measured["error"].to_numpy(float),
        len(n) / (1 / n).sum(),
        n_decisions=1 if metric == "pairing" else 2,
    )
    return _spread_by_template(panel, values[None])[0], raters


def _plan(
    values: np.ndarray,
    codes: np.ndarray,
    difference: float,
    alike: list[tuple[int, int]],
    has_own_fillings: bool,
    options: dict[str, Any],
) -> pd.DataFrame:
    """The plans of one group; replicates of one model are no pair of models."""
    same = {frozenset(pair) for pair in alike}
    pairs = [pair for pair in combinations(range(len(values)), 2) if frozenset(pair) not in same]
    if alike and not pairs:
        raise UserError(
            "--replicates",
            "all models are replicates of one.",
            "Give judgements of two models or more.",
        )
    replicates = Replicates.of(values, codes, alike, has_own_fillings) if alike else None
    variances = variances_of_differences(values, codes, pairs, has_own_fillings)
    return plan(variances, difference, replicates=replicates, **options)


def versions_needed(plans: pd.DataFrame, power: float) -> pd.DataFrame:
    """The fewest versions with which a study finds the difference, by group and number of clusters.

    Args:
        plans: contracts.Plans.
        power: in which share of samples.

    Returns:
        Columns grouping, group, n_replicates, n_clusters, n_templates and n_versions (0 where no
        planned number is enough), and the power with that many, with its interval.
    """
    key = ["grouping", "group", "n_replicates", "n_clusters", "n_templates"]
    enough = (
        plans[plans["power"] >= power].sort_values("n_versions", kind="stable").drop_duplicates(key)
    )
    columns = [*key, "n_versions", "power", "power_low", "power_high"]
    needed = plans[key].drop_duplicates().merge(enough[columns], on=key, how="left")
    return needed.assign(n_versions=needed["n_versions"].fillna(0).astype(int))


def pool_means(judgements: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Domains, and pairs of concepts within each domain, by partial pooling, for every series.

    Args:
        judgements: contracts.Judgements of any number of models and eval types.

    Returns:
        contracts.PooledMeans, and contracts.Orders: of every two domains the one that is probably
        harder. With one version of shared fillings it has no probability: a sure order of these
        fillings was wrong in 16% of simulations. Templates count where they have an accuracy in
        every version.

    Raises:
        UserError: no series has such a template.
    """
    panel = build_panel(judgements)
    templates, values = _by_template(panel)
    can_order = panel.has_own_fillings or values.shape[2] > 1
    if panel.has_own_fillings:
        values = values.mean(axis=2, keepdims=True)
    codes = {name: cluster_codes(templates, name) for name in CLUSTERS}
    pairs = templates["concept_a"] + templates["concept_b"].map(
        lambda name: f"{JOINT}{name}" if isinstance(name, str) else ""
    )
    means, orders = [], []
    for model, eval_type, of_series in zip(
        panel.series["model"], panel.series["eval_type"], values, strict=True
    ):
        is_known = ~np.isnan(of_series).any(axis=1)
        if not is_known.any():
            continue
        pooled = pool(of_series, templates["domain"].to_numpy(str), codes["concept_pair"])
        means.append(_rows(pooled).assign(grouping="domain", model=model, eval_type=eval_type))
        orders += [{"model": model, "eval_type": eval_type} | row for row in _orders(pooled)]
        for domain, positions in templates[is_known].groupby("domain", sort=True).indices.items():
            here = np.flatnonzero(is_known)[positions]
            pooled = pool(of_series[here], pairs.to_numpy(str)[here], codes["template"][here])
            rows = _rows(pooled).assign(grouping="concept_pair", model=model, eval_type=eval_type)
            means.append(rows.assign(group=str(domain) + JOINT + rows["group"]))
    if not means:
        problem = "no template has an accuracy in every version."
        raise TooLittleError(
            "judgements", problem, "Judge a model that answered the items of all versions."
        )
    ordered = typed(orders, Orders)
    return pd.concat(means, ignore_index=True), (
        ordered if can_order else ordered.assign(probability=np.nan)
    )


def _by_template(panel: Panel, metric: str = "accuracy") -> tuple[pd.DataFrame, np.ndarray]:
    """One row per template, and its accuracies or pairings, shape (series, templates,
    versions); missing where an item has none.
    """
    first = np.unique(cluster_codes(panel.items, "template"), return_index=True)[1]
    return panel.items.iloc[first].reset_index(drop=True), _spread_by_template(
        panel, compared_values(panel, metric)
    )


def _spread_by_template(panel: Panel, values: np.ndarray) -> np.ndarray:
    """Values of items, shape (series, items), as (series, templates, versions); missing where there
    is no item.
    """
    code, version = (
        cluster_codes(panel.items, "template"),
        np.unique(panel.items["version"], return_inverse=True)[1],
    )
    spread = np.full((len(values), int(code.max()) + 1, int(version.max()) + 1), np.nan)
    spread[:, code, version] = values
    return spread


def _rows(pooled: Pooled) -> pd.DataFrame:
    """The columns of contracts.PooledMeans, without series and grouping."""
    names = (
        "mean",
        "pooled",
        "ci_low",
        "ci_high",
        "rank_low",
        "rank_high",
        "n_clusters",
        "n_templates",
    )
    rows = pd.DataFrame({"group": pooled.groups} | {name: getattr(pooled, name) for name in names})
    return rows.assign(**{name: rows[name].clip(0, 1) for name in ("pooled", "ci_low", "ci_high")})


def _orders(pooled: Pooled) -> Iterator[dict[str, object]]:
    """Every two groups, the one that is probably lower first."""
    for i, j in zip(*np.triu_indices(len(pooled.groups), 1), strict=True):
        a, b = (i, j) if pooled.lower[i, j] >= pooled.lower[j, i] else (j, i)
        yield {
            "lower": str(pooled.groups[a]),
            "higher": str(pooled.groups[b]),
            "probability": float(pooled.lower[a, b]),
        }
