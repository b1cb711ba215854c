"""Answers to several sets of trials, summarised and compared by the shared commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_line import run
from worldprobe.benchmarks.worldsense.contracts import Comparisons, Responses, Summaries, Trials
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.contracts import read_provenance, read_table, write_table

SETS = ("test", "ood-size")
RULE = "--model rule_{0} --checkpoint {0} --engine rule --prompting basic"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets of trials, two rules' responses to each, and official results of a model."""
    home = tmp_path_factory.mktemp("answers")
    for name in SETS:
        trials = home / f"{name}.parquet"
        assert run(f"worldsense generate {name} --per-cell 1 --sample 150 --out {trials}") == 0
        for rule in ("counting", "together"):
            out = home / f"{name}_{rule}.parquet"
            assert run(f"worldsense ask {trials} {RULE.format(rule)} --out {out}") == 0
        rows = read_table(trials, Trials)
        lines = [
            {"Key": int(key), "resp": ANSWER_OF[gold]}
            for key, gold in zip(rows["trial_id"], rows["gold"], strict=True)
        ]
        official = home / name / "basic___right___results.jsonl"
        official.parent.mkdir()
        official.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def answers(folder: Path, *names: str) -> str:
    return " ".join(str(folder / f"{name}_counting.parquet") for name in names)


@pytest.mark.long
def test_each_file_is_of_the_set_whose_trials_it_answers(folder: Path, tmp_path: Path) -> None:
    """By digest, and official results by their trials, in any order."""
    out, pairs = tmp_path / "summaries.parquet", tmp_path / "comparisons.parquet"
    files = " ".join(map(str, sorted(folder.glob("*_*.parquet"), reverse=True)))
    official = " ".join(str(folder / name / "basic___right___results.jsonl") for name in SETS)
    line = f"{official} {files} --sets {folder}/test.parquet {folder}/ood-size.parquet"
    assert run(f"summarize {line} --out {out}") == 0
    assert run(f"compare {line} --out {pairs}") == 0
    overall = read_table(out, Summaries).query("grouping == 'overall' and metric == 'accuracy'")
    assert set(zip(overall["condition"], overall["model"], strict=True)) == {
        (name, model) for name in SETS for model in ("right", "rule_counting", "rule_together")
    }
    assert (overall.loc[overall["model"] == "right", "mean"] == 1).all()
    made = read_provenance(out)
    assert len(made.inputs) == 8
    assert [row["set"] for row in made.details["answers"]] == [*SETS[:1]] * 3 + [*SETS[1:]] * 3
    assert set(read_table(pairs, Comparisons)["condition_a"]) == {*SETS}


@pytest.mark.long
def test_responses_to_trials_that_were_made_again_are_found_by_their_trials(
    folder: Path, tmp_path: Path
) -> None:
    """Their digest is another file's."""
    sets = []
    for name in SETS:
        source, copy = folder / f"{name}.parquet", tmp_path / f"{name}.parquet"
        made = read_provenance(source)
        made.details["more"] = "so that the bytes differ"
        write_table(read_table(source, Trials), Trials, copy, made)
        sets.append(str(copy))
    out = tmp_path / "summaries.parquet"
    line = f"summarize {answers(folder, *SETS)} --sets {' '.join(sets)} --out {out}"
    assert run(line) == 0
    assert set(read_table(out, Summaries)["condition"]) == {*SETS}


@pytest.mark.long
def test_a_set_is_called_what_one_says(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "summaries.parquet"
    trials = f"mine={folder}/test.parquet"
    assert run(f"summarize {answers(folder, 'test')} --sets {trials} --out {out}") == 0
    assert set(read_table(out, Summaries)["condition"]) == {"mine"}


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ("", "--sets is missing"),
        ("{0}/test.parquet {0}/ood-size.parquet", "ood-size.parquet has no answers here"),
        ("{0}/test.parquet test={0}/ood-size.parquet", "are both called test"),
        ("{0}/trials.jsonl", "does not say which set"),
        ("test=", '"test=" names no file'),
    ],
)
def test_trials_that_cannot_be_told_apart_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], trials: str, said: str
) -> None:
    given = f"--sets {trials.format(folder)}" if trials else ""
    line = f"summarize {answers(folder, 'test')} {given} --out {tmp_path / 'x.parquet'}"
    assert run(line) == 2
    assert said in " ".join(capsys.readouterr().err.replace("problem:", "").split())


@pytest.mark.parametrize("command", ["summarize", "compare"])
def test_answers_of_one_model_in_two_files_are_refused_with_both_names(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    copy = tmp_path / "copy.parquet"
    shutil.copy(folder / "test_counting.parquet", copy)
    line = f"{command} {answers(folder, 'test')} {copy} --sets {folder}/test.parquet"
    assert run(f"{line} --out {tmp_path / 'x.parquet'}") == 2
    said = capsys.readouterr().err
    assert f"{copy}\n" in said
    assert f"as {answers(folder, 'test')} does" in said


def test_answers_of_one_model_are_not_compared(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table without rows was written, which no command could read."""
    out = tmp_path / "comparisons.parquet"
    line = f"compare {answers(folder, *SETS)} --sets {folder}/test.parquet"
    assert run(f"{line} {folder}/ood-size.parquet --out {out}") == 2
    assert "fewer than two models" in capsys.readouterr().err
    assert not out.exists()


def test_models_that_were_asked_in_other_ways_have_a_table_that_says_so(
    folder: Path, tmp_path: Path
) -> None:
    source, other = folder / "test_together.parquet", tmp_path / "other.parquet"
    rows = read_table(source, Responses).assign(prompting="cot")
    write_table(rows, Responses, other, read_provenance(source))
    out, shown = tmp_path / "comparisons.parquet", tmp_path / "shown.md"
    line = f"compare {answers(folder, 'test')} {other} --sets {folder}/test.parquet"
    assert run(f"{line} --out {out}") == 0
    assert run(f"table worldsense_comparisons {out} --out {shown}") == 0
    assert "no two models answered the same trials" in shown.read_text()
    assert run(line) == 2


def test_an_option_of_another_benchmark_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{answers(folder, 'test')} --sets {folder}/test.parquet"
    assert run(f"compare {line} --metric pairing") == 2
    assert "--metric" in (said := capsys.readouterr().err)
    assert "which is WorldSense's" in said
    assert run(f"summarize {folder}/test.parquet --out {tmp_path / 'x.parquet'}") == 2
    assert "contains trials, not scores" in capsys.readouterr().err


def test_responses_say_which_trials_they_answer(folder: Path) -> None:
    path = folder / "test_counting.parquet"
    assert len(read_table(path, Responses)) == 150
    assert set(read_provenance(path).inputs) >= {"trials"}
