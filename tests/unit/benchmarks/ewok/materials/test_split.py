"""The two parts of a split share nothing, and each has its half of every domain."""

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.materials.items import compile_all
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.split import (
    PAIR,
    PARTS,
    SPLIT,
    parts_of,
    split_by_situation,
    split_text,
)
from worldprobe.benchmarks.ewok.vocabulary import spelt
from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe.paths import EDITIONS


@pytest.fixture(scope="module")
def second():
    """The second edition and its templates."""
    materials = read_materials(str(EDITIONS["builtin@2"]), RIGHT)
    return materials, compile_all(materials)


@pytest.fixture(scope="module")
def halves(second):
    """The templates of each part of the split that ships."""
    materials, templates = second
    part = parts_of(templates, materials.source)
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


@pytest.mark.parametrize("is_paired", [True, False])
def test_no_context_of_one_part_is_near_one_of_the_other(halves, is_paired):
    """Not by the code that makes the situations: all pairs of contexts side by side, and each
    context alone.
    """
    bags = []
    for half in halves:
        pairs = half[["context1", "context2"]].to_numpy()
        texts = [f"{one} . {other}" for one, other in pairs] if is_paired else pairs.ravel()
        bags.append(
            {
                frozenset(word.removesuffix("s") for word in spelt(text)) - {"a", "an", "the"}
                for text in texts
            }
        )
    nearest = max(len(one & other) / len(one | other) for one in bags[0] for other in bags[1])
    assert 0.3 < nearest < 0.6


def test_each_part_has_its_half_of_every_domain(halves):
    pairs = pd.DataFrame(
        {
            name: half.drop_duplicates(PAIR)["domain"].value_counts()
            for name, half in zip(PARTS, halves, strict=True)
        }
    )
    assert (pairs["train"] - pairs["test"]).abs().max() <= 2
    templates = pd.DataFrame(
        {name: half["domain"].value_counts() for name, half in zip(PARTS, halves, strict=True)}
    )
    assert (templates["train"] / templates.sum(axis=1)).between(0.35, 0.65).all()


def test_the_split_that_ships_is_the_one_that_the_command_writes(second):
    """After a change of the materials: worldprobe materials split builtin@2 --out
    PLACE/utils/split.csv.
    """
    materials, templates = second
    assert materials.source.read(SPLIT).decode() == split_text(
        split_by_situation(templates), materials.canary
    )


def test_another_seed_is_another_split(second):
    _, templates = second
    one, other = (split_by_situation(templates, seed) for seed in (0, 1))
    assert 0.3 < (one["part"] == other["part"]).mean() < 0.7


def test_materials_without_a_split_say_how_to_write_one(garden, tmp_path):
    materials = garden.read()
    with pytest.raises(UserError, match="no such file") as caught:
        parts_of(garden.compile(), materials.source)
    assert "worldprobe materials split" in caught.value.fix
    out = garden.folder / SPLIT
    out.parent.mkdir()
    assert main(["materials", "split", str(garden.folder), "--out", str(out)]) == 0
    assert set(parts_of(garden.compile(), garden.read().source)) < set(PARTS)
    out.write_text("domain,concept_a,concept_b,part\ngarden-work,lift,lower,both\n")
    with pytest.raises(UserError, match="whether it is of train or test"):
        parts_of(garden.compile(), garden.read().source)


def test_pairs_that_share_a_concept_or_a_situation_stay_together():
    pairs = [
        ("d", "a", "b", "s1"),
        ("d", "b", "c", "s2"),
        ("e", "x", None, "s2"),
        ("e", "y", "z", "s3"),
    ]
    templates = pd.DataFrame(pairs, columns=[*PAIR, "situation"])
    for seed in range(4):
        part = split_by_situation(templates, seed).set_index("concept_a")["part"]
        assert part["a"] == part["b"] == part["x"] != part["y"]
