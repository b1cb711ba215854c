"""Picks from EWoK's summaries, and EWoK's words, that its tables, figures and report share."""

from __future__ import annotations

import pandas as pd

from worldprobe.analysis.reliability import RELIABLE
from worldprobe.benchmarks.ewok.vocabulary import (
    NO_PAIRING,
    PARADIGMS,
    RELIABILITY,
    has_pairing,
    is_prompted,
    title_of,
)
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.registry import BASELINES
from worldprobe.report.findings import counted_of
from worldprobe.report.model_names import HUMAN, Roster, is_baseline
from worldprobe.report.sheet import decimals

#: Models that are named with their reliability.
MOST_LISTED = 4
#: Baseline -> the only eval_type under which it has rows; it is shown with every eval_type of the
#: models.
BASELINE_TYPES = {HUMAN: "human_likert", **dict(zip(BASELINES, BASELINES, strict=True))}


def pick(
    summaries: pd.DataFrame,
    grouping: str,
    eval_type: str | None = "logprobs",
    metric: str = "accuracy",
    baselines: bool = True,
) -> pd.DataFrame:
    """Rows of one grouping and metric, all versions, for one eval_type (None: each), with humans
    and baselines or without.

    Where models were prompted about a share of the items, their overall means, and those that stand
    beside them, are over it.

    Raises:
        UserError: the summaries have no such rows; the message says what they have.
    """
    if (
        grouping == OVERALL
        and (eval_type is None or is_prompted(eval_type))
        and (summaries.grouping == "prompted").any()
    ):
        grouping = "prompted"
    rows = summaries[(summaries.grouping == grouping) & (summaries.metric == metric)]
    is_model = ~rows.model.map(is_baseline).astype(bool)
    wanted = is_model if eval_type is None else is_model & (rows.eval_type == eval_type)
    if not wanted.any():
        raise UserError(
            f"summaries, eval_type {eval_type}", *_nothing(summaries, grouping, eval_type, metric)
        )
    if baselines:
        wanted |= rows.model.map(lambda model: BASELINE_TYPES.get(model, "")).eq(rows.eval_type)
    return rows[wanted].reset_index(drop=True)


def pairings(summaries: pd.DataFrame, rows: pd.DataFrame) -> list[float]:
    """The mean pairing beside each row of another metric; missing where there is none."""
    key = ["model", "eval_type", "condition", "grouping", "group"]
    means = summaries[summaries.metric == "pairing"].set_index(key)["mean"]
    return [means.get(cell, float("nan")) for cell in rows[key].itertuples(index=False, name=None)]


def over_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that summarise all versions."""
    return rows[rows.condition == ALL].reset_index(drop=True)


def single_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each version on its own."""
    return rows[rows.condition != ALL].reset_index(drop=True)


def language_models(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of language models, without humans and baselines."""
    return rows[~rows.model.map(is_baseline).astype(bool)].reset_index(drop=True)


def subjects(rows: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """The rows of those whom findings are about: published models, else trained controls, else
    whatever models there are.
    """
    models = language_models(rows)
    return models[models.model.isin(counted_of(list(models.model.unique()), roster))]


def all_reliabilities(
    summaries: pd.DataFrame, eval_type: str | None = "logprobs"
) -> pd.Series[float]:
    """Model -> split-half reliability of its accuracy by domain (None: the median of its ways of
    asking), without those of whom it is not known.
    """
    is_meant = (summaries.grouping == RELIABILITY) & (summaries.metric == "accuracy")
    rows = summaries[is_meant & summaries["mean"].notna()]
    rows = rows if eval_type is None else rows[rows.eval_type == eval_type]
    return rows.groupby("model", sort=False, observed=True)["mean"].median()


def reliabilities(
    summaries: pd.DataFrame, roster: Roster, eval_type: str | None = "logprobs"
) -> pd.Series[float]:
    """The same of those whom findings are about, in their order."""
    by_model = all_reliabilities(summaries, eval_type)
    counted = subjects(by_model.rename_axis("model").reset_index(), roster)["model"]
    return by_model.reindex(roster.in_order(counted))


def say_reliability(reliability: pd.Series[float], roster: Roster) -> str:
    """How reliably domains differ, as a sentence, and what follows for their order."""
    if reliability.empty:
        return (
            "Split-half reliability of domains: not known (too few pairs of concepts), so they are"
            " in the order of the materials."
        )
    show = decimals(2)
    ends = f"{show(reliability.min())} to {show(reliability.max())}"
    numbers = f"{ends}, median {show(reliability.median())}"
    if len(reliability) <= MOST_LISTED:
        numbers = ", ".join(
            f"{roster[str(model)].name} {show(value)}" for model, value in reliability.items()
        )
    sentence = f"Split-half reliability of domains: {numbers}."
    if are_reliable(reliability):
        return sentence
    return (
        f"{sentence} Below {RELIABLE:g}, domains do not differ reliably; they are in the order of"
        " the materials."
    )


def are_reliable(reliability: pd.Series[float]) -> bool:
    """Whether domains may be sorted, by the median of ``reliabilities``."""
    return bool(len(reliability) and reliability.median() >= RELIABLE)


def domain_order(
    summaries: pd.DataFrame, roster: Roster, eval_type: str | None = "logprobs"
) -> list[str]:
    """Domains from the highest to the lowest mean over the language models that findings are about
    (the paper's order in Figure 4), if they differ reliably; else in the order of the materials,
    by name.
    """
    rows = over_versions(pick(summaries, "domain", eval_type))
    if not are_reliable(reliabilities(summaries, roster, eval_type)):
        return sorted(map(str, language_models(rows)["group"].unique()))
    means = subjects(rows, roster).groupby("group")["mean"].mean().reset_index()
    return [
        str(name) for name in means.sort_values(["mean", "group"], ascending=[False, True])["group"]
    ]


def in_words(label: str) -> str:
    """A domain, contrast or eval_type as it is written in a sentence.

    >>> in_words("social-interactions"), in_words("likert_constrained_two")
    ('social interactions', 'Likert, constrained, two examples')
    """
    return (
        title_of(label)
        if label.split("_")[0] in PARADIGMS
        else label.replace("-", " ").replace("_", " ")
    )


def _nothing(
    summaries: pd.DataFrame, grouping: str, eval_type: str | None, metric: str
) -> tuple[str, str]:
    if metric == "pairing" and eval_type is not None and not has_pairing(eval_type):
        return NO_PAIRING, "Take accuracy."
    held = {
        column: sorted(summaries[column].unique().tolist())
        for column, wanted in (("grouping", grouping), ("metric", metric), ("eval_type", eval_type))
        if wanted is not None and wanted not in set(summaries[column])
    }
    if not held:
        return (
            f"no model has rows for {grouping}, {metric} and this eval_type together.",
            "Summarize the judgements of such a run.",
        )
    column, names = next(iter(held.items()))
    wanted = {"grouping": grouping, "metric": metric, "eval_type": str(eval_type)}[column]
    return (
        f'there is no {column} "{wanted}" in these summaries{did_you_mean(wanted, names)}',
        (
            f"They have: {', '.join(names)}. Add what is missing to the configuration and summarize"
            " again."
        ),
    )
