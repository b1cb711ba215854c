"""A finished study as an RO-Crate (Workflow RO-Crate 1.0 over RO-Crate 1.1): files, what they
are, and what made them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from worldprobe import extensions
from worldprobe.archives import encrypt
from worldprobe.benchmarks import page_files
from worldprobe.benchmarks.ewok.canaries import is_own
from worldprobe.contracts import read_provenance
from worldprobe.errors import UserError
from worldprobe.operations.archived import Archived
from worldprobe.paths import REPOSITORY
from worldprobe.report.origins import REHEARSAL
from worldprobe.settings import read_yaml
from worldprobe_authoring.search import Wordings, open_content

MEDIA = {
    ".csv": "text/csv",
    ".tex": "text/x-tex",
    ".md": "text/markdown",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".html": "text/html",
    ".parquet": "application/vnd.apache.parquet",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
#: The least date that a ZIP can state: a crate says nothing of when it was packed.
NO_DATE = (1980, 1, 1, 0, 0, 0)
#: Columns with words of items, trials, questions or answers: a table that has one stays where it
#: is, whatever it is called.
TEXTS = frozenset(
    [
        *(
            "context",
            "context1",
            "context2",
            "first_context",
            "second_context",
            "target",
            "target1",
            "target2",
            "text",
            "token",
        ),
        *(
            "filler",
            "fillers",
            "value",
            "description",
            "query",
            "entities",
            "reply",
            "follow_up",
            "thoughts",
            "conversation",
        ),
    ]
)
#: What the workflow gives.
WORKFLOW = (
    "workflow/Snakefile",
    "workflow/rules/**/*.smk",
    "workflow/schemas/*.yaml",
    "workflow/report/*",
    "LICENSE",
    "CITATION.cff",
)


def build_crate(
    files: Mapping[str, bytes],
    origins: Mapping[str, Mapping[str, Any]],
    study: str,
    authors: Sequence[Mapping[str, str]],
    versions: Mapping[str, str],
    note: str = "",
    main: str = "workflow/Snakefile",
) -> dict[str, Any]:
    """The metadata file of a crate.

    Args:
        files: name in the crate -> content.
        origins: name of a table -> its provenance, as plain values.
        study: the study's name.
        authors: name, and family and given name where they are known.
        versions: of ``snakemake``, ``worldprobe``.
        note: what a reader must know first.
        main: the workflow among the files.
    """
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    people = [
        {"@id": f"#author{number}", "@type": "Person", **author}
        for number, author in enumerate(authors, 1)
    ]
    parts = [{"@id": name} for name in sorted(files)]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"worldprobe study {study}",
        "description": (
            f"{note} Workflow, configuration, tables, figures and report of the study {study}, with"
            " what made each table."
        ).strip(),
        "license": {"@id": "https://spdx.org/licenses/MIT"},
        "author": [{"@id": person["@id"]} for person in people],
        "mainEntity": {"@id": main},
        "hasPart": parts,
        "mentions": [{"@id": f"#made-{number}"} for number, _ in enumerate(sorted(origins), 1)],
    }
    language = {
        "@id": SNAKEMAKE,
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "identifier": {"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
        "url": {"@id": "https://snakemake.readthedocs.io"},
        "version": versions["snakemake"],
    }
    software = {
        "@id": "#worldprobe",
        "@type": "SoftwareApplication",
        "name": "worldprobe",
        "version": versions["worldprobe"],
    }
    graph: list[dict[str, Any]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": [
                {"@id": "https://w3id.org/ro/crate/1.1"},
                {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
            ],
        },
        root,
        language,
        software,
        {"@id": "https://spdx.org/licenses/MIT", "@type": "CreativeWork", "name": "MIT License"},
        *people,
    ]
    for name in sorted(files):
        graph.append(_file(name, len(files[name]), digests[name], name == main))
    for number, name in enumerate(sorted(origins), 1):
        graph += _action(f"#made-{number}", name, origins[name], digests)
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def _file(name: str, size: int, digest: str, is_main: bool) -> dict[str, Any]:
    entity: dict[str, Any] = {
        "@id": name,
        "@type": "File",
        "name": name,
        "contentSize": str(size),
        "sha256": digest,
    }
    suffix = name[name.rfind(".") :] if "." in name else ""
    if suffix in MEDIA:
        entity["encodingFormat"] = MEDIA[suffix]
    if is_main:
        entity |= {
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "programmingLanguage": {"@id": SNAKEMAKE},
        }
        entity |= {"license": {"@id": "https://spdx.org/licenses/MIT"}, "name": "worldprobe"}
    return entity


def _action(
    identifier: str, name: str, origin: Mapping[str, Any], digests: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The action that made one table. Its inputs are files of the crate, or, where they are not in
    it, known by digest.
    """
    inside = {digest: file for file, digest in digests.items()}
    objects, others = [], []
    for given, digest in sorted(origin.get("inputs", {}).items()):
        if digest in inside:
            objects.append({"@id": inside[digest]})
            continue
        others.append(
            {
                "@id": f"#sha256-{digest[:16]}-{identifier[1:]}",
                "@type": "CreativeWork",
                "name": given,
                "sha256": digest,
            }
        )
        objects.append({"@id": others[-1]["@id"]})
    packages = ", ".join(
        f"{package} {version}" for package, version in sorted(origin.get("packages", {}).items())
    )
    stated = [
        f"method {origin.get('method')}",
        f"seed {origin['seed']}" if origin.get("seed") is not None else "",
        packages,
    ]
    action = {
        "@id": identifier,
        "@type": "CreateAction",
        "name": f"made {name}",
        "instrument": {"@id": "#worldprobe"},
        "object": objects,
        "result": {"@id": name},
        "description": "; ".join(part for part in stated if part),
    }
    return [action, *others]


def pack_crate(
    files: Mapping[str, bytes], metadata: Mapping[str, Any], closed: Collection[str], password: str
) -> bytes:
    """The crate as a ZIP, whose bytes depend on the files alone where none is encrypted.

    Args:
        files: name -> content.
        metadata: of the crate.
        closed: names of those that are encrypted.
        password: for them.
    """
    text = json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted({**files, "ro-crate-metadata.json": text.encode()}.items()):
            if name not in closed:
                entry = zipfile.ZipInfo(name, NO_DATE)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, content)
    inner = {name: files[name] for name in sorted(closed)}
    return encrypt(inner, password, buffer.getvalue()) if inner else buffer.getvalue()


@dataclass
class ArchiveContents:
    """Contents of a study's archive, by name in the study's folder.

    Attributes:
        files: contents.
        closed: names of those with protected texts.
        origins: table -> its provenance, as plain values.
        described: table -> its metadata, also of those that stay where they are.
        left: tables with texts that nothing shown is made from; they stay.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    origins: dict[str, dict[str, Any]] = field(default_factory=dict)
    described: dict[str, dict[str, str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def read_results(study: Archived) -> ArchiveContents:
    """A finished study's record, tables, figures, report, and the tables that these are made from;
    no link out of the folder is followed.

    A table with texts is protected, unless the report may quote them. Of tables with protected
    texts only those are taken from which something is drawn, and pages that repeat such a text are
    protected, too.

    Raises:
        UserError: the study is not finished.
    """
    root, contents = Path(study.paths.root), ArchiveContents()
    pages = page_files(study.settings.study, study.with_answers())
    needed = {path for page in pages for path in (page.summary, page.item_text) if path}
    needed |= {page.comparisons for page in pages if Path(page.comparisons).is_file()}
    for benchmark, shown in study.displays():
        home = study.paths.benchmark(benchmark.name)
        needed |= {*shown.inputs_of(study.settings.study, home)}
    tables = needed.union(*(page.made_from for page in pages), study.analysed())
    shown_files = [*study.drawn(), *(path for page in pages for path in page.notebooks)]
    beside = extensions.pages_of(study.settings.study, study.paths.root)
    shown_files += [f"{study.paths.root}/{page}" for page in beside]
    if missing := [path for path in (*shown_files, *sorted(needed)) if not Path(path).is_file()]:
        more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
        fix = "Run `snakemake all` with the study's configuration, then pack it."
        raise UserError(root, f"is not a finished study: {missing[0]} is not there{more}.", fix)
    quoted = {line for page in pages if page.item_text for line in _canary(page.item_text)}
    texts: list[Path] = []
    for path in sorted(path for path in tables if _is_inside(Path(path), root)):
        name, lines = str(Path(path).relative_to(root)), _canary(path)
        contents.described[name] = _metadata(path)
        is_quoted = lines and all(line in quoted or is_own(line) for line in lines)
        is_protected = _has_text(path) and not is_quoted
        texts += [Path(path)] * is_protected
        if is_protected and path not in needed:
            contents.left.append(name)
            continue
        contents.closed |= {name} if is_protected else set()
        contents.files[name] = Path(path).read_bytes()
        contents.origins[name] = json.loads(read_provenance(path).to_json())
    wordings = Wordings(_rows(texts), ()) if texts else None
    for path in [*shown_files, study.paths.record]:
        name, content = str(Path(path).relative_to(root)), Path(path).read_bytes()
        if _is_inside(Path(path), root):
            contents.files[name] = content
            contents.closed |= {name} if wordings and _repeats(content, name, wordings) else set()
    closed = {_stem(name) for name in contents.closed if not name.endswith(".parquet")}
    contents.closed |= {  # its PDF and PNG show what its SVG says
        name for name in contents.files if _stem(name) in closed and not name.endswith(".parquet")
    }
    return contents


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(root.resolve())


def _canary(path: str) -> set[str]:
    return {line for line in (read_provenance(path).canary or "").splitlines() if line.strip()}


def _metadata(path: str) -> dict[str, str]:
    stated = parquet.read_schema(path).metadata or {}
    return {key.decode(): value.decode() for key, value in stated.items() if b"worldprobe" in key}


def _has_text(path: str) -> bool:
    columns = parquet.read_schema(path)
    texts = [column.name for column in columns if not arrow.types.is_primitive(column.type)]
    return bool(read_provenance(path).canary) or any(name in TEXTS for name in texts)


def _rows(paths: Sequence[Path]) -> Iterator[Sequence[str]]:
    """The texts of some tables, row by row."""
    for path in paths:
        names = [
            column.name
            for column in parquet.read_schema(path)
            if column.name in TEXTS - {"fillers"} and not arrow.types.is_nested(column.type)
        ]
        columns = [
            compute.fill_null(column.cast(arrow.string()), "").to_pylist()
            for column in parquet.read_table(path, columns=names).columns
        ]
        yield from zip(*columns, strict=True)


def _repeats(content: bytes, name: str, wordings: Wordings) -> bool:
    """Whether a page, table or picture has a sentence of protected texts."""
    pieces = [piece.text or "" for piece in open_content(content, name)]
    return any(wordings.find(re.sub("<[^>]*>", " ", piece)) for piece in pieces)


def note_of(study: Archived) -> str:
    """Note to readers of a rehearsal's archive; empty for a study."""
    return REHEARSAL if study.settings.study["rehearsal"] else ""


def describe_archive(study: Archived, contents: ArchiveContents) -> str:
    """The page that a reader of the ZIP sees first."""
    name = study.record.study["study"]
    closed = (
        f"{len(contents.closed)} files are encrypted: set WORLDPROBE_RELEASE_PASSWORD.\n"
        if contents.closed
        else ""
    )
    rehearsal = f"**{note}**\n\n" if (note := note_of(study)) else ""
    return (
        f"# Study {name}\n\n{rehearsal}Its tables, figures and report, and the tables that they are"
        f" drawn from. To draw them again, without models, with worldprobe {study.record.release},"
        f" in a clone of it:\n\n    snakemake --cores all --config archive={name}.zip\n\n{closed}"
        "provenance.json says how each table was made, also those with texts that are not here;"
        " config/ has the settings.\n"
    )


def read_citation(path: Path) -> list[dict[str, str]]:
    """The authors of CITATION.cff."""
    keys = {
        "name": "name",
        "given-names": "givenName",
        "family-names": "familyName",
        "orcid": "identifier",
    }
    stated = [
        {keys[key]: str(value) for key, value in author.items() if key in keys}
        for author in read_yaml(path).document["authors"]
    ]
    return [
        {"name": f"{author.get('givenName', '')} {author.get('familyName', '')}".strip(), **author}
        for author in stated
    ]


def snakemake_version() -> str:
    """The installed Snakemake, or the one that the Snakefile asks for at least."""
    try:
        return importlib.metadata.version("snakemake")
    except importlib.metadata.PackageNotFoundError:
        text = (REPOSITORY / "workflow" / "Snakefile").read_text(encoding="utf-8")
        match = re.search(r'min_version\("(.+?)"\)', text)
        return f">={match[1]}" if match else "unknown"
