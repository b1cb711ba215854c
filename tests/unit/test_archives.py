"""Archives and commented CSV files are read whatever way they are packed, or refused in words."""

import zipfile

import pytest
import pyzipper

from worldprobe.archives import Archive
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
