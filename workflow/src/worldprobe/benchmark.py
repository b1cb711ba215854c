"""What the shared parts see of a benchmark: one object with all that is its own.

A benchmark is EWoK or WorldSense; a study is one named configuration of them. Adding a benchmark means one folder in
``benchmarks/``, one block in the configuration's schema and one line in ``benchmarks/__init__.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: A validated study: the shared settings, and one block per benchmark under the benchmark's name.
Study = Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: its block in the configuration, its folder of results and its commands, e.g. ``ewok``.
        title: as it is written, e.g. EWoK.
        targets: the files that a study of it makes, relative to the working directory.
    """

    name: str
    title: str
    targets: Callable[[Study], list[str]]
