"""``items export``, ``worldsense export`` and ``export-results``: for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from worldprobe.benchmarks.ewok.vocabulary import RELEASE
from worldprobe.benchmarks.worldsense.cli import refuse_rehearsed
from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
from worldprobe.cli import options
from worldprobe.cli.options import Encrypt, OutFolder, Trials, export_password
from worldprobe.errors import UserError
from worldprobe.files import whole_folder, write_members
from worldprobe.log import LOGGER
from worldprobe.paths import Place

if TYPE_CHECKING:
    import pandas as pd

#: Format -> those of its options that other formats lack.
OPTIONS = {
    "official": (),
    "lm-eval": ("task", "encrypt", "hub"),
    "hf": ("encrypt",),
}
#: The name of a task, where none is given.
TASK = "worldprobe_items"
Format = Literal["official", "lm-eval", "hf"]


def export_items(
    items: Place | None = None,
    templates: Place | None = None,
    /,
    *,
    format: Format = "official",
    task: str | None = None,
    encrypt: options.Encrypt = False,
    hub: Annotated[Sequence[Place] | None, Parameter(consume_multiple=(0, 1))] = None,
    out: options.OutFolder,
) -> None:
    """Write items for other tools.

    official: a folder per version, a CSV file per domain. lm-eval: a task folder for
    --include_path, asking the same questions, ties counted 0.5. hf: a dataset folder of the
    Hugging Face hub, with a card and a Croissant description. Items of EWoK's own materials leave
    only with --encrypt, or as lm-eval by name, with --hub and no ITEMS.

    Args:
        items: items table; none with --hub
        templates: official: the templates table that the items were filled from
        format: layout of the files
        task: lm-eval: the task's name (default: worldprobe_items)
        hub: lm-eval: write no items; the task reads EWoK's gated dataset on the hub, or a local
            copy of it in this folder
        out: folder to write
    """
    from worldprobe.benchmarks.ewok.canaries import is_protected
    from worldprobe.contracts import read_provenance

    is_by_name, copy = hub is not None, next(iter(hub or ()), None)
    if is_by_name and (items or encrypt):
        raise UserError(
            "--hub", "writes no items.", "Leave ITEMS and --encrypt out, or leave out --hub."
        )
    if copy and not Path(copy).is_dir():
        raise UserError(
            f"--hub {copy}",
            "is not a folder.",
            "Name a local copy of the dataset, or give --hub alone.",
        )
    if not is_by_name and not items:
        raise UserError(
            "items export",
            "needs the items.",
            "Name the items table, or add --format lm-eval --hub.",
        )
    _check_format(
        format, {"task": task is not None, "encrypt": encrypt, "hub": is_by_name}, templates, task
    )
    if items and not encrypt and is_protected(read_provenance(items).canary):
        pack = (
            "`worldprobe release pack --items ITEMS --templates TEMPLATES --notices-from MATERIALS"
            " --out NAME.zip`"
        )
        fixes = {
            "official": f"Write an encrypted archive: {pack}.",
            "lm-eval": "Add --encrypt, or leave ITEMS out and add --hub.",
            "hf": "Add --encrypt.",
        }
        problem = "comes from EWoK's own materials, whose terms forbid plain-text files of them."
        raise UserError(items, problem, fixes[format])
    files = _exported(format, items, templates, task or TASK, encrypt, copy)
    with whole_folder(out) as folder:
        write_members(folder, files)
    LOGGER.info("written for %s: %s", format, out)


def _check_format(
    format: str, given: dict[str, bool], templates: str | None, task: str | None
) -> None:
    """Refuse options that do nothing in a format, and demand what it needs.

    Raises:
        UserError: one of them.
    """
    from worldprobe_authoring.task_folders import check_task

    for option in OPTIONS["lm-eval"]:
        if option not in OPTIONS[format] and given[option]:
            problem = f"does nothing with --format {format}."
            raise UserError(f"--{option}", problem, "Leave it out, or take --format lm-eval.")
    if format == "official" and not templates:
        raise UserError(
            "items export",
            "needs the templates.",
            "Name the templates table after the items table.",
        )
    if format != "official" and templates:
        raise UserError(
            templates, f"does nothing with --format {format}.", "Leave the templates out."
        )
    check_task(task)


def _exported(
    format: str, path: str | None, templates: str | None, task: str, encrypt: bool, copy: str | None
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file.

    Raises:
        UserError: a table cannot be read, or there is no password.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.benchmarks.ewok.scoring import check_texts
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe.provenance import language_name
    from worldprobe_authoring.dataset_folder import dataset_files
    from worldprobe_authoring.ewok_dataset import describe_items
    from worldprobe_authoring.ewok_task import hub_files, task_files
    from worldprobe_authoring.official_items import read_official_files

    if path is None:
        return (
            hub_files(copy, None, task)
            if copy
            else hub_files(RELEASE["id"], RELEASE["revision"], task)
        )
    if format == "official":
        return (
            (name, text.encode())
            for name, text in read_official_files(Path(path), Path(str(templates)))
        )
    word = options.export_password(encrypt)
    items, made = read_table(path, Items), read_provenance(path)
    canary = made.canary
    check_texts(items, path)
    if format == "lm-eval":
        return task_files(items, task, canary, word, language_name(made.details))
    # The rows are the table itself, byte for byte.
    card = describe_items(items, canary, encrypt, language_of(made.details))
    return dataset_files(card, Path(path).read_bytes(), word)


def export_results(responses: list[Path], /, *, out: OutFolder) -> None:
    """Write responses in the official layout.

    There is one file PROMPTING___MODEL___results.jsonl.bz2 per strategy and model.

    Args:
        responses: tables of responses
        out: folder for the files
    """
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe_authoring.worldsense_exports import results_name, write_results

    results: dict[str, tuple[Path, str, pd.DataFrame]] = {}
    for path in responses:
        refuse_rehearsed(path)
        model = read_provenance(path).model or path.stem
        rows = read_table(path, Responses)
        for prompting in sorted(set(rows["prompting"])):
            name = results_name(prompting, model)
            if name in results:
                problem = (
                    f"contains {prompting} answers of {model}, and so does {results[name][0]}."
                )
                raise UserError(path, problem, "Export each set of trials to a folder of its own.")
            results[name] = (path, model, rows[rows["prompting"] == prompting])
    for _, model, rows in results.values():
        write_results(rows, model, out)


def export_trials(
    trials: Trials,
    /,
    *,
    format: Literal["official", "lm-eval", "hf"] = "official",
    task: str | None = None,
    encrypt: Encrypt = False,
    out: OutFolder,
) -> None:
    """Write trials in the official layout, as a task of lm-evaluation-harness, or as a dataset.

    official: one file of JSON lines. lm-eval: a task folder for --include_path that asks as the
    prompting strategy constrained does. hf: a dataset folder of the Hugging Face hub, with a card
    and a Croissant description, of trials that were generated here only.

    Args:
        format: layout of the files
        task: lm-eval: the task's name (default: worldprobe_worldsense)
        out: official: a file, .jsonl.bz2, .jsonl.gz or .jsonl; lm-eval, hf: a folder
    """
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.trials.files import (
        is_official,
        read_batches,
        read_official,
        write_official,
    )
    from worldprobe.contracts import check_kind, read_provenance

    if format != "lm-eval":
        for option, is_given in (("task", task is not None), ("encrypt", encrypt)):
            if is_given:
                fix = "Leave it out, or take --format lm-eval."
                raise UserError(f"--{option}", f"does nothing with --format {format}.", fix)
    if format != "official":
        files = (
            _tasks_of_trials(trials, task, encrypt)
            if format == "lm-eval"
            else _dataset_of_trials(trials)
        )
        with whole_folder(out) as folder:
            write_members(folder, files)
        return
    if not is_official(out):
        raise UserError(
            f"--out {out}",
            "is not the name of JSON lines.",
            "Name a file that ends with .jsonl.bz2.",
        )
    if is_official(trials):
        write_official([read_official(trials)], out)
        return
    check_kind(trials, Trials)
    write_official(read_batches(trials), out, read_provenance(trials).canary)


def _tasks_of_trials(trials: str, task: str | None, encrypt: bool) -> Iterator[tuple[str, bytes]]:
    from worldprobe.benchmarks.worldsense.trials.files import canary_of, read_trials
    from worldprobe_authoring.task_folders import check_task
    from worldprobe_authoring.worldsense_exports import task_files

    check_task(task)
    word = export_password(encrypt)
    rows = read_trials(trials)
    return task_files(rows, task or "worldprobe_worldsense", canary_of(trials, rows), word)


def _dataset_of_trials(trials: str) -> Iterator[tuple[str, bytes]]:
    """Our own trials as a dataset, whose rows are the table itself, byte for byte.

    Raises:
        UserError: the trials may be the release's, or are not a whole table of ours.
    """
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.trials.files import is_official, read_batches
    from worldprobe.contracts import check_kind, read_provenance
    from worldprobe_authoring.dataset_folder import dataset_files
    from worldprobe_authoring.worldsense_exports import describe_trials

    provenance = None
    if not is_official(trials):
        check_kind(trials, Trials)
        provenance = read_provenance(trials)
    if provenance is None or provenance.canary != CANARY:
        problem = (
            "may be the release, which is not ours to pass on (CC BY-NC): it does not carry our"
            " canary."
        )
        raise UserError(trials, problem, "Export a set of `worldsense generate`.")
    n_rows = sum(len(batch) for batch in read_batches(trials))
    dataset = describe_trials(n_rows, provenance.details.get("set"), provenance.canary)
    return dataset_files(dataset, Path(trials).read_bytes())


def add_to_items(app: App) -> None:
    """Add the command to the stage ``items``."""
    app.command(export_items, name="export")


def add_to_worldsense(app: App) -> None:
    """Add the commands to the stage ``worldsense``."""
    app.command(export_trials, name="export")
    app.command(export_results)
