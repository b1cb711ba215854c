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
