"""A download is the file that was meant, or nothing."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.sources import by_reason, download, read_source, shipped_files, source_files

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


def test_of_a_file_whose_digest_nobody_knows_the_first_one_holds(url: str, tmp_path: Path) -> None:
    path = tmp_path / "got" / "file.zip"
    download(url, None, path)
    record = path.with_name("file.zip.sha256")
    assert record.read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  file.zip\n"
    (tmp_path / "served" / "file.zip").write_bytes(b"a newer one")
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
