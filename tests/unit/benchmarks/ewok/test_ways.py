"""Every way of asking is named once."""

import pytest
import yaml

from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, PROMPTED, WAYS, is_prompted, is_rated, way_of
from worldprobe.errors import UserError


def test_the_schema_knows_every_way_and_no_other(repository):
    schema = yaml.safe_load((repository / "workflow" / "schemas" / "ewok.schema.yaml").read_text())
    assert schema["properties"]["eval_types"]["items"]["enum"] == list(EVAL_TYPES)


def test_a_way_is_found_by_its_name_and_knows_what_it_is():
    assert [way_of(way.name) for way in WAYS] == list(WAYS)
    assert (way_of("likert_free_two").paradigm, way_of("likert_free_two").setup) == ("likert", "free_two")
    assert [is_prompted(name) for name in ("logprobs", "choice_free_two", "word2vec")] == [False, True, False]
    assert [is_rated(name) for name in ("likert_free_two", "choice_free_two", "human_likert")] == [True, False, False]
    with pytest.raises(UserError, match="is unknown"):
        way_of("likert")
    with pytest.raises(UserError, match='did you mean "likert_constrained_two"'):
        way_of("likert_constrained_tow")
    with pytest.raises(UserError, match="logprobs: is unknown"):
        way_of("logprobs", PROMPTED)
