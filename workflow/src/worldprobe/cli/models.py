"""``models``: the registry's models: which there are, what they ask of a machine, and fetching one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

REGISTRY = Path("config/models.yaml")


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``models list``, ``models plan``, ``models fetch``."""
    stage = stages.add_parser("models", help="list, plan and fetch the registry's models")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="the registry's models, and which of them are on this machine")
    add_registry_flag(listing)
    listing.set_defaults(run=run_list)

    planning = actions.add_parser("plan", help="GPUs, memory and time that each model asks for")
    add_registry_flag(planning)
    planning.add_argument("--models", help="comma-separated; default: all of the registry")
    planning.add_argument("--gpu-memory", type=float, default=80.0, metavar="GB", help="memory of one GPU (default: 80)")
    planning.set_defaults(run=run_plan)

    fetching = actions.add_parser("fetch", help="download a model (the only command on models that goes online)")
    fetching.add_argument("model", help="a model of the registry, or a hub id")
    add_registry_flag(fetching)
    fetching.add_argument("--revision", help="branch, tag or commit; for a model of the registry its entry decides")
    fetching.add_argument("--allow-pickle", action="store_true", help="take weights that exist as pickles only (can run code)")
    fetching.add_argument("--trust-remote-code", action="store_true", help="also take the Python code that the model brings")
    fetching.add_argument("--out", type=Path, help="write which commit and files were fetched, as JSON")
    fetching.set_defaults(run=run_fetch)


def add_registry_flag(parser: argparse.ArgumentParser) -> None:
    """Where the registry is."""
    parser.add_argument("--registry", type=Path, default=REGISTRY, help=f"default: {REGISTRY}")


def run_list(args: argparse.Namespace) -> None:
    """Print the registry."""
    from worldprobe.config import read_registry
    from worldprobe.models.registry import state

    registry = read_registry(args.registry)
    rows = [
        (
            model,
            entry["display_name"],
            entry["checkpoint"],
            entry.get("revision") or "",
            entry["dtype"],
            entry["engine"],
            state(entry),
        )
        for model, entry in registry.items()
    ]
    print_columns(("model", "name", "checkpoint", "revision", "dtype", "engine", "state"), rows)


def run_plan(args: argparse.Namespace) -> None:
    """Print what each model asks for."""
    from worldprobe.config import read_registry
    from worldprobe.models.registry import select
    from worldprobe.operations.plan import plan

    registry = read_registry(args.registry)
    planned = plan(registry, select(registry, args.models.split(",") if args.models else None), args.gpu_memory)
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

    from worldprobe.config import read_registry
    from worldprobe.errors import UserError
    from worldprobe.files import write_text
    from worldprobe.models.fetch import fetch
    from worldprobe.models.registry import card

    name, revision = args.model, args.revision
    allow_pickle, trust = args.allow_pickle, args.trust_remote_code
    if "/" not in name:
        entry = card(read_registry(args.registry), name, args.registry)
        if "control" in entry:
            raise UserError(f"model {name}", "is trained by this pipeline; there is nothing to fetch.", "Run the workflow.")
        name, revision = entry["checkpoint"], revision or entry.get("revision")
        allow_pickle, trust = allow_pickle or entry["allow_pickle"], trust or entry["trust_remote_code"]
    checkpoint = fetch(name, revision, allow_pickle, trust)
    files = {path.name: path.stat().st_size for path in sorted(checkpoint.folder.iterdir()) if path.is_file()}
    print(f"{name} {checkpoint.revision}: {len(files)} files, {sum(files.values()) / 1e9:.2f} GB")
    if args.out:
        facts = {"checkpoint": name, "revision": checkpoint.revision, "digest": checkpoint.digest(), "files": files}
        write_text(args.out, json.dumps(facts, indent=2, sort_keys=True) + "\n")


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output, columns aligned."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
