"""Is one model better than another, or were these items kind to it? A paired permutation test with an honest sentence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse

from worldprobe.benchmarks.ewok.analysis.panel import Panel, build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.errors import UserError

#: two-sided 5% test, 80% power: a difference must be this many standard errors to be found.
DETECTABLE = 2.8


def compare_models(
    judgements: pd.DataFrame, eval_type: str = "logprobs", n_permutations: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Compare every pair of models on the items that both judged.

    Both models see the same items, so the test is on differences: an item's difference is that of its two means over targets,
    a template's is over its versions. If the models were equally good, a template's difference would be as likely to
    have the other sign, so signs are flipped at random; the p value is the share of flips whose mean is as far from zero.
    Templates, not items, are flipped and drawn, because the versions of one template are no independent evidence.

    Args:
        judgements: contracts.Judgements of two models or more.
        eval_type: the paradigm to compare in.
        n_permutations: random flips, and bootstrap draws for the interval.
        seed: of both.

    Returns:
        contracts.Comparisons: overall and by domain, p values also corrected for the number of rows (Holm).

    Raises:
        UserError: fewer than two models, or two models without a common item.
    """
    rows = judgements[judgements["eval_type"] == eval_type]
    panel = build_panel(rows) if len(rows) else None
    if panel is None or len(panel.series) < 2:
        raise UserError("judgements", f"fewer than two models have {eval_type} judgements.", "Give the tables of two models.")
    accuracy = metric_values(panel)[0].astype(float)
    template = panel.items.groupby(["domain", "meta_template", "template"], sort=True).ngroup().to_numpy()
    table = pd.DataFrame(_rows(panel, accuracy, template, n_permutations, seed)).assign(eval_type=eval_type)
    table["p_holm"] = table.groupby("grouping")["p"].transform(_holm)
    table["sentence"] = [_sentence(row) for row in table.itertuples()]
    return table.drop(columns="std_error")


def _rows(panel: Panel, accuracy: np.ndarray, template: np.ndarray, n_permutations: int, seed: int) -> list[dict[str, object]]:
    """Every pair of series, overall and by domain; pairs that share their items are tested together."""
    names, domain = panel.series["model"], panel.items["domain"].to_numpy()
    version = panel.items["version"].to_numpy()
    buckets: dict[bytes, list[tuple[int, int]]] = {}
    for a, b in combinations(range(len(names)), 2):
        both = ~np.isnan(accuracy[a]) & ~np.isnan(accuracy[b])
        if not both.any():
            raise UserError(names[a], f"and {names[b]} have no item in common.", "Compare models on the same items.")
        buckets.setdefault(both.tobytes(), []).append((a, b))
    rows = []
    for mask, pairs in buckets.items():
        both = np.frombuffer(mask, bool)
        groups = [("overall", "all", both)] + [("domain", d, both & (domain == d)) for d in np.unique(domain[both])]
        for grouping, group, inside in groups:
            first, second = (accuracy[[pair[side] for pair in pairs]][:, inside] for side in (0, 1))
            found = compare_items(first, second, template[inside], version[inside], n_permutations, seed)
            for (a, b), tested in zip(pairs, found, strict=True):
                rows.append({"model_a": names[a], "model_b": names[b], "grouping": grouping, "group": group} | vars(tested))
    return rows


@dataclass
class Tested:
    """One comparison's numbers; see contracts.Comparisons."""

    mean_a: float
    mean_b: float
    difference: float
    ci_low: float
    ci_high: float
    p: float
    std_error: float
    n_items: int
    n_templates: int
    n_a_better: int
    n_b_better: int
    n_equal: int


def compare_items(
    first: np.ndarray, second: np.ndarray, template: np.ndarray, version: np.ndarray, n_permutations: int, seed: int
) -> list[Tested]:
    """Compare item accuracies of pairs of models; all pairs get the same flips and draws.

    Args:
        first: accuracy of each pair's model A, shape (pairs, items).
        second: accuracy of model B, same shape and items.
        template: code of each item's template: what is exchanged and drawn.
        version: of each item; the means are over version means.
        n_permutations: flips and draws.
        seed: of both.

    Returns:
        One result per pair.
    """
    _, version_code, sizes = np.unique(version, return_inverse=True, return_counts=True)
    weight = 1 / (len(sizes) * sizes[version_code])
    _, code = np.unique(template, return_inverse=True)
    n_templates = int(code.max()) + 1
    member = sparse.csr_matrix((weight, (np.arange(len(code)), code)), (len(code), n_templates))
    parts = np.asarray((first - second) @ member).T
    difference = parts.sum(axis=0)
    rng = np.random.default_rng([seed, n_templates])
    n_far = np.zeros(len(first), int)
    drawn = np.empty((n_permutations, len(first)))
    for start in range(0, n_permutations, 1000):
        size = (min(1000, n_permutations - start), n_templates)
        signs = rng.integers(0, 2, size, dtype=np.int8).astype(float) * 2 - 1
        n_far += (np.abs(signs @ parts) >= np.abs(difference) - 1e-12).sum(axis=0)
        counts = rng.multinomial(n_templates, np.full(n_templates, 1 / n_templates), size=size[0])
        drawn[start : start + size[0]] = counts.astype(float) @ parts
    ends = np.quantile(drawn, [0.025, 0.975], axis=0) if n_templates > 1 else np.full((2, len(first)), np.nan)
    return [
        Tested(
            mean_a=float(np.clip(weight @ a, 0, 1)),
            mean_b=float(np.clip(weight @ b, 0, 1)),
            difference=float(np.clip(difference[i], -1, 1)),
            ci_low=float(np.clip(ends[0, i], -1, 1)),
            ci_high=float(np.clip(ends[1, i], -1, 1)),
            p=float(1 + n_far[i]) / (1 + n_permutations),
            std_error=float(drawn[:, i].std()),
            n_items=len(a),
            n_templates=n_templates,
            n_a_better=int((a > b).sum()),
            n_b_better=int((a < b).sum()),
            n_equal=int((a == b).sum()),
        )
        for i, (a, b) in enumerate(zip(first, second, strict=True))
    ]


def _holm(p: pd.Series) -> pd.Series:
    """Holm's step-down correction."""
    order = np.argsort(p.to_numpy(), kind="stable")
    raised = np.maximum.accumulate(p.to_numpy()[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(raised, 1)
    return pd.Series(corrected, index=p.index)


def _sentence(row: object) -> str:
    """What may be said about one comparison."""
    get = row.__getattribute__
    where = "" if get("grouping") == "overall" else f" in {get('group')}"
    means = f"{get('model_a')} has {get('mean_a'):.1%} and {get('model_b')} {get('mean_b'):.1%} of the targets right{where}"
    points, low, high = (100 * get(name) for name in ("difference", "ci_low", "ci_high"))
    numbers = f"{points:+.1f} points, 95% interval {low:+.1f} to {high:+.1f}, p = {_p(get('p'))}"
    basis = f"{get('n_templates')} templates, {get('n_items')} items"
    if get("n_a_better") + get("n_b_better") == 0:
        return f"{means}: no item tells them apart ({basis})."
    if get("p") >= 0.05:
        visible = 100 * DETECTABLE * get("std_error")
        return (
            f"{means} ({numbers}; {basis}): these items cannot tell the two apart; "
            f"a difference below about {visible:.1f} points would often stay unseen."
        )
    better = get("model_a") if points > 0 else get("model_b")
    doubt = (
        ""
        if get("p_holm") < 0.05
        else f" After correction for the number of comparisons it may be chance (p = {_p(get('p_holm'))})."
    )
    return f"{means} ({numbers}; {basis}): {better} is better on these items.{doubt}"


def _p(p: float) -> str:
    return f"{p:.4f}" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
