"""The trials as the analysis needs them: numbers only, no text of a trial.

An official file is read by its fields that matter here, all lines at once. Whatever looks wrong is read again line by line by
the strict reader, which names the line and the fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import loads
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow
from pyarrow import compute, json

from worldprobe.benchmarks.worldsense.analysis.decompress import Pending, Reader
from worldprobe.benchmarks.worldsense.notation import read_description, read_relation
from worldprobe.benchmarks.worldsense.official import is_official, read_official, relation_fault
from worldprobe.benchmarks.worldsense.planar_text import read_planar_text
from worldprobe.benchmarks.worldsense.skin_groups import group_skins
from worldprobe.benchmarks.worldsense.solver import gold_answer
from worldprobe.benchmarks.worldsense.vocabulary import ANSWER_OF, ANSWERS, DISGUISE, PROBLEMS, answers_of, problem_type
from worldprobe.benchmarks.worldsense.worlds import LARGEST, SMALLEST
from worldprobe.errors import UserError

#: Every answer as a number, its place here; a trial without a valid answer has INVALID, one that was not asked ABSENT.
WORDS = tuple(DISGUISE)
INVALID, ABSENT = -1, -2
#: Official field -> our column, of those that the analysis needs.
FIELDS = {
    "Key": "trial_id",
    "problemname": "problem",
    "tuple_ID": "tuple_id",
    "expectedresp": "answers",
    "descr": "description",
    "query": "query",
    "problemsize": "size",
    "skin": "skin",
    "complexity": "complexity",
    "query_len": "arity",
    "goldresp_obfusc": "gold",
}
_TEXT = ("problemname", "tuple_ID", "descr", "query", "skin", "complexity", "goldresp_obfusc")
_SCHEMA = arrow.schema(
    [
        ("Key", arrow.int64()),
        *[(name, arrow.string()) for name in _TEXT],
        ("expectedresp", arrow.list_(arrow.string())),
        ("problemsize", arrow.int64()),
        ("query_len", arrow.int64()),
    ]
)
TYPES = tuple(ANSWERS)


@dataclass(frozen=True)
class Questions:
    """A set's trials and tuples.

    Attributes:
        trial_id: of every trial, in file order, shape (trials,).
        tuple_of: number of each trial's tuple, from 0, ascending, shape (trials,).
        gold: "released" and "corrected" -> number of the right answer in ``WORDS``, shape (trials,); INVALID: there is none.
        tuples: one row per tuple, what its trials have in common: tuple_id, problem, size, complexity, query (of its first
            trial), skin, domain, intraining, type, n_trials.
        abstract: number of each trial's abstract problem: those with the same problem, size, description and query share it.
    """

    trial_id: np.ndarray
    tuple_of: np.ndarray
    gold: dict[str, np.ndarray]
    tuples: pd.DataFrame
    abstract: np.ndarray


def read_questions(path: Path | str, pending: Pending | None = None, skin_folder: Path | str | None = None) -> Questions:
    """The trials of an official file or of our table.

    Args:
        path: ``.jsonl``, ``.jsonl.bz2``, ``.jsonl.gz`` or our table (``.parquet``).
        pending: the file, where it is being read already.
        skin_folder: of skins that the repository does not have.

    Raises:
        UserError: as ``read_trials``.
    """
    if not is_official(path):
        from worldprobe.benchmarks.worldsense.trials import read_trials

        return from_frame(read_trials(path), str(path), skin_folder)
    fast = _read_fields((pending or Reader().start(path)).wait())
    return from_frame(read_official(path), str(path), skin_folder) if fast is None else _from_table(fast, skin_folder)


def from_frame(frame: pd.DataFrame, name: str, skin_folder: Path | str | None = None) -> Questions:
    """The trials of a table in our columns.

    Args:
        frame: as ``read_trials`` gives it.
        name: the file's name, for messages.
        skin_folder: of skins that the repository does not have.

    Raises:
        UserError: a trial whose relations are in its text only, and cannot be read from there.
    """
    plain = frame.assign(complexity="Complexity_" + frame["complexity"].astype(str))
    columns = [column for column in FIELDS.values() if column != "answers"]
    table = arrow.Table.from_pandas(plain[columns], preserve_index=False)
    return _from_table(table, skin_folder, _solve_texts(frame, name))


def _read_fields(content: bytes) -> arrow.Table | None:
    """The fields that matter of all lines; None where anything looks wrong."""
    try:
        table = json.read_json(
            arrow.BufferReader(content),
            read_options=json.ReadOptions(block_size=1 << 22),
            parse_options=json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore"),
        )
    except arrow.ArrowException:
        return None
    if table.num_columns != len(FIELDS) or any(column.null_count for column in table.columns):
        return None
    table = table.rename_columns([FIELDS[name] for name in table.column_names]).combine_chunks()
    return table if _looks_right(table) else None


def _looks_right(table: arrow.Table) -> bool:
    problems = set(compute.unique(table["problem"]).to_pylist())
    complexities = set(compute.unique(table["complexity"]).to_pylist())
    sizes = set(compute.unique(table["size"]).to_pylist())
    arities = set(compute.unique(table["arity"]).to_pylist())
    if not (
        problems <= set(PROBLEMS) - {"Infer.parallel"}  # the relations of which may be in the text only
        and complexities <= {f"Complexity_{n}" for n in range(3)}
        and sizes <= set(range(SMALLEST, LARGEST + 1))
        and arities <= {2, 3}
    ):
        return False
    keys = table["trial_id"].to_numpy()
    if len(np.unique(keys)) < len(keys):
        return False
    codes, names = _codes(table["problem"])
    n_answers = np.array([len(answers_of(name)) for name in names])[codes]
    lists = table["answers"].combine_chunks()
    lengths = np.diff(lists.offsets.to_numpy())
    if not np.array_equal(lengths, n_answers):
        return False
    wanted = np.concatenate([np.array([_NUMBER[word] for word in answers_of(name)]) for name in names])
    starts = np.cumsum([0, *[len(answers_of(name)) for name in names]])
    offered_codes, offered_words = _codes(arrow.chunked_array([lists.flatten()]))
    if not set(offered_words) <= set(WORDS):
        return False
    offered = np.array([_NUMBER[word] for word in offered_words])[offered_codes]
    within = np.arange(len(offered)) - np.repeat(lists.offsets.to_numpy()[:-1] - lists.offsets.to_numpy()[0], lengths)
    if not np.array_equal(offered, wanted[np.repeat(starts[codes], lengths) + within]):
        return False
    gold_codes, gold_words = _codes(table["gold"])
    if not set(gold_words) <= set(ANSWER_OF):
        return False
    gold = np.array([_NUMBER[ANSWER_OF[word]] for word in gold_words])[gold_codes]
    kinds = np.array([TYPES.index(problem_type(name)) for name in names])[codes]
    return (
        bool((_TYPE_OF_WORD[gold] == kinds).all()) and _tuples_are_whole(table, n_answers, codes) and _relations_are_right(table)
    )


def _relations_are_right(table: arrow.Table) -> bool:
    unique = table.group_by(["description", "query", "size"]).aggregate([]).to_pydict()
    return all(relation_fault(*one) is None for one in zip(unique["description"], unique["query"], unique["size"], strict=True))


def _tuples_are_whole(table: arrow.Table, n_answers: np.ndarray, problem: np.ndarray) -> bool:
    tuple_code, names = _codes(table["tuple_id"])
    starts = np.flatnonzero(np.diff(tuple_code, prepend=-1))
    lengths = np.diff(np.append(starts, len(tuple_code)))
    same = np.repeat(problem[starts], lengths) == problem
    return len(starts) == len(names) and bool((lengths == n_answers[starts]).all() and same.all()) and "" not in names


def _codes(column: arrow.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """The values of a column as numbers, and what they stand for, by first occurrence."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, arrow.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


_NUMBER = {word: number for number, word in enumerate(WORDS)}
_TYPE_OF_WORD = np.array([next(n for n, kind in enumerate(TYPES) if word in ANSWERS[kind]) for word in WORDS])


def _from_table(
    table: arrow.Table, skin_folder: Path | str | None = None, solved: dict[int, str | None] | None = None
) -> Questions:
    tuple_code, tuple_ids = _codes(table["tuple_id"])
    starts = np.flatnonzero(np.diff(tuple_code, prepend=-1))
    codes: dict[str, tuple[np.ndarray, list[str]]] = {
        name: _codes(table[name]) for name in ("problem", "skin", "complexity", "gold", "description", "query")
    }
    sizes = table["size"].to_numpy()
    arity = table["arity"].to_numpy()

    def category(name: str) -> pd.Categorical[str]:
        code, values = codes[name]
        return pd.Categorical.from_codes(code[starts].astype(int), pd.Index(values))

    skin_code, skins = codes["skin"]
    groups = group_skins(skins, skin_folder)
    tuples = pd.DataFrame(
        {
            "tuple_id": tuple_ids,
            "problem": category("problem"),
            "size": sizes[starts],
            "complexity": category("complexity"),
            "query": pd.Categorical.from_codes(np.asarray(arity[starts] == 3, int), pd.Index(["bin", "tern"])),
            "skin": category("skin"),
            "domain": pd.Categorical([groups[name].domain for name in skins])[skin_code[starts]],
            "intraining": pd.Categorical([groups[name].training for name in skins])[skin_code[starts]],
            "n_trials": np.diff(np.append(starts, len(tuple_code))),
        }
    )
    gold_code, gold_words = codes["gold"]
    released = np.array([_NUMBER[ANSWER_OF[word]] for word in gold_words], np.int8)[gold_code]
    abstract, corrected = _solve(codes, sizes)
    for row, answer in (solved or {}).items():
        corrected[row] = INVALID if answer is None else _NUMBER[answer]
    return Questions(
        trial_id=table["trial_id"].to_numpy(),
        tuple_of=tuple_code,
        gold={"released": released, "corrected": corrected},
        tuples=tuples,
        abstract=abstract,
    )


def _solve(codes: dict[str, tuple[np.ndarray, list[str]]], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of each trial's abstract problem, and the solver's answers; each abstract problem is solved once."""
    (problem, problems), (description, descriptions), (query, queries) = (
        codes[name] for name in ("problem", "description", "query")
    )
    which = ((problem.astype(np.int64) * 16 + sizes) * len(descriptions) + description) * len(queries) + query
    _, first, inverse = np.unique(which, return_index=True, return_inverse=True)
    relations = [read_description(text) for text in descriptions]
    asked = [read_relation(text) for text in queries]
    solved = np.full(len(first), INVALID, np.int8)
    for number, row in enumerate(first.tolist()):
        answer = gold_answer(problems[problem[row]], int(sizes[row]), relations[description[row]], asked[query[row]])
        if answer is not None:
            solved[number] = _NUMBER[answer]
    return inverse.reshape(-1), solved[inverse.reshape(-1)]


def _solve_texts(frame: pd.DataFrame, name: str) -> dict[int, str | None]:
    """The answers by row of the trials whose relations are in their text only: the official sets of lines in the plane."""
    is_planar = (frame["problem"] == "Infer.parallel") & ~frame["description"].str.contains("p", regex=False)
    solved: dict[int, str | None] = {}
    for row in np.flatnonzero(is_planar).tolist():
        trial = frame.iloc[row]
        try:
            relations, asked = read_planar_text(trial["text"], loads(trial["entities"]))
        except ValueError as error:
            where = f"{name}, line {trial['line']}" if "line" in frame else f"{name}, trial {trial['number']}"
            raise UserError(where, f"{error}.", "Fix the text, or leave the trial out.") from error
        solved[row] = gold_answer("Infer.parallel", int(trial["size"]), relations, asked)
    return solved
