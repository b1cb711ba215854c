"""``import human-ratings``: people's finished ratings of items."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App

from worldprobe.cli.options import PASSWORD_VARIABLE, between
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.provenance import made

RATINGS_METHOD = 2


def human_ratings(
    items: Path,
    ratings: Path,
    /,
    *,
    scale: Annotated[tuple[float, float], between(-1e9, 1e9)] = (1.0, 5.0),
    out: Path,
) -> None:
    """Import people's ratings from a CSV, averaged over raters.

    CSV, long: columns item_id, target, context, rating, a row per rating (optional: rater); ratings
    of the same question are averaged. Or wide: item_id or the four texts, and
    response_mean_target1_context1 to response_mean_target2_context2, a row per item.

    Args:
        items: items table
        ratings: people's ratings (CSV), or the .zip of the authors' results, whose password is
            read from WORLDPROBE_MATERIALS_PASSWORD
        scale: lowest and highest rating of the scale that people used; other ratings are refused
        out: ratings table, which `judge` takes like scores
    """
    from worldprobe.benchmarks.ewok.contracts import Items, Ratings
    from worldprobe.contracts import read_table, write_table
    from worldprobe_survey.ratings import read_ratings

    lowest, highest = scale
    if lowest >= highest:
        raise UserError(
            "--scale",
            f"{lowest:g} to {highest:g} is not a scale.",
            "Give the lowest rating, then the highest.",
        )
    password = os.environ.get(PASSWORD_VARIABLE)
    matched = read_ratings(ratings, read_table(items, Items), (lowest, highest), password)
    if not matched.table["rating"].notna().any():
        raise UserError(
            ratings,
            "contains no rating of these items.",
            "Fill in its ratings, or give the items that were rated.",
        )
    provenance = made(
        RATINGS_METHOD,
        {"items": items, "ratings": ratings},
        ["pandas"],
        model="human",
        details={
            "scale": [lowest, highest],
            "n_ratings": matched.n_ratings,
            "n_unknown_items": matched.n_unknown,
            "n_unrated_items": matched.n_unrated,
        },
    )
    write_table(matched.table, Ratings, out, provenance)
    questions = matched.table["rating"].notna().sum()
    LOGGER.info(
        "%d ratings of %d questions about %d items; %d items of the file are not in the items"
        " table, %d of the table not rated",
        matched.n_ratings,
        questions,
        matched.table["item_id"].nunique(),
        matched.n_unknown,
        matched.n_unrated,
    )


def add_commands(app: App) -> None:
    """Add the command to the stage ``import``."""
    app.command(human_ratings)
