"""What all commands share: paths are checked before any work, mistakes are brief and repeat no
secret, output may be closed.
"""

from contextlib import nullcontext
from inspect import signature
from typing import Annotated

import pytest
from cyclopts import Parameter

from worldprobe import cli
from worldprobe.cli import analysis, parsing
from worldprobe.errors import CombinedError, UserError


def run(capsys, *words):
    """Exit status and what was printed."""
    status = cli.main([str(word) for word in words])
    return status, capsys.readouterr().err


def test_a_misplaced_password_is_not_taken_for_a_stage_and_printed(capsys):
    status, message = run(capsys, "--password", "hunter2", "items", "build")
    assert status == 2
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "words",
    [
        ["items", "build", "x.zip", "--password", "m\udcfchunter2"],
        ["items", "build", "x.zip", "--password", "--hunter2"],
        ["items", "build", "x.zip", "--password=hunter2", "--compat=hunter2"],
        ["items", "--password", "hunter2"],
        ["evaluate", "http://me:hunter2@127.0.0.1:1/v1"],
        ["evaluate", "http://127.0.0.1:1/v1?api_key=hunter2"],
        ["evaluate", "http://127.0.0.1:1/v1", "--password", "hunter2"],
    ],
)
def test_a_password_is_printed_in_no_form(capsys, words):
    """A Latin-1 password was repeated as what is not UTF-8 (CWE-209)."""
    status, message = run(capsys, *words)
    assert status == 2
    assert "hunter2" not in message


def test_a_model_without_a_checkpoint_is_told_so(capsys):
    """It was a traceback, where another option of the model was given."""
    status, message = run(capsys, "score", "logprobs", "x.parquet", "--model", "a", "--out", "x")
    assert status == 2
    assert "problem: --checkpoint is missing.\n" in message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("new config x.yaml", 'did you mean "config new"?'),
        ("--limit 5 evaluate x", "Options follow their command: worldprobe evaluate --limit"),
        ("evaluate x --limit 5 y", "stand side by side, without an option between them"),
    ],
)
def test_words_in_a_wrong_order_are_answered_by_the_right_one(capsys, words, said):
    status, message = run(capsys, *words.split())
    assert status == 2
    assert said in message


@pytest.mark.parametrize(
    ("option", "value", "bound"),
    [("--per-cell", "0", "at least 1"), ("--sizes", "9", "at most 8")],
)
def test_a_number_out_of_bounds_is_told_its_bound(capsys, option, value, bound):
    """It said that YAML reads the number as a text, of an option --sizes.0."""
    status, message = run(capsys, "worldsense", "generate", "test", option, value, "--out", "x")
    assert status == 2
    assert f"error: {option}\n  problem: '{value}' should be {bound}.\n" in message


def test_a_default_of_several_values_is_shown_as_it_is_typed(capsys):
    """They read [default: ['likert']] and [default: (1,)]."""
    for words, default in ((["human", "lists"], "likert"), (["plan"], "1")):
        assert cli.main([*words, "--help"]) == 0
        assert f"[default: {default}]" in " ".join(capsys.readouterr().out.split())


def test_where_no_study_is_none_is_looked_at(capsys, tmp_path, monkeypatch):
    """It listed the control models of the default settings."""
    monkeypatch.chdir(tmp_path)
    status, message = run(capsys, "status")
    assert status == 2
    assert "config/config.yaml" in message


@pytest.mark.parametrize(
    "words",
    [
        "items fill x y --mode fixed --out fixed",
        "worldsense start-model x --architecture llama --out llama",
        "worldsense finetune x x --out basic",
        "explore x --title likert --out likert",
        "materials stats x --out folder",
        "compare-conditions --judgements a a.parquet --judgements b x --out a.parquet",
        "score all x --checkpoint y --eval-types y --prompts a.yaml --out a.yaml",
        "score logprobs x --checkpoint mine --out mine",
        "worldsense analyse x mine --out mine",
    ],
)
def test_an_output_may_be_named_as_a_setting_but_no_input(words, tmp_path, monkeypatch):
    """The second run with such a name was refused, and so was an empty folder; tables of conditions
    were overwritten.
    """
    monkeypatch.chdir(tmp_path)
    name = words.split()[-1]
    (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).touch()
    call = cli.parse(words.split())
    assert call
    with (
        pytest.raises(UserError, match="overwritten")
        if name in ("a.parquet", "a.yaml", "mine")
        else nullcontext()
    ):
        call.check_outputs()


def test_every_one_of_several_errors_is_printed_with_its_file(capsys, tmp_path, monkeypatch):
    def refuse(*_):
        raise CombinedError([UserError("summaries", f"{one}.", "Repair it.") for one in "ab"])

    file = tmp_path / "table.parquet"
    file.touch()
    monkeypatch.setattr(analysis, "benchmark_of", refuse)
    status = cli.main(["reproduction", "check", str(file), "--out", str(tmp_path / "out.parquet")])
    assert status == 2
    told = capsys.readouterr().err
    assert told.count(f"error: {file}\n") == 2
    assert "problem: b." in told


def test_a_help_text_makes_no_option_a_path():
    """A text whose help mentions a Path was taken for a file."""

    def command(name: Annotated[str, Parameter(help="Path is a class")]) -> None:
        """A command."""

    call = parsing.Call("command", command, signature(command).bind("x"))
    assert call.places == {"name": []}
