"""The road: every study of the repository, rehearsed to its last figure."""

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml

from command_line import check_success, run
from invented_release import toy_release
from rehearsals import OURS, PAPER, check_complete, check_marks, check_paper

Snakemake = Callable[..., subprocess.CompletedProcess[str]]
CONFIG = Path(__file__).resolve().parents[2] / "config"
EXPERIMENTS = sorted(path.stem for path in (CONFIG / "experiments").glob("*.yaml"))
ARCHIVE = Path("resources/downloads/ewok-config.zip")
RELEASE = Path("resources/downloads/worldsense/data/worldsense")


@pytest.fixture
def rehearse(
    snakemake: Snakemake, tmp_path: Path, reduced: tuple[Path, ...]
) -> Callable[..., Path]:
    """A function: rehearse a configuration with what differs from it, and check that all that it is
    for is there; returns the folder of its results.
    """

    def call(file: Path, folder: Path = tmp_path, **changes: object) -> Path:
        more = folder / "more.yaml"
        more.write_text(yaml.safe_dump({"rehearsal": True, **changes}))
        files = (file, more, *reduced[1:])
        done = snakemake(folder, "--show-failed-logs", "--keep-going", configuration=files)
        check_success(done)
        assert "Nothing to be done" in snakemake(folder, "--dry-run", configuration=files).stdout
        return check_complete(folder, files)

    return call


@pytest.mark.slow
def test_the_papers_configuration_is_rehearsed_to_its_last_figure(
    rehearse: Callable[..., Path],
) -> None:
    """As ``test_slurm.py`` does by the profile."""
    check_paper(rehearse(CONFIG / "paper.yaml", **PAPER))


@pytest.fixture
def released(tmp_path: Path, reference: Path, worldsense_release: Path) -> Path:
    """A folder with the official archive, WorldSense's released test set, and sets of ours in the
    form of the others, which are not here.
    """
    (tmp_path / ARCHIVE).parent.mkdir(parents=True)
    shutil.copy(reference / "ewok-config.zip", tmp_path / ARCHIVE)
    shutil.copytree(worldsense_release / "test_set", tmp_path / RELEASE / "test_set")
    for name in ("memorisation", "ood-size", "ood-query", "ood-problem"):
        ours, place = tmp_path / f"{name}.parquet", tmp_path / RELEASE / "other_tests" / name
        place.mkdir(parents=True)
        assert run(f"worldsense generate {name} --per-cell 6 --out {ours}") == 0
        assert run(f"worldsense export {ours} --out {place / 'trials.jsonl.bz2'}") == 0
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "worldsense"])
def test_the_papers_configuration_is_rehearsed_on_the_released_materials(
    name: str, rehearse: Callable[..., Path], released: Path
) -> None:
    check_marks(rehearse(CONFIG / f"{name}.yaml", released))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["config", "worldsense_ours"])
def test_other_studies_are_rehearsed(name: str, rehearse: Callable[..., Path]) -> None:
    check_marks(rehearse(CONFIG / f"{name}.yaml"))


@pytest.mark.slow
def test_released_results_are_rehearsed_without_asking_a_model(
    rehearse: Callable[..., Path], tmp_path: Path
) -> None:
    archive = tmp_path / "resources" / "downloads" / "ewok-results.zip"
    archive.parent.mkdir(parents=True)
    table = tmp_path / "items.parquet"
    assert run(f"items build builtin --mode fixed --versions 0-4 --limit 13 --out {table}") == 0
    with zipfile.ZipFile(archive, "w") as packed:
        for name, text in toy_release(items=pd.read_parquet(table)).items():
            packed.writestr(name, text)
    ways = ["logprobs", "likert_constrained_two", "choice_free_zero"]
    models = ["gemma_1.1_2b", "Llama_3_8B"]
    changes = {"models": models, "ewok": OURS | {"eval_types": ways}}
    results = rehearse(CONFIG / "released.yaml", **changes)
    check_marks(results)
    assert not (results / "stand_ins").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_rehearsed(name: str, rehearse: Callable[..., Path]) -> None:
    check_marks(rehearse(CONFIG / "experiments" / f"{name}.yaml"))
