"""``models``: the registry's models: which there are, what they need of a machine, and fetching one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from worldprobe.cli.arguments import add_pickle_argument, number, shipped_file

#: Here, or else the one of the package.
REGISTRY = "config/models.yaml"


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``models list``, ``models plan``, ``models fetch``."""
    stage = stages.add_parser("models", help="list, plan and fetch the registry's models")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="the registry's models, and which of them are on this machine")
    add_registry_flag(listing)
    listing.set_defaults(run=run_list)

    planning = actions.add_parser("plan", help="GPUs, memory and time that each model needs")
    add_registry_flag(planning)
    planning.add_argument("--models", metavar="NAMES", help="comma-separated names of models (default: all of the registry)")
    planning.add_argument(
        "--gpu-memory", type=number(0.1, 100_000), default=80.0, metavar="GB", help="memory of one GPU (default: 80)"
    )
    planning.set_defaults(run=run_plan)

    fetching = actions.add_parser("fetch", help="download a model (the only command on models that goes online)")
    fetching.add_argument("model", nargs="?", metavar="MODEL", help="model of the registry, or hub id")
    fetching.add_argument(
        "--checkpoint", metavar="CHECKPOINT", help="hub id of a model that need not be in the registry, instead of MODEL"
    )
    add_registry_flag(fetching)
    fetching.add_argument("--revision", metavar="REVISION", help="branch, tag or commit (default: the registry's, else main)")
    add_pickle_argument(fetching)
    fetching.add_argument(
        "--trust-remote-code", action="store_true", help="also download the Python code that comes with the model"
    )
    fetching.add_argument("--out", type=Path, metavar="FILE", help="write which commit and files were fetched, as JSON")
    fetching.set_defaults(run=run_fetch)


def add_registry_flag(parser: argparse.ArgumentParser) -> None:
    """Where the registry is."""
    parser.add_argument("--registry", type=shipped_file, default=REGISTRY, metavar="FILE", help="model registry")


def run_list(args: argparse.Namespace) -> None:
    """Print the registry."""
    from worldprobe.models.registry import availability
    from worldprobe.settings import read_registry

    registry = read_registry(args.registry)
    rows = [
        (
            model,
            entry["display_name"],
            entry["checkpoint"] or "",
            entry.get("revision") or "",
            entry["dtype"],
            entry["engine"],
            availability(entry),
        )
        for model, entry in registry.items()
    ]
    print_columns(("model", "name", "checkpoint", "revision", "dtype", "engine", "state"), rows)


def run_plan(args: argparse.Namespace) -> None:
    """Print what each model needs."""
    from worldprobe.models.registry import select
    from worldprobe.operations.resources import list_requests
    from worldprobe.settings import read_registry

    registry = read_registry(args.registry)
    planned = list_requests(registry, select(registry, None if args.models is None else args.models.split(",")), args.gpu_memory)
    rows = [
        (
            p.model,
            p.engine,
            p.dtype,
            "?" if p.weights_gb is None else f"{p.weights_gb:.1f}",
            str(p.gpus),
            str(p.tensor_parallel),
            "" if p.weights_gb_per_gpu is None else f"{p.weights_gb_per_gpu:.1f}",
            str(p.threads),
            f"{p.mem_mb / 1000:.0f}",
            ", ".join(map(str, p.minutes)),
        )
        for p in planned
    ]
    print_columns(
        (
            "model",
            "engine",
            "dtype",
            "weights GB",
            "GPUs",
            "tensor parallel",
            "GB per GPU",
            "threads",
            "memory GB",
            "minutes by attempt",
        ),
        rows,
    )


def run_fetch(args: argparse.Namespace) -> None:
    """Hub -> cache, checked."""
    import json

    from worldprobe.files import write_text
    from worldprobe.models.checkpoint import fetch

    name, revision, allow_pickle, trust = _what_to_fetch(args)
    checkpoint = fetch(name, revision, allow_pickle, trust)
    files = {path.name: path.stat().st_size for path in sorted(checkpoint.folder.iterdir()) if path.is_file()}
    print(f"{name} {checkpoint.revision}: {len(files)} files, {sum(files.values()) / 1e9:.2f} GB")
    if args.out:
        facts = {"checkpoint": name, "revision": checkpoint.revision, "digest": checkpoint.digest(), "files": files}
        write_text(args.out, json.dumps(facts, indent=2, sort_keys=True) + "\n")


def _what_to_fetch(args: argparse.Namespace) -> tuple[str, str | None, bool, bool]:
    """Hub id, revision, and what the checkpoint may do: of the registry's entry, or as given."""
    from worldprobe.errors import UserError
    from worldprobe.models.checkpoint import HUB_ID, HUB_PREFIX
    from worldprobe.models.registry import card
    from worldprobe.settings import read_registry

    if (args.model is None) == (args.checkpoint is None):
        raise UserError("models fetch", "needs one model.", "Give a model of the registry, or --checkpoint HUB_ID.")
    if args.checkpoint is not None:
        return args.checkpoint, args.revision, args.allow_pickle, args.trust_remote_code
    name = args.model
    registry = read_registry(args.registry) if "/" not in name and not name.startswith(HUB_PREFIX) else {}
    if name not in registry:
        if registry and not HUB_ID.fullmatch(name):
            card(registry, name, args.registry)  # neither a hub id nor a model: says which models there are
        return name, args.revision, args.allow_pickle, args.trust_remote_code
    entry = registry[name]
    if entry.get("control"):
        raise UserError(f"model {name}", "is trained by this pipeline, so there is nothing to fetch.", "Run the workflow.")
    if entry["engine"] == "openai":
        raise UserError(f"model {name}", "is on a server, so there is nothing to fetch.", "Score it as it is.")
    allow_pickle, trust = args.allow_pickle or entry["allow_pickle"], args.trust_remote_code or entry["trust_remote_code"]
    return entry["checkpoint"], args.revision or entry["revision"], allow_pickle, trust


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output, columns aligned."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
