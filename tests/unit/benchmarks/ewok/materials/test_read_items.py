"""Items in the original's CSV format, or by its column names in Parquet, are read back to what
they were.
"""

import io
import unicodedata
from pathlib import Path

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from command_line import run
from worldprobe.benchmarks.ewok.analysis.reproduction import texts_digest
from worldprobe.benchmarks.ewok.canaries import is_protected
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table

#: What the official layout has no place for is lost on the way.
SAME = [name for name, column in Items.columns.items() if name != "fillers" and not column.optional]


@pytest.fixture
def built(garden, tmp_path):
    """An items table of two versions, and the folder of its CSV files."""
    items, templates, out = (
        tmp_path / "items.parquet",
        tmp_path / "templates.parquet",
        tmp_path / "official",
    )
    options = f"--versions 0-1 --templates-out {templates} --out {items}"
    assert run(f"items build {garden.write()} {options}") == 0
    assert run(f"items export {items} {templates} --out {out}") == 0
    return items, out


def hub_file(official: Path, path: Path, drop=()) -> Path:
    """One Parquet file with the columns that users of the hub's file name."""
    frames = []
    for file in sorted(official.rglob("*.csv")):
        text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("#"))
        frames.append(
            pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False).assign(
                Version=int(file.parent.name[8:])
            )
        )
    names = ["PairID", "TemplateName", "TemplateIndex", *drop]
    frame = pd.concat(frames, ignore_index=True).drop(
        columns=[name for name in names if name in frames[0]]
    )
    parquet.write_table(arrow.Table.from_pandas(frame, preserve_index=False), path)
    return path


def imported(source: Path, out: Path, *options: str) -> pd.DataFrame:
    assert main(["items", "import", str(source), *options, "--out", str(out)]) == 0
    return read_table(out, Items)


def test_official_files_and_the_hubs_columns_give_the_same_items(built, tmp_path):
    items, official = built
    expected = read_table(items, Items)
    for source in (official, hub_file(official, tmp_path / "hub.parquet")):
        found = imported(source, tmp_path / "back.parquet")
        pd.testing.assert_frame_equal(found[SAME], expected[SAME])
        assert texts_digest(found) == texts_digest(expected)


def test_the_canary_comes_along_and_what_has_none_is_protected(built, tmp_path):
    items, official = built
    imported(official, tmp_path / "back.parquet")
    assert read_provenance(tmp_path / "back.parquet").canary == read_provenance(items).canary
    imported(hub_file(official, tmp_path / "hub.parquet"), tmp_path / "hubs.parquet")
    assert is_protected(read_provenance(tmp_path / "hubs.parquet").canary)


def test_ids_and_versions_that_are_missing_are_counted(built, tmp_path):
    items, official = built
    source = hub_file(
        official,
        tmp_path / "hub.parquet",
        drop=["MetaTemplateID", "TemplateID", "Version", "ItemTags"],
    )
    found = imported(source, tmp_path / "back.parquet")
    assert texts_digest(found) == texts_digest(read_table(items, Items))
    assert list(found["meta_template"]) == list(range(1, len(found) + 1))
    assert set(found["version"]) == {0}


def test_samples_that_follow_one_another_are_numbered(garden, tmp_path):
    items, templates = tmp_path / "items.parquet", tmp_path / "templates.parquet"
    options = (
        f"--mode independent --per-template 3 --compat --templates-out {templates} --out {items}"
    )
    assert run(f"items build {garden.write()} {options}") == 0
    assert run(f"items export {items} {templates} --out {tmp_path / 'official'}") == 0
    found, expected = (
        imported(tmp_path / "official", tmp_path / "back.parquet"),
        read_table(items, Items),
    )
    assert expected["version"].max() > 0
    pd.testing.assert_frame_equal(found[SAME], expected[SAME])


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("Context1", None, 'has no column "Context1"'),
        ("ContextType", "sideways", "line 3, column ContextType"),
        ("Target2", "  ", "the cell is empty"),
        ("TemplateID", "0", "is not a whole number from 1"),
        ("TargetDiff", "Concept Swap", "is not one of concept swap, variable swap"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(built, tmp_path, capsys, column, cell, words):
    [file] = (built[1] / "version-0").iterdir()
    head, _, text = file.read_text().partition("\n")
    frame = pd.read_csv(io.StringIO(text), dtype=str)
    frame = frame.drop(columns=column) if cell is None else frame.assign(**{column: cell})
    file.write_text(f"{head}\n{frame.to_csv(index=False)}")
    assert run(f"items import {built[1]} --out {tmp_path / 'back.parquet'}") == 2
    message = capsys.readouterr().err
    assert words in message
    assert file.name in message
    assert not (tmp_path / "back.parquet").exists()


def test_items_that_occur_twice_are_refused(built, tmp_path, capsys):
    official = built[1]
    [file] = (official / "version-1").iterdir()
    (official / "version-1" / "testsuite-copy.csv").write_bytes(file.read_bytes())
    assert run(f"items import {official} --out {tmp_path / 'back.parquet'}") == 2
    assert "again, which" in capsys.readouterr().err


def test_one_file_without_a_canary_protects_them_all(built, tmp_path):
    official = built[1]
    [file] = (official / "version-0").iterdir()
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    imported(official, tmp_path / "back.parquet")
    assert is_protected(read_provenance(tmp_path / "back.parquet").canary)


def test_the_texts_of_the_release_are_protected_whatever_canary_is_stated(
    built, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "worldprobe.benchmarks.ewok.analysis.reproduction.is_release", lambda *_: True
    )
    imported(built[1], tmp_path / "back.parquet")
    canary = read_provenance(tmp_path / "back.parquet").canary
    assert is_protected(canary)
    assert read_provenance(built[0]).canary in canary


ODD = {
    "blanks": lambda text: "\ufeff\u00a0" + text.replace(" ", "\u2009") + "\u202f\r\n",
    "unseen within words": lambda text: (
        text.replace("e", "e\u00ad").replace("a", "a\u200b").replace("o", "\u200eo")
    ),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
}


@pytest.mark.parametrize("kind", ODD)
def test_blanks_and_decomposed_letters_make_no_other_items(built, tmp_path, kind):
    """EleutherAI/lm-evaluation-harness #218, #4012; TheCombine #3713."""
    frame = pd.read_parquet(hub_file(built[1], tmp_path / "hub.parquet"))
    texts = ["Context1", "Context2", "Target1", "Target2"]
    frame[texts] = frame[texts].map(lambda text: text.replace("Gardener", "Gärtner"))
    found = []
    for how in (str, ODD[kind]):
        frame.assign(**frame[texts].map(how)).to_csv(tmp_path / "f.csv", index=False)
        found.append(imported(tmp_path / "f.csv", tmp_path / "back.parquet"))
    pd.testing.assert_frame_equal(*found)
    assert read_provenance(tmp_path / "back.parquet").details["normalized_texts"] > 0


def test_blanks_around_a_contrast_make_no_other_group(built, tmp_path):
    frame = pd.read_parquet(hub_file(built[1], tmp_path / "hub.parquet"))
    frame.assign(ContextDiff="  negation\u00a0").to_csv(tmp_path / "f.csv", index=False)
    assert set(imported(tmp_path / "f.csv", tmp_path / "back.parquet")["context_contrast"]) == {
        "negation"
    }
