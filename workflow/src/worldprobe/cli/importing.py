"""``import``: results that EWoK's authors released, or that lm-evaluation-harness logged, and people's ratings."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

from worldprobe.cli.arguments import number
from worldprobe.cli.reading_materials import PASSWORD_HELP
from worldprobe.cli.reading_samples import add_samples_arguments, describe_samples, made_by_lm_eval

#: Versions of the computations.
RELEASED_METHOD = 1
RATINGS_METHOD = 2
SAMPLES_METHOD = 1


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    stage = stages.add_parser("import", help="results of EWoK's authors or of lm-evaluation-harness, and people's ratings")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)
    results = actions.add_parser(
        "released",
        help="the authors' released results, with the paper's exclusion steps",
        description=(
            "Reads one CSV per domain under dataset-cfg=.../eval=.../model=..., human ratings and controls, from a folder or a "
            "ZIP, and applies the released analysis's steps, printing rows in and out: recode_contrasts, check_versions, "
            "drop_duplicates, require_human, exclude_flagged, reverse_flagged, drop_unreleased."
        ),
    )
    results.add_argument("source", type=Path, metavar="FOLDER_OR_ZIP", help="released results")
    results.add_argument("--password", metavar="PASSWORD", help=PASSWORD_HELP)
    results.add_argument("--skip", nargs="+", default=[], metavar="STEP", help="steps to leave out")
    results.add_argument(
        "--flagged", type=Path, metavar="CSV", help="list of items flagged in human review (default: the one in the release)"
    )
    results.add_argument("--removed", type=Path, metavar="CSV", help="list of items to remove (default: the one in the release)")
    results.add_argument(
        "--surface-out", type=Path, metavar="FILE", help="surface features table, where the release has controls"
    )
    results.add_argument("--out", type=Path, required=True, metavar="FILE", help="judgements table of all models and eval types")
    results.set_defaults(run=import_results)
    ratings = actions.add_parser(
        "human-ratings",
        help="people's ratings from a CSV, averaged over raters",
        description=(
            "CSV, long: columns item_id, target, context, rating, a row per rating (optional: rater); ratings of the same "
            "question are averaged. Or wide: item_id or the four texts, and response_mean_target1_context1 to "
            "response_mean_target2_context2, a row per item."
        ),
    )
    ratings.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    ratings.add_argument("ratings", type=Path, metavar="CSV", help="people's ratings")
    ratings.add_argument(
        "--scale",
        type=number(-1e9, 1e9),
        nargs=2,
        default=(1.0, 5.0),
        metavar=("LOWEST", "HIGHEST"),
        help="the scale that people used; other ratings are refused (default: 1 5)",
    )
    ratings.add_argument("--out", type=Path, required=True, metavar="FILE", help="ratings table, which `judge` takes like scores")
    ratings.set_defaults(run=import_ratings)
    samples = actions.add_parser(
        "lm-eval",
        help="log probabilities that lm-evaluation-harness logged of a task of `items export --format lm-eval`",
        description=describe_samples("items"),
    )
    samples.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    add_samples_arguments(samples)
    samples.add_argument("--out", type=Path, required=True, metavar="FILE", help="table of target scores, for `judge`")
    samples.set_defaults(run=import_samples)


def import_results(args: argparse.Namespace) -> None:
    """Read the release, apply the steps, print their effects, write the tables."""
    from dataclasses import asdict

    from worldprobe.benchmarks.ewok.analysis.released import FLAGGED, REMOVED, apply_steps, read_listing, read_release
    from worldprobe.benchmarks.ewok.contracts import Judgements, SurfaceFeatures
    from worldprobe.contracts import write_table
    from worldprobe.errors import UserError
    from worldprobe.provenance import made

    lists = {name: path for name, path in (("flagged", args.flagged), ("removed", args.removed)) if path}
    release = read_release(args.source, args.password or os.environ.get("WORLDPROBE_MATERIALS_PASSWORD"))
    if args.flagged:
        release.flagged = read_listing(args.flagged, FLAGGED)
    if args.removed:
        release.removed = read_listing(args.removed, REMOVED)
    judgements, surface, effects = apply_steps(release, args.skip)
    for effect in effects:
        print(effect)
    provenance = made(
        RELEASED_METHOD,
        {"release": args.source} | lists,
        ["numpy", "pandas"],
        details={"imported": "ewok-results", "steps": [asdict(e) for e in effects], "unread": release.unread},
    )
    if args.surface_out:
        if surface.empty:
            raise UserError(args.source, "has no surface features (eval=controls).", "Leave out --surface-out.")
        write_table(surface, SurfaceFeatures, args.surface_out, provenance)
    write_table(judgements, Judgements, args.out, provenance)


def import_ratings(args: argparse.Namespace) -> None:
    """Match ratings to items and write them."""
    from worldprobe.benchmarks.ewok.contracts import Items, Ratings
    from worldprobe.benchmarks.ewok.ratings import read_ratings
    from worldprobe.contracts import read_table, write_table
    from worldprobe.errors import UserError
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    lowest, highest = args.scale
    if not -math.inf < lowest < highest < math.inf:
        raise UserError("--scale", f"{lowest:g} to {highest:g} is not a scale.", "Give the lowest rating, then the highest.")
    items = read_table(args.items, Items)
    matched = read_ratings(args.ratings, items, (lowest, highest))
    if not matched.table["rating"].notna().any():
        raise UserError(
            args.ratings, "contains no rating of these items.", "Fill in its ratings, or give the items that were rated."
        )
    provenance = made(
        RATINGS_METHOD,
        {"items": args.items, "ratings": args.ratings},
        ["pandas"],
        model="human",
        details={
            "scale": [lowest, highest],
            "n_ratings": matched.n_ratings,
            "n_unknown_items": matched.n_unknown,
            "n_unrated_items": matched.n_unrated,
        },
    )
    write_table(matched.table, Ratings, args.out, provenance)
    questions = matched.table["rating"].notna().sum()
    LOGGER.info(
        "%d ratings of %d questions about %d items; %d items of the file are not in the items table, %d of the table not rated",
        matched.n_ratings,
        questions,
        matched.table["item_id"].nunique(),
        matched.n_unknown,
        matched.n_unrated,
    )


def import_samples(args: argparse.Namespace) -> None:
    """Check that the samples are of these items, and write them as target scores."""
    from worldprobe.benchmarks.ewok.contracts import Items, TargetScores
    from worldprobe.benchmarks.ewok.exports.lm_eval_task import BENCHMARK, read_target_scores
    from worldprobe.contracts import read_table, write_table
    from worldprobe.inference.lm_eval import read_run

    run = read_run(args.samples, BENCHMARK)
    scores = read_target_scores(run, read_table(args.items, Items))
    made = made_by_lm_eval(run, SAMPLES_METHOD, args.model, args.out, {"items": args.items})
    write_table(scores, TargetScores, args.out, made)
