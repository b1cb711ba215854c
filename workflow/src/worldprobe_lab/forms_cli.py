"""``items forms``: parallel forms of templates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App

from worldprobe import methods
from worldprobe.benchmarks.ewok.cli.templates import made_from_materials, read_and_check
from worldprobe.cli import options
from worldprobe.files import digest_file, whole_folder
from worldprobe.log import LOGGER


def forms(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    compat: options.Compat = False,
    forms: Annotated[int, options.between(1, 1000)] = 4,
    seed: Annotated[int, options.between(0, 2**32 - 1)] = 0,
    frames: Literal["other", "same"] = "other",
    besides: Path | None = None,
    out: options.OutFolder,
) -> None:
    """Make parallel forms: the same templates, other fillings and other frames.

    A filler that one form of a template has, no other form of it has, as far as there are enough.

    Args:
        forms: number of forms
        seed: seed of the fillings
        frames: other: contexts also begin with a neutral sentence, another one in each form of a
            template; same: bare contexts
        besides: items table whose fillings no form may have, e.g. items that may have been read
        out: folder of a table per form, form-1.parquet, form-2.parquet and so on
    """
    from worldprobe.benchmarks.ewok.contracts import Items, Templates
    from worldprobe.benchmarks.ewok.materials.compile import compile_all
    from worldprobe.benchmarks.ewok.materials.items import finish_items
    from worldprobe.benchmarks.ewok.materials.situations import sizes_of
    from worldprobe.contracts import digest_table, read_table, write_table
    from worldprobe_lab.forms import fill_forms

    read = read_and_check(materials, password, compat)
    made = made_from_materials(read, compat)
    templates = compile_all(read)
    made.inputs["templates"] = digest_table(templates, Templates, made)
    if besides:
        made.inputs["besides"] = digest_file(besides)
    filled = fill_forms(
        templates,
        read,
        forms,
        seed,
        frames == "other",
        read_table(besides, Items) if besides else None,
    )
    apart = {"n_templates": filled.n_templates, "n_templates_without_shared_filler": filled.n_apart}
    made.method, made.seed = methods.ITEMS, seed
    made.details |= (
        {"mode": "forms", "forms": forms, "frames": frames} | apart | sizes_of(templates)
    )
    with whole_folder(out) as folder:
        for number, table in enumerate(filled.tables, start=1):
            write_table(
                finish_items(table, read.rules, None),
                Items,
                folder / f"form-{number}.parquet",
                made,
            )
    message = "%d forms of %d items; %d of %d templates share no filler between forms: %s"
    LOGGER.info(message, forms, len(filled.tables[0]), filled.n_apart, filled.n_templates, out)


def add_commands(app: App) -> None:
    """Add the command to the stage ``items``."""
    app.command(forms)
