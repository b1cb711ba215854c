"""What measurements of whole commands share."""

from pathlib import Path

import pytest

#: Programs, which are no tests: pytest would import them to look for examples.
collect_ignore = [
    path.name for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")
]


@pytest.fixture
def commands_are_measured(
    monkeypatch: pytest.MonkeyPatch, repository: Path, request: pytest.FixtureRequest
) -> None:
    """Commands find the package; without --benchmark-enable the test is skipped."""
    if not request.config.getoption("--benchmark-enable"):
        pytest.skip("speed is measured with --benchmark-enable")
    monkeypatch.setenv("PYTHONPATH", str(repository / "workflow" / "src"))
