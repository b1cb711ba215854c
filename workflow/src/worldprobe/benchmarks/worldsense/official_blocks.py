"""Fast reading of many lines of the official layout: parsed and checked by the column, not line by line.

Only what is certainly right is accepted. Everything else is left to the reader of single lines, which accepts or says
what is wrong, so the two may differ in speed only (a test compares them).
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.compute as compute
from pyarrow.json import ParseOptions, ReadOptions, read_json

from worldprobe.benchmarks.worldsense.notation import relation_fault
from worldprobe.benchmarks.worldsense.vocabulary import ANSWER_OF, PROBLEMS, answers_of
from worldprobe.benchmarks.worldsense.worlds import LARGEST, SMALLEST

_TEXT, _NUMBER, _TEXTS = arrow.string(), arrow.int64(), arrow.list_(arrow.string())
_SCHEMA = arrow.schema(
    {
        "Key": _NUMBER,
        "problemname": _TEXT,
        "tuple_ID": _TEXT,
        "text": _TEXT,
        "expectedresp": _TEXTS,
        "span": _NUMBER,
        "descr": _TEXT,
        "query": _TEXT,
        "objects": _TEXTS,
        "problemsize": _NUMBER,
        "skin": _TEXT,
        "qskin": _TEXT,
        "complexity": _TEXT,
        "query_len": _NUMBER,
        "goldresp_obfusc": _TEXT,
    }
)
_COMPLEXITIES = ("Complexity_0", "Complexity_1", "Complexity_2")
#: Half of a character, perhaps: JSON, but not text.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
#: Bytes that are parsed at a time, of a file that is read as a whole.
_BLOCK_SIZE = 1 << 22
_write_name = json.JSONEncoder(ensure_ascii=False).encode


def parse_file(content: bytes, fields: list[str]) -> arrow.Table | None:
    """Some official fields of a whole file whose lines, keys and tuples are right; None where anything is wrong or unusual.

    Args:
        content: all lines.
        fields: official names.
    """

    def parse(lines: bytes) -> arrow.Table | None:
        table = parse_lines(lines)
        return table if table is None else table.select(fields)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(parse, _cut(content)))
    if not parts or any(part is None for part in parts):
        return None
    table = arrow.concat_tables(parts).combine_chunks()
    return table if _keys_differ(table) and _tuples_are_whole(table) else None


def _cut(content: bytes) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time."""
    begin = 0
    while begin < len(content):
        end = content.find(b"\n", begin + _BLOCK_SIZE) + 1 or len(content)
        yield content[begin:end]
        begin = end


def _keys_differ(table: arrow.Table) -> bool:
    return len(np.unique(table["Key"].to_numpy())) == table.num_rows


def _tuples_are_whole(table: arrow.Table) -> bool:
    """Every tuple's trials are adjacent, as many as its problem has answers, and of one problem."""
    (number, names), (problem, problems) = (encode(table[field]) for field in ("tuple_ID", "problemname"))
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    lengths = np.diff(np.append(starts, len(number)))
    wanted = np.array([len(answers_of(name)) for name in problems])[problem[starts]]
    is_one_problem = np.repeat(problem[starts], lengths) == problem
    return len(starts) == len(names) and bool((lengths == wanted).all() and is_one_problem.all())


def encode(column: arrow.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """The values of a column as numbers, and what they stand for, by first occurrence."""
    encoded = column.combine_chunks()
    if not arrow.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    if isinstance(encoded, arrow.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def parse_lines(lines: bytes) -> arrow.Table | None:
    """The official fields of whole lines that are right; None where any line is wrong or unusual.

    Unusual are blank lines, a span without a value, texts without a letter of a to z, and escaped characters beyond the first
    65,536.
    """
    n_lines = lines.count(b"\n") + (not lines.endswith(b"\n"))
    is_whole = lines.startswith(b"{") and lines.endswith((b"}\n", b"}\r\n", b"}"))
    if not is_whole or lines.count(b"}\n{") != n_lines - 1 or (b"\\u" in lines and _SURROGATE.search(lines)):
        return None
    try:
        lines.decode()
        options = ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="error")
        table = read_json(io.BytesIO(lines), ReadOptions(use_threads=False, block_size=len(lines) + 1), options)
    except (arrow.ArrowException, UnicodeDecodeError):
        return None
    return table if table.num_rows == n_lines and _is_right(table.combine_chunks()) else None


def _is_right(table: arrow.Table) -> bool:
    if any(table[name].null_count for name in _SCHEMA.names):
        return False
    names, answers = (table[field].combine_chunks() for field in ("objects", "expectedresp"))
    if names.flatten().null_count or answers.flatten().null_count:
        return False
    size, arity, span = (table[field].to_numpy() for field in ("problemsize", "query_len", "span"))
    if not (_is_within(size, SMALLEST, LARGEST) and _is_within(arity, 2, 3) and bool(((span >= 0) & (span < size)).all())):
        return False
    if not set(table["complexity"].unique().to_pylist()) <= set(_COMPLEXITIES):
        return False
    if any(not text or text.isspace() for field in ("tuple_ID", "skin", "qskin") for text in table[field].unique().to_pylist()):
        return False
    if not compute.all(compute.match_substring_regex(table["text"], "[A-Za-z0-9]")).as_py():
        return False
    return _names_are_right(names, size) and _answers_are_right(table, answers) and _relations_are_right(table)


def _is_within(numbers: np.ndarray, least: int, most: int) -> bool:
    return bool(least <= numbers.min() and numbers.max() <= most)


def _names_are_right(names: arrow.ListArray, size: np.ndarray) -> bool:
    codes = names.flatten().dictionary_encode()
    rows = compute.list_parent_indices(names).to_numpy()
    pairs = rows.astype(np.int64) * len(codes.dictionary) + codes.indices.to_numpy()
    each_once = len(np.unique(pairs)) == len(pairs)
    return each_once and "" not in codes.dictionary.to_pylist() and bool((names.value_lengths().to_numpy() == size).all())


def _answers_are_right(table: arrow.Table, answers: arrow.ListArray) -> bool:
    joined = compute.binary_join(answers, "\n")
    columns = {"problem": table["problemname"], "answers": joined, "gold": table["goldresp_obfusc"]}
    for row in arrow.table(columns).group_by(list(columns)).aggregate([]).to_pylist():
        problem = row["problem"]
        if problem not in PROBLEMS or row["answers"] != "\n".join(answers_of(problem)):
            return False
        if ANSWER_OF.get(row["gold"]) not in answers_of(problem):
            return False
    return True


def _relations_are_right(table: arrow.Table) -> bool:
    unique = table.group_by(["descr", "query", "problemsize"], use_threads=False).aggregate([]).to_pydict()
    return not any(map(relation_fault, unique["descr"], unique["query"], unique["problemsize"]))


def to_columns(table: arrow.Table, names: dict[str, str]) -> pd.DataFrame:
    """Our columns of parsed lines.

    Args:
        table: as ``parse_lines`` returns it.
        names: official field -> our column, where the value is the same.
    """
    frame = cast(pd.DataFrame, table.select(list(names)).rename_columns(list(names.values())).to_pandas())
    frame["complexity"] = table["complexity"].to_pandas().str[-1].astype("int64")
    objects = table["objects"].combine_chunks()
    codes = objects.flatten().dictionary_encode()
    written = arrow.array([_write_name(name) for name in codes.dictionary.to_pylist()], _TEXT).take(codes.indices)
    joined = compute.binary_join(arrow.ListArray.from_arrays(objects.offsets, written), ", ")
    frame["entities"] = compute.binary_join_element_wise("[", joined, "]", "").to_pandas()
    return frame
