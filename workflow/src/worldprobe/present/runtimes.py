"""How long every rule took, from Snakemake's benchmark files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunTime:
    """A rule's jobs together: seconds in all and of the longest, peak memory in MiB."""

    rule: str
    jobs: int
    seconds: float
    longest: float
    peak: float | None


def read_run_times(folder: Path | str | None) -> list[RunTime]:
    """Run times by rule, the slowest first; a rule's benchmarks are ``folder/rule.tsv`` or files under ``folder/rule/``."""
    if folder is None or not Path(folder).is_dir():
        return []
    rows: dict[str, list[tuple[float, float | None]]] = {}
    for path in sorted(Path(folder).rglob("*.tsv")):
        rule = path.relative_to(folder).parts[0].removesuffix(".tsv")
        with open(path, encoding="utf-8", newline="") as stream:
            for line in csv.DictReader(stream, delimiter="\t"):
                seconds = _number(line.get("s"))
                if seconds is not None:
                    rows.setdefault(rule, []).append((seconds, _number(line.get("max_rss"))))
    times = []
    for rule, jobs in rows.items():
        peaks = [peak for _length, peak in jobs if peak is not None]
        lengths = [length for length, _peak in jobs]
        times.append(RunTime(rule, len(jobs), sum(lengths), max(lengths), max(peaks) if peaks else None))
    return sorted(times, key=lambda time: (-time.seconds, time.rule))


@dataclass(frozen=True)
class GpuTime:
    """What one model's answers cost: hours of its job, GPUs it asked for; GPU-hours are their product."""

    model: str
    hours: float
    gpus: int


def read_gpu_times(folder: Path | str | None, gpus: Mapping[str, int]) -> list[GpuTime]:
    """The scoring time of every model that has a benchmark file ``folder/score/model.tsv``, in the order of ``gpus``.

    Args:
        folder: of Snakemake's benchmark files.
        gpus: model -> GPUs that its job asks for.
    """
    times = []
    for model, count in gpus.items():
        path = Path(folder or "") / "score" / f"{model}.tsv"
        if folder is not None and path.is_file():
            with open(path, encoding="utf-8", newline="") as stream:
                seconds = [_number(line.get("s")) or 0.0 for line in csv.DictReader(stream, delimiter="\t")]
            times.append(GpuTime(model, sum(seconds) / 3600, count))
    return times


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text not in (None, "-", "NA") else None
    except ValueError:
        return None


def duration_in_words(seconds: float) -> str:
    """A duration as people say it.

    >>> duration_in_words(0.42), duration_in_words(75), duration_in_words(7330)
    ('0.4 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
