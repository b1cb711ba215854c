"""Items worth a look: computed from the rows, not typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from worldprobe.analysis.comparisons import correct_for_number
from worldprobe.benchmarks.ewok.analysis.panel import count_clusters
from worldprobe.report.model_names import Roster
from worldprobe_explorer.rows import LOGPROBS, Rows, Run, is_tested

#: Entries of a list.
MOST = 12
#: With fewer templates, a pair of concepts is not tested.
FEWEST_TEMPLATES = 3
#: Permutations that are drawn at once.
BATCH = 100


def worth_looking(rows: Rows, roster: Roster) -> list[dict[str, Any]]:
    """Lists of items that a reader should see first, each with entries of text, count and filter
    (the fragment of the page's address).
    """
    tested = [run for run in rows.runs if is_tested(run, roster)]
    by_way: dict[tuple[str, str], list[Run]] = {}
    for run in tested:
        by_way.setdefault((str(rows.frame["benchmark"][run.rows[0]]), run.way), []).append(run)
    first = {benchmark: runs for (benchmark, _), runs in reversed(by_way.items())}
    lists = [_wrong_for_all(rows, runs) for runs in reversed(first.values())]
    for run in by_way.get(("ewok", LOGPROBS), [])[:1]:
        lists += [_far_below(rows, run, roster), _disagreeing(rows, run, roster)]
    return [entries for entries in lists if entries]


def _wrong_for_all(rows: Rows, runs: Sequence[Run]) -> dict[str, Any]:
    """Items of which every model gets all wrong, and how many that would be if models' errors were
    independent.
    """
    answers = pd.concat(
        [pd.DataFrame({"row": run.rows, "model": run.model, "right": run.right}) for run in runs]
    )
    lowest = answers.groupby(["row", "model"])["right"].min()
    wrong = lowest.unstack().dropna() == 0
    if wrong.empty:
        return {}
    is_all = wrong.all(axis=1)
    expected = len(wrong) * float(wrong.to_numpy().mean(axis=0).prod())
    frame = rows.frame.loc[wrong.index[is_all]]
    benchmark = str(rows.frame["benchmark"][wrong.index[0]])
    shown = {"benchmark": benchmark, "model": runs[0].model, "way": runs[0].way, "right": "none"}
    domains = frame["domain"] if "domain" in frame else pd.Series(dtype=object)
    entries = [
        {"text": str(domain), "n": int(n), "filter": urlencode(shown | {"domain": domain})}
        for domain, n in domains.value_counts().head(MOST).items()
    ]
    text, whom = f"{is_all.sum()} of {len(wrong)}", "the model"
    if len(wrong.columns) > 1:
        text += (
            f"; {expected:.0f} if the models' errors were independent. Items that all models miss"
            " may be at fault themselves"
        )
        whom = f"all {len(wrong.columns)} models"
    what = "Trials" if benchmark == "worldsense" else "Items"
    about = " about both targets" if benchmark == "ewok" else ""
    return {
        "title": f"{what} where {whom} {'are' if 'all' in whom else 'is'} wrong{about}",
        "text": f"{text}.",
        "entries": entries,
    }


def _far_below(rows: Rows, run: Run, roster: Roster) -> dict[str, Any]:
    """Pairs of concepts whose templates are below the others of their domain: a Mann-Whitney test
    over templates, with Holm's correction for the number of pairs.
    """
    frame = rows.frame.loc[run.rows].assign(right=run.right).dropna(subset="right")
    means = frame.groupby(["domain", "concept", "template"], observed=True)["right"].mean()
    table = means.groupby(["domain", "concept"], observed=True).agg(
        mean="mean", sum="sum", n="size"
    )
    n_draws = (100 + len(table)) * BATCH  # 0.01 is attainable after correction
    sums = table[["sum", "n"]]
    rest = sums.groupby("domain", observed=True).transform("sum") - sums
    table["others"], table["p"] = rest["sum"] / rest["n"], np.nan
    for domain, right in means.groupby("domain", observed=True):
        sizes = table.loc[[domain], "n"].to_numpy()
        table.loc[[domain], "p"] = _p_below(right.to_numpy(), sizes, n_draws)
    table = table[np.minimum(table["n"], rest["n"]) >= FEWEST_TEMPLATES].reset_index()
    title = f"Pairs of concepts far below their domain ({roster[run.model].name})"
    if table.empty:
        none = f"No pair of concepts has {FEWEST_TEMPLATES} templates here."
        return {"title": title, "text": none, "entries": []}
    table["p_holm"] = correct_for_number(table["p"])
    shown = table[table["p_holm"] < 0.05].sort_values("mean")
    how = "(Mann-Whitney test over templates by permutation, Holm's correction)"
    pairs = count_clusters(len(table))
    verb = "is" if len(shown) == 1 else "are"
    verdict = f"{len(shown)} of {pairs} {verb} below the others {how}."
    if shown.empty:
        shown = table.sort_values("p").head(5)
        verdict = (
            f"None of {pairs} is shown to be below the others {how}; those with the smallest p:"
        )
    entries = [
        {
            "text": (
                f"{row['concept']} ({row['domain']}): {row['mean']:.2f}, others"
                f" {row['others']:.2f}, p {row['p_holm']:.2g}"
            ),
            "n": row["n"],
            "filter": urlencode({name: row[name] for name in ("domain", "concept")}),
        }
        for row in shown.head(MOST).to_dict("records")
    ]
    return {"title": title, "text": verdict, "entries": entries}


def _p_below(right: np.ndarray, sizes: np.ndarray, n_draws: int) -> np.ndarray:
    """The p of a Mann-Whitney test of each pair of concepts against the rest of its domain, by
    permutations that the pairs share: accuracies have many ties, with which the normal
    approximation is far off for few templates.

    Args:
        right: accuracy of the domain's templates, pair by pair.
        sizes: number of templates of each pair.
        n_draws: permutations, a multiple of ``BATCH``.
    """
    ranks, starts = rankdata(right), np.cumsum(sizes) - sizes
    sums = np.add.reduceat(ranks, starts)
    rng, n_low = np.random.default_rng(0), np.ones(len(sizes))
    for _ in range(n_draws // BATCH):
        drawn = rng.permuted(np.tile(ranks, (BATCH, 1)), axis=1)
        n_low += (np.add.reduceat(drawn, starts, axis=1) <= sums).sum(axis=0)
    return n_low / (n_draws + 1)


def _disagreeing(rows: Rows, run: Run, roster: Roster) -> dict[str, Any]:
    """Templates that are right in one version and wrong in another, those with the widest margins
    first, and how many that would be if the versions of a template had nothing in common.
    """
    frame = rows.frame.loc[run.rows].assign(right=run.right, margin=run.margin)
    frame = frame.dropna(subset="right")
    if "family" in frame:
        frame = frame[frame["family"].isna()]
    by = frame.groupby(["domain", "template"], observed=True).agg(
        low=("right", "min"),
        high=("right", "max"),
        n=("right", "size"),
        lowest=("margin", "min"),
        highest=("margin", "max"),
    )
    several = by[by["n"] > 1]
    if several.empty:
        return {}
    apart = several[(several["low"] == 0) & (several["high"] == 1)]
    n_apart, apart = len(apart), apart.assign(spread=apart["highest"] - apart["lowest"])
    wrong, right = (float((frame["right"] == value).mean()) for value in (0, 1))
    n = several["n"].to_numpy()
    expected = np.sum(1 - (1 - wrong) ** n - (1 - right) ** n + (1 - wrong - right) ** n)
    apart = apart.sort_values("spread", ascending=False, kind="stable").head(MOST).reset_index()
    names = (apart["domain"].astype(str) + "_" + apart["template"]).tolist()
    entries = [
        {"text": name, "n": n, "filter": urlencode({"q": f"{name}_v"})}
        for name, n in zip(names, apart["n"].tolist(), strict=True)
    ]
    return {
        "title": f"Templates whose versions disagree ({roster[run.model].name})",
        "text": (
            f"{n_apart} of {len(several)} templates are right in one version and wrong in"
            f" another, where fillers decide; {expected:.0f} if versions of a template had nothing"
            " in common. Those with the widest margins:"
        ),
        "entries": entries,
    }
