"""The control models' corpus: stories, in which a context is followed by its right target, and single sentences.

Every filled template gives both of its right pairings, so both targets and both contexts of a template are equally
frequent, in stories and alone: how often a target occurs says nothing about where it fits. Wrong pairings never occur.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.controls import split
from worldprobe.benchmarks.ewok.materials import items as filling
from worldprobe.benchmarks.ewok.materials.fillers import FillerClass, Fillers
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.materials.slots import open_slots
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: (templates, fillers, fillings per template, seed) -> an Items table.
Fill = Callable[[pd.DataFrame, Mapping[str, FillerClass], int, int], pd.DataFrame]
#: What keeps the three draws from one seed apart.
STORY_STREAM, SENTENCE_STREAM, ORDER_STREAM = 1, 2, 3


def write_corpus(
    templates: pd.DataFrame,
    fillers: Mapping[str, FillerClass],
    held_out_templates: pd.DataFrame,
    held_out_fillers: pd.DataFrame,
    n_stories: int,
    n_sentences: int,
    seed: int,
    fill: Fill,
) -> pd.DataFrame:
    """Write stories from the templates and fillers that are kept, and single sentences from all.

    Args:
        templates: a Templates table.
        fillers: class -> its fillers.
        held_out_templates: a ControlTemplates table.
        held_out_fillers: a ControlFillers table.
        n_stories: stories to write; rounded up so that each template has the same number of each of its two pairings.
        n_sentences: single sentences to write, rounded up alike (each template: two contexts, two targets).
        seed: seed of fillings and order.
        fill: fills templates; gets its own seed for stories and for sentences.

    Returns:
        a ControlDocuments table.
    """
    held_in = held_out_templates.template_id[held_out_templates.status == "held_in"]
    kept = templates[templates.template_id.isin(set(held_in))]
    per_story = -(-n_stories // (2 * max(len(kept), 1)))
    per_sentence = -(-n_sentences // (4 * max(len(templates), 1)))
    seeds = [int(np.random.SeedSequence([seed, stream]).generate_state(1)[0]) for stream in (STORY_STREAM, SENTENCE_STREAM)]
    story_items = fill(kept, split.without_held_out(fillers, held_out_fillers), per_story, seeds[0])
    sentence_items = fill(templates, fillers, per_sentence, seeds[1])
    documents = pd.concat([stories(evened(story_items, per_story)), sentences(evened(sentence_items, per_sentence))])
    order = np.random.default_rng([seed, ORDER_STREAM]).permutation(len(documents))
    documents = documents.iloc[order].assign(document=np.arange(len(documents), dtype="int64"))
    LOGGER.info(
        "%d stories of %d templates, %d single sentences of %d templates",
        (documents.kind == "story").sum(),
        story_items.groupby(["domain", "meta_template", "template"]).ngroups,
        (documents.kind != "story").sum(),
        len(templates),
    )
    return documents.reset_index(drop=True)


def evened(items: pd.DataFrame, count: int) -> pd.DataFrame:
    """The same number of fillings for every template: where fewer exist, they are repeated in turn."""
    groups = items.groupby(["domain", "meta_template", "template"], sort=False)
    picked = [group.iloc[np.arange(count) % len(group)] for _, group in groups]
    n_short = sum(len(group) < count for _, group in groups)
    if n_short:
        LOGGER.info("%d templates have fewer than %d distinct fillings; theirs are repeated", n_short, count)
    return pd.concat(picked, ignore_index=True) if picked else items


def stories(items: pd.DataFrame) -> pd.DataFrame:
    """Both right pairings of each item, context and target joined by one space as the scorer joins them."""
    return pd.concat(
        [_documents(items, "story", number, items[f"context{number}"] + " " + items[f"target{number}"]) for number in (1, 2)],
        ignore_index=True,
    )


def sentences(items: pd.DataFrame) -> pd.DataFrame:
    """The four texts of each item, each on its own."""
    return pd.concat(
        [_documents(items, kind, number, items[f"{kind}{number}"]) for kind in ("context", "target") for number in (1, 2)],
        ignore_index=True,
    )


def _documents(items: pd.DataFrame, kind: str, number: int, text: pd.Series) -> pd.DataFrame:
    template_id = items.domain + "_" + items.meta_template.astype(str) + "_" + items.template.astype(str)
    return pd.DataFrame({"kind": kind, "template_id": template_id, "number": number, "text": text}).astype({"number": "int64"})


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
