"""``materials``: check, count, show, start, split and review materials; ``worldsense audit``
and ``preview``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import App

from worldprobe.benchmarks.ewok.cli.templates import read_and_check
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.cli import options
from worldprobe.cli.options import read_password
from worldprobe.errors import UserError
from worldprobe.files import whole_folder, write_text
from worldprobe.log import LOGGER
from worldprobe.paths import materials_place
from worldprobe_authoring.exports_cli import add_to_worldsense
from worldprobe_authoring.lm_eval_cli import import_samples

app = App(name="materials", help="Check, count, show, start and review materials.")


@app.command
def check(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    compat: options.Compat = False,
    n_versions: Annotated[int, options.between(1, options.MOST)] = 5,
) -> None:
    """List every error and warning, with file, line and fix.

    Args:
        n_versions: number of versions for which the fillers must suffice
    """
    from worldprobe.benchmarks.ewok.materials.materials import read_materials
    from worldprobe_authoring.check import check_all

    folder = materials_place(materials)
    read = read_materials(
        folder, ORIGINAL if compat else RIGHT, read_password(password), is_lenient=compat
    )
    n_templates, n_levels = check_all(read, n_versions)
    for problem in sorted(
        read.problems, key=lambda warning: (warning.place.file, warning.place.line)
    ):
        print(problem)
    n_errors = len(read.problems.errors())
    if n_errors:
        raise UserError(
            folder,
            f"Errors: {n_errors}, listed above.",
            "Fix them from the top; one may cause others.",
        )
    print(f"{folder}: templates {n_templates}, errors 0, warnings {len(read.problems)}")
    print("`worldprobe items build` makes one item of each template per version.")
    if n_levels:
        print(f"Besides, levels of families {n_levels}, which `items build --families` fills.")


@app.command
def stats(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    seed: options.Seed = 0,
    out: options.OutFolder | None = None,
) -> None:
    """Print counts, balance of the design and of the two sides, and telltale words.

    Args:
        out: folder into which the tables are written as CSV files, too
    """
    from worldprobe.benchmarks.ewok.frequency import frequencies_of_wordfreq
    from worldprobe.benchmarks.ewok.materials.compile import compile_all
    from worldprobe_authoring.balance import overview

    read = read_and_check(materials, password, False)
    spoken = partial(frequencies_of_wordfreq, language=read.rules.language.language)
    tables, text = overview(compile_all(read), spoken, seed)
    print(text)
    if out:
        with whole_folder(out) as folder:
            for name, table in tables.items():
                csv = table.to_csv(index=False, float_format="%.9g", lineterminator="\n")
                (folder / f"{name}.csv").write_text(csv, encoding="utf-8", newline="")


#: Version of ``audit-labels``.
LABEL_AUDIT = 1


@app.command
def audit_labels(
    judgements: options.Judgements,
    /,
    *,
    items: Path,
    missing: options.Missing = (),
    out: Path,
) -> None:
    """Count for each item how many models and people contradict its label.

    The items' fillers are in the table where the items are of worldprobe's own materials.

    Args:
        items: items table
        out: label_audit table
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.canaries import is_own
    from worldprobe.benchmarks.ewok.cli.analysis import JudgedStep
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe_authoring.labels import COLUMNS, LabelAudit, audit_labels

    step = JudgedStep(LABEL_AUDIT, judgements, missing, {"items": items})
    with step.or_nothing((LabelAudit, out)):
        rows = step.read(COLUMNS)
        check_items(items, step.judgements)
        fillers, canary = None, read_provenance(items).canary
        if is_own(canary):
            fillers, step.canary = read_table(items, Items, ["item_id", "fillers"]), canary
        step.write(audit_labels(rows, fillers), LabelAudit, out)


@app.command
def split(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    seed: options.Seed = 0,
    out: Path,
) -> None:
    """Split pairs of concepts into train and test, which share no situation and no concept.

    Materials that contain the file as utils/split.csv ship this split: `controls write-corpus
    --hold-out situations` uses it.

    Args:
        out: CSV file with the part of each pair of concepts
    """
    from worldprobe.benchmarks.ewok.materials.compile import compile_all
    from worldprobe_authoring.split import read_scales, split_by_situation, split_text

    read = read_and_check(materials, password, False)
    parts = split_by_situation(compile_all(read), read_scales(read.source), seed)
    write_text(out, split_text(parts, read.canary))
    n_train = int((parts["part"] == "train").sum())
    LOGGER.info(
        "%d pairs of concepts for training, %d for testing: %s", n_train, len(parts) - n_train, out
    )


@app.command
def preview(
    materials: options.MaterialsPlace,
    concept: str,
    /,
    *,
    password: options.Password = None,
    domain: str | None = None,
    seed: options.Seed = 0,
    limit: options.Count = 20,
) -> None:
    """Show the filled templates of a concept.

    Args:
        concept: name of a concept, in quotes if it has several words
        domain: the only domain to look in
        limit: most templates to show
    """
    from worldprobe_authoring.review import preview_concept

    print(preview_concept(read_and_check(materials, password, False), concept, domain, seed, limit))


@app.command
def new_domain(materials: Path, name: str, /) -> None:
    """Write a commented start for a domain of your own, which compiles as it is.

    Args:
        materials: folder of materials; made if there is none
        name: two words joined by a hyphen, e.g. garden-work
    """
    from worldprobe.benchmarks.ewok.materials.materials import canary_lines
    from worldprobe_authoring.review import start_domain

    others = sorted(materials.glob("contexts/context-*.yml"))
    canary = "\n".join(canary_lines(others[0].read_bytes())) if others else None
    for path in start_domain(materials, name, canary):
        print(path)
    print(f"Next: change what you like, then `worldprobe materials check {materials}`.")


@app.command
def review(
    materials: options.MaterialsPlace,
    /,
    *,
    password: options.Password = None,
    read: Path | None = None,
    compat: options.Compat = False,
    seed: options.Seed = 0,
    out: Path,
) -> None:
    """Write a spreadsheet for a second reader's verdicts, or turn it into flags.

    The flags are for `items --flags`.

    Args:
        read: filled spreadsheet to turn into flags (CSV)
        out: spreadsheet to write; with --read, the flags to write (CSV)
    """
    from worldprobe.benchmarks.ewok.canaries import is_protected
    from worldprobe.benchmarks.ewok.materials.compile import compile_all
    from worldprobe.benchmarks.ewok.materials.flags import read_sheet
    from worldprobe_authoring.review import fill_once, flags_text, review_sheet

    checked = read_and_check(materials, password, compat)
    compiled = compile_all(checked)
    if read:
        flags = read_sheet(read, compiled)
        write_text(out, flags_text(flags, checked.canary))
        counts = flags["verdict"].value_counts()
        LOGGER.info(
            "%d templates excluded, %d reversed: %s",
            counts.get("exclude", 0),
            counts.get("reverse", 0),
            out,
        )
        return
    if is_protected(checked.canary):
        problem = "is EWoK's own, whose terms forbid plain-text files of it."
        raise UserError(materials, problem, "Review materials of your own.")
    write_text(out, review_sheet(compiled, fill_once(compiled, checked, seed), checked.canary))
    LOGGER.info("%d templates to read: %s", len(compiled), out)


def add_commands(app: App) -> None:
    """Add the commands to the stage ``worldsense``."""
    app.command(audit)
    app.command(show_skin, name="preview")
    app.command(import_samples)
    add_to_worldsense(app)


def audit(
    trials: options.Trials,
    /,
    *,
    from_text: bool = False,
    skin_folder: options.SkinFolder = None,
    out: Path | None = None,
) -> int:
    """Compare every gold answer with an exact solver's.

    The exit status is 1 where one is wrong, 0 where none is.

    Args:
        from_text: decide every answer by what the text states in the words of its skin, and compare
            it with the abstract fields
        out: one row for each trial whose gold answer is wrong (CSV)
    """
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_all_wordings
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe_authoring.audit import audit_trials, write_audit

    if skin_folder and not from_text:
        raise UserError(
            "--skin-folder",
            "has no effect without --from-text.",
            "Add --from-text, or leave it out.",
        )
    wordings = read_all_wordings(skin_folder or FOLDER) if from_text else None
    audited = audit_trials(read_trials(trials), trials, wordings)
    if out:
        write_text(out, audited.wrong.to_csv(index=False, lineterminator="\n"))
    print(write_audit(audited, trials, is_from_text=from_text))
    return 1 if len(audited.wrong) else 0


def show_skin(
    *,
    skin: str,
    size: Annotated[int, options.between(3, 8)] = 4,
    seed: options.Seed = 0,
    skin_folder: options.SkinFolder = None,
    wording_version: options.WordingVersion = 4,
) -> None:
    """Print one trial of each problem in the words of a skin.

    Args:
        skin: name of the skin as in its file, e.g. tall/short
        size: number of entities
    """
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe_authoring.preview import preview_skin

    print(preview_skin(read_skins(skin_folder or FOLDER, wording_version), skin, size, seed))
