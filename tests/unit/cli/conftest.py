"""Items that tests of commands share."""

from __future__ import annotations

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.contracts import write_table
from worldprobe.provenance import Provenance


@pytest.fixture(scope="module")
def item_table(tmp_path_factory):
    rows = [
        {
            "item_id": f"test-things_{i}_1_v{version}",
            "domain": "test-things",
            "version": version,
            "meta_template": i,
            "template": 1,
            "context1": f"{name} lifts the {thing}. It is heavy.",
            "context2": f"{name} lifts the {thing}. It is light.",
            "target1": f"{name} is tired now.",
            "target2": f"{name} is not tired at all.",
            "concept_a": "heavy",
            "concept_b": "light",
            "context_contrast": "antonym",
            "context_type": "direct",
            "target_contrast": "concept swap",
            "fillers": "{}",
            "tags": "",
        }
        for version in (0, 1)
        for i, (name, thing) in enumerate(
            [("Ana", "crate"), ("Ben", "lamp"), ("Cora", "rug")], start=1
        )
    ]
    frame = pd.DataFrame(rows)
    frame["duplicate_of"] = pd.Series([None] * len(frame), dtype="str")
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    write_table(frame, Items, path, Provenance(canary="test canary"))
    return path
