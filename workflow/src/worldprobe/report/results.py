"""``result.json``, the result of evaluating one model: its schema, its numbers, the forms of
others, and the leaderboard.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from markupsafe import Markup
from pydantic import Field

from worldprobe.contracts.results import OVERALL
from worldprobe.errors import UserError
from worldprobe.files import read_text
from worldprobe.models.registry import CAUSAL
from worldprobe.report.page import asset, environment, render_template
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
#: Keys of a results file of lm-eval, and of its run, that are null here.
UNSET = (
    *("git_hash", "upper_git_hash", "pretty_env_info", "total_evaluation_time_seconds"),
    *("system_instruction", "system_instruction_sha", "chat_template", "chat_template_sha"),
    "fewshot_as_multiturn",
)
UNSET_OF_RUN = (
    *("batch_size", "device", "use_cache", "bootstrap_iters"),
    *("random_seed", "numpy_seed", "torch_seed", "fewshot_seed"),
)
#: What a result says of the tokens before each text, among how it was asked.
START = "start tokens"
#: The key of a benchmark's result, and the metric, of the mean over pairs of concepts.
OVER_PAIRS = "mean_over_pairs"
#: Metrics of a benchmark whose items are pairs of contexts and targets.
PAIRING, PAIRING_OVER_PAIRS = "pairing", "pairing_over_pairs"
RANKS = (
    "Each ranking holds models of one kind that were asked the same items in the same way. A"
    " model's rank is 1 plus the number of models whose whole 95% interval lies above its own."
    " Intervals of models with equal rank (=) overlap; worldprobe compare, paired by item, may"
    " still find a difference. Models without an interval have no rank."
)
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


class Published(Block):
    """What a paper prints."""

    source: str
    """Paper and table."""

    is_comparable: bool
    """Whether its models were asked the same items, and read as this model does."""

    means: dict[str, Share]
    """Model and its printed accuracy."""


class BenchmarkResult(Estimate):
    """A model's accuracy in one benchmark, overall and in parts."""

    title: Text
    """The benchmark's name as it is written."""

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


def describe(result: Mapping[str, Any], benchmark: str, findings: Sequence[str] = ()) -> str:
    """A model's numbers in one benchmark, for a reader.

    Args:
        result: as ``result.json`` has it.
        benchmark: its name there.
        findings: the first sentences of its page.
    """
    stated = result["benchmarks"][benchmark]
    scores = [score for score in list_scores(result) if score.benchmark == benchmark]
    rows = [
        (s.group if s.metric == "accuracy" else s.metric.replace("_", " "), s.estimate)
        for s in scores
    ]
    rows += stated["baselines"].items()
    published = (stated["published"] or {"means": {}})["means"]
    return render_template(
        "worldprobe.report",
        "assets/evaluation.txt.jinja",
        model=result["model"],
        loaded=precision(result),
        stated=stated,
        findings=findings,
        rows=rows,
        width=max(len(name) for name in [*dict(rows), *published]),
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
    facts = (result["dtype"], result.get("quantisation"), adapter and f"adapter {adapter}")
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
        """What the first result states: all agree in what was asked and how."""
        return self.rows[0].stated

    @property
    def title(self) -> str:
        """Whose ranking it is."""
        return f"{self.stated['title']}: {self.kind} models"

    @property
    def asked(self) -> str:
        """What all were asked, and how."""
        stated = self.stated
        asked = "".join(f"; {name}: {text}" for name, text in _shared(stated))
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
    def references(self) -> dict[str, float]:
        """Chance, and published numbers of the same items."""
        chance, published = self.stated["chance"], self.stated["published"]
        return ({} if chance is None else {"chance": chance}) | (
            published["means"] if published and published["is_comparable"] else {}
        )

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

    def place(self, value: float) -> str:
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
    made = environment()
    made.filters["share"] = decimals(3)
    style, script = Markup(asset("page.css") + asset("leaderboard.css")), Markup(asset("sort.js"))
    template = made.from_string(asset("leaderboard.html.jinja"))
    shown = {"title": title, "ranks": RANKS, "rankings": rankings}
    return template.render(**shown, style=style, script=script) + "\n"


def task_name(score: Score) -> str:
    """The name of a number among lm-eval's tasks: prefixed, so that it is never taken for another
    implementation's.

    >>> task_name(Score("ewok", "social-relations", "accuracy", {}, {}))
    'worldprobe_ewok_social_relations'
    """
    end = "" if score.group == "overall" else f"_{score.group}"
    return f"worldprobe_{score.benchmark}{end}".replace("-", "_").replace(".", "_").lower()


def task_names(scores: Sequence[Score]) -> dict[tuple[str, str], str]:
    """The names of benchmarks' groups among lm-eval's tasks; of those that would have one name,
    later ones are numbered.
    """
    names: dict[tuple[str, str], str] = {}
    for score in sorted(scores, key=lambda score: score.group != OVERALL):
        if (score.benchmark, score.group) not in names:
            plain, taken = task_name(score), set(names.values())
            numbered = chain([plain], (f"{plain}_{number}" for number in count(2)))
            names[score.benchmark, score.group] = next(n for n in numbered if n not in taken)
    return names


def public_name(result: Mapping[str, Any]) -> str:
    """The model's id on the hub, or its name: where somebody keeps a folder is nobody else's
    business.

    >>> public_name(
    ...     {
    ...         "model": "mine",
    ...         "checkpoint": "/home/ada/mine",
    ...         "revision": None,
    ...         "engine": "transformers",
    ...     }
    ... )
    'mine'
    >>> public_name(
    ...     {
    ...         "model": "gpt2",
    ...         "checkpoint": "openai-community/gpt2",
    ...         "revision": "607a30d",
    ...         "engine": "transformers",
    ...     }
    ... )
    'openai-community/gpt2'
    """
    return str(
        result["checkpoint"]
        if result.get("revision") or _is_id(result["checkpoint"])
        else result["model"]
    )


def _is_id(name: str) -> bool:
    """Whether it is a name as the hub and servers have them, and of no folder here."""
    return bool(re.fullmatch(r"[\w-][\w.:-]*(/[\w.:-]+)?", name)) and not Path(name).exists()


def public_adapter(adapter: Mapping[str, Any]) -> dict[str, Any]:
    """An adapter's facts without folders, of which the last part is left."""
    names = {key: str(adapter[key]) for key in ("name", "base") if adapter.get(key)}
    return {
        **adapter,
        **{key: name if _is_id(name) else Path(name).name for key, name in names.items()},
    }


def to_lm_eval(result: Mapping[str, Any], date: float) -> dict[str, Any]:
    """The keys of a results file of lm-evaluation-harness 0.4: one task per number, one group per
    benchmark.

    Args:
        result: a checked result.
        date: seconds since 1970.
    """
    tasks: dict[str, dict[str, Any]] = {}
    counts: dict[str, dict[str, int]] = {}
    configs: dict[str, dict[str, Any]] = {}
    scores = list_scores(result)
    names = task_names(scores)
    for score in scores:
        name, metric = (
            names[score.benchmark, score.group],
            {"accuracy": "acc"}.get(score.metric, score.metric),
        )
        mean, stderr, n = (score.estimate[key] for key in ("mean", "stderr", "n"))
        entry = tasks.setdefault(name, {"alias": name, "name": name, "sample_len": n})
        entry |= {
            f"{metric},none": mean,
            f"{metric}_stderr,none": "N/A" if stderr is None else stderr,
        }
        counts[name] = {"original": n, "effective": n}
        items = {"version": 1, "items_digest": score.stated["items_digest"]}
        configs[name] = {"task": name, "metadata": {**items, **score.stated["asked"]}}
    adapter = public_adapter(result["adapter"]) if result.get("adapter") else None
    options = (result.get("options") or {}).values()
    limits = [block.get("limit", 0) for block in options]
    wholes = {names[benchmark, OVERALL]: benchmark for benchmark in result["benchmarks"]}
    return {
        "results": tasks,
        "groups": {whole: tasks[whole] for whole in wholes},
        "group_subtasks": {
            whole: sorted(
                name for (owner, _), name in names.items() if owner == benchmark and name != whole
            )
            for whole, benchmark in wholes.items()
        },
        "configs": configs,
        "versions": dict.fromkeys(tasks, 1),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"acc": True} for name in tasks},
        "n-samples": counts,
        "config": {
            "model": result["engine"],
            "model_args": {
                "pretrained": public_name(result),
                "dtype": result["dtype"],
                **({"pretrained": adapter["base"], "peft": adapter["name"]} if adapter else {}),
            },
            "model_dtype": result["dtype"],
            "model_revision": result["revision"],
            "model_sha": result["checkpoint_digest"],
            "limit": max(limits, default=0) or None,
            "batch_sizes": [],
            "gen_kwargs": {},
            **dict.fromkeys(UNSET_OF_RUN),
        },
        "date": date,
        "transformers_version": result["packages"].get("transformers"),
        "lm_eval_version": f"worldprobe {result['worldprobe_version']}",
        "task_hashes": {name: configs[name]["metadata"]["items_digest"] for name in tasks},
        "model_source": result["engine"],
        "model_name": public_name(result),
        "model_name_sanitized": result["model"],
        **dict.fromkeys(UNSET),
    }


def to_hub(result: Mapping[str, Any], dataset: str | None) -> list[dict[str, Any]]:
    """Entries of ``.eval_results/*.yaml`` in a model's repository: the overall accuracies, as
    shares (never percent).

    Args:
        result: a checked result.
        dataset: the hub's dataset with these items; None: the benchmark's release, for its items
            only.

    Raises:
        UserError: the items are not the release's, and no dataset is named.
    """
    entries = []
    for name, stated in result["benchmarks"].items():
        if stated["mean"] is None:
            continue
        if not (dataset or stated["release"]):
            problem = f"the numbers of {name} are for items that no known dataset of the hub has."
            raise UserError(
                "--dataset",
                problem,
                "Name the dataset on the hub with these items: --dataset OWNER/NAME.",
            )
        task = name if len(result["benchmarks"]) > 1 else "default"
        target = {"id": dataset, "task_id": task} if dataset else dict(stated["release"])
        how = "; ".join(f"{key}: {text}" for key, text in stated["asked"].items())
        low, high = stated["ci_low"], stated["ci_high"]
        interval = "" if low is None else f"95% interval {low:.4f} to {high:.4f}; "
        notes = (
            f"worldprobe {result['worldprobe_version']}, accuracy;"
            f" {interval}{', '.join(precision(result))}; {how}"
        )
        entries.append({"dataset": target, "value": stated["mean"], "notes": notes})
    return entries
