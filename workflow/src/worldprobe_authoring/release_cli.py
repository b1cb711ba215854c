"""``release``: pack materials and items into an encrypted archive, open one, and search folders for
what got out; ``crate``: a finished study as an RO-Crate.
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from worldprobe import __version__
from worldprobe.archives import is_encrypted
from worldprobe.benchmarks import settings_classes
from worldprobe.cli.options import ConfigFiles, OutFolder
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
    from worldprobe.cli.items import read_official_files
    from worldprobe_authoring.packing import (
        check_members,
        read_members,
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
    members = read_members(sources, word)
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
    from worldprobe_authoring.packing import read_release

    word = ask_password(RELEASE_VARIABLE, archive.name) if is_encrypted(archive) else None
    contents = dict(read_release(archive, word, f"Set {RELEASE_VARIABLE}."))
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
    from worldprobe.benchmarks.ewok.materials.materials import Source
    from worldprobe_authoring.search import read_wordings, search_folder

    wordings = None
    if official:
        wordings = read_wordings(Source(official, _password_of_materials(official)))
    findings = search_folder(folder, wordings)
    print("\n".join(_report(findings, folder, official, len(wordings.wordings) if wordings else 0)))
    return 0 if findings.is_clean() else 1


def _report(findings: Findings, folder: Path, official: Path | None, n_wordings: int) -> list[str]:
    """The findings in words: places and numbers, never text."""
    from worldprobe_authoring.search import LEAST_WORDS

    lines = []
    for place, sentences in sorted(findings.sentences.items()):
        for sentence in sentences[:SHOWN]:
            what = f"{sentence.n_words} words in a row of a protected sentence"
            lines.append(f"{place}, line {sentence.line}: {what}")
        if len(sentences) > SHOWN:
            lines.append(f"{place}: {len(sentences) - SHOWN} more")
    lines += [f"{place}: no canary" for place in sorted(findings.without_canary)]
    lines += [f"{place}: not searched: {why}" for place, why in sorted(findings.unread.items())]
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


def crate(folder: Path, /, *, configfile: ConfigFiles = (), out: Path) -> None:
    """Pack a finished study as a Workflow RO-Crate, with what made each table.

    Workflow, configuration, tables, figures, report and paper. Tables with item text, trials and
    answers are left out.

    Args:
        folder: the study's results, e.g. results/default
        out: the crate (ZIP)
    """
    from worldprobe_authoring import crate as crates

    if not (folder / "report.html").is_file():
        raise UserError(
            folder,
            "contains no report.html, so it is not a finished study.",
            "Give e.g. results/default.",
        )
    files, origins = crates.read_results(folder)
    for pattern in crates.WORKFLOW:
        files |= {
            path.relative_to(REPOSITORY).as_posix(): path.read_bytes()
            for path in REPOSITORY.glob(pattern)
            if path.is_file()
        }
    files |= crates.read_configuration(
        configfile or [REPOSITORY / "config" / "config.yaml"], REPOSITORY, settings_classes
    )
    citation = crates.read_citation(REPOSITORY / "CITATION.cff")
    versions = {"snakemake": crates.snakemake_version(), "worldprobe": __version__}
    metadata = crates.build_crate(files, origins, folder.resolve().name, citation, versions)
    with whole_file(out) as temporary:
        temporary.write_bytes(crates.pack_crate(files, metadata))
    LOGGER.info("%d files, %d of them with what made them: %s", len(files), len(origins), out)
