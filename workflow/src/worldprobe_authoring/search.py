"""Protected sentences in files: plain, escaped, in a table or an archive, compressed, or between
other bytes.

Not read: images, the streams of a PDF, what is encoded once more (base64), and the tables and
compressions of ``_UNREAD``; of office documents only sentences without marks between their words.
"""

from __future__ import annotations

import bz2
import gzip
import html
import io
import itertools
import json
import lzma
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from worldprobe.archives import LARGEST
from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.materials import (
    MaterialsFiles,
    canary_lines,
    read_materials,
)
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL
from worldprobe.benchmarks.ewok.materials.release_filter import LISTED
from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError
from worldprobe.log import Progress

#: Stands for a slot and for any filler of the materials.
FILLER = "\ue000"
#: By so many words in a row a sentence is looked up.
KEY_LENGTH = 4
#: A sentence counts if so many of its words are not fillers; shorter ones anybody may write.
LEAST_WORDS = 6
_SLOT = re.compile(r"[\[{]\w+(?::[^\[\]{}\n]{1,80})?[\]}]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|" + FILLER)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

Wording = tuple[str, ...]


def split_words(text: str) -> list[str]:
    """Lower-case words without punctuation; a slot is one word.

    >>> split_words("Ruth's jar -- the RED one -- falls.")
    ["ruth's", 'jar', 'the', 'red', 'one', 'falls']
    """
    return _WORD.findall(_prepared(text))


def _prepared(text: str) -> str:
    return _SLOT.sub(f" {FILLER} ", text).lower().replace("\u2019", "'")


class Wordings:
    """Finds the sentences of protected materials in text.

    Args:
        items: the texts of templates or items; with slots, filled, or both.
        fillers: everything that may fill a slot.
    """

    def __init__(self, items: Iterable[Sequence[str]], fillers: Iterable[str]) -> None:
        self._fillers: dict[str, list[list[str]]] = {}
        for words in sorted(map(split_words, set(fillers)), key=len, reverse=True):
            if words:
                self._fillers.setdefault(words[0], []).append(words)
        self.wordings = sorted({wording for item in items for wording in self._recognisable(item)})
        self._by_key: dict[Wording, list[tuple[int, int]]] = {}
        for number, wording in enumerate(self.wordings):
            runs = [wording[i : i + KEY_LENGTH] for i in range(len(wording) - KEY_LENGTH + 1)]
            start = min(range(len(runs)), key=lambda i: runs[i].count(FILLER))
            self._by_key.setdefault(runs[start], []).append((number, start))

    def _recognisable(self, item: Sequence[str]) -> list[Wording]:
        """The item's sentences that have enough words to be told from anybody's. If it has none,
        its texts in a row: as few of them as have enough words, in every order.
        """
        sentences = (
            tuple(self._normalised(split_words(sentence)))
            for text in item
            for sentence in _SENTENCE_END.split(text)
        )
        if long_enough_sentences := [words for words in sentences if _is_enough(words)]:
            return long_enough_sentences
        texts = [self._normalised(split_words(text)) for text in item]
        for number in range(2, len(texts) + 1):
            runs = (tuple(itertools.chain(*run)) for run in itertools.permutations(texts, number))
            if long_enough_runs := [words for words in runs if _is_enough(words)]:
                return long_enough_runs
        return []

    def _normalised(self, words: Sequence[str], starts: list[int] | None = None) -> list[str]:
        """The words, with fillers as one word each; ``starts`` takes the place of each in what is
        given.
        """
        normal, i = [], 0
        while i < len(words):
            word = words[i]
            bare = word.removesuffix("'s")
            if starts is not None:
                starts.append(i)
            for filler in self._fillers.get(bare, ()) if bare in self._fillers else ():
                end = i + len(filler)
                if words[i : end - 1] == filler[:-1] and words[end - 1 : end] in (
                    [filler[-1]],
                    [filler[-1] + "'s"],
                ):
                    normal.append(FILLER)
                    i = end
                    break
            else:
                normal.append(word)
                i += 1
        return normal

    def find(self, text: str) -> dict[int, int]:
        """The numbers of the wordings that a text contains -> the line on which each begins
        first.
        """
        plain = _prepared(text)
        starts: list[int] = []
        words = self._normalised(_WORD.findall(plain), starts)
        shifted = [words[i:] for i in range(KEY_LENGTH)]
        hits = self._by_key.keys() & set(zip(*shifted, strict=False))
        lines: dict[int, int] = {}
        for position, run in enumerate(zip(*shifted, strict=False)) if hits else ():
            for number, start in self._by_key[run] if run in hits else ():
                begin = position - start
                wording = self.wordings[number]
                if (
                    begin >= 0
                    and number not in lines
                    and tuple(words[begin : begin + len(wording)]) == wording
                ):
                    at = next(itertools.islice(_WORD.finditer(plain), starts[begin], None)).start()
                    lines[number] = plain.count("\n", 0, at) + 1
        return lines


def _is_enough(words: Sequence[str]) -> bool:
    return len(words) - words.count(FILLER) >= LEAST_WORDS


def read_wordings(source: MaterialsFiles) -> Wordings:
    """The sentences of materials: of their templates, with any of their fillers, and of the items
    that were released.

    Raises:
        UserError: the materials cannot be read, or not even the original would compile them.
    """
    materials = read_materials(source, ORIGINAL, is_lenient=True)
    materials.problems.raise_first()
    templates = compile_templates(materials)
    texts = list(zip(*(templates[column] for column in TEXTS), strict=True))
    if LISTED in source.names:
        released = read_frame(LISTED, source.read(LISTED))
        texts += zip(
            *(released[column] for column in OFFICIAL_TEXTS if column in released), strict=True
        )
    return Wordings(
        texts,
        [
            filler.text
            for filler_class in materials.fillers.values()
            for filler in filler_class.fillers
        ],
    )


class SentencePlace(NamedTuple):
    """Where a protected sentence is, and how long it is; not the sentence.

    Attributes:
        line: of the file, or row of the table.
        n_words: how many words match.
    """

    line: int
    n_words: int


@dataclass
class Findings:
    """Findings of a search; nothing of the texts themselves.

    Attributes:
        sentences: location -> the different protected sentences there, in order.
        without_canary: places.
        unread: location -> why it could not be searched.
        others: form of a file that is not read -> number of such files.
        encrypted: number of members of archives that are encrypted, as they should be.
        n_files: how many files were searched.
    """

    sentences: dict[str, list[SentencePlace]] = field(default_factory=dict)
    without_canary: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    encrypted: int = 0
    n_files: int = 0

    def is_clean(self) -> bool:
        """Whether everything that can be read was searched, and nothing found."""
        return not (self.sentences or self.without_canary or self.unread)


def search_folder(folder: Path, wordings: Wordings | None) -> Findings:
    """Search every file of a folder, hidden ones, tables and archives included.

    Args:
        folder: a folder, or a single file.
        wordings: of the protected materials; None: look for canaries only.

    Raises:
        UserError: there is no such folder.
    """
    if not folder.exists():
        raise UserError(folder, "there is no such folder.", "Check the path.")
    findings = Findings()

    def skip(error: OSError) -> None:
        findings.unread[os.path.relpath(error.filename, folder)] = (
            f"cannot be listed ({error.strerror})"
        )

    paths = [folder] if folder.is_file() else list(readable_files(folder, skip))
    findings.n_files = len(paths)
    with Progress("Searching", len(paths), "files") as progress:
        for path in paths:
            name = path.name if path == folder else path.relative_to(folder).as_posix()
            _search_file(path, name, wordings, findings)
            progress.advance()
    return findings


def _search_file(path: Path, name: str, wordings: Wordings | None, findings: Findings) -> None:
    try:
        if path.stat().st_size <= LARGEST and lacks_canary(
            path.as_posix(), path.read_bytes(), _identity(path)
        ):
            findings.without_canary.append(name)
    except OSError as error:
        findings.unread[name] = f"cannot be read ({error.strerror})"
        return
    by_file: dict[str, dict[int, SentencePlace]] = {}
    for content in contents(path, name) if wordings is not None else ():
        if content.text is None:
            findings.unread[content.location] = content.problem
        elif content.problem:
            findings.encrypted += 1
        elif wordings is not None:
            findings.others.update([content.form] if content.form else [])
            here = by_file.setdefault(content.location, {})
            for number, line in wordings.find(content.text).items():
                here.setdefault(
                    number,
                    SentencePlace(content.first_line + line - 1, len(wordings.wordings[number])),
                )
    findings.sentences |= {file: sorted(here.values()) for file, here in by_file.items() if here}


def _identity(path: Path) -> bytes | None:
    """Identity of the store of answers that a file belongs to."""
    beside = path.with_name("identity.json")
    return beside.read_bytes() if is_part_of_store(path.name) and beside.is_file() else None


#: So much of a large file is read at once, and so much of it twice, so that no sentence is cut.
_PIECE, _OVERLAP = 32 * 1024 * 1024, 4096
_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]{12,}")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt\"'/])")
_NESTED = 4
#: How files begin whose texts are not read.
_UNREAD = {
    b"%PDF": "PDF",
    b"ARROW1": "Arrow",
    b"ORC": "ORC",
    b"(\xb5/\xfd": "zstd",
    b"\x04\x22M\x18": "lz4",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
}
#: Members of an archive that is a document of an office program, where marks may stand within a
#: sentence.
_OFFICE = {"[Content_Types].xml", "mimetype"}


class Content(NamedTuple):
    """A piece of text.

    Attributes:
        location: the file, and the member of an archive after a colon.
        text: the piece; None where the file could not be read.
        problem: why it could not, or that a member is encrypted.
        first_line: the number of its first line.
        form: of what it is a piece, where only the plain text in that is searched.
    """

    location: str
    text: str | None
    problem: str = ""
    first_line: int = 1
    form: str = ""


def readable_files(folder: Path, skip: Callable[[OSError], None]) -> Iterator[Path]:
    """Every file, hidden ones included; links are not followed, and of ``.git`` nothing is read.

    Args:
        folder: where to look.
        skip: called for each folder that cannot be listed.
    """
    for directory, folders, names in os.walk(folder, onerror=skip):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def contents(path: Path, name: str) -> Iterator[Content]:
    """The readable contents of a file.

    Args:
        path: the file.
        name: what the file is called in findings.
    """
    try:
        with path.open("rb") as stream:
            begin = stream.read(8)
            if begin.startswith(
                (
                    b"PAR1",
                    b"PK\x03\x04",
                    b"\x1f\x8b",
                    b"BZh",
                    b"\xfd7zXZ",
                    b"x\x01",
                    b"x\x9c",
                    b"\xff\xfe",
                    b"\xfe\xff",
                )
            ):
                yield from open_content(begin + stream.read(LARGEST), name)
                return
            piece, line = begin + stream.read(_PIECE), 1
            form = _form(piece)
            while piece:
                yield Content(name, plain_text(piece), first_line=line, form=form)
                more, form = stream.read(_PIECE), ""
                line += piece[:-_OVERLAP].count(b"\n")
                piece = piece[-_OVERLAP:] + more if more else b""
    except OSError as error:
        yield Content(name, None, f"cannot be read ({error.strerror})")


def _form(content: bytes) -> str:
    return next((form for begin, form in _UNREAD.items() if content.startswith(begin)), "")


def open_content(content: bytes, name: str, depth: int = 0) -> Iterator[Content]:
    """Text of a table, an archive or a compressed file; anything else as plain text."""
    if len(content) > LARGEST or depth > _NESTED:
        yield Content(name, None, "is too large, or packed too often, to be unpacked in memory")
        return
    try:
        if content.startswith(b"PAR1"):
            yield from _table(content, name)
        elif content.startswith(b"PK\x03\x04"):
            yield from _members(content, name, depth)
        elif content.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"x\x01", b"x\x9c")):
            yield from open_content(_unpacked(content), name, depth + 1)
        else:
            encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
            yield Content(
                name,
                content.decode(encoding, "replace") if encoding else plain_text(content),
                form=_form(content),
            )
    except Exception as error:  # readers of damaged archives raise almost anything
        if content.startswith((b"x\x01", b"x\x9c")):
            yield Content(name, plain_text(content))  # text that happens to begin like that
        else:
            yield Content(name, None, f"is damaged ({type(error).__name__})")


def _unpacked(content: bytes) -> bytes:
    """At most one byte more than may be read."""
    if content.startswith(b"x"):
        return zlib.decompressobj().decompress(content, LARGEST + 1)
    opened = (
        gzip.open
        if content.startswith(b"\x1f\x8b")
        else bz2.open
        if content.startswith(b"BZh")
        else lzma.open
    )
    with opened(io.BytesIO(content)) as stream:
        return stream.read(LARGEST + 1)


def _table(content: bytes, name: str) -> Iterator[Content]:
    """The texts of a Parquet file, row by row, and its metadata."""
    import pyarrow as arrow
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(io.BytesIO(content))
    for value in (file.schema_arrow.metadata or {}).values():
        yield Content(name, plain_text(value))
    for number in range(file.num_row_groups):
        texts = []
        for column in file.read_row_group(number).columns:
            kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
            if arrow.types.is_string(kind) or arrow.types.is_large_string(kind):
                text = column.cast(kind)
                if compute.any(compute.match_substring(text, " ")).as_py():  # no ids
                    texts.append(compute.fill_null(text, "").to_pylist())
            elif (
                arrow.types.is_nested(kind)
                or arrow.types.is_binary(kind)
                or arrow.types.is_large_binary(kind)
            ):
                texts.append(
                    [plain_text(v) if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
                )
        yield Content(
            name, _unescaped("\n".join(" ".join(row) for row in zip(*texts, strict=True)))
        )


def _members(content: bytes, name: str, depth: int) -> Iterator[Content]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if not _OFFICE.isdisjoint(archive.namelist()):
            yield Content(name, "", form="office document")
        for member in archive.infolist():
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                yield Content(f"{name}:{member.filename}", "", "is encrypted")
            elif member.file_size > LARGEST:
                yield Content(
                    f"{name}:{member.filename}", None, "is too large to be unpacked in memory"
                )
            else:
                yield from open_content(
                    archive.read(member), f"{name}:{member.filename}", depth + 1
                )


def plain_text(content: bytes) -> str:
    """Text as it is, or what can be read between other bytes; escapes of JSON and HTML are
    undone.
    """
    if b"\0" in content[: 1 << 16]:
        content = b"\n".join(_PRINTABLE.findall(content))
    return _unescaped(content.decode("utf-8", "replace"))


def _unescaped(text: str) -> str:
    if "&" in text:
        text = html.unescape(text)
    return _ESCAPED.sub(_unescape, text) if "\\" in text else text


def _unescape(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return "'" if escape[0] == "\\'" else " "


_LAYOUT = re.compile(
    r"(^|/)((contexts/context|concepts/concept|targets/target)-[^/]+\.yml|fillers/filler-[^/]+\.csv|(testsuite|template)-[^/]+\.csv)$"
)


_SPECIFICATION = ".spec.yml"


_PART = re.compile(r"(^|/)part-\d+-[0-9a-f]+\.jsonl$")


#: Tables whose texts are those of items, or may repeat their words.
TABLES_WITH_TEXT = frozenset(
    [
        *("templates", "items", "responses", "token_scores", "study_lists", "trials"),
        *("control_documents", "control_templates"),
    ]
)


def lacks_canary(name: str, content: bytes, identity: bytes | None = None) -> bool:
    """Whether a file contains materials, items or answers, and no canary.

    Args:
        name: the file's name, with its folders.
        content: its bytes.
        identity: of a store of answers, its ``identity.json``, which states the canary once for
            all.
    """
    if _LAYOUT.search(name) and not name.endswith(_SPECIFICATION):
        return not canary_lines(content)
    if name.endswith(".parquet") and content.startswith(b"PAR1"):
        return _table_lacks_canary(content)
    if is_part_of_store(name):
        return not _is_said_of_answers(content, identity)
    return False


def _table_lacks_canary(content: bytes) -> bool:
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_schema(io.BytesIO(content)).metadata or {}
        provenance = json.loads(metadata.get(b"worldprobe.provenance", b"{}"))
    except Exception:  # damaged; the search for sentences says so
        return False
    return metadata.get(
        b"worldprobe.table", b""
    ).decode() in TABLES_WITH_TEXT and not provenance.get("canary")


def is_word_list(name: str) -> bool:
    """Whether a file lists fillers."""
    return _LAYOUT.search(name) is not None and "fillers/" in name


def is_part_of_store(name: str) -> bool:
    """Whether a file contains answers of a store."""
    return _PART.search(name) is not None


def _is_said_of_answers(content: bytes, identity: bytes | None) -> bool:
    """Whether a part of a store of answers, or the store itself, says what canary its items have
    (or that they have none).
    """
    try:
        head = json.loads(content.partition(b"\n")[0])
        if isinstance(head, dict) and head.get("canary"):
            return True
        stated = json.loads(identity or b"{}")
        return isinstance(stated, dict) and isinstance(stated.get("canary"), list)
    except (ValueError, RecursionError):
        return False
