"""Items whose label models or people contradict, and whether their fillers are the reason (EWoK,
Section 6, finds such items by hand).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmark import Input, Registry, Study, table
from worldprobe.benchmarks.ewok.outputs import judgements, judgements_besides
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import has_logprobs
from worldprobe.contracts import Table, column
from worldprobe.report.model_names import HUMAN, counted, is_baseline
from worldprobe.report.sheet import (
    ABSENT,
    Sheet,
    SheetColumn,
    is_absent,
    number_column,
    percent,
    text_column,
)

#: Columns of judgements that the audit reads.
COLUMNS = (
    *("item_id", "target", "model", "eval_type", "accuracy", "status"),
    *("domain", "version", "meta_template", "template", "concept_a", "concept_b"),
    *("context_contrast", "context_type", "target_contrast"),
)
_TEMPLATE = ["domain", "meta_template", "template"]
_DESIGN = [name for name in COLUMNS[6:] if name not in _TEMPLATE]
#: Rows that are printed; all are in the CSV.
SHOWN = 25


class LabelAudit(Table, name="label_audit", version=1, key=["item_id"]):
    """How many contradict the label of each item: the shares of judgements of its two targets for
    which the wrong context won (a tie counts one half).
    """

    item_id: str
    domain: str
    version: int
    meta_template: int
    template: int
    concept_a: str
    concept_b: str = column(nullable=True)
    context_contrast: str = column(nullable=True)
    context_type: str
    target_contrast: str
    models_against: float = column("Share of models' judgements.", ge=0, le=1, nullable=True)
    n_models: int = column("Models with an accuracy.", ge=0)
    people_against: float = column("Share of people's means.", ge=0, le=1, nullable=True)
    elsewhere: float = column(
        "models_against, mean over the template's other fillings.", ge=0, le=1, nullable=True
    )
    fillers: str = column("JSON object: slot -> filler; materials of ours only.", optional=True)


def audited(study: Study, registry: Registry) -> list[str]:
    """Judgements by LogProbs of published models, or of controls where there are no others, and
    those of people.
    """
    published = [model for model in study["models"] if not registry[model].get("control")]
    models = {**study, "models": published or study["models"]}
    people = [path for path in judgements_besides(study) if path.endswith(f"/{HUMAN}.parquet")]
    return judgements(models, ["logprobs"]) + people


def audit_labels(judged: pd.DataFrame, fillers: pd.DataFrame | None = None) -> pd.DataFrame:
    """How many contradict the label of each item.

    Args:
        judged: contracts.Judgements of models, of one way of asking, and of people.
        fillers: item_id and fillers of the items, where they may be shown.

    Returns:
        LabelAudit.
    """
    judged = judged.astype(dict.fromkeys(judged.select_dtypes("category"), object))
    items = judged.drop_duplicates("item_id").set_index("item_id")[[*_TEMPLATE, *_DESIGN]]
    is_model = ~judged["model"].map(is_baseline).astype(bool)
    is_judged = judged["accuracy"].notna()
    of_models = judged[is_model & is_judged].groupby("item_id")
    of_people = judged[(judged["model"] == HUMAN) & is_judged].groupby("item_id")
    audited = items.assign(
        models_against=1 - of_models["accuracy"].mean(),
        n_models=of_models["model"].nunique().reindex(items.index, fill_value=0),
        people_against=1 - of_people["accuracy"].mean(),
    )
    of_template = audited.groupby(_TEMPLATE)["models_against"]
    n_others = of_template.transform("count") - audited["models_against"].notna()
    others = of_template.transform("sum") - audited["models_against"].fillna(0)
    audited["elsewhere"] = np.clip(others / n_others.where(n_others > 0), 0, 1)
    if fillers is not None:
        audited["fillers"] = fillers.set_index("item_id")["fillers"].reindex(audited.index)
    return audited.reset_index()


@table(
    inputs=[Input(LabelAudit, "label_audit.parquet")],
    title="Disputed labels",
    section="concepts",
    caption=(
        "Items for which most models, or people, prefer the wrong context, people first; with the"
        " same template in other fillings: where the label holds there, the fillers may be why."
    ),
    when=has_logprobs,
)
def label_audit(audit: pd.DataFrame) -> Sheet:
    """Items that most models or people contradict.

    Args:
        audit: LabelAudit.
    """
    is_disputed = audit[["models_against", "people_against"]].gt(0.5).any(axis=1)
    frame = audit[is_disputed].sort_values(
        ["people_against", "models_against", "elsewhere", "item_id"],
        ascending=[False, False, True, True],
        ignore_index=True,
    )
    frame["flips"] = frame["models_against"].gt(0.5) & frame["elsewhere"].lt(0.5)
    has = {name: frame[name].notna().any() for name in ("people_against", "elsewhere")}
    columns = [
        text_column("Item", "item_id"),
        SheetColumn("Concepts", ("concept_a", "concept_b"), _pair, is_number=False),
        SheetColumn(
            "Design",
            ("context_type", "context_contrast", "target_contrast"),
            _tags,
            is_number=False,
        ),
        number_column("models", "models_against", percent, over="Against the label, %"),
    ]
    if has["people_against"]:
        columns.append(
            number_column("people", "people_against", percent, over="Against the label, %")
        )
    if has["elsewhere"]:
        columns.append(number_column("Models, other fillings, %", "elsewhere", percent))
    if "fillers" in frame:
        columns.append(text_column("Fillers", "fillers", _fillers))
    models = counted(int(audit["n_models"].max()), "model")
    shown = f" The first {SHOWN} are shown; the CSV has all." if len(frame) > SHOWN else ""
    return Sheet(
        title=f"Items whose label most models or people contradict: {len(frame)} of {len(audit)}.",
        frame=frame,
        columns=tuple(columns),
        notes=(
            f"Judgements of {models}. Items that most contradict, though most follow the label in"
            f" the template's other fillings: {frame['flips'].sum()}. Where models guess, about"
            f" half of all items are here by chance.{shown}",
        ),
        printed=tuple(range(min(SHOWN, len(frame)))),
    )


def _pair(first: Any, second: Any) -> str:
    return str(first) if is_absent(second) else f"{first} / {second}"


def _tags(*values: Any) -> str:
    return ", ".join(in_words(str(value)) for value in values if not is_absent(value)) or ABSENT


def _fillers(text: Any) -> str:
    return ABSENT if is_absent(text) else ", ".join(dict.fromkeys(json.loads(text).values()))
