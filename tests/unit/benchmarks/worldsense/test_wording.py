"""The wording of the sets: version 1 to the byte, version 2 as questions, and new words in the
set test-new.
"""

import hashlib
import re
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.skins.skins import (
    IN,
    KNOWN,
    NEW,
    OUT,
    group_skins,
    read_skins,
    relation_words,
)
from worldprobe.cli import main

SKINS = read_skins()
#: Version -> set -> the first digits of the digest of one round as CSV. Versions 1 to 3 must never
#: change.
DIGESTS = {
    1: {
        "test-motion": "f7ae8ed5fdf4ef03",
        "train-motion": "0f6b3c36629da384",
        "test-hard": "19da14f6f8ebc9d7",
        "test": "7a1c4db90dec9f12",
        "train-10k": "a03cab4e5d777046",
        "ood-size": "dcc27b01483530d5",
        "ood-query": "23b3e1d9b7be6168",
        "ood-problem": "19010890c3a45888",
    },
    2: {
        "test-motion": "013b53d5352a2867",
        "train-motion": "8a419600ea1c95b3",
        "test-hard": "48a31e46b490c480",
        "test": "c77a3a2df6712d4e",
        "test-new": "4329626290a8cffb",
        "train-10k": "b9bd70725c636ec3",
        "ood-size": "d57ebccade897b1a",
        "ood-query": "916105a32ff37e0f",
        "ood-problem": "72e4364d50c201e5",
    },
    3: {
        "test-motion": "86346ed35fba171d",
        "train-motion": "96b7c534b059f5b7",
        "test-hard": "831955634b87fd8b",
        "test": "769cab277d82710d",
        "test-new": "4329626290a8cffb",
        "train-10k": "e822c481f327d885",
        "ood-size": "daa32007c3ab393c",
        "ood-query": "647ff3fb82faa1e9",
        "ood-problem": "72e4364d50c201e5",
    },
}
_LITTLE = """
a all an and at by did do does each from had has have he her his in is it its no not of on one
or other others s she than that the to two up was were will with
"""
OF_NO_RELATION = set(_LITTLE.split())


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, sets in DIGESTS.items() for name in sets]
)
@pytest.mark.long
def test_a_version_is_made_again_to_the_byte(version: int, name: str) -> None:
    columns = make_trials(name, version=version, per_cell=1).drop(
        columns="moment"
    )  # a column that came later
    written = columns.to_csv(index=False, lineterminator="\n")
    assert hashlib.sha256(written.encode()).hexdigest()[:16] == DIGESTS[version][name]


def test_an_entity_that_is_asked_about_is_not_counted_out_and_no_skin_asks_for_exactly_one() -> (
    None
):
    trials = make_trials("test-new", per_cell=1)
    is_open = trials["problem"] == "Compl.trivial"
    counted = trials["text"].str.contains(r"\b(?:three|four|five|six) ")
    assert not counted[is_open].any()
    assert counted[~is_open].all()
    assert (
        not trials["text"].str.contains("exactly one|both or neither|chain of command that").any()
    )


def words(*texts: str) -> set[str]:
    """The words of texts that may be of a relation, or of an entity."""
    found = {
        word
        for text in texts
        for word in re.findall("[a-z]+", re.sub(r"\{\w+\}", " ", text).casefold())
    }
    return found - OF_NO_RELATION


def stems(found: set[str]) -> set[str]:
    """Words without their endings, and no longer than five letters: stricter than any stemmer."""
    return {(re.sub("(?<=..)(?:ing|ed|er|est|ly|es|s|y)$", "", word))[:5] for word in found}


NEWEST = [skin for skin in SKINS if skin.use == "test-new"]
TRAINED = [skin for skin in SKINS if skin.use == "train"]


def test_no_relation_word_of_test_new_is_in_any_text_of_a_training_skin() -> None:
    of_training = [
        (*s.clauses.values(), *s.foreign.values(), s.situation, s.listing, *s.entities)
        for s in TRAINED
    ]
    known = stems(set().union(*(words(*texts) for texts in of_training)))
    for skin in NEWEST:
        assert (
            not stems(words(*skin.clauses.values(), *skin.foreign.values(), skin.listing)) & known
        ), skin.name


def test_of_a_relation_that_is_not_trained_only_before_after_and_lives_are_in_training() -> None:
    trained = stems(
        words(
            *(text for skin in TRAINED for text in (*skin.clauses.values(), *skin.foreign.values()))
        )
    )
    for skin in SKINS:
        if skin.use == "test" and KNOWN[skin.name].training == OUT:
            shared = stems(set(relation_words(skin)) - OF_NO_RELATION) & trained
            assert shared <= stems({"before", "after", "lives"}), skin.name


def test_the_skins_of_test_new_share_no_names_or_objects_with_each_other_or_any_other_skin() -> (
    None
):
    others = stems(
        set().union(*(words(*skin.entities) for skin in SKINS if skin.use != "test-new"))
    )
    for skin in NEWEST:
        assert not stems(words(*skin.entities)) & others, skin.name
        assert len(skin.entities) == 12
    for one, other in combinations(NEWEST, 2):
        assert not stems(words(*one.entities)) & stems(words(*other.entities)), (
            one.name,
            other.name,
        )


def test_whether_training_has_a_relation_is_computed_and_as_the_paper_says() -> None:
    computed = group_skins([*KNOWN, *(skin.name for skin in SKINS)])
    by_file = group_skins(["not/known", *KNOWN], None)
    assert {name: by_file[name] for name in KNOWN} == KNOWN
    assert sum(group.training == IN for group in KNOWN.values()) == 8
    assert {computed[skin.name].training for skin in NEWEST} == {NEW}


def test_version_3_explains_directly_where_a_change_says_it_and_nowhere_else() -> None:
    for text in make_trials("test-motion", version=3, per_cell=1)["text"]:
        explained, _, changes = text.partition("with none of the others in between):")
        if changes:
            assert "directly" in changes
        else:
            assert "directly" not in explained


def test_the_default_is_version_3(tmp_path: Path) -> None:
    small, texts = ["generate", "ood-query", "--per-cell", "1", "--sizes", "3"], []
    for options in ([], ["--wording-version", "3"], ["--wording-version", "1"]):
        out = tmp_path / f"{len(texts)}.parquet"
        assert main(["worldsense", *small, *options, "--out", str(out)]) == 0
        texts.append(set(pd.read_parquet(out)["text"]))
    assert texts[0] == texts[1] != texts[2]
