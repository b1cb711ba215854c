"""Items of invented materials that are exported."""

import pytest

from command_line import run


@pytest.fixture
def item_table(licensed):
    """Items whose materials are nobody's in particular."""
    return build(licensed)


@pytest.fixture
def protected_table(protected):
    """Items whose canary is like that of EWoK's own materials."""
    return build(protected)


def build(materials):
    path = materials.with_suffix(".parquet")
    assert run(f"items build {materials} --versions 0-1 --out {path}") == 0
    return path
