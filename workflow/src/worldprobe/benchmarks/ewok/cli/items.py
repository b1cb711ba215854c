"""``items``: fill templates, or compile and fill in one go; pass items on, and take them in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from pydantic import Field

from worldprobe import methods
from worldprobe.archives import EXPORT_VARIABLE, Archive, is_encrypted
from worldprobe.benchmarks.ewok.cli.templates import made_from_materials, read_and_check
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.settings import FillingSettings
from worldprobe.benchmarks.ewok.study import chosen_mode
from worldprobe.benchmarks.ewok.vocabulary import RELEASE
from worldprobe.cli import options
from worldprobe.cli.options import password as password_of
from worldprobe.errors import UserError
from worldprobe.files import digest_file, whole_file, whole_folder, write_members
from worldprobe.log import LOGGER
from worldprobe.paths import RESOURCES, Place, materials_place
from worldprobe.provenance import made

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.materials.materials import Materials
    from worldprobe.provenance import Provenance

app = App(name="items", help="Fill templates into items.")

#: Version of the reading of other files.
IMPORT_METHOD = 1
#: Format -> those of its options that other formats lack.
OPTIONS = {
    "official": (),
    "lm-eval": ("task", "encrypt", "hub"),
    "hf": ("encrypt",),
}
#: The name of a task, where none is given.
TASK = "worldprobe_items"
Format = Literal["official", "lm-eval", "hf"]


class FillingOptions(FillingSettings):
    """How templates are filled, and what of it is kept."""

    compat: bool = False
    """Repeat the original generator, quirks included."""

    release_filter: bool = False
    """Keep only the items of the official release."""

    flags: Path | None = None
    """Templates to exclude or reverse: flags from `materials review --read`, or the filled
    spreadsheet.
    """

    sample: Annotated[int, Field(ge=1)] | None = None
    """Number of templates, sampled in proportion from each pair of concepts, at least one from
    each, as `evaluate --limit` does; unlike with `--limit` here, domains keep their share.
    """


@app.command
def build(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    how: Annotated[FillingOptions, options.KEYS] = FillingOptions(),
    families: options.Families = False,
    templates_out: Path | None = None,
    out: Path,
) -> None:
    """Build items from materials: compile templates and fill them.

    Args:
        templates_out: templates table to write as well (Parquet)
        out: items table (Parquet)
    """
    from worldprobe.benchmarks.ewok.contracts import Templates
    from worldprobe.benchmarks.ewok.materials.compile import compile_all
    from worldprobe.contracts import digest_table, write_table

    read = read_and_check(materials, password, how.compat)
    made = made_from_materials(read, how.compat)
    templates = compile_all(read, families)
    if templates_out:
        write_table(templates, Templates, templates_out, made)
    # The same bytes as of the two commands: the items state the digest of the templates, written or
    # not.
    made.inputs["templates"] = digest_table(templates, Templates, made)
    _fill_and_write(how, None, templates, read, made, out)


@app.command
def fill(
    templates: Path,
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    how: Annotated[FillingOptions, options.KEYS] = FillingOptions(),
    version: Annotated[int | None, options.between(0, options.MOST - 1)] = None,
    out: Path,
) -> None:
    """Fill compiled templates: all versions, or one alone.

    Args:
        templates: templates table, from `templates compile`
        version: single version to fill, for `items gather` (independent: each template's N-th
            sample, from 0)
        out: items table (Parquet)
    """
    from worldprobe.benchmarks.ewok.contracts import Templates
    from worldprobe.contracts import read_provenance, read_table

    if version is not None and how.release_filter:
        fix = "Give --release-filter to `items gather`."
        raise UserError(
            "--release-filter", "looks at all versions together, but --version fills one.", fix
        )
    table = read_table(templates, Templates)
    compiled = read_provenance(templates)
    if compiled.details.get("compat", how.compat) != how.compat:
        problem = f"was compiled {'without' if how.compat else 'with'} --compat."
        raise UserError(templates, problem, "Use the same --compat for both commands.")
    read = read_and_check(materials, password, how.compat)
    made = made_from_materials(read, how.compat)
    if compiled.inputs.get("materials", made.inputs["materials"]) != made.inputs["materials"]:
        fix = "Compile the templates again, or give the materials that they were compiled from."
        raise UserError(
            templates, f"was compiled from other materials than {materials_place(materials)}.", fix
        )
    made.inputs["templates"] = digest_file(templates)
    _fill_and_write(how, version, table, read, made, out)


def _fill_and_write(
    how: FillingOptions,
    version: int | None,
    templates: pd.DataFrame,
    materials: Materials,
    made: Provenance,
    out: Path,
) -> None:
    from worldprobe.benchmarks.ewok.materials.compile import of_families
    from worldprobe.benchmarks.ewok.materials.filling import Filling
    from worldprobe.benchmarks.ewok.materials.gathering import filling_details
    from worldprobe.benchmarks.ewok.materials.items import fill_items, finish_items, stream_items
    from worldprobe.benchmarks.ewok.materials.situations import sizes_of
    from worldprobe.benchmarks.ewok.materials.subsets import in_sample, in_share

    mode = chosen_mode(how.mode, str(materials.source.path), how.compat)
    if mode == "balanced" and how.compat:
        raise UserError(
            "--mode balanced",
            "is no mode of the original, which --compat repeats.",
            "Leave one of the two out.",
        )
    first, _, last = how.versions.partition("-")
    versions = (
        [version]
        if version is not None
        else range(how.per_template)
        if mode == "independent"
        else range(int(first), int(last or first) + 1)
    )
    mode = "independent" if of_families(templates) else mode  # each base is filled on its own
    is_independent = mode == "independent"
    if mode == "fixed" and how.seed and not how.compat:
        LOGGER.warning(
            "--seed %d has no effect with --mode fixed, which draws nothing: use --mode balanced or"
            " independent",
            how.seed,
        )
    if how.sample and how.limit:
        raise UserError("--sample", "is another choice than --limit.", "Leave one of them out.")
    if how.sample and how.sample < len(templates):
        made.details["sample"] = {"of": len(templates)}
        templates = templates[in_sample(templates, how.sample)].reset_index(drop=True)
        if len(templates) > how.sample:
            LOGGER.warning(
                "%d templates are asked, not %d: each pair of concepts needs one",
                len(templates),
                how.sample,
            )
    kept = templates[in_share(templates, how.limit)] if how.limit else templates
    limit = how.limit if len(kept) < len(templates) else None  # so many, or more, are all
    filling = Filling(mode, list(versions), how.seed, tuple(how.swap), how.filter, limit)
    made.method = methods.ITEMS
    made.seed = None if mode == "fixed" else how.seed
    made.details |= filling_details(filling, version is not None) | sizes_of(kept)
    if limit:
        made.details["templates"] = len(templates)
    if is_independent and not (
        how.flags or how.release_filter or how.limit or of_families(templates)
    ):
        _report(*stream_items(templates, materials, filling, out, made), out)
        return
    items, fewer = fill_items(templates, materials, filling)
    if fewer:
        made.details["fewer_items"] = fewer
    if how.flags:
        items = _flagged(items, templates, made, how.flags)
    source = materials.source if how.release_filter else None
    _write(finish_items(items, materials.rules, source), made, how.release_filter, out)


def _flagged(
    items: pd.DataFrame, templates: pd.DataFrame, made: Provenance, path: Path
) -> pd.DataFrame:
    """The items as a second reader's flags leave them."""
    from worldprobe.benchmarks.ewok.materials.flags import apply_flags, read_sheet

    flags = read_sheet(path, templates)
    made.inputs["flags"] = digest_file(path)
    counts = flags["verdict"].value_counts()
    made.details["flags"] = {
        verdict: int(counts.get(verdict, 0)) for verdict in ("exclude", "reverse")
    }
    return apply_flags(items, flags)


@app.command
def gather(
    versions: list[Path],
    /,
    *,
    release_filter: options.ReleaseFilter = False,
    materials: Place | None = None,
    password: options.Password = None,
    out: Path,
) -> None:
    """Join tables of single versions; the file is identical to one filled in a single run.

    Args:
        versions: tables from `items fill --version N`
        materials: materials with the list of released items, for --release-filter
        out: items table (Parquet)
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.gathering import gather_provenance
    from worldprobe.benchmarks.ewok.materials.items import finish_items
    from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
    from worldprobe.contracts import read_provenance, read_table

    if release_filter != bool(materials):
        given, missing = (
            ("--release-filter", "--materials")
            if release_filter
            else ("--materials", "--release-filter")
        )
        raise UserError(
            given,
            f"needs {missing}: the materials contain the list of released items.",
            f"Add {missing}.",
        )
    frames = [read_table(path, Items) for path in versions]
    made = gather_provenance([(str(path), read_provenance(path)) for path in versions])
    source = MaterialsFiles(materials, password_of(password)) if materials else None
    if source is not None and source.digest() != made.inputs.get("materials"):
        raise UserError(
            materials, "the versions were filled from other materials.", "Give the same materials."
        )
    rules = ORIGINAL if made.details.get("compat") else RIGHT
    items = pd.concat(frames, ignore_index=True).drop(columns="duplicate_of")
    _write(finish_items(items, rules, source), made, release_filter, out)


def _write(items: pd.DataFrame, made: Provenance, release_filter: bool, out: Path) -> None:
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import write_table

    n_duplicates = int(items["duplicate_of"].notna().sum())
    facts = {"release_filter": release_filter, "duplicates": n_duplicates}
    made.details |= {key: value for key, value in facts.items() if value}
    write_table(items, Items, out, made)
    _warn_of_copies(items)
    _report(len(items), n_duplicates, out)


def _warn_of_copies(items: pd.DataFrame) -> None:
    from worldprobe.benchmarks.ewok.materials.duplicates import repeated_versions

    for version, first in repeated_versions(items).items():
        LOGGER.warning(
            "version %d has all texts of version %d: leave it out, as a copy always agrees",
            version,
            first,
        )


def _report(n_items: int, n_duplicates: int, path: Path) -> None:
    repeated = f", {n_duplicates} of them with the texts of another" if n_duplicates else ""
    LOGGER.info("%d items%s: %s", n_items, repeated, path)


@app.command
def export(
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
    from worldprobe.inference.lm_eval import check_task

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
    from worldprobe.benchmarks.ewok.exports.description import describe_items
    from worldprobe.benchmarks.ewok.exports.lm_eval_task import hub_files, task_files
    from worldprobe.benchmarks.ewok.scoring import check_texts
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe.report.dataset_folder import dataset_files

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
    items, canary = read_table(path, Items), read_provenance(path).canary
    check_texts(items, path)
    if format == "lm-eval":
        return task_files(items, task, canary, word)
    # The rows are the table itself, byte for byte.
    return dataset_files(describe_items(items, canary, encrypt), Path(path).read_bytes(), word)


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
    items, templates = (
        read_table(items_path, Items),
        read_table(templates_path, Templates),
    )  # their own faults say more
    check_templates(templates_path, items_path)
    is_sampled_like_original = (
        made.details.get("compat") and made.details.get("mode") == "independent"
    )
    return official_files(
        items, templates, made.canary, made.seed if is_sampled_like_original else None
    )


@app.command(name="import")
def import_(source: Path, /, *, password: options.Password = None, out: Path) -> None:
    """Read items from EWoK's Parquet file on the Hugging Face hub, or from CSV files in its format.

    Reads columns by EWoK's names (Domain, ConceptA, Context1, ...) and says whether the texts are
    those of the release EWoK-core-1.0. Ids and versions that the files lack are counted. Also reads
    what `items export --format hf` wrote.

    Args:
        source: .csv or .parquet file, or a folder or .zip file of them
        out: items table (Parquet)
    """
    from worldprobe.benchmarks.ewok.analysis.reproduction import is_release, read_published
    from worldprobe.benchmarks.ewok.canaries import is_protected
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.official_files import RELEASE_CANARY, read_items
    from worldprobe.contracts import write_table

    word = password_of(password) or os.environ.get(EXPORT_VARIABLE)
    if _copy_of_export(source, word, out):
        LOGGER.info("the items table that was exported: %s", out)
        return
    read = read_items(source, word)
    is_official = is_release(read.items, read_published(RESOURCES / "published"))
    details = {"imported": "items", "release": is_official} | (
        {"counted": list(read.made_up)} if read.made_up else {}
    )
    details |= {"normalized_texts": read.n_normalized} if read.n_normalized else {}
    # The release's texts are protected whatever canary the file states.
    canary = (
        f"{read.canary}\n{RELEASE_CANARY}"
        if is_official and not is_protected(read.canary)
        else read.canary
    )
    write_table(
        read.items,
        Items,
        out,
        made(IMPORT_METHOD, {"source": source}, details=details, canary=canary),
    )
    _warn_of_copies(read.items)
    if read.made_up:
        LOGGER.warning(
            "%s has no %s: they were counted in the order of its rows",
            source,
            " and no ".join(read.made_up),
        )
    whose = "those" if is_official else "not those"
    LOGGER.info(
        "%d items, whose texts are %s of the release EWoK-core-1.0: %s",
        len(read.items),
        whose,
        out,
    )


def _copy_of_table(source: Path, out: Path) -> bool:
    """Copy a table of items of ours; False where the file is anything else."""
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table, table_name

    if (
        source.suffix != ".parquet"
        or not source.is_file()
        or table_name(source) != Items.Config.name
    ):
        return False
    read_table(source, Items)
    with whole_file(out) as temporary:
        shutil.copyfile(source, temporary)
    return True


def _copy_of_export(source: Path, word: str | None, out: Path) -> bool:
    """Write the table of `items export --format hf`, encrypted or not; False where the source is
    anything else.

    Raises:
        UserError: the password is missing or wrong, or the archive's table is not one of items.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.official_files import PASSWORD_HINT
    from worldprobe.contracts import read_table
    from worldprobe.report.dataset_folder import MEMBER

    if not is_encrypted(source):
        tables = list(source.glob("data/*.parquet")) if source.is_dir() else [source]
        return len(tables) == 1 and _copy_of_table(tables[0], out)
    archive = Archive(source, word, PASSWORD_HINT)
    if archive.names != [MEMBER]:
        return False
    with whole_file(out) as temporary:
        archive.copy_member(MEMBER, temporary)  # a million items exceed what is read into memory
        try:
            read_table(temporary, Items)
        except UserError as error:
            raise UserError(
                f"{source}, {MEMBER}", error.problem, "Export the items again."
            ) from error
    return True
