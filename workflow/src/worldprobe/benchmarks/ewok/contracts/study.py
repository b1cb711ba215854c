"""The study itself: templates, items, and what can be measured of their texts."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.contracts.keys import ITEM_ID, TEMPLATE_ID
from worldprobe.benchmarks.ewok.vocabulary import CONTEXT_TYPES, TARGET_CONTRASTS
from worldprobe.contracts import Table, column


class Templates(Table):
    """Minimal pairs of pairs with open slots, e.g. ``{object1:large=true}`` (EWoK, Section 3)."""

    template_id: str = column(str_matches=TEMPLATE_ID)
    domain: str
    meta_template: int = column(gt=0, description="Counts units per domain from 1 (target x context x segment).")
    template: int = column(gt=0, description="Counts the templates of a unit from 1.")
    concept_a: str
    concept_b: str = column(nullable=True)
    target1: str
    target2: str
    target_contrast: str = column(isin=TARGET_CONTRASTS)
    context1: str
    context2: str
    context_contrast: str = column(nullable=True, description="The materials' label; contrast_group groups it.")
    context_type: str = column(isin=CONTEXT_TYPES)

    class Config(Table.Config):
        name = "templates"
        unique = ["template_id"]
        metadata = {"version": 1, "key": ["domain", "meta_template", "template"]}


class Items(Table):
    """Templates with their slots filled: the unit that is scored."""

    item_id: str = column(str_matches=ITEM_ID, description="domain_meta_template_vN")
    domain: str = column(description="Domain of knowledge.")
    version: int = column(ge=0, description="Version of the fixed filling, or number of the independent sample.")
    meta_template: int = column(gt=0, description="Number of the unit within its domain, from 1.")
    template: int = column(gt=0, description="Number of the template within its unit, from 1.")
    context1: str = column(description="Target 1 fits this context, target 2 does not.")
    context2: str = column(description="Target 2 fits this context, target 1 does not.")
    target1: str = column(description="Sentence that fits context 1.")
    target2: str = column(description="Sentence that fits context 2.")
    concept_a: str = column(description="Concept that the targets ask about.")
    concept_b: str = column(nullable=True, description="Concept that it is contrasted with, where there is one.")
    context_contrast: str = column(nullable=True, description="How the two contexts differ.")
    context_type: str = column(isin=CONTEXT_TYPES, description="Whether the context names the concept or implies it.")
    target_contrast: str = column(isin=TARGET_CONTRASTS, description="How the two targets differ.")
    fillers: str = column(description="JSON object: slot key -> filler text, keys in code-point order.")
    tags: str = column(description="The slot keys in code-point order, joined by commas.")
    duplicate_of: str = column(nullable=True, description="item_id of an earlier item with the same four texts.")

    class Config(Table.Config):
        name = "items"
        unique = ["item_id"]
        metadata = {"version": 1, "key": ["version", "domain", "meta_template", "template"]}


class SurfaceFeatures(Table):
    """Surface properties of each target sentence with its two contexts (EWoK, Appendix A.5): (C1 + C2) / 2 + T."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    n_words: float = column(gt=0, description="Words.")
    log_frequency: float = column(nullable=True, description="Mean log word frequency; provenance: source, unit.")

    class Config(Table.Config):
        name = "surface_features"
        unique = ["item_id", "target"]
        metadata = {"version": 1, "key": ["item_id", "target"]}
