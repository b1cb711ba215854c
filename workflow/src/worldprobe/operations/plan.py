"""What a study's models need of the machines, before anything is started. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from worldprobe.operations.needs import ATTEMPTS, BYTES, needs


@dataclass(frozen=True)
class PlannedModel:
    """One model's request, as the workflow makes it to the scheduler.

    Attributes:
        model: id in the registry.
        engine: what runs it.
        dtype: precision.
        weights_gb: size of the weights in that precision, GB (1e9 bytes); None where the parameters are unknown.
        gpus: GPUs in one node.
        tensor_parallel: GPUs that share each weight (vLLM); 1 where layers are spread over them instead (transformers).
        weights_gb_per_gpu: of them on each GPU.
        threads: CPU cores.
        mem_mb: main memory of the first attempt; later ones get more.
        minutes: time limits, attempt by attempt.
    """

    model: str
    engine: str
    dtype: str
    weights_gb: float | None
    gpus: int
    tensor_parallel: int
    weights_gb_per_gpu: float | None
    threads: int
    mem_mb: int
    minutes: tuple[int, ...]


def plan(registry: Mapping[str, Mapping[str, Any]], models: Iterable[str], gpu_memory_gb: float = 80.0) -> list[PlannedModel]:
    """Requests of some models, from their registry entries alone.

    >>> [big] = plan({"big": {"parameters": 70_553_706_496, "dtype": "bfloat16", "engine": "vllm"}}, ["big"])
    >>> big.gpus, big.tensor_parallel, big.weights_gb
    (4, 4, 141.1)
    """
    planned = []
    for model in models:
        entry = registry[model]
        dtype, engine = entry.get("dtype", "float32"), entry.get("engine", "transformers")
        wanted = needs({**entry, "dtype": dtype}, gpu_memory_gb)
        weights = round(entry["parameters"] * BYTES[dtype] / 1e9, 1) if entry.get("parameters") else None
        planned.append(
            PlannedModel(
                model=model,
                engine=engine,
                dtype=dtype,
                weights_gb=weights,
                gpus=wanted.gpus,
                tensor_parallel=max(wanted.gpus, 1) if engine == "vllm" else 1,
                weights_gb_per_gpu=round(weights / wanted.gpus, 1) if weights and wanted.gpus else None,
                threads=wanted.threads,
                mem_mb=wanted.mem_mb,
                minutes=tuple(wanted.in_attempt(attempt).runtime for attempt in range(1, ATTEMPTS + 1)),
            )
        )
    return planned
