"""A download is the file that was meant, or nothing."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.sources import download, read_source

CONTENT = b"some bytes of ours" * 1000


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file.zip").write_bytes(CONTENT)
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/file.zip"
    server.shutdown()
    server.server_close()


def test_the_file_that_was_meant_is_kept(url: str, tmp_path: Path) -> None:
    download(url, hashlib.sha256(CONTENT).hexdigest(), tmp_path / "got" / "file.zip")
    assert (tmp_path / "got" / "file.zip").read_bytes() == CONTENT


def test_the_right_file_in_place_is_left_alone_without_a_network(tmp_path: Path) -> None:
    path = tmp_path / "file.zip"
    path.write_bytes(CONTENT)
    before = path.stat().st_mtime_ns
    download("http://127.0.0.1:9/file.zip", hashlib.sha256(CONTENT).hexdigest(), path)
    assert path.stat().st_mtime_ns == before


def test_another_file_in_place_stays_until_the_right_one_has_arrived(
    url: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.zip"
    path.write_bytes(b"older")
    with pytest.raises(UserError, match="cannot be downloaded"):
        download(url.replace("file.zip", "none.zip"), hashlib.sha256(CONTENT).hexdigest(), path)
    assert path.read_bytes() == b"older"
    download(url, hashlib.sha256(CONTENT).hexdigest(), path)
    assert path.read_bytes() == CONTENT


def test_another_file_is_refused_and_leaves_nothing(url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="another file than expected"):
        download(url, "0" * 64, tmp_path / "got" / "file.zip")
    assert list((tmp_path / "got").iterdir()) == []


def test_the_listed_digest_is_that_of_the_official_archive(
    repository: Path, reference: Path
) -> None:
    stated = read_source(repository / "resources" / "sources.yaml", "ewok_config").sha256
    assert hashlib.sha256((reference / "ewok-config.zip").read_bytes()).hexdigest() == stated
