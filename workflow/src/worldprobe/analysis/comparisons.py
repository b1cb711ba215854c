"""Which means are above others, or above chance: pairs of models on the same units, and intervals,
corrected for their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtr, stdtridf, stdtrit

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.analysis.components import LEVEL, detectable_by_t
from worldprobe.analysis.summaries import Group, arrange
from worldprobe.contracts.results import Comparisons, over_in_words
from worldprobe.errors import TooLittleError, UserError

#: Means of series, shape (series, units of a group), with intervals, and tests where the last
#: argument says so.
Estimate = Callable[[np.ndarray, Group, bool], Estimates]


def compare_pairs(
    models: Sequence[str], values: np.ndarray, groups: Iterable[Group], estimate: Estimate
) -> pd.DataFrame:
    """Every pair of models, on what both have a value of.

    Args:
        models: names.
        values: shape (models, units) or (models, units, parts); missing (NaN) where a model has no
            score. A unit with parts, such as an item with two targets, has the mean of those that
            both models have.
        groups: units that are compared together.
        estimate: how means of a group are estimated.

    Returns:
        Columns of ``contracts.results.Comparisons``, without eval_type, conditions and p_holm,
        and with std_error, n_versions, enough_versions and both means' intervals; pairs
        without a common unit have no row.
    """
    pairs = list(combinations(range(len(models)), 2))
    first, second = paired(values, pairs)
    is_known = ~np.isnan(first)
    tables = []
    for group in groups:
        a, b, both = first[:, group.units], second[:, group.units], is_known[:, group.units]
        estimates = estimate(a - b, group, True)
        sides = [estimate(np.where(both, side, np.nan), group, False) for side in (a, b)]
        columns = {
            "model_a": [models[pair[0]] for pair in pairs],
            "model_b": [models[pair[1]] for pair in pairs],
            "grouping": group.grouping,
            "group": group.name,
            "mean_a": np.clip(sides[0].mean, -1, 1),  # sums of rounded weights
            "mean_b": np.clip(sides[1].mean, -1, 1),
            "difference": np.clip(estimates.mean, -1, 1),
            "ci_low": np.clip(estimates.ci_low, -1, 1),
            "ci_high": np.clip(estimates.ci_high, -1, 1),
            "interval_over": [
                over_in_words(group.interval_over, is_over) for is_over in estimates.over_versions
            ],
            "p": estimates.p,
            "test": estimates.test,
            "detectable": estimates.detectable,
            "enough_versions": estimates.enough_versions,
            "std_error": estimates.std_error,
            "status": estimates.status,
            "n": both.sum(axis=1),
            "n_clusters": estimates.n_clusters,
            "n_versions": estimates.n_versions,
            "n_a_better": (both & (a > b)).sum(axis=1),
            "n_b_better": (both & (a < b)).sum(axis=1),
        }
        for name, side in zip("ab", sides, strict=True):
            columns |= {
                f"{end}_{name}": getattr(side, end) for end in ("ci_low", "ci_high", "std_error")
            }
        tables.append(pd.DataFrame(columns))
    table = pd.concat(tables, ignore_index=True)
    return table[table["n"] > 0].reset_index(drop=True)


def paired(values: np.ndarray, pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of pairs of models, over the parts that both have: what one of them lacks may be
    the harder part.

    Args:
        values: as for ``compare_pairs``.
        pairs: places of two models each.

    Returns:
        Shapes (pairs, units); missing in both where they have nothing in common.
    """
    sides = np.array(pairs).T
    parts = values if values.ndim == 3 else values[..., None]
    n_known = np.zeros((len(pairs), values.shape[1]), int)
    sums = np.zeros((2, *n_known.shape))
    for part in np.moveaxis(parts, 2, 0):
        first, second = part[sides[0]], part[sides[1]]
        is_known = ~np.isnan(first + second)
        n_known += is_known
        sums += np.where(is_known, [first, second], 0)
    with np.errstate(invalid="ignore"):
        first, second = sums / n_known
    return first, second


def corrected(
    table: pd.DataFrame, together: Sequence[str], rules: Collection[str] = ()
) -> pd.DataFrame:
    """The table with p_holm, Holm's correction for the number of tests that are read together.

    Args:
        table: comparisons with p.
        together: columns; rows that agree in them are read together.
        rules: what stands beside the models; pairs with one or two of them are corrected apart, and
            cost those of models nothing.
    """
    n_rules = table["model_a"].isin(rules).astype(int) + table["model_b"].isin(rules)
    family = [*(table[column] for column in together), n_rules]
    return table.assign(
        p_holm=table.groupby(family, sort=False)["p"].transform(correct_for_number).astype(float)
    )


def compare_scores(
    scores: pd.DataFrame, groupings: Sequence[str] = (), metric: str = "accuracy"
) -> pd.DataFrame:
    """Every pair of models of any benchmark that were asked in the same way about the same, overall
    and by group.

    Args:
        scores: ``contracts.results.Scores``.
        groupings: further columns of them.
        metric: which scores are compared.

    Returns:
        ``contracts.results.Comparisons``; corrected over the rows of one way of asking, condition
        and grouping.

    Raises:
        UserError: there are scores of one model only, or no two models can be compared
            (TooLittleError).
    """
    wanted = scores[scores["metric"] == metric]
    refuse_one(wanted["model"], f"scores ({metric})")

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        return crossed_means(values, group.cluster, tested=tested)

    tables = []
    for (eval_type, condition), rows in wanted.groupby(
        ["eval_type", "condition"], observed=True, sort=True
    ):
        scored, groups = arrange(rows, groupings)
        if len(scored.series) > 1:
            comparisons = compare_pairs(
                scored.series["model"].tolist(), scored.values[0], groups, estimate
            )
            tables.append(
                comparisons.assign(
                    eval_type=str(eval_type), condition_a=str(condition), condition_b=str(condition)
                )
            )
    if not any(len(table) for table in tables):
        raise TooLittleError(
            "scores",
            f"no two models were asked in the same way about the same ({metric}).",
            "Compare models on the same items.",
        )
    table = corrected(
        pd.concat(tables, ignore_index=True), ["eval_type", "condition_a", "grouping"]
    )
    return with_findings(table)[list(Comparisons.columns)]


def refuse_one(models: Iterable[str], where: str, what: str = "answers") -> None:
    """Refuse to compare a model with itself.

    Args:
        models: names, each any number of times.
        where: what has them, for the message.
        what: they are to have.

    Raises:
        UserError: there are fewer than two.
    """
    if len(set(models)) < 2:
        raise UserError(
            where, f"fewer than two models have {what}.", "Give the tables of two models."
        )


def place_of_side(table: pd.DataFrame, side: str, **counts: Any) -> pd.Series:
    """Where a side's mean lies by its own interval, as where the model is alone.

    Args:
        table: of ``compare_pairs``.
        side: ``a`` or ``b``.
        counts: further columns for ``above_or_below``.
    """
    ends = {end: table[f"{end}_{side}"] for end in ("mean", "ci_low", "ci_high", "std_error")}
    rows = pd.DataFrame(ends).assign(n_clusters=table["n_clusters"], **counts)
    return above_or_below(rows, n_intervals=1)


def with_findings(table: pd.DataFrame) -> pd.DataFrame:
    """The table of pairs of models with what may be said of each (``describe_finding``)."""
    findings = [
        describe_finding(row, f"{row['model_a']} is better", f"{row['model_b']} is better")
        for row in table.to_dict("records")
    ]
    return table.assign(finding=pd.Series(findings, table.index, dtype=object))


#: Where a mean lies with respect to a reference, such as chance, as far as its interval tells.
ABOVE, BELOW, OPEN = "above", "below", "open"
#: So many means are judged by their own 95% intervals: each is wrongly above a reference in 2.5% of
#: studies, and one of two in 5% at the most. More are corrected for their number.
UNCORRECTED = 2
#: degrees of freedom from which on Student's quantiles are taken for normal ones.
_NORMAL = 1e6
#: ... and why that is not said: nothing tells how the mean varies; rounding decides which of most
#: targets is right.
NO_INTERVAL, NEAR_TIES = "no interval", "near ties"


def at_once(rows: pd.DataFrame, n_intervals: int | None = None) -> pd.DataFrame:
    """The ends of intervals that hold for all rows at once, so that some of them may be named
    (Bonferroni); of one or two means their own 95% intervals (``UNCORRECTED``).

    Each end is moved away from the mean by the ratio of Student's quantiles; their degrees of
    freedom are those that the width of the interval tells, and fewer than the clusters.

    Args:
        rows: mean, ci_low and ci_high (95%); n_clusters and std_error where they are known.
        n_intervals: how many were looked at; None: as many as there are.
    """
    number = n_intervals or rows["ci_low"].notna().sum()
    number = 1 if number <= UNCORRECTED else number
    df = np.full(len(rows), np.inf)
    if "n_clusters" in rows:
        df = (rows["n_clusters"] - 1).clip(lower=1).to_numpy(float)
    if "std_error" in rows:
        with np.errstate(divide="ignore", invalid="ignore"):
            quantile = ((rows["ci_high"] - rows["ci_low"]) / 2 / rows["std_error"]).to_numpy(float)
        implied_df = stdtridf((1 + LEVEL) / 2, np.where(quantile > Z95, quantile, np.nan))
        df = np.fmax(np.fmin(df, implied_df), 1)
    df = np.minimum(df, _NORMAL)
    wider = stdtrit(df, 1 - (1 - LEVEL) / 2 / number) / stdtrit(df, (1 + LEVEL) / 2)
    return rows[["ci_low", "ci_high"]].apply(
        lambda end: rows["mean"] + (end - rows["mean"]) * wider
    )


def above_or_below(
    rows: pd.DataFrame, reference: float = 0.5, n_intervals: int | None = None
) -> pd.Series:
    """Where each mean lies with respect to a reference, by intervals that hold for all of them at
    once.

    Every count of what is above, below, right or wrong goes through here: a missing interval counts
    as neither.

    Args:
        rows: as for ``at_once``; n_ties and n_near_ties, targets of n items of two each, where ties
            are counted.
        reference: chance, or what else means are compared with.
        n_intervals: as for ``at_once``.

    >>> rows = pd.DataFrame(
    ...     {
    ...         "mean": [0.7, 0.5, 0.9],
    ...         "ci_low": [0.6, 0.4, None],
    ...         "ci_high": [0.8, 0.6, None],
    ...         "n_clusters": 30,
    ...     }
    ... )
    >>> above_or_below(rows).tolist()
    ['above', 'open', 'no interval']
    """
    ends = at_once(rows, n_intervals)
    low, high = ends["ci_low"], ends["ci_high"]
    cases = {ABOVE: low > reference, BELOW: high < reference, OPEN: low.notna()}
    standing = pd.Series(np.select(list(cases.values()), list(cases), NO_INTERVAL), rows.index)
    if "n_near_ties" in rows:
        standing[rows["n_ties"] + rows["n_near_ties"] > rows["n"]] = NEAR_TIES
    return standing


#: status of a comparison that is not ok -> what is said of it.
NOT_TESTED = {
    "one_version": "about these fillings only, as there is one version",
    "one_cluster": "not tested, as all items are of one cluster",
    "no_spread": "not tested, as the difference is the same everywhere",
}


def describe_finding(row: Mapping[Any, Any], if_positive: str, if_negative: str) -> str:
    """The finding of one comparison, in words.

    Args:
        row: of the table; place_a and place_b, where each mean lies with respect to chance (by
            ``above_or_below``), where chance is known; taught_a and taught_b, what a control has
            read.
        if_positive: what a difference above 0 means.
        if_negative: what one below 0 means.
    """
    if row["status"] != "ok":
        return NOT_TESTED[row["status"]]
    if not row["p"] < 0.05:
        return "no difference shown"
    standings = (row.get("place_a", ABOVE), row.get("place_b", ABOVE))
    if NEAR_TIES in standings:
        return "a difference, but most targets are near ties, where rounding decides"
    if ABOVE not in standings and NO_INTERVAL in standings:
        return "a difference; an accuracy has no interval, so it is not compared with chance"
    if ABOVE not in standings:
        return "a difference, but neither is shown to be above chance (50%)"
    better, column = (
        (if_positive, "taught_a") if row["difference"] > 0 else (if_negative, "taught_b")
    )
    taught = [str(row[f"model_{side}"]) for side in "ab" if row.get(f"taught_{side}")]
    if taught:
        better += " on these items only:" if row.get(column) else ", although"
        better += f" {', '.join(taught)} learned from part of the templates"
    return better if row["p_holm"] < 0.05 else f"{better}, but not after Holm's correction"


#: two-sided 95% quantile of the normal distribution.
Z95 = 1.959963984540054


def stars(p: float) -> str:
    """Stars of a p value (EWoK, Appendix B.2).

    >>> stars(0.03), stars(0.009), stars(0.0001), stars(0.2), stars(float("nan"))
    ('*', '**', '***', '', '')
    """
    if math.isnan(p):
        return ""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def correct_for_number(p: pd.Series) -> pd.Series:
    """Holm's step-down correction of p values that are read together; never above 1, missing where
    p is.

    statsmodels' function of the same numbers takes a second to import, and collects garbage at
    every call.

    >>> correct_for_number(pd.Series([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    values = p.to_numpy(float)
    n_tests = int((~np.isnan(values)).sum())
    order = np.argsort(values)[:n_tests]  # what is missing comes last
    corrected = np.full(len(values), np.nan)
    corrected[order] = np.minimum(
        np.maximum.accumulate(values[order] * np.arange(n_tests, 0, -1)), 1
    )
    return pd.Series(corrected, index=p.index)


def coefficient_table(
    fit: str,
    terms: pd.DataFrame,
    estimates: np.ndarray,
    std_errors: np.ndarray,
    df: np.ndarray | None = None,
) -> pd.DataFrame:
    """Rows of contracts.Coefficients by Wald's test.

    Args:
        fit: mixed_model or fixed_effects.
        terms: Design.terms; those that are not fitted, or separated, stay in the table, empty.
        estimates: log odds of the fitted terms, in order.
        std_errors: theirs; missing where the fit does not tell them.
        df: degrees of freedom of the tests; missing, or None: the test is the normal one.
    """
    table = terms[["group", "term", "label"]].copy()
    table.insert(0, "fit", fit)
    table.insert(1, "position", np.arange(len(table)))
    table["estimate"] = np.nan
    table["std_error"] = np.nan
    table.loc[terms["is_fitted"].to_numpy(), "estimate"] = estimates
    table.loc[terms["is_fitted"].to_numpy(), "std_error"] = std_errors
    table.loc[terms["is_separated"].to_numpy(), ["estimate", "std_error"]] = np.nan
    table["z"] = table["estimate"] / table["std_error"]
    table["df"] = np.nan
    if df is not None:
        table.loc[terms["is_fitted"].to_numpy(), "df"] = df
    of_test = table["df"].fillna(np.inf)
    table["p"] = np.where(
        np.isinf(of_test), 2 * ndtr(-np.abs(table["z"])), 2 * stdtr(of_test, -np.abs(table["z"]))
    )
    quantile = np.where(np.isinf(of_test), Z95, stdtrit(of_test, ndtr(Z95)))
    table["stars"] = [stars(p) for p in table["p"]]
    table["detectable"] = detectable_by_t(table["std_error"].to_numpy(), of_test.to_numpy())
    table["ci_low"] = table["estimate"] - quantile * table["std_error"]
    table["ci_high"] = table["estimate"] + quantile * table["std_error"]
    return table
