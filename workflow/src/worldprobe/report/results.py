"""``result.json``, the result of evaluating one model: its schema, its numbers, the forms of
others, and the leaderboard.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from markupsafe import Markup
from pydantic import Field

from worldprobe.errors import UserError
from worldprobe.files import read_text
from worldprobe.models.registry import CAUSAL
from worldprobe.report.page import asset, environment
from worldprobe.settings import Block, Finding, Source, check
from worldprobe.settings.blocks import Text, absent

#: Raised when a key changes its meaning or is removed.
SCHEMA_VERSION = 1
#: What a mean over EWoK's items comes with.
_OF_ACCURACY = (
    *("materials", "eval_type", "measure", "metric", "tie_rule", "average", "start_tokens"),
    *("accuracy_by_domain", "published", "published_source"),
)
#: The estimate of a mean: keys of a result, and the columns of a summary that they are from.
ESTIMATE = {"mean": "mean", "stderr": "std_error", "ci_low": "ci_low", "ci_high": "ci_high"}
REPAIR = (
    "Give a result.json that `worldprobe evaluate` of this release wrote, or evaluate the model"
    " again."
)


#: By so much a mean may lie outside its interval, as sums are rounded.
ROUNDING = 1e-9
#: A share of a whole, a share or a difference of two, and a number of things.
Share = Annotated[float, Field(ge=0, le=1)]
Signed = Annotated[float, Field(ge=-1, le=1)]
Number = Annotated[int, Field(ge=0)]


class _WithInterval(Block):
    """A mean between the ends of its interval, and of its range."""

    def findings(self) -> Iterator[Finding]:
        """Numbers that are not in order."""
        for names in (("ci_low", "mean", "ci_high"), ("low", "mean", "high")):
            known = [(getattr(self, name, None), name) for name in names]
            stated = [(value, name) for value, name in known if value is not None]
            for (value, name), (next_value, next_name) in pairwise(stated):
                if value > next_value + ROUNDING:
                    yield (name,), f"{value:g} is above {next_name}, {next_value:g}.", REPAIR


class Mean(_WithInterval):
    """A mean over EWoK's items."""

    mean: Share | None
    """The mean of the versions' means."""

    low: Share | None
    """The lowest mean of a version."""

    high: Share | None
    """The highest mean of a version."""

    ci_low: Share | None
    """Lower end of the 95% interval, for other pairs of concepts and versions; with one
    version, about its fillings only.
    """

    ci_high: Share | None
    """Upper end of the 95% interval."""

    stderr: Share | None
    """The standard error of the mean, for the same other units as the interval."""

    n_items: Number
    """Number of items."""

    n_ties: Number
    """Targets whose two probabilities are equal; each counts 0.5."""

    n_near_ties: Number
    """Targets whose two probabilities differ by less than the precision vouches for."""

    n_missing: Number
    """Targets without a score."""

    def findings(self) -> Iterator[Finding]:
        """Likewise, and more ties than there are targets."""
        yield from super().findings()
        for name in ("n_ties", "n_near_ties", "n_missing"):
            if getattr(self, name) > 2 * self.n_items:
                yield (
                    (name,),
                    (
                        f"{getattr(self, name)} is more than two targets for each of {self.n_items}"
                        " items."
                    ),
                    REPAIR,
                )


class TupleMean(_WithInterval):
    """A mean over WorldSense's tuples."""

    mean: Signed | None
    """The mean over tuples."""

    conf95: Annotated[float, Field(ge=0)] | None
    """Half of the 95% interval over tuples, as the paper computes it."""

    ci_low: Signed | None
    """Lower end of the 95% interval over skins and abstract problems."""

    ci_high: Signed | None
    """Upper end of the 95% interval over skins and abstract problems."""

    stderr: Share | None
    """The standard error of the mean, for the same other units as the interval."""

    n_clusters: Number
    """Number of skins that the interval is over."""

    n_tuples: Number
    """Number of tuples."""


class ItemsOfResult(Block):
    """The items of EWoK."""

    source: str
    """builtin@ and the edition of the built-in materials, a folder or an archive."""

    digest: str
    """SHA-256 of the materials."""

    items_digest: str
    """SHA-256 of the items' table, which is equal where two models were asked the same."""

    n_items: int = Field(ge=0)
    """Number of items, of all versions."""

    versions: list[int]
    """The versions of the items."""

    is_official_release: bool
    """Whether these are exactly the items of EWoK-core-1.0."""


class TrialsOfResult(Block):
    """The trials that were asked."""

    digest: str
    """SHA-256 of the trials' table."""

    n_trials: Number
    """Their number."""

    set: str | None = absent()
    """The set that they are of."""


class WorldSenseResult(Block):
    """The numbers of WorldSense."""

    trials: TrialsOfResult

    prompting: str
    """The prompting strategy."""

    form: str
    """Whether the model was asked as a conversation or as plain text."""

    answer_tokens: dict[str, list[int]] | None = absent()
    """Numbers of tokens of each answer, where answers were compared."""

    accuracy: TupleMean
    bias: TupleMean

    accuracy_by_problem: dict[str, TupleMean]
    """Accuracy in each problem."""

    invalid: Number
    """Answers that could not be read; they count as wrong."""

    baselines: dict[str, TupleMean] | None = absent()
    """Accuracy of rules that never chain two clauses, on the same trials."""

    published: dict[str, Share]
    """Model and its printed accuracy in the paper's Table 2."""

    published_source: str
    """Where the printed numbers are."""


class ItemMean(_WithInterval):
    """A mean over the items of a benchmark that shared parts ask and score."""

    grouping: str
    """What items are grouped by; overall: not at all."""

    group: str
    """all, or the group."""

    mean: Share | None
    """The mean over items."""

    ci_low: Share | None
    """Lower end of the 95% interval over clusters of items."""

    ci_high: Share | None
    """Upper end of the 95% interval over clusters of items."""

    stderr: Share | None
    """The standard error of the mean, for the same other units as the interval."""

    n_clusters: Number
    """Number of clusters that the interval is over."""

    n: Number
    """Number of items."""


class BenchmarkResult(Block):
    """The numbers of a benchmark that shared parts ask and score."""

    title: Text | None = absent()
    """The benchmark's name as it is written."""

    chance: Share | None = absent()
    """What guessing reaches, where it is the same for all items."""

    items_digest: str
    """SHA-256 of the items."""

    eval_type: str
    """How the model was asked."""

    means: list[ItemMean]
    """Accuracy, overall first."""


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

    engine: str | None
    """What computed the answers."""

    kind: Literal["causal", "masked", "encoder-decoder"] | None = absent()
    """How the model reads; without it, causal. Numbers of different kinds are different
    measures.
    """

    pseudo_log_likelihood: Literal["within_word_l2r", "original"] | None = absent()
    """What was hidden while a masked model predicted a token; null for other kinds."""

    packages: dict[str, str]
    """Package and its version, of all that the scores depend on."""

    materials: ItemsOfResult | None = absent()

    eval_type: Literal["logprobs"] | None = absent()
    """How EWoK's items were asked."""

    measure: Literal["contexts"] | None = absent()
    """What is compared, as in the paper: P(target | its context) with P(target | the other
    context), for both targets.
    """

    metric: Literal["accuracy"] | None = absent()
    """What the means are means of."""

    tie_rule: Literal["half"] | None = absent()
    """What two equal probabilities count, namely 0.5."""

    average: Literal["versions"] | None = absent()
    """How the means are taken, as in the paper: over the items of each version, then over
    versions.
    """

    start_tokens: list[str] | None = None
    """Tokens that come before each text; null where the engine does not say."""

    accuracy: Mean | None = absent()

    accuracy_by_domain: dict[str, Mean] | None = absent()
    """EWoK's accuracy in each domain."""

    published: dict[str, Share] | None = absent()
    """Model and its printed mean in the paper's Table 1."""

    published_source: str | None = absent()
    """Where the printed numbers are."""

    worldsense: WorldSenseResult | None = absent()

    benchmarks: dict[str, BenchmarkResult] | None = absent()
    """Name and numbers of every other benchmark."""

    options: dict[str, dict[str, bool | int | str]] | None = absent()
    """Benchmark -> the options of `worldprobe evaluate` with which it was asked."""

    def findings(self) -> Iterator[Finding]:
        """No benchmark, or one without what belongs to it."""
        if self.accuracy is None and self.worldsense is None and not self.benchmarks:
            yield ("accuracy",), "is missing, and so is worldsense.", REPAIR
        for key in _OF_ACCURACY if self.accuracy else ():
            if key not in self.model_fields_set:
                yield (key,), "is missing.", REPAIR
        parts = sum(one.n_items for one in (self.accuracy_by_domain or {}).values())
        if self.accuracy and parts not in (0, self.accuracy.n_items):
            yield (
                ("accuracy", "n_items"),
                f"is {self.accuracy.n_items}, but {parts} over the domains.",
                REPAIR,
            )


@dataclass(frozen=True)
class Score:
    """One number of a result.

    Attributes:
        benchmark: whose it is.
        group: ``overall``, or a domain or problem.
        metric: what it measures.
        value: the number; None where there is none.
        low, high: the ends of its 95% interval. stderr: its standard error. n: of how many items or
        tuples. unit: what ``n`` counts. bounds: the smallest and the largest possible value. items:
        digest of what was asked; scores can be ranked only where it is equal. asked: how it was
        asked and averaged, in words, in the order in which they are shown. counts: what else was
        counted, e.g. ties. release: the hub's dataset with exactly what was asked, as
        ``.eval_results`` names it, if there is one. interval: how the interval was found:
        ``bootstrap`` or ``analytic``. chance: what guessing reaches; None where that differs from
        item to item. published: model and its printed number for the same items.
    """

    benchmark: str
    group: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    n: int
    unit: str
    bounds: tuple[float, float]
    items: str
    asked: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)
    release: Mapping[str, str] | None = None
    interval: str = "bootstrap"
    chance: float | None = None
    published: Mapping[str, float] = field(default_factory=dict)


def merge_results(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Two results of one model as one; of a benchmark in both, the later numbers.

    >>> merge_results(
    ...     {"accuracy": 1, "benchmarks": {"a": 1}}, {"worldsense": 2, "benchmarks": {"b": 3}}
    ... )
    {'accuracy': 1, 'benchmarks': {'a': 1, 'b': 3}, 'worldsense': 2}
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
        found = document.get("schema_version", "none")
        raise UserError(
            name, f"schema_version is {found}; this release reads {SCHEMA_VERSION}.", REPAIR
        )
    _, found = check(Result, document, [Source(name, document)])
    if found:
        raise UserError(name, found[0].problem, REPAIR)
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
class Row:
    """One model in one ranking.

    Attributes:
        rank: one more than the number of models whose interval is wholly above its own; None
            without an interval.
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
        """The least and the largest accuracy on the picture of intervals: tenths around all of
        them and chance.
        """
        scores = [row.score for row in self.rows]
        ends = [
            end for one in scores for end in (one.low, one.high, one.chance) if end is not None
        ] or [0.0, 1.0]
        return max(0.0, math.floor(10 * min(ends) - 0.1) / 10), min(
            1.0, math.ceil(10 * max(ends) + 0.1) / 10
        )

    def place(self, value: float) -> str:
        """Where a number is on the axis, in percent of its length."""
        low, high = self.axis
        return f"{100 * (value - low) / (high - low):.2f}%"


def build_rankings(results: Sequence[tuple[Mapping[str, Any], Sequence[Score]]]) -> list[Ranking]:
    """Rankings of results, one for each benchmark, set of items and way of asking: numbers of
    different items are never compared.

    Args:
        results: checked results, each with its numbers.
    """
    together: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], Sequence[Score]]]] = {}
    for result, scores in results:
        for benchmark in dict.fromkeys(score.benchmark for score in scores):
            own = [score for score in scores if score.benchmark == benchmark]
            asked = {name: text for name, text in own[0].asked.items() if name != "start tokens"}
            kind = str(result.get("kind") or CAUSAL)
            together.setdefault((benchmark, own[0].items, kind, tuple(asked.items())), []).append(
                (result, own)
            )
    return [
        Ranking(benchmark, kind, dict(asked), _group_names(members), _rank(members))
        for (benchmark, _, kind, asked), members in sorted(
            together.items(),
            key=lambda entry: (entry[0][0], -len(entry[1]), entry[0][1], entry[0][2]),
        )
    ]


def _group_names(members: Sequence[tuple[Mapping[str, Any], Sequence[Score]]]) -> list[str]:
    return list(
        dict.fromkeys(
            score.group for _, scores in members for score in scores if score.group != "overall"
        )
    )


def _rank(members: Sequence[tuple[Mapping[str, Any], Sequence[Score]]]) -> list[Row]:
    overall = [
        next(s for s in scores if s.group == "overall" and s.metric == "accuracy")
        for _, scores in members
    ]
    lower_ends = [score.low for score in overall if score.low is not None]
    ranks = [
        None if score.high is None else 1 + sum(low > score.high for low in lower_ends)
        for score in overall
    ]
    rows = []
    for (result, scores), score, rank in zip(members, overall, ranks, strict=True):
        groups = {one.group: one for one in scores if one.group != "overall"}
        bias = next((one for one in scores if one.metric == "bias"), None)
        facts = ", ".join(filter(None, (result["engine"], *precision(result), result["revision"])))
        rows.append(
            Row(
                rank,
                rank is not None and ranks.count(rank) > 1,
                result["model"],
                facts,
                score,
                groups,
                bias,
            )
        )
    return sorted(
        rows, key=lambda row: (row.score.value is None, -(row.score.value or 0), row.model)
    )


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
    return (
        template.render(title=title, names=names, rankings=rankings, style=style, script=script)
        + "\n"
    )


def task_name(score: Score) -> str:
    """The name of a number among lm-eval's tasks: prefixed, so that it is never taken for another
    implementation's.

    >>> task_name(
    ...     Score(
    ...         "ewok",
    ...         "social-relations",
    ...         "accuracy",
    ...         0.5,
    ...         0.4,
    ...         0.6,
    ...         0.05,
    ...         9,
    ...         "items",
    ...         (0, 1),
    ...         "",
    ...         {},
    ...     )
    ... )
    'worldprobe_ewok_social_relations'
    """
    end = "" if score.group == "overall" else f"_{score.group}"
    return f"worldprobe_{score.benchmark}{end}".replace("-", "_").replace(".", "_").lower()


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


def to_lm_eval(result: Mapping[str, Any], scores: Sequence[Score], date: float) -> dict[str, Any]:
    """The keys of a results file of lm-evaluation-harness 0.4: one task per number, one group per
    benchmark.

    Args:
        result: a checked result.
        scores: its numbers.
        date: seconds since 1970.
    """
    tasks: dict[str, dict[str, Any]] = {}
    counts: dict[str, dict[str, int]] = {}
    configs: dict[str, dict[str, Any]] = {}
    for score in scores:
        name, metric = task_name(score), {"accuracy": "acc"}.get(score.metric, score.metric)
        entry = tasks.setdefault(name, {"alias": name, "name": name, "sample_len": score.n})
        entry |= {
            f"{metric},none": score.value,
            f"{metric}_stderr,none": "N/A" if score.stderr is None else score.stderr,
        }
        counts[name] = {"original": score.n, "effective": score.n}
        configs[name] = {
            "task": name,
            "metadata": {"version": 1, "items": score.items, **score.asked},
        }
    adapter = public_adapter(result["adapter"]) if result.get("adapter") else None
    benchmarks = dict.fromkeys(score.benchmark for score in scores)
    groups = {f"worldprobe_{name}": tasks[f"worldprobe_{name}"] for name in benchmarks}
    return {
        "results": tasks,
        "groups": groups,
        "group_subtasks": {
            name: sorted(task for task in tasks if task.startswith(f"{name}_")) for name in groups
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
            "batch_size": None,
            "batch_sizes": [],
            "device": None,
            "use_cache": None,
            "limit": None,
            "bootstrap_iters": None,
            "gen_kwargs": {},
            "random_seed": None,
            "numpy_seed": None,
            "torch_seed": None,
            "fewshot_seed": None,
        },
        "git_hash": None,
        "date": date,
        "pretty_env_info": None,
        "transformers_version": result["packages"].get("transformers"),
        "lm_eval_version": f"worldprobe {result['worldprobe_version']}",
        "upper_git_hash": None,
        "task_hashes": {name: configs[name]["metadata"]["items"] for name in tasks},
        "model_source": result["engine"],
        "model_name": public_name(result),
        "model_name_sanitized": result["model"],
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "total_evaluation_time_seconds": None,
    }


def to_hub(
    result: Mapping[str, Any], scores: Sequence[Score], dataset: str | None
) -> list[dict[str, Any]]:
    """Entries of ``.eval_results/*.yaml`` in a model's repository: the overall accuracies, as
    shares (never percent).

    Args:
        result: a checked result.
        scores: its numbers.
        dataset: the hub's dataset with these items; None: the benchmark's release, for its items
            only.

    Raises:
        UserError: the items are not the release's, and no dataset is named.
    """
    entries, is_of_several = [], len({score.benchmark for score in scores}) > 1
    for score in scores:
        if score.group != "overall" or score.metric != "accuracy" or score.value is None:
            continue
        if not (dataset or score.release):
            problem = (
                f"the numbers of {score.benchmark} are for items that no dataset of the hub is"
                " known to contain."
            )
            raise UserError(
                "--dataset",
                problem,
                "Name the dataset on the hub with these items: --dataset OWNER/NAME.",
            )
        task = score.benchmark if is_of_several else "default"
        place = {"id": dataset, "task_id": task} if dataset else dict(score.release or {})
        how = "; ".join(f"{name}: {text}" for name, text in score.asked.items())
        interval = (
            "" if score.low is None else f"95% interval {score.low:.4f} to {score.high:.4f}; "
        )
        notes = (
            f"worldprobe {result['worldprobe_version']}, {score.metric};"
            f" {interval}{', '.join(precision(result))}; {how}"
        )
        entries.append({"dataset": place, "value": score.value, "notes": notes})
    return entries
