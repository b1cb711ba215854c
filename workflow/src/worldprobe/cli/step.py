"""What every command over judgements does around its computation: read, say what made the output, write, log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from worldprobe.cli.options import missing_models
from worldprobe.log import LOGGER

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmark import Benchmark
    from worldprobe.contracts import Table
    from worldprobe.provenance import Provenance


class Step:
    """One run of a command over tables of judgements.

    Args:
        method: version of the computation.
        judgements: the tables.
        missing: values of ``--missing``.
        others: name -> further input.

    Attributes:
        details: what the output's provenance says besides.
    """

    def __init__(
        self, method: int, judgements: Sequence[Path], missing: Sequence[str] = (), others: Mapping[str, Path] | None = None
    ) -> None:
        self.method, self.judgements, self.missing, self.others = method, list(judgements), missing, dict(others or {})
        self.details: dict[str, Any] = {}

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        """All judgements, which must be of the same items as the other inputs."""
        from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements

        rows = read_judgements(self.judgements, columns, list(self.others.values()))
        self.details |= missing_models(self.missing, rows["model"].unique()) | kinds_of(self.judgements)
        return rows

    def read_scores(self, benchmark: Benchmark) -> tuple[pd.DataFrame, list[str]]:
        """The scores of a benchmark that has them, and the columns of its own."""
        from worldprobe.contracts import read_tables
        from worldprobe.contracts.results import Scores

        contract = cast("type[Table]", benchmark.scores)
        scores = read_tables(self.judgements, contract)
        self.details |= {"benchmark": benchmark.name} | missing_models(self.missing, scores["model"].unique())
        return scores, [name for name in contract.columns if name not in Scores.columns]

    def provenance(self, packages: Sequence[str], details: Mapping[str, Any] | None = None) -> Provenance:
        """What made the output."""
        from worldprobe.provenance import made

        inputs = self.others | {str(path): path for path in self.judgements}
        return made(self.method, inputs, ["numpy", "pandas", *packages], details={**(details or {}), **self.details})

    def write(
        self,
        table: pd.DataFrame,
        contract: type[Table],
        out: Path,
        packages: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the output, and say which models it lacks."""
        from worldprobe.contracts import write_table

        write_table(table, contract, out, self.provenance(packages, details))
        for model, reason in self.details.get("missing_models", {}).items():
            LOGGER.warning("%s is missing: %s", model, reason)

    def read_conditions(self, paths: Mapping[str, Sequence[Path]], columns: Sequence[str]) -> dict[str, pd.DataFrame]:
        """The judgements of each condition."""
        from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements

        rows = {name: read_judgements(files, columns) for name, files in paths.items()}
        models = {model for table in rows.values() for model in table["model"].unique()}
        self.details |= missing_models(self.missing, models) | kinds_of([path for files in paths.values() for path in files])
        return rows
