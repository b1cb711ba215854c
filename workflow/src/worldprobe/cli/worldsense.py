"""``worldsense``: audit trials, check skins, show and generate sets."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from worldprobe import methods
from worldprobe.cli import worldsense_analysis
from worldprobe.cli.arguments import (
    add_processes_argument,
    add_seed_argument,
    add_skin_folder_argument,
    add_wording_version_argument,
    positive,
    whole_number,
)
from worldprobe.cli.worldsense_asking import add_asking_parsers
from worldprobe.cli.worldsense_exchange import add_exchange_parsers
from worldprobe.cli.worldsense_external import add_external_parsers
from worldprobe.cli.worldsense_finetuning import add_finetuning_parsers
from worldprobe.cli.worldsense_lessons import add_lessons_parsers
from worldprobe.cli.worldsense_start_model import add_start_parser
from worldprobe.errors import UserError


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``worldsense audit``, ``skins check``, ``preview``, ``generate``, and what asks models."""
    stage = stages.add_parser("worldsense", help="WorldSense: generate and audit trials, ask models, analyse answers")
    actions = stage.add_subparsers(metavar="ACTION", required=True)
    trials_help = "official trials (.jsonl, .jsonl.bz2, .jsonl.gz) or our table (.parquet)"
    audit = actions.add_parser(
        "audit",
        help="compare the gold answers of a set with an exact solver's",
        description="Compare every gold answer with an exact solver's. Exit status 1 where one is wrong, 0 where none is.",
    )
    audit.add_argument("trials", metavar="TRIALS", help=trials_help)
    audit.add_argument("--out", type=Path, metavar="FILE.csv", help="one row for each trial whose gold answer is wrong")
    audit.add_argument(
        "--from-text",
        action="store_true",
        help="decide every answer by what the text states in the words of its skin, and compare it with the abstract fields",
    )
    add_skin_folder_argument(audit)
    audit.set_defaults(run=run_audit)
    skins = actions.add_parser("skins", help="check skins: the words of relations and entities").add_subparsers(
        metavar="ACTION", required=True
    )
    check = skins.add_parser("check", help="check skins: every fault by file and line")
    check.add_argument(
        "skins", nargs="?", type=Path, metavar="FOLDER_OR_FILE", help="skins to check (default: the skins of this repository)"
    )
    check.set_defaults(run=run_skins_check)
    preview = actions.add_parser("preview", help="print one trial of each problem in the words of a skin")
    preview.add_argument("--skin", required=True, metavar="NAME", help="name of the skin as in its file, e.g. tall/short")
    preview.add_argument("--size", type=whole_number(3, 8), default=4, metavar="N", help="number of entities")
    add_seed_argument(preview, "all draws")
    add_skin_folder_argument(preview)
    add_wording_version_argument(preview)
    preview.set_defaults(run=run_preview)
    generate = actions.add_parser("generate", help="generate a set of trials")
    generate.add_argument(
        "set",
        metavar="SET",
        help="set to generate: test, test-new, train-10k, train-100k, train-1m, memorisation, same-skins, ood-size, "
        "ood-query or ood-problem",
    )
    generate.add_argument(
        "--sizes",
        type=whole_number(3, 8),
        nargs="+",
        default=[],
        metavar="N",
        help="numbers of entities, 3 to 8 (default: those of the set)",
    )
    generate.add_argument(
        "--problems",
        nargs="+",
        default=[],
        metavar="PROBLEM",
        help="problems to generate, e.g. Infer.normal (default: those of the set)",
    )
    generate.add_argument(
        "--skins", nargs="+", default=[], metavar="NAME", help="names of the skins to use (default: those of the set)"
    )
    generate.add_argument(
        "--per-cell",
        type=positive,
        metavar="K",
        help="tuples for each problem, size, complexity, skin and wording (default: the set's)",
    )
    add_seed_argument(generate, "all draws")
    add_skin_folder_argument(generate)
    add_wording_version_argument(generate)
    add_processes_argument(generate)
    generate.add_argument("--dialogues-out", type=Path, metavar="FILE.jsonl.gz", help="also write training dialogues")
    generate.add_argument("--out", type=Path, required=True, metavar="TRIALS", help="table of trials (Parquet)")
    generate.set_defaults(run=run_generate)
    add_asking_parsers(actions, trials_help)
    add_lessons_parsers(actions)
    add_finetuning_parsers(actions)
    add_start_parser(actions)
    add_external_parsers(actions)
    add_exchange_parsers(actions, trials_help)
    worldsense_analysis.add_actions(actions)


def run_audit(args: argparse.Namespace) -> int:
    """Read, solve, print, write; exit status 1 where a gold answer is wrong."""
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_all_wordings
    from worldprobe.benchmarks.worldsense.trials.audit import audit_trials, write_audit
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.files import write_text

    if args.skin_folder and not args.from_text:
        raise UserError("--skin-folder", "has no effect without --from-text.", "Add --from-text, or leave it out.")
    skins = read_all_wordings(args.skin_folder or FOLDER) if args.from_text else None
    audit = audit_trials(read_trials(args.trials), args.trials, skins)
    if args.out:
        write_text(args.out, audit.wrong.to_csv(index=False, lineterminator="\n"))
    print(write_audit(audit, args.trials, is_from_text=args.from_text))
    return 1 if len(audit.wrong) else 0


def run_skins_check(args: argparse.Namespace) -> None:
    """Read, print every fault; the last is the error."""
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, check_skins
    from worldprobe.benchmarks.worldsense.trials.audit import find_misreading

    skins, faults = check_skins(args.skins or FOLDER)
    faults += [fault for skin in skins if (fault := find_misreading(skin)) is not None]
    for fault in faults[:-1]:
        print(fault.lines(), file=sys.stderr)
    if faults:
        raise faults[-1]
    print(f"{len(skins)} skins are right: {', '.join(skin.name for skin in skins)}")


def run_preview(args: argparse.Namespace) -> None:
    """Render, print."""
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.trials.trial_maker import preview_skin

    print(preview_skin(read_skins(args.skin_folder or FOLDER, args.wording_version), args.skin, args.size, args.seed))


def run_generate(args: argparse.Namespace) -> None:
    """Plan, check that the set can be balanced, draw, write."""
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
    from worldprobe.benchmarks.worldsense.trials import sets
    from worldprobe.benchmarks.worldsense.trials.audit import find_misreading
    from worldprobe.benchmarks.worldsense.trials.files import write_set
    from worldprobe.benchmarks.worldsense.trials.official import is_official
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    if is_official(args.out):
        problem = "is the name of JSON lines, but a Parquet table is written."
        raise UserError(f"--out {args.out}", problem, "Name a .parquet file; `worldsense export` writes the official layout.")
    if args.out.suffix != ".parquet":
        raise UserError(f"--out {args.out}", "is not the name of a Parquet table.", "Name a file that ends with .parquet.")
    folder = args.skin_folder or FOLDER
    plan = sets.plan_set(args.set, args.sizes, args.problems, args.per_cell)
    blocks = sets.blocks_of(plan, read_skins(folder, args.wording_version), args.skins)
    if Path(folder).resolve() != FOLDER.resolve():  # tests read the texts of the repository's own skins
        for fault in filter(None, map(find_misreading, {block.skin.name: block.skin for block in blocks}.values())):
            raise fault
    details = {"set": plan.name, "sizes": plan.sizes, "problems": plan.problems, "per_cell": plan.per_cell, "skins": args.skins}
    details["wording_version"] = args.wording_version
    stated = {key: value for key, value in details.items() if value}
    provenance = made(methods.TRIALS, {"skins": folder}, seed=args.seed, canary=CANARY, details=stated)
    empty = sets.empty_cells(plan)
    if empty:
        named = "; ".join(f"{c.problem}, size {c.size}, complexity {c.complexity}, arity {c.arity}" for c in empty)
        cells = "1 cell of the set is" if len(empty) == 1 else f"{len(empty)} cells of the set are"
        LOGGER.info("%s empty (the paper admits no such problem): %s", cells, named)
    batches = sets.stream_set(plan, blocks, args.seed, min(args.processes, os.cpu_count() or 1))
    n_trials = write_set(batches, args.out, provenance, args.dialogues_out)
    LOGGER.info("%s trials of %s: %s", f"{n_trials:,}", plan.name, args.out)
