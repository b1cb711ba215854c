"""Errors, whole files, provenance, contracts, the command line."""

import io
import sys
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

from worldprobe import cli, contracts, files, log
from worldprobe.benchmarks.ewok.contracts import Items, TargetScores
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance


def target_scores(**changes):
    columns = {
        "item_id": ["b-b_1_1_v0", "a-a_2_1_v0"],
        "target": [1, 2],
        "context": [0, 1],
        "logprob": [-1.5, None],
        "n_tokens": [3, 4],
        "flags": ["", "truncated"],
    }
    return pd.DataFrame(columns | changes)


def test_a_failed_write_leaves_the_old_file_and_no_leftover(tmp_path):
    path = tmp_path / "table.txt"
    files.write_text(path, "old")

    def fail_halfway():
        with files.whole_file(path) as temporary:
            temporary.write_text("half of the ne")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["table.txt"]


def test_a_folder_that_is_a_file_is_the_users_to_fix(tmp_path):
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        files.write_text(tmp_path / "results" / "table.txt", "x")


def test_a_folders_digest_follows_names_and_bytes(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    first = files.digest_file(tmp_path / "a")
    (tmp_path / "a" / "x").rename(tmp_path / "a" / "y")
    assert files.digest_file(tmp_path / "a") != first


def test_a_table_comes_back_sorted_with_its_provenance(tmp_path):
    path = tmp_path / "scores.parquet"
    write_table(
        target_scores(), TargetScores, path, Provenance(model="m", seed=0, details={"ties": 2})
    )
    frame = read_table(path, TargetScores)
    assert list(frame.item_id) == ["a-a_2_1_v0", "b-b_1_1_v0"]
    assert frame.logprob.isna().tolist() == [True, False]
    assert read_provenance(path) == Provenance(model="m", seed=0, details={"ties": 2})


def test_row_order_does_not_change_a_byte(tmp_path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    write_table(target_scores(), TargetScores, one, Provenance())
    write_table(target_scores().iloc[::-1], TargetScores, two, Provenance())
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"logprob": [0.5, -1]},
        {"item_id": ["no id", "a-a_1_1_v0"]},
        {"target": [3, 1]},
        {"surplus": [1, 2]},
    ],
)
def test_rows_that_break_the_contract_are_never_written(tmp_path, changes):
    frame = target_scores(**changes)
    with pytest.raises(contracts.ContractError):
        write_table(frame, TargetScores, tmp_path / "t.parquet", Provenance())
    assert list(tmp_path.iterdir()) == []


def test_two_rows_of_one_key_are_refused():
    twice = pd.concat([target_scores(), target_scores()])
    with pytest.raises(contracts.ContractError):
        contracts.validate(twice, TargetScores)


def test_the_wrong_table_and_another_schema_version_are_named(tmp_path, monkeypatch):
    path = tmp_path / "scores.parquet"
    write_table(target_scores(), TargetScores, path, Provenance())
    with pytest.raises(UserError, match="contains target_scores, not items"):
        read_table(path, Items)
    monkeypatch.setattr(TargetScores, "Config", replace(TargetScores.Config, version=99))
    with pytest.raises(UserError, match=r"is version 1 .* reads version 99"):
        read_table(path, TargetScores)


@pytest.mark.parametrize(
    ("content", "words"), [(None, "no such file"), (b"PAR1 not really", "not a readable Parquet")]
)
def test_a_missing_or_broken_file_is_one_clear_error(tmp_path, content, words):
    path = tmp_path / "items.parquet"
    if content:
        path.write_bytes(content)
    with pytest.raises(UserError, match=words):
        read_table(path, Items)


def test_progress_in_a_file_says_what_was_already_there(caplog, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(log.LOGGER, "propagate", True)
    with (
        caplog.at_level("INFO", logger="worldprobe"),
        log.Progress("Scoring m", 10, done=4) as progress,
    ):
        progress.advance(6)
    assert "4 of 10 items are finished already" in caplog.text
    assert "10/10 items" in caplog.text


def test_what_the_user_can_fix_is_three_lines_and_status_2(tmp_path, capsys):
    missing = tmp_path / "none.parquet"
    assert (
        cli.main(["judge", str(missing), str(missing), "--out", str(tmp_path / "o.parquet")]) == 2
    )
    lines = capsys.readouterr().err.strip().splitlines()
    assert [line.split(":")[0].strip() for line in lines] == ["error", "problem", "fix"]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        pa.lib.ArrowMemoryError("malloc of size 8 failed"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_a_lack_of_memory_is_never_told_as_damage(tmp_path, monkeypatch, capsys, error):
    path = tmp_path / "scores.parquet"
    write_table(target_scores(), TargetScores, path, Provenance(model="m"))

    def scarce(*_, **__):
        raise error

    for place in ("read_schema", "ParquetFile"):
        monkeypatch.setattr(f"pyarrow.parquet.{place}", scarce)
        assert cli.main(["summarize", str(path), "--out", str(tmp_path / "out.parquet")]) == 2
        told = capsys.readouterr().err
        assert "needs more memory" in told
        assert "elete" not in told
