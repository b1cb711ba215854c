"""What the shared presentation must not know: any one benchmark's words."""

import re
from pathlib import Path

import pytest

from worldprobe import report
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    GENERATIONS,
    PARADIGMS,
    TARGET_CONTRASTS,
)

WORDS = [
    *PARADIGMS,
    *GENERATIONS,
    *CONTEXT_CONTRASTS[:3],
    *CONTEXT_TYPES,
    *TARGET_CONTRASTS,
    "human_likert",
    "EWoK",
    "concept",
]


@pytest.mark.parametrize(
    "path", sorted(Path(report.__file__).parent.glob("*.py")), ids=lambda path: path.stem
)
def test_no_code_of_the_shared_parts_names_a_benchmarks_terms(path):
    strings = re.findall(r'"([^"\n]*)"', path.read_text())
    assert [text for text in strings if text in WORDS] == []
    assert "from worldprobe.benchmarks" not in path.read_text()
