"""What commands share that read the samples that lm-evaluation-harness logged."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldprobe.inference.lm_eval import Run
    from worldprobe.provenance import Provenance


def describe_samples(what: str) -> str:
    """What such a command says of itself; ``what`` was asked about: items or trials."""
    return (
        f"Reads results_DATE.json and samples_TASK_DATE.jsonl of the newest run. Samples of other {what}, or asked with a chat "
        "template, examples or a system instruction, are refused."
    )


def add_samples_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder of samples, and the model's name."""
    parser.add_argument("samples", type=Path, metavar="FOLDER", help="what lm-eval's --output_path named")
    parser.add_argument("--model", metavar="NAME", help="name of the model in the tables (default: the checkpoint's)")


def made_by_lm_eval(
    run: Run, method: int, model: str | None, out: Path, inputs: Mapping[str, Path | str], **known: Any
) -> Provenance:
    """What lm-eval made, and how it says that it did.

    Args:
        run: whose samples were read.
        method: version of the reading.
        model: the model's name in the tables; None takes the checkpoint's.
        out: what is to be written.
        inputs: name -> file or folder that was read besides the run's results and samples.
        **known: other fields of ``Provenance``.

    Raises:
        UserError: the name cannot be one of a model, or the run's own file would be overwritten.
    """
    from worldprobe.errors import UserError
    from worldprobe.models.checkpoint import short_name
    from worldprobe.models.registry import check_name
    from worldprobe.provenance import Provenance, digests, versions

    read = [run.place, *run.files]
    if out.exists() and any(out.samefile(path) for path in read):
        raise UserError(f"--out {out}", "is one of the inputs; it would be overwritten.", "Choose another name.")
    return Provenance(
        method=method,
        model=check_name(model or short_name(run.model), "--model"),
        checkpoint=run.model,
        revision=run.revision,
        dtype=run.dtype,
        engine="lm-eval",
        inputs=digests({**inputs, **{path.name: path for path in read}}),
        packages=versions([]) | run.packages,
        details={"asked_by": "lm-eval"},
        **known,
    )
