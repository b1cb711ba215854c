"""``worldprobe crate``: a finished study as one archive that says what made what."""

from __future__ import annotations

import argparse
from pathlib import Path

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
    from worldprobe.present.crate import build_crate, pack_crate

    if not (args.folder / "report.html").is_file():
        raise UserError(args.folder, "contains no report.html, so it is not a finished study.", "Give e.g. results/default.")
    files, origins = read_results(args.folder)
    for pattern in WORKFLOW:
        files |= {
            path.relative_to(REPOSITORY).as_posix(): path.read_bytes() for path in REPOSITORY.glob(pattern) if path.is_file()
        }
    for path in args.configfile or [REPOSITORY / "config" / "config.yaml"]:
        if not path.is_file():
            raise UserError(path, "there is no such file.", "Correct the path.")
        files[f"config/{path.name}"] = path.read_bytes()
    citation = read_citation(REPOSITORY / "CITATION.cff")
    versions = {"snakemake": snakemake_version(), "worldprobe": __version__}
    metadata = build_crate(files, origins, args.folder.resolve().name, citation, versions)
    with whole_file(args.out) as temporary:
        temporary.write_bytes(pack_crate(files, metadata))
    LOGGER.info("%d files, %d of them with what made them: %s", len(files), len(origins), args.out)


def read_results(folder: Path) -> tuple[dict[str, bytes], dict[str, dict]]:
    """The study's files without item text, and the provenance of each table."""
    import json

    from worldprobe.contracts import read_provenance

    files: dict[str, bytes] = {}
    origins: dict[str, dict] = {}
    for path in sorted({path for pattern in RESULTS for path in folder.glob(pattern) if path.is_file()}):
        name = f"results/{path.relative_to(folder).as_posix()}"
        if path.suffix == ".parquet":
            provenance = read_provenance(path)
            if provenance.canary:  # it has item text
                continue
            origins[name] = json.loads(provenance.to_json())
        files[name] = path.read_bytes()
    return files, origins


def read_citation(path: Path) -> list[dict[str, str]]:
    """The authors of CITATION.cff."""
    from worldprobe.config import read_yaml

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
