"""What all options of all commands have in common: a bounded type, and a help that can be read alone."""

import argparse
import re
from pathlib import Path

import pytest

from worldprobe.cli import build_parser
from worldprobe.cli.arguments import one_of, shipped_file
from worldprobe.cli.reading_materials import materials_place

ABSURD = ("99999999999999999999999", "-99999999999999999999999", "nan", "inf", "")
#: A help that begins so is the rest of a sentence that nobody has read.
FRAGMENT = re.compile(r"(\(|default|of |only |as |from |for |with |to |where the )", re.IGNORECASE)


def walk(parser, words=()):
    """Every command and group of commands: its words, its parser and its own line of help."""
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            lines = {entry.dest: entry.help for entry in group._choices_actions}
            for name, inner in group.choices.items():
                yield " ".join((*words, name)), inner, lines.get(name)
                yield from walk(inner, (*words, name))


COMMANDS = list(walk(build_parser()))
OPTIONS = [
    pytest.param(action, id=f"{words} {(action.option_strings or [action.dest])[-1]}")
    for words, parser, _ in COMMANDS
    for action in parser._actions
    if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
]


@pytest.mark.parametrize("action", OPTIONS)
def test_no_option_takes_an_absurd_number(action):
    assert action.type not in (int, float), "its type comes from cli/arguments.py, with the least and the largest value"
    if action.type in (None, Path, shipped_file, materials_place):
        return
    for text in ABSURD:
        with pytest.raises(argparse.ArgumentTypeError, match=f'"{re.escape(text)}"'):
            action.type(text)
    if isinstance(action.default, int | float):
        assert action.type(str(action.default)) == action.default


@pytest.mark.parametrize("action", OPTIONS)
def test_every_help_can_be_read_alone(action):
    assert action.help, "no help"
    assert not FRAGMENT.match(action.help), action.help
    assert len(action.help.split()) > 1, action.help
    assert not action.help.endswith((".", ";")), action.help
    assert ";;" not in action.help


@pytest.mark.parametrize(("words", "parser", "line"), COMMANDS, ids=[words for words, _, _ in COMMANDS])
def test_every_command_says_what_it_does(words, parser, line):
    assert line, "a line in the list of commands"
    assert not line.endswith(".")
    assert parser.description[0].isupper()
    assert parser.description.endswith((".", "?"))
    shown = parser.format_help()
    assert "%%" not in shown
    assert not re.search(r"(?<!\.)\b(csv|latex|html|pdf|png)\b", parser.description), parser.description


def test_registry_is_one_flag_everywhere():
    for words, parser, _ in COMMANDS:
        for action in parser._actions:
            if action.metavar == "FILE" and action.help and "registry" in action.help:
                assert action.option_strings == ["--registry"], words


def test_one_of_suggests_the_nearest_word():
    with pytest.raises(argparse.ArgumentTypeError, match='did you mean "mean"'):
        one_of(("mean", "sum"))("maen")
