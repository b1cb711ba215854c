"""An option means one thing, whichever command takes it."""

import re
from collections import defaultdict
from functools import cache
from itertools import pairwise

import pytest
from cyclopts import Argument

from worldprobe.cli import build_app
from worldprobe.cli.parsing import arguments_of, commands


@cache
def options() -> dict[str, dict[str, Argument]]:
    """Option -> command -> what the command does with it."""
    found: dict[str, dict[str, Argument]] = defaultdict(dict)
    for words, app in commands(build_app()):
        for argument in arguments_of(app):
            if argument.name.startswith("--"):
                found[argument.name][words] = argument
    return found


def takes(argument: Argument) -> str:
    """What follows the option: nothing, values (one, or one for each of several inputs), or a fixed
    number of values.
    """
    if argument.hint is bool:
        return "nothing"
    fixed = re.match(r"tuple\[(.*)\]", str(argument.hint))
    return f"{len(fixed[1].split(','))} values" if fixed else "values"


def kind(argument: Argument) -> str:
    """The type of one value; words may be places, too, where a name is also taken."""
    found = re.search(r"int|float|bool|Literal|Path|str", str(argument.hint))
    assert found, argument.hint
    return "word" if found[0] in ("Path", "str", "Literal") else found[0]


@pytest.mark.long
def test_an_option_of_several_commands_means_the_same_in_each() -> None:
    several = {
        option: by_command for option, by_command in options().items() if len(by_command) > 1
    }
    assert len(several) > 30
    differing = []
    for option, by_command in several.items():
        meanings = {(takes(argument), kind(argument)) for argument in by_command.values()}
        if len(meanings) > 1:
            differing.append(f"{option}: {sorted(map(str, meanings))} in {sorted(by_command)}")
    assert not differing, "\n".join(differing)


@pytest.mark.long
def test_the_choices_of_an_option_are_taken_from_one_list() -> None:
    for option, by_command in options().items():
        if option == "--format":  # of items, and of results: each has other readers
            continue
        choices = [argument.get_choices() for argument in by_command.values()]
        offered = sorted({tuple(one) for one in choices if one}, key=len)
        for fewer, more in pairwise(offered):
            assert set(fewer) <= set(more), option


def test_no_option_offers_a_choice_twice() -> None:
    for option, by_command in options().items():
        for argument in by_command.values():
            choices = argument.get_choices() or ()
            assert len(set(choices)) == len(tuple(choices)), option


def test_help_says_no_default_twice() -> None:
    """It read "(default: logprobs) [default: logprobs]", and of a dictionary "[default: {}]"."""
    said = re.compile(r"\(default|default:|by default|default\)")
    twice, empty = [], []
    for option, by_command in options().items():
        for command, argument in by_command.items():
            show, default = argument.parameter.show_default, argument.field_info.default
            shown = show(default) if callable(show) else default if show else None
            if shown is not None and said.search(argument.parameter.help or ""):
                twice.append(f"{command} {option}")
            if shown in ("", (), [], {}):
                empty.append(f"{command} {option}")
    assert not twice, twice
    assert not empty, empty


def test_help_of_evaluate_has_its_options_in_groups_that_are_read_at_once() -> None:
    """Twenty-two stood below "The model"."""
    groups = [
        argument.parameter.group[0]
        for by_command in options().values()
        if (argument := by_command.get("evaluate")) and argument.parameter.group
    ]
    assert max(groups.count(group) for group in groups) <= 11
    assert len({str(group) for group in groups}) > 4
