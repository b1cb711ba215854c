"""What is read of a study with people is what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldprobe.contracts import write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe_survey.contracts import ListKeys
from worldprobe_survey.lists import build_lists, read_key
from worldprobe_survey.study_settings import Lists


def test_a_key_whose_answers_were_exchanged_is_refused(questions_of, tmp_path: Path) -> None:
    key = build_lists(questions_of(6), Lists(unit="template", longest=20, catch=2)).key
    exchanged = key.assign(
        expected=key["expected"].where(key["kind"] == "catch", 6 - key["expected"])
    )
    for name, rows in (("key", key), ("other", exchanged)):
        write_table(
            rows, ListKeys, tmp_path / name, Provenance(details={"lists_digest": "ab" * 32})
        )
    assert len(read_key(tmp_path / "key")[0]) == len(key)
    with pytest.raises(UserError, match="are not those of the contexts and targets"):
        read_key(tmp_path / "other")
