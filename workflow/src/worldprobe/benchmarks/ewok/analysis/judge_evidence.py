"""Any kind of evidence to judgements: what the evidence is decides how it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok import contracts
from worldprobe.benchmarks.ewok.analysis import judge
from worldprobe.contracts import Table, read_provenance, read_table, table_name
from worldprobe.errors import UserError
from worldprobe.models.registry import check_name
from worldprobe.provenance import Provenance

KINDS: dict[str, type[Table]] = {contract.Config.name: contract for contract in contracts.EVIDENCE}
#: table -> the columns that are judged, where it has others too: what models wrote is long and not looked at.
NEEDED = {"responses": ("item_id", "eval_type", "presentation", "value", "status")}
#: names of series whose evidence names no model.
NAMES = {"similarities": "word2vec", "ratings": "human"}


@dataclass(frozen=True)
class Evidence:
    """A table of evidence, read.

    Attributes:
        kind: name of its table: target_scores, responses, similarities or ratings.
        rows: its rows, the columns that are judged.
        provenance: what made it.
        model: the series' name: the model that the evidence names, or what the file is called.
    """

    kind: str
    rows: pd.DataFrame
    provenance: Provenance
    model: str


def kind_of(path: Path) -> str:
    """The kind of evidence in a file.

    Raises:
        UserError: the file is not a table of evidence.
    """
    found = table_name(path)
    if found not in KINDS:
        problem = f"contains {found or 'no table of worldprobe'}, which cannot be judged."
        raise UserError(path, problem, f"Give one of these tables: {', '.join(KINDS)}.")
    return found


def read_evidence(path: Path, model: str | None = None) -> Evidence:
    """Read one table of evidence; ``model`` names the series whatever the file says."""
    kind = kind_of(path)
    if model is not None and model != NAMES.get(kind):
        check_name(model, "--model")
    provenance = read_provenance(path)
    rows = read_table(path, KINDS[kind], NEEDED.get(kind))
    name = model or provenance.model or NAMES.get(kind) or path.stem
    _check_name(name, kind, path)
    return Evidence(kind, rows, provenance, name)


def _check_name(name: str, kind: str, path: Path) -> None:
    """Refuse names that tables cannot show, and a model named like a yardstick: tables would not list it with the models.

    Raises:
        UserError: such a name.
    """
    fix = "Name the model by --model."
    if not name.strip() or not name.isprintable():
        raise UserError(path, f"{name!r} is not a name for a model: it is blank or contains a line break or the like.", fix)
    if kind in ("target_scores", "responses") and name in NAMES.values():
        raise UserError(path, f'"{name}" is the name of a yardstick, but the file contains a model\'s {kind}.', fix)


def judge_evidence(
    items: pd.DataFrame, evidence: Evidence, near_tie: float | None = None, targets: str | None = None
) -> judge.Judged:
    """Judge evidence by its kind.

    Args:
        items: contracts.Items.
        evidence: as ``read_evidence`` gives it.
        near_tie: differences up to this count as near ties; None takes what suits the kind and the dtype.
        targets: for target_scores, see ``judge.judge_target_scores``.
    """
    if evidence.kind == "target_scores":
        dtype = evidence.provenance.dtype
        return judge.judge_target_scores(items, evidence.rows, evidence.model, targets, near_tie, dtype)
    tolerance = {} if near_tie is None else {"near_tie": near_tie}
    if evidence.kind == "similarities":
        return judge.judge_similarities(items, evidence.rows, evidence.model, **tolerance)
    if evidence.kind == "ratings":
        return judge.judge_ratings(items, evidence.rows, evidence.model, **tolerance)
    return judge.judge_responses(items, evidence.rows, evidence.model)
