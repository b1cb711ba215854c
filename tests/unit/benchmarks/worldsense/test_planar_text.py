"""Relations of lines are read back from words, as the audit needs for the official set of
parallel lines.
"""

import json

import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.problems.worlds import (
    normalise,
    read_description,
    read_relation,
)
from worldprobe.benchmarks.worldsense.skins.rendering import read_planar_text
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    plan = plan_set("ood-problem", per_cell=10)
    return pd.concat(stream_set(plan, blocks_of(plan, read_skins()), seed=0), ignore_index=True)


def test_every_text_states_what_the_abstract_fields_say(trials: pd.DataFrame) -> None:
    for row in trials.itertuples():
        description, query = read_planar_text(row.text, json.loads(row.entities))
        assert list(map(normalise, description)) == list(
            map(normalise, read_description(row.description))
        )
        assert normalise(query) == normalise(read_relation(row.query))
