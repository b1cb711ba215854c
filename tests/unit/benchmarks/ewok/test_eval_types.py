"""Every way of asking is named once."""

import pytest

from worldprobe.benchmarks.ewok.settings import Ewok
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, WAYS, is_prompted, is_rated, way_of
from worldprobe.errors import UserError
from worldprobe.settings.blocks import schema_at


def test_the_settings_know_every_way_and_no_other():
    assert schema_at(Ewok, ("eval_types", 0))["enum"] == list(EVAL_TYPES)


def test_a_way_is_found_by_its_name_and_knows_what_it_is():
    assert [way_of(way.name) for way in WAYS] == list(WAYS)
    assert (way_of("likert_free_two").paradigm, way_of("likert_free_two").setup) == (
        "likert",
        "free_two",
    )
    assert [is_prompted(name) for name in ("logprobs", "choice_free_two", "word2vec")] == [
        False,
        True,
        False,
    ]
    assert [is_rated(name) for name in ("likert_free_two", "choice_free_two", "human_likert")] == [
        True,
        False,
        False,
    ]
    with pytest.raises(UserError, match="is unknown"):
        way_of("likert")
    with pytest.raises(UserError, match='did you mean "likert_constrained_two"'):
        way_of("likert_constrained_tow")
