"""``items import``: items of other files as an items table."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from worldprobe.cli.reading_materials import PASSWORD_HELP, password
from worldprobe.errors import UserError

#: Bumped when the same files give other items.
METHOD = 1


def add_import(actions: argparse._SubParsersAction) -> None:
    """``items import``."""
    parser = actions.add_parser(
        "import",
        help="read items from EWoK's Parquet file on the Hugging Face hub, or from CSV files in its format",
        description="Reads columns by EWoK's names (Domain, ConceptA, Context1, ...) and says whether the texts are those of the "
        "release EWoK-core-1.0. Ids and versions that the files lack are counted. Also reads the archive of "
        "`items export --format hf --encrypt`.",
    )
    add = parser.add_argument
    add("source", type=Path, metavar="FILE", help=".csv or .parquet file, or a folder or .zip file of them")
    add("--password", metavar="PASSWORD", help=PASSWORD_HELP)
    add("--out", type=Path, required=True, metavar="ITEMS", help="items table (Parquet)")
    parser.set_defaults(run=run_import)


def run_import(args: argparse.Namespace) -> None:
    """Read, compare with the release, write."""
    from worldprobe.archives import EXPORT_VARIABLE
    from worldprobe.benchmarks.ewok.analysis.published import is_release, read_published
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.exports.canaries import is_protected
    from worldprobe.benchmarks.ewok.materials.official_files import RELEASE_CANARY, read_items
    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER
    from worldprobe.paths import RESOURCES
    from worldprobe.provenance import made

    word = password(args) or os.environ.get(EXPORT_VARIABLE)
    if _copy_of_export(args.source, word, args.out):
        LOGGER.info("the items table that was exported: %s", args.out)
        return
    found = read_items(args.source, word)
    is_official = is_release(found.items, read_published(RESOURCES / "published"))
    details = {"imported": "items", "release": is_official} | ({"counted": list(found.made_up)} if found.made_up else {})
    # The release's texts are protected whatever canary the file states.
    canary = f"{found.canary}\n{RELEASE_CANARY}" if is_official and not is_protected(found.canary) else found.canary
    write_table(found.items, Items, args.out, made(METHOD, {"source": args.source}, details=details, canary=canary))
    if found.made_up:
        LOGGER.warning("%s has no %s: they were counted in the order of its rows", args.source, " and no ".join(found.made_up))
    whose = "those" if is_official else "not those"
    LOGGER.info("%d items, whose texts are %s of the release EWoK-core-1.0: %s", len(found.items), whose, args.out)


def _copy_of_export(source: Path, word: str | None, out: Path) -> bool:
    """Write the table in an archive of `items export --format hf --encrypt`; False where the source is anything else.

    Raises:
        UserError: the password is missing or wrong, or the archive's table is not one of items.
    """
    from worldprobe.archives import Archive, is_encrypted
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.official_files import PASSWORD_HINT
    from worldprobe.contracts import read_table
    from worldprobe.files import whole_file
    from worldprobe.report.dataset_folder import MEMBER

    if not is_encrypted(source):
        return False
    archive = Archive(source, word, PASSWORD_HINT)
    if archive.names != [MEMBER]:
        return False
    with whole_file(out) as temporary:
        archive.copy_member(MEMBER, temporary)  # a million items exceed what is read into memory
        try:
            read_table(temporary, Items)
        except UserError as error:
            raise UserError(f"{source}, {MEMBER}", error.problem, "Export the items again.") from error
    return True
