"""``result.json``, the result of evaluating one model: its schema and its numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from worldprobe.contracts.results import OVERALL
from worldprobe.errors import UserError
from worldprobe.files import read_text
from worldprobe.report.page import render_template
from worldprobe.settings import Block, Finding, Source, check
from worldprobe.settings.blocks import Text, absent

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.provenance import Provenance

#: Raised when a key changes its meaning or is removed.
SCHEMA_VERSION = 1
REPAIR = (
    "Give a result.json that `worldprobe evaluate` of this release wrote, or evaluate the model"
    " again."
)
#: By so much a mean may lie outside its interval, as sums are rounded.
ROUNDING = 1e-9
#: What a result says of the tokens before each text, among how it was asked.
START = "start tokens"
#: The precision of weights that only a server knows.
SERVERS = "the server's"
#: The key of a benchmark's result, and the metric, of the mean over pairs of concepts.
OVER_PAIRS = "mean_over_pairs"
#: Begins and ends grey text on a terminal.
GREY = ("\x1b[2m", "\x1b[22m")
#: Metrics of a benchmark whose items are pairs of contexts and targets.
PAIRING, PAIRING_OVER_PAIRS = "pairing", "pairing_over_pairs"
Share = Annotated[float, Field(ge=0, le=1)]
Signed = Annotated[float, Field(ge=-1, le=1)]
Number = Annotated[int, Field(ge=0)]


class Estimate(Block):
    """A mean with its standard error and its interval."""

    mean: Signed | None
    """The mean; null where nothing was scored."""

    stderr: Share | None
    """The standard error of the mean."""

    ci_low: Signed | None
    """Lower end of the 95% interval."""

    ci_high: Signed | None
    """Upper end of the 95% interval."""

    n: Number
    """Number of units that the mean is over."""

    counts: dict[str, Number]
    """What else was counted, such as ties and answers that could not be read."""

    def findings(self) -> Iterator[Finding]:
        """A mean that is not between the ends of its interval, or an interval without one of
        them.
        """
        if (self.ci_low is None) != (self.ci_high is None) or (
            self.mean is None and self.ci_low is not None
        ):
            yield ("ci_low",), "mean, ci_low and ci_high do not make an interval.", REPAIR
        stated = [
            (value, name)
            for name in ("ci_low", "mean", "ci_high")
            if (value := getattr(self, name)) is not None
        ]
        for (value, name), (next_value, next_name) in pairwise(stated):
            if value > next_value + ROUNDING:
                yield (name,), f"{value:g} is above {next_name}, {next_value:g}.", REPAIR


class PartOfResult(Estimate):
    """A mean over some units, or of another metric."""

    metric: str
    """What the mean is of: accuracy, bias, ..."""

    grouping: str
    """What units are grouped by; overall: not at all."""

    group: str
    """all, or the group."""

    name: str | None = absent()
    """The group as pages print it, where that is not its id with spaces for dashes."""


class Published(Block):
    """A paper's printed numbers."""

    source: str
    """Paper and table."""

    is_comparable: bool
    """Whether its models were asked the same items, and read as this model does."""

    means: dict[str, Share]
    """Model and its printed accuracy."""


class Reference(Block):
    """What a known model or baseline reaches on the same items, and how the model differs from
    it.
    """

    name: Text
    """As pages print it."""

    is_baseline: bool
    """Whether it is no language model."""

    mean: Share
    """Its accuracy."""

    n: Number
    """Units that both have."""

    pairing: Share | None
    """Its pairing."""

    groups: dict[str, Share]
    """Group -> its accuracy there."""

    difference: Signed
    """The model's accuracy less its own, on these units."""

    ci_low: Signed | None
    """Lower end of the difference's 95% interval."""

    ci_high: Signed | None
    """Upper end of it."""

    p_holm: Share | None
    """p of no difference, corrected for the number of references."""

    finding: str
    """What may be said of the difference."""


class BenchmarkResult(Estimate):
    """A model's accuracy in one benchmark, overall and in parts."""

    title: Text
    """What the score is called; the benchmark's bare name is that of its published items."""

    unit: str
    """What is averaged, in the plural."""

    chance: Share | None
    """What guessing reaches; null where that differs from item to item."""

    interval: str
    """What the intervals are over."""

    eval_type: str
    """How the model was asked, as tables name it."""

    asked: dict[str, str]
    """How it was asked and averaged, in words; models are ranked where all of it but the start
    tokens is equal. No number of the model's stands here.
    """

    items_digest: str
    """SHA-256 of what was asked, which is equal where two models were asked the same."""

    mean_over_pairs: Estimate | None = absent()
    """The accuracy in which every pair of concepts weighs the same, where a benchmark has pairs."""

    parts: list[PartOfResult]
    """Accuracy by group, and other metrics."""

    baselines: dict[str, Estimate]
    """Accuracy of what knows nothing of the world, on the same items."""

    references: dict[str, Reference] | None = absent()
    """Known models and baselines on the same items, where the package brings them."""

    published: Published | None
    """What the benchmark's paper prints."""

    release: dict[str, str] | None
    """The hub's dataset with exactly these items, as ``.eval_results`` names it."""

    notes: list[str]
    """What must be said next to the numbers."""


class Result(Block):
    """What `worldprobe evaluate` writes about one model. A new key raises nothing; one with
    another meaning the version.
    """

    schema_version: Literal[1]
    """Version of this schema."""

    worldprobe_version: str
    """The release of worldprobe that computed the numbers."""

    model: Text
    """The model's name, as tables show it."""

    checkpoint: str
    """The folder, the hub id, or what a server calls the model."""

    revision: str | None
    """Branch, tag or commit of a hub id."""

    checkpoint_digest: str
    """SHA-256 of the weights, or of what a server says of itself."""

    dtype: str | None
    """Precision of the weights."""

    quantisation: str | None = absent()
    """How the weights are quantised; without it, not at all, or only a server knows."""

    adapter: dict[str, str | None] | None = absent()
    """The adapter that was put on the weights: name, revision and digest, and its base's name
    and digest.
    """

    chat_template_kwargs: dict[str, bool | int | float | str] | None = absent()
    """Variables of its chat template, where any were stated."""

    engine: str | None
    """What computed the answers."""

    kind: Literal["causal", "masked", "encoder-decoder"] | None = absent()
    """Type of model; without it, causal. Numbers of different kinds are different
    measures.
    """

    pseudo_log_likelihood: Literal["within_word_l2r", "original"] | None = absent()
    """What was hidden while a masked model predicted a token; null for other kinds."""

    packages: dict[str, str]
    """Package and its version, of all that the scores depend on."""

    benchmarks: Annotated[dict[str, BenchmarkResult], Field(min_length=1)]
    """Benchmark -> the model's accuracy in it."""

    options: dict[str, dict[str, bool | int | str]] | None = absent()
    """Benchmark -> the options of `worldprobe evaluate` with which it was asked."""


def benchmark_result(
    summaries: pd.DataFrame, counts: Sequence[str] = (), **stated: Any
) -> dict[str, Any]:
    """A benchmark's numbers as plain values.

    Args:
        summaries: rows of the model's summaries: overall accuracy, then the parts.
        counts: its columns that count something, each called n_NAME there.
        stated: further keys of ``BenchmarkResult``.
    """
    overall, *others = summaries.to_dict("records")
    parts = [
        {key: str(row[key]) for key in ("metric", "grouping", "group")} | estimate(row, counts)
        for row in others
    ]
    optional: dict[str, Any] = {"baselines": {}, "published": None, "release": None, "notes": []}
    return {**estimate(overall, counts), **optional, **stated, "parts": parts}


def sample_of(made: Provenance, size: int, what: str) -> dict[str, str]:
    """What a result says of a sample, where not all items were asked.

    Args:
        made: what made the items.
        size: number of units in it.
        what: the units, in the plural.
    """
    whole = made.details.get("sample")
    return {"sample": f"{size:,} of {whole['of']:,} {what}"} if whole else {}


def is_smoke_test(made: Provenance) -> bool:
    """Whether a sample is too small to have a unit of each stratum, so that no number of it is an
    estimate of all items.
    """
    return "strata" in made.details.get("sample", {})


def no_estimate(made: Provenance, what: str) -> list[str]:
    """What is said of such a sample.

    Args:
        made: what made the items.
        what: the strata, in the plural.
    """
    if not is_smoke_test(made):
        return []
    number = made.details["sample"]["strata"]
    return [
        f"This is a smoke test: the sample leaves out some of the {number:,} {what}, so its"
        " numbers are no estimate of the accuracy in all items."
    ]


def estimate(row: Mapping[Any, Any], counts: Sequence[str] = ()) -> dict[str, Any]:
    """One row of summaries as plain values; JSON has no NaN."""
    columns = {"mean": "mean", "stderr": "std_error", "ci_low": "ci_low", "ci_high": "ci_high"}
    numbers = {
        key: float(row[column]) if math.isfinite(row[column]) else None
        for key, column in columns.items()
    }
    counted = {name: int(row[f"n_{name}"]) for name in counts}
    return {**numbers, "n": int(row["n"]), "counts": counted}


@dataclass(frozen=True)
class Score:
    """One number of a result.

    Attributes:
        benchmark: whose it is.
        group: ``overall``, or the name of a group.
        metric: what it measures.
        estimate: its mean, standard error, interval, number of units and counts.
        stated: what the result states of the benchmark.
    """

    benchmark: str
    group: str
    metric: str
    estimate: Mapping[str, Any]
    stated: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The group as pages print it."""
        return str(self.estimate.get("name") or self.group.replace("-", " "))

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value."""
        shares = ("accuracy", OVER_PAIRS, PAIRING, PAIRING_OVER_PAIRS)
        return (0.0, 1.0) if self.metric in shares else (-1.0, 1.0)


def list_scores(result: Mapping[str, Any]) -> list[Score]:
    """All numbers of a checked result: of each benchmark overall accuracy first, then that over
    pairs of concepts, then the parts.
    """
    scores = []
    for name, stated in result["benchmarks"].items():
        groupings = {part["grouping"] for part in stated["parts"]} - {OVERALL}
        scores.append(Score(name, OVERALL, "accuracy", stated, stated))
        if over_pairs := stated.get(OVER_PAIRS):
            scores.append(Score(name, OVERALL, OVER_PAIRS, over_pairs, stated))
        for part in stated["parts"]:
            is_named_alike = part["grouping"] != OVERALL and (
                len(groupings) > 1 or part["group"] == OVERALL
            )
            group = OVERALL if part["grouping"] == OVERALL else part["group"]
            group = f"{part['grouping']} {group}" if is_named_alike else group
            scores.append(Score(name, group, part["metric"], part, stated))
    return scores


def describe(
    result: Mapping[str, Any],
    benchmark: str,
    findings: Sequence[str] = (),
    is_coloured: bool = False,
) -> str:
    """A model's numbers in one benchmark, for a reader, and below them what others reach on the
    same items.

    Args:
        result: as ``result.json`` has it.
        benchmark: its name there.
        findings: the first sentences of its page.
        is_coloured: whether others are grey, as on a terminal.
    """
    stated = result["benchmarks"][benchmark]
    scores = [score for score in list_scores(result) if score.benchmark == benchmark]
    rows = [
        (s.label if s.metric == "accuracy" else s.metric.replace("_", " "), s.estimate)
        for s in scores
    ]
    rows += stated["baselines"].items()
    references = stated.get("references") or {}
    published = stated["published"] or {"means": {}, "is_comparable": False}
    others = published["means"] if published["is_comparable"] else {}
    names = [*dict(rows), *others, *(reference["name"] for reference in references.values())]
    return render_template(
        "worldprobe.report",
        "assets/evaluation.txt.jinja",
        model=result["model"],
        loaded=precision(result),
        stated=stated,
        findings=findings,
        rows=rows,
        references=references,
        published=others,
        width=max(map(len, names)),
        grey=GREY if is_coloured else ("", ""),
    )


def merge_results(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Two results of one model as one; of a benchmark in both, the later numbers.

    >>> merge_results(
    ...     {"model": "m", "benchmarks": {"a": 1}}, {"model": "m", "benchmarks": {"b": 3}}
    ... )
    {'model': 'm', 'benchmarks': {'a': 1, 'b': 3}}
    """
    nested = {
        key: {**earlier[key], **later[key]}
        for key in ("benchmarks", "options", "packages")
        if key in earlier and key in later
    }
    return {**earlier, **later, **nested}


def check_result(document: Any, name: str = "result.json") -> dict[str, Any]:
    """A result that follows the schema.

    Raises:
        UserError: it does not; names the key.
    """
    if isinstance(document, dict) and document.get("schema_version") != SCHEMA_VERSION:
        version = document.get("schema_version", "none")
        raise UserError(
            name, f"schema_version is {version}; this release reads {SCHEMA_VERSION}.", REPAIR
        )
    _, problems = check(Result, document, [Source(name, document)])
    if problems:
        raise UserError(name, problems[0].problem, REPAIR)
    return dict(document)


def precision(result: Mapping[str, Any]) -> list[str]:
    """What a result's weights are in: precision, quantisation and adapter, where there are any."""
    adapter = public_adapter(result["adapter"])["name"] if result.get("adapter") else None
    dtype = "precision of the server" if result["dtype"] == SERVERS else result["dtype"]
    facts = (dtype, result.get("quantisation"), adapter and f"adapter {adapter}")
    return [fact for fact in facts if fact not in (None, "none")]


def read_result(path: Path) -> dict[str, Any]:
    """Read and check a ``result.json``.

    Raises:
        UserError: it cannot be read, is not JSON, or does not follow the schema.
    """
    try:
        document = json.loads(read_text(path, REPAIR), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise UserError(path, "is not valid JSON.", REPAIR) from error
    return check_result(document, str(path))


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def is_public_id(name: str) -> bool:
    """Whether it is a name as the hub and servers have them, and of no folder here."""
    return bool(re.fullmatch(r"[\w-][\w.:-]*(/[\w.:-]+)?", name)) and not Path(name).exists()


def public_adapter(adapter: Mapping[str, Any]) -> dict[str, Any]:
    """An adapter's facts without folders, of which the last part is left."""
    names = {key: str(adapter[key]) for key in ("name", "base") if adapter.get(key)}
    return {
        **adapter,
        **{key: name if is_public_id(name) else Path(name).name for key, name in names.items()},
    }
