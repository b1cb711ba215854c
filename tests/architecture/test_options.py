"""An option means one thing, whichever command takes it."""

import argparse
from collections import defaultdict
from itertools import pairwise

from worldprobe.cli import build_parser
from worldprobe.cli.parsing import leaves

#: Options whose values are called differently, and why.
CALLED_DIFFERENTLY = {"--out": "its values are called after what the command writes"}


def options() -> dict[str, dict[str, argparse.Action]]:
    """Option -> command -> what the command does with it."""
    found: dict[str, dict[str, argparse.Action]] = defaultdict(dict)
    for parser in leaves(build_parser()):
        for action in parser._actions:
            for option in action.option_strings:
                found[option][parser.prog] = action
    return found


def takes(action: argparse.Action) -> str:
    """What follows the option: nothing, values (one, or one for each of several inputs), or a fixed number of values."""
    if action.nargs in (None, "+", "*", "?"):
        return "values"
    return f"{action.nargs} values" if action.nargs else "nothing"


def test_an_option_of_several_commands_means_the_same_in_each() -> None:
    several = {option: by_command for option, by_command in options().items() if len(by_command) > 1}
    assert len(several) > 30
    differing = []
    for option, by_command in several.items():
        meanings = {
            (action.dest, takes(action), getattr(action.type, "__qualname__", action.type)) for action in by_command.values()
        }
        names = {str(action.metavar) for action in by_command.values() if not action.choices}
        if len(meanings) > 1 or (len(names) > 1 and option not in CALLED_DIFFERENTLY):
            differing.append(f"{option}: {sorted(map(str, meanings | names))} in {sorted(by_command)}")
    assert not differing, "\n".join(differing)


def test_the_choices_of_an_option_are_taken_from_one_list() -> None:
    for option, by_command in options().items():
        if option == "--format":  # of items, and of results: each has other readers
            continue
        offered = sorted({tuple(action.choices) for action in by_command.values() if action.choices}, key=len)
        for fewer, more in pairwise(offered):
            assert set(fewer) <= set(more), option


def test_no_option_offers_a_choice_twice() -> None:
    for option, by_command in options().items():
        for action in by_command.values():
            assert len(set(action.choices or ())) == len(tuple(action.choices or ())), option
