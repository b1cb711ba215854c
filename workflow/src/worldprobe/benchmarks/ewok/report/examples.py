"""Example items, shown only where the materials are our own and the reader asked for them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.benchmarks.ewok.canaries import is_own
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError


@dataclass(frozen=True)
class Example:
    """One item per domain."""

    domain: str
    item_id: str
    concepts: str
    context1: str
    context2: str
    target1: str
    target2: str


def read_examples(path: Path | str) -> list[Example]:
    """The first direct item of each domain, from an items table of our own materials.

    Raises:
        UserError: the materials do not say that they are ours: their text must not appear in a report.
    """
    if not is_own(read_provenance(path).canary):
        raise UserError(
            "--item-text",
            "these items were not built from worldprobe's own materials, so their text must not be shown.",
            "Leave the option out: EWoK's terms allow its text only inside password-protected archives.",
        )
    items = read_table(path, Items)
    direct = items[items.context_type == "direct"] if (items.context_type == "direct").any() else items
    chosen = direct.sort_values(["domain", "version", "meta_template", "template"]).groupby("domain", sort=True).head(1)
    return [_example(row) for row in chosen.to_dict("records")]


def _example(row: dict[Hashable, Any]) -> Example:
    concepts = " / ".join(concept for concept in (row["concept_a"], row["concept_b"]) if isinstance(concept, str))
    texts = (row["context1"], row["context2"], row["target1"], row["target2"])
    return Example(in_words(row["domain"]), row["item_id"], concepts, *texts)
