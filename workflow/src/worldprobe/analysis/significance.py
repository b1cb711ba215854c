"""p values as they are printed, corrected for their number; stars and normal intervals, as the papers print them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtr, stdtrit

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
    """Holm's step-down correction of p values that are read together; never above 1, missing where p is.

    statsmodels' function of the same numbers takes a second to import, and collects garbage at every call.

    >>> correct_for_number(pd.Series([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    values = p.to_numpy(float)
    n_tests = int((~np.isnan(values)).sum())
    order = np.argsort(values)[:n_tests]  # what is missing comes last
    corrected = np.full(len(values), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(n_tests, 0, -1)), 1)
    return pd.Series(corrected, index=p.index)


def p_in_words(p: float) -> str:
    """A p value as it is written in a sentence.

    >>> p_in_words(1e-9), p_in_words(0.0004), p_in_words(0.0312), p_in_words(0.471)
    ('p < 0.0001', 'p = 0.0004', 'p = 0.031', 'p = 0.47')
    """
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.4f}" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def coefficient_table(
    fit: str, terms: pd.DataFrame, estimates: np.ndarray, std_errors: np.ndarray, df: np.ndarray | None = None
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
    table["p"] = np.where(np.isinf(of_test), 2 * ndtr(-np.abs(table["z"])), 2 * stdtr(of_test, -np.abs(table["z"])))
    quantile = np.where(np.isinf(of_test), Z95, stdtrit(of_test, ndtr(Z95)))
    table["stars"] = [stars(p) for p in table["p"]]
    table["ci_low"] = table["estimate"] - quantile * table["std_error"]
    table["ci_high"] = table["estimate"] + quantile * table["std_error"]
    return table
