"""What all options of all commands have in common: a bounded type, and a help that can be read
alone.
"""

import re
from pathlib import Path

import pytest

from worldprobe.cli import STAGES, build_app, main
from worldprobe.cli.options import Bounds, between
from worldprobe.cli.parsing import arguments_of, commands

ABSURD = ("99999999999999999999999", "-99999999999999999999999", "nan", "inf", "")
#: A help that begins so is the rest of a sentence that nobody has read.
FRAGMENT = re.compile(r"(\(|default|of |only |as |from |for |with |to |where the )", re.IGNORECASE)


@pytest.fixture(scope="module")
def apps():
    return list(commands(build_app()))


@pytest.fixture(scope="module")
def options(apps):
    """Command and option -> what is known of it."""
    return {
        f"{words} {argument.name}": argument
        for words, app in apps
        for argument in arguments_of(app)
    }


def test_no_option_takes_an_absurd_number(options):
    numbers = {
        name: argument
        for name, argument in options.items()
        if re.search(r"\b(int|float)\b", str(argument.hint))
    }
    assert len(numbers) > 100
    for name, argument in numbers.items():
        bounds = argument.parameter.converter
        assert isinstance(bounds, Bounds), (
            f"{name}: cli/options.py declares numbers with the least and the largest value"
        )
        is_whole = "float" not in str(argument.hint)
        for text in ABSURD:
            with pytest.raises(ValueError, match=f'"{re.escape(text)}"'):
                bounds.read(text, is_whole)
        default = argument.field_info.default
        for one in default if isinstance(default, tuple) else [default]:
            if isinstance(one, int | float):
                assert bounds.read(str(one), is_whole) == one, name


def test_every_help_can_be_read_alone(options):
    for name, argument in options.items():
        told = argument.parameter.help
        assert told, name
        assert not FRAGMENT.match(told), f"{name}: {told}"
        assert len(told.split()) > 1, f"{name}: {told}"
        assert not told.endswith((".", ";")), f"{name}: {told}"


def test_every_command_says_what_it_does(apps):
    for words, app in apps:
        first = app.default_command.__doc__.partition("\n")[0]
        assert first[0].isupper(), words
        assert first.endswith((".", "?")), words
        assert not re.search(r"(?<!\.)\b(csv|latex|html|pdf|png)\b", first), f"{words}: {first}"


def test_every_stage_has_its_line(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for stage, (_, line) in STAGES.items():
        assert re.search(rf"^  {stage} +\w.*[^.]$", shown, re.MULTILINE), stage
        assert not line.endswith(".")


def test_registry_is_one_flag_everywhere(options):
    for name, argument in options.items():
        if (
            Path in (argument.hint, getattr(argument.hint, "__args__", ("",))[0])
            and "registry" in argument.parameter.help
        ):
            assert argument.name == "--registry", name


def test_a_number_is_whole_where_its_type_is(capsys, tmp_path):
    assert (
        main(["items", "build", "builtin", "--per-template", "1.5", "--out", str(tmp_path / "x")])
        == 2
    )
    assert '--per-template: "1.5" is not a whole number from 1 to 10000.' in capsys.readouterr().err


def test_bounds_are_included():
    assert [between(1, 3).converter.read(text, True) for text in "13"] == [1, 3]


def test_the_nearest_choice_is_suggested(capsys, tmp_path):
    assert main(["items", "build", "builtin", "--mode", "fixd", "--out", str(tmp_path / "x")]) == 2
    assert '--mode: "fixd" is unknown; did you mean "fixed"?' in capsys.readouterr().err
