"""``ask``: what a model says to the questions of a benchmark that says them itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from worldprobe.benchmarks import facts_of, find
from worldprobe.cli.engines import Model, ModelOptions
from worldprobe.cli.options import between
from worldprobe.engines import refuse_others
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import made_by_model

if TYPE_CHECKING:
    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine


def ask(
    benchmark: str,
    /,
    *,
    settings: str | None = None,
    sample: Annotated[int, between(1)] | None = None,
    model: ModelOptions,
    out: Path,
) -> None:
    """Score a model in minimal pairs, or in another installed benchmark.

    Args:
        benchmark: an installed benchmark, or a YAML file of minimal pairs
        settings: the benchmark's block of a configuration: a YAML file, or JSON
        sample: number of items to sample, in proportion to those of each cluster
        out: table of scores
    """
    from worldprobe.analysis.sampling import stratified
    from worldprobe.contracts import write_table
    from worldprobe.inference.requests import list_items, score_responses
    from worldprobe.settings import parse_given

    named = find(benchmark)
    if (asking := named.asking) is None or (contract := named.scores) is None:
        raise UserError(f"ask {benchmark}", "has commands of its own.", "See worldprobe --help.")
    name = model.name  # refused before a model is loaded
    refuse_others(model.model_dump(), named.name, model.checkpoint)
    block = parse_given(named.settings, settings).model_dump()
    items = whole = list_items(asking, block)
    if sample and sample < len(items):
        is_chosen = stratified(
            list(items["cluster"]), list(map(str, items["unit"])), sample, of_each=False
        )
        items = items[is_chosen].reset_index(drop=True)
    since = time.monotonic()
    engine = model.open()
    store = open_answers(model, engine, since, [], out)
    scores, inputs, details = score_responses(
        items, asking, contract, engine, store, named.name, name
    )
    if len(items) < len(whole):
        n_clusters = whole["cluster"].nunique()
        details["sample"] = {"of": len(whole)}
        details["sample"] |= {"strata": n_clusters} if len(items) < n_clusters else {}
    made = made_by_model(engine.facts, asking.method, name, inputs, details | facts_of(named))
    write_table(scores, contract, out, made)


def open_answers(
    model: Model, engine: Engine, since: float, items: Sequence[Path], out: Path
) -> Store:
    """The store of the engine's answers; it names the canary of every item table, because
    answers may repeat an item's words.
    """
    from worldprobe.contracts import read_provenance
    from worldprobe.inference.store import open_store

    store = open_store(
        model.answers or out.parent / ".answers", engine, since=since, kept_since=model.kept_since
    )
    for path in items:
        store.add_canary(read_provenance(path).canary)
    return store
