"""A table of sampled items written piece by piece is the table written at once, duplicates across the pieces included."""

import hashlib

import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials import stream
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, storage


@pytest.fixture
def attic(garden):
    """Two domains with the same sentences, few fillers, one of them listed twice: many items have the texts of others."""
    for kind in ("concept", "context", "target"):
        garden.with_(
            f"{kind}s/{kind}-attic-work.yml", garden.files[f"{kind}s/{kind}-garden-work.yml"].replace("garden-work", "attic-work")
        )
    garden.with_("fillers/filler-agent.csv", "item\nAda\nBo\nCyd\nAda\n")
    garden.with_("fillers/filler-object.csv", "item\nthe jar\nthe cup\n")
    return garden


@pytest.mark.parametrize("options", [["--compat"], [], ["--filter", "agent1"]])
@pytest.mark.parametrize("together", [1, 3, 1000])
def test_pieces_make_the_bytes_of_the_whole(attic, monkeypatch, options, together):
    folder = attic.folder.parent
    build = ["items", "build", str(attic.write()), "--mode", "independent", "--per-template", "7", *options]
    assert main([*build, "--out", str(folder / "once.parquet")]) == 0
    for module in (storage, stream):
        monkeypatch.setattr(module, "ROWS_TOGETHER", together)
    assert main([*build, "--templates-out", str(folder / "templates.parquet"), "--out", str(folder / "pieces.parquet")]) == 0
    fill = ["items", "fill", str(folder / "templates.parquet"), str(attic.folder), *build[3:]]
    parts = [str(folder / f"{number}.parquet") for number in range(7)]
    kept = [part for number, part in enumerate(parts) if main([*fill, "--version", str(number), "--out", part]) == 0]
    assert main(["items", "gather", *kept, "--out", str(folder / "gathered.parquet")]) == 0
    pieces, gathered, once = (folder / f"{name}.parquet" for name in ("pieces", "gathered", "once"))
    assert read_table(pieces, Items).equals(read_table(once, Items))
    if "--compat" in options:
        assert read_provenance(once).details["duplicates"] >= 7
        assert hashlib.sha256(pieces.read_bytes()).digest() == hashlib.sha256(gathered.read_bytes()).digest()


def test_a_filter_that_nothing_passes_leaves_no_file(attic, capsys):
    out = attic.folder.parent / "items.parquet"
    options = ["--mode", "independent", "--filter", "nobody1", "--out", str(out)]
    assert main(["items", "build", str(attic.write()), *options]) == 2
    assert "no item is left" in capsys.readouterr().err
    assert not out.exists()
    assert not list(out.parent.glob(".*part*"))
