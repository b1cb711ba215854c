"""Our built-in materials share no sentence with EWoK's: compared where its archive is present;
nothing of it is printed.
"""

from __future__ import annotations

import re

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.materials.compile import compile_families, compile_templates
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.paths import EDITIONS

PASSWORD = "ewok"


@pytest.fixture(scope="module", params=[name for name in EDITIONS if "@" in name])
def templates(reference, request) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ours and the official ones."""
    official = read_materials(reference / "ewok-config.zip", ORIGINAL, PASSWORD, is_lenient=True)
    materials = read_materials(EDITIONS[request.param], RIGHT)
    return pd.concat(
        [compile_templates(materials), compile_families(materials)]
    ), compile_templates(official)


def normalised(text: str) -> str:
    """Lower case, slots by their class, no punctuation, no articles."""
    slots = re.sub(r"\{([A-Za-z_]+)[^}]*\}", lambda m: f" {m[1].lower()}slot ", text)
    return " ".join(
        word for word in re.findall(r"[a-z']+", slots.lower()) if word not in {"a", "an", "the"}
    )


def sentences(frame: pd.DataFrame, *columns: str) -> set[str]:
    return {
        normalised(sentence)
        for column in columns
        for text in frame[column]
        for sentence in text.split(". ")
    }


def runs_of_four(found: set[str]) -> set[tuple[str, ...]]:
    split = [text.split() for text in found]
    return {tuple(words[i : i + 4]) for words in split for i in range(len(words) - 3)}


@pytest.mark.long
def test_no_context_and_no_sentence_of_one_coincides(templates):
    ours, official = (sentences(frame, "context1", "context2") for frame in templates)
    n_same = len(ours & official)
    assert n_same == 0


def test_the_few_targets_that_coincide_are_bare_ones_about_a_concept_of_both(templates):
    """ "X is chasing Y" has no other words; the slots are counted."""
    ours, official = (sentences(frame, "target1", "target2") for frame in templates)
    same = [len(text.split()) for text in ours & official]
    assert max(same) <= 6
    assert len(same) / len(ours) <= 0.05


def test_runs_of_four_words_are_mostly_our_own(templates):
    """Four words in a row as different as any two texts about the same concepts are."""
    ours, official = (runs_of_four(sentences(frame, *TEXTS)) for frame in templates)
    assert len(ours & official) / len(ours) <= 0.02
