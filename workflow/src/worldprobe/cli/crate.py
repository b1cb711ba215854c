"""``worldprobe crate``: a finished study as one archive that says what made what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError

#: What a study's folder gives to a crate; items, trials, answers and logs stay where they are.
RESULTS = (
    "report.html",
    "paper/*",
    "*/tables/*",
    "*/figures/*",
    "*/*.parquet",
    "*/regression/*.parquet",
    "*/judgements/**/*.parquet",
)
#: Columns with words of items, trials, questions or answers: a table that has one stays where it is, whatever it is called.
TEXTS = frozenset(
    [
        *("context", "context1", "context2", "first_context", "second_context", "target", "target1", "target2", "text", "token"),
        *("filler", "fillers", "value", "description", "query", "entities", "reply", "follow_up", "thoughts", "conversation"),
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


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "crate",
        help="pack a finished study as an RO-Crate",
        description="Packs workflow, configuration, tables, figures, report and paper of a study as a Workflow RO-Crate, with "
        "what made each table. Tables with item text, trials and answers are left out.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the study's results, e.g. results/default")
    parser.add_argument(
        "--configfile", type=Path, nargs="+", default=[], metavar="FILE", help="configuration files, as given to snakemake"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="ZIP", help="the crate")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Collect, describe, pack."""
    from worldprobe import __version__
    from worldprobe.files import whole_file
    from worldprobe.log import LOGGER
    from worldprobe.paths import REPOSITORY
    from worldprobe.report.crate import build_crate, pack_crate

    if not (args.folder / "report.html").is_file():
        raise UserError(args.folder, "contains no report.html, so it is not a finished study.", "Give e.g. results/default.")
    files, origins = read_results(args.folder)
    for pattern in WORKFLOW:
        files |= {
            path.relative_to(REPOSITORY).as_posix(): path.read_bytes() for path in REPOSITORY.glob(pattern) if path.is_file()
        }
    files |= read_configuration(args.configfile or [REPOSITORY / "config" / "config.yaml"], REPOSITORY)
    citation = read_citation(REPOSITORY / "CITATION.cff")
    versions = {"snakemake": snakemake_version(), "worldprobe": __version__}
    metadata = build_crate(files, origins, args.folder.resolve().name, citation, versions)
    with whole_file(args.out) as temporary:
        temporary.write_bytes(pack_crate(files, metadata))
    LOGGER.info("%d files, %d of them with what made them: %s", len(files), len(origins), args.out)


def read_results(folder: Path) -> tuple[dict[str, bytes], dict[str, dict]]:
    """The study's files without item text, and the provenance of each table; no link out of the folder is followed."""
    import json

    import pyarrow as arrow
    import pyarrow.parquet as parquet

    from worldprobe.contracts import read_provenance

    files: dict[str, bytes] = {}
    origins: dict[str, dict] = {}
    inside = folder.resolve()
    found = {path for pattern in RESULTS for path in folder.glob(pattern) if path.is_file()}
    for path in sorted(path for path in found if path.resolve().is_relative_to(inside)):
        name = f"results/{path.relative_to(folder).as_posix()}"
        if path.suffix == ".parquet":
            provenance = read_provenance(path)
            texts = [column for column in parquet.read_schema(path) if not arrow.types.is_primitive(column.type)]
            if provenance.canary or any(column.name in TEXTS for column in texts):
                continue
            origins[name] = json.loads(provenance.to_json())
        files[name] = path.read_bytes()
    return files, origins


def read_configuration(paths: Sequence[Path], repository: Path) -> dict[str, bytes]:
    """Configuration files by their place in the working directory or the repository, without the password of the materials.

    Raises:
        UserError: one is not a configuration of a study, or two would have one name.
    """
    import yaml

    from worldprobe.benchmarks import settings_classes
    from worldprobe.settings import read_yaml, study_problems

    for complaint in study_problems([read_yaml(path) for path in paths], settings_classes()):
        raise complaint
    files: dict[str, bytes] = {}
    for path in paths:
        place = path.resolve()
        roots = [root.resolve() for root in (Path(), repository) if place.is_relative_to(root.resolve())]
        name = f"config/{place.relative_to(roots[0]) if roots else place.name}".replace("config/config/", "config/")
        if name in files:
            raise UserError(path, f"would be {name} in the crate, as another file is.", "Rename one of them.")
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
        return {key: None if key == "password" else without_passwords(value) for key, value in document.items()}
    return [without_passwords(value) for value in document] if isinstance(document, list) else document


def read_citation(path: Path) -> list[dict[str, str]]:
    """The authors of CITATION.cff."""
    from worldprobe.settings import read_yaml

    keys = {"name": "name", "given-names": "givenName", "family-names": "familyName", "orcid": "identifier"}
    stated = [{keys[key]: str(value) for key, value in one.items() if key in keys} for one in read_yaml(path).document["authors"]]
    return [{"name": f"{one.get('givenName', '')} {one.get('familyName', '')}".strip(), **one} for one in stated]


def snakemake_version() -> str:
    """The installed Snakemake, or the one that the Snakefile asks for at least."""
    import importlib.metadata
    import re

    from worldprobe.paths import REPOSITORY

    try:
        return importlib.metadata.version("snakemake")
    except importlib.metadata.PackageNotFoundError:
        text = (REPOSITORY / "workflow" / "Snakefile").read_text(encoding="utf-8")
        found = re.search(r'min_version\("(.+?)"\)', text)
        return f">={found[1]}" if found else "unknown"
