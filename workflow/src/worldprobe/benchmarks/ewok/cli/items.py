"""``items``: fill templates, or compile and fill in one go; pass items on, and take them in."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App
from pydantic import Field

from worldprobe import methods
from worldprobe.archives import EXPORT_VARIABLE, Archive, is_encrypted
from worldprobe.benchmarks.ewok.cli.templates import made_from_materials, read_and_check
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.settings import FillingSettings
from worldprobe.benchmarks.ewok.study import chosen_mode
from worldprobe.cli import options
from worldprobe.cli.options import read_password
from worldprobe.errors import UserError
from worldprobe.files import digest_file, whole_file
from worldprobe.log import LOGGER
from worldprobe.paths import RESOURCES, Place
from worldprobe.provenance import made

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.materials.fillers import FillersOfTemplates
    from worldprobe.benchmarks.ewok.materials.materials import Materials, MaterialsFiles
    from worldprobe.provenance import Provenance

app = App(name="items", help="Fill templates into items.")

#: Version of the reading of other files.
IMPORT_METHOD = 1


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
    """Number of templates, sampled in proportion from each pair of concepts, as `evaluate --limit`
    does: at least one of each, or fewer than there are pairs, which is no estimate. Unlike with
    `--limit` here, domains keep their share.
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
    mode = chosen_mode(how.mode, str(read.source.path), how.compat)
    source = read.source if how.release_filter else None
    _fill_and_write(how, mode, None, templates, read, source, made, out)


@app.command
def fill(
    templates: Path,
    fillers: Path,
    /,
    *,
    how: Annotated[FillingOptions, options.KEYS] = FillingOptions(),
    version: Annotated[int | None, options.between(0, options.MOST - 1)] = None,
    out: Path,
) -> None:
    """Fill compiled templates: all versions, or one alone.

    Args:
        templates: templates table, from `templates compile`
        fillers: fillers table, from the same
        version: single version to fill, for `items gather` (independent: each template's N-th
            sample, from 0)
        out: items table (Parquet)
    """
    from worldprobe.benchmarks.ewok.contracts import FillerRows, Templates
    from worldprobe.benchmarks.ewok.materials.documents import Problems
    from worldprobe.benchmarks.ewok.materials.fillers import FillersOfTemplates, classes_in
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
    from worldprobe.contracts import read_provenance, read_table

    if how.release_filter:
        fix = "Give --release-filter to `items gather`, or to `items build`."
        raise UserError("--release-filter", "needs the materials' lists.", fix)
    table, classes = read_table(templates, Templates), read_table(fillers, FillerRows)
    compiled, made = read_provenance(templates), read_provenance(fillers)
    if compiled.details.get("compat", how.compat) != how.compat:
        problem = f"was compiled {'without' if how.compat else 'with'} --compat."
        raise UserError(templates, problem, "Use the same --compat for both commands.")
    if compiled.inputs.get("materials", made.inputs["materials"]) != made.inputs["materials"]:
        fix = "Give the templates and the fillers that one `templates compile` wrote."
        raise UserError(templates, f"was compiled from other materials than {fillers}.", fix)
    made.inputs["templates"] = digest_file(templates)
    compiled_mode = made.details.pop("mode")
    mode = compiled_mode if how.mode == "auto" else how.mode
    rules = replace(ORIGINAL if how.compat else RIGHT, language=language_of(made.details))
    read = FillersOfTemplates(classes_in(classes), rules, Problems(how.compat))
    _fill_and_write(how, mode, version, table, read, None, made, out)


def _fill_and_write(
    how: FillingOptions,
    mode: str,
    version: int | None,
    templates: pd.DataFrame,
    materials: Materials | FillersOfTemplates,
    source: MaterialsFiles | None,
    made: Provenance,
    out: Path,
) -> None:
    from worldprobe.benchmarks.ewok.materials.compile import of_families
    from worldprobe.benchmarks.ewok.materials.filling import Filling
    from worldprobe.benchmarks.ewok.materials.gathering import filling_details
    from worldprobe.benchmarks.ewok.materials.items import fill_items, finish_items, stream_items
    from worldprobe.benchmarks.ewok.materials.situations import sizes_of
    from worldprobe.benchmarks.ewok.materials.subsets import PAIR, in_sample, in_share

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
    sampled = templates
    if how.sample and how.sample < len(templates):
        made.details["sample"] = {"of": len(templates)}
        n_pairs = len(templates[PAIR].drop_duplicates())
        made.details["sample"] |= {"strata": n_pairs} if how.sample < n_pairs else {}
        sampled = templates[in_sample(templates, how.sample)].reset_index(drop=True)
    if mode != "balanced":  # there a filling depends on those of other templates
        templates = sampled
    kept = sampled[in_share(sampled, how.limit)] if how.limit else sampled
    limit = how.limit if len(kept) < len(sampled) else None  # so many, or more, are all
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
    if len(sampled) < len(templates):  # as all items have them: known answers are not asked again
        key = ["domain", "meta_template", "template"]
        items = items.merge(sampled[key]).reset_index(drop=True)
    if fewer:
        made.details["fewer_items"] = fewer
    if how.flags:
        items = _flagged(items, templates, made, how.flags)
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
    source = MaterialsFiles(materials, read_password(password)) if materials else None
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

    word = read_password(password) or os.environ.get(EXPORT_VARIABLE)
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
    from worldprobe.benchmarks.ewok.materials.official_files import EXPORTED_ROWS, PASSWORD_HINT
    from worldprobe.contracts import read_table

    if not is_encrypted(source):
        tables = list(source.glob("data/*.parquet")) if source.is_dir() else [source]
        return len(tables) == 1 and _copy_of_table(tables[0], out)
    archive = Archive(source, word, PASSWORD_HINT)
    if archive.names != [EXPORTED_ROWS]:
        return False
    with whole_file(out) as temporary:
        archive.copy_member(
            EXPORTED_ROWS, temporary
        )  # a million items exceed what is read into memory
        try:
            read_table(temporary, Items)
        except UserError as error:
            raise UserError(
                f"{source}, {EXPORTED_ROWS}", error.problem, "Export the items again."
            ) from error
    return True
