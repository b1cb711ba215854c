"""A folder of results as one page that ranks models: static, sortable, with intervals, and with ranks that respect ties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from worldprobe.models.model_types import CAUSAL
from worldprobe.report.page import asset, environment
from worldprobe.report.results import Score


@dataclass(frozen=True)
class Row:
    """One model in one ranking.

    Attributes:
        rank: one more than the number of models whose interval is wholly above its own; None without an interval.
        is_tied: whether another model has the same rank.
        model: its name.
        facts: how it was loaded, in words.
        score: the overall number.
        groups: the numbers of domains or problems, by name.
        bias: a second overall number, where the benchmark has one.
    """

    rank: int | None
    is_tied: bool
    model: str
    facts: str
    score: Score
    groups: Mapping[str, Score]
    bias: Score | None


@dataclass(frozen=True)
class Ranking:
    """Models that were asked the same in the same way.

    Attributes:
        benchmark: whose items.
        kind: of the models.
        asked: how all of them were asked, in words.
        groups: the domains or problems.
        rows: models, the highest mean first.
    """

    benchmark: str
    kind: str
    asked: Mapping[str, str]
    groups: Sequence[str]
    rows: Sequence[Row]

    @property
    def yardsticks(self) -> dict[str, float]:
        """Chance, and published numbers of the same items."""
        score = self.rows[0].score
        return ({} if score.chance is None else {"chance": score.chance}) | dict(score.published)

    @property
    def axis(self) -> tuple[float, float]:
        """The least and the largest accuracy on the picture of intervals: tenths around all of them and chance."""
        scores = [row.score for row in self.rows]
        ends = [end for one in scores for end in (one.low, one.high, one.chance) if end is not None] or [0.0, 1.0]
        return max(0.0, math.floor(10 * min(ends) - 0.1) / 10), min(1.0, math.ceil(10 * max(ends) + 0.1) / 10)

    def place(self, value: float) -> str:
        """Where a number is on the axis, in percent of its length."""
        low, high = self.axis
        return f"{100 * (value - low) / (high - low):.2f}%"


def build_rankings(results: Sequence[tuple[Mapping[str, Any], Sequence[Score]]]) -> list[Ranking]:
    """Rankings of results, one for each benchmark, set of items and way of asking: numbers of different items are never compared.

    Args:
        results: checked results, each with its numbers.
    """
    together: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], Sequence[Score]]]] = {}
    for result, scores in results:
        for benchmark in dict.fromkeys(score.benchmark for score in scores):
            own = [score for score in scores if score.benchmark == benchmark]
            asked = {name: text for name, text in own[0].asked.items() if name != "start tokens"}
            kind = str(result.get("kind") or CAUSAL)
            together.setdefault((benchmark, own[0].items, kind, tuple(asked.items())), []).append((result, own))
    return [
        Ranking(benchmark, kind, dict(asked), _group_names(members), _rank(members))
        for (benchmark, _, kind, asked), members in sorted(
            together.items(), key=lambda entry: (entry[0][0], -len(entry[1]), entry[0][1], entry[0][2])
        )
    ]


def _group_names(members: Sequence[tuple[Mapping[str, Any], Sequence[Score]]]) -> list[str]:
    return list(dict.fromkeys(score.group for _, scores in members for score in scores if score.group != "overall"))


def _rank(members: Sequence[tuple[Mapping[str, Any], Sequence[Score]]]) -> list[Row]:
    overall = [next(s for s in scores if s.group == "overall" and s.metric == "accuracy") for _, scores in members]
    lower_ends = [score.low for score in overall if score.low is not None]
    ranks = [None if score.high is None else 1 + sum(low > score.high for low in lower_ends) for score in overall]
    rows = []
    for (result, scores), score, rank in zip(members, overall, ranks, strict=True):
        groups = {one.group: one for one in scores if one.group != "overall"}
        bias = next((one for one in scores if one.metric == "bias"), None)
        facts = ", ".join(str(fact) for fact in (result["engine"], result["dtype"], result["revision"]) if fact)
        rows.append(Row(rank, rank is not None and ranks.count(rank) > 1, result["model"], facts, score, groups, bias))
    return sorted(rows, key=lambda row: (row.score.value is None, -(row.score.value or 0), row.model))


def build_page(rankings: Sequence[Ranking], title: str, names: Mapping[str, str]) -> str:
    """The page: one HTML file that loads nothing.

    Args:
        rankings: what it shows.
        title: its heading.
        names: benchmark -> its name for readers.
    """
    made = environment()
    made.filters["share"] = lambda value: "–" if value is None else f"{value:.3f}"
    style, script = Markup(asset("page.css") + asset("leaderboard.css")), Markup(asset("sort.js"))
    template = made.from_string(asset("leaderboard.html.jinja"))
    return template.render(title=title, names=names, rankings=rankings, style=style, script=script) + "\n"
