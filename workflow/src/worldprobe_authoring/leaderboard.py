"""The leaderboard: models ranked by their results, on a page and as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup

from worldprobe.benchmark import way_in_words
from worldprobe.contracts.results import OVERALL
from worldprobe.models.registry import CAUSAL
from worldprobe.report.page import asset, environment
from worldprobe.report.results import PAIRING, START, list_scores, precision
from worldprobe.report.sheet import (
    ABSENT,
    INTERVAL,
    Sheet,
    SheetColumn,
    decimals,
    is_absent,
    number_column,
    text_column,
)

RANKS = (
    "Each ranking holds models of one kind that were asked the same items in the same way. A"
    " model's rank is 1 plus the number of models whose whole 95% interval lies above its own."
    " Intervals of models with equal rank (=) overlap; worldprobe compare, paired by item, may"
    " still find a difference. Models without an interval have no rank."
)


@dataclass(frozen=True)
class RankedModel:
    """One model in one ranking.

    Attributes:
        rank: one more than the number of models whose interval is wholly above its own; None
            without an interval.
        is_tied: whether another model has the same rank.
        model: its name.
        facts: how it was loaded, in words.
        stated: what its result states of the benchmark.
        groups: name of a group -> its accuracy.
        others: other metric -> its overall value.
    """

    rank: int | None
    is_tied: bool
    model: str
    facts: str
    stated: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Any]]
    others: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Ranking:
    """Models that were asked the same in the same way.

    Attributes:
        kind: of the models.
        rows: models, the highest mean first.
    """

    kind: str
    rows: Sequence[RankedModel]

    @property
    def stated(self) -> Mapping[str, Any]:
        """The statement of the first result: all agree in what was asked and how."""
        return self.rows[0].stated

    @property
    def title(self) -> str:
        """Whose ranking it is."""
        return f"{self.stated['title']}: {self.kind} models"

    @property
    def asked(self) -> str:
        """The items that all were asked, and how."""
        stated = self.stated
        asked = "".join(
            f"; {name}: {way_in_words(text) if name == 'way of asking' else text}"
            for name, text in _shared(stated)
        )
        digest = stated["items_digest"][:12]
        return f"{stated['n']} {stated['unit']}{asked}. Items' digest {digest}."

    @property
    def groups(self) -> list[str]:
        """The domains or problems."""
        return list(dict.fromkeys(group for row in self.rows for group in row.groups))

    @property
    def others(self) -> list[str]:
        """Metrics besides accuracy; results of an earlier worldprobe may lack some."""
        return list(dict.fromkeys(name for row in self.rows for name in row.others))

    @property
    def beside(self) -> list[Mapping[str, Any]]:
        """What stands below the models, in grey: references of the same items that are not among
        them, the highest first, then printed numbers of the same items, and chance. Each has a name
        and a mean; references also ``pairing`` and ``groups``.
        """
        shown = {row.model for row in self.rows}
        references = {
            name: reference
            for row in self.rows
            for name, reference in (row.stated.get("references") or {}).items()
            if name not in shown
        }
        chance, published = self.stated["chance"], self.stated["published"]
        printed = published["means"] if published and published["is_comparable"] else {}
        lines = sorted(references.values(), key=lambda reference: -reference["mean"])
        for number, line in enumerate(lines):
            if line["n"] < self.stated["n"]:
                name = f"{line['name']} (on {line['n']:,} of these {self.stated['unit']})"
                lines[number] = {**line, "name": name}
        lines += [{"name": f"{name} (published)", "mean": mean} for name, mean in printed.items()]
        return lines + ([] if chance is None else [{"name": "chance", "mean": chance}])

    def pairing_of(self, reference: Mapping[str, Any]) -> dict[str, float]:
        """A reference's pairing by the metric's name; nothing where it has none."""
        paired = reference.get("pairing")
        return {} if paired is None else {PAIRING: paired}

    @property
    def headings(self) -> dict[str, str]:
        """Group -> as pages print it."""
        scores = list_scores({"benchmarks": {"": self.stated}})
        return {score.group: score.label for score in scores}

    @property
    def axis(self) -> tuple[float, float]:
        """The least and the largest accuracy on the picture of intervals: tenths around all of
        them and chance.
        """
        keys = ("ci_low", "ci_high", "chance")
        ends = [
            end for row in self.rows for key in keys if (end := row.stated[key]) is not None
        ] or [0.0, 1.0]
        return max(0.0, math.floor(10 * min(ends) - 0.1) / 10), min(
            1.0, math.ceil(10 * max(ends) + 0.1) / 10
        )

    def position(self, value: float) -> str:
        """Where a number is on the axis, in percent of its length."""
        low, high = self.axis
        return f"{100 * (value - low) / (high - low):.2f}%"


def _shared(stated: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """How all models of a ranking were asked: the start tokens are each model's own."""
    return tuple(pair for pair in stated["asked"].items() if pair[0] != START)


def build_rankings(results: Sequence[Mapping[str, Any]]) -> list[Ranking]:
    """Rankings of results, one for each benchmark, set of items and way of asking: numbers of
    different items are never compared.
    """
    together: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for result in results:
        kind = str(result.get("kind") or CAUSAL)
        for name, stated in result["benchmarks"].items():
            key = (name, stated["items_digest"], kind, _shared(stated))
            together.setdefault(key, []).append(result)
    return [
        Ranking(kind, _rank(name, members))
        for (name, _, kind, _), members in sorted(
            together.items(),
            key=lambda entry: (entry[0][0], -len(entry[1]), entry[0][1], entry[0][2]),
        )
    ]


def _rank(benchmark: str, results: Sequence[Mapping[str, Any]]) -> list[RankedModel]:
    overall = [result["benchmarks"][benchmark] for result in results]
    lower_ends = [stated["ci_low"] for stated in overall if stated["ci_low"] is not None]
    ranks = [
        None
        if stated["ci_high"] is None
        else 1 + sum(low > stated["ci_high"] for low in lower_ends)
        for stated in overall
    ]
    rows = []
    for result, stated, rank in zip(results, overall, ranks, strict=True):
        scores = [score for score in list_scores(result) if score.benchmark == benchmark][1:]
        groups = {score.group: score.estimate for score in scores if score.metric == "accuracy"}
        others = {score.metric: score.estimate for score in scores if score.group == OVERALL}
        start = stated["asked"].get(START, "none")
        facts = ", ".join(
            filter(
                None,
                (
                    result["engine"],
                    *precision(result),
                    result["revision"],
                    "" if start == "none" else f"{START}: {start}",
                ),
            )
        )
        is_tied = rank is not None and ranks.count(rank) > 1
        rows.append(RankedModel(rank, is_tied, result["model"], facts, stated, groups, others))
    return sorted(
        rows, key=lambda row: (row.stated["mean"] is None, -(row.stated["mean"] or 0), row.model)
    )


def print_rankings(rankings: Sequence[Ranking], title: str) -> Sheet:
    """The rankings as one table: a row per model, one ranking below the other."""
    import pandas as pd

    lines, notes = [], []
    for number, ranking in enumerate(rankings, start=1):
        notes.append(f"{number}: {ranking.asked}")
        for row in ranking.rows:
            line = {"ranking": number, "of": ranking.title, "rank": row.rank, "tied": row.is_tied}
            line |= {"model": row.model, "loaded": row.facts, "asked": ranking.asked}
            line |= {key: row.stated[key] for key in ("mean", "ci_low", "ci_high", "n")}
            numbers = {name: score["mean"] for name, score in {**row.others, **row.groups}.items()}
            lines.append(line | row.stated["counts"] | numbers)
        for other in ranking.beside:
            line = {"ranking": number, "of": ranking.title, "rank": None, "tied": False}
            line |= {"model": other["name"], "loaded": "for comparison", "asked": ranking.asked}
            line |= {"mean": other["mean"], "ci_low": None, "ci_high": None, "n": other.get("n")}
            lines.append(line | dict(other.get("groups", {})) | ranking.pairing_of(other))
    return Sheet(
        title=title,
        frame=pd.DataFrame(lines).astype({"rank": "Int64"}),
        columns=(
            SheetColumn("Ranking", ("ranking", "of"), "{} {}".format, is_number=False, once=True),
            SheetColumn("Rank", ("rank", "tied"), _rank_in_words),
            text_column("Model", "model"),
            text_column("Loaded as", "loaded"),
            number_column("Accuracy", "mean"),
            INTERVAL,
        ),
        notes=(RANKS, *notes),
        group="ranking",
    )


def _rank_in_words(rank: Any, is_tied: bool) -> str:
    return ABSENT if is_absent(rank) else f"{rank}{'=' * is_tied}"


def build_page(rankings: Sequence[Ranking], title: str) -> str:
    """The page: one HTML file that loads nothing.

    Args:
        rankings: what it shows.
        title: its heading.
    """
    made, folder = environment(), resources.files(__package__)
    made.filters["share"] = decimals(3)
    own = folder.joinpath("leaderboard.css").read_text(encoding="utf-8")
    style, script = Markup(asset("page.css") + own), Markup(asset("sort.js"))
    page = folder.joinpath("leaderboard.html.jinja").read_text(encoding="utf-8")
    shown = {"title": title, "ranks": RANKS, "rankings": rankings}
    return made.from_string(page).render(**shown, style=style, script=script) + "\n"
