"""``leak``: a table and sentences about given items and forms, and clear refusals."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.provenance import Provenance
from worldprobe_lab.contracts import Leaks

pytest.importorskip("torch")

WORDS = [
    "heavy",
    "light",
    "wet",
    "dry",
    "old",
    "new",
    "red",
    "blue",
    "near",
    "far",
    "hot",
    "cold",
    "soft",
    "hard",
]


def write_items(folder, names, version, **details):
    """Items of twelve pairs of concepts about one name each."""
    rows = []
    for i in range(12):
        one, other, name = WORDS[i], WORDS[i + 2], names[i % len(names)]
        texts = {"context1": f"{name} sees a {one} box.", "context2": f"{name} sees a {other} box."}
        texts |= {"target1": f"{name}'s box is {one}.", "target2": f"{name}'s box is {other}."}
        design = {
            "concept_a": one,
            "concept_b": other,
            "context_contrast": "antonym",
            "context_type": "direct",
        }
        place = {
            "item_id": f"test-things_{i + 1}_1_v{version}",
            "domain": "test-things",
            "version": version,
        }
        place |= {
            "meta_template": i + 1,
            "template": 1,
            "target_contrast": "concept swap",
            "tags": "agent1",
        }
        rows.append(
            texts | design | place | {"fillers": json.dumps({"agent1": name}), "duplicate_of": None}
        )
    path = folder / f"items-{version}.parquet"
    write_table(
        pd.DataFrame(rows).astype({"duplicate_of": "str"}), Items, path, Provenance(details=details)
    )
    return path


@pytest.fixture
def tables(tmp_path):
    people = (["Ana", "Ben", "Cora"], ["Dan", "Eva", "Ana"], ["Cora", "Dan", "Ben"])
    return [str(write_items(tmp_path, names, version)) for version, names in enumerate(people)]


def test_items_are_compared_with_forms_and_a_file_with_other_orders(
    tables, tiny_checkpoint, tmp_path, capsys
):
    file, out = tmp_path / "lines.txt", tmp_path / "leaks.parquet"
    file.write_text("".join(f"Line {i} is about a box.\n" for i in range(20)))
    command = ["leak", *tables, "--checkpoint", str(tiny_checkpoint()), "--model", "tiny"]
    command += f"--file {file} --lines-per-shard 2 --shuffles 3 --out {out}".split()
    assert main(command) == 0
    leaks = read_table(out, Leaks).set_index("measure")
    assert set(leaks.index) == {"logprob", "accuracy", "word_frequency", "order"}
    assert leaks["n_pairs"].to_dict() == {
        "logprob": 12,
        "accuracy": 12,
        "word_frequency": 12,
        "order": 10,
    }
    assert (leaks["low"] <= leaks["estimate"]).all()
    assert read_provenance(out).inputs.keys() >= {"items", "form 1", "form 2", "file"}
    printed = capsys.readouterr().out
    assert "12 templates of 12 pairs of concepts against 2 parallel forms" in printed
    assert "does not see whether it has read their templates" in printed
    assert "rests on the given items and the forms being filled alike" in printed
    first = out.read_bytes()
    assert main(command) == 0
    assert out.read_bytes() == first


def test_words_that_are_not_shown_to_differ_come_with_what_the_test_would_have_found():
    """ "No sign that they are filled differently" was said at any power."""
    from worldprobe_lab.leak import LeakEffect
    from worldprobe_lab.leak_cli import _in_words

    effect = LeakEffect(0.4, -0.9, 1.7, 0.2, 1.987, 12, 40)
    said = _in_words(
        "ant", dict.fromkeys(("logprob", "accuracy", "word_frequency"), effect), 0.6, 3
    )
    assert "no sign" not in said
    assert "not shown to differ in frequency (p = 0.40; +0.400" in said
    assert "the test finds a difference of 1.987 in 80% of such samples" in said


def test_a_language_without_a_list_of_words_is_tested_without_their_frequencies(
    tmp_path, tiny_checkpoint, capsys
):
    details = {"language": {"language": "xx", "name": "Gardenese"}}
    people = (["Ana", "Ben", "Cora"], ["Dan", "Eva", "Ana"], ["Cora", "Dan", "Ben"])
    tables = [write_items(tmp_path, names, n, **details) for n, names in enumerate(people)]
    out = tmp_path / "leaks.parquet"
    command = ["leak", *map(str, tables), "--checkpoint", str(tiny_checkpoint())]
    assert main([*command, "--out", str(out)]) == 0
    assert set(read_table(out, Leaks)["measure"]) == {"logprob", "accuracy"}
    assert "no list of word frequencies of the items' language" in capsys.readouterr().out


def test_given_items_of_more_frequent_words_are_told_to_be_filled_otherwise(
    tmp_path, tiny_checkpoint, capsys
):
    """Words likelier by a quarter of a standard deviation made 61% false alarms, without a word
    about it.
    """
    frequent = write_items(tmp_path, ["John", "James", "Mary"], 0)
    rare = [
        write_items(tmp_path, names, n)
        for n, names in enumerate((["Zebulon"], ["Ottoline"], ["Peregrine"]), start=1)
    ]
    common = write_items(tmp_path, ["James", "Mary", "John"], 4)
    command = [
        "leak",
        str(frequent),
        *map(str, [*rare, common]),
        "--checkpoint",
        str(tiny_checkpoint()),
    ]
    assert main([*command, "--out", str(tmp_path / "leaks.parquet")]) == 0
    printed = capsys.readouterr().out
    assert "WARNING: the given items are not filled like the forms" in printed
    assert "more frequent" in printed
