"""The rows of the page: items, trials and minimal pairs, and what runs of models make of them.

A *run* is one model asked in one way. What is right is judged by the benchmarks' own functions. The
page gets columns: repeated texts as codes, numbers as they are shown.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from worldprobe.benchmark import way_in_words
from worldprobe.benchmarks import find, scored_in
from worldprobe.benchmarks.ewok.analysis.judge import Evidence, judge_evidence, read_evidence
from worldprobe.benchmarks.ewok.canaries import is_own
from worldprobe.benchmarks.ewok.contracts import (
    EVIDENCE,
    Items,
    Judgements,
    Ratings,
    Responses,
)
from worldprobe.benchmarks.ewok.materials.language import language_of
from worldprobe.benchmarks.ewok.scoring import QUESTIONS, Prompt, load_prompts, presentations
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.vocabulary import Way, has_pairing, way_of
from worldprobe.benchmarks.worldsense import contracts as worldsense
from worldprobe.benchmarks.worldsense.analysis.answers import SEPARATOR, AnswerSeries, read_series
from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, INVALID, WORDS, from_frame
from worldprobe.benchmarks.worldsense.analysis.statistics import are_right
from worldprobe.benchmarks.worldsense.selection import PROBLEM_NAMES, prompting_name
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY
from worldprobe.benchmarks.worldsense.trials.files import is_official, read_lines, read_trials
from worldprobe.contracts import read_provenance, read_table, table_name
from worldprobe.contracts.results import Scores
from worldprobe.engines import of_answers
from worldprobe.errors import UserError
from worldprobe.files import digest_file
from worldprobe.inference.requests import digest_items
from worldprobe.models.engine import Loglikelihood
from worldprobe.provenance import Provenance, language_name
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import language_note
from worldprobe.settings.blocks import option_words
from worldprobe.settings.registry import Loading

#: Columns that rows are filtered by, with their headings.
FILTERS = {
    "benchmark": "benchmark",
    "domain": "domain or problem",
    "concept": "pair of concepts, or skin",
    "context_contrast": "contrast of contexts",
    "target_contrast": "contrast of targets",
    "context_type": "contexts",
    "condition": "condition or set",
    "version": "version, or size",
    "family": "family",
    "level": "level",
}
TEXTS = ("context1", "context2", "target1", "target2")
LOGPROBS = "logprobs"
#: Names of the tables that hold evidence of EWoK; people's ratings are shown, and are no run.
RATINGS = Ratings.Config.name
EVIDENCE_NAMES = [table.Config.name for table in EVIDENCE if table is not Ratings]


@dataclass(frozen=True)
class ItemTable:
    """A table of items, trials or minimal pairs.

    Attributes:
        path: the file.
        benchmark: name of the benchmark.
        table: as its contract has it, one row per item.
        rows: as the page has them: id, the columns of ``FILTERS``, ``TEXTS`` (of a trial: its text,
            as context1) and gold.
        digest: by which answers say what they are about.
        canary: of its text.
        is_protected: its text is neither ours nor the user's.
        first: place of its first row among all rows.
        details: of its provenance, which name the language.
    """

    path: Path
    benchmark: str
    table: pd.DataFrame
    rows: pd.DataFrame
    digest: str
    canary: str = ""
    is_protected: bool = False
    first: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    """One model asked in one way.

    Attributes:
        model: its id.
        way: how it was asked.
        rows: places of the rows that it has answers about.
        right: accuracy there, 0 to 1; missing where it has no answer.
        margin: by which it is right, below 0 where it is wrong: nats (LogProbs), points (Likert),
            the smaller of an item's two; without numbers, 1 to -1.
        numbers: of each of these rows, four log probabilities, cosines or ratings, or choices.
        pairing: of each of these rows, whether its pairing is right, 0 to 1; missing as right;
            None of what has no judgements.
        replies: of each of these rows, what it wrote: to each question, or a conversation.
        asked: names of the questions that ``replies`` are to; none: it is a conversation.
        again: command that asks one item again, which is in one.parquet.
        prompt: what it read, with the names of texts in braces; "": nothing, or unknown.
        places: decimals of the numbers.
        is_rule: a rule answered.
    """

    model: str
    way: str
    rows: np.ndarray
    right: np.ndarray
    margin: np.ndarray
    numbers: np.ndarray | None = None
    pairing: np.ndarray | None = None
    replies: list[Any] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    again: str = ""
    prompt: str = ""
    places: int = 2
    is_rule: bool = False


@dataclass
class Rows:
    """All rows, and the runs over them.

    Attributes:
        frame: rows of all tables, with ``table`` (the file).
        tables: where they are from.
        runs: in the order of their files.
        people: row -> mean ratings in the order of ``QUESTIONS``.
    """

    frame: pd.DataFrame
    tables: list[ItemTable] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    people: dict[int, list[float | None]] = field(default_factory=dict)

    @property
    def protected(self) -> list[str]:
        """Files whose text is neither ours nor the user's."""
        return [str(table.path) for table in self.tables if table.is_protected]

    @property
    def languages(self) -> str:
        """The sentence on items that are not in English, or an empty string."""
        named = {str(table.path): language_name(table.details) for table in self.tables}
        if len(set(named.values())) == 1:
            return language_note(Provenance(details=dict(self.tables[0].details)), Roster({}))
        return " ".join(
            f"The items of {path} are in {name}." for path, name in named.items() if name
        )

    def sort_runs(self, roster: Roster) -> None:
        """LogProbs first, and models before controls and rules, both in the registry's order."""
        order = roster.in_order(run.model for run in self.runs)
        self.runs.sort(
            key=lambda run: (
                run.way != LOGPROBS,
                roster[run.model].is_control or roster[run.model].is_rule,
                order.index(run.model),
            )
        )


def read_page_rows(paths: Sequence[Path]) -> Rows:
    """Rows and runs of any tables of a study.

    Args:
        paths: tables of items, trials, answers, judgements and ratings, official files of trials
            and results, YAML files of minimal pairs and their scores, in any order.

    Raises:
        UserError: a file is none of these, or about no item that is given; or there are no items.
    """
    kinds = {path: _kind_of(path) for path in paths}
    tables: list[ItemTable] = []
    for path, kind in kinds.items():
        if kind in _TABLES:
            tables.append(_TABLES[kind](path))
    for path, kind in kinds.items():
        if kind == "scores" and (pairs := _pairs_in(path, tables)):
            tables.append(pairs)
    if not tables:
        raise UserError("explore", "no table of items or trials is given.", "Add one.")
    starts = np.cumsum([0, *(len(table.rows) for table in tables)])
    tables = [
        replace(table, first=int(first)) for table, first in zip(tables, starts, strict=False)
    ]
    frames = [table.rows.assign(table=str(table.path)) for table in tables]
    rows = Rows(pd.concat(frames, ignore_index=True), tables)
    for path, kind in kinds.items():
        if kind == RATINGS:
            rows.people |= _people(path, rows)
        elif kind not in _TABLES:
            rows.runs += _RUNS[kind](path, rows)
    rows.runs = _joined(rows)
    return rows


def _joined(rows: Rows) -> list[Run]:
    """Runs over several tables as one, where a model was asked about them in the same way."""
    benchmarks, joined = rows.frame["benchmark"].to_numpy(), list[Run]()
    for run in rows.runs:
        for other in joined:
            is_same = all(
                getattr(run, name) == getattr(other, name)
                for name in ("model", "way", "asked", "again", "prompt", "places", "is_rule")
            )
            is_same &= (run.numbers is None) == (other.numbers is None)
            is_same &= benchmarks[run.rows[0]] == benchmarks[other.rows[0]]
            if is_same and not np.isin(run.rows, other.rows).any():
                for name in ("rows", "right", "margin"):
                    parts = [getattr(source, name) for source in (other, run)]
                    setattr(other, name, np.concatenate(parts))
                for name in ("numbers", "pairing"):
                    parts = [getattr(source, name) for source in (other, run)]
                    if all(part is not None for part in parts):
                        setattr(other, name, np.concatenate(parts))
                other.replies = [*other.replies, *run.replies]
                break
        else:
            joined.append(run)
    return joined


def _kind_of(path: Path) -> str:
    if path.suffix in (".yaml", ".yml"):
        return "pairs"
    if is_official(path):
        return "results" if SEPARATOR in path.name else "trials"
    name = table_name(path)
    kind = "scores" if scored_in(path) else name
    if kind not in {*_TABLES, *_RUNS, RATINGS}:
        kinds = ", ".join([*_TABLES, *_RUNS, RATINGS])
        raise UserError(path, f"is a table of {name or 'something else'}.", f"Give any of {kinds}.")
    return kind


def _items(path: Path) -> ItemTable:
    items, made = read_table(path, Items), read_provenance(path)
    canary, details = made.canary or "", made.details
    rows = pd.DataFrame(
        {
            "id": items["item_id"],
            "benchmark": "ewok",
            "domain": items["domain"],
            "concept": items["concept_a"] + (" / " + items["concept_b"]).fillna(""),
            **{name: items[name] for name in ("context_contrast", "target_contrast")},
            "context_type": items["context_type"],
            "condition": path.stem,
            "version": items["version"].astype(str),
            **{name: items.get(name) for name in ("family", "level")},
            **{name: items[name] for name in TEXTS},
            "template": items["meta_template"].astype(str) + "_" + items["template"].astype(str),
        }
    )
    digest, is_protected = digest_file(path), not is_own(canary)
    return ItemTable(path, "ewok", items, rows, digest, canary, is_protected, details=details)


def _trials(path: Path) -> ItemTable:
    trials = read_trials(path)
    canary = "" if is_official(path) else read_provenance(path).canary or ""
    rows = pd.DataFrame(
        {
            "id": trials["trial_id"].astype(str),
            "benchmark": "worldsense",
            "domain": trials["problem"].map(lambda name: PROBLEM_NAMES.get(name, name)),
            "concept": trials["skin"],
            "condition": path.name.partition(".")[0],
            "version": trials["size"].astype(str),
            "context1": trials["text"],
            "gold": trials["gold"].map(ANSWER_OF),
        }
    )
    digest, is_protected = digest_file(path), CANARY not in canary
    return ItemTable(path, "worldsense", trials, rows, digest, canary, is_protected)


def _pairs(path: Path) -> ItemTable:
    """Minimal pairs as their YAML file describes them."""
    benchmark = find(str(path))
    if benchmark.asking is None:
        raise UserError(path, "describes no minimal pairs.", "See config/README.md.")
    pairs = benchmark.asking.items({})
    groups = [name for name in pairs if name not in ("unit", "cluster", "context", "targets")]
    shown = [_shown(benchmark.asking.requests(item)) for item in pairs.itertuples()]
    names = ("context1", "target1", "target2")
    texts = dict(zip(names, zip(*shown, strict=True), strict=True))
    return _of_pairs(path, benchmark.name, pairs, groups, texts, digest_items(pairs))


def _shown(asked: Sequence[Loglikelihood]) -> tuple[str | None, str, str]:
    """The context that all targets share, the first target and the others; whole texts where
    contexts differ.
    """
    context = asked[0].context
    is_shared = all(question.context == context for question in asked)
    first, *others = (question.target if is_shared else question.text for question in asked)
    return context if is_shared else None, first, "\n".join(others)


def _pairs_in(path: Path, tables: Sequence[ItemTable]) -> ItemTable | None:
    """The items of a table of scores, without text; none where they are given already."""
    benchmark = scored_in(path)
    if benchmark is None or benchmark.scores is None:
        return None
    if benchmark.name in {table.benchmark for table in tables}:
        return None
    pairs = read_table(path, benchmark.scores).drop_duplicates("unit", ignore_index=True)
    groups = cast("type[Scores]", benchmark.scores).groupings()
    return _of_pairs(path, benchmark.name, pairs, groups, {}, read_provenance(path).inputs["items"])


def _of_pairs(
    path: Path,
    benchmark: str,
    pairs: pd.DataFrame,
    groups: Sequence[str],
    texts: Mapping[str, Sequence[Any]],
    digest: str,
) -> ItemTable:
    shown = dict(zip(("domain", "concept"), groups, strict=False))
    rows = pd.DataFrame(
        {
            "id": pairs["unit"].astype(str),
            "benchmark": benchmark,
            **{column: pairs[group].astype(str) for column, group in shown.items()},
            **texts,
        }
    )
    return ItemTable(path, benchmark, pairs.assign(unit=pairs["unit"].astype(str)), rows, digest)


_TABLES: dict[str, Callable[[Path], ItemTable]] = {
    "items": _items,
    "trials": _trials,
    "pairs": _pairs,
}


def _asked(rows: Rows, benchmark: str, made: Provenance, path: Path) -> list[ItemTable]:
    """The tables that answers are about: that whose digest they state, or all where they state
    none.

    Raises:
        UserError: they state another one's.
    """
    candidates = [table for table in rows.tables if table.benchmark == benchmark]
    digest = made.inputs.get("trials" if benchmark == "worldsense" else "items")
    stated = [table for table in candidates if table.digest == digest]
    if candidates and digest and not stated:
        raise UserError(path, *_OTHER)
    return stated or candidates


#: What is wrong with answers to a table whose ids are given, and whose texts are not, and the fix.
_OTHER = (
    "is about another table than those given, though ids may be equal.",
    "Give the table that was asked, as it was.",
)


def _places(tables: Sequence[ItemTable], ids: pd.Index[str], path: Path) -> np.ndarray:
    """The rows of ids.

    Raises:
        UserError: one has none, or several.
    """
    rows_by_id = pd.concat(
        [
            pd.Series(table.rows.index + table.first, index=table.rows["id"].astype(str))
            for table in tables
        ]
        or [pd.Series(dtype=int)]
    )
    positions = rows_by_id.index.get_indexer_for(ids)  # `isin` of 60,000 ids takes seconds
    if (positions < 0).any():
        raise UserError(path, "is about items that are not given.", "Add their table.")
    if len(positions) > len(ids):
        problem = "does not say which of the given tables it is about; ids are in several."
        raise UserError(path, problem, "Give the table that was asked alone.")
    return rows_by_id.to_numpy()[positions]


def _wide(table: pd.DataFrame, value: str, keys: Sequence[str]) -> pd.DataFrame:
    return table.pivot_table(
        index="item_id", columns=list(keys), values=value, aggfunc="first", dropna=False, sort=True
    )


def _evidence(path: Path, rows: Rows) -> Iterator[Run]:
    """Log probabilities, prompted answers and cosines of EWoK's items."""
    evidence = read_evidence(path)
    tables = _asked(rows, "ewok", evidence.provenance, path)
    is_prompted = evidence.kind == Responses.Config.name
    answers = read_table(path, Responses) if is_prompted else evidence.rows
    ids = pd.Index(evidence.rows["item_id"].unique())
    _places(tables, ids, path)
    tables = [table for table in tables if len(ids.intersection(table.table["item_id"]))]
    if not tables:
        return
    items = pd.concat([table.table for table in tables], ignore_index=True)
    ids = pd.Index(items["item_id"])  # `judge` counts items that were not answered, too
    row_numbers = pd.Series(_places(tables, ids, path), index=ids)
    for way, judged in _judged(judge_evidence(items, evidence).table):
        run = _run_of(judged, row_numbers)
        if is_prompted:
            asked = answers[answers["eval_type"] == way]
            _add_answers(run, asked, judged.index, items, evidence.provenance)
        else:
            _add_scores(run, evidence, judged.index)
        yield run


def _judgements(path: Path, rows: Rows) -> Iterator[Run]:
    """Judgements alone, as of baselines and released results."""
    table = read_table(path, Judgements)
    tables = _asked(rows, "ewok", read_provenance(path), path)
    ids = pd.Index(table["item_id"].unique())
    row_numbers = pd.Series(_places(tables, ids, path), index=ids)
    for _, part in table.groupby("model", sort=False):
        for _, judged in _judged(part):
            yield _run_of(judged, row_numbers)


def _judged(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Accuracies of items by way of asking; an item with a target that has none has none."""
    by_item = ["eval_type", "item_id"]
    if "pairing" not in table:
        table = table.assign(pairing=np.nan)
    accuracies = table.groupby(by_item, observed=True, sort=True).agg(
        model=("model", "first"),
        right=("accuracy", "mean"),
        n_judged=("accuracy", "count"),
        n_targets=("accuracy", "size"),
        pairing=("pairing", "first"),
    )
    is_whole = accuracies["n_judged"] == accuracies["n_targets"]
    accuracies["right"] = accuracies["right"].where(is_whole)
    for way in accuracies.index.unique(0):
        yield str(way), accuracies.loc[way].assign(way=str(way))


def _run_of(judged: pd.DataFrame, row_numbers: pd.Series[int]) -> Run:
    model, way = str(judged["model"].iloc[0]), str(judged["way"].iloc[0])
    right = judged["right"].to_numpy(float)
    pairing = judged["pairing"].to_numpy(float)
    run = Run(model, way, row_numbers[judged.index].to_numpy(), right, 2 * right - 1)
    run.pairing = pairing
    return run


def _differences(numbers: np.ndarray) -> np.ndarray:
    """The smaller of an item's two differences: a target after its own context, minus after the
    other one.
    """
    return np.minimum(numbers[:, 0] - numbers[:, 1], numbers[:, 3] - numbers[:, 2])


def _add_scores(run: Run, evidence: Evidence, ids: pd.Index[str]) -> None:
    value = "similarity" if evidence.kind == "similarities" else "logprob"
    wide = _wide(evidence.rows, value, ["target", "context"])
    run.numbers = wide.reindex(index=ids, columns=pd.MultiIndex.from_tuples(QUESTIONS)).to_numpy()
    run.margin = _differences(run.numbers)
    run.places = 3 if evidence.kind == "similarities" else 2
    if evidence.kind == "target_scores":
        run.again = _again("score logprobs", evidence.provenance)


def _add_answers(
    run: Run, asked: pd.DataFrame, ids: pd.Index[str], items: pd.DataFrame, made: Provenance
) -> None:
    way = way_of(run.way)
    read = asked.assign(value=asked["value"].where(asked["status"] == "ok"))
    run.numbers = _wide(read, "value", ["presentation"]).reindex(ids).to_numpy(float)
    replies = _wide(asked, "text", ["presentation"]).reindex(ids)
    run.asked = list(replies.columns)
    run.replies = replies.astype(object).where(replies.notna(), None).to_numpy().tolist()
    run.places = 0
    if way.is_rated:
        run.margin = _differences(run.numbers)
    details = made.details
    run.again = _again(
        "score all",
        made,
        eval_types=way.name,
        prompts=details.get("prompts"),
        chat_template="always" if details.get("chat") else "never",
        both_orders="yes" if details.get("swap") else "no",
        thoughts=details.get("thoughts", {}).get("limit"),
    )
    run.prompt = _prompt_of(asked, way, items, made)


def _prompt_of(asked: pd.DataFrame, way: Way, items: pd.DataFrame, made: Provenance) -> str:
    """The prompt with the names of texts in braces; "" where its file is not there or has changed.

    What a chat template put around it is not known here, and its digest therefore not checked,
    which the prompt says.
    """
    try:
        prompt: Prompt = load_prompts(str(made.details["prompts"]))[way.paradigm]
    except (UserError, KeyError):
        return ""
    row = asked.iloc[0]
    item = items[items["item_id"] == row["item_id"]]
    texts = {
        name: prompt.text(slots, way.shots)
        for _, name, slots in presentations(item, way.paradigm, made.details["swap"])
    }
    digest = hashlib.sha256(texts[row["presentation"]].encode("utf-8", "surrogatepass")).hexdigest()
    if not made.details["chat"] and digest != row["prompt_digest"]:
        return ""
    unchecked = f"[{made.details['prompts']} as it is now]\n" if made.details["chat"] else ""
    return unchecked + prompt.text({slot: f"{{{slot}}}" for slot in prompt.SLOTS}, way.shots)


def _again(command: str, made: Provenance, **asked: Any) -> str:
    """A command that asks one.parquet as these answers were asked.

    Args:
        command: its words.
        made: what made the answers.
        **asked: its own options.
    """
    defaults, keys = Loading(), of_answers(made.engine, made.kind).keys
    loaded = {
        "revision": made.revision or defaults.revision,
        "engine": made.engine,
        "kind": made.kind or defaults.kind,
        "dtype": made.dtype if "dtype" in keys else defaults.dtype,
        "adapter": made.details.get("adapter", {}).get("name"),
        "endpoint": "URL" if "endpoint" in keys else None,
    }
    differing = {key: value for key, value in loaded.items() if value != getattr(defaults, key)}
    stated = {"checkpoint": made.checkpoint, "model": made.model, **differing, **asked}
    words = option_words({**stated, "out": "again.parquet"})
    return f"worldprobe {command} one.parquet {shlex.join(words)}"


def _replies(path: Path, rows: Rows) -> Iterator[Run]:
    """Runs of a model's answers to WorldSense's trials."""
    is_ours = not is_official(path)
    made = read_provenance(path) if is_ours else Provenance()
    replies = read_table(path, worldsense.Responses) if is_ours else None
    tables = _asked(rows, "worldsense", made, path)
    if replies is not None:
        answered = set(replies["trial_id"])
    else:  # an official file may have answers to other trials, too
        trials = {trial for table in tables for trial in table.table["trial_id"]}
        keys = {line.get("Key") for _, line in read_lines(path)}
        answered = keys & trials or keys
    _places(tables, pd.Index(list(answered)).astype(str), path)
    for table in tables:
        if answered.isdisjoint(table.table["trial_id"]):
            continue
        questions = from_frame(table.table, str(table.path))
        for series in read_series([path], questions):
            run = _trial_run(series, questions.gold["released"], table)
            if replies is not None:
                _add_conversations(run, series, replies, table, made)
            yield run


def _trial_run(series: AnswerSeries, gold: np.ndarray, table: ItemTable) -> Run:
    """Means over samples of whether trials are right; 1 and 2 count as one answer, as in the paper
    (Section 4.2).
    """
    positions = np.flatnonzero((series.answers != ABSENT).any(axis=0))
    answers = series.answers[:, positions]
    right = np.where(answers == ABSENT, np.nan, are_right(answers, gold[positions]))
    mean = np.nanmean(right, axis=0)
    run = Run(series.model, series.prompting, table.first + positions, mean, 2 * mean - 1)
    run.is_rule = series.is_rule
    run.replies = [
        {"answer": " | ".join(_word(number) for number in answers[:, k] if number != ABSENT)}
        for k in range(len(positions))
    ]
    return run


def _word(number: int) -> str:
    return "none" if number == INVALID else WORDS[number]


def _add_conversations(
    run: Run, series: AnswerSeries, replies: pd.DataFrame, table: ItemTable, made: Provenance
) -> None:
    """The conversations of the first sample, and by how much an option was chosen."""
    rows = replies[replies["prompting"] == series.prompting].drop_duplicates("trial_id")
    rows = rows.set_index("trial_id").loc[table.table["trial_id"].iloc[run.rows - table.first]]
    for reply, talk in zip(run.replies, rows["conversation"], strict=True):
        reply["talk"] = [[message["role"], message["content"]] for message in json.loads(talk)]
    run.margin = run.margin * rows["margin"].fillna(1).to_numpy(float)
    details = made.details
    sampled = {key: details.get(key) for key in ("temperature", "samples")} | {"seed": made.seed}
    run.again = _again(
        "worldsense ask",
        made,
        prompting=series.prompting,
        chat_template="always" if details.get("form") == "chat" else "never",
        thoughts=details.get("thoughts") or None,
        reading=details.get("reading", {}).get("rule"),
        **(sampled if details.get("temperature") else {}),
    )


def _scores(path: Path, rows: Rows) -> Iterator[Run]:
    """Scores of minimal pairs."""
    benchmark = scored_in(path)
    if benchmark is None or benchmark.scores is None:
        return
    made, table = read_provenance(path), read_table(path, benchmark.scores)
    tables = [table for table in rows.tables if table.benchmark == benchmark.name]
    units = set(table["unit"].astype(str))
    for pairs in tables:
        is_asked = pairs.table["unit"].isin(units)  # all, or a sample
        if "target1" in pairs.rows and digest_items(pairs.table[is_asked]) != made.inputs["items"]:
            raise UserError(path, *_OTHER)
    for (model, way), part in table.groupby(["model", "eval_type"], observed=True, sort=False):
        row_numbers = _places(tables, pd.Index(part["unit"].astype(str)), path)
        right = part["value"].to_numpy(float)
        yield Run(str(model), str(way), row_numbers, right, 2 * right - 1)


_RUNS: dict[str, Callable[[Path, Rows], Iterator[Run]]] = {
    **dict.fromkeys(EVIDENCE_NAMES, _evidence),
    Judgements.Config.name: _judgements,
    worldsense.Responses.Config.name: _replies,
    "results": _replies,
    "scores": _scores,
}


def _people(path: Path, rows: Rows) -> dict[int, list[float | None]]:
    """Ratings of the items in the first table that has them: a study's reference condition."""
    wide = _wide(read_table(path, Ratings), "rating", ["target", "context"])[list(QUESTIONS)]
    tables = _asked(rows, "ewok", read_provenance(path), path)
    ids = pd.concat([table.rows["id"].set_axis(table.rows.index + table.first) for table in tables])
    rated = ids[~ids.duplicated() & ids.isin(wide.index)]
    numbers = rounded(wide.loc[rated].to_numpy(float))
    return dict(zip(rated.index.tolist(), numbers, strict=True))


def encoded(column: pd.Series) -> dict[str, Any]:
    """A column as its distinct texts and each row's place among them; -1: there is none."""
    codes, values = pd.factorize(column, sort=True)
    return {"values": [str(value) for value in values], "codes": codes.tolist()}


def rounded(values: np.ndarray, places: int = 2) -> list[Any]:
    """Numbers as they are shown; none where they are missing.

    >>> rounded(np.array([[1.234, np.nan]]))
    [[1.23, None]]
    """
    kept = np.round(values.astype(float), places).astype(object)
    kept[pd.isna(kept)] = None
    return kept.tolist()


def is_tested(run: Run, roster: Roster) -> bool:
    """Whether it is a language model under test: no baseline, control, rule or people."""
    model = roster[run.model]
    return not (
        model.is_control or model.is_rule or run.is_rule or run.way in (run.model, "human_likert")
    )


def as_data(rows: Rows, with_text: bool, roster: Roster) -> dict[str, Any]:
    """Data that the page's program reads.

    Args:
        rows: items and runs.
        with_text: whether texts and replies of protected tables are in it.
        roster: names of the models.
    """
    frame = rows.frame
    is_shown = with_text | ~frame["table"].isin(rows.protected)
    texts = {name: frame[name].where(is_shown) for name in (*TEXTS, "gold") if name in frame}
    return {
        "ids": frame["id"].tolist(),
        "filters": {
            name: {"heading": heading, **encoded(frame[name])}
            for name, heading in FILTERS.items()
            if name in frame and frame[name].notna().any()
        },
        "texts": {name: encoded(column) for name, column in texts.items()},
        "tables": encoded(frame["table"]),
        "languages": {
            str(table.path): language_of(table.details).language for table in rows.tables
        },
        "people": rows.people,
        "runs": [
            _run_data(run, is_shown.to_numpy()[run.rows], roster, frame["benchmark"][run.rows[0]])
            for run in rows.runs
        ],
    }


def _run_data(run: Run, is_shown: np.ndarray, roster: Roster, benchmark: str) -> dict[str, Any]:
    say = {"ewok": in_words, "worldsense": prompting_name}.get(benchmark, way_in_words)
    replies = [
        reply if shown else None
        for reply, shown in zip(run.replies or [None] * len(is_shown), is_shown, strict=True)
    ]
    return {
        "model": run.model,
        "name": roster[run.model].name,
        "way": run.way,
        "asked_by": "" if run.way == run.model else say(run.way),
        "tested": is_tested(run, roster),
        "rows": run.rows.tolist(),
        "right": rounded(run.right, 3),
        # two more than are shown: a difference that is shown as 0.00 has its sign
        "margin": rounded(run.margin, run.places + 2),
        "numbers": None if run.numbers is None else rounded(run.numbers, run.places + 2),
        "pairing": rounded(run.pairing, 1)
        if has_pairing(run.way) and run.pairing is not None
        else None,
        "places": run.places,
        "asked": run.asked,
        "replies": replies if any(replies) else None,
        "prompt": run.prompt if any(replies) else "",
        "again": run.again,
    }
