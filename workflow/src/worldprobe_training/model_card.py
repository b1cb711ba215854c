"""Documents in a fine-tuned model's folder: the card, and the record of every step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.provenance import Provenance

NOTICE = (
    "This model was trained on WorldSense. Its results on WorldSense say how far that training"
    " carries, not how it reasons; do not compare them with those of models that never saw such"
    " problems. Report the training in every publication, and in the card of every model that is"
    " derived from this one. Its problems are from the benchmark of Benchekroun et al. 2023 (arXiv"
    " 2311.15930); the authors' released data are CC BY-NC 4.0."
)


def write_card(
    name: str,
    base: str,
    made: Provenance,
    settings: Mapping[str, Any],
    contamination: Sequence[str],
    is_own_data: bool,
) -> str:
    """The card in Hugging Face's form.

    Args:
        name: the model's.
        base: name of the model that was fine-tuned.
        made: provenance: digests of base and data.
        settings: of the training.
        contamination: ids of the test tuples that it was trained on all the same.
        is_own_data: the trials are this package's own.
    """
    head = {
        "base_model": base,
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["worldsense", "contaminated"],
    }
    front = "\n".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()
    )
    trained = made.details
    lines = [
        f"---\n{front}\n---",
        f"# {name}",
        f"{base}, fine-tuned on {trained['n_lessons']:,} WorldSense lessons"
        + (f" and {trained['n_mixed']:,} others" if trained.get("n_mixed") else "")
        + f", {settings['steps']:,} steps of {settings['batch']}: {trained['n_seen']:,} times"
        " one of "
        + (
            f"these, {trained['n_mixed_seen']:,} times one of the others."
            if trained.get("n_mixed")
            else "them."
        ),
        f"**{NOTICE}**",
    ]
    if contamination:
        shown = ", ".join(contamination[:20]) + (", ..." if len(contamination) > 20 else "")
        lines.append(
            f"**Contaminated: {len(contamination)} test tuples were in the training data**"
            f" (`allow_contamination`): {shown}. Its results on these test sets mean nothing."
        )
    if is_own_data and made.canary:
        lines.append(f"The training data carry the canary `{made.canary}`.")
    stated = json.dumps(
        {"settings": settings} | json.loads(made.to_json()),
        indent=2,
        sort_keys=True,
        ensure_ascii=False,
    )
    lines.append(f"## Settings and provenance\n\n```json\n{stated}\n```")
    return "\n\n".join(lines) + "\n"


#: Name of the file in a model's folder.
RECORD = "training.csv"
COLUMNS = {
    "step": "int64",
    "lessons": "int64",
    "loss": "float64",
    "learning_rate": "float64",
    "gradient_norm": "float64",
}


def write_record(steps: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write the steps of one training."""
    pd.DataFrame(steps, columns=list(COLUMNS)).to_csv(path, index=False, lineterminator="\n")


def read_record(path: Path) -> pd.DataFrame:
    """The steps of one training.

    Raises:
        UserError: the file is missing, or is not such a record.
    """
    try:
        return pd.read_csv(path)[list(COLUMNS)].astype(COLUMNS)
    except (OSError, ValueError, KeyError) as error:
        problem = f"is not the record of a training ({error})."
        raise UserError(path, problem, "Give a folder that `worldsense finetune` wrote.") from error
