"""Archives of finished studies, from which tables, figures and report are drawn again: a ZIP, or
the study's folder as somebody copied it. No model, no network, nothing else of the clone that made
it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from worldprobe import __version__
from worldprobe.archives import Archive, check_names
from worldprobe.benchmark import Benchmark, Display, Study
from worldprobe.benchmarks import (
    all_models,
    display_files,
    of_study,
    page_files,
    without,
)
from worldprobe.errors import UserError
from worldprobe.files import digest_file, write_members, write_text
from worldprobe.operations.record import NO_ARCHIVE, RECORD, Record, write_changed
from worldprobe.operations.rehearsal import folder_of_rehearsals
from worldprobe.operations.settings import StudySettings
from worldprobe.paths import RESULTS, StudyPaths, shipped_file
from worldprobe.settings import read_registry, read_site

#: Says in a study's folder which archive it is from.
NOTE = "archive.json"
#: The same of an archive that was unpacked, where Snakemake does not delete it before it unpacks
#: another.
_UNPACKED = ".archive.json"
#: What every table of an archive says of how it was made, also of those that are not in it.
PROVENANCE = "provenance.json"
#: The variable with the password of an archive's protected texts.
VARIABLE = "WORLDPROBE_RELEASE_PASSWORD"
#: What a registry beside an archive changes: how models are shown, nothing of what they are.
SHOWN = ("display_name", "family", "parameters", "colour", "prices")
#: What a run writes into a study's folder before it has made anything.
_BEFORE = ("logs", "benchmarks")


@dataclass(frozen=True)
class Archived:
    """A finished study that is drawn again.

    Attributes:
        path: the archive as it was given: a ZIP, or the study's own folder.
        settings: of the study, as of one that is run.
        record: what it says of itself.
        files: what can be had of its folder.
        closed: what is there, but encrypted, and nobody gave the password.
        described: tables that it has nothing of but what made them.
    """

    path: str
    settings: StudySettings
    record: Record
    files: frozenset[str]
    closed: frozenset[str] = frozenset()
    described: frozenset[str] = frozenset()

    @property
    def is_packed(self) -> bool:
        """Whether it is a ZIP, to be unpacked into the study's folder."""
        return not os.path.isdir(self.path)

    @property
    def paths(self) -> StudyPaths:
        """Where the study is."""
        return StudyPaths.of(self.settings.study)

    @property
    def source(self) -> str:
        """The file that stands for it: a new one is drawn again."""
        return self.path if self.is_packed else f"{self.path.rstrip('/')}/{RECORD}"

    @property
    def answered(self) -> Study:
        """The study as its tables and figures see it."""
        return without(self.settings.study, self.record.missing)

    def as_drawn(self) -> list[str]:
        """Tables and figures that are taken over as they were drawn, since what they are drawn from
        is protected, or was not copied.

        Raises:
            UserError: one of them cannot be had, or a page that the report shows.
        """
        taken = []
        for benchmark, shown in self.displays():
            root = self.paths.benchmark(benchmark.name)
            if not self._has(shown.inputs_of(self.settings.study, root)):
                taken += self._taken(shown, root)
        for page in page_files(self.settings.study, self.with_answers()):
            for path in (page.summary, *page.notebooks):
                self._check(path, "the report")
        return taken

    def displays(self) -> list[tuple[Benchmark, Display]]:
        """The tables and figures, each with its benchmark."""
        return [
            (benchmark, shown)
            for benchmark in of_study(self.settings.study)
            for shown in benchmark.wanted(self.answered, self.settings.registry)
        ]

    def with_answers(self) -> list[str]:
        """The models that have answers."""
        return [
            model for model in all_models(self.settings.study) if model not in self.record.missing
        ]

    def analysed(self) -> list[str]:
        """The answers, judgements or scores that are summarised and compared."""
        of_benchmarks = [benchmark.analysed.values() for benchmark in of_study(self.settings.study)]
        return [
            path
            for analyses in of_benchmarks
            for analysis in analyses
            for path in analysis.answers(self.answered, self.with_answers())
        ]

    def _taken(self, shown: Display, root: str) -> list[str]:
        lacking = next(
            path for path in shown.inputs_of(self.settings.study, root) if not self._has([path])
        )
        for path in shown.paths(root):
            if self._inside(path) not in self.files:
                self._check(lacking, f"{shown.kind} {shown.name}")
        return shown.paths(root)

    def _inside(self, path: str) -> str:
        return path.removeprefix(f"{self.paths.root}/")

    def has(self, path: str) -> bool:
        """Whether a file of the study is in the archive and can be read."""
        return self._inside(path) in self.files

    def _has(self, paths: Iterable[str]) -> bool:
        return all(map(self.has, paths))

    def _check(self, path: str, what: str) -> None:
        """Raise if something that is needed cannot be had."""
        if self._has([path]):
            return
        if self._inside(path) in self.closed | self.described:
            fix = (
                f"Set {VARIABLE}."
                if self.closed
                else "Ask for an archive that was packed with --encrypt."
            )
            raise UserError(self.path, f"{self._inside(path)}, for {what}, is protected.", fix)
        fix = "Get the archive again; a folder, with all that is in it."
        raise UserError(self.path, f"lacks {self._inside(path)}, for {what}.", fix)

    def unpacked(self) -> list[str]:
        """The files that are put into the study's folder."""
        kept = {self._inside(path) for path in self.as_drawn()}
        drawn = {self._inside(path) for path in self.drawn()}
        trained = {trained_file(model) for model in self.record.trained}
        put = (self.files - drawn) | kept | self.described if self.is_packed else frozenset()
        return [f"{self.paths.root}/{name}" for name in sorted({*put, *trained})]

    def drawn(self) -> list[str]:
        """The tables, figures and report of the study."""
        study, registry = self.answered, self.settings.registry
        kinds = [display_files(study, registry, kind) for kind in ("table", "figure")]
        has_page = page_files(study, self.with_answers())
        return [*kinds[0], *kinds[1], *([self.paths.report] if has_page else [])]


def trained_file(model: str) -> str:
    """Where an archive's study states how many parameters a control model has, in the form of the
    model's own folder.

    >>> trained_file("control_heart")
    'controls/control_heart/provenance.json'
    """
    return f"controls/{model}/provenance.json"


def open_given(options: Mapping[str, Any], results: str = RESULTS) -> Archived | None:
    """The archive that ``--config archive=PATH`` names; None where it names none.

    Args:
        options: all that ``--config`` says; ``registry=FILE`` says how models are shown.
        results: folder of all studies' results.

    Raises:
        UserError: it cannot be read, or would take the place of results of this folder's own.
    """
    if not options.get("archive"):
        return None
    if others := sorted(options.keys() - {"archive", "registry"}):
        fix = "Leave it out; registry=FILE, for names and colours, may stay."
        raise UserError(
            f"--config {others[0]}", "says nothing beside archive: the study is over.", fix
        )
    return open_archive(str(options["archive"]), results, options.get("registry"))


def open_archive(path: str, results: str = RESULTS, own_registry: str | None = None) -> Archived:
    """A finished study from its archive.

    Args:
        path: a ZIP, or a study's folder in ``results``.
        results: folder of all studies' results.
        own_registry: a registry whose names, families and colours are shown in place of those of
            the archive.

    Raises:
        UserError: it cannot be read, or would take the place of results of this folder's own.
    """
    archive, inside = read_members(path)
    record = Record.parse(archive.read(inside[RECORD]), f"{path}: {RECORD}")
    check_names(path, [*map(trained_file, record.trained)])
    name = record.study["study"]
    if record.study.get("rehearsal"):
        results = folder_of_rehearsals(results)
    if archive.is_folder and Path(path).resolve() != Path(results, name).resolve():
        fix = f"Move it to {results}/{name}."
        raise UserError(path, f"is not the folder of study {name} here.", fix)
    folder = Path(".snakemake", "archives", re.sub(r"[^\w-]", "_", name))
    study = record.restore(results, folder, f"{path}: {RECORD}")
    if not archive.is_folder:
        _refuse_own(Path(StudyPaths.of(study).root), path)
    registry_file = folder / "models.yaml"
    cards = _with_own(record.cards, own_registry)
    write_changed(registry_file, yaml.safe_dump(cards, sort_keys=False, allow_unicode=True))
    registry = read_registry(registry_file)
    for model in record.trained.keys() & registry.keys():
        registry[model]["checkpoint"] = str(
            Path(StudyPaths.of(study).root, trained_file(model)).parent
        )
    site = read_site(str(shipped_file(Path("config/cluster.yaml"))), os.environ)
    closed = {name for name, member in inside.items() if archive.is_encrypted(member)}
    if os.environ.get(VARIABLE):
        for member in sorted(closed)[:1]:
            archive.read(inside[member])  # a wrong password is said at once
        closed = set()
    stated = _described(archive)
    return Archived(
        path,
        StudySettings(study, registry, str(registry_file), site),
        record,
        frozenset(inside.keys() - closed),
        frozenset(closed),
        frozenset(stated.keys() - (inside.keys() - closed)),
    )


def open_folder(folder: Path) -> Archived:
    """A finished study in its folder, wherever that is.

    Raises:
        UserError: it has no record, or this installation does not know what the study was.
    """
    if not (folder / RECORD).is_file():
        problem = f"has no {RECORD}, so it is not a finished study."
        raise UserError(
            folder, problem, "Run `snakemake all` with its configuration, then pack it."
        )
    record = Record.parse((folder / RECORD).read_bytes(), str(folder / RECORD))
    above = folder.parent.parent if record.study.get("rehearsal") else folder.parent
    return open_archive(str(folder), str(above))


def read_members(path: str) -> tuple[Archive, dict[str, str]]:
    """An archive, and the files of its study by their names in the study's folder.

    Raises:
        UserError: it is none, or has a file that would be written elsewhere.
    """
    archive = Archive(path, os.environ.get(VARIABLE), f"Set {VARIABLE}.")
    if archive.is_folder:
        inside = {name: name for name in archive.names}
        roots = [""] * (RECORD in inside)
    else:
        roots = [
            name.removesuffix(RECORD)
            for name in archive.names
            if re.fullmatch(f"{RESULTS}/[A-Za-z0-9_-]+/{RECORD}", name)
        ]
        inside = (
            {
                name.removeprefix(roots[0]): name
                for name in archive.names
                if name.startswith(roots[0])
            }
            if roots
            else {}
        )
    if len(roots) != 1:
        raise UserError(path, f"is not an archive of a study: it has no {RECORD}.", NO_ARCHIVE)
    for name in (NOTE, _UNPACKED):
        inside.pop(name, None)
    if not archive.is_folder:
        check_names(path, archive.names)
    return archive, inside


def _described(archive: Archive) -> dict[str, dict[str, str]]:
    """Table -> what it says of itself, as a packed archive states it of all."""
    if PROVENANCE not in archive.names:
        return {}
    with contextlib.suppress(ValueError, AttributeError):
        stated = json.loads(archive.read(PROVENANCE))
        if all(isinstance(text, str) for texts in stated.values() for text in texts.values()):
            check_names(archive.path, stated)
            return dict(stated)
    raise UserError(archive.path, f"{PROVENANCE} is damaged.", "Get the archive again.")


def read_note(root: Path) -> dict[str, Any]:
    """What a study's folder says of the archive that was unpacked into it; empty where none was,
    and where the folder itself was drawn again.
    """
    with contextlib.suppress(OSError, ValueError):
        stated = json.loads((root / _UNPACKED).read_text(encoding="utf-8"))
        if isinstance(stated, dict):
            return stated
    return {}


def refuse_unpacked(root: Path) -> None:
    """Refuse to run a study in a folder that was unpacked from an archive: its results would lie
    among the archive's, and the next one unpacked would replace them.

    Raises:
        UserError: it is such a folder.
    """
    if note := read_note(root):
        problem = f"has the study of {note['archive']}, and a run's results would mix with it."
        fix = "Move it away or delete it; or run in another clone or folder (--directory)."
        raise UserError(root, problem, fix)


def _refuse_own(root: Path, archive: str) -> None:
    """Refuse to write over results that were not unpacked from an archive."""
    results = [path.name for path in root.glob("*") if path.name not in _BEFORE]
    if results and not read_note(root):
        problem = f"has results of its own, which {archive} would replace."
        raise UserError(root, problem, "Draw it in another clone or folder (--directory).")


def _with_own(
    cards: Mapping[str, Mapping[str, Any]], own_registry: str | None
) -> dict[str, dict[str, Any]]:
    """The cards, with names, families, colours and order of a registry of the user's."""
    if own_registry is None:
        return {model: dict(card) for model, card in cards.items()}
    user_cards = read_registry(shipped_file(Path(own_registry)))
    listed = [model for model in user_cards if model in cards]
    order = [*listed, *(model for model in cards if model not in user_cards)]
    kept = {
        model: {
            key: value
            for key, value in cards[model].items()
            if model not in user_cards or key not in SHOWN
        }
        for model in order
    }
    return {
        model: card
        | {
            key: user_cards[model][key]
            for key in SHOWN
            if model in user_cards and user_cards[model][key] is not None
        }
        for model, card in kept.items()
    }


def unpack(source: str, note: Path, kept: Collection[str] = ()) -> None:
    """Put what an archive holds of a study into the study's folder, all of it or nothing.

    Args:
        source: a ZIP; or the folder itself, where everything is there.
        note: file in the folder that says where it is from, written last.
        kept: tables and figures that are taken over as they were drawn.

    Raises:
        UserError: something in the archive is damaged.
    """
    archive, inside = read_members(source)
    record = Record.parse(archive.read(inside[RECORD]), f"{source}: {RECORD}")
    root, has_password = note.parent, bool(os.environ.get(VARIABLE))
    root.mkdir(parents=True, exist_ok=True)
    drawn = {name: inside[name] for name in inside if _is_drawn(name)}
    contents: dict[str, bytes] = {}
    copied: list[str] = []
    if not archive.is_folder:
        wanted = {*inside} - (drawn.keys() - {str(Path(path).relative_to(root)) for path in kept})
        copied = [
            name
            for name in sorted(wanted)
            if has_password or not archive.is_encrypted(inside[name])
        ]
        for name, stated in _described(archive).items():
            if name not in copied:
                contents[name] = _table_of(stated)
    for model, count in record.trained.items():
        facts = {"details": {"n_parameters": count}}
        contents[trained_file(model)] = json.dumps(facts).encode()
    origin = {
        "study": record.study["study"],
        "archive": Path(source).name,
        "sha256": digest_file(root / RECORD if archive.is_folder else source),
        "release": record.release,
        "unpacked": sorted({*copied, *contents}),
        "as_drawn": sorted(map(str, kept)),
        "drawn": {
            name: archive.digest_of(member)
            for name, member in sorted(drawn.items())
            if has_password or not archive.is_encrypted(member)
        },
    }
    text = json.dumps(origin, indent=1, ensure_ascii=False) + "\n"
    check_names(source, {*copied, *contents})
    _refuse_bomb(source, sum(archive.size_of(inside[name]) for name in copied), root)
    with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=root) as scratch:
        write_members(Path(scratch), contents.items())
        for name in copied:
            Path(scratch, name).parent.mkdir(parents=True, exist_ok=True)
            archive.copy_member(inside[name], Path(scratch, name))
        earlier = read_note(root)
        if earlier.get("sha256") != origin["sha256"]:  # nothing of another archive stays beside it
            for name in {*earlier.get("unpacked", ()), *earlier.get("drawn", ())}:
                (root / name).unlink(missing_ok=True)
        if not archive.is_folder:
            write_text(root / _UNPACKED, text)
        for name in (*contents, *copied):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(scratch, name), root / name)
    write_text(note, text)


def _refuse_bomb(archive: str, size: int, folder: Path) -> None:
    """Refuse what the disk has no room for, before anything is written: a small archive can state
    any size.
    """
    if size > (free := shutil.disk_usage(folder).free):
        problem = f"would take {size / 1e9:,.1f} GB unpacked; {free / 1e9:,.1f} GB are free here."
        raise UserError(archive, problem, "Free some disk space, if you trust this archive.")


def _is_drawn(name: str) -> bool:
    return name == "report.html" or name.split("/")[1:2] in (["tables"], ["figures"])


def _table_of(stated: Mapping[str, str]) -> bytes:
    """A table without columns and rows that says what made the one in whose place it is."""
    import io

    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({}).replace_schema_metadata(dict(stated)), stream)
    return stream.getvalue()


def compared(root: Path) -> Iterator[str]:
    """Whether what was drawn is what the archive has, line by line.

    Args:
        root: the study's folder, with a note.
    """
    origin = json.loads((root / NOTE).read_text(encoding="utf-8"))
    there = {name: root / name for name in origin["drawn"] if (root / name).is_file()}
    changed = [name for name, path in there.items() if digest_file(path) != origin["drawn"][name]]
    described = f"{origin['archive']} (worldprobe {origin['release']})"
    yield f"Study {origin['study']}, from {described}, in {root}"
    yield (
        f"{len(there) - len(changed)} of {len(there)} files of tables, figures and report are byte"
        " for byte those of the archive."
    )
    if changed:
        yield f"Others: {', '.join(changed[:8])}{' ...' if len(changed) > 8 else ''}"
    if changed and origin["release"] != __version__:
        yield f"It was drawn by worldprobe {origin['release']}, and is now by {__version__}."
    if origin["as_drawn"]:
        names = sorted({Path(path).stem for path in origin["as_drawn"]})
        yield f"Taken over as they were drawn, from protected texts: {', '.join(names)}"
