"""``worldsense export`` and ``import-samples``: trials for other tools, and what they answered."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.export_flags import add_encrypt_argument, export_password
from worldprobe.cli.reading_samples import add_samples_arguments, describe_samples, made_by_lm_eval
from worldprobe.errors import UserError

#: Version of the computation.
SAMPLES_METHOD = 1


def add_exchange_parsers(actions: argparse._SubParsersAction, trials_help: str) -> None:
    """``export`` and ``import-samples``."""
    export = actions.add_parser(
        "export",
        help="write trials in the official layout, as a task of lm-evaluation-harness, or as a dataset",
        description="Write trials for other tools. official: one file of JSON lines. lm-eval: a task folder for --include_path "
        "that asks as the prompting strategy constrained does. hf: a dataset folder of the Hugging Face hub, with a card and a "
        "Croissant description, of trials that were generated here only.",
    )
    export.add_argument("trials", metavar="TRIALS", help=trials_help)
    export.add_argument("--format", choices=["official", "lm-eval", "hf"], default="official", help="layout of the files")
    export.add_argument("--task", metavar="NAME", help="lm-eval: the task's name (default: worldprobe_worldsense)")
    add_encrypt_argument(export, "lm-eval: encrypt the trials")
    export.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER_OR_FILE",
        help="official: a file, .jsonl.bz2, .jsonl.gz or .jsonl; lm-eval, hf: a folder",
    )
    export.set_defaults(run=run_export)
    samples = actions.add_parser(
        "import-samples",
        help="read the samples that lm-evaluation-harness logged of a task of `worldsense export --format lm-eval`",
        description=describe_samples("trials"),
    )
    samples.add_argument("trials", metavar="TRIALS", help=trials_help)
    add_samples_arguments(samples)
    samples.add_argument("--out", type=Path, required=True, metavar="FILE", help="table of responses, for `worldsense analyse`")
    samples.set_defaults(run=run_import_samples)


def run_export(args: argparse.Namespace) -> None:
    """Read, write, with our canary where the trials are ours."""
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.trials.files import read_batches
    from worldprobe.benchmarks.worldsense.trials.official import is_official, read_official, write_official
    from worldprobe.contracts import check_kind, read_provenance

    if args.format == "lm-eval":
        _export_task(args)
        return
    for option in ("task", "encrypt"):
        if getattr(args, option) not in (None, False):
            raise UserError(
                f"--{option}", f"does nothing with --format {args.format}.", "Leave it out, or take --format lm-eval."
            )
    if args.format == "hf":
        _export_dataset(args)
        return
    if not is_official(args.out):
        raise UserError(f"--out {args.out}", "is not the name of JSON lines.", "Name a file that ends with .jsonl.bz2.")
    if is_official(args.trials):
        write_official([read_official(args.trials)], args.out)
        return
    check_kind(args.trials, Trials)
    write_official(read_batches(args.trials), args.out, read_provenance(args.trials).canary)


def _export_task(args: argparse.Namespace) -> None:
    from worldprobe.benchmarks.worldsense.exports import task_files
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.cli.worldsense_asking import canary_of
    from worldprobe.files import digest_file, source_of, whole_folder, write_members
    from worldprobe.inference.lm_eval import check_task

    check_task(args.task)
    password = export_password(args)
    trials = read_trials(args.trials)
    files = task_files(trials, args.task or "worldprobe_worldsense", canary_of(args.trials, trials), password)
    with whole_folder(args.out, "worldsense export", source_of(args.format, args.task, digest_file(args.trials))) as folder:
        write_members(folder, files)


def _export_dataset(args: argparse.Namespace) -> None:
    """Our own trials as a dataset folder, whose rows are the table itself, byte for byte.

    Raises:
        UserError: the trials may be the release's, or are not a whole table of ours.
    """
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.exports import describe_trials
    from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
    from worldprobe.benchmarks.worldsense.trials.files import read_batches
    from worldprobe.benchmarks.worldsense.trials.official import is_official
    from worldprobe.contracts import check_kind, read_provenance
    from worldprobe.files import digest_file, source_of, whole_folder, write_members
    from worldprobe.report.dataset_folder import dataset_files

    provenance = None
    if not is_official(args.trials):
        check_kind(args.trials, Trials)
        provenance = read_provenance(args.trials)
    if provenance is None or provenance.canary != CANARY:
        problem = "may be the release, which is not ours to pass on (CC BY-NC): it does not carry our canary."
        raise UserError(args.trials, problem, "Export a set of `worldsense generate`.")
    n_rows = sum(len(batch) for batch in read_batches(args.trials))
    dataset = describe_trials(n_rows, provenance.details.get("set"), provenance.canary)
    with whole_folder(args.out, "worldsense export", source_of(args.format, args.task, digest_file(args.trials))) as folder:
        write_members(folder, dataset_files(dataset, Path(args.trials).read_bytes()))


def run_import_samples(args: argparse.Namespace) -> None:
    """Check that the samples are of these trials, and write them as responses."""
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.benchmarks.worldsense.exports import BENCHMARK, read_responses
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.cli.worldsense_asking import canary_of
    from worldprobe.contracts import write_table
    from worldprobe.inference.lm_eval import read_run

    run, trials = read_run(args.samples, BENCHMARK), read_trials(args.trials)
    made = made_by_lm_eval(
        run, SAMPLES_METHOD, args.model, args.out, {"trials": args.trials}, canary=canary_of(args.trials, trials)
    )
    write_table(read_responses(run, trials), Responses, args.out, made)
