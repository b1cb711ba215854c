"""What a model needs of a machine, from its registry entry alone: GPUs, threads, memory, time.

The figures are requests to a scheduler, so they err on the large side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
#: Share of a GPU's memory that weights may take; activations, the cache of keys and values and the workspace take the rest.
WEIGHT_SHARE = 0.55
#: Parameters of a model whose card says nothing.
PARAMETERS = 7_000_000_000
#: A control model: a few million parameters.
CONTROL_MEMORY_MB = 3_000
#: How often a job is submitted at most: ``retries`` of slurm/config.yaml and one. Each attempt gets more memory and time.
ATTEMPTS = 4


class Needs(NamedTuple):
    """A request.

    Attributes:
        gpus: GPUs in one node.
        threads: CPU cores.
        mem_mb: main memory in MB.
        runtime: minutes of the first attempt.
    """

    gpus: int
    threads: int
    mem_mb: int
    runtime: int

    def in_attempt(self, attempt: int, longest: int | None = None) -> Needs:
        """The request of the first attempt (1) or a later one: that many times the time, and half the memory more each time.

        Args:
            attempt: from 1.
            longest: minutes that a job may ask for at most.

        >>> Needs(1, 4, 15_000, 84).in_attempt(3)
        Needs(gpus=1, threads=4, mem_mb=30000, runtime=252)
        >>> Needs(1, 4, 15_000, 84).in_attempt(3, longest=240).runtime
        240
        """
        minutes = self.runtime * attempt
        return self._replace(mem_mb=self.mem_mb * (attempt + 1) // 2, runtime=min(minutes, longest) if longest else minutes)


def needs(card: Mapping[str, Any], gpu_memory_gb: float = 80.0) -> Needs:
    """What one job that scores with a model asks for.

    Args:
        card: the model's registry entry; ``parameters`` missing counts as ``PARAMETERS``.
        gpu_memory_gb: memory of one GPU in GB (1e9 bytes).

    >>> needs({"parameters": 70_553_706_496, "dtype": "bfloat16"}).gpus
    4
    >>> needs({"parameters": 1_557_611_200, "dtype": "float32"}).gpus
    1
    >>> needs({"control": {"steps": 0}, "dtype": "float32"})
    Needs(gpus=0, threads=1, mem_mb=3000, runtime=30)
    """
    if "control" in card or card.get("tuned") == "small":
        return Needs(card.get("tensor_parallel") or 0, 1, CONTROL_MEMORY_MB, 30)
    if card.get("engine") == "openai":  # a server elsewhere does the work
        return Needs(0, 1, CONTROL_MEMORY_MB, 240)
    if card.get("engine") == "rule":
        return Needs(0, 1, CONTROL_MEMORY_MB, 30)
    weights_gb = (card.get("parameters") or PARAMETERS) * BYTES[card["dtype"]] / 1e9
    gpus = card.get("tensor_parallel") or 1
    while not card.get("tensor_parallel") and weights_gb > gpus * gpu_memory_gb * WEIGHT_SHARE:
        gpus *= 2
    return Needs(gpus, 4 * gpus, int(8_000 + 1.2e3 * weights_gb), int(60 + 4 * weights_gb))


def tuning_needs(card: Mapping[str, Any], settings: Mapping[str, Any], gpu_memory_gb: float = 80.0) -> Needs:
    """What one job that fine-tunes a model asks for.

    Args:
        card: the registry entry of its base.
        settings: of the training: tuning, full_up_to, threads, minutes.
        gpu_memory_gb: memory of one GPU in GB (1e9 bytes).

    >>> settings = {"tuning": "auto", "full_up_to": 3_000_000_000, "threads": 1, "minutes": 1440}
    >>> tuning_needs({"parameters": 1_557_611_200, "dtype": "float32"}, settings).gpus
    1
    >>> tuning_needs({"parameters": 68_976_648_192, "dtype": "bfloat16"}, settings).gpus
    4
    >>> tuning_needs({"parameters": 6_738_415_616, "dtype": "bfloat16"}, settings | {"tuning": "full"}).gpus
    4
    """
    if "control" in card or card.get("tuned") == "small":
        return Needs(0, settings["threads"], CONTROL_MEMORY_MB, settings["minutes"])
    parameters = card.get("parameters") or PARAMETERS
    is_full = settings["tuning"] == "full" or (settings["tuning"] == "auto" and parameters <= settings["full_up_to"])
    # Weights, gradients and AdamW's two moments in float32; or frozen weights, and little else.
    states_gb = parameters * (16 if is_full else 1.15 * BYTES[card["dtype"]]) / 1e9
    gpus = 1
    while states_gb > gpus * gpu_memory_gb * WEIGHT_SHARE:
        gpus *= 2
    # The first process reads the weights, and at the end puts them together in float32.
    return Needs(gpus, 4 * gpus, int(8_000 + 9e-6 * parameters), settings["minutes"])


@dataclass(frozen=True)
class ModelRequest:
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


def list_requests(
    registry: Mapping[str, Mapping[str, Any]], models: Iterable[str], gpu_memory_gb: float = 80.0
) -> list[ModelRequest]:
    """Requests of some models, from their registry entries alone.

    >>> [big] = list_requests({"big": {"parameters": 70_553_706_496, "dtype": "bfloat16", "engine": "vllm"}}, ["big"])
    >>> big.gpus, big.tensor_parallel, big.weights_gb
    (4, 4, 141.1)
    """
    requests = []
    for model in models:
        entry = registry[model]
        dtype, engine = entry.get("dtype", "float32"), entry.get("engine", "transformers")
        wanted = needs({**entry, "dtype": dtype}, gpu_memory_gb)
        weights = round(entry["parameters"] * BYTES[dtype] / 1e9, 1) if entry.get("parameters") else None
        requests.append(
            ModelRequest(
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
    return requests
