"""Picks from the summaries that tables, figures and the report share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from worldprobe.benchmark import Input
from worldprobe.benchmarks.worldsense.contracts import Summaries
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    DISGUISE,
    DOMAINS,
    FAMILY_OF,
    PROBLEMS,
    SETS,
)
from worldprobe.contracts.results import JOINT, OVERALL
from worldprobe.errors import UserError
from worldprobe.report.model_names import Roster

SUMMARIES = Input(Summaries, name="summaries")
#: In the order of tables; any other prompting follows by name.
PROMPTINGS = (
    "basic",
    "constrained",
    "constrained_sum",
    "cot",
    "icl_iid",
    "icl_ood",
    "basic_exchanged",
    "written",
)
PROBLEM_NAMES = {
    "Infer.trivial": "Inference, trivial",
    "Infer.normal": "Inference",
    "Consist.trivial": "Consistency, trivial",
    "Consist.normal": "Consistency",
    "Compl.trivial": "Completeness, trivial",
    "Compl.normal": "Completeness",
    "Infer.extrema": "First or last",
    "Infer.parallel": "Lines in the plane",
    **{problem: family.titles[problem] for problem, family in FAMILY_OF.items()},
}
PROMPTING_NAMES = {
    "basic": "basic",
    "constrained": "constrained",
    "constrained_sum": "constrained, plain sum",
    "cot": "CoT",
    "icl_iid": "ICL-IID",
    "icl_ood": "ICL-OOD",
    "basic_exchanged": "basic, answers exchanged",
    "written": "order first, then the answer",
}
KEY = ["condition", "eval_type", "model"]


def rank_of_name(order: tuple[str, ...], name: str) -> tuple[int, str]:
    """Where a name belongs: in the known order, others by name after it.

    >>> sorted(["x", "cot", "basic"], key=lambda name: rank_of_name(PROMPTINGS, name))
    ['basic', 'cot', 'x']
    """
    return (order.index(name) if name in order else len(order), name)


def main_set(summaries: pd.DataFrame) -> str:
    """The test set, or the first one there is."""
    return min(summaries["condition"].unique(), key=lambda name: rank_of_name(SETS, name))


def main_promptings(summaries: pd.DataFrame) -> dict[str, str]:
    """The prompting under which a model is shown where only one is: model -> the first in order
    that it was asked by, of those that have nine tenths of its answers and more: no sample.
    """
    counts = summaries.groupby(["model", "eval_type"], observed=True)["n"].sum().reset_index()
    most = counts.groupby("model", observed=True)["n"].transform("max")
    whole = counts[10 * counts["n"] >= 9 * most]
    return {
        str(model): min(rows["eval_type"], key=lambda name: rank_of_name(PROMPTINGS, name))
        for model, rows in whole.groupby("model", observed=True)
    }


def pick(
    summaries: pd.DataFrame, grouping: str, metric: str = "accuracy", columns: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Rows of one grouping, its group split into columns.

    Args:
        summaries: contracts.Summaries.
        grouping: which.
        metric: which.
        columns: names of the group's columns.

    Raises:
        UserError: there are none.
    """
    rows = summaries[(summaries["grouping"] == grouping) & (summaries["metric"] == metric)]
    if rows.empty:
        raise UserError(
            "summaries",
            f"have no {metric} by {grouping}.",
            "Summarise the answers again with this worldprobe.",
        )
    rows = rows.reset_index(drop=True)
    if columns:
        parts = rows["group"].str.split(JOINT, expand=True)
        rows = rows.assign(**{name: parts[number] for number, name in enumerate(columns)})
    return rows


def of_main(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the main set, and of each model's main prompting."""
    here = rows[rows["condition"] == main_set(rows)]
    main = main_promptings(here)
    return here[here["eval_type"] == here["model"].map(main)].reset_index(drop=True)


def count_tuples(rows: pd.DataFrame, summaries: pd.DataFrame) -> pd.DataFrame:
    """Rows, overall or by problem, with the number of tuples that each mean is over.

    Summaries count as the paper's standard errors do: in each cell as many as in the smallest one.
    """
    key = ["condition", "eval_type", "model"]
    counts = pick(summaries, "problem_size", columns=("problem", "size"))
    by_problem = counts.groupby([*key, "problem"])["n"].sum()
    numbers = {**by_problem.to_dict(), **counts.groupby(key)["n"].sum().to_dict()}
    asked = zip(*(rows[name] for name in [*key, "grouping", "group"]), strict=True)
    return rows.assign(
        n=[
            numbers[(*labels, group) if by == "problem" else tuple(labels)]
            for *labels, by, group in asked
        ]
    )


def unequal_numbers(summaries: pd.DataFrame) -> tuple[str, ...]:
    """A note on the tuples that ways of asking are about, where those of the main set are not about
    equally many.
    """
    here = summaries[summaries["condition"] == main_set(summaries)]
    counted = count_tuples(pick(here, OVERALL), here).groupby("eval_type", observed=True)["n"]
    if counted.min().nunique() == 1 and counted.max().equals(counted.min()):
        return ()
    numbers = ", ".join(
        f"{prompting_name(str(name))} {rows.min():,}"
        + (f" to {rows.max():,}" * (rows.nunique() > 1))
        for name, rows in sorted(counted, key=lambda one: rank_of_name(PROMPTINGS, str(one[0])))
    )
    return (f"Not all rows are about the same trials. Numbers of tuples: {numbers}.",)


def sorted_by(frame: pd.DataFrame, ranks: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    """The rows in the order of their ranks."""
    keys = list(ranks)
    return frame.iloc[sorted(range(len(frame)), key=lambda row: keys[row])].reset_index(drop=True)


def present_problems(rows: pd.DataFrame) -> list[str]:
    """The problems that there are, in the paper's order."""
    return [problem for problem in PROBLEMS if problem in set(rows["problem"])]


def domains_of(rows: pd.DataFrame) -> list[str]:
    """The domains that there are, as the paper's Table 11 orders them."""
    return [domain for domain in sorted(DOMAINS) if domain in set(rows["domain"])]


def language_models(models: list[str], roster: Roster) -> list[str]:
    """The models without the rules of known behaviour and untrained controls; all of them where
    there is nothing else.
    """
    kept = [
        model for model in models if not roster[model].is_rule and not roster[model].is_untrained
    ]
    return kept or models


def split_tuned(models: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The fine-tuned models among some: id -> base and variant; no other model has a plus sign in
    its id.

    >>> split_tuned(["reader", "reader+10k"])
    {'reader+10k': ('reader', '10k')}
    """
    parts = {model: model.partition("+") for model in models}
    return {model: (base, variant) for model, (base, plus, variant) in parts.items() if plus}


def show_tokens(tokens: Mapping[str, Sequence[int]]) -> str:
    """How many tokens each answer has, for a reader.

    >>> show_tokens({"FALSE": [5, 6], "TRUE": [4]})
    'TRUE 4, FALSE 5 or 6'
    """
    return ", ".join(
        f"{answer} {' or '.join(map(str, tokens[answer]))}"
        for answer in DISGUISE
        if answer in tokens
    )


def prompting_name(prompting: str) -> str:
    """As it is printed."""
    return PROMPTING_NAMES.get(prompting, prompting)
