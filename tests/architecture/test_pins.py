"""Pins: the lock, the conda files, the container and pyproject.toml say the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^\s#;]+)", re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    return {normal(name): version for name, version in PIN.findall(path.read_text())}


@pytest.fixture
def lock(repository: Path) -> dict[str, str]:
    envs = repository / "envs"
    return (
        pins(envs / "requirements.txt")
        | pins(envs / "requirements-dev.txt")
        | pins(envs / "requirements-r.txt")
    )


@pytest.mark.parametrize(
    ("asked", "locked"),
    [("requirements.in", "requirements.txt"), ("requirements-dev.in", "requirements-dev.txt")],
)
def test_what_is_asked_for_is_what_is_locked(repository: Path, asked: str, locked: str) -> None:
    wanted, got = pins(repository / "envs" / asked), pins(repository / "envs" / locked)
    assert wanted
    assert {name: got.get(name) for name in wanted} == wanted


def test_the_locks_do_not_contradict_each_other(repository: Path) -> None:
    seen: dict[str, str] = {}
    for path in sorted((repository / "envs").glob("requirements*.txt")):
        for name, version in pins(path).items():
            assert seen.setdefault(name, version) == version, f"{path.name}: {name}"


def test_conda_files_pin_what_the_lock_pins(repository: Path, lock: dict[str, str]) -> None:
    files = sorted((repository / "envs").glob("*.yaml"))
    assert {path.stem for path in files} >= {"analysis", "scoring", "stats", "vllm"}
    for path in files:
        wanted = yaml.safe_load(path.read_text())["dependencies"]
        by_pip = [line for entry in wanted if isinstance(entry, dict) for line in entry["pip"]]
        assert by_pip, path.name
        for line in by_pip:
            name, version = PIN.fullmatch(line).groups()
            if name != "vllm":  # an engine of its own, not part of the lock
                assert lock.get(normal(name)) == version, f"{path.name}: {line}"


def test_the_packages_ranges_admit_what_is_locked_and_pin_nothing(
    repository: Path, lock: dict[str, str]
) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(extras) == {"hf", "vllm", "openai", "workflow", "r", "survey", "all"}
    wanted = [
        Requirement(line)
        for line in (*project["dependencies"], *(line for name in extras for line in extras[name]))
    ]
    for requirement in wanted:
        assert not any(part.operator in ("==", "===") for part in requirement.specifier), (
            requirement
        )
        if normal(requirement.name) not in ("vllm", "worldprobe"):
            assert requirement.specifier.contains(lock[normal(requirement.name)]), requirement


def test_every_pinned_package_comes_with_the_package_or_an_extra(repository: Path) -> None:
    """So that what the code imports is there after `pip install "worldprobe[all]"`, too."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = {
        normal(Requirement(line).name)
        for line in (*project["dependencies"], *(line for name in extras for line in extras[name]))
    }
    assert set(pins(repository / "envs" / "requirements.in")) <= listed
