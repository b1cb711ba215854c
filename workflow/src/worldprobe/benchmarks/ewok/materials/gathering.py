"""Provenance of an items table's filling, and of several versions' tables together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.situations import SIZES
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance

#: What an items table states about its filling, as details of its provenance.
_SHARED = ("compat", "mode", "swap", "filter", "limit", "flags", "language")


def filling_details(filling: Filling, is_part: bool) -> dict[str, Any]:
    """Provenance details of an items table's filling.

    Args:
        filling: how it was filled.
        is_part: the table is one version (``--version``), to be gathered with others.
    """
    numbers = list(filling.numbers)
    counted = (
        {"per_template": len(numbers)}
        if filling.mode == "independent" and not is_part
        else {"versions": numbers}
    )
    options = {"swap": list(filling.swap), "filter": filling.tag_filter, "limit": filling.limit}
    return {
        "mode": filling.mode,
        **counted,
        **{key: value for key, value in options.items() if value},
    }


def gather_provenance(parts: Sequence[tuple[str, Provenance]]) -> Provenance:
    """Provenance that the versions' tables have in common, with the versions of all of them.

    Args:
        parts: paths of the tables and their provenance.

    Returns:
        The provenance that filling all these versions at once has, before the release filter and
        duplicates are counted.

    Raises:
        UserError: tables that do not belong together, a version twice, or a table to which the
            release filter was applied.
    """
    first_path, first = parts[0]
    numbers: dict[int, str] = {}
    missing: Counter[str] = Counter()
    for path, part in parts:
        if "mode" not in part.details:
            raise UserError(
                path, "does not say how it was filled.", "Give tables of `items fill --version N`."
            )
        if "release_filter" in part.details:
            fix = (
                "Fill the versions without it and give it to `items gather`, which sees all"
                " versions."
            )
            raise UserError(path, "is already reduced by the release filter.", fix)
        here, there = _common(part), _common(first)
        for name in here | there:
            if here.get(name) != there.get(name):
                raise UserError(
                    path,
                    f"differs from {first_path} in {name}: {here.get(name)} here,"
                    f" {there.get(name)} there.",
                    "Fill all versions with the same options from the same templates and"
                    " materials.",
                )
        versions = list(part.details.get("versions") or range(part.details.get("per_template", 0)))
        for number in versions:
            if number in numbers:
                raise UserError(
                    path,
                    f"contains version {number}, as does {numbers[number]}.",
                    "Give each version once.",
                )
            numbers[number] = path
        for template, count in part.details.get("fewer_items", {}).items():
            missing[template] += len(versions) - count
    asked = sorted(numbers)
    details = {key: first.details[key] for key in (*_SHARED, *SIZES) if key in first.details}
    is_whole_sample = details["mode"] == "independent" and asked == list(range(len(asked)))
    details |= {"per_template": len(asked)} if is_whole_sample else {"versions": asked}
    if missing:
        details["fewer_items"] = {
            template: len(asked) - count for template, count in missing.items()
        }
    return replace(first, details=details)


def _common(part: Provenance) -> dict[str, object]:
    """Provenance that tables which belong together have in common."""
    return {
        **{f"--{key}": part.details.get(key) for key in _SHARED},
        "--seed": part.seed,
        "method": part.method,
        "packages": part.packages,
        "canary": bool(part.canary),
        **{f"the digest of {name}": digest for name, digest in sorted(part.inputs.items())},
    }
