"""Placeholder."""

import argparse


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Nothing yet."""
