"""``items export``: items for other tools."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from worldprobe.cli.export_flags import add_encrypt_argument, export_password
from worldprobe.errors import UserError

#: Format -> those of its options that other formats lack.
OPTIONS = {"official": (), "lm-eval": ("task", "encrypt", "hub"), "lighteval": ("task",), "hf": ("encrypt",)}
#: The name of a task, where none is given.
TASK = "worldprobe_items"


def add_export(actions: argparse._SubParsersAction) -> None:
    """``items export``."""
    export = actions.add_parser(
        "export",
        help="write items for other tools: in the original's CSV format, as a task of lm-eval or lighteval, or as a dataset",
        description="Write items for other tools. official: a folder per version, a CSV file per domain. lm-eval: a task folder "
        "for --include_path, asking the same questions, ties counted 0.5. lighteval: a file for --custom-tasks and its "
        "questions, the same for some tokenizers only. hf: a dataset folder of the Hugging Face hub, with a card and a Croissant "
        "description. Items of EWoK's own materials leave only with --encrypt, or as lm-eval by name, with --hub and no ITEMS.",
    )
    export.add_argument("items", metavar="ITEMS", nargs="?", help="items table; none with --hub")
    export.add_argument(
        "templates", metavar="TEMPLATES", nargs="?", help="official: the templates table that the items were filled from"
    )
    export.add_argument("--format", choices=tuple(OPTIONS), default="official", help="layout of the files")
    export.add_argument("--task", metavar="NAME", help=f"lm-eval, lighteval: the task's name (default: {TASK})")
    add_encrypt_argument(export, "lm-eval, hf: encrypt the items")
    export.add_argument(
        "--hub",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="lm-eval: write no items; the task reads EWoK's gated dataset on the hub, or a local copy of it in FOLDER",
    )
    export.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write")
    export.set_defaults(run=run_export)


def run_export(args: argparse.Namespace) -> None:
    """Read, refuse what may not leave in the open, write."""
    from worldprobe.files import digest_file, source_of, whole_folder, write_members

    _check_options(args)
    _refuse_protected(args)
    read = {"official": _official, "lm-eval": _lm_eval, "lighteval": _lighteval, "hf": _dataset}[args.format]
    files = read(args)
    source = source_of(args.format, args.task, *(digest_file(path) for path in (args.items, args.templates) if path))
    with whole_folder(args.out, "items export", source) as folder:
        write_members(folder, files)


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do nothing in a format, and demand what it needs.

    Raises:
        UserError: one of them.
    """
    from worldprobe.inference.lm_eval import check_task

    if args.hub is not None and (args.items or args.encrypt):
        raise UserError("--hub", "writes no items.", "Leave ITEMS and --encrypt out, or leave out --hub.")
    if args.hub and not Path(args.hub).is_dir():
        raise UserError(f"--hub {args.hub}", "is not a folder.", "Name a local copy of the dataset, or give --hub alone.")
    if args.hub is None and not args.items:
        raise UserError("items export", "needs the items.", "Name the items table, or add --format lm-eval --hub.")
    for option in OPTIONS["lm-eval"]:
        if option not in OPTIONS[args.format] and getattr(args, option) not in (None, False):
            why = ", which reads plain files only" if args.format == "lighteval" else ""
            problem = f"does nothing with --format {args.format}{why}."
            raise UserError(f"--{option}", problem, "Leave it out, or take --format lm-eval.")
    if args.format == "official" and not args.templates:
        raise UserError("items export", "needs the templates.", "Name the templates table after the items table.")
    if args.format != "official" and args.templates:
        raise UserError(args.templates, f"does nothing with --format {args.format}.", "Leave the templates out.")
    check_task(args.task)


def _refuse_protected(args: argparse.Namespace) -> None:
    """Refuse to write EWoK's own items in the open.

    Raises:
        UserError: they would be.
    """
    from worldprobe.benchmarks.ewok.exports.canaries import is_protected
    from worldprobe.contracts import read_provenance

    if args.hub is not None or args.encrypt or not is_protected(read_provenance(args.items).canary):
        return
    pack = "`worldprobe release pack --items ITEMS --templates TEMPLATES --notices-from MATERIALS --out NAME.zip`"
    fixes = {
        "official": f"Write an encrypted archive: {pack}.",
        "lm-eval": "Add --encrypt, or leave ITEMS out and add --hub.",
        "lighteval": "Take --format lm-eval with --encrypt: lighteval reads plain files only.",
        "hf": "Add --encrypt.",
    }
    problem = "comes from EWoK's own materials, whose terms forbid plain-text files of them."
    raise UserError(args.items, problem, fixes[args.format])


def _lm_eval(args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """A task of lm-evaluation-harness: name and content of each file.

    Raises:
        UserError: the table cannot be read, or there is no password.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.exports.lm_eval_task import hub_files, task_files
    from worldprobe.benchmarks.ewok.vocabulary import RELEASE
    from worldprobe.contracts import read_provenance, read_table

    task = args.task or TASK
    if args.hub is not None:
        return hub_files(args.hub, None, task) if args.hub else hub_files(RELEASE["id"], RELEASE["revision"], task)
    password = export_password(args)
    return task_files(read_table(args.items, Items), task, read_provenance(args.items).canary, password)


def _lighteval(args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """A task of lighteval: name and content of each file.

    Raises:
        UserError: the table cannot be read.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.exports.lighteval_task import lighteval_files
    from worldprobe.contracts import read_provenance, read_table

    return lighteval_files(read_table(args.items, Items), args.task or TASK, read_provenance(args.items).canary)


def _dataset(args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """A dataset folder: name and content of each file. The rows are the table itself, byte for byte.

    Raises:
        UserError: the table cannot be read, or there is no password.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.exports.dataset import describe_items
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe.report.dataset_folder import dataset_files

    password = export_password(args)
    dataset = describe_items(read_table(args.items, Items), read_provenance(args.items).canary, args.encrypt)
    return dataset_files(dataset, Path(args.items).read_bytes(), password)


def _official(args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    return ((name, text.encode()) for name, text in read_official_files(Path(args.items), Path(args.templates)))


def read_official_files(items_path: Path, templates_path: Path) -> Iterator[tuple[str, str]]:
    """Items in the original's format: name and text of each file.

    Raises:
        UserError: a table cannot be read, or the templates are not those of the items.
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import check_templates
    from worldprobe.benchmarks.ewok.contracts import Items, Templates
    from worldprobe.benchmarks.ewok.materials.official_files import official_files
    from worldprobe.contracts import read_provenance, read_table

    made = read_provenance(items_path)
    items, templates = read_table(items_path, Items), read_table(templates_path, Templates)  # their own faults say more
    check_templates(templates_path, items_path)
    is_sampled_like_original = made.details.get("compat") and made.details.get("mode") == "independent"
    return official_files(items, templates, made.canary, made.seed if is_sampled_like_original else None)
