"""Do tables belong together? Item ids are coordinates: the same id is another text after a swap or
in other materials.

So tables are held together by what their provenance says they were computed from, not by ids alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.contracts import Judgements
from worldprobe.benchmarks.ewok.vocabulary import title_of
from worldprobe.contracts import read_provenance
from worldprobe.contracts.results import read_distinct
from worldprobe.errors import UserError
from worldprobe.files import digest_file
from worldprobe.models.registry import describe_kind
from worldprobe.provenance import language_name

#: name of the items table among a provenance's inputs.
ITEMS = "items"
FIX = "Give tables that were computed from the same items table, or recompute them."


def read_judgements(
    paths: Sequence[Path], columns: Sequence[str], others: Sequence[Path] = ()
) -> pd.DataFrame:
    """Read judgements of the same items as one frame.

    Args:
        paths: judgements tables.
        columns: columns to read.
        others: further tables that must be of the same items, e.g. surface features.

    Raises:
        UserError: a file is not a judgements table, the tables were computed from different items,
            or two of them judge the same target of one series.
    """
    judgements = read_distinct(paths, Judgements, columns)
    check_same_items([*paths, *others])
    return judgements


def check_same_items(paths: Sequence[Path]) -> None:
    """Raise UserError where the tables' provenance says that they were computed from different
    items tables.

    A table whose provenance does not name its items (imported results) is not compared.
    """
    first: tuple[Path, str] | None = None
    for path in paths:
        digest = _digest_of_items(path)
        if digest is None:
            continue
        if first is not None and digest != first[1]:
            raise UserError(path, f"was computed from other items than {first[0]}.", FIX)
        first = first or (path, digest)


def items_of(paths: Sequence[Path]) -> dict[str, str]:
    """Provenance details that name the items of tables that were computed from the same:
    ``{"items": digest}``, or nothing.
    """
    digests = {digest for path in paths if (digest := _digest_of_items(path)) is not None}
    return {ITEMS: digests.pop()} if len(digests) == 1 else {}


def kinds_of(paths: Sequence[Path]) -> dict[str, Any]:
    """Provenance details that must be told next to every number: models that are not causal, flags
    of what was answered, and the language, if it is not English.

    Returns:
        ``{"kinds": {model: measure}, "flags": {model: {way of asking: {"of": number of answers,
        flag: number}}}, "items_in": its name}``; what is empty is left out.
    """
    language = ""
    kinds: dict[str, str] = {}
    flags: dict[str, dict[str, dict[str, int]]] = {}
    for path in paths:
        made = read_provenance(path)
        if made.kind and made.model:
            kinds[made.model] = describe_kind(made.kind, made.details.get("pseudo_log_likelihood"))
        kinds |= made.details.get("kinds", {})
        language = language_name(made.details) or language
        if made.model and (facts := _flags(made.details)):
            flags.setdefault(made.model, {}).update(facts)
        for model, ways in made.details.get("flags", {}).items():
            flags.setdefault(model, {}).update(ways)
    by_kind: dict[str, Any] = {
        "kinds": dict(sorted(kinds.items())),
        "flags": dict(sorted(flags.items())),
        "items_in": language,
    }
    return {name: facts for name, facts in by_kind.items() if facts}


def _flags(details: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Way of asking -> how many scores or answers were judged, and how many with each flag; only
    ways with flags.

    Args:
        details: of the table's provenance: of one way of asking, or of several by their names.
    """
    flags: dict[str, dict[str, int]] = {}
    if details.get("flagged_scores"):
        flags[title_of("logprobs")] = {"of": details["n_scores"], **details["flagged_scores"]}
    for name, value in details.items():
        status = dict(value.get("response_status", {})) if isinstance(value, dict) else {}
        if any(key != "ok" for key in status):
            flags[title_of(name)] = {
                "of": sum(status.values()),
                **{key: n for key, n in status.items() if key != "ok"},
            }
    return flags


def _digest_of_items(path: Path) -> str | None:
    """Digest of the items that a table was computed from: among its inputs, or, further on, among
    its details.
    """
    made = read_provenance(path)
    stated = made.inputs.get(ITEMS) or made.details.get(ITEMS)
    return stated if isinstance(stated, str) else None


def check_filled_from(templates: Path, items: Path) -> None:
    """Raise UserError where the items' provenance says that they were filled from another templates
    table than this file.
    """
    if read_provenance(items).inputs.get("templates") not in (None, digest_file(templates)):
        raise UserError(
            templates,
            f"is not the templates table that {items} was filled from.",
            "Give the one that it was.",
        )


def check_items(items: Path, paths: Sequence[Path]) -> None:
    """Raise UserError where a table's provenance says that it was computed from another items table
    than this file.
    """
    digest = digest_file(items)
    for path in paths:
        items_digest = _digest_of_items(path)
        if items_digest not in (None, digest):
            raise UserError(path, f"was computed from other items than those in {items}.", FIX)
