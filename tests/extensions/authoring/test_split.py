"""The two parts of a split share nothing, and each has its half of every domain."""

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.materials.compile import compile_all
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.situations import spelt
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe_authoring.parts import (
    PAIR,
    PARTS,
    SPLIT,
    split_of_templates,
)
from worldprobe_authoring.split import read_scales, split_by_situation, split_text


@pytest.fixture(scope="module")
def second():
    """Our own materials and their templates."""
    materials = read_materials(str(EDITIONS[BUILTIN]), RIGHT)
    return materials, compile_all(materials)


@pytest.fixture(scope="module")
def halves(second):
    """The templates of each part of the split that ships."""
    materials, templates = second
    part = split_of_templates(templates, materials.source)
    return [templates[part == name] for name in PARTS]


def shared(halves, columns) -> set:
    """What both parts have in some columns."""
    train, test = (set(map(tuple, half[columns].fillna("").to_numpy())) for half in halves)
    return train & test


def test_the_parts_share_no_situation_no_concept_and_no_sentence(halves):
    assert not shared(halves, ["situation"])
    assert not shared(halves, PAIR)
    concepts = [
        {
            (domain, name)
            for domain, a, b in half[PAIR].fillna("").to_numpy()
            for name in (a, b)
            if name
        }
        for half in halves
    ]
    assert not concepts[0] & concepts[1]
    contexts = [{*half["context1"], *half["context2"]} for half in halves]
    assert not contexts[0] & contexts[1]


def test_no_context_of_one_part_is_near_one_of_the_other(halves):
    """Not by the code that makes the situations: all pairs of contexts side by side."""
    bags = []
    for half in halves:
        texts = half["context1"] + " . " + half["context2"]
        bags.append(
            {
                frozenset(word.removesuffix("s") for word in spelt(text)) - {"a", "an", "the"}
                for text in texts
            }
        )
    nearest = max(len(one & other) / len(one | other) for one in bags[0] for other in bags[1])
    assert 0.3 < nearest < 0.6


def test_the_split_that_ships_is_the_one_that_the_command_writes(second):
    """After a change of the materials: worldprobe materials split builtin --out
    PLACE/utils/split.csv.
    """
    materials, templates = second
    assert materials.source.read(SPLIT).decode() == split_text(
        split_by_situation(templates, read_scales(materials.source)), materials.canary
    )


def test_pairs_that_share_a_concept_or_a_situation_stay_together():
    pairs = [
        ("d", "a", "b", "s1"),
        ("d", "b", "c", "s2"),
        ("e", "x", None, "s2"),
        ("e", "y", "z", "s3"),
    ]
    templates = pd.DataFrame(pairs, columns=[*PAIR, "situation"])
    for seed in range(4):
        part = split_by_situation(templates, {}, seed).set_index("concept_a")["part"]
        assert part["a"] == part["b"] == part["x"] != part["y"]


def test_concepts_of_one_scale_are_on_one_side(second):
    materials, templates = second
    scales = read_scales(materials.source)
    pairs = (
        templates[PAIR]
        .assign(part=split_of_templates(templates, materials.source))
        .drop_duplicates()
    )
    part = pd.concat([pairs.set_index(name)["part"] for name in ("concept_a", "concept_b")])
    assert len(scales) > 40
    for scale in set(scales.values()):
        sides = [part.loc[[name]].unique().tolist() for name in scales if scales[name] == scale]
        assert len(sides) > 1
        assert {tuple(side) for side in sides} in ({("train",)}, {("test",)}), scale
