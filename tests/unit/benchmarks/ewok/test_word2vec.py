"""The bag-of-words baseline: cosines by hand, ties, unknown words, file formats."""

import gzip
import io
import json
import lzma
import math
import zipfile

import numpy as np
import pandas as pd
import pytest
from gensim.models import KeyedVectors

from command_line import run
from worldprobe.benchmarks.ewok import word2vec
from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Similarities
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance


def items(*rows):
    """Items of one template each: (context1, context2, target1, target2, fillers)."""
    frame = pd.DataFrame(rows, columns=["context1", "context2", "target1", "target2", "fillers"])
    number = frame.index + 1
    same = {"domain": "toy-world", "version": 0, "template": 1, "tags": "", "duplicate_of": None}
    same |= {"concept_a": "warm", "concept_b": "cold", "context_contrast": "antonym"}
    same |= {"context_type": "direct", "target_contrast": "concept swap", "meta_template": number}
    ids = [f"toy-world_{n}_1_v0" for n in number]
    return frame.assign(item_id=ids, fillers=frame["fillers"].map(json.dumps), **same).astype(
        {"duplicate_of": "str"}
    )


@pytest.fixture
def vectors():
    """Two dimensions: heat to the right, cold upwards."""
    keyed = KeyedVectors(2)
    words = {
        "sun": (3, 0),
        "warm": (1, 0),
        "snow": (0, 2),
        "cold": (0, 1),
        "is": (1, 1),
        "ira": (9, -9),
        "dont": (0, 5),
    }
    keyed.add_vectors(list(words), np.array(list(words.values()), dtype="float32"))
    return keyed


WEATHER = (
    "Ira sees sun.",
    "Ira sees snow.",
    "Ira's room is warm.",
    "Ira's room is cold.",
    {"agent1": "Ira"},
)


def cosines(table):
    return {(row.target, row.context): row.similarity for row in table.itertuples()}


def test_cosines_are_those_of_the_summed_vectors_without_the_agents_name(vectors):
    table, counts = word2vec.bag_similarities(items(WEATHER), vectors)
    # target 1: is + warm = (2, 1); target 2: is + cold = (1, 2); contexts: sun (3, 0), snow (0, 2)
    assert cosines(table) == pytest.approx(
        {
            (1, 1): 2 / math.sqrt(5),
            (1, 2): 1 / math.sqrt(5),
            (2, 1): 1 / math.sqrt(5),
            (2, 2): 2 / math.sqrt(5),
        }
    )
    assert counts["n_distinct_out_of_vocabulary"] == 2  # sees, room
    validate(table, Similarities)


def test_only_the_items_own_agents_are_skipped(vectors):
    """Another item's agent may be a common word here."""
    other = ("Sun runs.", "Sun is.", "Sun is warm.", "Sun is cold.", {"agent1": "Sun"})
    alone, _ = word2vec.bag_similarities(items(WEATHER), vectors)
    both, _ = word2vec.bag_similarities(items(WEATHER, other), vectors)
    assert cosines(both[both.item_id == "toy-world_1_1_v0"]) == cosines(alone)


def test_contexts_with_the_same_words_tie_exactly():
    words = ["the", "pot", "stands", "left", "of", "lamp", "near"]
    keyed = KeyedVectors(50)
    keyed.add_vectors(
        words, np.random.default_rng(1).normal(size=(len(words), 50)).astype("float32")
    )
    swap = (
        "The pot stands left of the lamp.",
        "The lamp stands left of the pot.",
        "Pot near.",
        "Lamp near.",
        {"object1": "pot"},
    )
    found = cosines(word2vec.bag_similarities(items(swap), keyed)[0])
    assert found[1, 1] == found[1, 2]
    assert found[2, 1] == found[2, 2]


def test_a_text_without_known_words_has_no_cosine_and_a_word_with_punctuation_inside_is_found_without(
    vectors,
):
    strange = ("Zzz.", "Sun.", "Don't!", "Warm.", {"agent1": "Ira"})
    found = cosines(word2vec.bag_similarities(items(strange), vectors)[0])
    assert math.isnan(found[1, 1])
    assert found[1, 2] == 0.0
    assert found[2, 2] == 1.0


WORDS = ["the", "cat", "sat", "New", "York"]
ROWS = np.arange(1, 21, dtype="f4").reshape(5, 4) / 8


def as_text(words=WORDS, rows=ROWS, header=True):
    lines = [
        " ".join([word, *(f"{number:.3f}" for number in row)])
        for word, row in zip(words, rows, strict=True)
    ]
    return "\n".join([f"{len(words)} {rows.shape[1]}"] * header + lines).encode() + b"\n"


def as_binary(words=WORDS, rows=ROWS, end=b"\n"):
    records = [
        word.encode() + b" " + row.tobytes() + end for word, row in zip(words, rows, strict=True)
    ]
    return f"{len(words)} {rows.shape[1]}\n".encode() + b"".join(records)


def as_zip(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("vectors.txt", content)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        as_text(header=False),  # GloVe #142
        as_text(
            ["\u00a0", *WORDS], np.vstack([ROWS[:1], ROWS])
        ),  # gensim #567, #1372: a first word that is a blank
        as_binary(end=b""),
        as_binary()[:-1],
        gzip.compress(
            as_binary()
        ),  # is_that_a_duplicate_quora_question #15: compressed, whatever the name says
        lzma.compress(as_text(header=False)),
        as_zip(as_binary()),
    ],
)
@pytest.mark.parametrize("name", ["vectors", "vectors.gz"])
def test_vectors_are_read_by_what_the_file_holds(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    found = word2vec.read_vectors(tmp_path / name)
    assert np.allclose([found[word] for word in WORDS], ROWS)


@pytest.mark.parametrize(
    "content",
    [
        b"no vectors here\n",
        # gensim #567, #1372; danielfrg/word2vec #58: text that is not quite text was read as
        # binary.
        as_text(["New York", *WORDS], np.vstack([ROWS[:1], ROWS])),
        as_text().replace(b".", b","),
        as_text().replace(b"5 4", b"3 4"),
        as_binary().replace(b"5 4", b"3 4"),
        as_text().replace(b"5 4", b"7 4"),
        b"\xef\xbb\xbf" + as_text(header=False),
        as_text(rows=np.where(ROWS == 1, np.nan, ROWS)),
    ],
)
def test_vectors_that_are_not_all_read_as_they_are_meant_are_refused(tmp_path, content):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(UserError, match="word vectors"):
        word2vec.read_vectors(tmp_path / "vectors")


def test_training_is_the_same_for_the_same_seed_and_words_of_one_story_come_near_each_other(
    tmp_path,
):
    texts = ["Sun shines. The road is warm.", "Snow falls. The pond is cold."] * 300
    for file, seed in (("a.kv", 5), ("b.kv", 5), ("c.kv", 6)):
        word2vec.save_vectors(
            word2vec.train_vectors(texts, seed, size=16, epochs=5), tmp_path / file
        )
    content = {file: (tmp_path / file).read_bytes() for file in ("a.kv", "b.kv", "c.kv")}
    assert content["a.kv"] == content["b.kv"] != content["c.kv"]
    read = word2vec.read_vectors(tmp_path / "a.kv")
    assert read.similarity("sun", "warm") > read.similarity("sun", "cold")


def test_the_command_writes_judgements_with_the_counts_inside(vectors, tmp_path):
    names = ("items.parquet", "toy.kv", "judgements.parquet")
    table, source, out = (tmp_path / name for name in names)
    rows = validate(items(WEATHER, ("Zzz.", "Sun.", "Warm.", "Cold.", {"agent1": "Ira"})), Items)
    write_table(rows, Items, table, Provenance())
    word2vec.save_vectors(vectors, source)
    command = f"baselines judge {table} --by word2vec --source {source}"
    assert run(f"{command} --out {out}") == 0
    judged = read_table(out, Judgements)
    assert judged.accuracy.tolist()[:2] == [1.0, 1.0]
    assert judged.status.tolist() == ["ok", "ok", "missing_score", "missing_score"]
    assert read_provenance(out).details["n_distinct_out_of_vocabulary"] == 3
    assert set(judged.taught) == {"story, item, context, target"}, (
        "train-vectors reads the controls' corpus"
    )


def test_relatedness_says_what_its_tables_say(vectors, tmp_path, capsys):
    """Both tables may have one file name; what was trained on our texts is said."""
    table, source, out = (tmp_path / name for name in ("items.parquet", "toy.kv", "out.parquet"))
    rows = validate(items(WEATHER), Items)
    write_table(rows, Items, table, Provenance())
    word2vec.save_vectors(vectors, source)
    cosines = [tmp_path / folder / "cosines.parquet" for folder in ("first", "second")]
    for path in cosines:
        command = f"baselines judge {table} --by word2vec --source {source}"
        assert run(f"{command} --similarities-out {path} --out {out}") == 0
        vectors.vectors[:, 0] *= 2  # a copy of the first would count twice
        word2vec.save_vectors(vectors, source)
    command = f"baselines judge {table} --by relatedness --out {out} --source"
    assert run(f"{command} {cosines[0]} {cosines[1]}") == 0
    assert len(read_provenance(out).inputs) == 3
    assert set(read_table(out, Judgements).taught) == {"story, item, context, target"}
    assert run(f"{command} {cosines[0]} {cosines[0]}") == 2
    assert "given twice" in capsys.readouterr().err
