"""Files of trials: read whatever the layout, written batch by batch, each whole or not at all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet

from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY
from worldprobe.benchmarks.worldsense.trials.official import check_fields, check_tuples, is_official, read_official
from worldprobe.contracts import ContractError, read_table, validate
from worldprobe.contracts.tables import check_columns, check_rows
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance


def read_trials(path: Path | str) -> pd.DataFrame:
    """Trials of an official file (``.jsonl``, ``.jsonl.bz2``, ``.jsonl.gz``) or of our table (Parquet), in our columns.

    Raises:
        UserError: as the readers; or a field cannot be read or a tuple is incomplete.
    """
    if is_official(path):
        return read_official(path)
    trials = read_table(path, Trials)
    check_fields(trials, str(path))
    check_tuples(trials, str(path))
    return trials


#: The dialogues' compression; more makes it a tenth smaller in twice the time.
GZIP_LEVEL = 4


def write_set(batches: Iterable[pd.DataFrame], table: Path, provenance: Provenance, dialogues: Path | None = None) -> int:
    """Write trials as our table, and as training dialogues where a file is named; returns how many.

    Args:
        batches: trials in order.
        table: Parquet, the contract ``Trials``.
        provenance: what made them.
        dialogues: ``.jsonl.gz``: one dialogue a line, as ``datasets.load_dataset("json", ...)`` and trainers read it.

    Raises:
        UserError: a place cannot be written.
    """
    if dialogues is not None and not dialogues.name.endswith(".jsonl.gz"):
        raise UserError(
            f"--dialogues-out {dialogues}", "is not the name of compressed JSON lines.", "Name a file that ends with .jsonl.gz."
        )
    n_trials = 0
    with ExitStack() as files:
        place = files.enter_context(whole_file(table))
        lines = files.enter_context(_dialogues(files.enter_context(whole_file(dialogues)))) if dialogues else None
        writer: parquet.ParquetWriter | None = None
        try:
            for batch in batches:
                rows = arrow.Table.from_pandas(validate(batch, Trials), preserve_index=False)
                rows = rows.replace_schema_metadata(_metadata(provenance))
                writer = writer or parquet.ParquetWriter(place, rows.schema, compression="zstd", write_page_checksum=True)
                writer.write_table(rows)
                if lines is not None:
                    lines.write(_write_dialogues(batch))
                n_trials += len(batch)
        finally:
            if writer is not None:
                writer.close()
    return n_trials


def write_lines(lines: Iterable[str], path: Path) -> None:
    """Write lines of JSON, compressed, whole or not at all; the same lines have the same bytes.

    Raises:
        UserError: the name is not one of compressed JSON lines, or the place cannot be written.
    """
    if not path.name.endswith(".jsonl.gz"):
        problem = "is not the name of compressed JSON lines."
        raise UserError(f"--out {path}", problem, "Name a file that ends with .jsonl.gz.")
    with whole_file(path) as place, _dialogues(place) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode())


def read_batches(path: Path | str) -> Iterator[pd.DataFrame]:
    """The trials of a table of ours, a batch at a time; the caller has checked what table it is.

    Raises:
        UserError: the table is damaged, a batch does not fit the contract, a field cannot be read, or a tuple is incomplete.
    """
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            check_columns(file.schema_arrow, Trials)
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group)
                rows.validate(full=True)
                check_rows(rows, Trials)
                batch = rows.to_pandas()
                check_fields(batch, str(path))
                check_tuples(batch, str(path))  # a batch that we write contains whole tuples
                yield batch
    except (ContractError, arrow.ArrowException, OSError) as error:
        reason = str(error) if isinstance(error, ContractError) else "its pages cannot be read or do not match their checksums"
        raise UserError(path, f"is damaged: {reason}.", "Delete it and make it again.") from error


@contextmanager
def _dialogues(path: Path) -> Iterator[gzip.GzipFile]:
    """A gzip file without name and date, so that the same trials have the same bytes."""
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", GZIP_LEVEL, cast(Any, raw), mtime=0) as stream:
        yield stream


def _write_dialogues(batch: pd.DataFrame) -> bytes:
    quote = json.encoder.encode_basestring
    return "".join(
        f'{{"id": "{trial_id}", "messages": [{{"role": "user", "content": {quote(text)}}}, '
        f'{{"role": "assistant", "content": "{ANSWER_OF[gold]}"}}], "canary": "{CANARY}"}}\n'
        for trial_id, text, gold in zip(*(batch[column].tolist() for column in ("trial_id", "text", "gold")), strict=True)
    ).encode()


def _metadata(provenance: Provenance) -> dict[bytes, bytes]:
    return {
        b"worldprobe.table": Trials.Config.name.encode(),
        b"worldprobe.schema_version": str(Trials.Config.metadata["version"]).encode(),
        b"worldprobe.provenance": provenance.to_json().encode(),
    }
