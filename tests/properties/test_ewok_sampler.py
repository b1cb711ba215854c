"""What holds for every filling, whatever the fillers, restrictions, versions and seeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine
from worldprobe.benchmarks.ewok.materials.fillers import Filler, FillerClass, Fillers
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.materials.samplers import FixedSampler, IndependentSampler
from worldprobe.benchmarks.ewok.materials.slots import Key, fill
from worldprobe.benchmarks.ewok.vocabulary import slot_class

CLASSES, COLUMNS, VALUES = ("agent", "object"), ("large", "red"), ("true", "false")


@st.composite
def filler_classes(draw):
    """Two classes that may share texts, with two columns of two values."""
    classes = {}
    for name in CLASSES:
        texts = draw(
            st.lists(
                st.sampled_from([f"the thing{i}" for i in range(20)]),
                min_size=1,
                max_size=16,
                unique=True,
            )
        )
        rows = [
            Filler(text, {column: draw(st.sampled_from(VALUES)) for column in COLUMNS})
            for text in texts
        ]
        classes[name] = FillerClass(name, COLUMNS, tuple(rows), MaterialsLine(""))
    return classes


restrictions = st.lists(
    st.tuples(st.sampled_from(COLUMNS), st.sampled_from(VALUES)),
    max_size=2,
    unique_by=lambda pair: pair[0],
)
slot_keys = st.builds(
    lambda name, number, pairs: Key.of(f"{name}{number}", [f"{c}={v}" for c, v in pairs]),
    st.sampled_from(CLASSES),
    st.integers(1, 3),
    restrictions,
)
#: Distinct variables, as a template has them once its mentions are settled.
key_sets = st.lists(
    slot_keys, min_size=1, max_size=4, unique_by=lambda key: key.partition(":")[0]
).map(lambda ks: tuple(sorted(ks)))
sequences = st.lists(key_sets, min_size=1, max_size=6)


def found(classes, key, text):
    """The row that a filling came from."""
    return next(filler for filler in classes[slot_class(key)].fillers if filler.text == text)


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL], ids=["right", "original"])
@given(filler_classes(), sequences, st.integers(0, 5))
def test_fixed_fillings_meet_their_restrictions_and_use_no_filler_twice(
    rules, classes, sequence, version
):
    sampler = FixedSampler(Fillers(classes, rules), version, sequence)
    for keys in sequence:
        fillings = sampler.fill(keys)
        if fillings is not None:
            assert tuple(fillings) == keys
            assert len(set(fillings.values())) == len(keys)
            assert all(
                found(classes, key, text).meets(Key(key).restrictions)
                for key, text in fillings.items()
            )


@given(filler_classes(), sequences, st.integers(0, 5))
def test_a_variable_has_one_filler_per_restriction_throughout_a_version(classes, sequence, version):
    sampler = FixedSampler(Fillers(classes, RIGHT), version, sequence)
    seen = {}
    for keys in sequence:
        for key, text in (sampler.fill(keys) or {}).items():
            assert seen.setdefault(key, text) == text


@given(filler_classes(), key_sets, st.integers(0, 3), st.integers(1, 30))
def test_independent_fillings_meet_their_restrictions_differ_and_are_all_there_are(
    classes, keys, seed, count
):
    sampler = IndependentSampler(Fillers(classes, RIGHT), keys, (seed, "garden-work", 1, 1))
    fillings = list(sampler.sample(count))
    for filling in fillings:
        assert len(set(filling.values())) == len(keys)
        assert all(
            found(classes, key, text).meets(Key(key).restrictions) for key, text in filling.items()
        )
    assert len({tuple(filling.values()) for filling in fillings}) == len(fillings)
    if len(fillings) < count:
        assert len(fillings) == len(set(sampler.all_fillings()))


@given(filler_classes(), key_sets, st.integers(0, 3), st.integers(1, 12), st.integers(1, 12))
def test_an_independent_item_depends_on_seed_and_template_alone(classes, keys, seed, few, many):
    def sample(count, template=1):
        return list(
            IndependentSampler(
                Fillers(classes, RIGHT), keys, (seed, "garden-work", 1, template)
            ).sample(count)
        )

    sample(few, template=2)
    shorter, longer = sorted([sample(few), sample(many)], key=len)
    assert longer[: len(shorter)] == shorter


@given(st.dictionaries(slot_keys, st.text("abc .!?\\1{}()", min_size=1), min_size=1, max_size=3))
def test_filling_replaces_slots_and_nothing_else(fillings):
    text = "x " + " y ".join(f"{{{key}}}" for key in fillings) + " z."
    expected = "x " + " y ".join(fillings.values()) + " z."
    assert fill(text, fillings, RIGHT).casefold() == expected.casefold()
