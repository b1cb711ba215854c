"""Fixtures that all tests may use."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference data next to the repository; the tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "reference"
    if not (folder / "ewok-expected.json").is_file():
        pytest.skip(f"the reference data are not at {folder.name}/ next to the repository; they may not be passed on in the open")
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parents[1]


#: What takes minutes begins first, so that the last of several processes does not begin it when the others have finished.
LONG = ("test_default_study.py", "test_slurm.py", "whole_run", "test_vllm_engine.py")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in a hook of the same name
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes (pytest -n), a file's tests go to one of them, and so do all tests that share the whole run."""
    for item in items:
        group = (
            "whole_run" if "finished" in getattr(item, "fixturenames", ()) else str(item.path.relative_to(item.config.rootpath))
        )
        item.add_marker(pytest.mark.xdist_group(group))

    def begins(item: pytest.Item) -> int:
        group = item.get_closest_marker("xdist_group").args[0]
        return next((place for place, name in enumerate(LONG) if name in group), len(LONG))

    items.sort(key=begins)
