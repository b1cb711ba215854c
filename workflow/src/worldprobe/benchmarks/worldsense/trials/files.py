"""Files of trials: the official layout, and our table, written batch by batch, each whole or not at
all.

The official layout, ``trials.jsonl.bz2``, is one JSON object a line (specification, Section 2).
What is read, written and read again is equal, byte for byte where the official writer wrote it.
"""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet

from worldprobe.analysis.sampling import stratified
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.problems.problems import COMPLEXITIES
from worldprobe.benchmarks.worldsense.skins.rendering import read_planar_text
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    ANSWER_OF,
    CANARY,
    DISGUISES,
    PROBLEMS,
    answers_of,
)
from worldprobe.contracts import (
    ContractError,
    check_columns,
    check_rows,
    open_table,
    read_provenance,
    read_table,
)
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance

#: Field -> its type, in the official order; span may be null.
FIELDS: dict[str, type] = {
    "Key": int,
    "problemname": str,
    "tuple_ID": str,
    "text": str,
    "expectedresp": list,
    "span": int,
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
_COMPLEXITIES = tuple(
    f"Complexity_{number}"
    for number in sorted({level for levels in COMPLEXITIES.values() for level in levels})
)
_write_names = json.JSONEncoder(ensure_ascii=False).encode
OPENERS: dict[str, Callable[..., IO[bytes]]] = {
    ".bz2": cast(Any, bz2.open),
    ".gz": cast(Any, gzip.open),
}


def is_official(path: Path | str) -> bool:
    """Whether a file's name is one of the official layout: ``.jsonl``, also compressed as ``.bz2``
    or ``.gz``.
    """
    suffixes = Path(path).suffixes
    return bool(suffixes) and (
        suffixes[-1] == ".jsonl" or (len(suffixes) > 1 and suffixes[-2] == ".jsonl")
    )


def read_official(path: Path | str) -> pd.DataFrame:
    """The trials of an official file, in file order, in our columns, with ``line`` next to them.

    Raises:
        UserError: the first malformed line, unknown gold word, duplicated key or incomplete tuple,
            by file and line.
    """
    rows = []
    for number, trial in read_lines(path):
        if fault := _form_fault(trial) or _fault(trial):
            raise UserError(f"{path}, line {number}", *fault)
        rows.append(
            (
                *(trial[field] for field in SAME),
                int(trial["complexity"][-1]),
                _write_names(trial["objects"]),
                number,
            )
        )
    if not rows:
        raise UserError(path, "contains no trials.", "Give a file with one JSON object per line.")
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"span": "Int64"})
    for row in frame["trial_id"].duplicated().to_numpy().nonzero()[0][:1]:
        key = frame["trial_id"].iloc[row]
        first = frame["line"][frame["trial_id"] == key].iloc[0]
        where = f"{path}, line {frame['line'].iloc[row]}"
        raise UserError(
            where, f"Key {key} is also the key of line {first}.", "Keep one of the two trials."
        )
    frame.insert(0, "number", range(len(frame)))
    check_tuples(frame, str(path))
    return frame


def sample_tuples(trials: pd.DataFrame, size: int) -> pd.DataFrame:
    """Whole tuples of trials, in their order: a few that stand for all.

    Args:
        trials: in our columns.
        size: number of trials, at most, in proportion from each problem; one tuple of each problem,
            if it is lower.
    """
    tuples = trials.groupby("tuple_id", sort=False)["problem"].first()
    mask = stratified(list(tuples), list(tuples.index), size * len(tuples) // len(trials))
    return trials[trials["tuple_id"].isin(tuples.index[mask])]


def write_official(
    frames: Iterable[pd.DataFrame], path: Path | str, canary: str | None = None
) -> int:
    """Write trials in the official layout as a whole file, compressed as the name says; returns how
    many.

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
        return cast(
            IO[bytes], gzip.GzipFile(filename="", fileobj=open(path, "wb"), mode="wb", mtime=0)
        )
    return bz2.open(path, "wb") if suffix == ".bz2" else open(path, "wb")


def places(trials: pd.DataFrame, name: str) -> list[str]:
    """Where each trial is, for messages: its line in an official file, or its number in a table.

    Args:
        trials: in our columns.
        name: the file's name.
    """
    column, word = ("line", "line") if "line" in trials else ("number", "trial")
    return [f"{name}, {word} {number}" for number in trials[column]]


def relations_of(
    problem: str, description: str, query: str, text: str, entities: str, where: str
) -> tuple[worlds.Description, worlds.Relation]:
    """Description and query of a trial; those of the official sets of lines in the plane are in the
    text only.

    Raises:
        UserError: they cannot be read from the text.
    """
    if problem != "Infer.parallel" or "p" in description:
        return worlds.read_description(description), worlds.read_relation(query)
    try:
        return read_planar_text(text, json.loads(entities))
    except ValueError as error:
        raise UserError(where, f"{error}.", "Fix the text, or leave the trial out.") from error


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
    for row in (repeated | (n_trials != wanted) | (n_problems != 1)).nonzero()[0][:1]:
        head = heads.iloc[row]
        (where,) = places(heads.iloc[[row]], name)
        if repeated[row]:
            problem = f"tuple {head['tuple_id']} goes on here, but other trials are in between."
        elif n_problems[row] != 1:
            problem = f"tuple {head['tuple_id']} has trials of several problems."
        else:
            n = n_trials[row]
            has = f"{n} trial{'s' if n > 1 else ''}; tuples of {head['problem']} have {wanted[row]}"
            problem = f"tuple {head['tuple_id']} has {has}."
        raise UserError(where, problem, "Give whole tuples, the trials of each on adjacent lines.")


def read_lines(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number from 1 and object of each line of a file of JSON lines, compressed as its name says;
    empty lines are left out.

    Raises:
        UserError: the file cannot be read or decompressed, or ends early; or a line is not an
            object, by file and line.
    """
    number = 0
    try:
        with OPENERS.get(Path(path).suffix, cast(Callable[..., IO[bytes]], open))(
            path, "rb"
        ) as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    row = dict(json.loads(line))
                    if (
                        b"\\ud" in line.lower()
                    ):  # half of a character, which no tokenizer and no table takes
                        json.dumps(row, ensure_ascii=False).encode()
                    yield number, row
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(
            path,
            f"cannot be read or decompressed ({error}).",
            "Check the path, or make the file again.",
        ) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(
            f"{path}, line {number}",
            f"is not a JSON object ({error}).",
            "Fix the line, or make the file again.",
        ) from error


def _form_fault(trial: dict[str, Any]) -> tuple[str, str] | None:
    """Fault in the fields of a trial and their types, and the fix."""
    if missing := [field for field in FIELDS if field not in trial]:
        return f'the field "{missing[0]}" is missing.', f"Give all of {', '.join(FIELDS)}."
    if extra := [field for field in trial if field not in FIELDS]:
        return (
            f'the field "{extra[0]}" is unknown{did_you_mean(extra[0], FIELDS)}',
            "Fix or remove it.",
        )
    for field, kind in FIELDS.items():
        is_right = type(trial[field]) is kind or (field == "span" and trial[field] is None)
        if not is_right or (kind is list and not all(type(entry) is str for entry in trial[field])):
            return f"{field} is {trial[field]!r}, which has the wrong type.", "Fix the value."
    return None


def _fault(trial: dict[str, Any]) -> tuple[str, str] | None:
    """Fault in the values of a trial, and the fix."""
    problem, gold, size, span, names = (
        trial[key] for key in ("problemname", "goldresp_obfusc", "problemsize", "span", "objects")
    )
    if problem not in PROBLEMS:
        return (
            f"problemname {problem!r} is unknown{did_you_mean(problem, PROBLEMS)}",
            f"Use one of {', '.join(PROBLEMS)}.",
        )
    allowed = answers_of(problem)
    if gold not in DISGUISES:
        return (
            f"the gold word {gold!r} is unknown{did_you_mean(gold, DISGUISES)}",
            f"Use one of {', '.join(DISGUISES)}.",
        )
    rules = (
        (
            ANSWER_OF[gold] in allowed,
            f"the gold word {gold} stands for an answer that {problem} does not have.",
        ),
        (
            trial["expectedresp"] == list(allowed),
            f"expectedresp is {trial['expectedresp']}, but {problem} has {list(allowed)}.",
        ),
        (
            worlds.SMALLEST <= size <= worlds.LARGEST,
            f"problemsize is {size}, not {worlds.SMALLEST} to {worlds.LARGEST}.",
        ),
        (span is None or 0 <= span < size, f"span is {span}, but there are {size} entities."),
        (
            trial["complexity"] in _COMPLEXITIES,
            f"complexity is {trial['complexity']!r}, not one of {', '.join(_COMPLEXITIES)}.",
        ),
        (
            trial["query_len"] in (2, 3),
            f"query_len is {trial['query_len']}, not 2 (binary) or 3 (ternary).",
        ),
        (
            len(names) == len(set(names) - {""}) == size,
            f"objects does not name {size} different entities.",
        ),
        (
            all(trial[key].strip() for key in ("tuple_ID", "text", "skin", "qskin")),
            "tuple_ID, text, skin or qskin is empty.",
        ),
    )
    broken = next((problem for is_kept, problem in rules if not is_kept), None)
    return (
        (broken, "Fix the field.")
        if broken
        else worlds.relation_fault(trial["descr"], trial["query"], size)
    )


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


def read_trials(path: Path | str) -> pd.DataFrame:
    """Trials of an official file (``.jsonl``, ``.jsonl.bz2``, ``.jsonl.gz``) or of our table
    (Parquet), in our columns.

    Raises:
        UserError: as the readers; or a tuple is incomplete.
    """
    if is_official(path):
        return read_official(path)
    trials = read_table(path, Trials)
    check_tuples(trials, str(path))
    return trials


def canary_of(path: Path | str, trials: pd.DataFrame) -> str | None:
    """The canary of trials of ours; the official layout has it in the tuples' ids."""
    if is_official(path):
        return CANARY if trials["tuple_id"].str.startswith(CANARY).any() else None
    return read_provenance(path).canary


#: The dialogues' compression; more makes it a tenth smaller in twice the time.
GZIP_LEVEL = 4


def write_set(
    batches: Iterable[pd.DataFrame],
    table: Path,
    provenance: Provenance,
    dialogues: Path | None = None,
) -> int:
    """Write trials as our table, and as training dialogues where a file is named; returns how many.

    Args:
        batches: trials in order.
        table: Parquet, the contract ``Trials``.
        provenance: what made them.
        dialogues: ``.jsonl.gz``: one dialogue a line, as ``datasets.load_dataset("json", ...)`` and
            trainers read it.

    Raises:
        UserError: a place cannot be written.
    """
    if dialogues is not None and not dialogues.name.endswith(".jsonl.gz"):
        raise UserError(
            f"--dialogues-out {dialogues}",
            "is not the name of compressed JSON lines.",
            "Name a file that ends with .jsonl.gz.",
        )
    n_trials = 0
    with ExitStack() as files:
        write_rows = files.enter_context(
            open_table(Trials, files.enter_context(whole_file(table)), provenance)
        )
        lines = (
            files.enter_context(_dialogues(files.enter_context(whole_file(dialogues))))
            if dialogues
            else None
        )
        for batch in batches:
            write_rows(batch)
            if lines is not None:
                lines.write(_write_dialogues(batch))
            n_trials += len(batch)
    return n_trials


def write_lines(lines: Iterable[str], path: Path) -> None:
    """Write lines of JSON, compressed, whole or not at all; the same lines have the same bytes.

    Raises:
        UserError: the name is not one of compressed JSON lines, or the place cannot be written.
    """
    if not path.name.endswith(".jsonl.gz"):
        problem = "is not the name of compressed JSON lines."
        raise UserError(f"--out {path}", problem, "Name a file that ends with .jsonl.gz.")
    with whole_file(path) as temporary, _dialogues(temporary) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode())


def read_batches(path: Path | str) -> Iterator[pd.DataFrame]:
    """The trials of a table of ours, a batch at a time; the caller has checked what table it is.

    Raises:
        UserError: the table is damaged, a batch does not fit the contract, or a tuple is
            incomplete.
    """
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            check_columns(file.schema_arrow, Trials)
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group)
                rows.validate(full=True)
                check_rows(rows, Trials)
                batch = rows.to_pandas()
                check_tuples(batch, str(path))  # a batch that we write contains whole tuples
                yield batch
    except (ContractError, arrow.ArrowException, OSError) as error:
        reason = (
            str(error)
            if isinstance(error, ContractError)
            else "its pages cannot be read or do not match their checksums"
        )
        raise UserError(path, f"is damaged: {reason}.", "Delete it and make it again.") from error


@contextmanager
def _dialogues(path: Path) -> Iterator[gzip.GzipFile]:
    """A gzip file without name and date, so that the same trials have the same bytes."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile("", "wb", GZIP_LEVEL, cast(Any, raw), mtime=0) as stream,
    ):
        yield stream


def _write_dialogues(batch: pd.DataFrame) -> bytes:
    quote = json.encoder.encode_basestring
    return "".join(
        f'{{"id": "{trial_id}", "messages": [{{"role": "user", "content": {quote(text)}}}, '
        f'{{"role": "assistant", "content": "{ANSWER_OF[gold]}"}}], "canary": "{CANARY}"}}\n'
        for trial_id, text, gold in zip(
            *(batch[column].tolist() for column in ("trial_id", "text", "gold")), strict=True
        )
    ).encode()
