"""Relations of lines are read back from words, as the audit needs for the official set of
parallel lines.
"""

import json

import pandas as pd
import pytest

from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.problems.worlds import (
    normalise,
    read_description,
    read_relation,
)
from worldprobe.benchmarks.worldsense.skins.rendering import read_planar_text


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return make_trials("ood-problem", per_cell=10)


def test_every_text_states_what_the_abstract_fields_say(trials: pd.DataFrame) -> None:
    for row in trials.itertuples():
        description, query = read_planar_text(row.text, json.loads(row.entities))
        assert list(map(normalise, description)) == list(
            map(normalise, read_description(row.description))
        )
        assert normalise(query) == normalise(read_relation(row.query))
