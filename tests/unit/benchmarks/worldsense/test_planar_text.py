"""Relations of lines are read back from words, as the audit needs for the official set of parallel
lines.
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
from worldprobe.benchmarks.worldsense.trials.audit import audit_trials
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


def test_where_relations_are_in_the_text_only_the_audit_reads_the_text(
    trials: pd.DataFrame,
) -> None:
    bare = trials.assign(description="[(0, 1),(1, 2)]", query="(0, 1)")
    assert audit_trials(bare, "bare").wrong.empty
    swapped = bare.assign(gold=bare["gold"].map({"Emmanuel": "Megi", "Megi": "Emmanuel"}))
    assert len(audit_trials(swapped, "swapped").wrong) == len(trials)


def test_a_text_without_relations_is_refused() -> None:
    with pytest.raises(ValueError, match="does not state"):
        read_planar_text("Ash Lane is near Elm Lane.", ["Ash Lane", "Elm Lane"])
