"""Files from elsewhere, fetched by one rule from a server of the test's own; and the cluster's
profile, which reproduces both papers as it is typed.
"""

import gzip
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from command_line import check_success
from worldprobe.contracts import read_provenance

Snakemake = Callable[..., subprocess.CompletedProcess[str]]
VECTORS = Path("resources/downloads/vectors.txt")
NGRAMS = Path("resources/downloads/ngrams")
STUDY = """\
study: fetched
benchmarks: [ewok]
models: [control_untrained]
ewok:
  materials: {source: builtin@1}
  items: {versions: 0-0, limit: 13}
  baselines:
    word2vec: {vectors: resources/downloads/vectors.txt}
    frequency: {source: ngrams, files: [google_1grams], compat: true}
  mixed_model: {enabled: false}
"""


def said(run: subprocess.CompletedProcess[str]) -> str:
    return run.stdout + run.stderr


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A working folder whose listing names a server here; it has the vectors, and no 1-grams."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "vectors.txt").write_text("2 2\nball 1 0\nbox 0 1\n")
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "sources.yaml").write_text(
        f"vectors:\n  url: {address}/vectors.txt\n  path: {VECTORS}\n  licence: our own\n"
        f"google_1grams:\n  url: {address}/{{part}}.gz\n  parts: [a, b]\n  licence: our own\n"
        f"  path: {NGRAMS}/{{part}}.gz\n"
    )
    (tmp_path / "study.yaml").write_text(STUDY)
    yield tmp_path
    server.shutdown()
    server.server_close()


@pytest.mark.long
def test_files_are_fetched_and_one_that_cannot_be_had_keeps_no_study_from_its_end(
    snakemake: Snakemake, folder: Path
) -> None:
    study = (folder / "study.yaml",)
    first = snakemake(folder, str(VECTORS), configuration=study)
    check_success(first)
    assert (folder / VECTORS).read_text().startswith("2 2")
    assert (folder / f"{VECTORS}.sha256").is_file()
    assert "before the first job" not in said(first), "parts were asked for, not the study"

    features = "results/fetched/ewok/surface_features.parquet"
    kept = snakemake(folder, features, "--config", "fetch_again=false", configuration=study)
    check_success(kept)
    assert "Without google_1grams:" in said(kept)
    details = read_provenance(folder / features).details
    assert details["source"] == "wordfreq"
    assert set(details["without"]) == {f"{NGRAMS}/a.gz", f"{NGRAMS}/b.gz"}
    alone = snakemake(folder, "--dry-run", features, configuration=study)
    assert "Nothing to be done" in said(alone), "the run before left them missing"

    check_success(snakemake(folder, features, "--forcerun", "measure_surface", configuration=study))
    for part in "ab":
        (folder / "served" / f"{part}.gz").write_bytes(gzip.compress(b"ball\t1990\t7\t1\n"))
    planned = said(snakemake(folder, "--dry-run", configuration=study))
    fetched = {*re.findall(r"Downloading (\S+)", planned)}
    assert {"ngrams/a.gz", "ngrams/b.gz"} <= fetched, "what is missing is tried again"
    notes = [f"results/fetched/fetched/ngrams/{part}.gz.json" for part in "ab"]
    there = snakemake(folder, features, *notes, configuration=study)
    check_success(there)
    assert "Without" not in said(there)
    assert read_provenance(folder / features).details["source"] == "ngrams"


@pytest.mark.long
def test_the_profile_as_typed_plans_both_papers_and_another_study_takes_their_place(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Snakefile", "workflow", "config", "resources", "slurm", "envs", "notebooks"):
        (tmp_path / name).symlink_to(repository / name)
    for variable in ("HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))

    def plan(*words: str) -> str:
        command = [sys.executable, "-m", "snakemake", "--profile", "slurm", "--dry-run", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        check_success(done)
        return said(done)

    papers = plan()
    end = papers[papers.index("Study paper, before the first job:") :]
    assert re.search(r"^score +14$", papers, re.MULTILINE)
    assert re.search(r"^ask +9$", papers, re.MULTILINE), "the rules; the chat models need a key"
    assert "without GPT3.5, GPT4: https://api.openai.com/v1 needs a key" in end
    assert "HF_TOKEN is not set" in end
    assert f"into {tmp_path / 'hub' / 'hub'} (HF_HOME is set" in end
    assert re.search(r"Asking gpt2_xl \(.*\): GPUs 1, \d+ MB, \d+ min", papers)
    assert "This was a dry-run" in end

    (tmp_path / "mine.yaml").write_text("study: mine\nbenchmarks: [ewok]\n")
    mine = plan("--configfile", "mine.yaml")
    assert "results/mine/" in mine
    assert "results/paper/" not in mine
