"""What tables say of how they were made: the methods paragraph of a report, notes on models and
answers, and the files, packages and models behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.contracts import read_provenance, table_name
from worldprobe.missing import present
from worldprobe.provenance import Provenance, language_name
from worldprobe.report.model_names import Roster, counted
from worldprobe.report.sheet import Sheet, number_column, percent, text_column

#: Flags of scores and statuses of answers, in words.
FLAGS = {
    "straddle": "a token across the border of context and target, counted to the target",
    "first_unscored": "target's first token not scored",
    "truncated": "question longer than the model's context, and cut",
    "unknown_token": "unknown token",
    "special_token": "text that spells a special token, which the model reads as one",
    "not_finite": "NaN or infinity",
    "positive": "log probability above zero",
    "nothing_scored": "nothing scored",
    "no_numeral": "no numeral",
    "out_of_range": "numerals outside the scale",
    "failed": "no answer",
    "invalid": "no valid answer",
    "ambiguous": "ambiguous answer",
    "refused": "refusal",
    "content_filter": "answer withheld by the server's filter",
    "length": "answer cut at the token limit",
}


@dataclass(frozen=True)
class TableOrigin:
    """A table's kind, its file and what made it."""

    kind: str
    path: Path
    provenance: Provenance


@dataclass(frozen=True)
class Methods:
    """The methods paragraph and the facts behind it.

    Attributes:
        text: the paragraph.
        packages: name -> version, or versions.
        models: a row per model as it was loaded: name, checkpoint, revision, dtype, engine.
        files: a row per table: table, file, model, seed, method, inputs.
        model_notes: what else must be said of the models.
    """

    text: str
    packages: dict[str, str]
    models: list[dict[str, str]]
    files: list[dict[str, str]] = field(default_factory=list)
    model_notes: str = ""


def read_origins(paths: Iterable[Path | str]) -> list[TableOrigin]:
    """Kind and provenance of each table that is there (``missing.present``).

    Raises:
        UserError: one of the files is not a table of worldprobe.
    """
    origins = []
    for path in present(map(Path, paths))[0]:
        provenance = read_provenance(path)
        origins.append(TableOrigin(table_name(path), path, provenance))
    return origins


def are_sampled(origins: Sequence[TableOrigin]) -> bool:
    """Whether a sample of the items was asked, as one of the tables says."""
    return any(origin.provenance.details.get("sample") for origin in origins)


def package_versions(origins: Sequence[TableOrigin]) -> dict[str, str]:
    """Every package that any table names; where two tables name different versions, both."""
    versions: dict[str, set[str]] = {}
    for origin in origins:
        for name, version in (
            origin.provenance.packages | origin.provenance.details.get("r_versions", {})
        ).items():
            versions.setdefault(name, set()).add(str(version))
    return {name: " and ".join(sorted(numbers)) for name, numbers in sorted(versions.items())}


def stated_missing(provenance: Provenance) -> dict[str, str]:
    """The models whose answers could not be computed, with the reason, as a table's provenance
    names them.
    """
    named = provenance.details.get("missing_models", {})
    return (
        {str(model): str(reason) for model, reason in named.items()}
        if isinstance(named, dict)
        else {}
    )


def missing_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence that names the missing models, or an empty string."""
    missing = stated_missing(provenance)
    if not missing:
        return ""
    named = [
        f"{roster[model].name} ({reason.rstrip('.')})" if reason else roster[model].name
        for model, reason in missing.items()
    ]
    return (
        f"{len(missing)} of the study's models have no answers and are left out:"
        f" {', '.join(named)}."
    )


def partly_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence that names the models which answered in part, or an empty string."""
    named = provenance.details.get("partly_missing", {})
    if not isinstance(named, dict) or not named:
        return ""
    shown = ", ".join(f"{roster[str(model)].name} ({why})" for model, why in named.items())
    return f"Some of the answers of these models are missing: {shown}."


def kinds_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence that names the models of a table which are not causal, with their measure,
    or an empty string.
    """
    named = provenance.details.get("kinds", {})
    if not isinstance(named, dict) or not named:
        return ""
    shown = "; ".join(f"{roster[str(model)].name} ({kind})" for model, kind in named.items())
    return (
        "These models are not causal. Their scores are another measure; do not rank them with the"
        f" others: {shown}."
    )


#: Ways of asking of a flag that a sentence lists; more of them are in the table.
LISTED = 3


def flag_rows(provenance: Provenance, roster: Roster) -> pd.DataFrame:
    """What is wrong with answers: flag (in words), model, name, way, n and of, models in their
    order.
    """
    flags = provenance.details.get("flags", {})
    rows = [
        (FLAGS.get(flag, flag.replace("_", " ")), model, roster[model].name, way, n, counts["of"])
        for model in roster.in_order(flags)
        for way, counts in flags[model].items()
        for flag, n in counts.items()
        if flag != "of"
    ]
    table = pd.DataFrame(rows, columns=["flag", "model", "name", "way", "n", "of"])
    return table.sort_values("flag", kind="stable", ignore_index=True)


def flags_note(provenance: Provenance, roster: Roster) -> str:
    """The sentences that count what is wrong with answers, by flag: each way of asking where there
    are few, else the one with the largest share; or an empty string.
    """
    sentences = []
    for words, rows in flag_rows(provenance, roster).groupby("flag", sort=False):
        shown = [
            f"{row['name']}, {row['way']}: {row['n']:,} of {row['of']:,}"
            for row in rows.to_dict("records")
        ]
        if len(rows) > LISTED:
            shares = (rows["n"] / rows["of"]).to_numpy()
            most = rows.iloc[int(shares.argmax())]
            of_models = counted(rows["model"].nunique(), "model")
            shown = [
                f"{rows['n'].sum():,} of {rows['of'].sum():,} of {of_models}, the largest share"
                f" in {most['name']}, {most['way']} ({most['n'] / most['of']:.1%})"
            ]
        sentences.append(f"{str(words)[0].upper()}{str(words)[1:]}: {'; '.join(shown)}.")
    return " ".join(sentences)


def flags_sheet(provenance: Provenance, roster: Roster) -> Sheet | None:
    """Models by ways of asking: the share of answers with each flag; None where sentences list
    them all.
    """
    rows = flag_rows(provenance, roster)
    if rows.empty or rows["flag"].value_counts().max() <= LISTED:
        return None
    rows = rows.assign(share=rows["n"] / rows["of"])
    ways = list(dict.fromkeys(rows["way"]))
    order = rows[["flag", "name"]].drop_duplicates()
    wide = rows.pivot(index=["flag", "name"], columns="way", values="share")[ways].reset_index()
    frame = order.merge(wide, on=["flag", "name"])
    of_flag = [text_column("Flag", "flag", once=True)] * (rows["flag"].nunique() > 1)
    columns = [*of_flag, text_column("Model", "name")]
    for way in ways:
        paradigm, _, how = way.partition(", ")
        columns.append(number_column(how or way, way, percent, over=paradigm if how else ""))
    return Sheet(
        f"{'Doubtful answers' if of_flag else f'Doubtful answers ({order.flag.iloc[0]})'},"
        " in percent of those to each way of asking.",
        frame,
        tuple(columns),
        notes=("A dash: none.",),
        group="flag",
    )


#: What every page and table of a rehearsal says.
REHEARSAL = (
    "This is a rehearsal: tiny models with random weights answered a few items in the models'"
    " places. None of its numbers is a result."
)


def rehearsal_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence that says that these are no results, or an empty string."""
    return REHEARSAL if provenance.details.get("rehearsal") else ""


def language_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence on items that are not in English, or an empty string."""
    name = language_name(provenance.details)
    left_out = (
        "; baselines and references that know English alone are left out"
        if "items_in" in provenance.details
        else ""
    )
    return f"The items are in {name}{left_out}." if name else ""


#: Title -> note for tables and figures, and for the head of a report.
NOTES = {
    "Rehearsal": rehearsal_note,
    "Language": language_note,
    "Missing models": missing_note,
    "Missing answers": partly_note,
    "Models of other kinds": kinds_note,
    "Doubtful answers": flags_note,
}


def notes(provenance: Provenance, roster: Roster) -> list[str]:
    """Notes for a table or a figure: models that are missing or of other kinds, and flags of
    answers.
    """
    return [note for say in NOTES.values() if (note := say(provenance, roster))]


def described_checkpoint(checkpoint: str, adapter: Mapping[str, Any] | None) -> str:
    """A checkpoint, and the adapter that is put on its base.

    >>> described_checkpoint("me/lora", {"name": "me/lora", "base": "someone/tiny"})
    'someone/tiny + adapter me/lora'
    """
    return f"{adapter['base']} + adapter {adapter['name']}" if adapter else checkpoint


def described_precision(made: Provenance) -> str:
    """The precision that was asked for, how weights are quantised, and what precisions they
    have if not that one.
    """
    kept, packed = made.details.get("precision"), made.details.get("quantisation") or ""
    is_unpacked = packed.endswith("dequantised")
    loaded = (f"{packed} to {made.dtype}",) if is_unpacked else (made.dtype, packed)
    return ", ".join(filter(None, (*loaded, kept and f"weights in {kept}")))


def model_rows(
    origins: Sequence[TableOrigin], kinds: Sequence[str], roster: Roster
) -> list[dict[str, str]]:
    """Checkpoint, revision, precision and engine of every model in tables of these kinds, once
    each.
    """
    rows: dict[str, dict[str, str]] = {}
    for origin in origins:
        p = origin.provenance
        if origin.kind in kinds and p.model and p.checkpoint:
            rows.setdefault(
                p.model,
                {
                    "name": roster[p.model].name,
                    "checkpoint": described_checkpoint(p.checkpoint, p.details.get("adapter")),
                    "revision": p.revision or "–",
                    "dtype": described_precision(p) or "–",
                    "engine": f"{p.engine or '–'}" + (f" ({p.kind})" if p.kind else ""),
                },
            )
    return [rows[model] for model in roster.in_order(rows)]


def file_rows(origins: Sequence[TableOrigin]) -> list[dict[str, str]]:
    """A row per table: its file, and what it was built from."""
    rows = []
    for origin in origins:
        p = origin.provenance
        inputs = ", ".join(
            f"{Path(name).name} {digest[:10]}" for name, digest in sorted(p.inputs.items())[:4]
        )
        n_others = len(p.inputs) - 4
        rows.append(
            {
                "table": origin.kind,
                "file": origin.path.name,
                "model": p.model or "–",
                "seed": "–" if p.seed is None else str(p.seed),
                "method": str(p.method),
                "inputs": inputs + (f" and {n_others} more" if n_others > 0 else "")
                if inputs
                else "–",
            }
        )
    return rows
