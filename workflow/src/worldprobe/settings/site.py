"""The facts of a SLURM site (``config/cluster.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from worldprobe.settings.blocks import Block, Count, parse
from worldprobe.settings.documents import Source, read_yaml


class Site(Block):
    """Facts of one SLURM site, for `snakemake --profile slurm`. Each key can also be set in the environment, e.g. as
    `WORLDPROBE_PARTITION`.
    """

    partition: str | None = None
    """Partition of jobs without a GPU; null takes the site's default."""

    gpu_partition: str | None = None
    """Partition of jobs with GPUs; null takes the same as `partition`."""

    account: str | None = None
    """Account that pays; null takes the user's default."""

    qos: str | None = None
    """Quality of service; null takes the default."""

    constraint: str | None = None
    """Node features that jobs with GPUs need, e.g. a100-80gb."""

    gpu_model: str | None = None
    """GPU type as the site's GRES calls it, e.g. a100; null takes any."""

    gpu_memory_gb: float = Field(80, ge=1)
    """Memory of one GPU in GB; models are spread over as many as they need."""

    longest_minutes: Count | None = None
    """The longest time that the partitions give a job, in minutes; later attempts request no more. null means no limit."""

    checkpoints_per_job: Count | None = None
    """Number of checkpoints of a series that one job scores; null scores all in one job."""


def read_site(path: Path | str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The facts of a SLURM site; ``WORLDPROBE_PARTITION`` and its like in the environment override the file.

    Raises:
        UserError: the file is missing, or it or the environment contains something else.
    """
    source = read_yaml(path)
    site = parse(Site, source.document or {}, [source]).model_dump()
    given = {fact: text for fact in site if (text := environment.get(f"WORLDPROBE_{fact.upper()}"))}
    stated = parse(Site, given, [Source("the environment's WORLDPROBE_...", given)], strict=False)
    return site | stated.model_dump(exclude_unset=True)
