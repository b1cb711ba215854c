"""Items and answers for the public: encrypted archives that keep their notices, and a dataset of
the Hugging Face hub.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from worldprobe.archives import Archive, check_names, encrypt
from worldprobe.benchmarks.ewok.canaries import OFFICIAL
from worldprobe.benchmarks.ewok.materials.materials import canary_lines
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe_authoring.search import is_word_list, lacks_canary, open_content

README = "README.txt"
_NOTICES = {
    "a licence": re.compile(r"(^|/)LICEN[CS]E[^/]*$", re.I),
    "terms of use": re.compile(r"(^|/)TERMS[^/]*$", re.I),
}
_OURS = b"files for worldprobe, encrypted with AES-256."
_ABOUT = """{canary}
{name}: {count} files for worldprobe, encrypted with AES-256.

Please keep these texts encrypted wherever others, or programs that collect training data,
can read them.
Their licence and terms: {notices}.
worldprobe reads this archive as it is: `worldprobe items build {name}`, with the password in
WORLDPROBE_MATERIALS_PASSWORD.
"""


def read_files_to_pack(sources: Sequence[Path], password: str | None) -> dict[str, bytes]:
    """The files to pack, read in memory: of a folder under its own name, of a .zip under their
    names there, or a single file.

    Raises:
        UserError: a source cannot be read, has no files or a link, or a name occurs twice.
    """
    members: dict[str, bytes] = {}
    for source in sources:
        if source.is_file() and source.suffix != ".zip":
            folder = Archive(source.absolute().parent)
            contents = {source.name: folder.read(source.name)}
        else:
            _refuse_links(source)
            archive = Archive(source, password, "Set WORLDPROBE_MATERIALS_PASSWORD.")
            above = f"{source.absolute().name}/" if archive.is_folder else ""
            contents = {above + name: archive.read(name) for name in archive.names}
            if _OURS in contents.get(
                README, b""
            ):  # of an archive that is packed again; there will be another
                del contents[README]
        for name in contents:
            _check_name(source, name)
        if not contents:
            raise UserError(
                source,
                "contains no file to pack.",
                "Name a folder with files; hidden ones are left out.",
            )
        if twice := sorted(contents.keys() & members.keys()):
            raise UserError(
                source, f"{twice[0]} is packed already.", "Rename one of the two files or folders."
            )
        members |= contents
    return members


def _refuse_links(folder: Path) -> None:
    """Refuse links, which ``release check`` does not follow: what they lead to was searched by
    nobody.
    """
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_symlink() and not any(
            part.startswith(".") for part in path.relative_to(folder).parts
        ):
            raise UserError(
                path,
                "is a link, which `release check` does not follow.",
                "Put the file itself in its place.",
            )


def _check_name(source: Path, name: str) -> None:
    if name == README:
        raise UserError(
            source, f"{README} is the name of the page that the archive gets.", "Rename the file."
        )
    try:
        name.encode()
    except UnicodeEncodeError as error:
        shown = name.encode("utf-8", "backslashreplace").decode()
        raise UserError(
            source, f"the name {shown} is not UTF-8, which an archive needs.", "Rename the file."
        ) from error


def read_notices(
    licence: Path | None, terms: Path | None, source: Path | None, password: str | None
) -> dict[str, bytes]:
    """Licence and terms for the top of the archive: from files, or as materials have them.

    Args:
        licence: a file.
        terms: a file.
        source: a folder or .zip of materials, whose LICENSE and TERMS files are taken where no file
            is named.
        password: of that .zip.
    """
    notices: dict[str, bytes] = {}
    if source is not None:
        archive = Archive(source, password, "Set WORLDPROBE_MATERIALS_PASSWORD.")
        for pattern in _NOTICES.values():
            names = [name for name in archive.names if pattern.search(name)]
            notices |= {PurePosixPath(name).name: archive.read(name) for name in names[:1]}
    for what, path in (("LICENSE", licence), ("TERMS_OF_USE", terms)):
        if path is not None:
            notices = {
                name: content
                for name, content in notices.items()
                if not name.upper().startswith(what[:5])
            }
            notices[what + (path.suffix or ".txt")] = Archive(path.absolute().parent).read(
                path.name
            )
    return notices


def check_members(members: Mapping[str, bytes]) -> None:
    """Refuse what must not be passed on like this.

    Raises:
        UserError: there is no licence or no terms among the files, or a file of materials or items
            has no canary (lists of fillers may lack one, as EWoK's do).
    """
    check_notices(members)
    _check_canaries(members)


def check_notices(members: Iterable[str]) -> None:
    """Refuse texts without their licence and terms.

    Raises:
        UserError: there is no file of that name.
    """
    for what, pattern in _NOTICES.items():
        if not any(pattern.search(name) for name in members):
            option = "--licence" if what == "a licence" else "--terms"
            fix = (
                f"Give {option} FILE, or --notices-from MATERIALS to take both from materials that"
                " have them."
            )
            raise UserError(option, f"there is no file with {what} among what is packed.", fix)


def _check_canaries(members: Mapping[str, bytes]) -> None:
    identities = {
        name: members.get(f"{PurePosixPath(name).parent}/identity.json") for name in members
    }
    sentences = {name: content for name, content in members.items() if not is_word_list(name)}
    if without := sorted(
        name for name, content in sentences.items() if lacks_canary(name, content, identities[name])
    ):
        more = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
        fix = (
            "Begin it with a comment line with the word canary and a random number; `worldprobe"
            " release check` lists all."
        )
        raise UserError(without[0], f"has no canary{more}.", fix)


def write_release(members: Mapping[str, bytes], path: Path, password: str) -> None:
    """Write files and a README into a ZIP that is encrypted with AES-256 (WinZip's way; 7-Zip and
    the like open it).

    The salt is drawn afresh, so two archives of the same files differ in their bytes.

    Args:
        members: name in the archive and content.
        path: the archive.
        password: not empty.

    Raises:
        UserError: the place cannot be written.
    """
    notices = ", ".join(
        sorted(name for name in members if any(p.search(name) for p in _NOTICES.values()))
    )
    canary = "\n".join(
        dict.fromkeys(line for content in members.values() for line in canary_lines(content))
    )
    about = _ABOUT.format(
        canary=canary, name=path.name, count=len(members), notices=notices
    ).lstrip()
    packed = encrypt(
        {README: about.encode()} | dict(members), password
    )  # in memory: on a full disk, pyzipper has no message
    with whole_file(path) as temporary:
        temporary.write_bytes(packed)


def read_packed(path: Path, password: str | None, hint: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, to be written in the open.

    Raises:
        UserError: it cannot be read, a name leads out of the folder, or it contains EWoK's own
            materials or items of them.
    """
    archive = Archive(path, password, hint)
    if archive.is_folder:
        raise UserError(path, "is a folder.", "Give the .zip file.")
    check_names(path, archive.names)
    contents = {name: archive.read(name) for name in archive.names}
    if any(_has_protected_canary(name, content) for name, content in contents.items()):
        fix = (
            "Leave it packed: every command reads it as it is, e.g. `worldprobe items build"
            f" {path.name}`."
        )
        raise UserError(
            path,
            "contains EWoK's own materials, or items of them, whose terms forbid plain-text files.",
            fix,
        )
    yield from contents.items()


def _has_protected_canary(name: str, content: bytes) -> bool:
    """Whether a file, or one packed in it, says that it is EWoK's: materials, tables, answers of a
    store.
    """
    return any(_PROTECTED.search(piece.text) for piece in open_content(content, name) if piece.text)


#: A canary in a comment, or in what a table or a store of answers says of itself.
_PROTECTED = re.compile(
    rf'^[ \t\ufeff]*#.*{OFFICIAL}|"canary"\s*:\s*(?:\[[^\]]*|"[^"]*){OFFICIAL}', re.I | re.M
)
