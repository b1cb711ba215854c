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
from worldprobe_lab.leak import Effect
from worldprobe_lab.leak_cli import _in_words

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
    assert (
        main(
            [
                *command,
                "--file",
                str(file),
                "--lines-per-shard",
                "2",
                "--shuffles",
                "3",
                "--out",
                str(out),
            ]
        )
        == 0
    )
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
    assert (
        main(
            [
                *command,
                "--file",
                str(file),
                "--lines-per-shard",
                "2",
                "--shuffles",
                "3",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert out.read_bytes() == first


def test_a_form_that_has_given_items_is_refused(tables, tiny_checkpoint, tmp_path, capsys):
    command = [
        "leak",
        tables[0],
        tables[1],
        tables[0],
        "--checkpoint",
        str(tiny_checkpoint()),
        "--out",
        str(tmp_path / "x.parquet"),
    ]
    assert main(command) == 2
    printed = capsys.readouterr().err
    assert "12 of its items are among those of" in printed
    assert "--besides ITEMS" in printed


def test_forms_in_other_frames_are_refused_as_items_without_one_are_likelier_in_any_model(
    tables, tmp_path, capsys
):
    framed = write_items(tmp_path, ["Gus"], 7, frames="other")
    assert (
        main(
            [
                "leak",
                tables[0],
                str(framed),
                "--checkpoint",
                "nowhere",
                "--out",
                str(tmp_path / "x.parquet"),
            ]
        )
        == 2
    )
    printed = capsys.readouterr().err
    assert "other frames than those of" in printed
    assert "--frames same" in printed


def test_lines_that_do_not_fit_into_the_context_are_refused(
    tables, tiny_checkpoint, tmp_path, capsys
):
    file = tmp_path / "lines.txt"
    file.write_text(("A box that is very heavy. " * 40 + "\n") * 40)
    command = [
        "leak",
        *tables,
        "--checkpoint",
        str(tiny_checkpoint()),
        "--out",
        str(tmp_path / "x.parquet"),
    ]
    assert main([*command, "--file", str(file), "--lines-per-shard", "4", "--shuffles", "2"]) == 2
    assert "do not fit into the model's context" in capsys.readouterr().err


NO_DIFFERENCE = Effect(0.0, -1.0, 1.0, 0.5, 1.0, 5, 5)


def test_what_is_said_with_one_form_and_of_a_certain_leak():
    read, gain = Effect(2.0, 1.0, 3.0, 1e-30, 1.2, 5, 5), Effect(0.2, 0.1, 0.3, 0.001, 0.1, 5, 5)
    said = _in_words(
        "tiny", {"logprob": read, "accuracy": gain, "word_frequency": NO_DIFFERENCE}, 0.5, 1
    )
    assert "against 1 parallel form\n" in said
    assert "+2.000 nats (95% +1.000 to +3.000), p < 0.0001 (one-sided" in said
    assert "0.3000 without the gain" in said
    assert "order" not in said
    assert "WARNING" not in said


def test_a_higher_accuracy_is_no_gain_by_a_leak_where_the_test_finds_none():
    """By heart's version 5, which it had not read: p = 0.87, and yet "0.5157 without the gain" was
    printed.
    """
    unread, gain = (
        Effect(-1.4, -4.0, 1.2, 0.87, 3.0, 5, 5),
        Effect(0.0146, 0.0037, 0.0255, 0.01, 0.01, 5, 5),
    )
    said = _in_words(
        "tiny", {"logprob": unread, "accuracy": gain, "word_frequency": NO_DIFFERENCE}, 0.5303, 1
    )
    assert "no leak is found" in said
    assert "without the gain" not in said
    assert "0.5157" not in said


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
