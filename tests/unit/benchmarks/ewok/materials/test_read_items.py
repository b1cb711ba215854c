"""Items in the original's CSV format, or by its column names in Parquet, are read back to what they
were.
"""

import csv
import io
import unicodedata
from pathlib import Path

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import pyzipper

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
    options = ["--versions", "0-1", "--templates-out", str(templates), "--out", str(items)]
    assert main(["items", "build", str(garden.write()), *options]) == 0
    assert main(["items", "export", str(items), str(templates), "--out", str(out)]) == 0
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


def test_official_files_and_the_hubs_columns_give_the_same_items(built, tmp_path, caplog):
    items, official = built
    expected = read_table(items, Items)
    for source in (official, hub_file(official, tmp_path / "hub.parquet")):
        found = imported(source, tmp_path / "back.parquet")
        pd.testing.assert_frame_equal(found[SAME], expected[SAME])
        assert set(found["fillers"]) == {"{}"}
        assert texts_digest(found) == texts_digest(expected)
        made = read_provenance(tmp_path / "back.parquet")
        assert made.details == {"imported": "items", "release": False}
    assert "not those of the release" in caplog.text


def test_the_canary_comes_along_and_what_has_none_is_protected(built, tmp_path):
    items, official = built
    imported(official, tmp_path / "back.parquet")
    assert read_provenance(tmp_path / "back.parquet").canary == read_provenance(items).canary
    imported(hub_file(official, tmp_path / "hub.parquet"), tmp_path / "hubs.parquet")
    assert is_protected(read_provenance(tmp_path / "hubs.parquet").canary)


def test_an_encrypted_archive_and_a_single_file_are_read(built, tmp_path):
    items, official = built
    archive = tmp_path / "items.zip"
    with pyzipper.AESZipFile(archive, "w", encryption=pyzipper.WZ_AES) as packed:
        packed.setpassword(b"open sesame")
        for file in official.rglob("*.csv"):
            packed.writestr(f"items/{file.parent.name}/{file.name}", file.read_bytes())
    expected = read_table(items, Items)
    found = imported(archive, tmp_path / "back.parquet", "--password", "open sesame")
    pd.testing.assert_frame_equal(found[SAME], expected[SAME])
    [file] = (official / "version-1").iterdir()
    found = imported(file, tmp_path / "one.parquet")
    assert list(found["item_id"]) == list(expected.loc[expected["version"] == 1, "item_id"])


def test_ids_and_versions_that_are_missing_are_counted_and_said(built, tmp_path, caplog):
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
    assert read_provenance(tmp_path / "back.parquet").details["counted"] == ["ids", "versions"]
    assert "has no ids and no versions" in caplog.text


def test_samples_that_follow_one_another_are_numbered(garden, tmp_path):
    items, templates = tmp_path / "items.parquet", tmp_path / "templates.parquet"
    options = [
        "--mode",
        "independent",
        "--per-template",
        "3",
        "--compat",
        "--templates-out",
        str(templates),
        "--out",
        str(items),
    ]
    assert main(["items", "build", str(garden.write()), *options]) == 0
    assert (
        main(["items", "export", str(items), str(templates), "--out", str(tmp_path / "official")])
        == 0
    )
    found, expected = (
        imported(tmp_path / "official", tmp_path / "back.parquet"),
        read_table(items, Items),
    )
    assert expected["version"].max() > 0
    pd.testing.assert_frame_equal(found[SAME], expected[SAME])


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("Context1", None, 'has no column "Context1"; did you mean "Context2"?'),
        ("ContextType", "sideways", "line 3, column ContextType"),
        ("Target2", "  ", "the cell is empty"),
        ("Target2", "The lamp\0is on.", "contains a null character"),
        ("Domain", "../etc", "is not a domain's name"),
        ("TemplateID", "0", "is not a whole number from 1"),
        ("TargetDiff", "Concept Swap", "is not one of concept swap, variable swap"),
    ],
)
def test_what_is_wrong_is_named_by_file_line_and_column(
    built, tmp_path, capsys, column, cell, words
):
    [file] = (built[1] / "version-0").iterdir()
    head, *lines = file.read_text().splitlines()
    rows = list(csv.DictReader(lines))
    if cell is None:
        rows = [{name: value for name, value in row.items() if name != column} for row in rows]
    else:
        rows[0][column] = cell
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file.write_text(f"{head}\n{text.getvalue()}")
    assert main(["items", "import", str(built[1]), "--out", str(tmp_path / "back.parquet")]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert file.name in message
    assert not (tmp_path / "back.parquet").exists()


def test_items_that_occur_twice_and_what_is_no_file_of_items_are_refused(built, tmp_path, capsys):
    official = built[1]
    [file] = (official / "version-0").iterdir()
    (official / "version-1" / "testsuite-again.csv").write_bytes(file.read_bytes())
    for file in (official / "version-1").glob("testsuite-g*"):
        (official / "version-1" / "testsuite-copy.csv").write_bytes(file.read_bytes())
    cases = {official: "again, which", tmp_path / "none.csv": "there is no such"}
    (tmp_path / "text.parquet").write_text("text")
    (tmp_path / "empty").mkdir()
    cases |= {
        tmp_path / "text.parquet": "is not a readable Parquet",
        tmp_path / "empty": "contains no testsuite",
    }
    for source, words in cases.items():
        assert main(["items", "import", str(source), "--out", str(tmp_path / "back.parquet")]) == 2
        assert words in capsys.readouterr().err, source


def test_one_file_without_a_canary_protects_them_all(built, tmp_path):
    official = built[1]
    [file] = (official / "version-0").iterdir()
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    imported(official, tmp_path / "back.parquet")
    assert is_protected(read_provenance(tmp_path / "back.parquet").canary)


@pytest.mark.parametrize("stated", ["\n \n", "unknown"])
def test_a_parquet_file_that_states_an_empty_canary_has_none(built, tmp_path, stated):
    source = hub_file(built[1], tmp_path / "hub.parquet")
    parquet.write_table(
        parquet.read_table(source).replace_schema_metadata({"canary": stated}), source
    )
    imported(source, tmp_path / "back.parquet")
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


def test_parquet_files_next_to_csv_files_are_left_out_and_counted(built, tmp_path, caplog):
    hub_file(built[1], built[1] / "hub.parquet")
    imported(built[1], tmp_path / "back.parquet")
    assert "1 .parquet files next to them are not" in caplog.text


#: What files do to a text -> how.
ODD = {
    "spaces": lambda text: f"  {text} ",
    "line ends": lambda text: f"{text}\r\n",
    "no-break spaces": lambda text: "\u00a0" + text.replace(" ", "\u00a0") + "\u202f",
    "spaces of fixed width": lambda text: text.replace(" ", "\u2009"),
    "without width": lambda text: f"\ufeff{text}\u200b",
    "unseen within words": lambda text: (
        text.replace("e", "e\u00ad").replace("a", "a\u200b").replace("o", "\u200eo")
    ),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_spaces_around_texts_and_decomposed_letters_make_no_other_items_and_that_is_told(
    built, tmp_path, caplog, kind, form
):
    """EleutherAI/lm-evaluation-harness #218, #4012; TheCombine #3713."""
    frame = pd.read_parquet(hub_file(built[1], tmp_path / "hub.parquet"))
    texts = ["Context1", "Context2", "Target1", "Target2"]
    frame[texts] = frame[texts].map(lambda text: text.replace("Gardener", "Gärtner"))
    found = {}
    for name, how in (("plain", str), (kind, ODD[kind])):
        frame.assign(**{text: frame[text].map(how) for text in texts}).pipe(
            lambda odd: (
                odd.to_csv(tmp_path / "f.csv", index=False)
                if form == "csv"
                else odd.to_parquet(tmp_path / "f.parquet")
            )
        )
        caplog.clear()
        found[name] = imported(tmp_path / f"f.{form}", tmp_path / "back.parquet")
        assert ("texts had spaces" in caplog.text) is (name == kind)
    pd.testing.assert_frame_equal(found["plain"], found[kind])
    assert read_provenance(tmp_path / "back.parquet").details["normalized_texts"] > 0


def test_blanks_around_a_contrast_make_no_other_group_and_files_of_other_kinds_are_named(
    built, tmp_path, capsys
):
    frame = pd.read_parquet(hub_file(built[1], tmp_path / "hub.parquet"))
    frame.assign(ContextDiff="  negation\u00a0").to_csv(tmp_path / "f.csv", index=False)
    assert set(imported(tmp_path / "f.csv", tmp_path / "back.parquet")["context_contrast"]) == {
        "negation"
    }
    frame.to_json(tmp_path / "f.json", orient="records")
    assert (
        main(["items", "import", str(tmp_path / "f.json"), "--out", str(tmp_path / "back.parquet")])
        == 2
    )
    assert "does not end in .csv, .parquet" in capsys.readouterr().err
