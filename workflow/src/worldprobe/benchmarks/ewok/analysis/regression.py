"""Logistic regressions on accuracy (EWoK, Appendix A.5): the rows both fits share, the mixed model
by R, and one without R.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from worldprobe.analysis.comparisons import coefficient_table
from worldprobe.benchmarks.ewok.analysis.panel import cluster_codes
from worldprobe.benchmarks.ewok.vocabulary import (
    BASELINE_FEATURES,
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    SURFACE_FEATURES,
    TARGET_CONTRASTS,
    contrast_group,
)
from worldprobe.errors import TooLittleError, UserError, did_you_mean

#: a part of a direction, or a step along it, that is smaller is a rounding error.
SEPARATED = 1e-6
#: what columns leave of another one's length, squared, where they determine it.
DEPENDENT = 1e-9
#: rows that a search for such directions looks at, at a time.
BLOCK = 1000
#: columns of contracts.Judgements that the regression needs.
COLUMNS = (
    "item_id",
    "target",
    "model",
    "eval_type",
    "accuracy",
    "status",
    "domain",
    "context_contrast",
    "context_type",
    "target_contrast",
    "meta_template",
    "template",
    "concept_a",
    "concept_b",
    "version",
)
#: group of terms -> its name in the formula; surface features are named one by one.
FACTORS = {
    "domain": "Domain",
    "context_contrast": "ContextContrast",
    "target_contrast": "TargetContrast",
    "context_type": "ContextType",
}
FEATURES = {
    "log_frequency": "Frequency",
    "n_words": "NumWords",
    "word2vec": "Word2vec",
    "wordnet": "WordNet",
    "sentence_vectors": "SentenceVectors",
}


@dataclass
class Design:
    """A regression's rows.

    Attributes:
        matrix: shape (rows, terms), the terms that are fitted.
        terms: columns group, term, label, is_fitted and is_separated, one row per term in printing
            order; a term that is fitted and not separated has an estimate.
        response: 0 or 1 per row.
        model: code per row into ``models``.
        models: their names.
        item: code per row into ``items``.
        items: their ids.
        factors: name in a formula -> code per row, of what else may have effects of its own.
        notes: sentences a reader of the table must see.
        details: counts and choices for the provenance.
    """

    matrix: np.ndarray
    terms: pd.DataFrame
    response: np.ndarray
    model: np.ndarray
    models: list[str]
    item: np.ndarray
    items: list[str]
    factors: dict[str, np.ndarray]
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


def build_design(
    judgements: pd.DataFrame,
    surface: pd.DataFrame,
    eval_type: str = "logprobs",
    ties: str = "wrong",
    target_coding: str = "deviation",
) -> Design:
    """Code judgements for logistic regression, one row per model and target sentence.

    Domains have one mean each (no intercept). Context contrast and context type are deviation
    coded: a level's coefficient is its distance from the mean of the levels, the last level (other;
    indirect) is minus the sum of the rest. Target contrast is variable swap = +1, concept swap = -1
    (or 1 and 0 in treatment coding). Surface features are z scores over all rows.

    Args:
        judgements: contracts.Judgements, of any models; rows of other eval types are left out, but
            those of baselines become features: whether a baseline is right about the target.
        surface: contracts.SurfaceFeatures.
        eval_type: the paradigm to explain.
        ties: an exact tie is ``wrong``, as in the paper's model (its means count it as a half), or
            left out (``drop``).
        target_coding: ``deviation`` as in the paper, or ``treatment`` as in the released analysis
            (baseline: concept swap).

    Returns:
        The design; levels and features that do not vary, and terms that others determine, are left
        out with a note. So are rows that a combination of terms predicts without error (separation;
        Albert & Anderson 1984): the terms in it grow without limit, and what the rest say of the
        other terms is the same without these rows.

    Raises:
        TooLittleError: nothing is left to explain.
        UserError: nothing was asked in this way.
    """
    rows = judgements[judgements["eval_type"] == eval_type]
    if rows.empty:
        eval_types = sorted(judgements["eval_type"].unique())
        raise UserError(
            "judgements",
            f"there are none by {eval_type}{did_you_mean(eval_type, eval_types)}",
            f"Judge a model by it, or choose one of: {', '.join(eval_types)}.",
        )
    details: dict[str, Any] = {"eval_type": eval_type, "ties": ties, "target_coding": target_coding}
    notes: list[str] = []
    rows = _drop(rows, rows["accuracy"].isna(), "have no score", notes, details, "n_missing")
    is_tie = rows["accuracy"] == 0.5
    details["n_ties"] = int(is_tie.sum())
    if ties == "drop":
        rows = _drop(rows, is_tie, "are exact ties", notes, details, "n_ties")
        if rows.empty:
            raise TooLittleError(
                "judgements",
                "every accuracy is an exact tie, and ties are left out.",
                "Use --ties wrong.",
            )
    elif is_tie.any():
        notes.append(
            f"{is_tie.sum():,} of {len(rows):,} rows are exact ties and count as wrong here, as in"
            " the paper."
        )
    rows = rows.merge(surface, on=["item_id", "target"], how="left", validate="many_to_one")
    features = SURFACE_FEATURES | {
        name: text
        for name, text in BASELINE_FEATURES.items()
        if (judgements["eval_type"] == name).any()
    }
    for name in features.keys() - SURFACE_FEATURES.keys():
        right = judgements.loc[
            judgements["eval_type"] == name, ["item_id", "target", "accuracy"]
        ].rename(columns={"accuracy": name})
        # Where a baseline knows nothing of a text, it guesses.
        rows = rows.merge(
            right.fillna({name: 0.5}), on=["item_id", "target"], how="left", validate="many_to_one"
        )
    absent = rows[list(features)].isna()
    present = [name for name in features if not absent[name].all()]
    rows = _drop(
        rows,
        absent[present].any(axis=1),
        "have no surface features",
        notes,
        details,
        "n_without_features",
    )
    if rows.empty:
        raise TooLittleError(
            "judgements",
            "no row has both an accuracy and surface features.",
            "Give the features of the same items.",
        )
    columns, terms = _code(rows, features, target_coding, notes)
    matrix = np.column_stack(columns)
    response = (rows["accuracy"] == 1).to_numpy(float)
    if response.min() == response.max():
        raise TooLittleError(
            "judgements",
            "every answer is the same, so there is nothing to explain.",
            "Give more models or items.",
        )
    kept = _independent(matrix)
    for index in np.flatnonzero(~kept):
        notes.append(f"{terms[index][2]} is left out: the other terms determine it in these items.")
    separated = np.zeros(len(terms), bool)
    is_used, separated[kept] = find_separation(matrix[:, kept], response)
    details["separated"] = [terms[index][2] for index in np.flatnonzero(separated)]
    if not is_used.all():
        rows, matrix, response = rows[is_used], matrix[is_used], response[is_used]
        if not len(rows) or response.min() == response.max():
            problem = (
                "the terms tell right from wrong answers without any error, so no coefficient can"
                " be estimated."
            )
            raise TooLittleError("judgements", problem, "Give more models or items.")
        kept &= _independent(matrix)
        n_lost = int((~is_used).sum())
        notes.append(
            f"No estimate for {', '.join(details['separated'])}: in {n_lost:,} rows these terms"
            " tell right from wrong answers without any error (everything is right in a domain,"
            " say), so their coefficients grow without limit. The other terms are estimated from"
            " the rest."
        )
    model, models = pd.factorize(rows["model"].astype(str), sort=True)
    item, items = pd.factorize(rows["item_id"].astype(str), sort=True)
    details |= {
        "n_rows": len(rows),
        "n_models": len(models),
        "n_items": len(items),
        "models": list(models),
    }
    frame = pd.DataFrame(terms, columns=["group", "term", "label"]).assign(
        is_fitted=kept, is_separated=separated
    )
    details["formula"] = formula_of(frame)
    factors = {
        name: cluster_codes(rows, unit)
        for name, unit in (("Template", "template"), ("ConceptPair", "concept_pair"))
    }
    contrast = rows["context_contrast"].map(
        lambda value: contrast_group(value if isinstance(value, str) else None)
    )
    levels = {"Version": rows["version"], "Domain": rows["domain"], "ContextContrast": contrast}
    levels |= {"TargetContrast": rows["target_contrast"], "ContextType": rows["context_type"]}
    factors |= {name: pd.factorize(column)[0] for name, column in levels.items()}
    return Design(
        matrix[:, kept],
        frame,
        response,
        model,
        list(models),
        item,
        list(items),
        factors,
        notes,
        details,
    )


def find_separation(matrix: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows on which the likelihood has a maximum, and terms without one (Konis 2007: a linear
    program finds the direction).

    Args:
        matrix: shape (rows, terms), independent terms.
        response: 0 or 1 per row.

    Returns:
        Whether each row is used, and whether each term is separated: the rows that are used do not
        determine its coefficient.
    """
    is_used = np.ones(len(matrix), bool)
    signed = matrix * (2 * response - 1)[:, None]
    while True:
        is_lost = is_used & (signed @ _separating(signed[is_used]) > SEPARATED)
        is_used &= ~is_lost
        if not is_lost.any() or not is_used.any():
            return is_used, (
                np.zeros(matrix.shape[1], bool) if is_used.all() else _undetermined(matrix[is_used])
            )


def _separating(rows: np.ndarray) -> np.ndarray:
    """The direction along which no row loses and all together win most; zero where none wins.

    Few rows are enough to show that there is none; those that lose along what they leave join them.

    Args:
        rows: terms of right answers, and minus those of wrong ones, shape (rows, terms).
    """
    chosen = np.unique(np.linspace(0, len(rows) - 1, BLOCK).astype(int))
    while True:
        solution = linprog(
            -rows.sum(axis=0),
            A_ub=-rows[chosen],
            b_ub=np.zeros(len(chosen)),
            bounds=(-1, 1),
            method="highs",
        )
        if -solution.fun < SEPARATED:
            return np.zeros(rows.shape[1])
        steps = rows @ solution.x
        if steps.min() > -SEPARATED:
            return np.asarray(solution.x)
        chosen = np.union1d(chosen, np.argsort(steps, kind="stable")[:BLOCK])


def formula_of(terms: pd.DataFrame) -> str:
    """The formula that is fitted: the factors and features of which at least one term is fitted.

    Args:
        terms: Design.terms.

    >>> rows = [
    ...     ("domain", "d", True),
    ...     ("target_contrast", "variable swap", False),
    ...     ("surface_features", "n_words", True),
    ... ]
    >>> formula_of(pd.DataFrame(rows, columns=["group", "term", "is_fitted"]))
    'Accuracy ~ 0 + Domain + NumWords'
    """
    fitted = terms[terms["is_fitted"]]
    names = [
        FACTORS.get(group) or FEATURES[term]
        for group, term in zip(fitted["group"], fitted["term"], strict=True)
    ]
    return " + ".join(["Accuracy ~ 0", *dict.fromkeys(names)])


def _drop(
    rows: pd.DataFrame,
    unwanted: pd.Series,
    why: str,
    notes: list[str],
    details: dict[str, Any],
    name: str,
) -> pd.DataFrame:
    count = int(unwanted.sum())
    details[name] = count
    if count:
        notes.append(f"{count:,} of {len(rows):,} rows {why} and are left out.")
    return rows[~unwanted]


def _code(
    rows: pd.DataFrame, features: Mapping[str, str], target_coding: str, notes: list[str]
) -> tuple[list[np.ndarray], list[tuple[str, str, str]]]:
    """Columns and their (group, term, label)."""
    columns: list[np.ndarray] = []
    terms: list[tuple[str, str, str]] = []

    def add(column: np.ndarray, group: str, term: str, label: str) -> None:
        columns.append(column.astype(float))
        terms.append((group, term, label))

    domain = rows["domain"].astype(str).to_numpy()
    for name in np.unique(domain):
        add(domain == name, "domain", name, name.replace("-", " "))
    contrast = np.array(
        [contrast_group(c if isinstance(c, str) else None) for c in rows["context_contrast"]]
    )
    for name, column in _deviations(contrast, CONTEXT_CONTRASTS, "context contrast", notes):
        add(column, "context_contrast", name, f"{name} vs. rest")
    target = rows["target_contrast"].astype(str).to_numpy()
    if _varies(target, TARGET_CONTRASTS, "target contrast", notes):
        low = -1.0 if target_coding == "deviation" else 0.0
        add(
            np.where(target == "variable swap", 1.0, low),
            "target_contrast",
            "variable swap",
            "variable vs. concept swap",
        )
    kind = rows["context_type"].astype(str).to_numpy()
    for name, column in _deviations(kind, CONTEXT_TYPES, "context type", notes):
        add(column, "context_type", name, f"{name} vs. indirect")
    for name, label in features.items():
        values = rows[name].to_numpy(float)
        if np.isnan(values).all():
            notes.append(f"{label} is left out: it is not known for these items.")
        elif np.ptp(values) == 0:
            notes.append(f"{label} is left out: it is the same in all rows.")
        else:
            add((values - values.mean()) / values.std(ddof=1), "surface_features", name, label)
    return columns, terms


def _varies(values: np.ndarray, levels: tuple[str, ...], factor: str, notes: list[str]) -> bool:
    present = [level for level in levels if (values == level).any()]
    if len(present) == 1:
        notes.append(f"{factor} is left out: all items are {present[0]}.")
    elif len(present) < len(levels):
        absent = ", ".join(level for level in levels if level not in present)
        notes.append(f"{factor} has no {absent} in these items; the rest is coded without it.")
    return len(present) > 1


def _deviations(
    values: np.ndarray, levels: tuple[str, ...], factor: str, notes: list[str]
) -> list[tuple[str, np.ndarray]]:
    """Sum-to-zero columns of the levels that occur; the last of them is minus the sum of the
    others.
    """
    if not _varies(values, levels, factor, notes):
        return []
    present = [level for level in levels if (values == level).any()]
    last = values == present[-1]
    return [(level, (values == level).astype(float) - last) for level in present[:-1]]


def _correlations(matrix: np.ndarray) -> np.ndarray:
    """Products of the columns, each of length one: as small as the terms are many, and it shows
    dependence without the rows.
    """
    gram = matrix.T @ matrix
    scale = np.where(
        np.diag(gram) > 0, np.sqrt(np.diag(gram)), 1
    )  # a column of zeros is not independent
    return np.asarray(gram / np.outer(scale, scale))


def _undetermined(matrix: np.ndarray) -> np.ndarray:
    """Mask of columns whose coefficients can change while all fitted values stay as they are."""
    values, vectors = np.linalg.eigh(_correlations(matrix))
    return np.asarray(np.abs(vectors[:, values < DEPENDENT]).max(axis=1, initial=0) > SEPARATED)


def _independent(matrix: np.ndarray) -> np.ndarray:
    """Mask of the columns that raise the rank, from left to right."""
    kept = np.zeros(matrix.shape[1], bool)
    gram = _correlations(matrix)
    for index in range(matrix.shape[1]):
        chosen = np.flatnonzero(kept)
        rest = gram[index, index]
        if len(chosen):
            weights = np.linalg.lstsq(
                gram[np.ix_(chosen, chosen)], gram[chosen, index], rcond=None
            )[0]
            rest -= gram[index, chosen] @ weights
        kept[index] = rest > DEPENDENT
    return kept


#: a random intercept of this size or less is a singular fit (lme4::isSingular).
SINGULAR = 1e-4
#: Loads what is called; the reason why not, or "".
LOAD = r"""tryCatch({
    lapply(c("lme4", "minqa"), function(name) suppressMessages(loadNamespace(name)))
    ""
}, error = function(error) gsub("\\s+", " ", conditionMessage(error)))"""
WAYS_OUT = (
    "Three ways out: (1) with root, `sudo apt install r-base-core r-cran-lme4`, then `pip install"
    ' "worldprobe[r]"`; (2) without root, `snakemake --sdm conda`, which uses the files in envs/;'
    " (3) set `mixed_model.enabled: false` in the configuration: all else still runs, the"
    " statsmodels cross-check too."
)


def random_effects(design: Design, structure: str) -> dict[str, tuple[str, np.ndarray]]:
    """The random effects of a regression.

    A model's slope of a factor is one effect per model and level, with one variance (compound
    symmetry): with some twenty models no more can be known of the slopes' covariance, and without
    correlations tests hold their level (Barr et al. 2013).

    Args:
        design: the shared regression.
        structure: ``intercepts`` of items and models, as in the paper; ``maximal``: of templates,
            pairs of concepts and versions too, and each model's slopes of all fixed effects (Barr
            et al. 2013).

    Returns:
        Effect in a formula, such as (1|Model:Domain) -> column of the matrix that it multiplies
        ("1": none), and codes of the rows. What does not vary, or divides the rows as an earlier
        effect does, is left out.
    """
    wanted = {"(1|Item)": ("1", design.item), "(1|Model)": ("1", design.model)}
    if structure == "maximal":
        for name in ("Template", "ConceptPair", "Version"):
            wanted[f"(1|{name})"] = ("1", design.factors[name])
        for name in ("Domain", "ContextContrast", "TargetContrast", "ContextType"):
            codes = design.factors[name]
            wanted[f"(1|Model:{name})"] = ("1", design.model * (codes.max() + 1) + codes)
        fitted = design.terms[design.terms["is_fitted"]].reset_index(drop=True)
        for column, term in fitted.loc[fitted["group"] == "surface_features", "term"].items():
            wanted[f"(0+{FEATURES.get(term, term)}|Model)"] = (f"x{column}", design.model)
    chosen: dict[str, tuple[str, np.ndarray]] = {}
    for name, (column, codes) in wanted.items():
        earlier = [other for other_column, other in chosen.values() if other_column == column]
        is_possible = len(np.unique(codes)) > 1 and ("Model" not in name or len(design.models) > 1)
        if is_possible and not any(_divide_alike(codes, other) for other in earlier):
            chosen[name] = (column, codes)
    return chosen


def _divide_alike(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two codes put the same rows together."""
    number = len(np.unique(first))
    both = first.astype(np.int64) * (int(second.max()) + 1) + second
    return number == len(np.unique(second)) == len(np.unique(both))


def fit_mixed_model(
    design: Design, method: str = "whitened", structure: str = "maximal"
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Fit fixed and random effects by the Laplace approximation (glmer's nAGQ = 1).

    Args:
        design: the shared regression.
        method: ``whitened`` searches lme4's deviance in standard errors (minutes), ``plain`` calls
            glmer as the paper did; the same maximum, to 1e-3 in every coefficient.
        structure: of the random effects. Of ``maximal``, effects without variance are dropped, and
            then, while the search does not converge, the one with the least variance; items and
            models stay. Its tests have degrees of freedom (Satterthwaite) where the method is
            ``whitened``.

    Returns:
        contracts.Coefficients (without standard errors where the curvature is not that of a
        maximum, and without estimates where R stopped) and details for the provenance: variances,
        counts, log likelihood, lme4's messages verbatim and ``notes``, which say in plain words
        what they mean.

    Raises:
        UserError: R, rpy2 or lme4 is not there.
    """
    robjects = start_r()
    with open(Path(__file__).with_suffix(".R"), encoding="utf-8") as source:
        robjects.r(source.read())
    rows, terms = design.matrix.shape
    matrix = robjects.r["matrix"](
        robjects.FloatVector(design.matrix.ravel(order="F")), nrow=rows, ncol=terms
    )
    matrix.colnames = robjects.StrVector([f"x{i}" for i in range(terms)])
    effects = random_effects(design, structure)
    groups, written = {}, {}
    for name, (column, codes) in effects.items():
        group = name.strip("()").split("|")[1].replace(":", "_").lower()
        groups[group] = robjects.IntVector(codes)
        written[f"({column} | {group})" if column == "1" else f"(0 + {column} | {group})"] = name
    fitted = robjects.globalenv["worldprobe_fit"](
        robjects.FloatVector(design.response),
        matrix,
        robjects.ListVector(groups),
        robjects.StrVector(list(written)),
        robjects.BoolVector(
            [structure == "maximal" and name not in ("(1|Item)", "(1|Model)") for name in effects]
        ),
        method,
    )
    results = {name: np.asarray(fitted.rx2(name)) for name in fitted.names}
    by_name = {_bare(term): name for term, name in written.items()}
    deviations = {
        by_name[_bare(group)]: float(t)
        for group, t in zip(results["groups"], results["theta"], strict=True)
    }
    dropped = [by_name[_bare(term)] for term in results.get("dropped", ())]
    random_sd = {name.strip("()").removeprefix("1|").lower(): sd for name, sd in deviations.items()}
    messages = [str(m).strip() for m in results["messages"]]
    is_singular = any(sd < SINGULAR for sd in random_sd.values())
    gradient, deviance = float(results["gradient"][0]), float(results["deviance"][0])
    if not np.isfinite(
        results["std_error"]
    ).all():  # the curvature is of all terms, so none has a standard error
        results["std_error"] = np.full(terms, np.nan)
    formula = " + ".join(
        [
            design.details["formula"],
            *sorted(set(effects) - set(dropped), key=_intercepts_of_models_first),
        ]
    )
    is_starred = len(design.models) not in FEW_MODELS
    notes = [
        *design.notes,
        *([] if is_starred else [NO_STARS]),
        *_explain(design, random_sd, messages, gradient),
        *_structure(structure, formula, dropped),
    ]
    details = design.details | {
        "formula": formula,
        "method": method,
        "random_effects": structure,
        "dropped": dropped,
        "random_sd": {name: round(sd, 6) for name, sd in random_sd.items()},
        "log_likelihood": round(-deviance / 2, 4) if np.isfinite(deviance) else None,
        "aic": round(deviance + 2 * (terms + len(random_sd)), 4) if np.isfinite(deviance) else None,
        "n_evaluations": int(results["evaluations"][0]),
        "is_singular": is_singular,
        "is_converged": not any("converge" in m or "unidentifiable" in m for m in messages),
        "messages": messages,
        "notes": notes,
        "r_versions": (
            {name: _version(robjects, name) for name in ("lme4", "minqa", "Matrix")}
            | {"R": _version(robjects, "base")}
        ),
    }
    table = coefficient_table(
        "mixed_model", design.terms, results["estimate"], results["std_error"], results["df"]
    )
    return table if is_starred else table.assign(stars=""), details


def _bare(term: Any) -> str:
    """A random effect without brackets and blanks."""
    return str(term).strip("()").replace(" ", "")


def _intercepts_of_models_first(effect: str) -> tuple[bool, bool, str]:
    """The order in which a formula has random effects: (1|Model) + (1|Item), as in the paper, then
    the others.
    """
    return effect != "(1|Model)", effect != "(1|Item)", effect


def _structure(structure: str, formula: str, dropped: list[str]) -> list[str]:
    """Notes on the random effects, for a reader of the fit."""
    if structure == "intercepts":
        return [
            "The paper's random effects take templates, pairs of concepts and all models' responses"
            " to a contrast as independent: where there is nothing to find, 20 to 40% of such stars"
            " are false (docs/methods.md). Stars that hold: mixed_model.random_effects: maximal."
        ]
    gone = (
        f" Random effects left out (no variance, or no fit converged): {', '.join(dropped)}."
        if dropped
        else ""
    )
    return [f"Model: {formula}.{gone} Tests: t with Satterthwaite's degrees of freedom."]


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
        from rpy2.rinterface_lib import embedded

        if (
            not embedded.isinitialized()
        ):  # without .RData, .Rprofile and .Renviron, whose objects would stand before R's own
            embedded.set_initoptions(("rpy2", "--quiet", "--vanilla"))
        from rpy2 import robjects
    except Exception as error:  # rpy2 fails in many ways where R is broken
        raise UserError(
            "mixed model", f"rpy2 cannot start R ({type(error).__name__}: {error}).", WAYS_OUT
        ) from error
    finally:
        # rpy2 adds R's folders, in which programs started later from here would find another
        # Python's library
        os.environ.pop("LD_LIBRARY_PATH", None)
        if libraries is not None:
            os.environ["LD_LIBRARY_PATH"] = libraries
    callbacks.consolewrite_warnerror = lambda text: None
    reason = str(robjects.r(LOAD)[0])
    if "there is no package called" in reason:
        raise UserError(
            "mixed model",
            "R is there, but its package lme4 is not (R starts --vanilla; set R_LIBS for a library"
            f" of yours): {reason}.",
            WAYS_OUT,
        )
    if reason:
        raise UserError(
            "mixed model",
            f"R has the package lme4 and cannot load it: {reason}.",
            f"Repair the libraries ({', '.join(robjects.r('.libPaths()'))}): often R_LIBS names an"
            " older one before them, or R was updated and its packages were not.",
        )
    return robjects


def _version(robjects: Any, package: str) -> str:
    return str(robjects.r(f'as.character(packageVersion("{package}"))')[0])


def _explain(
    design: Design, random_sd: dict[str, float], messages: list[str], gradient: float
) -> list[str]:
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
                f"Singular fit: the variance between {name}s is estimated as zero. The coefficients"
                f" are valid, but they say nothing about differences between {name}s."
            )
    for message in messages:
        if "failed to converge" in message:
            notes.append(
                f"lme4 doubts that the fit converged ({message}). "
                + (
                    ""
                    if np.isnan(gradient)
                    else f"The estimates may still move by about {gradient:.1g} standard errors."
                )
            )
        elif "unidentifiable" in message or "curvature" in message:
            notes.append(
                f"Some coefficients are poorly identified ({message}); read their standard errors"
                " first."
            )
        elif "singular" not in message:
            notes.append(f"R says: {message}")
    return notes


#: numbers of models from which how models differ is hardly known, though slopes depend on it.
FEW_MODELS = (2, 3)
NO_STARS = (
    "No stars with two or three models, as how models differ is hardly known: where two differ and"
    " there is nothing to find, 9% of the mixed model's p values are below 0.05 and 4% below 0.01."
)
#: items that a coefficient must rest on: the scores of fewer nearly cancel in each, and so would
#: its standard error.
FEWEST_ITEMS = 20


def fit_fixed_effects(design: Design) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Logistic regression with standard errors that allow for the dependence of rows of one item.

    The coefficients are population averages, so they are nearer to zero than the mixed model's,
    which hold for one item and one model; signs and stars are what can be compared.

    Args:
        design: the shared regression.

    Returns:
        contracts.Coefficients and details for the provenance.

    Raises:
        TooLittleError: there is one item.
    """
    import statsmodels.api as sm

    if len(design.items) < 2:
        raise TooLittleError(
            "judgements",
            "are of one item, which says nothing of how items vary.",
            "Give the judgements of more items.",
        )
    is_starred = len(design.models) not in FEW_MODELS
    notes = [*design.notes, *([] if is_starred else [NO_STARS])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = sm.GLM(design.response, design.matrix, family=sm.families.Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": design.item}, maxiter=100
        )
    std_error = fitted.bse
    if not fitted.converged:
        notes.append(
            "The fit did not converge after 100 steps, so there are no standard errors; the"
            " coefficients are not to be used."
        )
        std_error = np.full(len(std_error), np.nan)
    n_items = _items_behind(design, np.asarray(fitted.fittedvalues))
    if (is_few := n_items < FEWEST_ITEMS).any():
        std_error = np.where(is_few, np.nan, std_error)
        labels = ", ".join(design.terms["label"][design.terms["is_fitted"]].to_numpy()[is_few])
        notes.append(
            f"No standard error for {labels}: fewer than {FEWEST_ITEMS} items decide, which say"
            " nothing of how items vary."
        )
    details = design.details | {
        "clusters": "item",
        "log_likelihood": round(float(fitted.llf), 6),
        "is_converged": bool(fitted.converged),
        "messages": sorted({str(w.message) for w in caught}),
        "notes": notes,
    }
    table = coefficient_table("fixed_effects", design.terms, fitted.params, std_error)
    return table if is_starred else table.assign(stars=""), details


def _items_behind(design: Design, fitted: np.ndarray) -> np.ndarray:
    """How many equally weighty items each coefficient rests on (Carter, Schnepel & Steigerwald
    2017), shape (terms,).

    Args:
        design: the regression.
        fitted: probability of each row.
    """
    weight = fitted * (1 - fitted)
    covariance = np.linalg.pinv(design.matrix.T @ (design.matrix * weight[:, None]))
    parts = (
        weight[:, None] * (design.matrix @ covariance) ** 2 / np.diag(covariance)
    )  # of a coefficient's information
    return np.array([1 / (np.bincount(design.item, part) ** 2).sum() for part in parts.T])
