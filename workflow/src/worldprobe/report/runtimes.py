"""How long every rule took, from Snakemake's benchmark files, and what each model's answers
cost.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from worldprobe.files import read_text
from worldprobe.inference.requests import tokens_of
from worldprobe.inference.store import read_parts
from worldprobe.provenance import Provenance

#: Devices, as PyTorch names them, whose time is GPU time.
GPUS = ("cuda", "mps", "xpu")


@dataclass(frozen=True)
class RunTime:
    """A rule's jobs together: seconds in all and of the longest, peak memory in MiB."""

    rule: str
    jobs: int
    seconds: float
    longest: float
    peak: float | None


def read_run_times(folder: Path | str | None) -> list[RunTime]:
    """Run times by rule, the slowest first; a rule's benchmarks are ``folder/rule.tsv`` or files
    under ``folder/rule/``.

    Raises:
        UserError: one of them cannot be read.
    """
    if folder is None or not Path(folder).is_dir():
        return []
    rows: dict[str, list[tuple[float, float | None]]] = {}
    for path in sorted(Path(folder).rglob("*.tsv")):
        rule = path.relative_to(folder).parts[0].removesuffix(".tsv")
        lines = read_text(path, "Give the folder of Snakemake's benchmark files.").splitlines()
        for line in csv.DictReader(lines, delimiter="\t"):
            seconds = _number(line.get("s"))
            if seconds is not None:
                rows.setdefault(rule, []).append((seconds, _number(line.get("max_rss"))))
    times = []
    for rule, jobs in rows.items():
        peaks = [peak for _length, peak in jobs if peak is not None]
        lengths = [length for length, _peak in jobs]
        times.append(
            RunTime(rule, len(jobs), sum(lengths), max(lengths), max(peaks) if peaks else None)
        )
    return sorted(times, key=lambda time: (-time.seconds, time.rule))


@dataclass(frozen=True)
class Cost:
    """The cost of one model's answers, all attempts together.

    Attributes:
        seconds: wall-clock time.
        device_seconds: kind of device (cpu, cuda, ...) -> seconds times number of devices.
        answers: how many were computed.
        prompt_tokens: tokens that were read; 0 where not known.
        completion_tokens: tokens that were written, thoughts included.
        name: of the model.
        prices: US dollars per million tokens read and written; None where the registry states none.
    """

    seconds: float = 0.0
    device_seconds: Mapping[str, float] = field(default_factory=dict)
    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    name: str = ""
    prices: tuple[float, float] | None = None

    @property
    def dollars(self) -> float | None:
        """The price of the tokens; None where the registry states no prices.

        >>> Cost(1.0, {}, 1, 2_000_000, 500_000, prices=(0.5, 1.5)).dollars
        1.75
        """
        if self.prices is None:
            return None
        return (self.prompt_tokens * self.prices[0] + self.completion_tokens * self.prices[1]) / 1e6

    @property
    def gpu_seconds(self) -> float:
        """Seconds times number of GPUs; 0 for answers that a server or a CPU computed."""
        return sum(seconds for device, seconds in self.device_seconds.items() if device in GPUS)


#: What of a cost is measured, and not looked up in the registry.
_MEASURED = ("seconds", "device_seconds", "answers", "prompt_tokens", "completion_tokens")


def cost(root: Path | str, origins: Iterable[Mapping[str, Any]]) -> Cost:
    """The cost of the answers of some tables, each part of the store counted once.

    A part counts where its list of questions is one of the tables' lists. Time that a killed
    process spent after its last part is lost; loading the model is part of a process's first part.

    Args:
        root: folder of all stores, for example results/.answers.
        origins: ``provenance.details["answers"]`` of each table.
    """
    wanted: dict[str, set[str]] = {}
    for origin in origins:
        wanted.setdefault(origin["store"], set()).update(
            entry["list"] for entry in origin["made_by"]
        )
    parts = [
        part
        for store, lists in wanted.items()
        for part in read_parts(Path(root) / store)
        if part[0].questions in lists
    ]
    seconds: dict[str, float] = {}
    for part, _ in parts:
        device = str(part.process.get("device") or "unknown")
        seconds[device] = seconds.get(device, 0.0) + part.seconds * part.devices
    tokens = [tokens_of(answer) for _, answers in parts for answer in answers]
    return Cost(
        sum(part.seconds for part, _ in parts),
        seconds,
        len(tokens),
        sum(read for read, _ in tokens),
        sum(written for _, written in tokens),
    )


def cost_by_model(root: Path | str, made: Iterable[Provenance]) -> dict[str, Cost]:
    """The cost of each model's answers, without models of whose answers the store has none left.

    Args:
        root: folder of all stores, for example results/.answers.
        made: provenance of tables; those that do not come from the store are passed over.
    """
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for provenance in made:
        origins = provenance.details.get("answers")
        if provenance.model and isinstance(origins, dict) and origins.get("store"):
            by_model.setdefault(provenance.model, []).append(origins)
    spent = {model: cost(root, origins) for model, origins in by_model.items()}
    return {model: total for model, total in spent.items() if total.answers}


def to_plain(times: Sequence[RunTime], spent: Mapping[str, Cost]) -> dict[str, Any]:
    """Run times and what each model's answers cost as plain values, which JSON takes.

    Args:
        times: of the rules.
        spent: model id -> cost, without its name and prices.
    """
    costs = {
        model: {name: getattr(model_cost, name) for name in _MEASURED}
        for model, model_cost in spent.items()
    }
    return {"run_times": [asdict(time) for time in times], "answers": costs}


def from_plain(took: Mapping[str, Any]) -> tuple[list[RunTime], dict[str, Cost]]:
    """The inverse of ``to_plain``.

    >>> times = [RunTime("score", 2, 3.5, 2.0, None)]
    >>> from_plain(to_plain(times, {"m": Cost(1.5, {"cuda": 3.0}, 9)})) == (
    ...     times,
    ...     {"m": Cost(1.5, {"cuda": 3.0}, 9)},
    ... )
    True
    """
    times = [RunTime(**time) for time in took.get("run_times", ())]
    return times, {model: Cost(**fields) for model, fields in took.get("answers", {}).items()}


def with_all_attempts(times: Sequence[RunTime], answers: Sequence[Cost]) -> list[RunTime]:
    """The run times, where the rule that computes answers has the time of all its attempts.

    Snakemake's benchmark file of a job is that of its last attempt, which may have found most
    answers in the store.

    Args:
        times: from the benchmark files.
        answers: of each model.
    """
    longest = max((answer_cost.seconds for answer_cost in answers), default=0.0)
    total = sum(answer_cost.seconds for answer_cost in answers)
    changed = [
        (
            replace(time, seconds=max(time.seconds, total), longest=max(time.longest, longest))
            if time.rule == "score"
            else time
        )
        for time in times
    ]
    return sorted(changed, key=lambda time: (-time.seconds, time.rule))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:  # "-", "NA"
        return None
    return number if math.isfinite(number) and number >= 0 else None


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
