"""``human simulate`` and ``human clean``: answers, drawn or given by people, to ratings of items."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import add_seed_argument, number, positive, share, whole_number
from worldprobe.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from worldprobe.human.cleaning import Cleaned

#: Bumped when the same files and options give other numbers.
METHOD = 2
STEPS = ("returned", "incomplete", "duplicates", "invalid_answer", "failed_catch", "too_fast", "isc", "minimum")
KINDS = ("reversed", "random", "constant", "straight_liner", "fast")


def add_simulate_parser(actions: argparse._SubParsersAction) -> None:
    """Add ``human simulate``."""
    parser = actions.add_parser(
        "simulate",
        help="simulate people with known noise, and write their answers like an export",
        description="Good raters give the expected answer, except for a share of guesses; others guess, or give one answer to "
        "everything.",
    )
    add = parser.add_argument
    add("lists", type=Path, metavar="LISTS", help="lists table")
    add("--key", type=Path, required=True, metavar="FILE", help="answer key of these lists")
    add("--people-per-list", type=whole_number(1, 1000), default=5, metavar="N", help="people who take each list")
    add("--noise", type=number(0, 1), default=0.22, metavar="SHARE", help="share of a good rater's answers that are guesses")
    add(
        "--domain-noise",
        type=_name_and_share,
        nargs="+",
        default=[],
        metavar="DOMAIN=SHARE",
        help="share of guesses in a domain, where it differs (default: none)",
    )
    add(
        "--kinds",
        type=_name_and_share,
        nargs="+",
        default=[],
        metavar="KIND=SHARE",
        help=f"share of people of another kind: {', '.join(KINDS)} (default: all are good)",
    )
    add("--abandon", type=share, default=0.0, metavar="SHARE", help="share of the people who leave before the end")
    add_seed_argument(parser, "the answers")
    add("--out", type=Path, required=True, metavar="FOLDER", help="export, as `human export` writes it")
    parser.set_defaults(run=run_simulate)


def add_clean_parser(actions: argparse._SubParsersAction) -> None:
    """Add ``human clean``."""
    parser = actions.add_parser(
        "clean",
        help="turn an export into ratings of items, in named and counted steps",
        description=(
            "Steps, in this order: "
            + ", ".join(STEPS)
            + ". Decide this after payment: that answers are left out here is not a reason to refuse anybody's pay."
        ),
    )
    add = parser.add_argument
    add("export", type=Path, metavar="EXPORT", help="folder that `human export` or `human simulate` wrote")
    add("--key", type=Path, required=True, metavar="FILE", help="answer key of the lists that were shown")
    add("--skip", nargs="+", choices=STEPS, default=[], metavar="STEP", help=f"steps to leave out: {', '.join(STEPS)}")
    add(
        "--failed-catch",
        type=whole_number(0, 20),
        default=2,
        metavar="N",
        help="leave out sessions with this many failed catch trials; 0: never",
    )
    add(
        "--too-fast",
        type=number(0, 1e7),
        default=0.0,
        metavar="MS",
        help="lowest median time per answer, in milliseconds; 0: no limit",
    )
    add("--isc", type=number(-1, 1), default=0.3, metavar="R", help="lowest correlation of a person with the mean of the others")
    add(
        "--passes",
        type=whole_number(0, 1000),
        default=0,
        metavar="N",
        help="largest number of passes of the step isc; 0: until nobody is below the limit",
    )
    add(
        "--min-corated",
        type=whole_number(3, 1000),
        default=5,
        metavar="N",
        help="number of answers in common with others that a correlation needs",
    )
    add(
        "--minimum",
        type=positive,
        default=5,
        metavar="N",
        help="number of answers that a sub-item should have; those with fewer are listed",
    )
    add(
        "--drop-below-minimum",
        action="store_true",
        help="leave out sub-items with fewer answers than --minimum (default: they are kept)",
    )
    add("--steps-out", type=Path, metavar="FILE", help="table of what each step left out")
    add("--raters-out", type=Path, metavar="FILE", help="table of each person's correlation and exclusion")
    add("--excluded-out", type=Path, metavar="FILE", help="table of the people whose answers do not count, for `human reopen`")
    add("--sub-items-out", type=Path, metavar="FILE", help="table of answers per sub-item")
    add("--answers-out", type=Path, metavar="FILE", help="table of the answers that count, for `human agreement`")
    add("--people-out", type=Path, metavar="FILE", help="table of people's age, gender, country and first language, as counts")
    add("--out", type=Path, required=True, metavar="FILE", help="ratings table, which `judge` takes like scores")
    parser.set_defaults(run=run_clean)


def run_simulate(args: argparse.Namespace) -> None:
    """Draw everybody's answers and write them as an export."""
    from worldprobe.files import whole_folder
    from worldprobe.human.exports import read_key, read_lists, write_export
    from worldprobe.human.simulation import Crowd, simulate
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    trials, digest = read_lists(args.lists)
    key, key_digest = read_key(args.key)
    if key_digest != digest:
        raise UserError(args.key, "is the key of other lists.", "Give the key that was made with these lists.")
    shares, noise = (
        _named("--kinds", args.kinds, KINDS),
        _named("--domain-noise", args.domain_noise, set(trials["domain"].dropna())),
    )
    if sum(shares.values()) > 1:
        raise UserError("--kinds", f"the shares add up to {sum(shares.values()):g}.", "Give shares that add up to 1 or less.")
    crowd = Crowd(args.people_per_list, args.noise, noise, shares, args.abandon, args.seed)
    export, people = simulate(trials, key, digest, crowd)
    counts = people["person_kind"].value_counts().sort_index()
    details = {
        "is_simulated": True,
        "lists_digest": digest,
        "noise": args.noise,
        "domain_noise": noise,
        "kinds": {str(kind): int(n) for kind, n in counts.items()},
        "abandon": args.abandon,
    }
    inputs = {"lists": args.lists, "key": args.key}
    with whole_folder(args.out, "human simulate") as folder:
        write_export(folder, export, made(METHOD, inputs, ["numpy", "pandas"], seed=args.seed, details=details))
    LOGGER.info("%d simulated people (%s) gave %d answers", len(people), _in_words(details["kinds"]), len(export.raw))


def run_clean(args: argparse.Namespace) -> None:
    """Check the export, apply the steps, write what is left."""
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of
    from worldprobe.benchmarks.ewok.contracts import Ratings
    from worldprobe.benchmarks.ewok.human.questions import rate_items
    from worldprobe.contracts import write_table
    from worldprobe.human.cleaning import Rules, check_export, clean, count_people, read_answers
    from worldprobe.human.contracts import CleanAnswers, CleaningSteps, PeopleCounts, Raters, SubItems
    from worldprobe.human.exports import read_export, read_key
    from worldprobe.provenance import made

    export = read_export(args.export)
    key, digest = read_key(args.key)
    check_export(export.raw, export.participants, key, digest)
    rules = Rules(
        skip=tuple(step for step in STEPS if step in args.skip),
        failed_catch=args.failed_catch or None,
        too_fast_ms=args.too_fast or None,
        isc=args.isc,
        passes=args.passes or None,
        min_corated=args.min_corated,
        minimum=args.minimum,
        drop_below_minimum=args.drop_below_minimum,
    )
    cleaned = clean(read_answers(export.raw, key), export.participants, key, rules)
    _report(cleaned, rules.minimum)
    if cleaned.answers.empty:
        fix = "See in the lines above which step leaves them out, and --skip it."
        raise UserError(args.export, "no answers are left after cleaning.", fix)
    inputs = {"export": args.export, "key": args.key}
    steps = [f"{row.step}: {row.n_ratings_before} to {row.n_ratings_after}" for row in cleaned.steps.itertuples()]
    details = items_of([args.key]) | {
        "lists_digest": digest,
        "scale": [1, 5],
        "steps": steps,
        "isc": {"threshold": args.isc, "passes": args.passes, "min_corated": args.min_corated, "is_settled": cleaned.is_settled},
        "skipped": list(rules.skip),
        "minimum": args.minimum,
        "n_ratings": len(cleaned.answers),
        "n_people": int(cleaned.answers["participant"].nunique()),
    }
    provenance = made(METHOD, inputs, ["numpy", "pandas"], model="human", details=details)
    columns = list(CleanAnswers.columns)
    for path, frame, contract in (
        (args.steps_out, cleaned.steps, CleaningSteps),
        (args.raters_out, cleaned.raters, Raters),
        (args.excluded_out, cleaned.raters[cleaned.raters["excluded_by"] != ""], Raters),
        (args.sub_items_out, cleaned.sub_items, SubItems),
        (
            args.answers_out,
            cleaned.answers.astype({"answer": "int64", "value": "int64", "expected": "int64"})[columns],
            CleanAnswers,
        ),
    ):
        if path:
            write_table(frame, contract, path, provenance)
    if args.people_out:
        kept = cleaned.answers["participant"].unique()
        write_table(count_people(kept, export.demographics), PeopleCounts, args.people_out, provenance)
    write_table(rate_items(cleaned.answers, key), Ratings, args.out, provenance)


def _report(cleaned: Cleaned, minimum: int) -> None:
    """Log every step, every correlation that is not defined, and every sub-item with too few answers, as counts."""
    from worldprobe.log import LOGGER

    for row in cleaned.steps.to_dict("records"):
        name = f"{row['step']}, pass {row['pass_number']}" if row["pass_number"] else row["step"]
        if row["is_on"]:
            n_people, n_ratings = row["n_people_after"], row["n_ratings_after"]
            people, ratings = row["n_people_before"] - n_people, row["n_ratings_before"] - n_ratings
            LOGGER.info("%s: %d people and %d ratings left out, %d and %d kept", name, people, ratings, n_people, n_ratings)
        else:
            LOGGER.info("%s: off", name)
    if not cleaned.is_settled:
        LOGGER.warning("isc: the last pass still left somebody out; with more passes others might go too")
    undefined = cleaned.raters.loc[~cleaned.raters["isc_status"].isin(["defined", "not_measured"]), "isc_status"].value_counts()
    if len(undefined):
        LOGGER.warning("correlation not defined: %s", _in_words({str(name): int(n) for name, n in undefined.items()}))
    states = cleaned.sub_items["status"].value_counts()
    few, none = int(states.get("below_minimum", 0)), int(states.get("missing", 0))
    if few or none:
        LOGGER.warning(
            "%d of %d sub-items have fewer than %d answers, and %d have none", few, len(cleaned.sub_items), minimum, none
        )


def _name_and_share(text: str) -> tuple[str, float]:
    name, sign, value = text.partition("=")
    if not (name.strip() and sign):
        raise argparse.ArgumentTypeError(f'"{text}" is not of the form NAME=SHARE')
    return name.strip(), number(0, 1)(value)


def _named(option: str, pairs: list[tuple[str, float]], known: tuple[str, ...] | set[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in pairs:
        if name not in known:
            problem = f'"{name}" is unknown{did_you_mean(name, known)}'
            raise UserError(option, problem, f"Choose among: {', '.join(sorted(known))}.")
        if name in found:
            raise UserError(option, f"names {name} twice.", "Name it once.")
        found[name] = value
    return dict(sorted(found.items()))


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items())
