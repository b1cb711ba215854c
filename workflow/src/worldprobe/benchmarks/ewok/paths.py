"""The names of EWoK's files below the results of a study. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from worldprobe.benchmarks.ewok.eval_types import is_prompted


@dataclass(frozen=True)
class EwokPaths:
    """EWoK's files in one study.

    Attributes:
        root: their folder, e.g. ``results/default/ewok``.

    >>> paths = EwokPaths("results/default/ewok")
    >>> paths.evidence("main", "logprobs", "gpt2_xl")
    'results/default/ewok/scores/main/logprobs/gpt2_xl.parquet'
    >>> paths.items("nonce", 3), paths.figure("scaling", "svg")
    ('results/default/ewok/items/nonce/version_3.parquet', 'results/default/ewok/figures/scaling.svg')
    """

    root: str

    def table(self, name: str) -> str:
        """A table of the whole study, e.g. ``summaries`` or ``regression/mixed_model``."""
        return f"{self.root}/{name}.parquet"

    def items(self, condition: str, version: int | None = None) -> str:
        """The items of a condition: all versions together, or one alone."""
        return self.table(f"items/{condition}" if version is None else f"items/{condition}/version_{version}")

    def evidence(self, condition: str, eval_type: str, model: str) -> str:
        """What a model is judged by: its scores or its responses."""
        kind = "responses" if is_prompted(eval_type) else "scores"
        return self.table(f"{kind}/{condition}/{eval_type}/{model}")

    def judgements(self, condition: str, eval_type: str, model: str) -> str:
        """Right or wrong, for one model and way of asking."""
        return self.table(f"judgements/{condition}/{eval_type}/{model}")

    def printed(self, name: str, suffix: str) -> str:
        """A printed table."""
        return f"{self.root}/tables/{name}.{suffix}"

    def figure(self, name: str, suffix: str) -> str:
        """A figure."""
        return f"{self.root}/figures/{name}.{suffix}"
