"""Items leave as a dataset folder of the hub: the table itself, a card, a description, and
nothing readable of protected ones.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import run
from worldprobe.archives import EXPORT_VARIABLE
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.provenance import Provenance


def export(items: Path, out: Path, *options: str) -> int:
    return main([*f"items export {items} --format hf".split(), *options, "--out", str(out)])


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
    assert run(f"items import {out} --out {tmp_path / 'back.parquet'}") == 0
    assert (tmp_path / "back.parquet").read_bytes() == rows
    described = json.loads((out / "croissant.json").read_text())
    [file] = described["distribution"]
    assert (file["contentUrl"], file["sha256"]) == (
        "data/test.parquet",
        hashlib.sha256(rows).hexdigest(),
    )
    [records] = described["recordSet"]
    assert [field["source"]["extract"]["column"] for field in records["field"]] == list(
        Items.columns
    )
    canary = read_provenance(item_table).canary
    assert canary
    assert all(canary in (out / name).read_text() for name in ("README.md", "croissant.json"))
    assert run(f"release check {out}") == 0


def test_our_own_items_have_our_licence_and_others_none(tmp_path: Path, item_table: Path) -> None:
    own = tmp_path / "own.parquet"
    write_table(
        read_table(item_table, Items), Items, own, Provenance(canary="# worldprobe canary 0000")
    )
    for items, licence in ((own, "cc-by-4.0"), (item_table, "unknown")):
        assert export(items, tmp_path / licence) == 0
        assert front_matter(tmp_path / licence)["license"] == licence


def test_protected_items_leave_encrypted_behind_a_gate_and_come_back(
    protected_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, back = tmp_path / "dataset", tmp_path / "back.parquet"
    assert export(protected_table, out) == 2
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
    archive = out / "data" / "rows.zip"
    monkeypatch.setenv(EXPORT_VARIABLE, "guess")
    assert run(f"items import {archive} --out {back}") == 2
    assert not back.exists()
    monkeypatch.setenv(EXPORT_VARIABLE, "hunter2secret")
    assert run(f"items import {archive} --out {back}") == 0
    assert back.read_bytes() == protected_table.read_bytes()


def test_an_encrypted_table_comes_back_whatever_its_size(
    item_table: Path, tmp_path: Path, monkeypatch
) -> None:
    """A million items have more bytes than any archive's text that is read into memory."""
    monkeypatch.setenv(EXPORT_VARIABLE, "hunter2secret")
    assert export(item_table, tmp_path / "dataset", "--encrypt") == 0
    archive, back = tmp_path / "dataset" / "data" / "rows.zip", tmp_path / "back.parquet"
    monkeypatch.setattr("worldprobe.archives.LARGEST", 1000)
    monkeypatch.setattr("worldprobe.archives._PIECE", 1000)
    assert run(f"items import {archive} --out {back}") == 0
    assert back.read_bytes() == item_table.read_bytes()
