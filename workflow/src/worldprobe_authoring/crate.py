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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import yaml

from worldprobe.contracts import read_provenance
from worldprobe.errors import UserError
from worldprobe.paths import REPOSITORY
from worldprobe.settings import read_yaml, study_problems
from worldprobe.settings.study import Blocks

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
#: What a study's folder gives to a crate; items, trials, answers and logs stay where they are.
RESULTS = (
    "report.html",
    "*/tables/*",
    "*/figures/*",
    "*/*.parquet",
    "*/regression/*.parquet",
    "*/judgements/**/*.parquet",
)
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
    main: str = "workflow/Snakefile",
) -> dict[str, Any]:
    """The metadata file of a crate.

    Args:
        files: name in the crate -> content.
        origins: name of a table -> its provenance, as plain values.
        study: the study's name.
        authors: name, and family and given name where they are known.
        versions: of ``snakemake``, ``worldprobe``.
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
            f"Workflow, configuration, tables, figures and report of the study {study}, with what"
            " made each table."
        ),
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
    """What made one table: its inputs are files of the crate, or, where they are not in it,
    known by digest.
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
        "description": "; ".join(one for one in stated if one),
    }
    return [action, *others]


def pack_crate(files: Mapping[str, bytes], metadata: Mapping[str, Any]) -> bytes:
    """The crate as a ZIP, whose bytes depend on the files alone."""
    text = json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted({**files, "ro-crate-metadata.json": text.encode()}.items()):
            entry = zipfile.ZipInfo(name, NO_DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def read_results(folder: Path) -> tuple[dict[str, bytes], dict[str, dict]]:
    """The study's files without item text, and the provenance of each table; no link out of the
    folder is followed.
    """
    files: dict[str, bytes] = {}
    origins: dict[str, dict] = {}
    inside = folder.resolve()
    found = {path for pattern in RESULTS for path in folder.glob(pattern) if path.is_file()}
    for path in sorted(path for path in found if path.resolve().is_relative_to(inside)):
        name = f"results/{path.relative_to(folder).as_posix()}"
        if path.suffix == ".parquet":
            provenance = read_provenance(path)
            texts = [
                column
                for column in parquet.read_schema(path)
                if not arrow.types.is_primitive(column.type)
            ]
            if provenance.canary or any(column.name in TEXTS for column in texts):
                continue
            origins[name] = json.loads(provenance.to_json())
        files[name] = path.read_bytes()
    return files, origins


def read_configuration(paths: Sequence[Path], repository: Path, blocks: Blocks) -> dict[str, bytes]:
    """Configuration files by their place in the working directory or the repository, without the
    password of the materials.

    Raises:
        UserError: one is not a configuration of a study, or two would have one name.
    """
    for complaint in study_problems([read_yaml(path) for path in paths], blocks):
        raise complaint
    files: dict[str, bytes] = {}
    for path in paths:
        place = path.resolve()
        roots = [
            root.resolve() for root in (Path(), repository) if place.is_relative_to(root.resolve())
        ]
        name = f"config/{place.relative_to(roots[0]) if roots else place.name}".replace(
            "config/config/", "config/"
        )
        if name in files:
            raise UserError(
                path, f"would be {name} in the crate, as another file is.", "Rename one of them."
            )
        # Written anew: a password may also stand in a comment, or where an anchor is.
        document = without_passwords(read_yaml(path).document)
        files[name] = yaml.safe_dump(document, allow_unicode=True, sort_keys=False).encode()
    return files


def without_passwords(document: Any) -> Any:
    """A configuration with null in the place of every password.

    >>> without_passwords({"ewok": {"materials": {"password": "secret", "archive": "a.zip"}}})
    {'ewok': {'materials': {'password': None, 'archive': 'a.zip'}}}
    """
    if isinstance(document, dict):
        return {
            key: None if key == "password" else without_passwords(value)
            for key, value in document.items()
        }
    return (
        [without_passwords(value) for value in document] if isinstance(document, list) else document
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
        {keys[key]: str(value) for key, value in one.items() if key in keys}
        for one in read_yaml(path).document["authors"]
    ]
    return [
        {"name": f"{one.get('givenName', '')} {one.get('familyName', '')}".strip(), **one}
        for one in stated
    ]


def snakemake_version() -> str:
    """The installed Snakemake, or the one that the Snakefile asks for at least."""
    try:
        return importlib.metadata.version("snakemake")
    except importlib.metadata.PackageNotFoundError:
        text = (REPOSITORY / "workflow" / "Snakefile").read_text(encoding="utf-8")
        found = re.search(r'min_version\("(.+?)"\)', text)
        return f">={found[1]}" if found else "unknown"
