"""Which items are worth looking at: computed from the rows, not typed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pandas as pd
from scipy.stats import ttest_1samp

from worldprobe.analysis.comparisons import correct_for_number
from worldprobe.report.model_names import Roster
from worldprobe_explorer.rows import LOGPROBS, Rows, Run

#: Entries of a list.
MOST = 12
#: With fewer templates, a pair of concepts is not tested.
FEWEST_TEMPLATES = 3


def worth_looking(rows: Rows, roster: Roster) -> list[dict[str, Any]]:
    """Lists of items that a reader should see first, each with entries of text, count and filter
    (the fragment of the page's address).
    """
    runs = [run for run in rows.runs if run.way == LOGPROBS]
    runs = [run for run in runs if not roster[run.model].is_control] or runs
    found = [_wrong_for_all(rows, runs)] if runs else []
    found += [_far_below(rows, run, roster) for run in runs[:1]]
    found += [_disagreeing(rows, run, roster) for run in runs[:1]]
    return [one for one in found if one]


def _wrong_for_all(rows: Rows, runs: list[Run]) -> dict[str, Any]:
    """Items of which every model gets both targets wrong, and how many that would be if models'
    errors were independent.
    """
    by_run = [pd.Series(run.right == 0, index=run.rows) for run in runs]
    wrong = pd.concat(by_run, axis=1).dropna().astype(bool)
    if wrong.empty:
        return {}
    count, expected = (
        int(wrong.all(axis=1).sum()),
        len(wrong) * float(wrong.to_numpy().mean(axis=0).prod()),
    )
    frame = rows.frame.loc[wrong.index[wrong.all(axis=1)]]
    entries = [
        {"text": f"{domain}", "n": int(n), "filter": urlencode({"domain": domain, "right": "none"})}
        for domain, n in frame["domain"].value_counts().head(MOST).items()
    ]
    text = f"{count} of {len(wrong)} items"
    if len(runs) > 1:
        text += f"; {expected:.0f} if the models' errors were independent"
    return {
        "title": "Both targets wrong in all models",
        "text": f"{text}. Items that all models miss may be at fault themselves.",
        "entries": entries,
    }


def _far_below(rows: Rows, run: Run, roster: Roster) -> dict[str, Any]:
    """Pairs of concepts whose templates are below the mean of their domain: a t test over
    templates, with Holm's correction for the number of pairs.
    """
    frame = rows.frame.loc[run.rows].assign(right=run.right).dropna(subset="right")
    templates = (
        frame.groupby(["domain", "concept", "template"], observed=True)["right"]
        .mean()
        .reset_index()
    )
    means: dict[Any, float] = templates.groupby("domain")["right"].mean().to_dict()
    tested = []
    for (domain, concept), part in templates.groupby(["domain", "concept"], observed=True):
        if len(part) >= FEWEST_TEMPLATES and part["right"].nunique() > 1:
            p = ttest_1samp(part["right"], means[domain], alternative="less").pvalue
            tested.append((domain, concept, part["right"].mean(), len(part), p))
    table = pd.DataFrame(tested, columns=["domain", "concept", "mean", "n", "p"])
    if table.empty:
        return {}
    table["p_holm"] = correct_for_number(table["p"])
    low = table[table["p_holm"] < 0.05].sort_values("mean")
    shown = low if len(low) else table.sort_values("p").head(5)
    name = roster[run.model].name
    verdict = (
        f"{len(low)} of {len(table)} pairs of concepts are below their domain (t test over"
        " templates, Holm's correction)."
        if len(low)
        else f"None of {len(table)} pairs of concepts is shown to be below its domain (t test over"
        " templates, Holm's correction); those with the smallest p:"
    )
    return {
        "title": f"Pairs of concepts far below their domain ({name})",
        "text": verdict,
        "entries": [
            {
                "text": (
                    f"{row['concept']} ({row['domain']}): {row['mean']:.2f}, domain"
                    f" {means[row['domain']]:.2f}, p {row['p_holm']:.2g}"
                ),
                "n": int(row["n"]),
                "filter": urlencode({"domain": row["domain"], "concept": row["concept"]}),
            }
            for row in shown.head(MOST).to_dict("records")
        ],
    }


def _disagreeing(rows: Rows, run: Run, roster: Roster) -> dict[str, Any]:
    """Templates that are right in one version and wrong in another."""
    frame = rows.frame.loc[run.rows].assign(right=run.right).dropna(subset="right")
    frame = frame[frame["family"].isna()] if "family" in frame else frame
    by = frame.groupby(["domain", "template"], observed=True)["right"].agg(["min", "max", "count"])
    several = by[by["count"] > 1]
    if several.empty:
        return {}
    apart = several[(several["min"] == 0) & (several["max"] == 1)]
    return {
        "title": f"Templates whose versions disagree ({roster[run.model].name})",
        "text": (
            f"{len(apart)} of {len(several)} templates are right in one version and wrong in"
            " another: there, the fillers decide."
        ),
        "entries": [
            {
                "text": f"{domain}_{template}",
                "n": int(count),
                "filter": urlencode({"q": f"{domain}_{template}_v"}),
            }
            for domain, template, count in apart.reset_index()[["domain", "template", "count"]]
            .head(MOST)
            .to_numpy()
            .tolist()
        ],
    }
