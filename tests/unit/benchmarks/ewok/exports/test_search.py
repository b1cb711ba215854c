"""Protected sentences are found in every kind of file that is read, whatever fills their slots, and
told by place and length.
"""

import bz2
import gzip
import json
import os
import zipfile

import pandas as pd
import pytest
import pyzipper

from worldprobe.benchmarks.ewok.materials.materials import Source
from worldprobe.cli import main
from worldprobe_authoring.search import Wordings, read_wordings, search_folder

SENTENCE = "Mehitabel slowly moves the hose downward with one hand."


@pytest.fixture
def wordings(protected):
    return read_wordings(Source(protected))


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        "they say: MEHITABEL SLOWLY MOVES THE HOSE\n   downward, with one hand",
        "Rosalind slowly moves the clay pot upward with one hand.",
        "{agent1} slowly moves {object1:heavy=true} upward with one hand",
        "[agent2] slowly moves [object1] upward with one hand",
    ],
)
def test_a_sentence_is_found_with_any_filler_of_the_materials_or_slot(wordings, text):
    assert len(wordings.find(f"Before. {text} After.")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Somebody else slowly carries the hose downward with one hand.",
        "Mehitabel lifts the hose.",  # anybody may write that
        "Mehitabel slowly moves the hose downward with two hands.",
        "",
    ],
)
def test_other_sentences_are_not_found(wordings, text):
    assert wordings.find(text) == {}


def plant(folder, how):
    text = f"Once upon a time. {SENTENCE} The end.\n"
    if how == "text":
        (folder / "a.md").write_text(text)
    elif how == "hidden":
        (folder / ".cache").mkdir()
        (folder / ".cache" / ".a").write_text(text)
    elif how == "json":
        (folder / "a.jsonl").write_text(json.dumps({"prompt": f'he said:\n"{text}"'}) + "\n")
    elif how == "html":
        (folder / "a.html").write_text(f"<p>{text.replace(' ', '&#32;')}</p>")
    elif how == "utf-16":
        (folder / "a.txt").write_bytes(text.encode("utf-16"))
    elif how == "parquet":
        pd.DataFrame({"x": ["nothing", text], "n": [1, 2]}).astype({"x": "category"}).to_parquet(
            folder / "a.parquet"
        )
    elif how == "zip":
        with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("deep/a.txt.gz", gzip.compress(text.encode()))
    elif how == "bz2":
        (folder / "a.bz2").write_bytes(bz2.compress(text.encode()))
    elif how == "binary":
        (folder / "a.bin").write_bytes(b"\0\1\2" * 50 + text.encode() + b"\0\3" * 50)


@pytest.mark.parametrize(
    "how", ["text", "hidden", "json", "html", "utf-16", "parquet", "zip", "bz2", "binary"]
)
def test_a_sentence_is_found_wherever_it_is(wordings, tmp_path, how):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "innocent.txt").write_text("Nobody moves anything.\n")
    plant(folder, how)
    findings = search_folder(folder, wordings)
    [(place, found)] = findings.sentences.items()
    assert [one.n_words for one in found] == [8]
    assert "innocent" not in place
    assert findings.unread == {}


def test_encrypted_members_are_left_closed_and_damaged_files_are_named(wordings, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pyzipper.AESZipFile(folder / "closed.zip", "w", encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(b"word")
        archive.writestr("a.txt", SENTENCE)
    (folder / "damaged.gz").write_bytes(gzip.compress(SENTENCE.encode())[:-20])
    findings = search_folder(folder, wordings)
    assert (findings.encrypted, findings.sentences) == (1, {})
    assert list(findings.unread) == ["damaged.gz"]


def test_the_command_says_where_and_how_many_and_quotes_nothing(protected, tmp_path, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    check = ["release", "check", str(folder), "--official", str(protected)]
    assert main(check) == 0
    assert "Nothing was found." in capsys.readouterr().out
    plant(folder, "text")
    (folder / "a.md").write_text("\n\n" + (folder / "a.md").read_text())
    (folder / "b.pdf").write_bytes(b"%PDF-1.4\n")
    assert main(check) == 1
    printed = "".join(capsys.readouterr())
    assert "a.md, line 3: 8 words in a row of a protected sentence\n" in printed
    assert "Only sentences with 6 words or more count" in printed
    assert "slowly" not in printed.lower()
    assert "only the plain text in them was searched: 1 PDF." in printed


def test_files_of_which_only_the_plain_text_is_read_are_counted(wordings, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", SENTENCE.replace(" one", "</w:t><w:t> one"))
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    assert search_folder(tmp_path, wordings).others == {"office document": 1, "PDF": 1}


def test_short_sentences_which_anybody_writes_are_not_protected():
    short = Wordings(
        [["The jar is heavier than the bowl.", "The jar is in front of the bowl."]],
        ["the jar", "the bowl"],
    )
    assert short.find("context: {a} is heavier than {b}") == {}
    assert list(
        short.find(
            "Here.\nThe jar is heavier than the bowl. The jar is in front of the bowl."
        ).values()
    ) == [2]


def test_files_without_a_canary_are_listed(garden, tmp_path, capsys):
    built = ["items", "build", str(garden), "--versions", "0", "--out"]
    assert main([*built, str(garden / "with.parquet")]) == 0
    assert main(["release", "check", str(garden)]) == 0
    for path in garden.rglob("*-*.*"):
        path.write_text(path.read_text().partition("\n")[2])
    assert main([*built, str(garden / "without.parquet")]) == 0
    store = garden / ".answers" / "0123"
    store.mkdir(parents=True)
    (store / "part-000001-0123456789abcdef.jsonl").write_text('{"questions": "x"}\n')
    (store / "part-000002-0123456789abcdef.jsonl").write_text(
        '{"questions": "x", "canary": ["c"]}\n'
    )
    capsys.readouterr()
    assert main(["release", "check", str(garden)]) == 1
    listed = [
        line.partition(":")[0]
        for line in capsys.readouterr().out.splitlines()
        if line.endswith(": no canary")
    ]
    assert listed == [
        ".answers/0123/part-000001-0123456789abcdef.jsonl",
        "concepts/concept-garden-work.yml",
        "contexts/context-garden-work.yml",
        "fillers/filler-agent.csv",
        "fillers/filler-object.csv",
        "targets/target-garden-work.yml",
        "without.parquet",
    ]
    (store / "identity.json").write_text('{"canary": ["c"], "identity": {}}')
    assert main(["release", "check", str(store)]) == 0


@pytest.mark.parametrize(
    "column",
    [[[SENTENCE]], [{"said": SENTENCE}], [SENTENCE.encode()]],
    ids=["list", "fields", "bytes"],
)
def test_a_sentence_is_found_in_any_column_of_a_table(column, wordings, tmp_path):
    pd.DataFrame({"said": column, "by": "Ann"}).to_parquet(tmp_path / "a.parquet")
    assert search_folder(tmp_path, wordings).sentences == {"a.parquet": [(1, 8)]}


def test_escapes_of_json_and_scripts_hide_no_sentence(wordings, tmp_path):
    (tmp_path / "a.js").write_text(SENTENCE.replace(" one", "\\u0020one"))
    assert search_folder(tmp_path, wordings).sentences == {"a.js": [(1, 8)]}


def test_a_folder_that_cannot_be_listed_is_not_called_clean(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def scan(place):
        if str(place).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(place))
        return listed(place)

    monkeypatch.setattr(os, "scandir", scan)
    findings = search_folder(tmp_path, None)
    assert findings.unread == {"closed": "cannot be listed (Permission denied)"}
    assert not findings.is_clean()
