"""``release``: pack materials and items into an encrypted archive, open one, and search folders for
what got out; ``archive pack``: a finished study.
"""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from worldprobe import __version__
from worldprobe.archives import is_encrypted
from worldprobe.cli.options import OutFolder
from worldprobe.errors import UserError
from worldprobe.files import whole_file, whole_folder
from worldprobe.log import LOGGER
from worldprobe.paths import REPOSITORY

if TYPE_CHECKING:
    from worldprobe_authoring.search import Findings

RELEASE_VARIABLE = "WORLDPROBE_RELEASE_PASSWORD"
#: So many sentences of a file are listed.
SHOWN = 5

app = App(
    name="release",
    help="Pass materials and items on, encrypted, and search folders for what got out.",
)


def ask_password(variable: str, what: str, again: bool = False) -> str:
    """A password from the environment, else from the terminal.

    Args:
        variable: the environment variable.
        what: what it opens, for the prompt.
        again: it closes something: ask twice.

    Raises:
        UserError: it is not set and there is no terminal, it is empty, or the two differ.
    """
    word = os.environ.get(variable, "")
    if word:
        return word
    if not sys.stdin.isatty():
        raise UserError(
            variable,
            f"no password is set for {what}.",
            f"Set {variable}, or run the command in a terminal.",
        )
    word = getpass.getpass(f"Password of {what}: ")
    if not word:
        raise UserError("password", "is empty.", "Type one.")
    if again and getpass.getpass("Again: ") != word:
        raise UserError("password", "the two differ.", "Run the command again.")
    return word


def _password_of_materials(*paths: Path | None) -> str | None:
    """The password of whichever of these is an encrypted archive; None if none is."""
    from worldprobe.cli.options import PASSWORD_VARIABLE

    closed = [path for path in paths if path is not None and is_encrypted(path)]
    return ask_password(PASSWORD_VARIABLE, closed[0].name) if closed else None


@app.command
def pack(
    sources: Sequence[Path] = (),
    /,
    *,
    items: Path | None = None,
    templates: Path | None = None,
    licence: Path | None = None,
    terms: Path | None = None,
    notices_from: Path | None = None,
    out: Path,
) -> None:
    """Put files into a ZIP encrypted with AES-256, with licence and terms.

    The password is the value of WORLDPROBE_RELEASE_PASSWORD, or is asked for; it is never an
    argument, which others could see.

    Args:
        sources: folders, files, or .zip files whose members to pack again
        items: items table to pack as well, as CSV files in the original's format
        templates: templates table that --items was filled from
        licence: licence to pack, where no LICENSE file is among the sources
        terms: terms of use to pack, where no TERMS file is among the sources
        notices_from: folder or .zip of materials whose licence and terms to pack
        out: archive to write
    """
    from worldprobe_authoring.official_items import read_official_files
    from worldprobe_authoring.packing import (
        check_members,
        read_files_to_pack,
        read_notices,
        write_release,
    )

    if out.suffix != ".zip":
        raise UserError(f"--out {out}", "is not a .zip file.", "Name a .zip file.")
    if not (sources or items):
        raise UserError("SOURCE", "there is nothing to pack.", "Name folders or files, or --items.")
    if bool(items) != bool(templates):
        raise UserError("--items", "and --templates go together.", "Give both.")
    word = _password_of_materials(*sources, notices_from)
    members = read_files_to_pack(sources, word)
    if items and templates:
        members |= {
            f"items/{name}": text.encode() for name, text in read_official_files(items, templates)
        }
    members |= read_notices(licence, terms, notices_from, word)
    check_members(members)
    write_release(members, out, ask_password(RELEASE_VARIABLE, out.name, again=True))
    LOGGER.info("%d files, encrypted with AES-256: %s", len(members), out)


@app.command
def unpack(archive: Path, /, *, out: OutFolder) -> None:
    """Open an archive; EWoK's own materials stay packed.

    The password is the value of WORLDPROBE_RELEASE_PASSWORD, or is asked for; it is never an
    argument, which others could see.

    Args:
        archive: archive, from `release pack`
        out: folder to write
    """
    from worldprobe_authoring.packing import read_packed

    word = ask_password(RELEASE_VARIABLE, archive.name) if is_encrypted(archive) else None
    contents = dict(read_packed(archive, word, f"Set {RELEASE_VARIABLE}."))
    with whole_folder(out) as folder:
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@app.command
def check(folder: Path, /, *, official: Path | None = None) -> int:
    """Find protected sentences in any folder, and files without a canary.

    Materials, items and answers must have one.

    Exit status 1 if anything was found.

    Args:
        folder: folder to search, hidden files, tables and archives included
        official: protected materials whose sentences to look for (password:
            WORLDPROBE_MATERIALS_PASSWORD, or asked for)
    """
    from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
    from worldprobe_authoring.search import read_wordings, search_folder

    wordings = None
    if official:
        wordings = read_wordings(MaterialsFiles(official, _password_of_materials(official)))
    findings = search_folder(folder, wordings)
    print("\n".join(_report(findings, folder, official, len(wordings.wordings) if wordings else 0)))
    return 0 if findings.is_clean() else 1


def _report(findings: Findings, folder: Path, official: Path | None, n_wordings: int) -> list[str]:
    """The findings in words: places and numbers, never text."""
    from worldprobe_authoring.search import LEAST_WORDS

    lines = []
    for file, sentences in sorted(findings.sentences.items()):
        for sentence in sentences[:SHOWN]:
            what = f"{sentence.n_words} words in a row of a protected sentence"
            lines.append(f"{file}, line {sentence.line}: {what}")
        if len(sentences) > SHOWN:
            lines.append(f"{file}: {len(sentences) - SHOWN} more")
    lines += [f"{file}: no canary" for file in sorted(findings.without_canary)]
    lines += [f"{file}: not searched: {why}" for file, why in sorted(findings.unread.items())]
    what = (
        f"{n_wordings} sentences of {official.name} and missing canaries"
        if official
        else "missing canaries"
    )
    lines.append(
        f"{folder}: {findings.n_files} files searched for {what}; git's history is not searched."
    )
    if official:
        lines.append(f"Only sentences with {LEAST_WORDS} words or more count, fillers left aside.")
    if findings.others:
        forms = ", ".join(f"{n} {form}" for form, n in sorted(findings.others.items()))
        lines.append(f"Of some files only the plain text in them was searched: {forms}.")
    if findings.encrypted:
        lines.append(f"{findings.encrypted} encrypted members of archives were left closed.")
    if findings.is_clean():
        lines.append("Nothing was found.")
    return lines


def pack_study(
    folder: Path,
    /,
    *,
    encrypt: bool = False,
    licence: Path | None = None,
    terms: Path | None = None,
    notices_from: Path | None = None,
    out: Path,
) -> None:
    """Pack a finished study, so that others draw its tables, figures and report again.

    A Workflow RO-Crate with these, the tables that they are made from, settings, and what made each
    table. Protected texts of items are left out, or go in encrypted; answers in words stay.

    The password is the value of WORLDPROBE_RELEASE_PASSWORD, or is asked for.

    Args:
        folder: the study's results, e.g. results/default
        encrypt: pack protected texts from which tables are drawn, encrypted with AES-256
        licence: with --encrypt, licence of the texts
        terms: with --encrypt, terms of use of the texts
        notices_from: folder or .zip of materials whose licence and terms to pack
        out: archive (ZIP)
    """
    from worldprobe.operations.archived import PROVENANCE, open_folder
    from worldprobe_authoring import crate
    from worldprobe_authoring.packing import check_notices, read_notices

    study = open_folder(folder)
    contents = crate.read_results(study)
    name = study.record.study["study"]
    notices: dict[str, bytes] = {}
    if contents.closed and encrypt:
        word = _password_of_materials(notices_from)
        notices = read_notices(licence, terms, notices_from, word)
        check_notices(notices)
    elif contents.closed:
        if pages := sorted(
            closed_path for closed_path in contents.closed if not closed_path.endswith(".parquet")
        ):
            fix = "Add --encrypt, or leave out what shows texts of items, and run the study again."
            raise UserError(folder / pages[0], "contains protected texts of items.", fix)
        for closed in contents.closed:
            del contents.files[closed], contents.origins[closed]
    files = {f"results/{name}/{path}": content for path, content in contents.files.items()}
    files |= notices | {
        "README.md": crate.describe_archive(study, contents).encode(),
        PROVENANCE: (json.dumps(contents.described, indent=1, ensure_ascii=False) + "\n").encode(),
        f"config/{name}.yaml": _as_yaml(study.record.study),
        "config/models.yaml": _as_yaml(study.record.cards),
    }
    for pattern in crate.WORKFLOW:
        files |= {
            path.relative_to(REPOSITORY).as_posix(): path.read_bytes()
            for path in REPOSITORY.glob(pattern)
            if path.is_file()
        }
    origins = {f"results/{name}/{path}": origin for path, origin in contents.origins.items()}
    closed_files = {f"results/{name}/{path}" for path in contents.closed} & files.keys()
    citation = crate.read_citation(REPOSITORY / "CITATION.cff")
    versions = {"snakemake": crate.snakemake_version(), "worldprobe": __version__}
    metadata = crate.build_crate(files, origins, name, citation, versions, crate.note_of(study))
    password = ask_password(RELEASE_VARIABLE, out.name, again=True) if closed_files else ""
    with whole_file(out) as temporary:
        temporary.write_bytes(crate.pack_crate(files, metadata, closed_files, password))
    LOGGER.info(
        "%d files, %d of them encrypted, %d tables with texts left out: %s",
        len(files),
        len(closed_files),
        len(contents.described) - len(contents.origins),
        out,
    )


def _as_yaml(settings: object) -> bytes:
    import yaml

    return yaml.safe_dump(settings, allow_unicode=True, sort_keys=False).encode()


def add_pack(app: App) -> None:
    """Add the command to the stage ``archive``."""
    app.command(pack_study, name="pack")
