"""The bag-of-words baseline: cosines by hand, ties, unknown words, file formats."""

import bz2
import gzip
import io
import json
import lzma
import math
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from gensim.models import KeyedVectors

from worldprobe import cli
from worldprobe.benchmarks.ewok import word2vec
from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Similarities
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance


def items(*rows):
    """Items of one template each: (context1, context2, target1, target2, fillers)."""
    return pd.DataFrame(
        {
            "item_id": f"toy-world_{number}_1_v0",
            "domain": "toy-world",
            "version": 0,
            "meta_template": number,
            "template": 1,
            "context1": context1,
            "context2": context2,
            "target1": target1,
            "target2": target2,
            "concept_a": "warm",
            "concept_b": "cold",
            "context_contrast": "antonym",
            "context_type": "direct",
            "target_contrast": "concept swap",
            "fillers": json.dumps(fillers),
            "tags": ",".join(sorted(fillers)),
            "duplicate_of": pd.Series([None], dtype="str")[0],
        }
        for number, (context1, context2, target1, target2, fillers) in enumerate(rows, start=1)
    ).astype({"duplicate_of": "str"})


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


def test_names_count_when_no_class_is_skipped(vectors):
    table, _ = word2vec.bag_similarities(items(WEATHER), vectors, skip=())
    assert cosines(table)[1, 1] == pytest.approx(
        ((9 + 2) * (9 + 3) + (-9 + 1) * -9) / math.hypot(11, -8) / math.hypot(12, -9)
    )


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


def test_every_format_gives_the_same_vectors(vectors, tmp_path):
    word2vec.save_vectors(vectors, tmp_path / "native.npz")
    vectors.save_word2vec_format(str(tmp_path / "google.bin"), binary=True)
    vectors.save_word2vec_format(str(tmp_path / "text.vec"), binary=False)
    vectors.save_word2vec_format(str(tmp_path / "text.vec.gz"), binary=False)
    for file in ("native.npz", "google.bin", "text.vec", "text.vec.gz"):
        read = word2vec.read_vectors(tmp_path / file)
        assert set(read.index_to_key) == set(vectors.index_to_key)
        assert read["sun"].tolist() == [3, 0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("prose.txt", b"no vectors here\n"),
        ("cut.bin", b"3 300\nsun \x00\x01"),
        ("other.pkl", pickle.dumps({"a": 1})),
        ("empty", b""),
        ("absurd.txt", b"3 99999999999999\nsun 1 2\n"),
        ("archive.npz", b"PK\x03\x04 and nothing else"),
    ],
)
def test_what_holds_no_vectors_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match="word vectors"):
        word2vec.read_vectors(tmp_path / name)


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


def as_zip(content, *others):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in (("vectors.txt", content), *others):
            archive.writestr(name, text)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        as_text(header=False),  # GloVe #142
        as_text(
            ["\u00a0", *WORDS], np.vstack([ROWS[:1], ROWS])
        ),  # gensim #567, #1372: a first word that is a blank
        as_text(["\u3000", *WORDS], np.vstack([ROWS[:1], ROWS])),
        as_binary(end=b""),
        as_binary()[:-1],
        gzip.compress(
            as_binary()
        ),  # is_that_a_duplicate_quora_question #15: compressed, whatever the name says
        bz2.compress(as_text()),
        lzma.compress(as_text(header=False)),
        as_zip(as_binary()),
    ],
)
@pytest.mark.parametrize("name", ["vectors", "vectors.bin", "vectors.gz"])
def test_vectors_are_read_by_what_the_file_holds(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    found = word2vec.read_vectors(tmp_path / name)
    assert np.allclose([found[word] for word in WORDS], ROWS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        # gensim #567, #1372; danielfrg/word2vec #58: text that is not quite text was read as
        # binary.
        (as_text(["New York", *WORDS], np.vstack([ROWS[:1], ROWS])), ""),
        (as_text().replace(b".", b","), ""),
        (as_text().replace(b"5 4", b"3 4"), "more follow"),
        (as_binary().replace(b"5 4", b"3 4"), "more follow"),
        (as_binary(end=b"").replace(b"5 4", b"3 4"), "more follow"),
        (as_text().replace(b"5 4", b"7 4"), "unexpected end"),
        (as_zip(as_text(), ("more.txt", b"")), "2 files"),
        (b"\xba\x16\x4f\x2f" + as_binary(), ".vec"),  # fastText #171
        (b"\xef\xbb\xbf" + as_text(header=False), "byte order mark"),
        (as_text(header=False).replace(b" ", b"\t"), "no spaces"),
        (as_text(rows=np.where(ROWS == 1, np.nan, ROWS)), "not finite"),
        (as_binary(rows=np.where(ROWS == 1, np.inf, ROWS).astype("f4")), "not finite"),
    ],
)
def test_vectors_that_are_not_all_read_or_not_read_as_they_are_meant_are_refused(
    tmp_path, content, said
):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as word vectors") as refusal:
        word2vec.read_vectors(tmp_path / "vectors")
    assert said in str(refusal.value)


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
    table = validate(items(WEATHER, ("Zzz.", "Sun.", "Warm.", "Cold.", {"agent1": "Ira"})), Items)
    write_table(table, Items, tmp_path / "items.parquet", Provenance())
    word2vec.save_vectors(vectors, tmp_path / "toy.kv")
    command = [
        "baselines",
        "judge",
        str(tmp_path / "items.parquet"),
        "--by",
        "word2vec",
        "--source",
        str(tmp_path / "toy.kv"),
    ]
    assert cli.main([*command, "--out", str(tmp_path / "judgements.parquet")]) == 0
    judged = read_table(tmp_path / "judgements.parquet", Judgements)
    assert judged.accuracy.tolist()[:2] == [1.0, 1.0]
    assert judged.status.tolist() == ["ok", "ok", "missing_score", "missing_score"]
    assert set(judged.eval_type) == set(judged.model) == {"word2vec"}
    assert (
        read_provenance(tmp_path / "judgements.parquet").details["n_distinct_out_of_vocabulary"]
        == 3
    )
    assert set(judged.taught) == {"story, item, context, target"}, (
        "the vectors of train-vectors read the controls' corpus"
    )
    vectors.save_word2vec_format(tmp_path / "toy.kv", binary=True)
    assert cli.main([*command, "--out", str(tmp_path / "judgements.parquet")]) == 0
    assert read_table(tmp_path / "judgements.parquet", Judgements).taught.isna().all()


class Harm:
    def __reduce__(self):
        return (exec, ("raise SystemExit('it ran')",))


def test_pickles_are_never_read_without_consent(vectors, tmp_path):
    (tmp_path / "harm.kv").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(UserError, match="can run any code"):
        word2vec.read_vectors(tmp_path / "harm.kv")
    vectors.save(str(tmp_path / "gensim.kv"))
    with pytest.raises(UserError, match="can run any code"):
        word2vec.read_vectors(tmp_path / "gensim.kv")
    assert word2vec.read_vectors(tmp_path / "gensim.kv", allow_pickle=True)["sun"].tolist() == [
        3,
        0,
    ]


def test_vectors_that_know_no_word_and_classes_that_no_item_has_are_refused(
    vectors, tmp_path, capsys
):
    strange = KeyedVectors(2)
    strange.add_vectors(["qqz"], np.ones((1, 2), "float32"))
    with pytest.raises(UserError, match="the items' words have no vectors"):
        word2vec.bag_similarities(items(WEATHER), strange)
    write_table(validate(items(WEATHER), Items), Items, tmp_path / "items.parquet", Provenance())
    word2vec.save_vectors(vectors, tmp_path / "toy.npz")
    command = [
        "baselines",
        "judge",
        str(tmp_path / "items.parquet"),
        "--by",
        "word2vec",
        "--source",
        str(tmp_path / "toy.npz"),
    ]
    assert (
        cli.main([*command, "--skip-classes", "agnet", "--out", str(tmp_path / "j.parquet")]) == 2
    )
    assert 'class "agnet"' in capsys.readouterr().err
