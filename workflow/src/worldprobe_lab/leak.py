"""Whether a model was trained on items: items that it may have read against parallel forms of the
same templates.

What a model knows of a template is the same in every form. What it has read is in the given items
alone: they then have higher log probabilities than other fillings of their templates, and perhaps a
higher accuracy. Both are compared within templates, after the part that single fillers explain, so
that a rare or long name is no leak; pairs of concepts are what may differ by chance.

Apart from that, a model that has read a whole file in its order finds this order likelier than
others (Oren et al., 2023, arXiv 2310.17623). That shows something only where the order was drawn at
random: a sorted file is likelier in its order to any model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.sparse import csr_matrix

from worldprobe.analysis.components import detectable_by_t
from worldprobe.benchmarks.ewok.frequency import frequencies_of_wordfreq, words
from worldprobe.benchmarks.ewok.vocabulary import TEXTS, joint
from worldprobe.errors import UserError
from worldprobe.models.engine import Loglikelihood

#: What is asked of each item, as (context, target); 0 is none. The first four are the texts as a
#: file of right pairs has them.
QUESTIONS = (
    (0, "context1"),
    (0, "context2"),
    (1, "target1"),
    (2, "target2"),
    (2, "target1"),
    (1, "target2"),
)
#: Fewer pairs of concepts give no test worth its name.
LEAST_PAIRS = 10
#: Fillers that given items have so many standard deviations more often than forms do have an effect
#: of their own.
UNUSUAL = 4
#: Orders of the forms that the observed one is compared with.
RELABELLINGS = 1999


@dataclass(frozen=True)
class LeakEffect:
    """Excess of the given items over other forms of their templates.

    Attributes:
        estimate: mean difference.
        low: of the 95 % interval.
        high: of the 95 % interval.
        p: one-sided: how often so much more would come by chance, at least 1 / (1 +
            ``RELABELLINGS``).
        detectable: the smallest true effect that a t-test finds at 5 % in 80 % of such samples;
            of word frequency, the smallest in either direction.
        n_pairs: pairs of concepts, or shards of a file.
        n_templates: templates that the given items and at least one form have, or shards.
    """

    estimate: float
    low: float
    high: float
    p: float
    detectable: float
    n_pairs: int
    n_templates: int


def questions_of(items: pd.DataFrame) -> list[Loglikelihood]:
    """The questions about each item, ``len(QUESTIONS)`` in a row per item.

    Args:
        items: an Items table.
    """
    rows = items[["context1", "context2", "target1", "target2"]].to_dict("records")
    asked = [
        (row[f"context{context}"] if context else None, row[text], joint(row["context1"]))
        for row in rows
        for context, text in QUESTIONS
    ]
    return [Loglikelihood(*question) for question in asked]


def measure_items(
    items: pd.DataFrame, logprobs: Sequence[float | None], language: str = "en"
) -> pd.DataFrame:
    """Log probability and accuracy of each item.

    Args:
        items: an Items table.
        logprobs: answers to ``questions_of``, nats; None or NaN where there is none.
        language: code of theirs.

    Returns:
        template_id, pair (of concepts), fillers (JSON), logprob (of both contexts and of both
        targets after their own context, nats), accuracy (share of the targets that are likelier
        after their own context; ties 0.5) and word_frequency (summed logarithm over the words of
        these texts, NaN in a language without a list); items without an answer are left out.
    """
    spoken = [words(" ".join(row)) for row in items[list(TEXTS)].itertuples(index=False)]
    often = frequencies_of_wordfreq({word for row in spoken for word in row}, language)
    values = np.array(
        [np.nan if value is None else value for value in logprobs], dtype=float
    ).reshape(-1, len(QUESTIONS))
    margins = values[:, 2:4] - values[:, 4:6]
    measured = pd.DataFrame(
        {
            "template_id": items["item_id"].str.rpartition("_v")[0].to_numpy(),
            "pair": (
                (
                    items["domain"]
                    + "\0"
                    + items["concept_a"]
                    + "\0"
                    + items["concept_b"].fillna("")
                ).to_numpy()
            ),
            "fillers": items["fillers"].to_numpy(),
            "logprob": values[:, :4].sum(axis=1),
            "accuracy": ((np.sign(margins) + 1) / 2).mean(axis=1),
            "word_frequency": [float(sum(np.log1p(often[word]) for word in row)) for row in spoken],
        }
    )
    return measured[~np.isnan(values).any(axis=1)].reset_index(drop=True)


def compare_forms(given: pd.DataFrame, forms: pd.DataFrame, measure: str) -> LeakEffect:
    """The mean of a measure over the given items minus that over other forms of the same templates.

    A least-squares fit with an effect for every template, for every filler that the given items
    have unusually often, and for being given. Where the given items are filled as the forms are,
    this is the mean difference within templates. The test asks how often so much more would come if
    any of a template's forms were called the given one. The interval's standard error is the
    jackknife's over pairs of concepts (CR3: Bell and McCaffrey, Survey Methodology 2002), its
    distribution t with one degree of freedom less than pairs, or than so many of equal weight as
    the pairs are worth: few decide where only few forms have a filler of the given items.

    Args:
        given: from ``measure_items``.
        forms: the same of the forms, one after the other.
        measure: ``logprob``, ``accuracy`` or ``word_frequency``.

    Raises:
        UserError: fewer than ``LEAST_PAIRS`` pairs of concepts have a given item and a form.
    """
    shared = set(given["template_id"]) & set(forms["template_id"])
    rows = pd.concat([given.assign(is_given=1.0), forms.assign(is_given=0.0)], ignore_index=True)
    rows = rows[rows["template_id"].isin(shared)].reset_index(drop=True)
    cluster, n_pairs = pd.factorize(rows["pair"])[0], rows["pair"].nunique()
    if n_pairs < LEAST_PAIRS:
        problem = (
            f"{n_pairs} pairs of concepts have a given item and a form with an answer; at least"
            f" {LEAST_PAIRS} must."
        )
        raise UserError(
            "leak",
            problem,
            "Give forms of the same templates: worldprobe items forms MATERIALS --besides ITEMS.",
        )
    template = pd.factorize(rows["template_id"])[0]
    within = _Within(template)
    filled = within.centre(_filler_columns(rows))
    is_given, values = (
        within.centre(rows["is_given"].to_numpy()),
        within.centre(rows[measure].to_numpy()),
    )
    basis = _basis(filled)
    alone = is_given - basis @ (basis.T @ is_given)
    weight = float(alone @ alone)
    if weight < 1e-6 * float(is_given @ is_given):
        problem = (
            "the fillers of the given items are in no form, so nothing tells items that were read"
            " from rare fillers."
        )
        raise UserError(
            "leak", problem, "Make the forms from the same materials, without restricting fillers."
        )
    estimate = float(alone @ values) / weight
    unexplained = values - basis @ (basis.T @ values)
    p = _p_by_relabelling(alone, unexplained, cluster, template)
    rest = unexplained - alone * estimate
    error = _jackknife_error(
        alone / weight, rest, np.column_stack([basis, alone / np.sqrt(weight)]), cluster
    )
    shares = np.bincount(cluster, weights=np.square(alone))
    df = max(1.0, float(shares.sum() ** 2 / np.square(shares).sum()) - 1)
    one_sided = measure != "word_frequency"  # forms may have rarer or more frequent words
    return _effect(estimate, error, df, p, n_pairs, len(shared), one_sided)


def _effect(
    estimate: float,
    error: float,
    df: float,
    p: float,
    n_pairs: int,
    n_templates: int,
    one_sided: bool = True,
) -> LeakEffect:
    """With an interval by Student's t."""
    reach = float(stats.t.ppf(0.975, df)) * error
    seen = float(detectable_by_t(error, df, one_sided))
    return LeakEffect(estimate, estimate - reach, estimate + reach, p, seen, n_pairs, n_templates)


def _p_by_relabelling(
    alone: np.ndarray, unexplained: np.ndarray, cluster: np.ndarray, template: np.ndarray
) -> float:
    """One-sided p of the given items, among orders of the forms of each cluster.

    If nothing was read, any form may be the given one. A t-test has too many false alarms here: a
    text can be far less likely than others, hardly far more. All templates of a cluster change
    places alike, as what differs between clusters is no leak.

    Args:
        alone: what tells the given items from forms, after fillers.
        unexplained: values within templates, after fillers.
        cluster: number of each row's cluster, from 0.
        template: number of each row's template; the given item is its first row.
    """
    form = pd.Series(template).groupby(template).cumcount().to_numpy()
    order, n = np.lexsort((form, template)), int(cluster.max()) + 1
    weights, clusters, values = alone[order], cluster[order], unexplained[order]
    rng = np.random.default_rng(0)

    def statistic(values: np.ndarray) -> float:
        sums = np.bincount(clusters, weights=weights * values)
        total, squares = float(sums.sum()), float(sums @ sums)
        return (
            total / float(np.sqrt(max(squares - total**2 / n, 1e-12 * squares))) if squares else 0.0
        )

    observed, as_much = statistic(values), 0
    for _ in range(RELABELLINGS):
        lots = rng.random((n, int(form.max()) + 1))[cluster, form]
        as_much += int(
            statistic(unexplained[np.lexsort((lots, template))]) >= observed - 1e-9 * abs(observed)
        )
    return (1 + as_much) / (1 + RELABELLINGS)


def _jackknife_error(
    weights: np.ndarray, rest: np.ndarray, basis: np.ndarray, cluster: np.ndarray
) -> float:
    """Standard error of a least-squares coefficient if clusters are left out in turn (CR3, without
    fitting again).

    Args:
        weights: the coefficient is their product with the values, shape (rows,).
        rest: residuals.
        basis: orthonormal columns of all regressors, shape (rows, regressors).
        cluster: number of each row's cluster, from 0.
    """
    order = np.argsort(cluster, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
    moved = []
    for rows in parts:
        projection = np.eye(len(rows)) - basis[rows] @ basis[rows].T
        moved.append(
            float(weights[rows] @ (np.linalg.pinv(projection, hermitian=True) @ rest[rows]))
        )
    return float(np.sqrt((len(parts) - 1) / len(parts) * np.square(moved).sum()))


class _Within:
    """Differences from the mean of each template.

    Args:
        template: number of each row's template.
    """

    def __init__(self, template: np.ndarray) -> None:
        ones = np.ones(len(template))
        self._member = csr_matrix((ones, (template, np.arange(len(template)))))
        self._size = np.asarray(self._member.sum(axis=1)).ravel()

    def centre(self, values: np.ndarray) -> np.ndarray:
        """Shape (rows,) or (rows, columns)."""
        means = ((self._member @ values).T / self._size).T
        return np.asarray(values - self._member.T @ means)


def _filler_columns(rows: pd.DataFrame) -> np.ndarray:
    """Shape (rows, fillers): whether a row has a filler in a slot that the given items have it in
    more often than a form has.

    Those that a form has as often explain nothing; a version of the fixed filling has one name in
    all of them.
    """
    cells: dict[tuple[str, str], int] = {}
    row_numbers, column_numbers = [], []
    for row, filled in enumerate(rows["fillers"]):
        for slot, text in json.loads(filled).items():
            row_numbers.append(row)
            column_numbers.append(cells.setdefault((slot.partition(":")[0], text), len(cells)))
    has = csr_matrix(
        (np.ones(len(row_numbers)), (row_numbers, column_numbers)),
        shape=(len(rows), max(len(cells), 1)),
    )
    is_given = rows["is_given"].to_numpy()
    count = has.T @ is_given
    expected = has.T @ (1 - is_given) * (is_given.sum() / (1 - is_given).sum())
    return np.asarray(has[:, count - expected > UNUSUAL * np.sqrt(expected + 1)].todense())


def _basis(columns: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the same space."""
    if not columns.shape[1]:
        return columns
    values, vectors = np.linalg.eigh(columns.T @ columns)
    kept = values > 1e-8 * max(float(values[-1]), 1e-12)
    return np.asarray(columns @ (vectors[:, kept] / np.sqrt(values[kept])))


def shuffled_shards(
    lines: Sequence[str], per_shard: int, shuffles: int, seed: int
) -> list[Loglikelihood]:
    """Questions about the order of a file's lines: each shard as it is, then ``shuffles`` times in
    another order.

    Args:
        lines: of the file, in its order; lines at the end that make no whole shard are left out.
        per_shard: lines of a shard, which fit into the model's context together.
        shuffles: other orders of each shard.
        seed: of these orders.

    Raises:
        UserError: fewer than ``LEAST_PAIRS`` shards.
    """
    n_shards = len(lines) // per_shard
    if n_shards < LEAST_PAIRS:
        problem = (
            f"{len(lines)} lines make {n_shards} shards of {per_shard}; at least {LEAST_PAIRS} are"
            " needed."
        )
        raise UserError("leak", problem, "Give a longer file, or fewer --lines-per-shard.")
    rng = np.random.default_rng(seed)
    asked = []
    for start in range(0, n_shards * per_shard, per_shard):
        shard = list(lines[start : start + per_shard])
        orders = [range(per_shard), *(rng.permutation(per_shard) for _ in range(shuffles))]
        asked += [Loglikelihood(None, "\n".join(shard[i] for i in order)) for order in orders]
    return asked


def compare_orders(logprobs: np.ndarray) -> LeakEffect:
    """How much likelier shards are in their own order than shuffled, tested as ``compare_forms``
    does, with an interval by t.

    Args:
        logprobs: nats, shape (shards, 1 + shuffles), the own order first.
    """
    gains = logprobs[:, 0] - logprobs[:, 1:].mean(axis=1)
    n, orders = logprobs.shape
    shard = np.repeat(np.arange(n), orders)
    is_own = np.tile(np.arange(orders) == 0, n) - 1 / orders
    p = _p_by_relabelling(
        is_own, (logprobs - logprobs.mean(axis=1, keepdims=True)).ravel(), shard, shard
    )
    return _effect(float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n)), n - 1, p, n, n)
