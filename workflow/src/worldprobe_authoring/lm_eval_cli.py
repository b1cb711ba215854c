"""``import lm-eval`` and ``worldsense import-samples``: what lm-evaluation-harness logged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

from worldprobe.cli.options import ModelName, Samples, Trials
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import short_name
from worldprobe.models.registry import check_name
from worldprobe.models.stand_ins import is_of_rehearsal
from worldprobe.provenance import Provenance, digests, of_rehearsal, versions

if TYPE_CHECKING:
    from worldprobe_authoring.lm_eval_runs import LmEvalRun

SAMPLES_METHOD = 1


def lm_eval(items: Path, samples: Samples, /, *, model: ModelName = None, out: Path) -> None:
    """Import log probabilities that lm-evaluation-harness logged.

    They are of a task of `items export --format lm-eval`.

    Reads results_DATE.json and samples_TASK_DATE.jsonl of the newest run. Samples of other items,
    or asked with a chat template, examples or a system instruction, are refused, as are those of
    texts that began with another start token than worldprobe's do.

    Args:
        items: items table
        out: table of target scores, for `judge`
    """
    from worldprobe.benchmarks.ewok.contracts import Items, TargetScores
    from worldprobe.contracts import read_table, write_table
    from worldprobe_authoring.ewok_task import BENCHMARK
    from worldprobe_authoring.lm_eval_runs import read_run, read_target_scores

    run = read_run(samples, BENCHMARK)
    scores = read_target_scores(run, read_table(items, Items))
    made = made_by_lm_eval(run, SAMPLES_METHOD, model, out, {"items": items})
    write_table(scores, TargetScores, out, made)


def made_by_lm_eval(
    run: LmEvalRun,
    method: int,
    model: str | None,
    out: Path,
    inputs: Mapping[str, Path | str],
    **known: Any,
) -> Provenance:
    """Provenance of a table that lm-eval made.

    Args:
        run: whose samples were read.
        method: version of the reading.
        model: the model's name in the tables; None takes the checkpoint's.
        out: what is to be written.
        inputs: name -> file or folder that was read besides the run's results and samples.
        **known: other fields of ``Provenance``.

    Raises:
        UserError: the name cannot be one of a model, the run's own file would be overwritten, or
            the texts began with another token than worldprobe's do.
    """
    from worldprobe_authoring.lm_eval_runs import check_start_token

    read = [run.results_file, *run.files]
    if out.exists() and any(out.samefile(path) for path in read):
        raise UserError(
            f"--out {out}", "is one of the inputs; it would be overwritten.", "Choose another name."
        )
    check_start_token(run)
    is_stand_in = is_of_rehearsal(run.model)
    rehearsal = {"rehearsal": True} if is_stand_in else of_rehearsal([*inputs.values(), *read])
    return Provenance(
        method=method,
        model=check_name(model or short_name(run.model), "--model"),
        checkpoint=run.model,
        revision=run.revision,
        dtype=run.dtype,
        engine="lm-eval",
        inputs=digests({**inputs, **{path.name: path for path in read}}),
        packages=versions([]) | run.packages,
        details={"asked_by": "lm-eval"} | rehearsal,
        **known,
    )


def import_samples(
    trials: Trials, samples: Samples, /, *, model: ModelName = None, out: Path
) -> None:
    """Read the samples that lm-evaluation-harness logged.

    They are of a task of `worldsense export --format lm-eval`.

    Reads results_DATE.json and samples_TASK_DATE.jsonl of the newest run. Samples of other trials,
    or asked with a chat template, examples or a system instruction, are refused, as are those of
    texts that began with another start token than worldprobe's do.

    Args:
        out: table of responses, for `worldsense analyse`
    """
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.benchmarks.worldsense.trials.files import canary_of, read_trials
    from worldprobe.contracts import write_table
    from worldprobe_authoring.lm_eval_runs import read_responses, read_run
    from worldprobe_authoring.worldsense_exports import BENCHMARK

    run, rows = read_run(samples, BENCHMARK), read_trials(trials)
    made = made_by_lm_eval(
        run, SAMPLES_METHOD, model, out, {"trials": trials}, canary=canary_of(trials, rows)
    )
    write_table(read_responses(run, rows), Responses, out, made)


def add_import(app: App) -> None:
    """Add the command to the stage ``import``."""
    app.command(lm_eval)
