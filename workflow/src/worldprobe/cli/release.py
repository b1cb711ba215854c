"""``release``: pack materials and items into an encrypted archive, open one, and search folders for what got out."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.errors import UserError

if TYPE_CHECKING:
    from worldprobe.benchmarks.ewok.exports.search import Findings

RELEASE_VARIABLE = "WORLDPROBE_RELEASE_PASSWORD"
_ASKED = f"The password is the value of {RELEASE_VARIABLE}, or is asked for; it is never an argument, which others could see."


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``release pack``, ``release unpack`` and ``release check``."""
    stage = stages.add_parser("release", help="pass materials and items on, encrypted, and search folders for what got out")
    actions = stage.add_subparsers(metavar="ACTION", required=True)
    _add_pack(actions)
    unpack = actions.add_parser("unpack", help="open an archive; EWoK's own materials stay packed", epilog=_ASKED)
    unpack.add_argument("archive", type=Path, metavar="ZIP", help="archive, from `release pack`")
    unpack.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write")
    unpack.set_defaults(run=run_unpack)
    check = actions.add_parser(
        "check", help="find protected sentences in any folder, and files of materials, items and answers without a canary"
    )
    check.add_argument("folder", type=Path, metavar="FOLDER", help="folder to search, hidden files, tables and archives included")
    check.add_argument(
        "--official",
        type=Path,
        metavar="ARCHIVE",
        help="protected materials whose sentences to look for (password: WORLDPROBE_MATERIALS_PASSWORD, or asked for)",
    )
    check.set_defaults(run=run_check)


def _add_pack(actions: argparse._SubParsersAction) -> None:
    pack = actions.add_parser("pack", help="put files into a ZIP encrypted with AES-256, with licence and terms", epilog=_ASKED)
    add = pack.add_argument
    add("sources", nargs="*", type=Path, metavar="SOURCE", help="folders, files, or .zip files whose members to pack again")
    add("--items", type=Path, metavar="ITEMS", help="also pack this items table, as CSV files in the original's format")
    add("--templates", type=Path, metavar="TEMPLATES", help="the templates table that --items was filled from")
    add("--licence", type=Path, metavar="FILE", help="licence to pack, where no LICENSE file is among the sources")
    add("--terms", type=Path, metavar="FILE", help="terms of use to pack, where no TERMS file is among the sources")
    add("--notices-from", type=Path, metavar="MATERIALS", help="folder or .zip of materials whose licence and terms to pack")
    add("--out", type=Path, required=True, metavar="ZIP", help="archive to write")
    pack.set_defaults(run=run_pack)


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
        raise UserError(variable, f"no password is set for {what}.", f"Set {variable}, or run the command in a terminal.")
    word = getpass.getpass(f"Password of {what}: ")
    if not word:
        raise UserError("password", "is empty.", "Type one.")
    if again and getpass.getpass("Again: ") != word:
        raise UserError("password", "the two differ.", "Run the command again.")
    return word


def _password_of_materials(*paths: Path | None) -> str | None:
    """The password of whichever of these is an encrypted archive; None if none is."""
    from worldprobe.archives import is_encrypted
    from worldprobe.benchmarks.ewok.materials.materials import PASSWORD_VARIABLE

    closed = [path for path in paths if path is not None and is_encrypted(path)]
    return ask_password(PASSWORD_VARIABLE, closed[0].name) if closed else None


def run_pack(args: argparse.Namespace) -> None:
    """Read, check, encrypt."""
    from worldprobe.benchmarks.ewok.exports.packing import check_members, read_members, read_notices, write_release
    from worldprobe.cli.items_export import read_official_files
    from worldprobe.log import LOGGER

    if args.out.suffix != ".zip":
        raise UserError(f"--out {args.out}", "is not a .zip file.", "Name a .zip file.")
    if not (args.sources or args.items):
        raise UserError("SOURCE", "there is nothing to pack.", "Name folders or files, or --items.")
    if bool(args.items) != bool(args.templates):
        raise UserError("--items", "and --templates go together.", "Give both.")
    word = _password_of_materials(*args.sources, args.notices_from)
    members = read_members(args.sources, word)
    if args.items:
        members |= {f"items/{name}": text.encode() for name, text in read_official_files(args.items, args.templates)}
    members |= read_notices(args.licence, args.terms, args.notices_from, word)
    check_members(members)
    write_release(members, args.out, ask_password(RELEASE_VARIABLE, args.out.name, again=True))
    LOGGER.info("%d files, encrypted with AES-256: %s", len(members), args.out)


def run_unpack(args: argparse.Namespace) -> None:
    """Open, refuse what must stay packed, write."""
    from worldprobe.archives import is_encrypted
    from worldprobe.benchmarks.ewok.exports.packing import read_release
    from worldprobe.files import digest_file, source_of, whole_folder

    word = ask_password(RELEASE_VARIABLE, args.archive.name) if is_encrypted(args.archive) else None
    contents = dict(read_release(args.archive, word, f"Set {RELEASE_VARIABLE}."))
    with whole_folder(args.out, "release unpack", source_of(digest_file(args.archive))) as folder:
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def run_check(args: argparse.Namespace) -> int:
    """Search, print; 1 if anything was found."""
    from worldprobe.benchmarks.ewok.exports.search import read_wordings, search_folder
    from worldprobe.benchmarks.ewok.materials.materials import Source

    wordings = None
    if args.official:
        wordings = read_wordings(Source(args.official, _password_of_materials(args.official)))
    findings = search_folder(args.folder, wordings)
    print("\n".join(_report(findings, args, len(wordings.wordings) if wordings else 0)))
    return 0 if findings.is_clean() else 1


def _report(findings: Findings, args: argparse.Namespace, n_wordings: int) -> list[str]:
    """The findings in words: places and counts, never text."""
    lines = [f"{place}: {count} protected sentence{'s' * (count > 1)}" for place, count in sorted(findings.sentences.items())]
    lines += [f"{place}: no canary" for place in sorted(findings.without_canary)]
    lines += [f"{place}: not searched: {why}" for place, why in sorted(findings.unread.items())]
    what = f"{n_wordings} sentences of {args.official.name} and missing canaries" if args.official else "missing canaries"
    lines.append(f"{args.folder}: {findings.n_files} files searched for {what}; git's history is not searched.")
    if findings.encrypted:
        lines.append(f"{findings.encrypted} encrypted members of archives were left closed.")
    if findings.is_clean():
        lines.append("Nothing was found.")
    return lines
