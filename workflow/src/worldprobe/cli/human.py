"""``human``: a study with people, from lists to accuracy. The commands are in the modules ``human_*``."""

from __future__ import annotations

import argparse

from worldprobe.cli import human_agreement, human_answers, human_likeness, human_lists, human_survey


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """The stage and its actions, in the order of a study."""
    actions = stages.add_parser(
        "human", help="study with people: lists, survey, cleaning, agreement, likeness of models"
    ).add_subparsers(metavar="ACTION", required=True)
    human_lists.add_parsers(actions)
    human_survey.add_parsers(actions)
    human_answers.add_simulate_parser(actions)
    human_answers.add_clean_parser(actions)
    human_agreement.add_parsers(actions)
    human_likeness.add_parsers(actions)
