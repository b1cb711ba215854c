"""The mixed-effects logistic regression of the paper (Appendix A.5), by R's lme4 through rpy2."""

from __future__ import annotations

import importlib.util
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.analysis.significance import coefficient_table
from worldprobe.benchmarks.ewok.analysis.design import Design
from worldprobe.errors import UserError

#: a random intercept of this size or less is a singular fit (lme4::isSingular).
SINGULAR = 1e-4
WAYS_OUT = (
    'Three ways out: (1) with root, `sudo apt install r-base-core r-cran-lme4`, then `pip install "worldprobe[r]"`; '
    "(2) without root, `snakemake --sdm conda`, which uses the files in envs/; "
    "(3) set `mixed_model.enabled: false` in the configuration: all else still runs, the statsmodels cross-check too."
)


def fit_mixed_model(design: Design, method: str = "whitened") -> tuple[pd.DataFrame, dict[str, Any]]:
    """Fit fixed effects with random intercepts of model and item by the Laplace approximation (glmer's nAGQ = 1).

    Args:
        design: the shared regression.
        method: ``whitened`` searches lme4's deviance in standard errors (minutes), ``plain`` calls glmer as the paper did; the
            same maximum, to 1e-3 in every coefficient.

    Returns:
        contracts.Coefficients (without standard errors where the curvature is not that of a maximum, and without estimates where
        R stopped) and details for the provenance: variances, counts, log likelihood, lme4's messages verbatim
        and ``notes``, which say in plain words what they mean.

    Raises:
        UserError: R, rpy2 or lme4 is not there.
    """
    robjects = start_r()
    with open(Path(__file__).with_suffix(".R"), encoding="utf-8") as source:
        robjects.r(source.read())
    rows, terms = design.matrix.shape
    matrix = robjects.r["matrix"](robjects.FloatVector(design.matrix.ravel(order="F")), nrow=rows, ncol=terms)
    matrix.colnames = robjects.StrVector([f"x{i}" for i in range(terms)])
    fitted = robjects.globalenv["worldprobe_fit"](
        robjects.FloatVector(design.response),
        matrix,
        robjects.IntVector(design.model),
        robjects.IntVector(design.item),
        method,
    )
    found = {name: np.asarray(fitted.rx2(name)) for name in fitted.names}
    random_sd = {str(g): float(t) for g, t in zip(found["groups"], found["theta"], strict=True)}
    messages = [str(m).strip() for m in found["messages"]]
    is_singular = any(sd < SINGULAR for sd in random_sd.values())
    gradient, deviance = float(found["gradient"][0]), float(found["deviance"][0])
    if not np.isfinite(found["std_error"]).all():  # the curvature is of all terms, so none has a standard error
        found["std_error"] = np.full(terms, np.nan)
    notes = [*design.notes, *_explain(design, random_sd, messages, gradient)]
    details = design.details | {
        "formula": design.details["formula"] + (" + (1|Model)" if "model" in random_sd else "") + " + (1|Item)",
        "method": method,
        "random_sd": {name: round(sd, 6) for name, sd in random_sd.items()},
        "log_likelihood": round(-deviance / 2, 4) if np.isfinite(deviance) else None,
        "aic": round(deviance + 2 * (terms + len(random_sd)), 4) if np.isfinite(deviance) else None,
        "n_evaluations": int(found["evaluations"][0]),
        "is_singular": is_singular,
        "is_converged": not any("converge" in m or "unidentifiable" in m for m in messages),
        "messages": messages,
        "notes": notes,
        "r_versions": {name: _version(robjects, name) for name in ("lme4", "minqa", "Matrix")}
        | {"R": _version(robjects, "base")},
    }
    return coefficient_table("mixed_model", design.terms, found["estimate"], found["std_error"]), details


def start_r() -> Any:
    """rpy2's robjects with lme4 available.

    Raises:
        UserError: R, rpy2 or lme4 is missing; names the three ways out.
    """
    if importlib.util.find_spec("rpy2") is None:
        raise UserError("mixed model", "the Python package rpy2 is not installed.", WAYS_OUT)
    if not os.environ.get("R_HOME") and shutil.which("R") is None:
        raise UserError("mixed model", "R is not on the PATH.", WAYS_OUT)
    libraries = os.environ.get("LD_LIBRARY_PATH")
    try:
        import rpy2.rinterface_lib.callbacks as callbacks
        from rpy2 import robjects
    except Exception as error:  # rpy2 fails in many ways where R is broken
        raise UserError("mixed model", f"rpy2 cannot start R ({type(error).__name__}: {error}).", WAYS_OUT) from error
    finally:  # rpy2 adds R's folders, in which programs started later from here would find another Python's library
        os.environ.pop("LD_LIBRARY_PATH", None)
        if libraries is not None:
            os.environ["LD_LIBRARY_PATH"] = libraries
    callbacks.consolewrite_warnerror = lambda text: None
    if not robjects.r('requireNamespace("lme4", quietly = TRUE) && requireNamespace("minqa", quietly = TRUE)')[0]:
        raise UserError("mixed model", "R is there, but its package lme4 is not.", WAYS_OUT)
    return robjects


def _version(robjects: Any, package: str) -> str:
    return str(robjects.r(f'as.character(packageVersion("{package}"))')[0])


def _explain(design: Design, random_sd: dict[str, float], messages: list[str], gradient: float) -> list[str]:
    """lme4's messages and the fit's limits in plain words."""
    notes = []
    n_models = len(design.models)
    if n_models == 1:
        notes.append("There is one model, so the variance between models is left out.")
    elif n_models < 6:
        notes.append(f"There are {n_models} models: the variance between models is poorly known.")
    for name, sd in random_sd.items():
        if sd < SINGULAR:
            notes.append(
                f"Singular fit: the variance between {name}s is estimated as zero. The coefficients are valid, "
                f"but they say nothing about differences between {name}s."
            )
    for message in messages:
        if "failed to converge" in message:
            notes.append(
                f"lme4 doubts that the fit converged ({message}). "
                + ("" if np.isnan(gradient) else f"The estimates may still move by about {gradient:.1g} standard errors.")
            )
        elif "unidentifiable" in message or "curvature" in message:
            notes.append(f"Some coefficients are poorly identified ({message}); read their standard errors first.")
        elif "singular" not in message:
            notes.append(f"R says: {message}")
    return notes


#: items that a coefficient must rest on: the scores of fewer nearly cancel in each, and so would its standard error.
FEWEST_ITEMS = 20


def fit_fixed_effects(design: Design) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Logistic regression with standard errors that allow for the dependence of rows of one item.

    The coefficients are population averages, so they are nearer to zero than the mixed model's, which hold for one item and one
    model; signs and stars are what can be compared.

    Args:
        design: the shared regression.

    Returns:
        contracts.Coefficients and details for the provenance.
    """
    import statsmodels.api as sm

    notes = list(design.notes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = sm.GLM(design.response, design.matrix, family=sm.families.Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": design.item}, maxiter=100
        )
    std_error = fitted.bse
    if not fitted.converged:
        notes.append(
            "The fit did not converge after 100 steps, so there are no standard errors; the coefficients are not to be used."
        )
        std_error = np.full(len(std_error), np.nan)
    n_items = _items_behind(design, np.asarray(fitted.fittedvalues))
    if (is_few := n_items < FEWEST_ITEMS).any():
        std_error = np.where(is_few, np.nan, std_error)
        labels = ", ".join(design.terms["label"][design.terms["is_fitted"]].to_numpy()[is_few])
        notes.append(
            f"No standard error for {labels}: fewer than {FEWEST_ITEMS} items decide, which say nothing of how items vary."
        )
    details = design.details | {
        "clusters": "item",
        "log_likelihood": round(float(fitted.llf), 6),
        "is_converged": bool(fitted.converged),
        "messages": sorted({str(w.message) for w in caught}),
        "notes": notes,
    }
    return coefficient_table("fixed_effects", design.terms, fitted.params, std_error), details


def _items_behind(design: Design, fitted: np.ndarray) -> np.ndarray:
    """How many equally weighty items each coefficient rests on (Carter, Schnepel & Steigerwald 2017), shape (terms,).

    Args:
        design: the regression.
        fitted: probability of each row.
    """
    weight = fitted * (1 - fitted)
    covariance = np.linalg.pinv(design.matrix.T @ (design.matrix * weight[:, None]))
    parts = weight[:, None] * (design.matrix @ covariance) ** 2 / np.diag(covariance)  # of a coefficient's information
    return np.array([1 / (np.bincount(design.item, part) ** 2).sum() for part in parts.T])
