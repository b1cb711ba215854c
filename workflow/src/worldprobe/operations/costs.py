"""What a run of a study takes, before it starts: models, GPUs and hours, downloads, requests to
servers, and who may have what.

The figures are what is asked of a scheduler, and estimates from the models' cards and from what
the study asks them; they err on the large side.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

from worldprobe import engines
from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks import all_models, downloads, of_study
from worldprobe.engines import Needs, Workload
from worldprobe.models.engine_types import BYTES, FLOPS, GB_PER_SECOND, parameters_of
from worldprobe.operations.access import (
    credential,
    free_gb,
    has_credential,
    hub_cache,
    is_to_be_fetched,
)
from worldprobe.operations.resources import needs, visible_gpus
from worldprobe.operations.status import unfinished
from worldprobe.sources import SourceFile, by_reason, shipped_files

#: Bytes of a parameter on the hub, where nearly all checkpoints are in half precision.
PUBLISHED_BYTES = 2


#: Operations per second of a core, at which the weights of small models are read (docs/appendix/
#: speed.md), and bytes per second of main memory for each token that is written.
CORE_FLOPS, MEMORY_BYTES = 1e11, 1e10
WRITTEN_AT_ONCE = 16


def expect_evaluation(
    loads: Mapping[str, Workload | None], card: Mapping[str, Any], on_gpu: bool, cores: int
) -> list[str]:
    """What ``evaluate`` asks a model, how long that takes and what it costs, line by line.

    Args:
        loads: title of a benchmark -> what it asks.
        card: checkpoint, engine, precision and, where they are stated, parameters and prices.
        on_gpu: whether there is a GPU.
        cores: to compute on without one.
    """
    lines = [
        f"{title}: number of questions unknown before its items are made"
        if load is None
        else f"{title}: about {load.requests:,} questions; {load.read:,} tokens read"
        + f", at most {load.written:,} written" * bool(load.written)
        for title, load in loads.items()
    ]
    known_loads = [load for load in loads.values() if load is not None]
    read = sum(load.read for load in known_loads)
    written = sum(load.written for load in known_loads)
    is_whole, is_remote = len(known_loads) == len(loads), engines.of(card).is_remote
    parameters = parameters_of(card) if engines.of(card).has_weights else None
    if is_whole and parameters:
        reading = 2 * parameters * (read + written)
        writing = parameters * BYTES[card["dtype"]] * written / WRITTEN_AT_ONCE
        seconds = (
            reading / FLOPS[card["dtype"]] + writing / 1e9 / GB_PER_SECOND
            if on_gpu
            else reading / CORE_FLOPS / cores + writing / MEMORY_BYTES
        )
        where = "an A100" if on_gpu else f"{cores} cores"
        minutes = f"about {seconds / 60:,.0f} minutes" if seconds > 90 else "a minute or two"
        lines.append(f"time: {minutes} on {where}, and loading")
    else:
        first = "server's first answers" if is_remote else "first answers"
        lines.append(f"time: unknown before the {first}")
    if is_remote:
        prices = card.get("prices")
        price = (
            f"at most ${(read * prices['prompt'] + written * prices['completion']) / 1e6:,.2f}"
            if prices and is_whole
            else "unknown: a card of the registry can state prices"
        )
        lines.append(f"price: {price}")
    return [*lines, "What is on disk already is not asked again."]


def workload_of(study: Study, card: Mapping[str, Any], rule: str = "") -> Workload | None:
    """The workload of a model in all benchmarks of a study, or in one rule; None where nobody can
    say.
    """
    asking = [
        benchmark
        for benchmark in of_study(study)
        if rule in ("", benchmark.rule) and benchmark.answers(study, card["model"])
    ]
    loads = [benchmark.workload(study, card) for benchmark in asking]
    known_loads = [load for load in loads if load is not None]
    if len(known_loads) < len(loads) or not known_loads:
        return None
    return Workload(
        sum(load.requests for load in known_loads),
        sum(load.read for load in known_loads),
        sum(load.written for load in known_loads),
        _sum_of_limits([load.most_requests for load in known_loads]),
        _sum_of_limits([load.most_tokens for load in known_loads]),
    )


def _sum_of_limits(limits: Sequence[int | None]) -> int | None:
    """None where one of them is none."""
    stated = [limit for limit in limits if limit is not None]
    return sum(stated) if len(stated) == len(limits) else None


def job_needs(
    study: Study, registry: Registry, site: Mapping[str, Any], model: str, rule: str
) -> Needs:
    """The needs of a rule's job with a model."""
    card = registry[model]
    return needs(card, site["gpu_memory_gb"], workload_of(study, card, rule))


def forecast(
    study: Study,
    registry: Registry,
    site: Mapping[str, Any],
    left_out: Mapping[str, str],
    on_cluster: bool = True,
) -> list[str]:
    """What the run takes, line by line: nothing for a study whose models have all answered.

    Args:
        study: a validated study.
        registry: model id -> card.
        site: facts of the cluster.
        left_out: model, file or baseline -> why the run goes on without it.
        on_cluster: whether jobs are submitted; else GPUs are those of this machine, if it has any.
    """
    jobs = {
        model: rules
        for model, rules in unfinished(study).items()
        if rules and model not in left_out
    }
    lines = [f"without {', '.join(names)}: {why}" for why, names in by_reason(left_out).items()]
    asked = [model for model in jobs if engines.of(registry[model]).is_model]
    if asked:
        count = sum(len(jobs[model]) for model in asked)
        models = [model for model in all_models(study) if engines.of(registry[model]).is_model]
        lines.append(f"models: {len(asked)} of {len(models)} to ask, in {count} jobs")
        if on_cluster or visible_gpus():
            chosen = {model: jobs[model] for model in asked}
            lines += _gpus(study, registry, site, chosen, on_cluster)
    if not study.get("rehearsal"):
        lines += _requests(study, registry, asked)
        lines += _downloads(registry, asked, set(downloads(study)) - {*left_out})
    return [f"Study {study['study']}, before the first job:", *(f"  {line}" for line in lines)] * (
        bool(lines)
    )


def _gpus(
    study: Study,
    registry: Registry,
    site: Mapping[str, Any],
    jobs: Mapping[str, list[str]],
    on_cluster: bool,
) -> Iterator[str]:
    """GPUs by number, and the hours that are asked for."""
    hours: dict[int, list[float]] = defaultdict(list)
    for model, rules in jobs.items():
        for rule in rules:
            wanted = job_needs(study, registry, site, model, rule).in_attempt(
                1, site["longest_minutes"]
            )
            hours[wanted.gpus].append(wanted.runtime / 60)
    kind = site["gres"] or site["gpu_model"] or "any type"
    partition = site["gpu_partition"] or site["partition"] or "default"
    hardware = (
        f" ({kind}, {site['gpu_memory_gb']:g} GB, partition {partition})" if on_cluster else ""
    )
    on_gpus = {gpus: times for gpus, times in sorted(hours.items()) if gpus}
    if on_gpus:
        parts = [f"{len(times)} with {gpus}" for gpus, times in on_gpus.items()]
        total = max(sum(gpus * sum(times) for gpus, times in on_gpus.items()), 1)
        verb = "are asked for" if on_cluster else "at most on A100s"
        yield (
            f"GPUs{hardware}: jobs {', '.join(parts)}; {total:,.0f} GPU hours {verb}, the longest"
            f" job {max(1, *map(max, on_gpus.values())):.0f} hours"
        )
    if 0 in hours:
        yield f"without a GPU: {len(hours[0])} jobs"


def _requests(study: Study, registry: Registry, models: Iterable[str]) -> Iterator[str]:
    """The requests to servers, and where the study stops them."""
    for model in models:
        card = registry[model]
        if not engines.of(card).is_remote:
            continue
        load = workload_of(study, card)
        if load is None:
            yield f"requests to {card['endpoint']} ({model}): number unknown"
            continue
        tokens = max((load.read + load.written) / 1e6, 1)
        limits = [
            f"{limit:,} {what} a run"
            for limit, what in ((load.most_requests, "requests"), (load.most_tokens, "tokens"))
            if limit
        ]
        yield (
            f"requests to {card['endpoint']} ({model}): up to {load.requests:,}, about"
            f" {tokens:,.0f} million tokens; limit: {' and '.join(limits) or 'none'}"
        )


def _downloads(registry: Registry, models: Iterable[str], files: Collection[str]) -> Iterator[str]:
    """The downloads still to be made, where to, and the terms that must have been accepted."""
    weights = {  # several cards may be of one checkpoint
        (registry[model]["checkpoint"], registry[model]["revision"]): registry[model]["parameters"]
        for model in models
        if is_to_be_fetched(registry[model])
    }
    if weights:
        folder = hub_cache()
        sizes = [number for number in weights.values() if number]
        size = f"about {max(sum(sizes) * PUBLISHED_BYTES / 1e9, 1):,.0f} GB"
        if n_unknown := len(weights) - len(sizes):
            size = f"{size} and {n_unknown} of unknown size" if sizes else "size unknown"
        yield (
            f"weights: {len(weights)} models to download, {size}, into {folder}"
            f" (HF_HOME {'is set' if os.environ.get('HF_HOME') else 'is not set'};"
            f" {free_gb(folder):,.0f} GB are free)"
        )
    sources: dict[str, list[SourceFile]] = defaultdict(list)
    for path, file in shipped_files().items():
        if path in files and not os.path.exists(path):
            sources[file.source].append(file)
    for name, parts in sources.items():
        total = sum(file.size or 0 for file in parts) / 1e6
        size = f"{max(total, 1):,.0f} MB" if total else "size unknown"
        number = f"{len(parts)} files, " if len(parts) > 1 else ""
        yield f"download: {name}, {number}{size}; terms: {shorten(parts[0].licence, 60)}"
    behind: dict[str, list[str]] = defaultdict(list)
    for model in models:
        if registry[model].get("gated"):
            behind[credential(registry[model])].append(model)
    for variable, gated in behind.items():
        state = "is set" if has_credential(variable) else "is not set; they are here already"
        yield f"gated: {', '.join(gated)} ({variable} {state})"
