"""What is packed is encrypted, has licence, terms and canaries, is read back as it is, and the
password is told to nobody.
"""

import gzip
import io
import json
import zipfile

import pytest

from command_line import run
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe.files import digest_file
from worldprobe_authoring import release_cli as command

WORD = "hunter2secret"


@pytest.fixture(autouse=True)
def word(monkeypatch):
    monkeypatch.setenv(command.RELEASE_VARIABLE, WORD)
    monkeypatch.setenv("WORLDPROBE_MATERIALS_PASSWORD", WORD)


def pack(*options, out):
    return main(["release", "pack", *map(str, options), "--out", str(out)])


def test_packed_materials_are_encrypted_and_give_the_items_that_the_folder_gives(
    licensed, tmp_path, capsys
):
    out = tmp_path / "garden.zip"
    assert pack(licensed, out=out) == 0
    with zipfile.ZipFile(out) as archive:
        assert all(member.flag_bits & 1 for member in archive.infolist())
        assert {"README.txt", "garden/LICENSE.txt", "garden/TERMS_OF_USE.txt"} <= set(
            archive.namelist()
        )
    assert b"slowly" not in out.read_bytes()
    assert WORD not in "".join(capsys.readouterr())
    tables = []
    for source in (licensed, out):
        assert run(f"items build {source} --versions 0 --out {tmp_path / 'items.parquet'}") == 0
        tables.append(read_table(tmp_path / "items.parquet", Items))
    assert tables[0].equals(tables[1])


def test_links_which_the_check_does_not_follow_are_not_packed(licensed, tmp_path):
    (tmp_path / "notes.txt").write_text("what nobody searched")
    (licensed / "notes.txt").symlink_to(tmp_path / "notes.txt")
    assert pack(licensed, out=tmp_path / "garden.zip") == 2
    assert not (tmp_path / "garden.zip").exists()


def test_an_archive_is_opened_again_as_it_was(licensed, tmp_path, monkeypatch, capsys):
    assert pack(licensed, out=tmp_path / "garden.zip") == 0
    unpack = f"release unpack {tmp_path / 'garden.zip'} --out {tmp_path / 'opened'}".split()
    monkeypatch.setenv(command.RELEASE_VARIABLE, "another")
    assert main(unpack) == 2
    assert "password is wrong" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()
    monkeypatch.setenv(command.RELEASE_VARIABLE, WORD)
    assert main(unpack) == 0
    assert digest_file(tmp_path / "opened" / "garden") == digest_file(licensed)


def test_items_of_protected_materials_leave_through_pack_alone(protected, tmp_path, capsys):
    items, templates = tmp_path / "items.parquet", tmp_path / "templates.parquet"
    options = f"--versions 0 --templates-out {templates} --out {items}"
    assert run(f"items build {protected} {options}") == 0
    assert run(f"items export {items} {templates} --out {tmp_path / 'open'}") == 2
    assert "release pack --items" in capsys.readouterr().err
    assert not (tmp_path / "open").exists()
    out = tmp_path / "items.zip"
    assert pack("--items", items, "--templates", templates, out=out) == 2
    assert "no file with a licence" in capsys.readouterr().err
    assert (
        pack("--items", items, "--templates", templates, "--notices-from", protected, out=out) == 0
    )
    with zipfile.ZipFile(out) as archive:
        names = [
            "LICENSE.txt",
            "README.txt",
            "TERMS_OF_USE.txt",
            "items/version-0/testsuite-garden_work.csv",
        ]
        assert sorted(archive.namelist()) == names


@pytest.mark.parametrize(
    "file", ["LICENSE.txt", "TERMS_OF_USE.txt", "targets/target-garden-work.yml"]
)
def test_what_must_not_be_passed_on_like_this_is_refused(licensed, tmp_path, file):
    path = licensed / file
    text = path.read_text()
    path.unlink()
    if path.suffix == ".yml":
        path.write_text(text.partition("\n")[2])  # without its canary
    assert pack(licensed, out=tmp_path / "garden.zip") == 2
    assert not (tmp_path / "garden.zip").exists()


def zipped(members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


CANARY = "# EWoK canary 0"


@pytest.mark.parametrize(
    "members",
    [
        {"s/part-000001-ab.jsonl": json.dumps({"questions": "q", "canary": [CANARY]}) + "\n{}\n"},
        {"s/identity.json": json.dumps({"canary": ["# mine", CANARY], "identity": {}}, indent=1)},
        {"inner.zip": zipped({"contexts/context-a.yml": f"{CANARY}\n- x\n"})},
        {"items.csv.gz": gzip.compress(f"{CANARY}\nx\n".encode())},
        {"items.csv": f"\n{CANARY}\nx\n"},
    ],
    ids=["answers", "store", "archive", "compressed", "after a blank line"],
)
def test_whatever_says_that_it_is_protected_stays_packed(members, tmp_path, capsys):
    (tmp_path / "closed.zip").write_bytes(zipped(members))
    assert run(f"release unpack {tmp_path / 'closed.zip'} --out {tmp_path / 'opened'}") == 2
    assert "terms forbid plain-text files" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize("names", [["../elsewhere"], ["a", "a/b"], ["a", "./a"]])
def test_members_that_cannot_be_files_of_a_folder_are_refused(names, tmp_path):
    (tmp_path / "bad.zip").write_bytes(zipped(dict.fromkeys(names, "x")))
    assert run(f"release unpack {tmp_path / 'bad.zip'} --out {tmp_path / 'opened'}") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["bad.zip"]
