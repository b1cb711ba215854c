"""What tables say of how they were made: the methods paragraph of a report, notes on models and
answers, and the files, packages and models behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldprobe.contracts import read_provenance, table_name
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster

#: Flags of scores and statuses of answers, in words.
FLAGS = {
    "straddle": "a token across the border of context and target, counted to the target",
    "first_unscored": "target's first token not scored",
    "truncated": "question longer than the model's context, and cut",
    "unknown_token": "unknown token",
    "not_finite": "NaN or infinity",
    "positive": "log probability above zero",
    "nothing_scored": "nothing scored",
    "no_numeral": "no numeral",
    "out_of_range": "numerals outside the scale",
    "failed": "no answer",
    "invalid": "no valid answer",
    "ambiguous": "ambiguous answer",
    "refused": "refusal",
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
    """Kind and provenance of each table.

    Raises:
        UserError: one of the files is not a table of worldprobe.
    """
    found = []
    for path in map(Path, paths):
        provenance = read_provenance(path)
        found.append(TableOrigin(table_name(path), path, provenance))
    return found


def package_versions(origins: Sequence[TableOrigin]) -> dict[str, str]:
    """Every package that any table names; where two tables name different versions, both."""
    versions: dict[str, set[str]] = {}
    for one in origins:
        for name, version in (
            one.provenance.packages | one.provenance.details.get("r_versions", {})
        ).items():
            versions.setdefault(name, set()).add(str(version))
    return {name: " and ".join(sorted(found)) for name, found in sorted(versions.items())}


def missing_models(provenance: Provenance) -> dict[str, str]:
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
    missing = missing_models(provenance)
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


def flags_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence that counts what is wrong with answers, by flag, model and way of asking, or
    an empty string.
    """
    by_flag: dict[str, list[str]] = {}
    for model, ways in provenance.details.get("flags", {}).items():
        for way, counts in ways.items():
            for flag, count in counts.items():
                if flag != "of":
                    shown = f"{roster[str(model)].name}, {way}: {count:,} of {counts['of']:,}"
                    by_flag.setdefault(FLAGS.get(flag, flag.replace("_", " ")), []).append(shown)
    if not by_flag:
        return ""
    shown = ". ".join(
        f"{words[0].upper()}{words[1:]}: {'; '.join(named)}"
        for words, named in sorted(by_flag.items())
    )
    return f"{shown}."


#: What every page and table of a rehearsal says.
REHEARSAL = (
    "This is a rehearsal: tiny models with random weights answered a few items in the models'"
    " places. None of its numbers is a result."
)


def rehearsal_note(provenance: Provenance, roster: Roster) -> str:
    """The sentence that says that these are no results, or an empty string."""
    return REHEARSAL if provenance.details.get("rehearsal") else ""


#: Title -> note for tables and figures, and for the head of a report.
NOTES = {
    "Rehearsal": rehearsal_note,
    "Missing models": missing_note,
    "Models of other kinds": kinds_note,
    "Answers with flags": flags_note,
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
    for one in origins:
        p = one.provenance
        if one.kind in kinds and p.model and p.checkpoint:
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
    """What each table was built from."""
    rows = []
    for one in origins:
        p = one.provenance
        inputs = ", ".join(
            f"{Path(name).name} {digest[:10]}" for name, digest in sorted(p.inputs.items())[:4]
        )
        more = len(p.inputs) - 4
        rows.append(
            {
                "table": one.kind,
                "file": one.path.name,
                "model": p.model or "–",
                "seed": "–" if p.seed is None else str(p.seed),
                "method": str(p.method),
                "inputs": inputs + (f" and {more} more" if more > 0 else "") if inputs else "–",
            }
        )
    return rows
