"""The control models' corpus from templates and materials: what is held out, and the documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.controls import split
from worldprobe.benchmarks.ewok.controls.corpus import write_corpus
from worldprobe.benchmarks.ewok.materials import items as filling
from worldprobe.benchmarks.ewok.materials.fillers import FillerClass, Fillers
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.materials.slots import open_slots
from worldprobe.errors import UserError


@dataclass(frozen=True)
class Corpus:
    """The corpus and what it leaves out.

    Attributes:
        documents: a ControlDocuments table.
        templates: a ControlTemplates table.
        fillers: a ControlFillers table.
    """

    documents: pd.DataFrame
    templates: pd.DataFrame
    fillers: pd.DataFrame

    def counts(self) -> dict[str, Any]:
        """How much was written and held out, for the provenance."""
        return {
            "n_templates": len(self.templates),
            "n_templates_held_out": int((self.templates.status != "held_in").sum()),
            "n_fillers": len(self.fillers),
            "n_fillers_held_out": int(self.fillers.is_held_out.sum()),
            "n_stories": int((self.documents.kind == "story").sum()),
            "n_sentences": int((self.documents.kind != "story").sum()),
        }


def build_corpus(
    templates: pd.DataFrame,
    materials: Materials,
    held_out_templates: float,
    held_out_fillers: float,
    n_stories: int,
    n_sentences: int,
    seed: int,
) -> Corpus:
    """Hold out templates and fillers, and write stories and single sentences with what is kept.

    Args:
        templates: a Templates table of the materials.
        materials: the materials.
        held_out_templates: share of each domain's templates.
        held_out_fillers: share of each class's fillers.
        n_stories: stories to write, rounded up so that every template has the same number.
        n_sentences: single sentences to write, rounded up alike.
        seed: seed of all draws.

    Raises:
        UserError: the templates are of other materials.
    """
    known = Fillers(materials.fillers, materials.rules)
    slots = {key for rows in open_slots(templates, known).values() for row in rows for key in row.keys}

    def fill(chosen: pd.DataFrame, allowed: Mapping[str, FillerClass], per_template: int, seed: int) -> pd.DataFrame:
        """Fill templates by the compiler's own independent sampling."""
        fillers = Fillers(dict(allowed), materials.rules)
        return filling.items_table(filling.fill_independent(open_slots(chosen, fillers), fillers, range(per_template), seed))

    out_templates = split.split_templates(templates, held_out_templates, seed)
    out_fillers = split.split_fillers(materials.fillers, slots, held_out_fillers, seed)
    documents = write_corpus(templates, materials.fillers, out_templates, out_fillers, n_stories, n_sentences, seed, fill)
    return Corpus(documents, out_templates, out_fillers)


def check_documents(documents: pd.DataFrame, where: str) -> pd.DataFrame:
    """The documents, if there are any to learn from.

    Raises:
        UserError: there is no document, or none with a text.
    """
    if not documents["text"].str.strip().astype(bool).any():
        raise UserError(where, "contains no document with a text.", "Write the corpus again (worldprobe controls write-corpus).")
    return documents
