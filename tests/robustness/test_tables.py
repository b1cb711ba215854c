"""Tables changed in one way are refused where they are read, and every command says which of its
tables it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from worldprobe.benchmarks.ewok import contracts
from worldprobe.contracts import read_table, table_name
from worldprobe.errors import UserError

#: Command lines; ``{bad}`` is the malformed copy of the table named first.
COMMANDS = [
    ("items", "judge {bad} {scores_a} --out {out}"),
    ("items", "score logprobs {bad} --checkpoint nowhere --out {out}"),
    (
        "items",
        "score all {bad} --checkpoint nowhere --eval-types choice_constrained_zero --out {out}",
    ),
    ("items", "baselines measure-surface {bad} --out {out}"),
    ("items", "items export {bad} {templates} --out {folder}/new"),
    ("items", "table dataset {templates} {bad} --out {folder}/t.md"),
    ("templates", "items fill {bad} {materials} --versions 0 --out {out}"),
    ("templates", "items export {items} {bad} --out {folder}/new"),
    (
        "templates",
        (
            "controls write-corpus {bad} {materials} --taught 0.5 --fillings 2 --sentences 5 --out"
            " {folder}/new"
        ),
    ),
    ("scores_a", "judge {items} {bad} --out {out}"),
    ("scores_a", "judge {items} {scores_b} {bad} --out {folder}/new.parquet {out}"),
    ("choice", "judge {items} {bad} --out {out}"),
    ("likert", "judge {items} {bad} --out {out}"),
    ("similarities", "judge {items} {bad} --out {out}"),
    ("ratings", "judge {items} {bad} --out {out}"),
    ("judgements_a", "summarize {bad} {judgements_b} --out {out}"),
    ("judgements_a", "compare {bad} {judgements_b} --out {out}"),
    ("judgements_a", "correlate {bad} {judgements_w} --surface {surface} --out {out}"),
    ("judgements_a", "fit fixed-effects {bad} {judgements_b} --surface {surface} --out {out}"),
    ("judgements_choice", "agree {judgements_likert} {bad} --out {out}"),
    ("surface", "correlate {judgements_a} {judgements_w} --surface {bad} --out {out}"),
    ("surface", "fit fixed-effects {judgements_a} {judgements_b} --surface {bad} --out {out}"),
    ("summaries", "table mean_accuracy {bad} --out {folder}/t.md"),
    ("summaries", "figure accuracy_by_domain {bad} --out {folder}/f.csv"),
    ("summaries", "report build {bad} --out {folder}/page.html"),
    ("correlations", "table correlations {bad} --out {folder}/t.md"),
    ("comparisons", "table comparisons {bad} --out {folder}/t.md"),
    ("coefficients", "table fixed_effects {bad} --out {folder}/t.md"),
    ("agreements", "figure agreement {bad} --out {folder}/f.csv"),
]
#: table -> (a column of numbers with a value that it must not have, a text column of few known
#: words or of ids).
COLUMNS: dict[str, tuple[str, Any, str]] = {
    "items": ("version", -1, "item_id"),
    "templates": ("meta_template", 0, "target_contrast"),
    "scores_a": ("logprob", 5.0, "item_id"),
    "choice": ("value", float("inf"), "status"),
    "likert": ("value", float("-inf"), "eval_type"),
    "similarities": ("similarity", -7.5, "item_id"),
    "ratings": ("rating", float("inf"), "item_id"),
    "judgements_a": ("accuracy", -7.5, "item_id"),
    "judgements_choice": ("accuracy", 0.7, "status"),
    "surface": ("n_words", 0.0, "item_id"),
    "summaries": ("mean", 1.5, "eval_type"),
    "correlations": ("r", -2.0, "feature"),
    "comparisons": ("difference", 3.0, "grouping"),
    "coefficients": ("p", 1.5, "fit"),
    "agreements": ("share", -0.5, "choice"),
}


def drop(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return table.drop_columns([number])


def add(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return table.append_column("surplus", pa.array([1] * len(table)))


def double(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return table.append_column(number, table.column(number))


def write_words(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return replace(table, number, pa.array(["1"] * len(table)))


def write_numbers(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return replace(table, text, pa.array([1] * len(table)))


def empty_cell(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return replace(
        table,
        text,
        pa.array([None, *table.column(text).to_pylist()[1:]], table.schema.field(text).type),
    )


def wrong_value(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    cells = table.column(number).to_pylist()
    return replace(table, number, pa.array([*cells[:-1], value], table.schema.field(number).type))


def unknown_word(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return replace(
        table,
        text,
        pa.array([*table.column(text).to_pylist()[:-1], "un known"], table.schema.field(text).type),
    )


def repeat_rows(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 3)])


def no_rows(table: pa.Table, number: str, value: Any, text: str) -> pa.Table:
    return table.slice(0, 0)


def replace(table: pa.Table, name: str, cells: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, cells)


Change = Callable[[pa.Table, str, Any, str], pa.Table]
#: change of the rows -> words of the message.
CHANGES: list[tuple[Change, str]] = [
    (drop, "lacks the column"),
    (add, 'a column "surplus"'),
    (double, "2 times"),
    (write_words, "contains text"),
    (write_numbers, "instead of text"),
    (empty_cell, "no value"),
    (wrong_value, "column"),
    (unknown_word, "un known"),
    (repeat_rows, "3 rows are repeated"),
    (no_rows, "no rows"),
]
#: change of the file's metadata -> words of the message.
METADATA: dict[str, tuple[bytes, bytes, str]] = {
    "another table": (b"worldprobe.table", b"recipes", "contains recipes"),
    "not text": (b"worldprobe.table", b"\xff\xfe", "contains"),
    "later version": (b"worldprobe.schema_version", b"99", "version 99"),
    "broken provenance": (b"worldprobe.provenance", b"{", "not valid JSON"),
    "provenance of a later version": (
        b"worldprobe.provenance",
        b'{"method": 1, "later": 2}',
        '"later"',
    ),
    "provenance of another kind": (b"worldprobe.provenance", b'{"inputs": [1]}', "wrong type"),
}


def refusal(path: Path, name: str, study: dict[str, Path]) -> str:
    """What reading a table says that must be refused."""
    kinds = {
        contract.Config.name: contract
        for contract in vars(contracts).values()
        if isinstance(contract, type)
    }
    with pytest.raises(UserError) as refused:
        read_table(path, kinds[table_name(study[name])])
    assert str(path) in refused.value.where
    return refused.value.problem


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0].__name__)
@pytest.mark.parametrize("name", COLUMNS)
def test_rows_that_break_the_contract_are_named(
    study, tmp_path, name: str, change: tuple[Change, str]
) -> None:
    table = pq.read_table(study[name])
    changed = change[0](table, *COLUMNS[name])
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), tmp_path / "bad.parquet")
    assert change[1] in refusal(tmp_path / "bad.parquet", name, study)


@pytest.mark.parametrize("change", METADATA)
def test_what_a_table_says_of_itself_is_checked(study, tmp_path, change: str) -> None:
    table = pq.read_table(study["items"])
    key, value, words = METADATA[change]
    pq.write_table(
        table.replace_schema_metadata(table.schema.metadata | {key: value}),
        tmp_path / "bad.parquet",
    )
    assert words in refusal(tmp_path / "bad.parquet", "items", study)


#: damage to the bytes of a file -> words of the message.
FILES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "not a readable Parquet"),
    "cut short": (lambda content: content[: len(content) // 2], "not a readable Parquet"),
    "text": (lambda content: b"item_id,target\n", "not a readable Parquet"),
    "a bit of a page": (
        lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
        "damaged",
    ),
}


@pytest.mark.parametrize("damage", FILES)
def test_damaged_files_are_refused(study, tmp_path, damage: str) -> None:
    change, words = FILES[damage]
    (tmp_path / "bad.parquet").write_bytes(change(study["items"].read_bytes()))
    assert words in refusal(tmp_path / "bad.parquet", "items", study)


@pytest.mark.parametrize(("name", "line"), COMMANDS, ids=lambda text: " ".join(text.split()[:2]))
def test_every_command_names_the_table_that_breaks_its_contract(
    study, tmp_path, check, name: str, line: str
) -> None:
    table = pq.read_table(study[name])
    changed = empty_cell(table, *COLUMNS[name]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(changed, tmp_path / "bad.parquet")
    assert "bad.parquet" in check(line, "no value", bad=tmp_path / "bad.parquet")


@pytest.mark.parametrize(("name", "line"), COMMANDS, ids=lambda text: " ".join(text.split()[:2]))
def test_a_folder_and_a_missing_file_are_told_apart(tmp_path, check, name: str, line: str) -> None:
    (tmp_path / "bad").mkdir()
    check(line, "is a folder", bad=tmp_path / "bad")
    check(line, "no such file", bad=tmp_path / "missing.parquet")


def test_a_table_without_permission_is_told_so(study, tmp_path, check) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(study["summaries"].read_bytes())
    bad.chmod(0)
    check("table mean_accuracy {bad} --out {folder}/t.md", "permission", bad=bad)


@pytest.mark.parametrize("name", ["scores_a", "items", "summaries", "judgements_a"])
def test_no_flipped_bit_of_a_page_changes_a_number(study, tmp_path, name: str) -> None:
    kinds = {
        contract.Config.name: contract
        for contract in vars(contracts).values()
        if isinstance(contract, type)
    }
    contract = kinds[table_name(study[name])]
    whole, content = read_table(study[name], contract), study[name].read_bytes()
    footer = int.from_bytes(content[-8:-4], "little")
    step = (len(content) - footer) // 40
    for place in range(8, len(content) - footer - 8, step):
        (tmp_path / "bad.parquet").write_bytes(
            content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
        )
        try:
            assert read_table(tmp_path / "bad.parquet", contract).equals(whole)
        except UserError:
            continue


def test_the_study_itself_passes_every_command(check, tmp_path: Path) -> None:
    whole = dict.fromkeys(
        line.replace("{bad}", f"{{{name}}}") for name, line in COMMANDS
    )  # some differ in {bad} alone
    for number, line in enumerate(whole):
        if "nowhere" not in line and "controls write-corpus" not in line:
            fresh = line.replace("{out}", f"{{folder}}/{number}.parquet").replace(
                "{folder}/new", f"{{folder}}/new_{number}"
            )
            check(fresh, status=0)
