"""Reader and writer of the official layout, ``trials.jsonl.bz2``: one JSON object a line (specification, Section 2).

What is read, written and read again is equal, byte for byte where the official writer wrote it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.compute as compute
from pyarrow.json import ParseOptions, ReadOptions, read_json

from worldprobe.benchmarks.worldsense.problems.notation import read_description, read_relation, relation_fault
from worldprobe.benchmarks.worldsense.problems.worlds import LARGEST, SMALLEST
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, DISGUISES, PROBLEMS, answers_of
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import whole_file

#: Field -> its type, in the official order.
FIELDS: dict[str, type | tuple[type, ...]] = {
    "Key": int,
    "problemname": str,
    "tuple_ID": str,
    "text": str,
    "expectedresp": list,
    "span": (int, type(None)),
    "descr": str,
    "query": str,
    "objects": list,
    "problemsize": int,
    "skin": str,
    "qskin": str,
    "complexity": str,
    "query_len": int,
    "goldresp_obfusc": str,
}
#: Official field -> our column, where the value is the same.
SAME = {
    "Key": "trial_id",
    "problemname": "problem",
    "tuple_ID": "tuple_id",
    "text": "text",
    "span": "span",
    "descr": "description",
    "query": "query",
    "problemsize": "size",
    "skin": "skin",
    "qskin": "wording",
    "query_len": "arity",
    "goldresp_obfusc": "gold",
}
#: Columns that are read, in this order; ``line`` is the place in the file.
COLUMNS = (*SAME.values(), "complexity", "entities", "line")
_COMPLEXITY = re.compile(r"Complexity_([012])")
#: The exact types of a right line, in the order of ``FIELDS``: one comparison instead of fifteen.
_RIGHT_TYPES = tuple([kind[0] if isinstance(kind, tuple) else kind for kind in FIELDS.values()])
_write_names = json.JSONEncoder(ensure_ascii=False).encode
#: Bytes that are read, and parsed, at a time.
BLOCK_SIZE = 1 << 23
_OPENERS: dict[str, Callable[..., IO[bytes]]] = {".bz2": cast(Any, bz2.open), ".gz": cast(Any, gzip.open)}


def is_official(path: Path | str) -> bool:
    """Whether a file's name is one of the official layout: ``.jsonl``, also compressed as ``.bz2`` or ``.gz``."""
    suffixes = Path(path).suffixes
    return bool(suffixes) and (suffixes[-1] == ".jsonl" or (len(suffixes) > 1 and suffixes[-2] == ".jsonl"))


def read_official(path: Path | str) -> pd.DataFrame:
    """The trials of an official file, in file order, in our columns, with ``line`` next to them.

    Raises:
        UserError: the first malformed line, unknown gold word, duplicated key or incomplete tuple, by file and line.
    """
    frames = [_read_block(block, first, str(path)) for first, block in _blocks(path)]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        raise UserError(path, "contains no trials.", "Give a file with one JSON object per line.")
    frame = pd.concat(frames, ignore_index=True)
    frame["span"] = frame["span"].astype("Int64")
    for place in frame["trial_id"].duplicated().to_numpy().nonzero()[0][:1]:
        key = frame["trial_id"].iloc[place]
        first = frame["line"][frame["trial_id"] == key].iloc[0]
        where = f"{path}, line {frame['line'].iloc[place]}"
        raise UserError(where, f"Key {key} is also the key of line {first}.", "Keep one of the two trials.")
    frame.insert(0, "number", range(len(frame)))
    check_tuples(frame, str(path))
    return frame


def write_official(frames: Iterable[pd.DataFrame], path: Path | str, canary: str | None = None) -> int:
    """Write trials in the official layout as a whole file, compressed as the name says; returns how many.

    Args:
        frames: trials in our columns, a batch at a time.
        path: ``.jsonl``, ``.jsonl.bz2`` or ``.jsonl.gz``.
        canary: put in front of every tuple's id, as the layout has no other place for it.

    Raises:
        UserError: the place cannot be written.
    """
    n_trials = 0
    with whole_file(path) as temporary, _open_for_writing(temporary, Path(path).suffix) as stream:
        for frame in frames:
            rows = cast(list[dict[str, Any]], frame.to_dict("records"))
            stream.writelines(_write_line(row, canary).encode() for row in rows)
            n_trials += len(frame)
    return n_trials


def _open_for_writing(path: Path, suffix: str) -> IO[bytes]:
    if suffix == ".gz":  # no name and no date inside: same trials, same bytes
        return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=open(path, "wb"), mode="wb", mtime=0))
    return bz2.open(path, "wb") if suffix == ".bz2" else open(path, "wb")


def check_fields(frame: pd.DataFrame, name: str) -> None:
    """Descriptions, queries and entities of a table are what their columns promise.

    Args:
        frame: trials in our columns.
        name: the file's name.

    Raises:
        UserError: the first that is not.
    """
    readers: dict[str, Callable[[str], object]] = {
        "description": read_description,
        "query": read_relation,
        "entities": _read_names,
    }
    for column, read in readers.items():
        for value in frame[column].unique():
            try:
                read(value)
            except ValueError as error:
                number = frame.loc[frame[column] == value, "number"].iloc[0]
                raise UserError(f"{name}, trial {number}, column {column}", f"{error}.", "Make the table again.") from error


def _read_names(text: str) -> list[str]:
    try:
        names = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{text!r} is not a JSON list of names") from error
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{text!r} is not a JSON list of names")
    return list(names)


def check_tuples(frame: pd.DataFrame, name: str) -> None:
    """Every tuple's trials are adjacent, as many as its problem has answers, and of one problem.

    Args:
        frame: trials in our columns, with ``line`` where they come from a file of lines.
        name: the file's name.

    Raises:
        UserError: the first tuple that is not.
    """
    starts = frame["tuple_id"].ne(frame["tuple_id"].shift())
    blocks = frame.assign(block=starts.cumsum()).groupby("block", sort=False)
    heads = frame[starts].reset_index(drop=True)
    n_trials = blocks.size().to_numpy()
    n_problems = blocks["problem"].nunique().to_numpy()
    wanted = heads["problem"].map(lambda problem: len(answers_of(problem))).to_numpy()
    repeated = heads["tuple_id"].duplicated().to_numpy()
    for place in (repeated | (n_trials != wanted) | (n_problems != 1)).nonzero()[0][:1]:
        head = heads.iloc[place]
        where = f"{name}, line {head['line']}" if "line" in frame else f"{name}, trial {head['number']}"
        if repeated[place]:
            problem = f"tuple {head['tuple_id']} goes on here, but other trials are in between."
        elif n_problems[place] != 1:
            problem = f"tuple {head['tuple_id']} has trials of several problems."
        else:
            n = n_trials[place]
            has = f"{n} trial{'s' if n > 1 else ''}; tuples of {head['problem']} have {wanted[place]}"
            problem = f"tuple {head['tuple_id']} has {has}."
        raise UserError(where, problem, "Give whole tuples, the trials of each on adjacent lines.")


def read_whole(path: Path | str) -> bytes:
    """All bytes of an official file, decompressed.

    Raises:
        UserError: it cannot be read or decompressed, or ends early.
    """
    return b"".join(lines for _, lines in _blocks(path))


def _blocks(path: Path | str) -> Iterator[tuple[int, bytes]]:
    """Whole lines, some megabytes at a time, and the number of the first, counted from 1."""
    opener = _OPENERS.get(Path(path).suffix, cast(Callable[..., IO[bytes]], open))
    number, rest = 0, b""
    try:
        with opener(path, "rb") as stream, ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(stream.read, BLOCK_SIZE)  # decompressed while the one before is parsed
            while block := ahead.result():
                ahead = reader.submit(stream.read, BLOCK_SIZE)
                whole, newline, end = block.rpartition(b"\n")
                if newline:
                    lines = rest + whole + newline
                    yield number + 1, lines
                    number, rest = number + lines.count(b"\n"), end
                else:
                    rest += end
        if rest:
            yield number + 1, rest
    except EOFError as error:
        raise UserError(
            f"{path}, line {number + 1}", "the file ends early; it was cut short.", "Fetch or make it again."
        ) from error
    except OSError as error:
        if error.errno is None:
            raise UserError(path, f"cannot be decompressed ({error}).", "Fetch or make it again.") from error
        raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error


def _read_block(lines: bytes, first: int, name: str) -> pd.DataFrame:
    """The trials of whole lines; where any is wrong or unusual, line by line."""
    table = parse_lines(lines)
    if table is not None:
        frame = to_columns(table, SAME)
        frame["line"] = range(first, first + len(frame))
        return frame[list(COLUMNS)]
    numbered = [(number, line) for number, line in enumerate(lines.split(b"\n"), first) if line.strip()]
    rows = [(*_read_line(line, f"{name}, line {number}"), number) for number, line in numbered]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame["span"] = frame["span"].astype("Int64")
    return frame


def _read_line(text: bytes, where: str) -> tuple[Any, ...]:
    """The values of ``COLUMNS`` but the last."""
    try:
        trial = _read_json(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else str(error)
        problem = "is not UTF-8 text." if isinstance(error, UnicodeDecodeError) else f"is not a JSON object ({reason})."
        raise UserError(where, problem, "Fix the line, or fetch the file again.") from error
    if not isinstance(trial, dict):
        raise UserError(where, "is not a JSON object.", "Give one object with the trial's fields per line.")
    if trial.keys() != FIELDS.keys():
        for field in FIELDS:
            if field not in trial:
                raise UserError(where, f'the field "{field}" is missing.', f"Give all of {', '.join(FIELDS)}.")
        extra = next(field for field in trial if field not in FIELDS)
        raise UserError(where, f'the field "{extra}" is unknown{did_you_mean(extra, FIELDS)}', "Fix or remove it.")
    if tuple([type(trial[field]) for field in FIELDS]) != _RIGHT_TYPES:
        for field, kind in FIELDS.items():
            if not isinstance(trial[field], kind) or isinstance(trial[field], bool):
                raise UserError(where, f"{field} is {trial[field]!r}, which has the wrong type.", "Fix the value.")
    if b"\\u" in text:  # half of a character is JSON, but not text
        _check_characters(trial, where)
    row = {column: trial[field] for field, column in SAME.items()}
    _check(trial, row, where)
    return (*row.values(), int(trial["complexity"][-1]), _write_names(trial["objects"]))


def _no_field_twice(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    trial = dict(fields)
    if len(trial) < len(fields):
        names = [name for name, _ in fields]
        raise ValueError(f'the field "{next(name for name in names if names.count(name) > 1)}" is there twice')
    return trial


_read_json = json.JSONDecoder(object_pairs_hook=_no_field_twice).decode


def _check_characters(trial: dict[str, Any], where: str) -> None:
    for field, value in trial.items():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise UserError(where, f"{field} contains half of a character (a lone surrogate).", "Fix the field.") from error


def _check(trial: dict[str, Any], row: dict[str, Any], where: str) -> None:
    def refuse(problem: str, fix: str) -> UserError:
        return UserError(where, problem, fix)

    problem, size, gold = row["problem"], row["size"], row["gold"]
    if problem not in PROBLEMS:
        raise refuse(f"problemname {problem!r} is unknown{did_you_mean(problem, PROBLEMS)}", f"Use one of {', '.join(PROBLEMS)}.")
    if gold not in DISGUISES:
        raise refuse(f"the gold word {gold!r} is unknown{did_you_mean(gold, DISGUISES)}", f"Use one of {', '.join(DISGUISES)}.")
    allowed = answers_of(problem)
    if ANSWER_OF[gold] not in allowed:
        raise refuse(f"the gold word {gold} stands for an answer that {problem} does not have.", "Fix the gold word.")
    if tuple(trial["expectedresp"]) != allowed:
        raise refuse(f"expectedresp is {trial['expectedresp']}, but {problem} has {list(allowed)}.", "Fix the field.")
    if not SMALLEST <= size <= LARGEST:
        raise refuse(f"problemsize is {size}.", f"Sizes from {SMALLEST} to {LARGEST} are known.")
    names = trial["objects"]
    if len(names) != size or len(set(map(str, names))) != size or set(map(type, names)) != {str} or "" in names:
        raise refuse(f"objects does not name {size} different entities.", "Name each entity once.")
    if not -(2**63) <= row["trial_id"] < 2**63:
        raise refuse(f"Key {row['trial_id']} does not fit into 64 bits.", "Fix the key.")
    if row["span"] is not None and not 0 <= row["span"] < size:
        raise refuse(f"span is {row['span']}, but there are {size} entities.", "Fix the span.")
    if not _COMPLEXITY.fullmatch(trial["complexity"]):
        raise refuse(f"complexity is {trial['complexity']!r}.", "Use Complexity_0, Complexity_1 or Complexity_2.")
    if row["arity"] not in (2, 3):
        raise refuse(f"query_len is {row['arity']}.", "Use 2 (binary) or 3 (ternary).")
    for field in ("tuple_id", "text", "skin", "wording"):
        if not row[field] or row[field].isspace():
            raise refuse(f"{field} is empty.", "Fix the field.")
    fault = relation_fault(row["description"], row["query"], size)
    if fault is not None:
        raise refuse(*fault)


def _write_line(row: dict[str, Any], canary: str | None) -> str:
    trial = {
        "Key": int(row["trial_id"]),
        "problemname": row["problem"],
        "tuple_ID": f"{canary}_{row['tuple_id']}" if canary else row["tuple_id"],
        "text": row["text"],
        "expectedresp": list(answers_of(row["problem"])),
        "span": None if pd.isna(row["span"]) else int(row["span"]),
        "descr": row["description"],
        "query": row["query"],
        "objects": json.loads(row["entities"]),
        "problemsize": int(row["size"]),
        "skin": row["skin"],
        "qskin": row["wording"],
        "complexity": f"Complexity_{row['complexity']}",
        "query_len": int(row["arity"]),
        "goldresp_obfusc": row["gold"],
    }
    # The official writer was pandas, which escapes the slash.
    return json.dumps(trial, separators=(",", ":")).replace("/", "\\/") + "\n"


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
