"""Surface properties by hand, and word counts from 1-gram files made here."""

import gzip
import json
import math

import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.ewok import frequency
from worldprobe.benchmarks.ewok.contracts import Items, SurfaceFeatures
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance


def one_item():
    row = {name: "" for name, column in Items.columns.items() if not column.optional}
    row |= {
        "item_id": "toy-world_1_1_v0",
        "domain": "toy-world",
        "concept_a": "lift",
        "concept_b": None,
    }
    row |= {"version": 0, "meta_template": 1, "template": 1, "duplicate_of": None}
    row |= {"context1": "Ira lifts Uma's cat.", "context2": "Ira doesn't lift it."}
    row |= {"target1": "The cat purrs!", "target2": "Cat.", "target_contrast": "variable swap"}
    row |= {"context_contrast": "negation", "context_type": "direct"}
    row |= {"fillers": json.dumps({"agent1": "Ira", "agent2": "Uma"}), "tags": "agent1,agent2"}
    return pd.DataFrame([row]).astype({"duplicate_of": "str", "concept_b": "str"})


KNOWN = {
    "Ira": 9,
    "lifts": 3,
    "Uma": 7,
    "cat": 99,
    "doesn't": 49,
    "lift": 4,
    "it": 999,
    "the": 1999,
    "purrs": 0,
}


def ngrams(path, *lines):
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    return path


def test_features_are_half_of_both_contexts_and_the_target():
    asked = []
    measured = frequency.surface_features(one_item(), lambda words: asked.append(words) or KNOWN)
    validate(measured.features, SurfaceFeatures)
    first, second = measured.features.itertuples()
    assert asked == [set(KNOWN)]
    assert (first.n_words, second.n_words) == ((4 + 4) / 2 + 3, (4 + 4) / 2 + 1)
    context1 = (math.log(10) + math.log(4) + math.log(8) + math.log(100)) / 4
    context2 = (math.log(10) + math.log(50) + math.log(5) + math.log(1000)) / 4
    target1 = (math.log(2000) + math.log(100) + math.log(1)) / 3
    assert first.log_frequency == pytest.approx((context1 + context2) / 2 + target1)
    assert second.log_frequency == pytest.approx((context1 + context2) / 2 + math.log(100))
    assert measured.counts == {
        "n_distinct_words": 9,
        "n_distinct_words_without_frequency": 1,
        "n_occurrences_without_frequency": 1,
        "n_texts_without_words": 0,
    }
    unknown = frequency.surface_features(one_item(), lambda words: dict.fromkeys(words, math.nan))
    assert unknown.features["log_frequency"].isna().all()
    assert unknown.counts["n_distinct_words_without_frequency"] == 9


def test_the_papers_words_lose_all_punctuation_and_its_names_their_s():
    asked = set()
    frequency.surface_features(
        one_item(), lambda words: asked.update(words) or dict.fromkeys(words, 1.0), is_compat=True
    )
    assert asked == {"Ira", "lifts", "Uma", "cat", "doesnt", "lift", "it", "the", "purrs"}


CATS = (
    "Cat\t1999\t5\t1",
    "cat\t1999\t7\t2",
    "cat\t2000\t8\t3",
    "cat_NOUN\t2000\t6\t3",
    "cats\t2000\t50\t3",
)


def test_counts_are_those_of_exactly_the_word_over_all_years_and_files(tmp_path):
    first = ngrams(tmp_path / "c.gz", *CATS)
    second = ngrams(
        tmp_path / "other.gz",
        "n't\t2000\t3\t1",
        'do"\t2000\t4\t1',
        "does\t2000\t30\t1",
        "NA\t2001\t2\t1",
        "Ira\t2001\t2\t1",
    )
    counted = frequency.frequencies_of_ngrams(
        {"cat", "cats", "doesn't", "Ira", "ira", "dog", "NA"}, [first, second]
    )
    assert counted == {"cat": 15, "cats": 50, "doesn't": 3, "Ira": 2, "ira": 0, "dog": 0, "NA": 2}


def test_the_papers_count_is_the_number_of_records_that_begin_with_the_word(tmp_path):
    path = ngrams(tmp_path / "c.gz", *CATS)
    counted = frequency.records_that_begin_with({"cat", "ca", "cats", "dog"}, [path])
    assert counted == {"cat": 4, "ca": 4, "cats": 1, "dog": 0}


def test_the_edition_of_2020_has_an_n_grams_years_in_one_line(tmp_path):
    """google-ngram-downloader #22, #25."""
    new = ngrams(
        tmp_path / "1-00000-of-00024.gz",
        "cat\t1999,7,2\t2000,8,3",
        "cat_NOUN\t2000,6,3",
        "cats\t2000,50,3",
        "a,b\t2001,9,1",
    )
    old = ngrams(tmp_path / "c.gz", "cats\t1999\t1\t1", ",\t1999\t3\t1")
    counted = frequency.frequencies_of_ngrams({"cat", "cats", ",", "a,b"}, [new, old])
    assert counted == {"cat": 15, "cats": 51, ",": 3, "a,b": 9}
    assert frequency.records_that_begin_with({"cat", "ca"}, [new]) == {"cat": 4, "ca": 4}


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"cat\t1999\t5\t1\ncat\t2000\tmany\t1\n"),
        gzip.compress(b"cat\t1999\t5\t1\ncat\t1999\t5\t1\ncat\t2000\n"),
        gzip.compress(b"cat\t1999\t5\t1\n" * 500)[:-10],
        gzip.compress(b"cat\t1999,5,1\t2000,5\n"),
    ],
    ids=["a word for a number", "too few fields", "cut short", "half a year"],
)
def test_a_broken_file_is_refused_by_its_name(tmp_path, content):
    path = tmp_path / "c.gz"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        frequency.frequencies_of_ngrams({"cat"}, [path])
    assert caught.value.where == str(path)


def test_a_file_that_is_given_twice_is_refused_as_its_words_would_count_double(tmp_path):
    path = ngrams(tmp_path / "c.gz", "cat\t1999\t5\t1")
    (tmp_path / "link.gz").symlink_to(path)
    with pytest.raises(UserError, match="given twice"):
        frequency.frequencies_of_ngrams({"cat"}, [path, tmp_path / "link.gz"])


def test_the_command_writes_the_table_and_what_was_missing(tmp_path):
    items, out = tmp_path / "items.parquet", tmp_path / "f.parquet"
    write_table(validate(one_item(), Items), Items, items, Provenance())
    files = ngrams(tmp_path / "all.gz", "cat\t1999\t5\t1", "it\t2000\t1\t1")
    command = f"baselines measure-surface {items} --frequency ngrams --ngrams {files}"
    assert run(f"{command} --out {out}") == 0
    assert read_provenance(out).details["n_distinct_words_without_frequency"] == 7
    assert len(read_table(out, SurfaceFeatures)) == 2
