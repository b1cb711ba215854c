"""Mistakes in WorldSense's block beyond types and bounds are told before the first job."""

from pathlib import Path
from typing import Any

import pytest

from worldprobe.benchmarks.worldsense.settings import WorldSense
from worldprobe.settings.blocks import all_findings


def findings(**keys: Any) -> list[tuple[tuple[Any, ...], str, str]]:
    return list(all_findings(WorldSense(**keys)))


def test_the_defaults_and_choices_that_can_be_made_are_right() -> None:
    assert findings() == []
    assert findings(sets=["train-1m"], per_cell=357) == []
    assert (
        findings(sets=["test", "ood-size"], skins=["tall/short"], problems=["Infer.normal"]) == []
    )


@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        ({"skins": ["tall/shrot"]}, "skins", 'did you mean "tall/short"'),
        ({"skins": ["tall/short"], "sets": ["test", "train-10k"]}, "skins", "set train-10k: "),
        ({"skins": ["tall/short", "old/young", "trips"]}, "skins", "domain"),
        (
            {"per_cell": 10**6, "sets": ["ood-query"]},
            "per_cell",
            "set ood-query: Infer.extrema, size 3, with the skin",
        ),
        (
            {"problems": ["Infer.parallel"]},
            "problems",
            "set test: 'Infer.parallel' is not a problem",
        ),
    ],
)
def test_a_set_that_cannot_be_made_is_named_with_its_key(
    keys: dict[str, Any], key: str, words: str
) -> None:
    ((where, problem, fix),) = findings(**keys)
    assert where == (key,)
    assert words in problem
    assert fix


def test_a_folder_without_skins_and_one_with_a_faulty_skin_are_named(tmp_path: Path) -> None:
    ((where, problem, _),) = findings(skin_folder=str(tmp_path))
    assert (where, "no skin" in problem) == (("skin_folder",), True)
    (tmp_path / "mine.yaml").write_text("name: mine\n")
    ((where, problem, _),) = findings(skin_folder=str(tmp_path))
    assert (where, "mine.yaml" in problem) == (("skin_folder",), True)
