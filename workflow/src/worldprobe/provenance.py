"""What made a table: written into the file, so that a result can always say where it comes from."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from worldprobe import __version__
from worldprobe.files import digest_file


@dataclass
class Provenance:
    """No dates, hosts or durations: the same inputs give the same bytes.

    Attributes:
        method: version of the computation; bumped only when its numbers change.
        seed: seed of all randomness, or None where there is none.
        model: our name of the model, checkpoint and revision what was loaded, dtype and engine how.
        config_digest: digest of the configuration that the step depends on.
        inputs: name -> SHA-256 of every file read.
        packages: name -> version of the packages that can move the numbers.
        canary: the materials' canary line(s), where the table holds item text.
        details: anything else the step states (counts, tolerances, choices).
    """

    method: int = 1
    seed: int | None = None
    model: str | None = None
    checkpoint: str | None = None
    revision: str | None = None
    dtype: str | None = None
    engine: str | None = None
    config_digest: str | None = None
    canary: str | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no absent values."""
        return json.dumps({k: v for k, v in asdict(self).items() if v not in (None, {})}, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Provenance:
        """The inverse of ``to_json``."""
        return cls(**json.loads(text))


def digests(paths: Mapping[str, Path | str]) -> dict[str, str]:
    """Name -> SHA-256 for the input files of a step."""
    return {name: digest_file(path) for name, path in paths.items()}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Name -> installed version, worldprobe's own included."""
    return {"worldprobe": __version__} | {name: importlib.metadata.version(name) for name in packages}
