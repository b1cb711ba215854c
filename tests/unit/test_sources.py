"""A download is the file that was meant, or nothing."""

import bz2
import errno
import gzip
import hashlib
import io
import ssl
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from worldprobe.errors import MachineError, UserError
from worldprobe.sources import by_reason, download, read_source, shipped_files, source_files


def zipped(text: bytes) -> bytes:
    """An archive of one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("text", text)
    return packed.getvalue()


CONTENT = zipped(b"some bytes of ours" * 1000)


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder; below /cut/ the first half of each, below /silent/ without its length,
    below /moved/ a redirection, below a number that status.
    """

    def do_GET(self) -> None:
        kind, _, name = self.path[1:].rpartition("/")
        if kind.isdigit():
            self.send_error(int(kind))
            return
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", f"/{name}")
            self.end_headers()
            return
        if kind not in ("cut", "silent"):
            super().do_GET()
            return
        content = Path(self.directory, name).read_bytes()
        self.send_response(200)
        if kind == "cut":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])

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


def test_of_a_file_whose_digest_nobody_knows_the_first_one_holds(url: str, tmp_path: Path) -> None:
    path = tmp_path / "got" / "file.zip"
    download(url, None, path)
    record = path.with_name("file.zip.sha256")
    assert record.read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  file.zip\n"
    (tmp_path / "served" / "file.zip").write_bytes(zipped(b"a newer one"))
    download(url, None, path)
    assert path.read_bytes() == CONTENT, "what is there is not fetched again"
    path.unlink()
    with pytest.raises(UserError, match="another file than expected"):
        download(url, None, path)
    assert not path.exists()


def test_a_file_that_the_user_put_in_place_is_its_own_first_use(tmp_path: Path) -> None:
    path = tmp_path / "file.zip"
    path.write_bytes(CONTENT)
    download("http://127.0.0.1:9/file.zip", None, path)
    assert (
        (tmp_path / "file.zip.sha256").read_text().startswith(hashlib.sha256(CONTENT).hexdigest())
    )


@pytest.mark.parametrize("kind", ["cut", "silent"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("file.zip", CONTENT),
        ("file.gz", gzip.compress(CONTENT)),
        ("file.bz2", bz2.compress(CONTENT)),
    ],
)
def test_a_part_of_a_file_is_not_its_first_use(
    url: str, tmp_path: Path, kind: str, name: str, content: bytes
) -> None:
    (tmp_path / "served" / name).write_bytes(content)
    path, place = tmp_path / "got" / name, url.removesuffix("file.zip")
    expected = "bytes too early" if kind == "cut" else "is not a whole"
    with pytest.raises(UserError, match=expected):
        download(f"{place}{kind}/{name}", None, path)
    assert list(path.parent.iterdir()) == []
    download(f"{place}{name}", None, path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["file.zip", "file.gz", "file.bz2"])
def test_a_page_in_place_of_a_file_is_not_its_first_use(
    url: str, tmp_path: Path, name: str
) -> None:
    (tmp_path / "served" / name).write_bytes(b"<html>Please log in.</html>")
    path = tmp_path / "got" / name
    with pytest.raises(UserError, match=f"is not a whole {path.suffix} file"):
        download(url.replace("file.zip", name), None, path)
    assert list(path.parent.iterdir()) == []
    path.write_bytes(b"<html>Please log in.</html>")
    with pytest.raises(UserError, match=f"is not a whole {path.suffix} file"):
        download(url.replace("file.zip", name), None, path)
    assert not path.with_name(f"{name}.sha256").exists(), "a page that somebody saved"


def test_a_web_page_is_never_taken_for_a_file(url: str, tmp_path: Path) -> None:
    (tmp_path / "served" / "login.html").write_text("<html>Please log in.</html>")
    with pytest.raises(UserError, match=r"cannot be downloaded \(.*a web page in its place"):
        download(url.replace("file.zip", "login.html"), None, tmp_path / "got" / "vectors.txt")
    assert list((tmp_path / "got").iterdir()) == []


@pytest.mark.parametrize("status", [404, 429, 500])
def test_a_refusal_is_one_error_and_leaves_nothing(url: str, tmp_path: Path, status: int) -> None:
    with pytest.raises(UserError, match=f"status {status}"):
        download(url.replace("file.zip", f"{status}/file.zip"), None, tmp_path / "got" / "file.zip")
    assert list((tmp_path / "got").iterdir()) == []


def test_a_redirection_is_followed(url: str, tmp_path: Path) -> None:
    download(url.replace("file.zip", "moved/file.zip"), None, tmp_path / "got" / "file.zip")
    assert (tmp_path / "got" / "file.zip").read_bytes() == CONTENT


@pytest.mark.parametrize("error", [ssl.SSLEOFError(8, "cut"), OSError(errno.EHOSTUNREACH, "gone")])
def test_a_connection_that_breaks_is_one_error_and_leaves_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def break_off(*_: object) -> None:
        raise error

    monkeypatch.setattr("http.client.HTTPResponse.read", break_off)
    with pytest.raises(UserError, match="cannot be downloaded"):
        download(url, None, tmp_path / "got" / "file.zip")
    assert list((tmp_path / "got").iterdir()) == []


def test_a_disk_without_space_is_one_error_and_leaves_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", fill)
    with pytest.raises(MachineError, match="No space left"):
        download(url, None, tmp_path / "got" / "file.zip")
    assert list((tmp_path / "got").iterdir()) == []


def test_where_only_an_md5_digest_is_published_it_counts(url: str, tmp_path: Path) -> None:
    path = tmp_path / "got" / "file.zip"
    right = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    with pytest.raises(UserError, match="another file than expected"):
        download(url, None, path, md5="0" * 32)
    assert not path.exists()
    download(url, None, path, md5=right)
    assert path.read_bytes() == CONTENT
    path.write_bytes(b"damaged")
    download(url, None, path, md5=right)
    assert path.read_bytes() == CONTENT


def test_an_entry_with_parts_is_several_files(tmp_path: Path) -> None:
    listing = tmp_path / "sources.yaml"
    listing.write_text(
        "letters:\n  url: https://example.org/{part}.gz\n  parts: [a, b]\n  licence: none\n"
        f"  path: resources/downloads/letters/{{part}}.gz\n  size: 20\n  sha256: {{a: {'a' * 64}}}\n"
    )
    first, second = source_files(listing).values()
    assert (first.name, first.url) == ("letters/a", "https://example.org/a.gz")
    assert (first.sha256, second.sha256, second.size) == ("a" * 64, None, 10)
    assert read_source(listing, "letters/b").path == "resources/downloads/letters/b.gz"
    with pytest.raises(UserError, match="letters: no such source"):
        read_source(listing, "letters")
    listing.write_text(listing.read_text().replace("  parts: [a, b]\n", "", 1))
    source_files.cache_clear()
    with pytest.raises(UserError, match="go together"):
        source_files(listing)


def test_what_the_papers_chain_names_is_listed() -> None:
    listed = {file.source for file in shipped_files().values()}
    assert listed == {
        "ewok_config",
        "ewok_results",
        "word2vec_google_news",
        "google_1grams",
        "worldsense",
    }
    assert len(shipped_files()) == 34


def test_files_are_named_as_the_listing_does_and_all_of_an_entry_by_its_name() -> None:
    letters = [path for path, file in shipped_files().items() if file.source == "google_1grams"]
    reasons = dict.fromkeys(["gpt2_xl", *letters], "no network")
    assert by_reason(reasons) == {"no network": ["gpt2_xl", "google_1grams"]}
    reasons[letters[0]] = "status 404"
    assert by_reason(reasons)["status 404"] == ["google_1grams/a"]
    assert len(by_reason(reasons)["no network"]) == 26


def test_the_listed_digest_of_worldsense_is_that_of_the_released_test_set(
    repository: Path, reference: Path
) -> None:
    stated = read_source(repository / "resources" / "sources.yaml", "worldsense/test_set").sha256
    trials = reference / "worldsense" / "test_set" / "trials.jsonl.bz2"
    assert hashlib.sha256(trials.read_bytes()).hexdigest() == stated
