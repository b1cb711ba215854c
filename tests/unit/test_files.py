"""Files and folders are written whole or not at all, and never over something else."""

import errno
import os
import socket
import subprocess
import sys

import pytest

from worldprobe import files
from worldprobe.errors import UserError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_is_on_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    order = []
    synchronize, replace = files._synchronize, os.replace
    monkeypatch.setattr(
        files, "_synchronize", lambda path: (order.append(path.name), synchronize(path))
    )
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), replace(a, b)))
    files.write_text(tmp_path / "a.txt", "x")
    assert order[0].startswith(".a.txt.")
    assert order[1:] == ["rename", tmp_path.name]


def test_leftovers_of_killed_processes_are_removed_and_those_of_running_ones_kept(tmp_path):
    host = socket.gethostname()
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / f".a.txt.{host}.{ended.stdout.strip()}.part").write_text("half")
    (tmp_path / f".a.txt.{host}.{os.getppid()}.part").write_text("another writer's")
    files.write_text(tmp_path / "a.txt", "x")
    assert names(tmp_path) == [f".a.txt.{host}.{os.getppid()}.part", "a.txt"]


def test_a_folder_of_a_process_killed_between_two_renames_is_put_back(tmp_path):
    old = tmp_path / f".f.{socket.gethostname()}.999999999.part.old"
    old.mkdir()
    (old / "thesis").write_text("years of work")
    with (
        pytest.raises(UserError, match="not empty"),
        files.whole_folder(tmp_path / "f", "items export"),
    ):
        pass
    assert (tmp_path / "f" / "thesis").read_text() == "years of work"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS])
def test_a_full_disk_is_one_message_and_nothing_half_written(tmp_path, number):
    (tmp_path / "a.txt").write_text("old")

    def write_file():
        with files.whole_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise OSError(number, os.strerror(number))

    def write_folder():
        with files.whole_folder(tmp_path / "f", "x") as temporary:
            (temporary / "b").write_text("half")
            raise OSError(number, os.strerror(number))

    for write in (write_file, write_folder):
        with pytest.raises(UserError, match="cannot be written"):
            write()
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_what_is_not_a_regular_file_is_never_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("folder", "is a folder"), ("pipe", "device, pipe")):
        with pytest.raises(UserError, match=words):
            files.write_text(tmp_path / name, "x")
    with pytest.raises(UserError, match="device, pipe"):
        files.write_text("/dev/null", "x")
    assert names(tmp_path) == ["folder", "pipe"]


def test_a_folder_is_replaced_only_by_the_command_that_wrote_it(tmp_path):
    def write(command, name):
        with files.whole_folder(tmp_path / "f", command) as folder:
            (folder / "version-0").mkdir()
            (folder / "version-0" / name).write_text("x")

    write("items export", "a.csv")
    write("items export", "b.csv")
    assert names(tmp_path / "f" / "version-0") == ["b.csv"]
    with pytest.raises(UserError, match="another command"):
        write("controls write-corpus", "c.csv")
    (tmp_path / "f" / "version-0" / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match=r"also contains version-0/thesis\.tex"):
        write("items export", "d.csv")
    (tmp_path / "f" / files.MANIFEST).unlink()
    with pytest.raises(UserError, match="not empty"):
        write("items export", "e.csv")
    assert names(tmp_path / "f" / "version-0") == ["b.csv", "thesis.tex"]


def test_a_folder_that_was_edited_or_made_from_something_else_is_not_replaced(tmp_path):
    def write(text, source=None):
        with files.whole_folder(tmp_path / "f", "items export", source) as folder:
            (folder / "card.md").write_text(text)
            (folder / "weights").write_bytes(bytes(files._LARGE + 1))

    write("one", "items of today")
    write("one", "items of today")
    with pytest.raises(UserError, match="from other inputs"):
        write("two", "items of yesterday")
    with pytest.raises(UserError, match="from other inputs"):
        files.check_place(
            tmp_path / "f", is_folder=True, command="items export", source="items of yesterday"
        )
    files.check_place(tmp_path / "f", is_folder=True, command="items export")
    os.utime(tmp_path / "f" / "weights", (1, 1))
    (tmp_path / "f" / "card.md").write_text("one, and what I wrote")
    with pytest.raises(UserError, match=r"card\.md, which was edited"):
        write("one", "items of today")
    assert (tmp_path / "f" / "card.md").read_text() == "one, and what I wrote"


def test_several_files_are_all_replaced_or_none(tmp_path):
    (tmp_path / "a").write_text("old")

    def write(fails):
        with files.whole_files([tmp_path / name for name in "abf"]):
            files.write_text(tmp_path / "a", "new")
            with files.whole_folder(tmp_path / "f", "x") as folder:
                (folder / "c").write_text("new")
            files.write_text(tmp_path / "shard", "kept")
            assert (tmp_path / "a").read_text() == "old"
            assert (tmp_path / "shard").read_text() == "kept", (
                "what does not belong to the outputs is written at once"
            )
            if fails:
                raise UserError("b", "cannot be read.", "Check it.")
            files.write_text(tmp_path / "b", "new")

    with pytest.raises(UserError):
        write(fails=True)
    assert names(tmp_path) == ["a", "shard"]
    write(fails=False)
    assert names(tmp_path) == ["a", "b", "f", "shard"]
    assert (tmp_path / "a").read_text() == "new"


def test_a_files_state_is_its_content_whatever_its_date_and_of_a_large_file_its_date_too(tmp_path):
    small, large = tmp_path / "folder" / "small", tmp_path / "large"
    small.parent.mkdir()
    small.write_text("a")
    large.write_bytes(bytes(1_000_001))
    paths = [small.parent, large, tmp_path / "missing"]
    before = files.digest_state(paths)
    assert files.digest_state([f"{small}/"]) == files.digest_state([small])
    assert files.digest_state([small / "below a file"]) == files.digest_state([]), (
        "it does not exist"
    )
    os.utime(small, (1, 1))
    assert files.digest_state(paths) == before
    small.write_text("b")
    os.utime(small, (0, 0))
    after = files.digest_state(paths)
    assert after != before
    os.utime(large, (0, 0))
    assert files.digest_state(paths) not in (before, after)


def test_what_snakemake_notes_in_a_folder_is_no_part_of_it(tmp_path):
    folder = tmp_path / "corpus"
    for _ in range(2):  # a command of a rule may be pasted into a shell
        with files.whole_folder(folder, "controls write-corpus") as temporary:
            (temporary / "stories.txt").write_text("a story")
        digest = files.digest_file(folder)
        (folder / ".snakemake_timestamp").touch()
        assert [path.name for path in files.files_below(folder)] == ["stories.txt"]
        assert files.digest_file(folder) == digest
