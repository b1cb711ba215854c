"""WorldSense's bad inputs: one clear error with file and line, nothing half-written."""

import bz2
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from worldprobe.benchmarks.worldsense.trials.files import read_official
from worldprobe.cli import main
from worldprobe.errors import UserError


def trial(**changes) -> dict:
    return {
        "Key": 1,
        "problemname": "Infer.normal",
        "tuple_ID": "made_up_1",
        "text": "Three lamps: a is left of b and b is left of c. Is a left of c?",
        "expectedresp": ["TRUE", "FALSE"],
        "span": 2,
        "descr": "[(0, 1),(1, 2)]",
        "query": "(0, 2)",
        "objects": ["a", "b", "c"],
        "problemsize": 3,
        "skin": "lamps",
        "qskin": "directQ1",
        "complexity": "Complexity_0",
        "query_len": 2,
        "goldresp_obfusc": "Emmanuel",
    } | changes


def pair(first: dict | None = None, **changes) -> list[dict]:
    other = trial(Key=2, query="(2, 0)", goldresp_obfusc="Megi")
    return [trial(**(first or {})), other | changes]


def run(arguments: list[str]) -> int:
    """The exit status."""
    return main(["worldsense", *arguments])


CASES = {
    "not JSON": ([trial(), "{"], "line 2", "JSON"),
    "not an object": ([trial(), "[1]"], "line 2", "JSON object"),
    "not UTF-8": ([trial(), b'{"Key": "\xff"}'], "line 2", "utf-8"),
    "a field is missing": (
        [{k: v for k, v in trial().items() if k != "descr"}],
        "line 1",
        '"descr" is missing',
    ),
    "an unknown field": (pair(queri="(0, 1)"), "line 2", "queri"),
    "a wrong type": (pair(problemsize="3"), "line 2", "problemsize"),
    "a truth value for a number": (pair(Key=True), "line 2", "Key"),
    "an unknown gold word": (pair(goldresp_obfusc="Emanuel"), "line 2", 'did you mean "Emmanuel"'),
    "the gold word of another problem": (pair(goldresp_obfusc="Pascal"), "line 2", "Pascal"),
    "a duplicated key": (pair(Key=1), "line 2", "line 1"),
    "a tuple of one trial": ([trial()], "line 1", "1 trial"),
    "a tuple of three trials": ([*pair(), trial(Key=3)], "line 1", "3 trials"),
    "a tuple that goes on later": (
        [*pair(), *pair({"Key": 3, "tuple_ID": "x"}, Key=4, tuple_ID="x"), trial(Key=5)],
        "line 5",
        "in between",
    ),
    "too few entities": (pair(problemsize=2, objects=["a", "b"]), "line 2", "problemsize is 2"),
    "an entity named twice": (pair(objects=["a", "b", "a"]), "line 2", "different entities"),
    "a relation that is no relation": (pair(query="(0; 2)"), "line 2", "(0; 2)"),
    "a relation of itself": (pair(query="(2, 2)"), "line 2", "itself"),
    "an entity out of range": (pair(query="(0, 3)"), "line 2", "entity 3"),
    "an unknown entity in a description": (pair(descr="[(0, -1)]"), "line 2", "unknown entity"),
    "no description": (pair(descr="[]"), "line 2", "descr is empty"),
    "an unknown problem": (
        pair(problemname="Infer.norml"),
        "line 2",
        'did you mean "Infer.normal"',
    ),
    "an unknown complexity": (pair(complexity="Complexity_7"), "line 2", "Complexity_7"),
    "wrong answers": (pair(expectedresp=["TRUE"]), "line 2", "expectedresp"),
}


def write(path: Path, lines: list) -> Path:
    raw = [
        line
        if isinstance(line, bytes)
        else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    content = b"\n".join(raw) + b"\n"
    path.write_bytes(bz2.compress(content) if path.suffix == ".bz2" else content)
    return path


@pytest.mark.parametrize(("lines", "where", "what"), CASES.values(), ids=CASES.keys())
def test_a_malformed_trial_is_named_by_file_and_line(
    tmp_path: Path, capsys, lines, where, what
) -> None:
    path = write(tmp_path / "trials.jsonl", lines)
    out = tmp_path / "wrong.csv"
    assert main(["worldsense", "audit", str(path), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}, {where}\n")
    assert what in error
    assert error.count("error:") == 1
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_blank_lines_and_lines_of_windows_are_read(tmp_path: Path, capsys) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "\r\n\n".join(json.dumps(one) for one in pair(objects=["a \u00e9 €", "b\t", "c"]))
    )
    assert read_official(path)["line"].tolist() == [1, 3]
    path.write_text("{}\n\n{}")
    assert main(["worldsense", "audit", str(path)]) == 2
    assert f"{path}, line 1" in capsys.readouterr().err


def test_a_right_file_passes_and_a_wrong_gold_answer_is_listed(tmp_path: Path, capsys) -> None:
    assert main(["worldsense", "audit", str(write(tmp_path / "right.jsonl", pair()))]) == 0
    wrong = [
        trial(goldresp_obfusc="Megi"),
        trial(Key=2, query="(2, 0)", goldresp_obfusc="Emmanuel"),
    ]
    assert (
        main(
            [
                "worldsense",
                "audit",
                str(write(tmp_path / "t.jsonl", wrong)),
                "--out",
                str(tmp_path / "w.csv"),
            ]
        )
        == 1
    )
    rows = (tmp_path / "w.csv").read_text().splitlines()
    assert rows[0] == "Key,tuple_ID,problemname,problemsize,released_gold,solver_gold,reason"
    assert rows[1].startswith("1,made_up_1,Infer.normal,3,FALSE,TRUE,the query is true in")


def test_files_that_are_cut_short_missing_or_something_else(tmp_path: Path, capsys) -> None:
    whole = bz2.compress(b"".join(json.dumps(t).encode() + b"\n" for t in pair()))
    for name, content, what in (
        ("cut.jsonl.bz2", whole[:-20], "decompressed"),
        ("other.jsonl.bz2", b"not compressed", "decompressed"),
        ("cut.jsonl.gz", b"\x1f\x8b\x08", "decompressed"),
        ("other.jsonl.gz", b"plain", "decompressed"),
        ("empty.jsonl", b"", "no trials"),
        ("text.parquet", b"text", "Parquet"),
    ):
        (tmp_path / name).write_bytes(content)
        assert main(["worldsense", "audit", str(tmp_path / name)]) == 2, name
        assert what in capsys.readouterr().err, name
    assert main(["worldsense", "audit", str(tmp_path / "absent.jsonl")]) == 2
    assert main(["worldsense", "audit", str(tmp_path)]) == 2


GENERATE = {
    "a size below 3": (["test", "--sizes", "2"], "from 3 to 8"),
    "an unknown set": (["tset"], 'did you mean "test"'),
    "an unknown problem": (["test", "--problems", "Infer.norml"], "Infer.normal"),
    "a problem of another set": (["test", "--problems", "Infer.extrema"], "not a problem of test"),
    "an unknown skin": (["test", "--skins", "tal/short"], 'did you mean "tall/short"'),
    "a skin of another set": (["test", "--skins", "births"], "not a skin of the set test"),
    "skins that are not balanced over domains": (
        ["test", "--skins", "trips", "race", "tall/short"],
        "cannot be balanced",
    ),
    "no tuple at all": (["test", "--per-cell", "0"], "from 1 to"),
    "more tuples than there are": (["test", "--per-cell", "1000000"], "different tuples"),
    "a chat file that is not compressed": (["test", "--dialogues-out", "chat.json"], ".jsonl.gz"),
}


@pytest.mark.parametrize(("options", "what"), GENERATE.values(), ids=GENERATE.keys())
def test_a_set_that_cannot_be_made_is_refused_before_anything_is_written(
    tmp_path: Path, capsys, options, what
) -> None:
    assert run(["generate", *options, "--out", str(tmp_path / "trials.parquet")]) == 2
    error = capsys.readouterr().err
    assert error.count("error:") == 1
    assert what in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["trials.jsonl", "trials.jsonl.bz2", "trials.jsonl.gz"])
def test_a_table_is_not_written_under_the_name_of_the_official_layout(
    tmp_path: Path, capsys, name: str
) -> None:
    place = tmp_path / name
    place.write_bytes(b"what was there")
    assert run([*SMALL, "--out", str(place)]) == 2
    assert "is the name of JSON lines, but a Parquet table is written" in capsys.readouterr().err
    assert place.read_bytes() == b"what was there"


@pytest.mark.parametrize("name", ["trials.txt", "trials", "trials.csv", "trials.parquet.gz"])
def test_a_set_is_not_written_under_a_name_that_says_it_is_something_else(
    tmp_path, capsys, name: str
) -> None:
    assert run([*SMALL, "--out", str(tmp_path / name)]) == 2
    assert "is not the name of a Parquet table" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_skins_and_a_skin_that_is_absent(tmp_path: Path, capsys) -> None:
    assert main(["worldsense", "skins", "check", str(tmp_path)]) == 2
    assert main(["worldsense", "preview", "--skin", "tal/short"]) == 2
    assert 'did you mean "tall/short"' in capsys.readouterr().err
    assert run(["preview", "--skin", "tall/short", "--size", "9"]) == 2


SMALL = ["generate", "ood-size", "--problems", "Infer.normal", "--per-cell", "1"]


def test_the_dialogues_do_not_go_into_the_table_s_file(tmp_path: Path, capsys) -> None:
    place = tmp_path / "both.jsonl.gz"
    assert (
        run([*SMALL, "--out", str(place), "--dialogues-out", str(tmp_path / "." / "both.jsonl.gz")])
        == 2
    )
    assert "one would overwrite the other" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_empty_cells_are_counted_in_the_log(tmp_path: Path, capsys) -> None:
    few = [
        "--sizes",
        "4",
        "--problems",
        "Consist.trivial",
        "--skins",
        "tall/short",
        "--per-cell",
        "1",
    ]
    assert run(["generate", "test", *few, "--out", str(tmp_path / "t.parquet")]) == 0
    assert (
        "1 cell of the set is empty (there is no such problem): Consist.trivial"
        in capsys.readouterr().err
    )


def test_a_changed_page_of_a_table_is_noticed(tmp_path: Path, capsys) -> None:
    place, exported = tmp_path / "t.parquet", tmp_path / "t.jsonl"
    assert run([*SMALL, "--out", str(place)]) == 0
    assert run(["export", str(place), "--out", str(exported)]) == 0
    before = exported.read_bytes()
    content = bytearray(place.read_bytes())
    content[len(content) // 3] ^= 0xFF
    place.write_bytes(content)
    capsys.readouterr()
    for command in (["audit", str(place)], ["export", str(place), "--out", str(exported)]):
        assert run(command) == 2
        error = capsys.readouterr().err
        assert f"error: {place}" in error
        assert "damaged" in error
    assert exported.read_bytes() == before


def test_a_killed_process_is_reported_and_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures.process import BrokenProcessPool

    from worldprobe.benchmarks.worldsense.skins.skins import read_skins
    from worldprobe.benchmarks.worldsense.trials import sets

    class Killed:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> "Killed":
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, *_: object) -> None:
            raise BrokenProcessPool("killed")

    monkeypatch.setattr(sets, "ProcessPoolExecutor", Killed)
    plan = sets.plan_set("ood-size", per_cell=1)
    with pytest.raises(UserError, match="killed"):
        list(sets.stream_set(plan, sets.blocks_of(plan, read_skins()), 0, 2))


def test_an_incomplete_tuple_is_not_exported(tmp_path: Path, capsys) -> None:
    table = small_table(tmp_path)
    change_table(table, lambda frame: frame[frame["number"] != 3])
    assert run(["export", str(table), "--out", str(tmp_path / "made.jsonl")]) == 2
    assert "1 trial" in capsys.readouterr().err
    assert not (tmp_path / "made.jsonl").exists()


def small_table(folder: Path) -> Path:
    """A table of some trials of ours."""
    path = folder / "small.parquet"
    few = ["--sizes", "3", "--problems", "Infer.normal", "--skins", "tall/short", "--per-cell", "1"]
    assert run(["generate", "test", *few, "--out", str(path)]) == 0
    return path


def change_table(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Change rows of a table; what it says of itself stays."""
    table = parquet.read_table(path)
    frame = change(table.to_pandas())
    parquet.write_table(arrow.Table.from_pandas(frame, table.schema, preserve_index=False), path)
