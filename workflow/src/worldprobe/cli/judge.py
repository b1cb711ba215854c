"""``worldprobe judge``: items and evidence to judgements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from worldprobe.cli.options import between

if TYPE_CHECKING:
    from worldprobe.benchmarks.ewok.analysis.judge import Judged

#: version of the computation: 2 takes the tolerance of near ties from the dtype.
METHOD = 2


def judge(
    items: Path,
    evidence: list[Path],
    /,
    *,
    model: str | None = None,
    compare_targets: Literal["sum", "mean", "pmi"] | None = None,
    near_tie: Annotated[float | None, between(0, 1e6)] = None,
    out: list[Path],
) -> None:
    """Judge every target by scores, answers, similarities or ratings; nothing is written before all are judged.

    A target is right when the context it fits wins; ties count 0.5 and are counted.

    Args:
        items: items table
        evidence: target_scores, responses, similarities or ratings tables, any number
        model: name of the model in the tables (default: what the evidence names)
        compare_targets: log probabilities: compare both targets under one context, by their sum, their mean per token, or the
            sum minus the target's log probability without context (default: one target under both contexts, as in the paper)
        near_tie: differences up to this count as near ties (default: by the evidence; log probabilities: 1e-3 nats for float32,
            0.025 for float16, 0.2 for bfloat16)
        out: judgements tables, one for each table of evidence
    """
    from worldprobe.benchmarks.ewok.analysis.judge import judge_evidence, read_evidence
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements
    from worldprobe.contracts import read_provenance, read_table, validate, write_table
    from worldprobe.provenance import made

    _check_arguments(evidence, out, near_tie, compare_targets)
    item_rows = read_table(items, Items)
    filled = {key: value for key, value in read_provenance(items).details.items() if key == "mode"}
    check_items(items, evidence)
    finished = []
    for path, place in zip(evidence, out, strict=True):
        found = read_evidence(path, model)
        judged = judge_evidence(item_rows, found, near_tie, compare_targets)
        source = found.provenance
        provenance = made(
            METHOD,
            {"items": items, found.kind: path},
            ["numpy", "pandas"],
            model=found.model,
            checkpoint=source.checkpoint,
            revision=source.revision,
            dtype=source.dtype,
            engine=source.engine,
            kind=source.kind,
            details=judged.details
            | filled
            | {key: source.details[key] for key in ("pseudo_log_likelihood",) if key in source.details},
        )
        finished.append((validate(judged.table, Judgements), place, provenance))
        _report(judged, found.model)
    for table, place, provenance in finished:
        write_table(table, Judgements, place, provenance)


def _check_arguments(evidence: list[Path], out: list[Path], near_tie: float | None, compare_targets: str | None) -> None:
    """Refuse options that would do nothing.

    Raises:
        UserError: an option does not apply to a table of evidence, or the numbers of files differ.
    """
    from worldprobe.benchmarks.ewok.analysis.judge import kind_of
    from worldprobe.errors import UserError

    kinds = [kind_of(path) for path in evidence]
    if len(evidence) != len(out):
        problem = f"names {len(out)} files for {len(evidence)} tables of evidence."
        raise UserError("--out", problem, "Name one file for each table, in the same order.")
    for path, kind in zip(evidence, kinds, strict=True):
        if near_tie is not None and kind == "responses":
            raise UserError("--near-tie", f"{path} contains answers, which tie exactly or not at all.", "Leave --near-tie out.")
        if compare_targets and kind != "target_scores":
            problem = f"{path} contains {kind}, not log probabilities."
            raise UserError("--compare-targets", problem, "Leave it out, or give target_scores only.")


def _report(judged: Judged, model: str) -> None:
    """Log how many targets are right, tied or missing."""
    from worldprobe.log import LOGGER

    rows = judged.table
    LOGGER.info(
        "%s, %s: accuracy %.3f over %d targets; %d ties, %d near ties, %d missing",
        model,
        ", ".join(sorted(rows["eval_type"].unique())),
        rows["accuracy"].mean(),
        len(rows),
        rows["is_tie"].sum(),
        rows["is_near_tie"].sum(),
        (rows["status"] != "ok").sum(),
    )
    for eval_type, details in judged.details.items():
        if isinstance(details, dict) and "position_bias" in details:
            bias = details["position_bias"]
            LOGGER.info(
                "%s, %s: position bias %s (0.5 of the answers name the first context where there is none)", model, eval_type, bias
            )
