"""Errors, whole files, provenance, contracts, the command line."""

import pandas as pd
import pyarrow as pa
import pytest

from command_line import run
from worldprobe import files
from worldprobe.benchmarks.ewok.contracts import TargetScores
from worldprobe.contracts import read_provenance, read_table, write_table
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
        assert run(f"summarize {path} --out {tmp_path / 'out.parquet'}") == 2
        told = capsys.readouterr().err
        assert "needs more memory" in told
        assert "elete" not in told
