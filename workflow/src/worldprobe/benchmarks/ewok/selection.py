"""Picks from EWoK's summaries, and EWoK's words, that its tables, figures and report share."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.ewok.ways import PARADIGMS, title_of
from worldprobe.present import selection
from worldprobe.present.roster import HUMAN, WORD2VEC, Roster
from worldprobe.present.selection import language_models, over_versions

YARDSTICK_TYPES = {HUMAN: "human_likert", WORD2VEC: "word2vec"}


def pick(
    summaries: pd.DataFrame,
    grouping: str,
    eval_type: str | None = "logprobs",
    metric: str = "accuracy",
    yardsticks: bool = True,
) -> pd.DataFrame:
    """Rows of one grouping and metric, all versions, for one eval_type (None: each), with humans and word2vec or without.

    Raises:
        UserError: the summaries have no such rows; the message says what they have.
    """
    return selection.pick(summaries, grouping, eval_type, metric, YARDSTICK_TYPES if yardsticks else None)


def domain_order(rows: pd.DataFrame, roster: Roster) -> list[str]:
    """Domains from the easiest to the hardest for the language models of these rows (the paper's order in Figure 4).

    Untrained controls have no say, unless there is nobody else.
    """
    models = language_models(over_versions(rows))
    trained = models[~models.model.map(lambda model: roster[model].is_untrained)]
    means = (trained if len(trained) else models).groupby("group")["mean"].mean().reset_index()
    return [str(name) for name in means.sort_values(["mean", "group"], ascending=[False, True])["group"]]


def in_words(label: str) -> str:
    """A domain, contrast or eval_type as it is written in a sentence.

    >>> in_words("social-interactions"), in_words("likert_constrained_two")
    ('social interactions', 'Likert, constrained, two examples')
    """
    return title_of(label) if label.split("_")[0] in PARADIGMS else selection.in_words(label)
