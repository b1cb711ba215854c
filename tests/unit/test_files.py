"""Files and folders are written whole or not at all, and never over something else."""

import errno
import fcntl
import os

import pytest

from worldprobe import files
from worldprobe.errors import UserError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS])
def test_a_full_disk_is_one_message_and_nothing_half_written(tmp_path, number):
    (tmp_path / "a.txt").write_text("old")

    def write_file():
        with files.whole_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise OSError(number, os.strerror(number))

    def write_folder():
        with files.whole_folder(tmp_path / "f") as temporary:
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


def test_a_folder_that_contains_anything_is_never_replaced(tmp_path):
    def write(name):
        with files.whole_folder(tmp_path / "f") as folder:
            (folder / "version-0").mkdir()
            (folder / "version-0" / name).write_text("x")

    (tmp_path / "f").mkdir()
    write("a.csv")
    with pytest.raises(UserError, match="is not empty"):
        write("b.csv")
    assert names(tmp_path) == ["f"]
    assert names(tmp_path / "f" / "version-0") == ["a.csv"]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.txt").symlink_to("elsewhere/a.txt")
    files.write_text(tmp_path / "a.txt", "x")
    assert (tmp_path / "a.txt").is_symlink()
    assert (tmp_path / "elsewhere" / "a.txt").read_text() == "x"


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


def test_hidden_files_are_no_part_of_a_folders_digest(tmp_path):
    with files.whole_folder(tmp_path / "corpus") as temporary:
        (temporary / "stories.txt").write_text("a story")
    digest = files.digest_file(tmp_path / "corpus")
    (tmp_path / "corpus" / ".snakemake_timestamp").touch()
    assert files.digest_file(tmp_path / "corpus") == digest


def test_what_a_killed_writer_left_goes_with_the_next_and_what_is_being_written_stays(tmp_path):
    place = tmp_path / "table.parquet"
    here = files._HERE
    left = tmp_path / f".table.parquet.{here}.x1y2z3.part"
    left.mkdir()
    (left / place.name).write_text("half")
    old, elsewhere = (tmp_path / f".table.parquet.node17.{n}.part" for n in (1, 2))
    old.mkdir()
    os.utime(old, (1e9, 1e9))
    elsewhere.mkdir()
    other = tmp_path / ".other.parquet.x1y2z3.part"
    other.mkdir()
    with files.whole_file(place) as first:
        first.write_text("first")
        with files.whole_file(place) as second:
            assert not left.exists()
            assert not old.exists()
            assert elsewhere.exists(), "another computer's, whose locks are not seen here"
            assert first.is_file()
            second.write_text("second")
    assert place.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == sorted([other, elsewhere, place])


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO])
def test_a_disk_without_locks_is_named_with_the_file(tmp_path, monkeypatch, number):
    """L1: a traceback on a home without lockd."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UserError, match="cannot be locked") as caught, files.locked(tmp_path / "l"):
        pass
    assert str(tmp_path / "l") in caught.value.lines()
    assert "XDG_CACHE_HOME" in caught.value.lines()


def test_a_lock_that_is_not_let_go_is_named_after_a_while(tmp_path, monkeypatch, caplog):
    """L1: the lock file that a computer left when it stopped was waited for for ever."""
    monkeypatch.setattr(files.LOGGER, "propagate", True)
    caplog.set_level("INFO", logger="worldprobe")
    monkeypatch.setattr(files, "_SILENT_SECONDS", 0.01)
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.1)
    with files.locked(tmp_path / "l"):
        with pytest.raises(UserError, match="remove the file"), files.locked(tmp_path / "l"):
            pass
        with pytest.raises(TimeoutError):
            files.take_lock(tmp_path / "l", patience=0)
    assert "waiting for" in caplog.text
    with files.locked(tmp_path / "l"):
        pass
