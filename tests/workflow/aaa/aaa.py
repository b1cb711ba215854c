"""A benchmark in a package of its own: does a model know which word is the opposite of another?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from worldprobe.asked import asked
from worldprobe.benchmark import Asking, table
from worldprobe.contracts import column
from worldprobe.contracts.results import Scores, Summaries
from worldprobe.models.engine import Loglikelihood, Scored
from worldprobe.report.sheet import Sheet, SheetColumn, decimals
from worldprobe.settings.blocks import Block, Count

#: Domain -> word, its opposite, and a word that is near to it.
WORDS = {
    "size": [("big", "small", "large"), ("tall", "short", "high"), ("wide", "narrow", "broad")],
    "place": [("up", "down", "over"), ("left", "right", "aside"), ("near", "far", "close")],
    "time": [("day", "night", "noon"), ("early", "late", "prompt"), ("first", "last", "second")],
}


class Opposites(Block):
    """Which words are asked about."""

    per_domain: Count = 3
    """Words of each domain, at most."""


class OppositesScores(Scores, name="aaa_scores"):
    """Scores of words; means are also taken by domain."""

    domain: str = column(min_length=1)


def list_words(settings: Mapping[str, Any]) -> pd.DataFrame:
    """The items."""
    rows = [
        (domain, *words)
        for domain, found in WORDS.items()
        for words in found[: settings["per_domain"]]
    ]
    items = pd.DataFrame(rows, columns=["domain", "unit", "opposite", "other"])
    return items.assign(cluster=items["unit"])


def compare_endings(item: Any) -> list[Loglikelihood]:
    """What a model is asked about an item: the right ending first."""
    return [
        Loglikelihood(f"The opposite of {item.unit} is", f"{word}.")
        for word in (item.opposite, item.other)
    ]


def first_is_likelier(_item: Any, answers: Sequence[Scored]) -> float:
    """Whether the right ending is the likelier one."""
    return float(answers[0].logprob > answers[1].logprob)


@table(
    inputs=[Summaries],
    section="accuracy",
    title="Hardest domain",
    caption="The domain with the lowest mean of all models.",
)
def hardest_domain(summaries: pd.DataFrame) -> Sheet:
    """A table of its own."""
    means = (
        summaries[summaries["grouping"] == "domain"]
        .groupby("group")["mean"]
        .mean()
        .nsmallest(1)
        .reset_index()
    )
    columns = (
        SheetColumn("Domain", ("group",), is_number=False),
        SheetColumn("Accuracy", ("mean",), decimals(3)),
    )
    return Sheet("Hardest domain", means, columns)


BENCHMARK = asked(
    name="aaa",
    title="Opposites",
    question="Does a language model know opposites?",
    settings=Opposites,
    asking=Asking(list_words, compare_endings, first_is_likelier),
    scores=OppositesScores,
    cite="The measure: nobody's.",
    displays=(hardest_domain,),
)
