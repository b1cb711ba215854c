"""From evidence to accuracy: does the matching context win (EWoK, Section 4)?

An item has two targets. Target 1 fits context 1, target 2 fits context 2. A target is right (1)
when its score is higher after the context it fits, wrong (0) when it is lower, and 0.5 on an exact
tie: nothing is ever broken by order.

A context that makes everything likelier pulls both targets its way. ``pairing`` asks once per item
which pairing of contexts and targets fits, and no context's or target's own pull decides it.

The paper compares one target under both contexts, so the target's length and how likely it is by
itself cancel out. The other comparison, both targets under one context, needs them: there sums
favour short and frequent targets, ``mean`` divides by the number of tokens, and ``pmi`` subtracts
the log probability of the target without any context.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok import contracts
from worldprobe.benchmarks.ewok.materials.subsets import in_share
from worldprobe.benchmarks.ewok.vocabulary import DESIGN, filling_of, way_of
from worldprobe.contracts import Table, read_provenance, read_table, table_name
from worldprobe.errors import UserError
from worldprobe.inference.requests import near_tie_of
from worldprobe.models.registry import BASELINES, check_name
from worldprobe.provenance import Provenance

#: measures by which both targets can be compared under one context.
TARGET_METRICS = ("sum", "mean", "pmi")
#: tolerance for mean ratings; log probabilities have their own (near_ties).
NEAR_TIE = 1e-3


@dataclass
class Judged:
    """Judgements and what must be said with them.

    Attributes:
        table: rows of contracts.Judgements.
        details: counts and choices for the provenance, keyed by name.
    """

    table: pd.DataFrame
    details: dict[str, Any] = field(default_factory=dict)


def judge_target_scores(
    items: pd.DataFrame,
    scores: pd.DataFrame,
    model: str,
    targets: str | None = None,
    near_tie: float | None = None,
    dtype: str | None = "float32",
) -> Judged:
    """Judge log probabilities, the paper's first paradigm.

    Args:
        items: contracts.Items.
        scores: contracts.TargetScores; contexts 1 and 2, and for ``pmi`` context 0 (none).
        model: name in the table.
        targets: None compares log P(T|C) of one target under both contexts, as the paper does. A
            name of ``TARGET_METRICS`` compares both targets under one context by that measure, and
            row ``target`` then says whether the target that fits context 1 (2) wins there; the
            eval_type is ``logprobs_targets_`` and the measure.
        near_tie: nats; None takes what the dtype allows.
        dtype: what the scores were computed in, None where that is not known.

    Returns:
        Judgements; a target with an absent or non-finite score has no accuracy and the status
        ``missing_score``.

    Raises:
        UserError: the scores are of other items, the measure is unknown, or ``pmi`` has no score
            without a context.
    """
    if targets not in (None, *TARGET_METRICS):
        raise UserError(
            "--compare-targets",
            f'"{targets}" is not a measure.',
            f"Use one of these: {', '.join(TARGET_METRICS)}.",
        )
    if targets == "pmi" and not (scores["context"] == 0).any():
        problem = "needs log P(target), and these scores have none without a context."
        raise UserError(
            "--compare-targets pmi",
            problem,
            "Score the items with `worldprobe score logprobs --without-context`.",
        )
    values = scores["logprob"].to_numpy(float)
    if targets == "mean":
        with np.errstate(divide="ignore", invalid="ignore"):
            values = values / scores["n_tokens"].to_numpy(float)
    cube = _cube(items, scores, values)
    if targets == "pmi":
        cube = cube - cube[:, :, :1]
    tolerance = near_tie_of(dtype) if near_tie is None else near_tie
    if targets is None:
        judged = _judge_cube(items, cube, model, "logprobs", tolerance, "missing_score")
    else:
        by_context = cube.copy()
        by_context[:, :, 1:] = cube[:, :, 1:].transpose(
            0, 2, 1
        )  # (context, target) in place of (target, context)
        judged = _judge_cube(
            items, by_context, model, f"logprobs_targets_{targets}", tolerance, "missing_score"
        )
    flags: Counter[str] = Counter()
    used = scores if targets == "pmi" else scores[scores["context"] > 0]
    for text, count in used["flags"].value_counts().items():
        flags.update({flag: int(count) for flag in str(text).split(",") if flag})
    judged.table["dtype"] = pd.Series(dtype, judged.table.index, dtype="str")
    judged.details |= {
        "compared": (
            "one target under both contexts"
            if targets is None
            else "both targets under one context"
        ),
        "metric": targets or "sum",
        "near_tie_basis": f"dtype {dtype or 'unknown'}" if near_tie is None else "--near-tie",
        "n_scores": len(used),
        "flagged_scores": dict(sorted(flags.items())),
    }
    return judged


def judge_similarities(
    items: pd.DataFrame, similarities: pd.DataFrame, model: str, near_tie: float = 1e-6
) -> Judged:
    """Judge cosines of targets with their contexts, as baselines give them (EWoK, Section 4.3).

    Args:
        items: contracts.Items.
        similarities: columns item_id, target, context and similarity.
        model: name in the table; the eval type, too, where it is a baseline's, and else word2vec.
        near_tie: difference of cosines.
    """
    cube = _cube(items, similarities, similarities["similarity"].to_numpy(float))
    return _judge_cube(
        items, cube, model, model if model in BASELINES else "word2vec", near_tie, "missing_score"
    )


def people_differ(ratings: pd.DataFrame) -> pd.DataFrame:
    """The difference of people's mean ratings for every target, and its squared standard error
    (missing where not known).

    Returns:
        Columns people and error, by item and target; targets that were not rated after both
        contexts are left out.
    """
    n = ratings["n_raters"].to_numpy(float)
    error = ratings["sd"].to_numpy(float) ** 2 / np.where(n > 0, n, np.nan)
    wide = (
        ratings.assign(error=error)
        .set_index(["item_id", "target", "context"])[["rating", "error"]]
        .astype(float)
    )
    first, second = (
        wide[wide.index.get_level_values("context") == context].droplevel("context")
        for context in (1, 2)
    )
    frame = pd.DataFrame({"people": (first - second)["rating"], "error": (first + second)["error"]})
    return frame.dropna(subset=["people"])


def judge_ratings(
    items: pd.DataFrame, ratings: pd.DataFrame, model: str = "human", near_tie: float = NEAR_TIE
) -> Judged:
    """Judge mean human ratings (contracts.Ratings) as Likert ratings are judged; an item nobody
    rated has no accuracy.
    """
    cube = _cube(items, ratings, ratings["rating"].to_numpy(float))
    return _judge_cube(items, cube, model, "human_likert", near_tie, "missing_response")


def judge_responses(items: pd.DataFrame, responses: pd.DataFrame, model: str) -> Judged:
    """Judge prompted answers, every eval type of the table by its paradigm (EWoK, Appendix A.4).

    A missing answer counts as wrong in both paradigms and keeps the status ``missing_response``.
    Where the contexts were also shown in swapped order, a choice is the mean of both presentations:
    0.5 then says that the answer followed the position.

    Args:
        items: contracts.Items.
        responses: contracts.Responses.
        model: name in the table.

    Raises:
        UserError: the answers are to other items, or there are none.
    """
    if responses.empty:
        raise UserError(
            "responses", "the table has no rows.", "Score the items first (worldprobe score)."
        )
    parts: list[pd.DataFrame] = []
    details: dict[str, Any] = {}
    for eval_type in sorted(responses["eval_type"].unique()):
        rows = responses[responses["eval_type"] == eval_type]
        _check_answers(rows, eval_type)
        judged = (_judge_likert if way_of(eval_type).is_rated else _judge_choice)(
            items, rows, model, eval_type
        )
        parts.append(judged.table)
        details[eval_type] = judged.details
    return Judged(pd.concat(parts, ignore_index=True), details)


def _check_answers(rows: pd.DataFrame, eval_type: str) -> None:
    """Refuse presentations and values of the other paradigm, which would be judged as something
    that was never asked.

    Raises:
        UserError: such a row.
    """
    is_rated = way_of(eval_type).is_rated
    is_bad = (rows["presentation"].str.len() == 4) != is_rated
    is_bad |= (
        (rows["status"] == "ok")
        & rows["value"].notna()
        & ~rows["value"].isin(range(1, 6) if is_rated else (1, 2))
    )
    if is_bad.any():
        row = rows[is_bad].iloc[0]
        problem = (
            f"item {row['item_id']}, {eval_type}: {row['presentation']} with the value"
            f" {row['value']:g} is not an answer."
        )
        raise UserError("responses", problem, "Score the items again (worldprobe score).")


def _judge_likert(items: pd.DataFrame, rows: pd.DataFrame, model: str, eval_type: str) -> Judged:
    """A target's rating after its own context against its rating after the other one."""
    target = rows["presentation"].str.slice(1, 2).astype(int)
    context = rows["presentation"].str.slice(3, 4).astype(int)
    values = rows["value"].where(rows["status"] == "ok").to_numpy(float)
    cube = _cube(items, rows.assign(target=target, context=context), values)
    judged = _judge_cube(items, cube, model, eval_type, 0.0, "missing_response")
    missing = judged.table["status"] != "ok"
    judged.table["accuracy"] = judged.table["accuracy"].mask(missing, 0.0)
    ratings, counts = np.unique(values[np.isfinite(values)].astype(int), return_counts=True)
    judged.details |= {
        "missing_counts_as": 0.0,
        "rating_counts": {
            str(rating): int(count) for rating, count in zip(ratings, counts, strict=True)
        },
        "response_status": _counts(rows["status"]),
    }
    return judged


def _judge_choice(items: pd.DataFrame, rows: pd.DataFrame, model: str, eval_type: str) -> Judged:
    """The number of the context that a target fits is right: 1 for target 1, 2 for target 2, the
    other way when swapped.
    """
    code = _codes(items, rows)
    target = rows["presentation"].str.slice(1, 2).to_numpy(dtype=int)
    is_swapped = rows["presentation"].str.endswith("s").to_numpy(dtype=bool)
    value = rows["value"].where(rows["status"] == "ok").to_numpy(float)
    right = np.where(is_swapped, 3 - target, target)
    answers = np.full((len(items), 2, 2), np.nan)
    answers[code, target - 1, is_swapped.astype(int)] = np.where(
        np.isnan(value), np.nan, value == right
    )
    n_presented = 2 if is_swapped.any() else 1
    answers = answers[:, :, :n_presented]
    is_missing = np.isnan(answers).any(axis=2)
    accuracy = np.nan_to_num(answers).mean(axis=2)
    table = _judgements(
        items,
        accuracy,
        (accuracy == 0.5) & ~is_missing,
        np.zeros_like(is_missing),
        is_missing,
        model,
        eval_type,
    )
    table["status"] = table["status"].mask(table["status"] != "ok", "missing_response")
    read = value[~np.isnan(value)]
    bias: dict[str, Any] = {
        "n_read": len(read),
        "share_first": round(float((read == 1).mean()), 6) if len(read) else None,
    }
    if n_presented == 2:
        whole = ~is_missing
        bias["share_following_position"] = (
            round(float((accuracy[whole] == 0.5).mean()), 6) if whole.any() else None
        )
    details = _tally(table) | {
        "missing_counts_as": 0.0,
        "presentations": n_presented,
        "position_bias": bias,
        "response_status": _counts(rows["status"]),
    }
    return Judged(table, details)


def judge_scores(
    matching: np.ndarray, other: np.ndarray, near_tie: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Whether the matching context's score wins, element by element.

    Args:
        matching: scores after the context that the target fits.
        other: scores after the other context, same shape.
        near_tie: differences up to this that are no ties are near ties.

    Returns:
        accuracy (missing where a score is absent or not finite), is_tie, is_near_tie, is_missing.

    >>> [
    ...     part.tolist()
    ...     for part in judge_scores(np.array([2.0, 1.0, 1.0]), np.array([1.0, 1.0, 3.0]), 0.1)
    ... ][0]
    [1.0, 0.5, 0.0]
    """
    is_missing = ~(np.isfinite(matching) & np.isfinite(other))
    with np.errstate(invalid="ignore"):
        difference = matching - other
    is_tie = ~is_missing & (difference == 0)
    is_near_tie = ~is_missing & ~is_tie & (np.abs(difference) <= near_tie)
    accuracy = np.where(is_missing, np.nan, np.where(is_tie, 0.5, (difference > 0).astype(float)))
    return accuracy, is_tie, is_near_tie, is_missing


def compare_pairings(
    values: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], near_tie: float
) -> tuple[np.ndarray, np.ndarray]:
    """Whether contexts and targets fit as they belong together, item by item.

    That is T1|C1 - T1|C2 - T2|C1 + T2|C2 > 0, the interaction contrast of a 2 x 2 design: what is
    added to all values of one context, or of one target, cancels.

    Args:
        values: T1|C1, T1|C2, T2|C1 and T2|C2, each of shape (items,).
        near_tie: tolerance of a target's difference. The contrast is the sum of both targets'
            differences, so its tolerance is twice that.

    Returns:
        pairing: 1, 0 or 0.5 on a tie, missing where a value is absent or not finite; and whether it
        is a near tie. What adding four numbers may round off (2 machine epsilons of the sum of
        their sizes) is a tie: means of ratings are not exact.

    >>> one = [np.array([value]) for value in (-5.0, -6.0, -3.0, -3.5)]
    >>> compare_pairings((one[0], one[1], one[2], one[3]), 0.1)[0].tolist()
    [1.0]
    """
    cube = np.stack(values)
    is_missing = ~np.isfinite(cube).all(axis=0)
    cube = np.where(is_missing, 0, cube)
    contrast = (cube[0] + cube[3]) - (cube[1] + cube[2])
    is_tie = np.abs(contrast) <= 2 * np.finfo(float).eps * np.abs(cube).sum(axis=0)
    pairing = np.where(is_missing, np.nan, np.where(is_tie, 0.5, contrast > 0))
    return pairing, ~is_missing & ~is_tie & (np.abs(contrast) <= 2 * near_tie)


def _judge_cube(
    items: pd.DataFrame,
    cube: np.ndarray,
    model: str,
    eval_type: str,
    near_tie: float,
    missing_status: str,
) -> Judged:
    """Judge scores of shape (items, targets, contexts 0-2)."""
    matching = np.stack([cube[:, 0, 1], cube[:, 1, 2]], axis=1)
    other = np.stack([cube[:, 0, 2], cube[:, 1, 1]], axis=1)
    accuracy, is_tie, is_near_tie, is_missing = judge_scores(matching, other, near_tie)
    table = _judgements(items, accuracy, is_tie, is_near_tie, is_missing, model, eval_type)
    table["status"] = table["status"].mask(table["status"] != "ok", missing_status)
    four = (cube[:, 0, 1], cube[:, 0, 2], cube[:, 1, 1], cube[:, 1, 2])
    pairing, is_near = compare_pairings(four, near_tie)
    table = table.assign(pairing=pairing.repeat(2), is_near_pairing_tie=is_near.repeat(2))
    details = {
        "n_pairing_ties": int((pairing == 0.5).sum()),
        "n_near_pairing_ties": int(is_near.sum()),
        "n_without_pairing": int(np.isnan(pairing).sum()),
    }
    return Judged(table, {"near_tie": near_tie} | _tally(table) | details)


def _judgements(
    items: pd.DataFrame,
    accuracy: np.ndarray,
    is_tie: np.ndarray,
    is_near_tie: np.ndarray,
    is_missing: np.ndarray,
    model: str,
    eval_type: str,
) -> pd.DataFrame:
    """Rows of contracts.Judgements from arrays of shape (items, 2)."""
    design = design_of(items)
    return (
        design.loc[design.index.repeat(2)]
        .reset_index(drop=True)
        .assign(
            filling=filling_of(items) if "fillers" in items else None,
            target=np.tile([1, 2], len(items)),
            model=model,
            eval_type=eval_type,
            accuracy=accuracy.ravel(),
            is_tie=is_tie.ravel(),
            is_near_tie=is_near_tie.ravel(),
            status=np.where(is_missing.ravel(), "missing", "ok"),
        )
    )


def design_of(items: pd.DataFrame) -> pd.DataFrame:
    """The columns of items that judgements repeat: ids and the design."""
    return items[[column for column in ("item_id", *DESIGN) if column in items]]


def _cube(items: pd.DataFrame, rows: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    """Values as an array of shape (items, targets, contexts 0-2), missing where there is no row."""
    cube = np.full((len(items), 2, 3), np.nan)
    cube[_codes(items, rows), rows["target"].to_numpy(int) - 1, rows["context"].to_numpy(int)] = (
        values
    )
    return cube


def _codes(items: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """The position in ``items`` of every row's item.

    Raises:
        UserError: a row is of an item that the table does not have.
    """
    codes = pd.Index(items["item_id"]).get_indexer(pd.Index(rows["item_id"]))
    if (codes < 0).any():
        strangers = rows["item_id"][codes < 0]
        raise UserError(
            "items",
            f"{strangers.nunique()} items of the evidence are not in the items table, the first is"
            f" {strangers.iloc[0]}.",
            "Give the items table that was scored.",
        )
    return codes


def _tally(table: pd.DataFrame) -> dict[str, int]:
    return {
        "n_targets": len(table),
        "n_ties": int(table["is_tie"].sum()),
        "n_near_ties": int(table["is_near_tie"].sum()),
        "n_missing": int((table["status"] != "ok").sum()),
    }


def _counts(column: pd.Series) -> dict[str, int]:
    return {str(k): int(v) for k, v in column.value_counts().sort_index().items()}


KINDS: dict[str, type[Table]] = {contract.Config.name: contract for contract in contracts.EVIDENCE}
#: table -> the columns that are judged, where it has others too: what models wrote is long and not
#: looked at.
NEEDED = {"responses": ("item_id", "eval_type", "presentation", "value", "status")}
#: names of series whose evidence names no model.
NAMES = {"similarities": "word2vec", "ratings": "human"}


@dataclass(frozen=True)
class Evidence:
    """A table of evidence, read.

    Attributes:
        kind: name of its table: target_scores, responses, similarities or ratings.
        rows: its rows, the columns that are judged.
        provenance: what made it.
        model: the series' name: the model that the evidence names, or what the file is called.
    """

    kind: str
    rows: pd.DataFrame
    provenance: Provenance
    model: str


def evidence_kind(path: Path) -> str:
    """The kind of evidence in a file.

    Raises:
        UserError: the file is not a table of evidence.
    """
    kind = table_name(path)
    if kind not in KINDS:
        problem = f"contains {kind or 'no table of worldprobe'}, which cannot be judged."
        raise UserError(path, problem, f"Give one of these tables: {', '.join(KINDS)}.")
    return kind


def read_evidence(path: Path, model: str | None = None) -> Evidence:
    """Read one table of evidence; ``model`` names the series whatever the file says."""
    kind = evidence_kind(path)
    if model is not None and model != NAMES.get(kind):
        check_name(model, "--model")
    provenance = read_provenance(path)
    rows = read_table(path, KINDS[kind], NEEDED.get(kind))
    name = model or provenance.model or NAMES.get(kind) or path.stem
    _check_name(name, kind, path)
    return Evidence(kind, rows, provenance, name)


def _check_name(name: str, kind: str, path: Path) -> None:
    """Refuse names that tables cannot show, and a model named like a baseline: tables would not
    list it with the models.

    Raises:
        UserError: such a name.
    """
    fix = "Name the model by --model."
    if not name.strip() or not name.isprintable():
        raise UserError(
            path,
            f"{name!r} is not a name for a model: it is blank or contains a line break or the"
            " like.",
            fix,
        )
    if kind in ("target_scores", "responses") and name in NAMES.values():
        raise UserError(
            path,
            f'"{name}" is the name of a baseline, but the file contains a model\'s {kind}.',
            fix,
        )


def judge_evidence(
    items: pd.DataFrame,
    evidence: Evidence,
    near_tie: float | None = None,
    targets: str | None = None,
) -> Judged:
    """Judge evidence by its kind.

    Args:
        items: contracts.Items.
        evidence: as ``read_evidence`` gives it.
        near_tie: differences up to this count as near ties; None takes what suits the kind and the
            dtype.
        targets: for target_scores, see ``judge_target_scores``.
    """
    tolerance = {} if near_tie is None else {"near_tie": near_tie}
    if evidence.kind == "target_scores":
        dtype = evidence.provenance.dtype
        judged = judge_target_scores(items, evidence.rows, evidence.model, targets, near_tie, dtype)
    elif evidence.kind == "similarities":
        judged = judge_similarities(items, evidence.rows, evidence.model, **tolerance)
    elif evidence.kind == "ratings":
        judged = judge_ratings(items, evidence.rows, evidence.model, **tolerance)
    else:
        if limit := evidence.provenance.details.get("limit"):
            items = items[in_share(items, limit)].reset_index(drop=True)
        judged = judge_responses(items, evidence.rows, evidence.model)
    if taught := evidence.provenance.details.get("taught"):
        judged.table["taught"] = taught
    return judged
