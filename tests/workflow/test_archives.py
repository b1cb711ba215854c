"""A finished study is drawn again from its archive, in a folder that has nothing else of it."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import check_success
from finished_study import MODELS

#: The jobs that draw the smallest study.
DRAWN_AGAIN = {
    "unpack_archive": 1,
    "print_table": 3,
    "build_report": 1,
    "draft_report": 1,
    "all": 1,
}
Drawn = Callable[..., subprocess.CompletedProcess[str]]


def jobs(run: subprocess.CompletedProcess[str]) -> Counter[str]:
    """The jobs of a plan, by rule."""
    told = run.stdout + run.stderr
    stats = told.partition("Job stats:")[2].partition("total")[0]
    return Counter({name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", stats, re.MULTILINE)})


def shown(folder: Path) -> dict[str, bytes]:
    """Every table, figure and report of a study's folder."""
    files = [*folder.glob("*/tables/*"), *folder.glob("*/figures/*"), folder / "report.html"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def draw(repository: Path, environment: dict[str, str], tmp_path: Path) -> Drawn:
    """Draw from an archive in a folder, where no network can be reached and no model is."""
    nowhere = "http://127.0.0.1:9"
    offline = {
        "HF_HOME": str(tmp_path / "no_models"),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere),
    }

    def run(
        folder: Path, *words: str, snakefile: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        base = [sys.executable, "-m", "snakemake", "--directory", str(folder), "--cores", "2"]
        command = [*base, "--snakefile", str(snakefile or repository / "Snakefile"), *words]
        return subprocess.run(command, env=environment | offline, capture_output=True, text=True)

    return run


@pytest.mark.long
def test_a_study_is_drawn_byte_for_byte_without_its_models(
    finished_pairs: Path, draw: Drawn, tmp_path: Path
) -> None:
    archive = f"archive={finished_pairs / 'mine.zip'}"
    done = draw(tmp_path / "empty", "--config", archive)
    check_success(done)
    assert jobs(done) == DRAWN_AGAIN
    own = finished_pairs / "results" / "mine"
    assert shown(tmp_path / "empty" / "results" / "mine") == shown(own)
    assert "Study mine, from mine.zip" in done.stderr
    assert "13 of 13 files of tables, figures and report are byte for byte" in done.stderr


@pytest.mark.long
def test_an_archive_without_comparisons_is_drawn_without_the_sentences_about_them(
    finished_pairs: Path, draw: Drawn, tmp_path: Path
) -> None:
    """Earlier releases packed none where no table shows them."""
    older = tmp_path / "mine.zip"
    with (
        zipfile.ZipFile(finished_pairs / "mine.zip") as whole,
        zipfile.ZipFile(older, "w") as lacking,
    ):
        for name in whole.namelist():
            if not name.endswith("comparisons.parquet"):
                lacking.writestr(name, whole.read(name))
    check_success(draw(tmp_path / "empty", "--config", f"archive={older}"))
    assert (tmp_path / "empty" / "results" / "mine" / "report.html").is_file()


@pytest.mark.parametrize(
    ("target", "planned"),
    [
        ("tables", {"unpack_archive", "print_table", "tables"}),
        ("report", {"unpack_archive", "print_table", "build_report", "report"}),
        ("results/mine/small/tables/accuracy.csv", {"unpack_archive", "print_table"}),
    ],
)
def test_a_part_is_drawn_alone(
    finished_pairs: Path,
    plan: Callable[..., subprocess.CompletedProcess[str]],
    snakemake_command: Callable[..., list[str]],
    tmp_path: Path,
    target: str,
    planned: set[str],
) -> None:
    options = ("--dry-run", target, "--config", f"archive={finished_pairs / 'mine.zip'}")
    assert set(jobs(plan(snakemake_command(tmp_path, *options)))) == planned


@pytest.mark.long
def test_a_copied_folder_is_drawn_again_and_a_name_changes_what_shows_it(
    finished_pairs: Path, draw: Drawn, tmp_path: Path
) -> None:
    shutil.copytree(finished_pairs / "results", tmp_path / "copy" / "results")
    own = MODELS | {"two": MODELS["two"] | {"display_name": "Second"}}
    (tmp_path / "copy" / "own.yaml").write_text(json.dumps(own))
    done = draw(tmp_path / "copy", "--config", "archive=results/mine", "registry=own.yaml")
    check_success(done)
    assert jobs(done) == DRAWN_AGAIN
    assert "Second" in (tmp_path / "copy/results/mine/small/tables/accuracy.csv").read_text()
    assert "0 of 13 files" in done.stderr


def test_what_is_no_archive_is_one_error_and_plans_nothing(
    plan: Callable[..., subprocess.CompletedProcess[str]],
    snakemake_command: Callable[..., list[str]],
    tmp_path: Path,
) -> None:
    (tmp_path / "x.zip").write_text("no archive")
    done = plan(snakemake_command(tmp_path, "--config", f"archive={tmp_path / 'x.zip'}"))
    assert done.returncode == 1
    assert "problem: is not a readable ZIP archive." in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_clone_draws_a_whole_study_again_and_a_colour_its_figures(
    finished: Path, repository: Path, environment: dict[str, str], draw: Drawn, tmp_path: Path
) -> None:
    pack = [sys.executable, "-m", "worldprobe", "archive", "pack", "results/reduced", "--out"]
    archive, clone = tmp_path / "reduced.zip", tmp_path / "clone"
    source = environment | {"PYTHONPATH": str(repository / "workflow" / "src")}
    subprocess.run([*pack, str(archive)], cwd=finished, env=source, check=True)
    if not (repository / ".git").exists():
        pytest.skip("this is no clone of the repository")
    subprocess.run(["git", "clone", "--quiet", str(repository), str(clone)], check=True)
    words = ("--config", f"archive={archive}")
    done = draw(clone, *words, snakefile=clone / "Snakefile")
    check_success(done)
    assert set(jobs(done)) == {
        "unpack_archive",
        "draw_figure",
        "print_table",
        "build_report",
        "draft_report",
        "all",
    }
    was = shown(finished / "results" / "reduced")
    assert len(was) > 100
    now = shown(clone / "results" / "reduced")
    assert [name for name in was if now.get(name) != was[name]] == []
    assert f"{len(was)} of {len(was)} files of tables" in done.stderr
    again = draw(clone, "--dry-run", *words, snakefile=clone / "Snakefile")
    assert "Nothing to be done" in again.stdout + again.stderr
    models = (repository / ".test" / "config" / "models.yaml").read_text()
    coloured = models.replace("reduced_gpt2:\n", 'reduced_gpt2:\n  colour: "#aa3377"\n')
    (clone / "own.yaml").write_text(coloured)
    planned = draw(clone, "--dry-run", *words, "registry=own.yaml", snakefile=clone / "Snakefile")
    assert set(jobs(planned)) == {"draw_figure", "build_report", "all"}
