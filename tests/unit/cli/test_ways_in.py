"""What a newcomer meets first: a start for a configuration, names to choose from, several models."""

from types import SimpleNamespace

import pytest
from cyclopts import App

from command_line import run
from worldprobe.cli import evaluate
from worldprobe.cli.analysis import answers_of_folders
from worldprobe.cli.report import declared_displays
from worldprobe.errors import UserError


def test_a_new_configuration_is_one_that_can_be_run(tmp_path, capsys):
    file = tmp_path / "my.yaml"
    assert run(f"config new {file}") == 0
    assert str(file) in file.read_text()
    assert run(f"config check {file}") == 0
    assert "no problem found" in capsys.readouterr().out
    assert run(f"config new {file}") == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["table", "figure"])
def test_the_names_of_tables_and_figures_can_be_listed(kind, capsys):
    """newcomer3, 20: only an error named them."""
    assert run(f"{kind} --list") == 0
    printed = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert printed >= {display.name for display in declared_displays() if display.kind == kind}
    assert run(kind) == 2
    assert f"worldprobe {kind} --list" in capsys.readouterr().err


def test_the_shell_can_be_taught_to_complete_commands(monkeypatch, capsys):
    monkeypatch.setattr(App, "install_completion", lambda _, shell: f"a file for {shell}")
    assert run("config completion --shell bash") == 0
    assert "a file for bash" in capsys.readouterr().out


def test_folders_of_results_stand_for_the_answers_in_them(tmp_path):
    for name in (
        "a/ewok/judgements",
        "a/ewok/responses",
        "a/worldsense/responses",
        "a/worldsense/trials",
        "b/ewok/judgements",
        "b/worldsense/responses",
        "c/traits/scores",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.parquet").touch()
    a, b, c = (tmp_path / name for name in "abc")
    assert answers_of_folders([a, b]) == {
        "ewok": ([folder / "ewok/judgements.parquet" for folder in (a, b)], []),
        "worldsense": (
            [folder / "worldsense/responses.parquet" for folder in (a, b)],
            [a / "worldsense/trials.parquet"],
        ),
    }
    assert list(answers_of_folders([a / "ewok", b])) == ["ewok"]
    with pytest.raises(UserError, match="none of the benchmarks"):
        answers_of_folders([a, c])
    with pytest.raises(UserError, match="no answers"):
        answers_of_folders([a, tmp_path / "d"])


def test_several_models_are_evaluated_one_after_the_other(monkeypatch, capsys):
    asked = []

    def one(model, *_):
        if model == "d":
            raise UserError("d", "is no model.", "Name another.")
        return SimpleNamespace(model=model, expected=[], skipped=[])

    def ask(prepared, *_):
        asked.append(prepared.model)
        if prepared.model == "b":
            raise UserError("b", "is broken.", "Repair it.")

    monkeypatch.setattr(evaluate, "prepare", one)
    monkeypatch.setattr(evaluate, "evaluate_prepared", ask)
    assert run("evaluate d a b c --limit 5") == 2
    assert asked == ["a", "b", "c"]
    said = capsys.readouterr().err
    assert "is broken" in said
    assert "is no model" in said
    assert run("evaluate a b --work here") == 2
    assert "--work" in capsys.readouterr().err
