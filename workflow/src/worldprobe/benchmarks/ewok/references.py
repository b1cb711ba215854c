"""Reference results: what known models and baselines answered to our own items, which the package
brings so that one's own model is never alone.

A reference is shown beside a run only where every item of the run that it could have answered has
the same texts: ids are coordinates, and the same id is another text in other materials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.analysis.compare import compare_on_items
from worldprobe.benchmarks.ewok.analysis.judge import design_of
from worldprobe.benchmarks.ewok.contracts import COMPARED, Items, Judgements, References
from worldprobe.benchmarks.ewok.vocabulary import filling_of
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.registry import BASELINES, CAUSAL
from worldprobe.paths import RESOURCES
from worldprobe.provenance import made

#: What the package brings, made anew by `make references` (docs/references.py).
FILE = RESOURCES / "references" / "ewok.parquet"
#: Version of what is written of references.
METHOD = 1
TEXTS = ["context1", "context2", "target1", "target2"]
_WORDS = {1.0: "right", 0.0: "wrong", 0.5: "tie"}
_VALUES = {word: value for value, word in _WORDS.items()}
_NEAR = "near "


def digest_texts(items: pd.DataFrame) -> pd.Series:
    """The first 32 bits of the SHA-256 of each item's texts, by item_id."""
    digests = [
        int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:4], "big")
        for texts in items[TEXTS].itertuples(index=False)
    ]
    return pd.Series(digests, pd.Index(items["item_id"], name="item_id"), dtype="int64")


def pack_references(items: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """References from judgements of some models and baselines.

    Args:
        items: contracts.Items.
        judgements: contracts.Judgements of these items, one way of asking of each model.

    Returns:
        contracts.References.
    """
    words = {
        "target": _in_words(judgements["accuracy"], judgements["is_near_tie"]),
        "pairing": _in_words(judgements["pairing"], judgements["is_near_pairing_tie"]),
    }
    rows = judgements[["item_id", "model", "target"]].assign(
        answer=words["target"], pairing=words["pairing"]
    )
    first, second = (rows[rows["target"] == number].drop(columns="target") for number in (1, 2))
    table = first.rename(columns={"answer": "target1"}).merge(
        second.rename(columns={"answer": "target2"}).drop(columns="pairing"),
        on=["item_id", "model"],
        validate="one_to_one",
    )
    return table.assign(text=table["item_id"].map(digest_texts(items)))


def _in_words(values: pd.Series, is_near: pd.Series) -> pd.Series:
    words = values.map(_WORDS).fillna("missing")
    return words.where(~is_near.fillna(False).astype(bool), _NEAR + words)


def answered_by(
    items: pd.DataFrame, names: Collection[str] | None = None, path: Path = FILE
) -> pd.DataFrame | None:
    """Judgements of the references on the same items.

    Args:
        items: contracts.Items of a run.
        names: of references; None: all.
        path: the references.

    Returns:
        contracts.Judgements; None where there is no reference of these items: one item of a version
        that was asked is missing there, or has other texts.
    """
    if not path.is_file():
        return None
    table = read_table(path, References)
    versions = table["item_id"].str.rpartition("_v")[2].astype(int).unique()
    asked = items[items["version"].isin(versions)].reset_index(drop=True)
    by_item = table.drop_duplicates("item_id").set_index("item_id")["text"]
    same = by_item.reindex(asked["item_id"]).to_numpy() == digest_texts(asked).to_numpy()
    if asked.empty or not same.all():
        return None
    table = table[table["item_id"].isin(asked["item_id"])]
    table = table if names is None else table[table["model"].isin(list(names))]
    return _judgements(asked, table, made_by(path))


def write_answers(items: Path, names: Sequence[str] | None, out: Path) -> None:
    """Write the references' judgements of items.

    Args:
        items: items table.
        names: of references; None: all.
        out: judgements table.

    Raises:
        UserError: a name is no reference, or there is no reference of these items.
    """
    known = made_by()
    if unknown := [name for name in names or () if name not in known]:
        raise UserError(
            unknown[0],
            f"is no reference{did_you_mean(unknown[0], known)}",
            f"Choose from {', '.join(known)}.",
        )
    table = answered_by(read_table(items, Items), names)
    if table is None:
        fix = "Evaluate the models that you want to compare with on these items."
        raise UserError(items, "has other items than the references.", fix)
    details = {"references": {name: known[name] for name in sorted(set(table["model"]))}}
    write_table(table, Judgements, out, made(METHOD, {"items": items}, details=details))


def _judgements(
    items: pd.DataFrame, references: pd.DataFrame, facts: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame | None:
    """Answers of references as judgements of the items."""
    design = design_of(items).assign(filling=filling_of(items))
    wide = design.merge(references.drop(columns="text"), on="item_id")
    tables = []
    for target in (1, 2):
        word, pairing = wide[f"target{target}"], wide["pairing"]
        values, pairs = (
            texts.str.removeprefix(_NEAR).map(_VALUES).astype(float) for texts in (word, pairing)
        )
        tables.append(
            wide.drop(columns=["target1", "target2"]).assign(
                target=target,
                eval_type=wide["model"].where(wide["model"].isin(BASELINES), "logprobs"),
                accuracy=values,
                is_tie=values == 0.5,
                is_near_tie=word.str.startswith(_NEAR),
                status=np.where(values.isna(), "missing_score", "ok"),
                pairing=pairs,
                is_near_pairing_tie=pairing.str.startswith(_NEAR),
                dtype=wide["model"].map(
                    {name: stated.get("dtype") for name, stated in facts.items()}
                ),
            )
        )
    rows = pd.concat(tables, ignore_index=True)
    return rows if len(rows) else None


def made_by(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """Reference -> what made it: its name, checkpoint, revision, precision, packages, ..."""
    return dict(read_provenance(path).details["references"]) if path.is_file() else {}


def compare_with(
    judgements: pd.DataFrame, items: pd.DataFrame, kind: str | None = None, path: Path = FILE
) -> pd.DataFrame | None:
    """A model against each reference on the same items, by accuracy and by pairing, as
    ``compare_on_items`` compares; corrected for the number of references.

    Args:
        judgements: contracts.Judgements of one model, by LogProbs.
        items: contracts.Items, of which these are.
        kind: type of model; one that is not causal is compared with baselines only, as its scores
            are another measure than those of the models among the references.
        path: the references.

    Returns:
        contracts.Comparisons; None where there is no reference of these items.
    """
    model = str(judgements["model"].iloc[0])
    is_causal = (kind or CAUSAL) == CAUSAL
    names = {name for name in made_by(path) if is_causal or name in BASELINES} - {model}
    beside = answered_by(items, names, path)
    if beside is None or not (judgements["eval_type"] == "logprobs").any():
        return None
    rows = pd.concat([judgements, beside], ignore_index=True)
    return pd.concat(
        [compare_on_items(rows, metric=metric, subject=model) for metric in COMPARED],
        ignore_index=True,
    )


def beside(
    comparisons: pd.DataFrame, model: str, names: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """What a result states of the references: theirs on the same items, and how the model differs,
    the highest accuracy first.

    Args:
        comparisons: of ``compare_with``.
        model: whose result it is.
        names: reference -> as it is printed.
    """
    from worldprobe.report.findings import turned

    rows = [
        row if row["model_a"] == model else turned(row) for row in comparisons.to_dict("records")
    ]
    stated: dict[str, dict[str, Any]] = {}
    for row in sorted(
        (row for row in rows if row["grouping"] == "overall" and row["metric"] == "accuracy"),
        key=lambda row: -float(row["mean_b"]),
    ):
        reference = str(row["model_b"])
        others = [other for other in rows if other["model_b"] == reference]
        numbers = {key: _finite(row[key]) for key in ("ci_low", "ci_high", "p_holm")}
        stated[reference] = {
            "name": names.get(reference, reference),
            "is_baseline": reference in BASELINES,
            "mean": row["mean_b"],
            "n": int(row["n"]),
            "pairing": _first(others, "pairing"),
            "groups": {
                str(other["group"]): other["mean_b"]
                for other in others
                if other["grouping"] != "overall" and other["metric"] == "accuracy"
            },
            "difference": row["difference"],
            **numbers,
            "finding": row["finding"],
        }
    return stated


def _first(rows: Sequence[Mapping[Any, Any]], metric: str) -> float | None:
    """A reference's overall mean by a metric."""
    return next(
        (
            float(row["mean_b"])
            for row in rows
            if row["grouping"] == "overall" and row["metric"] == metric
        ),
        None,
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
