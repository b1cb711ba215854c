"""Archives and commented CSV files are read whatever way they are packed, or refused in words."""

import pickle
import zipfile

import pytest
import pyzipper

from worldprobe.archives import Archive
from worldprobe.commented_csv import CsvError, read_frame, read_rows
from worldprobe.errors import UserError

TEXT = b"nothing to see, but long enough to be compressed: " * 20


def pack(path, kind, content=TEXT):
    if kind == "plain":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/b.txt", content)
    else:
        with pyzipper.AESZipFile(
            path, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES
        ) as archive:
            archive.setpassword(b"word")
            archive.writestr("a/b.txt", content)
    return path


@pytest.mark.parametrize("kind", ["plain", "aes"])
def test_plain_and_aes_archives_read_alike(tmp_path, kind):
    archive = Archive(pack(tmp_path / "a.zip", kind), "word")
    assert archive.names == ["a/b.txt"]
    assert archive.read("a/b.txt") == TEXT


def test_a_missing_password_and_a_wrong_one_are_told_apart_and_never_printed(tmp_path):
    path = pack(tmp_path / "a.zip", "aes")
    with pytest.raises(UserError, match="protected by a password"):
        Archive(path).read("a/b.txt")
    with pytest.raises(UserError, match="password is wrong") as caught:
        Archive(path, "hunter2\udcff").read("a/b.txt")
    assert "hunter2" not in caught.value.lines()


@pytest.mark.parametrize("kind", ["plain", "aes"])
def test_whatever_byte_is_damaged_there_is_a_message_or_the_same_text(tmp_path, kind):
    content = pack(tmp_path / "a.zip", kind).read_bytes()
    outcomes = set()
    for at in range(0, len(content)):
        (tmp_path / "b.zip").write_bytes(
            content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]
        )
        try:
            archive = Archive(tmp_path / "b.zip", "word")
            outcomes |= {archive.read(name) == TEXT for name in archive.names}
        except UserError:
            outcomes.add("refused")
    assert outcomes <= {True, "refused"}


def test_members_that_nobody_wrote_by_hand_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("worldprobe.archives.LARGEST", 100)
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "b.txt").write_bytes(TEXT)
    for source, name in ((pack(tmp_path / "a.zip", "plain"), "a/b.txt"), (tmp_path / "f", "b.txt")):
        with pytest.raises(UserError, match="at most 100 are read"):
            Archive(source).read(name)


def test_rows_know_their_lines_below_comments_and_across_quoted_line_ends():
    content = '\ufeff# canary\n# more\nitem,b\n"two\nlines",1\n\nlast,2\n'.encode()
    assert list(read_rows("f", content)) == [
        (3, ["item", "b"]),
        (4, ["two\nlines", "1"]),
        (7, ["last", "2"]),
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"# only a comment\n", "is empty"),
        (b"a;b\n1;2\n", "by semicolons"),
        (b"a\tb\n1\t2\n", "by tabs"),
        (b"a;;b\n1;;2\n", "by semicolons"),
        (b"a,b\n1,2\n3\n", "line 3: has 1 cells, the header 2"),
        (b"a,b\n\xff,1\n", "line 2: is not UTF-8"),
        (b"a,a\n1,2\n", 'column "a" twice'),
        (b"a\n" + b"x" * 200_000, "not readable as CSV"),
    ],
)
def test_what_is_not_csv_is_refused_with_its_line(content, problem):
    with pytest.raises(UserError, match=problem):
        read_frame("f.csv", content)


@pytest.mark.parametrize(
    "content",
    [
        b"# note\ra,b\r1,2\r3,4\r",
        b"# note\r\na,b\r\n1,2\r\n3,4\r\n",
        b"a,b\n1,2\n3,4\n,\n , \n",
        b"a,,b,\n1,,2,\n3,,4,\n,,,\n",
    ],
    ids=["CR", "CRLF", "blank last rows", "empty columns"],
)
def test_what_spreadsheets_add_to_a_table_is_no_part_of_it(content):
    """ng-csv #28, SheetJS/sheetjs #2236, #2239."""
    assert read_frame("f.csv", content).to_dict("list") == {"a": ["1", "3"], "b": ["2", "4"]}


def test_an_archive_whose_folders_are_separated_by_backslashes_is_read(tmp_path):
    """python/cpython #117084, dotnet/runtime #98247."""
    path = pack(tmp_path / "a.zip", "plain")
    path.write_bytes(path.read_bytes().replace(b"a/b.txt", b"a\\b.txt"))
    archive = Archive(path)
    assert {name: archive.read(name) for name in archive.names} == {"a/b.txt": TEXT}
    archive.copy_member("a/b.txt", tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes() == TEXT


def test_errors_survive_a_process_pool():
    error = pickle.loads(pickle.dumps(CsvError("f.csv", 3, "is odd.", "Fix it.")))
    assert error.lines() == CsvError("f.csv", 3, "is odd.", "Fix it.").lines()
