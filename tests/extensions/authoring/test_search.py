"""Protected sentences are found in every kind of file that is read, whatever fills their slots,
and told by place and length.
"""

import bz2
import gzip
import json
import os
import zipfile

import pandas as pd
import pytest
import pyzipper

from command_line import run
from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.cli import main
from worldprobe_authoring.search import Wordings, read_wordings, search_folder

SENTENCE = "Mehitabel slowly moves the hose downward with one hand."


@pytest.fixture
def wordings(protected):
    return read_wordings(MaterialsFiles(protected))


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
    tables = {
        "column": pd.Series(["nothing", text]).astype("category"),
        "list": [["nothing"], [text]],
    }
    contents = {
        "text": text.encode(),
        "json": (
            json.dumps({"prompt": f'he said:\n"{text}"'}).replace(" one", "\\u0020one").encode()
        ),
        "html": f"<p>{text.replace(' ', '&#32;')}</p>".encode(),
        "utf-16": text.encode("utf-16"),
        "bz2": bz2.compress(text.encode()),
        "binary": b"\0\1\2" * 50 + text.encode() + b"\0\3" * 50,
    }
    endings = {"text": "a.md", "utf-16": "a.txt", "binary": "a.bin"}
    if how in tables:
        pd.DataFrame({"x": tables[how]}).to_parquet(folder / "a.parquet")
    elif how == "zip":
        with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("deep/a.txt.gz", gzip.compress(text.encode()))
    else:
        (folder / endings.get(how, f"a.{how}")).write_bytes(contents[how])


@pytest.mark.parametrize(
    "how", ["text", "json", "html", "utf-16", "column", "list", "zip", "bz2", "binary"]
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
    check = f"release check {folder} --official {protected}".split()
    assert main(check) == 0
    plant(folder, "text")
    (folder / "a.md").write_text("\n\n" + (folder / "a.md").read_text())
    assert main(check) == 1
    printed = "".join(capsys.readouterr())
    assert "a.md, line 3: 8 words in a row" in printed
    assert "slowly" not in printed.lower()


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


def test_files_without_a_canary_are_listed(licensed, capsys):
    assert run(f"release check {licensed}") == 0
    file = licensed / "fillers" / "filler-agent.csv"
    file.write_text(file.read_text().partition("\n")[2])
    store = licensed / ".answers" / "0123"
    store.mkdir(parents=True)
    for number, canary in ((1, ""), (2, ', "canary": ["c"]')):
        part = store / f"part-00000{number}-0123456789abcdef.jsonl"
        part.write_text(f'{{"questions": "x"{canary}}}\n')
    capsys.readouterr()
    assert run(f"release check {licensed}") == 1
    listed = [
        line.partition(":")[0]
        for line in capsys.readouterr().out.splitlines()
        if line.endswith(": no canary")
    ]
    assert listed == [
        ".answers/0123/part-000001-0123456789abcdef.jsonl",
        "fillers/filler-agent.csv",
    ]


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
