"""What is packed is encrypted, has licence, terms and canaries, is read back as it is, and the
password is told to nobody.
"""

import gzip
import io
import json
import os
import shutil
import zipfile

import pytest

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
    garden, tmp_path, capsys
):
    out = tmp_path / "garden.zip"
    assert pack(garden, out=out) == 0
    with zipfile.ZipFile(out) as archive:
        assert all(member.flag_bits & 1 for member in archive.infolist())
        assert {"README.txt", "garden/LICENSE.txt", "garden/TERMS_OF_USE.txt"} <= set(
            archive.namelist()
        )
    assert b"slowly" not in out.read_bytes()
    assert WORD not in "".join(capsys.readouterr())
    tables = []
    for source in (garden, out):
        assert (
            main(
                [
                    "items",
                    "build",
                    str(source),
                    "--versions",
                    "0",
                    "--out",
                    str(tmp_path / "items.parquet"),
                ]
            )
            == 0
        )
        tables.append(read_table(tmp_path / "items.parquet", Items))
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("is_folder", [False, True])
def test_links_which_the_check_does_not_follow_are_not_packed(garden, tmp_path, capsys, is_folder):
    shutil.copytree(garden, tmp_path / "mine")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes.txt").write_text("what nobody searched")
    target = tmp_path / "private" / ("" if is_folder else "notes.txt")
    (tmp_path / "mine" / "notes.txt").symlink_to(target, target_is_directory=is_folder)
    assert pack(tmp_path / "mine", out=tmp_path / "mine.zip") == 2
    assert "is a link" in capsys.readouterr().err
    assert not (tmp_path / "mine.zip").exists()


def test_an_archive_is_opened_again_as_it_was(garden, tmp_path, monkeypatch, capsys):
    assert pack(garden, out=tmp_path / "garden.zip") == 0
    unpack = ["release", "unpack", str(tmp_path / "garden.zip"), "--out", str(tmp_path / "opened")]
    monkeypatch.setenv(command.RELEASE_VARIABLE, "another")
    assert main(unpack) == 2
    assert "password is wrong" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()
    monkeypatch.setenv(command.RELEASE_VARIABLE, WORD)
    assert main(unpack) == 0
    assert digest_file(tmp_path / "opened" / "garden") == digest_file(garden)
    readme = (tmp_path / "opened" / "README.txt").read_text()
    assert readme.startswith("# GARDEN canary 0000\n")
    assert "garden/LICENSE.txt, garden/TERMS_OF_USE.txt" in readme


def test_protected_materials_are_packed_again_but_never_opened(protected, tmp_path, capsys):
    assert pack(protected, out=tmp_path / "closed.zip") == 0
    assert pack(tmp_path / "closed.zip", out=tmp_path / "again.zip") == 0
    assert (
        main(["release", "unpack", str(tmp_path / "closed.zip"), "--out", str(tmp_path / "opened")])
        == 2
    )
    assert "terms forbid plain-text files" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()


def test_items_of_protected_materials_leave_through_pack_alone(protected, tmp_path, capsys):
    items, templates = tmp_path / "items.parquet", tmp_path / "templates.parquet"
    options = ["--versions", "0", "--templates-out", str(templates), "--out", str(items)]
    assert main(["items", "build", str(protected), *options]) == 0
    assert (
        main(["items", "export", str(items), str(templates), "--out", str(tmp_path / "open")]) == 2
    )
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
    ("change", "words"),
    [
        (lambda folder: (folder / "LICENSE.txt").unlink(), "no file with a licence"),
        (lambda folder: (folder / "TERMS_OF_USE.txt").unlink(), "no file with terms of use"),
        (
            lambda folder: (folder / "targets" / "target-attic-work.yml").write_text(
                "attic-work: []\n"
            ),
            "has no canary",
        ),
    ],
)
def test_what_must_not_be_passed_on_like_this_is_refused(garden, tmp_path, capsys, change, words):
    change(garden)
    assert pack(garden, out=tmp_path / "garden.zip") == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "garden.zip").exists()


def test_licence_and_terms_may_be_named(garden, tmp_path):
    (garden / "LICENSE.txt").rename(tmp_path / "mine.md")
    (garden / "TERMS_OF_USE.txt").rename(tmp_path / "terms.md")
    assert (
        pack(
            garden,
            "--licence",
            tmp_path / "mine.md",
            "--terms",
            tmp_path / "terms.md",
            out=tmp_path / "garden.zip",
        )
        == 0
    )
    with zipfile.ZipFile(tmp_path / "garden.zip") as archive:
        assert {"LICENSE.md", "TERMS_OF_USE.md"} <= set(archive.namelist())


def test_without_a_password_and_a_terminal_nothing_is_packed(garden, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(command.RELEASE_VARIABLE)
    with open(os.devnull) as nowhere:
        monkeypatch.setattr("sys.stdin", nowhere)
        assert pack(garden, out=tmp_path / "garden.zip") == 2
    assert "no password is set" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "status"), [(["one", "one"], 0), (["one", "two"], 2), ([""], 2)])
def test_a_password_is_asked_for_twice(garden, tmp_path, monkeypatch, typed, status):
    monkeypatch.delenv(command.RELEASE_VARIABLE)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(typed)
    monkeypatch.setattr(command.getpass, "getpass", lambda prompt: next(answers))
    assert pack(garden, out=tmp_path / "garden.zip") == status


def test_no_option_takes_the_password(capsys):
    for action in ("pack", "unpack", "check"):
        assert main(["release", action, "--help"]) == 0
        assert "--password" not in capsys.readouterr().out


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../elsewhere.txt", "x")
    assert (
        main(
            [
                "release",
                "unpack",
                str(tmp_path / "bad.zip"),
                "--out",
                str(tmp_path / "in" / "folder"),
            ]
        )
        == 2
    )
    assert "outside the folder" in capsys.readouterr().err
    assert not (tmp_path / "in" / "elsewhere.txt").exists()


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
    assert (
        main(["release", "unpack", str(tmp_path / "closed.zip"), "--out", str(tmp_path / "opened")])
        == 2
    )
    assert "terms forbid plain-text files" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    "names", [["a", "a/b"], ["a", "./a"], ["."], ["x" * 300], [".worldprobe.json"]]
)
def test_members_that_cannot_be_files_of_a_folder_are_refused(names, tmp_path, capsys):
    (tmp_path / "bad.zip").write_bytes(zipped(dict.fromkeys(names, "x")))
    assert (
        main(["release", "unpack", str(tmp_path / "bad.zip"), "--out", str(tmp_path / "opened")])
        == 2
    )
    assert "Ask for the archive again" in capsys.readouterr().err
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize("name", ["README.txt", os.fsdecode(b"a\xff.txt")])
def test_a_file_whose_name_no_archive_takes_is_refused_and_not_left_out(
    name, garden, tmp_path, capsys
):
    (tmp_path / name).write_text("x")
    assert pack(garden, tmp_path / name, out=tmp_path / "garden.zip") == 2
    assert "Rename the file" in capsys.readouterr().err
    assert not (tmp_path / "garden.zip").exists()
