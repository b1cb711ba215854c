"""Sampling with --compat is the original's: full products, shuffled again for each template and
used from the front.
"""

import itertools

import numpy as np
import pytest

from worldprobe.benchmarks.ewok.materials import samplers as filling
from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine
from worldprobe.benchmarks.ewok.materials.fillers import Filler, FillerClass, Fillers
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL
from worldprobe.benchmarks.ewok.materials.samplers import ProductSampler


def fillers(**classes):
    """``object=["the jar", ...]``."""
    made = {
        name: FillerClass(name, (), tuple(Filler(text, {}) for text in texts), MaterialsLine(""))
        for name, texts in classes.items()
    }
    return Fillers(made, ORIGINAL)


def to_the_letter(some, key_sets, version, count):
    generator, candidates, found = np.random.RandomState(version), {}, []
    for keys in key_sets:
        options = [[filler.text for filler in some.options(key)] for key in keys]
        candidates.setdefault(keys, list(itertools.product(*options)))
        generator.shuffle(candidates[keys])
        usable = [filling for filling in candidates[keys] if len(set(filling)) == len(keys)]
        found.append([dict(zip(keys, filling, strict=True)) for filling in usable[:count]])
    return found


@pytest.mark.parametrize("version", [0, 7])
def test_fillings_are_those_of_shuffled_lists_and_orders_accumulate(version):
    some = fillers(agent=list("abcdefg"), object=[*"uvwxyzabu", "uv"], word=["one"])
    key_sets = [
        ("agent1", "object1"),
        ("agent1",),
        ("agent1", "object1"),
        (),
        ("word1",),
        ("agent1", "agent2", "object1"),
    ] * 3
    sampler = ProductSampler(some, version)
    ours = [list(sampler.sample(keys, 40)) for keys in key_sets]
    assert ours == to_the_letter(some, key_sets, version, 40)
    assert [len(fillings) for fillings in ours[:5]] == [40, 7, 40, 1, 1]


def test_the_shuffle_is_the_legacy_one():
    """The vectors that our description of the original gives."""
    sampler = ProductSampler(fillers(digit=[str(i) for i in range(10)]), 7)
    in_class_order = [filler.text for filler in sampler.fillers.options("digit1")]
    for order in ([8, 5, 0, 2, 1, 9, 7, 3, 6, 4], [5, 2, 0, 9, 4, 8, 1, 7, 3, 6]):
        drawn = [filling["digit1"] for filling in sampler.sample(["digit1"], 10)]
        assert drawn == [in_class_order[i] for i in order]


def test_more_fillings_are_a_longer_sample_across_the_pieces_that_are_read(monkeypatch):
    some = fillers(agent=[f"a{i}" for i in range(30)], object=[f"o{i}" for i in range(30)])
    whole = list(ProductSampler(some, 1).sample(("agent1", "object1"), 1000))
    monkeypatch.setattr(filling, "_CHUNK", 7)
    assert list(ProductSampler(some, 1).sample(("agent1", "object1"), 1000)) == whole
    assert len({tuple(filling.values()) for filling in whole}) == 900
