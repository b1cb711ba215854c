"""How long every rule took, from Snakemake's benchmark files, and what each model's answers cost."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from worldprobe.errors import UserError

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
    """Run times by rule, the slowest first; a rule's benchmarks are ``folder/rule.tsv`` or files under ``folder/rule/``.

    Raises:
        UserError: a file is not one of Snakemake's.
    """
    if folder is None or not Path(folder).is_dir():
        return []
    rows: dict[str, list[tuple[float, float | None]]] = {}
    for path in sorted(Path(folder).rglob("*.tsv")):
        rule = path.relative_to(folder).parts[0].removesuffix(".tsv")
        for line in _lines(path):
            seconds = _number(line.get("s"))
            if seconds is not None:
                rows.setdefault(rule, []).append((seconds, _number(line.get("max_rss"))))
    times = []
    for rule, jobs in rows.items():
        peaks = [peak for _length, peak in jobs if peak is not None]
        lengths = [length for length, _peak in jobs]
        times.append(RunTime(rule, len(jobs), sum(lengths), max(lengths), max(peaks) if peaks else None))
    return sorted(times, key=lambda time: (-time.seconds, time.rule))


def _lines(path: Path) -> list[dict[str, str]]:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(path, "is not a benchmark file of Snakemake.", "Remove it, or leave out --benchmarks.") from error


@dataclass(frozen=True)
class AnswerTime:
    """What one model's answers cost, all attempts together.

    Attributes:
        name: of the model.
        seconds: wall-clock time.
        device_seconds: kind of device (cpu, cuda, ...) -> seconds times number of devices.
        answers: how many were computed.
        prompt_tokens, completion_tokens: read, and written; 0 where not known.
        prices: US dollars per million of each; None where the registry states none.
    """

    name: str
    seconds: float
    device_seconds: Mapping[str, float]
    answers: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prices: tuple[float, float] | None = None

    @property
    def dollars(self) -> float | None:
        """What the tokens cost; None where the registry states no prices.

        >>> AnswerTime("m", 1.0, {}, 1, 2_000_000, 500_000, (0.5, 1.5)).dollars
        1.75
        """
        if self.prices is None:
            return None
        return (self.prompt_tokens * self.prices[0] + self.completion_tokens * self.prices[1]) / 1e6

    @property
    def gpu_seconds(self) -> float:
        """Seconds times number of GPUs; 0 for answers that a server or a CPU computed."""
        return sum(seconds for device, seconds in self.device_seconds.items() if device in GPUS)


def with_all_attempts(times: Sequence[RunTime], answers: Sequence[AnswerTime], rule: str = "score") -> list[RunTime]:
    """The run times, where the rule that computes answers has the time of all its attempts.

    Snakemake's benchmark file of a job is that of its last attempt, which may have found most answers in the store.

    Args:
        times: from the benchmark files.
        answers: of each model.
        rule: the rule that computes answers.
    """
    longest = max((one.seconds for one in answers), default=0.0)
    total = sum(one.seconds for one in answers)
    changed = [
        replace(time, seconds=max(time.seconds, total), longest=max(time.longest, longest)) if time.rule == rule else time
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
