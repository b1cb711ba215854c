"""A benchmark of minimal pairs without code: one YAML file has its texts, or says where they are,
and by what they are grouped.
"""

from __future__ import annotations

import ast
import glob
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from jinja2 import StrictUndefined, TemplateError, UndefinedError, meta
from jinja2.sandbox import SandboxedEnvironment
from pydantic import Field

from worldprobe.asked import asked
from worldprobe.benchmark import Asking, Benchmark
from worldprobe.commented_csv import read_rows
from worldprobe.contracts import column
from worldprobe.contracts.results import Scores
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.engine import Loglikelihood, Scored
from worldprobe.settings.blocks import Block, Finding, Text, name, parse
from worldprobe.settings.documents import Keys, Source, dotted, find_line, read_yaml

#: A column of the data as text, or a template of columns.
Reader = Callable[[Mapping[str, Any]], str]
GroupName = Annotated[
    str,
    name(
        "[a-z][a-z0-9_]*",
        "Use at most 60 lower-case letters, digits and underscores, a letter first.",
    ),
]


def _present(value: Any) -> Any:
    """A value that a template writes; "None" and "nan" are no texts."""
    if _is_absent(value):
        raise UndefinedError("a value is missing (null)")
    return value


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


_TEMPLATES = SandboxedEnvironment(undefined=StrictUndefined, finalize=_present)


class Condition(Block):
    """A condition of an item: a target whose log probability criteria compare."""

    context: Text | None = None
    """Column or template of what stands before the target; null takes a whole text."""

    target: Text
    """Column or template of the target, such as the critical region."""


class MinimalPairs(Block):
    """A benchmark of minimal pairs, whose name is that of its file."""

    title: Text
    """Name of the benchmark, as it is written."""

    question: Text = "Does a language model find the right one of each pair more likely?"
    """What the benchmark asks, the heading of a report about nothing else."""

    reference: Text
    """Work to cite for the benchmark."""

    items: list[dict[str, str | int | float | bool | None]] = []
    """Its items, each a mapping from columns to values, in place of `data`."""

    data: list[Text] = []
    """Files of its items, seen from the folder of this file: CSV (`.csv`), JSON lines (`.jsonl`) or
    Parquet (`.parquet`). `*` stands for any characters of a name.
    """

    context: Text | None = None
    """What stands before the targets: a column of the data, or a template (Jinja) of columns, such
    as `The {{ noun }} is`. null compares whole sentences, scored as they stand.
    """

    targets: list[Text] = []
    """Columns or templates of the targets, the right one first. A model is right about an item
    where this one has the highest log probability; a tie counts one half.
    """

    conditions: dict[GroupName, Condition] = {}
    """Conditions by name, in place of `context` and `targets`: each has a target, and may have a
    context of its own.
    """

    criteria: list[Text] = []
    """What must hold of the conditions' log probabilities for an item to be right: comparisons of
    sums and differences of conditions, such as `a > b` or `a - b > c - d`. All must hold; a tie
    counts one half.
    """

    join: str = " "
    """What stands between context and target, and belongs to the target: `""` for Chinese,
    Japanese or Thai.
    """

    length_normalisation: Literal["tokens", "characters", "bytes"] | None = None
    """What each log probability is divided by: the number of the target's tokens as the model reads
    them, or of its characters or bytes (UTF-8) without `join`, as for lm-eval's acc_norm and
    acc_bytes. null compares sums.
    """

    groups: dict[GroupName, Text] = {}
    """Names of groupings and their columns or templates, by which means are also taken."""

    clusters: Text | None = None
    """Column or template that items which are not independent share, e.g. their paradigm; intervals
    are over clusters. null takes each item as a cluster of its own.
    """

    id: Text | None = None
    """Column or template that differs from item to item; null numbers the rows of each file."""

    chance: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Accuracy of guessing; null takes one over the number of targets, 0.5 for one criterion, and
    none for several.
    """

    def findings(self) -> Iterator[Finding]:
        """Files of no known form, groupings that are named like a column of every table, and what
        cannot be compared.
        """
        yield from self._not_compared()
        for number, path in enumerate(self.data):
            if Path(path).suffix not in (".csv", ".jsonl", ".parquet"):
                yield (
                    ("data", number),
                    f"{path} is neither .csv, .jsonl nor .parquet.",
                    "Save the data as one of these.",
                )
        for grouping in self.groups:
            if grouping in {*_TAKEN, *self.logprobs}:
                fix = "Choose another name for the grouping; the column may keep its own."
                yield ("groups", grouping), "is the name of a column of every table of scores.", fix

    def _not_compared(self) -> Iterator[Finding]:
        if self.conditions:
            for key in ("context", "targets"):
                if getattr(self, key):
                    fix = "Leave one of them out: each condition has a context and a target."
                    yield (key,), "is stated beside conditions.", fix
        elif len(self.targets) < 2:
            yield ("targets",), "are fewer than two.", "Give two or more, or conditions."
        if bool(self.conditions) != bool(self.criteria):
            fix = "Give criteria that compare conditions, or leave both out."
            yield ("criteria",), "and conditions are only stated together.", fix
            return
        for condition in filter(iskeyword, self.conditions):
            yield ("conditions", condition), "is no name in criteria.", "Choose another name."
        for number, criterion in enumerate(self.criteria):
            try:
                unknown = sorted(read_criterion(criterion).keys() - self.conditions)
            except (SyntaxError, ValueError, RecursionError):
                fix = "Write such as `a > b`, or `a - b > c - d`."
                yield ("criteria", number), f"{criterion} compares no sums of conditions.", fix
                continue
            if unknown:
                fix = f"Name one of {', '.join(self.conditions)}."
                near = did_you_mean(unknown[0], self.conditions)
                yield ("criteria", number), f"{unknown[0]} is no condition{near}", fix

    def stated(self) -> dict[Keys, str]:
        """The columns and templates, by their keys."""
        texts: dict[Keys, str | None] = {
            (key,): getattr(self, key) for key in ("context", "clusters", "id")
        }
        texts |= {("targets", number): text for number, text in enumerate(self.targets)}
        for key, condition in self.conditions.items():
            texts["conditions", key, "context"] = condition.context
            texts["conditions", key, "target"] = condition.target
        texts |= {("groups", grouping): text for grouping, text in self.groups.items()}
        return {keys: text for keys, text in texts.items() if text is not None}

    @property
    def logprobs(self) -> list[str]:
        """Columns of the log probabilities, in the order in which they are asked."""
        return [f"logprob_{name}" for name in self.conditions or range(1, len(self.targets) + 1)]

    @property
    def margins(self) -> list[dict[int, int]]:
        """What must be above 0 for an item to be right: place of a log probability -> how often it
        is added.
        """
        indices = {name: index for index, name in enumerate(self.conditions)}
        return [
            {indices[name]: n for name, n in read_criterion(text).items()} for text in self.criteria
        ] or [{0: 1, target: -1} for target in range(1, len(self.targets))]

    def described(self) -> dict[str, str]:
        """How items are asked and scored, for a result."""
        contexts = [self.context, *(condition.context for condition in self.conditions.values())]
        joined = {" ": "one blank", "": "nothing"}.get(self.join, f'"{self.join}"')
        about = {
            "texts": f"joined by {joined}" if any(contexts) else "as they stand",
            "criteria": "; ".join(self.criteria),
            "length-normalised by": self.length_normalisation or "",
        }
        return {key: text for key, text in about.items() if text}


def read_criterion(criterion: str) -> Counter[str]:
    """What a comparison says to be above 0: name -> how often it is added.

    >>> read_criterion("a - b > c - (d + a)")
    Counter({'a': 2, 'd': 1, 'b': -1, 'c': -1})

    Raises:
        SyntaxError: it is no expression.
        ValueError: it compares no two sums, or a sum with itself.
    """
    match ast.parse(criterion.strip(), mode="eval").body:
        case ast.Compare(more, [ast.Gt()], [less]) | ast.Compare(less, [ast.Lt()], [more]):
            total = _sum(more)
            total.subtract(_sum(less))
        case _:
            raise ValueError(criterion)
    if not any(total.values()):
        raise ValueError(criterion)
    return total


def _sum(node: ast.expr) -> Counter[str]:
    match node:
        case ast.Name(name):
            return Counter([name])
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            total = _sum(left)
            (total.update if isinstance(sign, ast.Add) else total.subtract)(_sum(right))
            return total
    raise ValueError(ast.unparse(node))


_TAKEN = {*Scores.columns, "context", "targets"}


def read_benchmark(path: str) -> Benchmark:
    """The benchmark that a YAML file describes; of its data the first rows are looked at, and no
    more.

    Args:
        path: the file.

    Raises:
        UserError: it or its data cannot be read, or it names a column that the data has not.
    """
    state = os.stat(path)
    return _read_benchmark(path, (state.st_mtime_ns, state.st_size))


@lru_cache
def _read_benchmark(path: str, _state: tuple[int, int]) -> Benchmark:
    source = read_yaml(path)
    pairs = parse(MinimalPairs, source.document, [source])
    if bool(pairs.items) == bool(pairs.data):
        problem = "stand both here." if pairs.items else "are both missing."
        raise UserError(path, f"items and data {problem}", "Give its items, or files of them.")
    files = [path] if pairs.items else _list_files(pairs, source)
    for keys, text in pairs.stated().items():
        _check_columns(keys, text, files, source)
    return make_benchmark(Path(path).stem, pairs, path, files)


def make_benchmark(
    stem: str, pairs: MinimalPairs, path: str = "", files: Sequence[str] = ()
) -> Benchmark:
    """A benchmark of minimal pairs as the shared parts see it.

    Args:
        stem: its name.
        pairs: its YAML file.
        path: of this file; "" where its scores are read only.
        files: its data.
    """
    annotations = dict.fromkeys(pairs.groups, "str")
    annotations |= dict.fromkeys(pairs.logprobs, "float")
    columns = {grouping: column(min_length=1) for grouping in pairs.groups} | {
        name: column("Of the target, not normalised (nats).", optional=True)
        for name in pairs.logprobs
    }
    chance = 1 / len(pairs.targets) if pairs.targets else 0.5 if len(pairs.criteria) == 1 else None
    benchmark = asked(
        name=stem,
        title=pairs.title,
        question=pairs.question,
        settings=Block,
        asking=Asking(
            lambda _settings: list_pairs(pairs, path, files),
            partial(ask_pair, pairs.join),
            partial(judge_pair, pairs.margins, pairs.length_normalisation),
            logprobs=pairs.logprobs,
            stated=pairs.described(),
            method=2,
            files=lambda _settings: list(dict.fromkeys([path, *files])),
        ),
        scores=type(
            "PairScores",
            (Scores,),
            {"__annotations__": annotations, **columns},
            name=f"{stem}_scores",
        ),
        cite=pairs.reference,
        chance=pairs.chance or chance,
        source=path,
    )
    return replace(benchmark, definition=pairs.model_dump(exclude={"items"}))


def ask_pair(join: str, item: Any) -> list[Loglikelihood]:
    """The requests about an item: each target after its context, the right one first."""
    targets = item.targets
    contexts = item.context if isinstance(item.context, tuple) else [item.context] * len(targets)
    return [
        Loglikelihood(context, target, join)
        for context, target in zip(contexts, targets, strict=True)
    ]


#: By what log probabilities are divided: target, answer -> its length.
_LENGTHS: dict[str | None, Callable[[str, Scored], int]] = {
    None: lambda _target, _answer: 1,
    "tokens": lambda _target, answer: answer.n_tokens,
    "characters": lambda target, _answer: len(target),
    "bytes": lambda target, _answer: len(target.encode("utf-8", "surrogatepass")),
}


def judge_pair(
    margins: Sequence[Mapping[int, int]],
    length_normalisation: str | None,
    item: Any,
    answers: Sequence[Scored],
) -> float | None:
    """1 where all margins are above 0, 0 where one is below, one half where the smallest is a tie;
    None where a log probability is missing.
    """
    length, values = _LENGTHS[length_normalisation], []
    for target, answer in zip(item.targets, answers, strict=True):
        if answer.logprob is None:
            return None
        values.append(answer.logprob / length(target, answer))
    least = min(math.fsum(n * values[index] for index, n in margin.items()) for margin in margins)
    return 1.0 if least > 0 else 0.5 if least == 0 else 0.0


def list_pairs(pairs: MinimalPairs, path: str, files: Sequence[str]) -> pd.DataFrame:
    """One row per item.

    Raises:
        UserError: the data cannot be read, a text is missing, or two items have one id.
    """
    readers = {keys: _reader(text) for keys, text in pairs.stated().items()}
    keys_of_targets: list[Keys] = [("targets", index) for index in range(len(pairs.targets))]
    keys_of_targets += [("conditions", condition, "target") for condition in pairs.conditions]
    items = []
    locations: dict[str, str] = {}
    stems = Counter(Path(file).stem for file in files)
    for file in files:
        stem = Path(file).stem  # files of one name in several folders are told apart by these
        if stems[stem] > 1:
            stem = os.path.relpath(os.path.splitext(file)[0], os.path.dirname(path) or ".")
        for number, row in enumerate(_read_rows(file), 1):
            where = f"{file}, row {number}"
            values = {keys: _value(keys, read, row, where) for keys, read in readers.items()}
            unit = values.get(("id",), f"{stem} {number}")
            if unit in locations:
                problem = f"id: {unit} is the id of two items, here and in {locations[unit]}."
                raise UserError(
                    where, problem, f"State in {path} an id that differs from item to item."
                )
            locations[unit] = where
            targets = tuple(values[keys] for keys in keys_of_targets)
            contexts = tuple(
                values.get(("conditions", condition, "context")) for condition in pairs.conditions
            )
            groups = {grouping: values["groups", grouping] for grouping in pairs.groups}
            cluster = values.get(("clusters",), unit)
            items.append(
                {
                    "unit": unit,
                    "cluster": cluster,
                    "context": contexts or values.get(("context",)),
                    "targets": targets,
                    **groups,
                }
            )
    return pd.DataFrame(items).astype({"context": object})


def _value(keys: Keys, read: Reader, row: Mapping[str, Any], where: str) -> str:
    try:
        text = read(row)
    except (LookupError, TemplateError, TypeError, ValueError, ArithmeticError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise UserError(where, f"{dotted(keys)}: {reason}.", "Give every item a value.") from error
    if not text.strip():
        raise UserError(where, f"{dotted(keys)}: is empty.", "Give every item a value.")
    return text


def _is_template(text: str) -> bool:
    return "{{" in text or "{%" in text


def _reader(text: str) -> Reader:
    if _is_template(text):
        return _TEMPLATES.from_string(text).render
    return partial(_as_text, text)


def _as_text(column: str, row: Mapping[str, Any]) -> str:
    value = row[column]
    return "" if _is_absent(value) else str(value)


def _list_files(pairs: MinimalPairs, source: Source) -> list[str]:
    files: list[str] = []
    folder = os.path.dirname(source.name)
    for number, stated in enumerate(pairs.data):
        stated = os.path.expanduser(stated)
        pattern = os.path.join(folder, stated)
        matches = [pattern] * os.path.isfile(pattern)
        if "*" in stated:
            matches = sorted(glob.glob(os.path.join(glob.escape(folder), stated)))
        if not matches:
            where, problem = (
                find_line(("data", number), [source]),
                f"data[{number}]: there is no file {pattern}.",
            )
            raise UserError(
                where, problem, "Correct the path, which is seen from the folder of this file."
            )
        files += [file for file in matches if file not in files]
    return files


def _check_columns(keys: Keys, text: str, files: Sequence[str], source: Source) -> None:
    """A template can be read, and every column is in every file.

    Raises:
        UserError: otherwise.
    """
    where, key, columns = find_line(keys, [source]), dotted(keys), {text}
    if _is_template(text):
        try:
            columns = meta.find_undeclared_variables(_TEMPLATES.parse(text))
        except TemplateError as error:
            raise UserError(
                where,
                f"{key}: is not a template: {error}",
                "Correct it (jinja.palletsprojects.com).",
            ) from error
    for file in files:
        head = next(_read_rows(file), None)
        if head is None:
            raise UserError(
                file, "has no rows.", f"Give it items, or leave it out of {source.name}."
            )
        for missing in sorted(columns - head.keys()):
            problem = f"{key}: {file} has no column {missing}{did_you_mean(missing, list(head))}"
            fix = (
                f"Choose one of {', '.join(head)}, or write a template such as '{{{{"
                f" {next(iter(head), 'column')} }}}}'."
            )
            raise UserError(where, problem, fix)


def _read_rows(path: str) -> Iterator[dict[str, Any]]:
    """The rows of a file, one after the other.

    Raises:
        UserError: it cannot be read.
    """
    number = 1
    try:
        for row in _ROWS[Path(path).suffix](path):
            if not isinstance(row, dict):
                raise ValueError("it is not a JSON object")
            yield row
            number += 1
    except OSError as error:
        raise UserError(
            path, f"cannot be read ({error.strerror}).", "Allow it, or correct the path."
        ) from error
    except ValueError as error:  # also Arrow's and JSON's errors
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path}, row {number}", f"cannot be read: {reason}", "Correct the file."
        ) from error


def _read_csv(path: str) -> Iterator[Any]:
    rows = read_rows(path, Path(path).read_bytes())
    _, header = next(rows, (0, []))
    for _, row in rows:
        if len(row) != len(header):
            raise ValueError("it has more or fewer values than there are columns")
        yield dict(zip(header, row, strict=True))


def _read_json_lines(path: str) -> Iterator[Any]:
    with open(path, encoding="utf-8-sig") as stream:
        yield from map(json.loads, filter(str.strip, stream))


def _read_parquet(path: str) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(path).iter_batches(batch_size=1024):
        yield from batch.to_pylist()


def _read_items(path: str) -> Iterator[Any]:
    yield from read_yaml(path).document["items"]


_ROWS = {".csv": _read_csv, ".jsonl": _read_json_lines, ".parquet": _read_parquet}
_ROWS |= dict.fromkeys((".yaml", ".yml"), _read_items)
