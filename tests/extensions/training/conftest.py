"""What tests of WorldSense share."""

import bz2
import json
from itertools import groupby, islice
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def some_released(worldsense_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fortieth of the released tuples, as a file; all of them are read in tests/golden."""
    path = worldsense_release / "test_set" / "trials.jsonl.bz2"
    some = tmp_path_factory.mktemp("released") / "some.jsonl"
    with bz2.open(path, "rt", encoding="utf-8") as lines:
        tuples = groupby(lines, lambda line: json.loads(line)["tuple_ID"])
        some.write_text(
            "".join(line for _, trials in islice(tuples, 0, None, 41) for line in trials),
            encoding="utf-8",
        )
    return some
