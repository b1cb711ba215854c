"""A third benchmark is new files: nothing that is shared has to change."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: The smallest third benchmark, how many numbers up to N are even; its files lie as they would in the repository.
NEW = Path(__file__).parent / "third_benchmark"
#: What a working copy consists of; the rest is tests, documents and results.
COPIED = ("Snakefile", "workflow", "config", "envs", "resources", "notebooks", "slurm", "pyproject.toml")


def test_a_third_benchmark_runs_to_its_table_and_report(environment: dict[str, str], repository: Path, tmp_path: Path) -> None:
    copy, place = tmp_path / "copy", tmp_path / "place"
    place.mkdir()
    copy.mkdir()
    for source in (repository / name for name in COPIED):
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "downloads", ".snakemake")
            shutil.copytree(source, copy / source.name, ignore=ignored)
        else:
            shutil.copy(source, copy)
    for path in NEW.rglob("*.*"):
        if path.is_file():
            target = copy / path.relative_to(NEW)
            assert not target.exists()
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    study = tmp_path / "study.yaml"
    study.write_text("study: third\newok: null\nworldsense: null\nparity: {numbers: 7}\nreport: {notebooks: []}\n")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(copy / "Snakefile"), "--directory", str(place)]
    command += ["--cores", "1", "--configfile", str(copy / "config" / "config.yaml"), str(study)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    results = place / "results" / "third"
    assert (results / "parity" / "tables" / "parity.csv").read_text().splitlines() == ["parity,n", "even,3", "odd,4"]
    page = (results / "report.html").read_text()
    assert "3 numbers are even." in page
    assert "Even and odd numbers" in page
    lint = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    layers = subprocess.run(lint, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy / "workflow" / "src")}, capture_output=True)
    assert layers.returncode == 0, layers.stdout.decode()[-2000:]
