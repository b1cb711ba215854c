"""Answers of models to a set's trials: the official layout, or our table of responses.

An official file is named ``<prompting>___<model>___results.jsonl`` (also ``.bz2`` and ``.gz``); a
line has ``Key`` and ``resp``. A file may have part of the trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.questions import (
    ABSENT,
    INVALID,
    TYPES,
    WORDS,
    Questions,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS, problem_type
from worldprobe.benchmarks.worldsense.trials.files import is_official, read_lines
from worldprobe.engines import of_answers
from worldprobe.errors import UserError

_NUMBER = {word: number for number, word in enumerate(WORDS)}
SEPARATOR = "___"
#: Why an answer does not count: the model gave none, or a word that the trial's problem does not
#: accept.
EMPTY, FOREIGN = "empty", "foreign"


@dataclass(frozen=True)
class AnswerSeries:
    """Answers of one model under one prompting strategy.

    Attributes:
        prompting: name of the strategy.
        model: name of the model.
        answers: number of the answer to each trial in ``WORDS``, INVALID or ABSENT, shape (samples,
            trials).
        invalid: why answers are invalid -> how many are.
        n_foreign_keys: answers to trials that the set does not have.
        is_rule: a rule answered, not a model.
        details: what our table's provenance says of asking; nothing of an official file.
    """

    prompting: str
    model: str
    answers: np.ndarray
    invalid: dict[str, int]
    n_foreign_keys: int = 0
    is_rule: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


def name_of_results(path: Path | str) -> tuple[str, str]:
    """Prompting and model of an official file of results, from its name.

    Raises:
        UserError: the name has another form.

    >>> name_of_results("results/basic___GPT4___results.jsonl.bz2")
    ('basic', 'GPT4')
    """
    parts = Path(path).name.split(SEPARATOR)
    if len(parts) != 3 or not parts[0] or not parts[1] or parts[2].split(".")[0] != "results":
        fix = "Name the file <prompting>___<model>___results.jsonl."
        raise UserError(path, "its name does not state prompting and model.", fix)
    return parts[0], parts[1]


def read_series(paths: Sequence[Path | str], questions: Questions) -> list[AnswerSeries]:
    """The answers of all files, sorted by prompting and model.

    Args:
        paths: official results and tables of responses, in any mixture.
        questions: of the set.

    Raises:
        UserError: a file is not readable, malformed, or about another set; or two have the same
            prompting and model.
    """
    by_key: dict[tuple[str, str], tuple[AnswerSeries, Path | str]] = {}
    for path in paths:
        read = (
            _read_official(path, questions) if is_official(path) else _read_table(path, questions)
        )
        for series in read:
            key = (series.prompting, series.model)
            if key in by_key:
                problem = (
                    f"also contains answers of {series.model} under {series.prompting}, as"
                    f" {by_key[key][1]} does."
                )
                raise UserError(path, problem, "Give each prompting and model once.")
            by_key[key] = (series, path)
    return [by_key[key][0] for key in sorted(by_key)]


@dataclass
class Caveats:
    """Facts about answers that belong next to every number computed from them.

    Attributes:
        flags: model -> prompting and set -> ``of`` (number of answers), the number of each status
            other than ok, and that of answers one of whose scores has a flag.
        reading: model -> prompting and set -> the rule by which replies were read, the number of
            replies, and where the two rules differ.
    """

    flags: dict[str, dict[str, Any]] = field(default_factory=dict)
    reading: dict[str, dict[str, Any]] = field(default_factory=dict)

    def details(self) -> dict[str, Any]:
        """The caveats as provenance details, without empty ones."""
        return {kind: by_model for kind, by_model in vars(self).items() if by_model}


def caveats(sets: Mapping[str, Sequence[AnswerSeries]]) -> Caveats:
    """The caveats of the answers to several sets.

    Args:
        sets: name of a set -> the answers to it; official files say nothing of the kind.
    """
    collected = Caveats()
    for name, answered in sets.items():
        for series in answered:
            details, status = series.details, series.details.get("status", {})
            way = f"{details.get('prompting')}, {name}"
            flags = {key: number for key, number in status.items() if key != "ok"}
            flags |= details.get("flags", {})
            if flags:
                by_way = collected.flags.setdefault(series.model, {})
                by_way[way] = {"of": sum(status.values()), **flags}
            if reading := details.get("reading"):
                collected.reading.setdefault(series.model, {})[way] = reading
    return collected


def _read_official(path: Path | str, questions: Questions) -> list[AnswerSeries]:
    prompting, model = name_of_results(path)
    keys, words = _read_lines(path)
    row, is_known = _rows(questions, keys)
    _refuse_twice(path, keys)
    if not is_known.any():
        raise UserError(
            path, "contains no answer to a trial of the set.", "Give the results of the same set."
        )
    number = np.array([_NUMBER.get(word, INVALID) for word in words], np.int8)
    answers, _ = _place(questions, row[is_known], number[is_known])
    n_invalid = int((answers == INVALID).sum())
    empty = np.array([word == "" for word in words])[is_known]
    invalid = {EMPTY: int(empty.sum()), FOREIGN: n_invalid - int(empty.sum())}
    return [
        AnswerSeries(
            prompting,
            model,
            answers[None, :],
            {k: n for k, n in invalid.items() if n},
            int((~is_known).sum()),
        )
    ]


def _read_lines(path: Path | str) -> tuple[np.ndarray, list[str]]:
    """Keys and answers of an official file of results; 1, 2 and 3 may be written as numbers.

    Raises:
        UserError: a line is not an answer, or there is none.
    """
    keys: list[int] = []
    words: list[str] = []
    for line, row in read_lines(path):
        key, word = row.get("Key"), row.get("resp")
        if type(key) is not int or not -(2**63) <= key < 2**63 or type(word) not in (str, int):
            problem = "does not have a Key (a whole number of 64 bits) and a resp (text)."
            raise UserError(
                f"{path}, line {line}",
                problem,
                'Write {"Key": ..., "resp": "..."}, with the Key of a trial.',
            )
        keys.append(key)
        words.append(str(word))
    if not keys:
        raise UserError(path, "contains no answers.", "Give a file with one JSON object per line.")
    return np.array(keys, np.int64), words


def _read_table(path: Path | str, questions: Questions) -> list[AnswerSeries]:
    """A table of responses of ours."""
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.contracts import read_provenance, read_table

    table = read_table(path, Responses, ["trial_id", "prompting", "sample", "answer", "status"])
    made = read_provenance(path)
    model = made.model
    if model is None:
        raise UserError(
            path,
            "does not state whose answers it contains.",
            "Ask the model again with this worldprobe.",
        )
    return [
        replace(series, details=made.details, is_rule=not of_answers(made.engine).is_model)
        for series in series_of(table, model, questions, path)
    ]


def series_of(
    table: pd.DataFrame,
    model: str,
    questions: Questions,
    path: Path | str = "responses",
) -> list[AnswerSeries]:
    """The answers in a table of responses.

    Args:
        table: ``contracts.Responses`` of one model.
        model: its name.
        questions: of the set.
        path: for messages.

    Raises:
        UserError: they answer no trial of the set.
    """
    series = []
    for prompting, rows in table.groupby("prompting", sort=True):
        row, is_known = _rows(questions, rows["trial_id"].to_numpy())
        if not is_known.any():
            raise UserError(
                path,
                "contains no answer to a trial of the set.",
                "Give the responses to the same set.",
            )
        answered = rows[is_known]
        codes = answered["answer"].map(_NUMBER).fillna(INVALID).to_numpy(np.int8)
        samples = answered["sample"].to_numpy()
        placed, invalid = (
            [],
            answered.loc[answered["status"] != "ok", "status"].value_counts().sort_index(),
        )
        counts = {str(status): int(number) for status, number in invalid.items()}
        for sample in np.unique(samples):
            here = samples == sample
            answers, n_foreign = _place(questions, row[is_known][here], codes[here])
            placed.append(answers)
            if n_foreign:
                counts[FOREIGN] = counts.get(FOREIGN, 0) + n_foreign
        series.append(
            AnswerSeries(str(prompting), model, np.stack(placed), counts, int((~is_known).sum()))
        )
    return series


def _rows(questions: Questions, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The row of each key's trial, and whether there is one."""
    if len(keys) == len(questions.trial_id) and np.array_equal(keys, questions.trial_id):
        return np.arange(len(keys)), np.ones(len(keys), bool)
    order = np.argsort(questions.trial_id)
    position = np.searchsorted(questions.trial_id, keys, sorter=order)
    row = order[np.minimum(position, len(order) - 1)]
    return row, questions.trial_id[row] == keys


def _refuse_twice(path: Path | str, keys: np.ndarray) -> None:
    if len(np.unique(keys)) < len(keys):
        _, first = np.unique(keys, return_index=True)
        again = int(np.setdiff1d(np.arange(len(keys)), first)[0])
        earlier = int(np.flatnonzero(keys == keys[again])[0])
        problem = f"answers {earlier + 1} and {again + 1} have the same Key, {keys[again]}."
        raise UserError(path, problem, "Keep one answer per trial.")


def _place(questions: Questions, row: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, int]:
    """Answers in the order of the trials; words that a trial's problem does not accept are invalid,
    and counted.
    """
    kinds = [TYPES.index(problem_type(name)) for name in questions.tuples["problem"].cat.categories]
    kind_of_tuple = np.array(kinds)[questions.tuples["problem"].cat.codes.to_numpy()]
    kind_of_word = np.array(
        [next(n for n, kind in enumerate(TYPES) if word in ANSWERS[kind]) for word in WORDS]
    )
    is_foreign = (number >= 0) & (kind_of_word[number] != kind_of_tuple[questions.tuple_of[row]])
    answers = np.full(len(questions.trial_id), ABSENT, np.int8)
    answers[row] = np.where(is_foreign, INVALID, number)
    return answers, int(is_foreign.sum())
