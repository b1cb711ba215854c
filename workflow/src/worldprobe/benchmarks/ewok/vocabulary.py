"""The papers' terms, in one place (EWoK: arXiv 2405.09605, Section 3 and Appendix A; names as in DESIGN)."""

from __future__ import annotations

import re

TARGET_CONTRASTS = ("concept swap", "variable swap")
CONTEXT_CONTRASTS = ("antonym", "negation", "variable swap", "other")
#: An item's four texts, and the original's names of them.
TEXTS = ("context1", "context2", "target1", "target2")
OFFICIAL_TEXTS = ("Context1", "Context2", "Target1", "Target2")

CONTEXT_TYPES = ("direct", "indirect")

#: Modes of filling in which the templates of a version share no fillings.
OWN_FILLINGS = ("balanced", "independent")

#: what one item is counted and grouped by.
DESIGN = (
    "domain",
    "version",
    "meta_template",
    "template",
    "concept_a",
    "concept_b",
    "context_contrast",
    "context_type",
    "target_contrast",
)
#: what templates of families have besides.
FAMILY = ("family", "base", "level")
#: Where EWoK's authors keep EWoK-core-1.0 on the hub.
RELEASE = {"id": "ewok-core/ewok-core-1.0", "task_id": "default", "revision": "34d912a608066c92e2990a0328ffc3bd9a716042"}
#: surface features of an item, and how they are printed.
SURFACE_FEATURES = {"log_frequency": "word frequency", "n_words": "number of words"}

ACCURACIES = (0.0, 0.5, 1.0)


def contrast_group(label: str | None) -> str:
    """One of CONTEXT_CONTRASTS for any contrast label of a template (paper, Section 3; released analysis, step 1).

    >>> contrast_group("antonym"), contrast_group("material"), contrast_group(None)
    ('antonym', 'other', 'other')
    """
    return label if label in CONTEXT_CONTRASTS else "other"


def slot_class(slot: str) -> str:
    """The filler class that a slot asks for: its name up to the first digit, restriction or swap.

    >>> slot_class("object1:large=true"), slot_class("agent2"), slot_class("nonword_from_object1")
    ('object', 'agent', 'nonword')
    """
    return re.split(r"\d|:|_from_", slot, maxsplit=1)[0]
