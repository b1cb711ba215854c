"""The package as others install it: what the wheel contains, and that it works in an empty folder
as in a clone.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from command_line import check_success
from worldprobe.cli import main


def build(repository: Path, kind: str, folder: Path) -> Path:
    """A wheel or source archive of the working tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    check_success(done)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(repository, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def source_archive(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(repository, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment with the wheel; all other packages are those of
    this Python.
    """
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    options = ["install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), *options],
        check=True,
    )
    return place / "bin"


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the fresh environment in a folder, with nothing set that would help it."""
    environment = {
        "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


def tracked(repository: Path, *names: str) -> set[str]:
    """The files below these names that belong to the repository."""
    if not (repository / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a clone: which files belong to the repository is not known")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *names]
    found = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return {name for name in found if name and (repository / name).exists()}


def test_the_wheel_has_every_file_that_belongs_to_it_and_no_other(
    wheel: Path, repository: Path
) -> None:
    sources = tracked(repository, "workflow/src")
    rest = tracked(
        repository,
        "config",
        "envs",
        "notebooks",
        "slurm",
        "resources",
        "workflow",
        "LICENSE",
        "CITATION.cff",
    )
    expected = {name.removeprefix("workflow/src/") for name in sources}
    others = (
        rest
        - sources
        - {name for name in rest if name.startswith("workflow/src/")}
        - {"envs/hatch_build.py"}
    )
    expected |= {f"worldprobe/repository/{name}" for name in others}
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found - {"worldprobe/repository/envs/hatch_build.py"} == expected


def test_downloads_which_may_be_protected_are_never_packed(
    repository: Path, tmp_path: Path
) -> None:
    """Neither archive takes resources/downloads or results along, whatever version control says of
    them.
    """
    copy = tmp_path / "copy"
    names = [
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CITATION.cff",
        "config",
        "envs",
        "notebooks",
        "resources",
        "slurm",
        "workflow",
    ]
    for name in names:
        place = repository / name
        ignored = shutil.ignore_patterns("__pycache__")
        (
            shutil.copytree(place, copy / name, ignore=ignored)
            if place.is_dir()
            else shutil.copy(place, _parent(copy / name))
        )
    for name in ("resources/downloads/ewok-config.zip", "results/paper/ewok/items/main.parquet"):
        _parent(copy / name).write_text("protected")
    for kind in ("wheel", "sdist"):
        archive = build(copy, kind, tmp_path / kind)
        listed = _names(archive)
        assert len(listed) > 300
        assert not [name for name in listed if "downloads" in name or "main.parquet" in name]


def _names(archive: Path) -> list[str]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.namelist()
    with tarfile.open(archive) as source:
        return source.getnames()


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.slow
def test_a_wheel_built_from_the_source_archive_is_the_same_to_the_byte(
    wheel: Path, source_archive: Path, tmp_path: Path
) -> None:
    with tarfile.open(source_archive) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert build(folder, "wheel", tmp_path / "again").read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_installed_command_says_version_and_snakefile_from_an_empty_folder(
    installed: Path, tmp_path: Path
) -> None:
    from worldprobe import __version__

    assert run(installed, tmp_path, "worldprobe", "--version").stdout == f"{__version__}\n"
    snakefile = Path(run(installed, tmp_path, "worldprobe", "workflow").stdout.strip())
    assert snakefile.is_file()
    assert snakefile.is_relative_to(installed.parent)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_installed_package_builds_the_clones_items_and_trials(
    installed: Path, tmp_path: Path
) -> None:
    """The materials and skins inside the package are those of the repository, and so are the
    tables, to the byte.
    """
    commands = {
        "items": ["items", "build", "builtin", "--versions", "0"],
        "first_edition": ["items", "build", "builtin@1", "--versions", "0"],
        "trials": ["worldsense", "generate", "test", "--per-cell", "1", "--sizes", "3"],
    }
    for name, words in commands.items():
        done = run(installed, tmp_path, "worldprobe", *words, "--out", f"{name}.parquet")
        assert done.returncode == 0, done.stderr
        assert main([*words, "--out", str(tmp_path / f"clone_{name}.parquet")]) == 0
        assert (tmp_path / f"{name}.parquet").read_bytes() == (
            tmp_path / f"clone_{name}.parquet"
        ).read_bytes()


@pytest.mark.slow
def test_an_installed_package_evaluates_a_model_as_a_clone_does(  # type: ignore[no-untyped-def]
    installed: Path, repository: Path, tiny_checkpoint, tmp_path: Path
) -> None:
    _compare_with_clone(installed, repository, str(tiny_checkpoint()), tmp_path)


def _compare_with_clone(installed: Path, repository: Path, checkpoint: str, tmp_path: Path) -> None:
    """Evaluate a model in an empty folder, and with the clone's code in another: the same files."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "clone").mkdir()
    done = run(
        installed,
        tmp_path / "empty",
        "worldprobe",
        "evaluate",
        checkpoint,
        "--versions",
        "0",
        "--work",
        "work",
    )
    assert done.returncode == 0, done.stderr
    line = ["evaluate", checkpoint, "--versions", "0", "--work", "work"]
    environment = os.environ | {
        "PYTHONPATH": str(repository / "workflow" / "src"),
        "OMP_NUM_THREADS": "1",
    }
    subprocess.run(
        [sys.executable, "-m", "worldprobe", *line],
        cwd=tmp_path / "clone",
        env=environment,
        check=True,
        capture_output=True,
    )
    for name in (
        "ewok/items.parquet",
        "ewok/target_scores.parquet",
        "ewok/judgements.parquet",
        "ewok/summaries.parquet",
        "result.json",
    ):
        assert (tmp_path / "empty" / "work" / name).read_bytes() == (
            tmp_path / "clone" / "work" / name
        ).read_bytes(), name


@pytest.mark.release
def test_archives_are_the_same_to_the_byte_when_they_are_built_again(
    wheel: Path, source_archive: Path, repository: Path, tmp_path: Path
) -> None:
    for first, kind in ((wheel, "wheel"), (source_archive, "sdist")):
        assert build(repository, kind, tmp_path / kind).read_bytes() == first.read_bytes(), (
            first.name
        )


@pytest.mark.release
def test_an_empty_environment_installs_the_package_and_evaluates_as_a_clone_does(  # type: ignore[no-untyped-def]
    wheel: Path, repository: Path, tiny_checkpoint, tmp_path: Path
) -> None:
    """Nothing is there but what the package itself asks for: first without torch, then with the
    extra that brings it.
    """
    place, lock = tmp_path / "environment", str(repository / "envs" / "requirements.txt")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [str(place / "bin" / "pip"), "install", "--quiet", "--constraint", lock]
    subprocess.run([*install, str(wheel)], check=True)
    commands = place / "bin"
    assert run(commands, tmp_path, "worldprobe", "--help").returncode == 0
    done = run(
        commands,
        tmp_path,
        "worldprobe",
        "items",
        "build",
        "builtin",
        "--versions",
        "0",
        "--out",
        "ewok/items.parquet",
    )
    assert done.returncode == 0, done.stderr
    checkpoint = str(tiny_checkpoint())
    done = run(commands, tmp_path, "worldprobe", "evaluate", checkpoint, "--versions", "0")
    assert done.returncode == 2
    assert "worldprobe[hf]" in done.stderr
    torch = next(line for line in Path(lock).read_text().splitlines() if line.startswith("torch=="))
    subprocess.run([*install, torch], check=True)  # first, as envs/install-python does
    subprocess.run([*install, f"worldprobe[hf] @ {wheel.as_uri()}"], check=True)
    subprocess.run([str(place / "bin" / "pip"), "check"], check=True)
    _compare_with_clone(commands, repository, checkpoint, tmp_path)


@pytest.mark.slow
def test_the_packaged_workflow_runs_in_an_empty_folder_with_the_clones_bytes(
    installed: Path, repository: Path, tmp_path: Path
) -> None:
    """Materials, items, trials and their tables; the jobs run the installed package's code."""
    snakefile = run(installed, tmp_path, "worldprobe", "workflow").stdout.strip()
    configuration = snakefile.replace("workflow/Snakefile", "config/config.yaml")
    targets = ["results/default/ewok/items/main.parquet", "results/default/ewok/tables/dataset.csv"]
    options = ["--cores", "2", "--printshellcmds", *targets, "--configfile"]
    done = run(
        installed, tmp_path, "python", "-m", "snakemake", "-s", snakefile, *options, configuration
    )
    check_success(done)
    assert "worldprobe items gather" in done.stdout + done.stderr
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        str(repository / "Snakefile"),
        "-d",
        str(tmp_path / "clone"),
        *options,
    ]
    cloned = subprocess.run(
        [*command, str(repository / "config" / "config.yaml")], capture_output=True, text=True
    )
    assert cloned.returncode == 0, cloned.stderr
    for name in targets:
        assert (tmp_path / name).read_bytes() == (tmp_path / "clone" / name).read_bytes(), name
