"""``templates``: compile materials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from worldprobe import methods
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.study import chosen_mode
from worldprobe.cli import options
from worldprobe.cli.options import read_password
from worldprobe.log import LOGGER
from worldprobe.paths import materials_place
from worldprobe.provenance import made

if TYPE_CHECKING:
    from worldprobe.benchmarks.ewok.materials.materials import Materials
    from worldprobe.provenance import Provenance

templates = App(name="templates", help="Compile materials into templates.")


def read_and_check(folder: str, password: str | None, compat: bool) -> Materials:
    """The materials that a command names, free of errors."""
    from worldprobe.benchmarks.ewok.materials.check import check_materials
    from worldprobe.benchmarks.ewok.materials.materials import read_materials

    materials = read_materials(
        materials_place(folder),
        ORIGINAL if compat else RIGHT,
        read_password(password),
        is_lenient=compat,
    )
    check_materials(materials)
    materials.problems.raise_first()
    if materials.problems:
        LOGGER.info(
            "The materials have %d warnings; `worldprobe materials check` lists them.",
            len(materials.problems),
        )
    return materials


def made_from_materials(materials: Materials, is_compat: bool) -> Provenance:
    """Provenance of a table compiled from materials."""
    return made(
        methods.TEMPLATES,
        packages=["numpy", "PyYAML", "inflection"],
        digests={"materials": materials.source.digest()},
        canary=materials.canary,
        details={"compat": is_compat} | materials.rules.language.details(),
    )


@templates.command(name="compile")
def compile_(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    compat: options.Compat = False,
    families: options.Families = False,
    fillers_out: Path | None = None,
    out: Path,
) -> None:
    """Compile every concept pair's targets with every fitting context, and their swaps.

    Args:
        fillers_out: fillers table: what `items fill` fills the templates with
        out: templates table (Parquet)
    """
    from worldprobe.benchmarks.ewok.contracts import FillerRows, Templates
    from worldprobe.benchmarks.ewok.materials.compile import compile_all
    from worldprobe.benchmarks.ewok.materials.fillers import fillers_table
    from worldprobe.contracts import write_table

    read = read_and_check(materials, password, compat)
    table = compile_all(read, families)
    provenance = made_from_materials(read, compat)
    if fillers_out:
        mode = chosen_mode("auto", str(read.source.path), compat)
        details = provenance.details | {"mode": mode}
        write_table(
            fillers_table(read.fillers),
            FillerRows,
            fillers_out,
            replace(provenance, details=details),
        )
    write_table(table, Templates, out, provenance)
    LOGGER.info("%d templates in %d domains: %s", len(table), table["domain"].nunique(), out)
