"""``human lists``: items to lists of questions for people, with the answer key apart."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import add_seed_argument, number, positive, whole_number
from worldprobe.errors import UserError

if TYPE_CHECKING:
    from worldprobe.human.lists import Layout, Lists

#: Bumped when the same items and options give other lists.
METHOD = 3
_PARADIGMS = ("likert", "choice")


def add_parsers(actions: argparse._SubParsersAction) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "lists",
        help="deal the questions to lists, one per person, and write the answer key",
        description=(
            "Every sentence is asked in one list of a round; nobody sees a template twice; each list has as many plausible as "
            "implausible trials (within 1), and its share of versions and domains. The survey needs the lists, but never the key."
        ),
    )
    add = parser.add_argument
    add("items", type=Path, metavar="ITEMS", help="items table")
    add(
        "--paradigms",
        nargs="+",
        choices=_PARADIGMS,
        default=["likert"],
        metavar="PARADIGM",
        help="ways of asking: likert, choice or both",
    )
    add(
        "--unit",
        choices=("template", "meta_template", "shared_text"),
        default="template",
        help="what nobody sees twice: a template, all templates of one target and context, or all that share a sentence",
    )
    add("--per-domain", action="store_true", help="a list is of one domain, as in the paper (default: each has all domains)")
    add(
        "--length",
        type=positive,
        nargs=2,
        default=(40, 80),
        metavar=("SHORTEST", "LONGEST"),
        help="number of trials of a list; none is longer, shorter ones are reported (default: 40 80)",
    )
    add(
        "--catch",
        type=whole_number(0, 20),
        default=2,
        metavar="N",
        help="number of catch trials in each list; the paper had none",
    )
    add("--rounds", type=whole_number(1, 100), default=1, metavar="N", help="ask everything N times, each time in other lists")
    add_seed_argument(parser, "the lists")
    add("--plan", action="store_true", help="print the people, time and money needed; without --out nothing is written")
    add(
        "--ratings", type=whole_number(1, 1000), default=5, metavar="N", help="ratings that each sub-item should have, for --plan"
    )
    add("--wage", type=number(0, 1e6), default=12.0, metavar="PAY", help="pay per hour, in any currency, for --plan")
    add("--key-out", type=Path, metavar="FILE", help="answer key; keep it away from the survey (needed with --out)")
    add("--balance-out", type=Path, metavar="FILE", help="table of how balanced each list is")
    add("--out", type=Path, metavar="FILE", help="lists table, for the survey (needed without --plan)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Deal, report, and write what was asked for."""
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.human.questions import ask_people
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.human.contracts import ListBalance, ListKeys, StudyLists
    from worldprobe.human.lists import Layout, build_lists, digest_lists, plan_study
    from worldprobe.provenance import made

    _check_arguments(args)
    shortest, longest = args.length
    layout = Layout(args.per_domain, shortest, longest, args.catch, args.rounds, args.seed)
    paradigms = [one for one in _PARADIGMS if one in args.paradigms]
    lists = build_lists(ask_people(read_table(args.items, Items), paradigms, args.unit), layout, args.unit)
    _report(lists, layout)
    if args.plan:
        for plan in plan_study(lists.balance, args.ratings, args.wage):
            print("\n".join(plan.lines()))
    if args.out is None:
        return
    digest = digest_lists(lists.trials)
    details = {
        "lists_digest": digest,
        "paradigms": paradigms,
        "unit": args.unit,
        "per_domain": args.per_domain,
        "length": [shortest, longest],
        "n_catch": args.catch,
        "rounds": args.rounds,
        "n_shared_questions": lists.n_shared,
        "n_contradictory_questions": lists.n_contradictory,
    }
    packages = ["numpy", "pandas"]
    known = made(METHOD, {"items": args.items}, packages, seed=args.seed, details=details)
    with_texts = made(
        METHOD, {"items": args.items}, packages, seed=args.seed, details=details, canary=read_provenance(args.items).canary
    )
    write_table(lists.key, ListKeys, args.key_out, known)
    if args.balance_out:
        write_table(lists.balance, ListBalance, args.balance_out, known)
    write_table(lists.trials, StudyLists, args.out, with_texts)


def _check_arguments(args: argparse.Namespace) -> None:
    shortest, longest = args.length
    if shortest > longest:
        raise UserError("--length", f"{shortest} is more than {longest}.", f"Write --length {longest} {shortest}.")
    if args.out is None and not args.plan:
        raise UserError("--out", "is missing.", "Name the file of the lists, or give --plan to see what they would be.")
    if args.out is not None and args.key_out is None:
        raise UserError("--key-out", "is missing.", "Name a file for the answer key, apart from the lists: cleaning needs it.")
    if args.out is None and (args.key_out or args.balance_out):
        raise UserError("--out", "is missing.", "Name the file of the lists as well, or leave out the other files.")


def _report(lists: Lists, layout: Layout) -> None:
    """Log how many lists there are, how even they are, and which are shorter than was wanted."""
    from worldprobe.log import LOGGER

    for way, table in lists.balance.groupby("eval_type", sort=True):
        length = table["n_trials"]
        LOGGER.info(
            "%s: %d lists of %d to %d trials and %d catch trials; "
            "at most, expected answers differ by %d, versions by %d, domains by %d",
            way,
            len(table),
            length.min(),
            length.max(),
            layout.n_catch,
            (table["n_high"] - table["n_low"]).abs().max(),
            table["version_spread"].max(),
            table["domain_spread"].max(),
        )
        short = table[length < layout.shortest]
        if len(short):
            names = sorted(set(short["domains"])) if layout.per_domain else ["all domains"]
            LOGGER.warning(
                "%s: %d lists are shorter than %d, because there are too few templates: %s",
                way,
                len(short),
                layout.shortest,
                ", ".join(names),
            )
    if lists.n_shared:
        LOGGER.info(
            "%d questions have the same sentences in several items; each is asked once and counts for all", lists.n_shared
        )
    if lists.n_contradictory:
        LOGGER.warning("%d questions are plausible in one item and implausible in another", lists.n_contradictory)
