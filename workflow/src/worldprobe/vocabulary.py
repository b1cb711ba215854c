"""The papers' terms, in one place (EWoK: arXiv 2405.09605, Section 3 and Appendix A; names as in DESIGN)."""

from __future__ import annotations

import re

TARGET_CONTRASTS = ("concept swap", "variable swap")
CONTEXT_CONTRASTS = ("antonym", "negation", "variable swap", "other")
CONTEXT_TYPES = ("direct", "indirect")

PARADIGMS = ("logprobs", "likert", "choice")
GENERATIONS = ("free", "constrained")
SHOTS = ("zero", "two")

#: eval_type = paradigm x generation x shots; LogProbs asks nothing, so it stands alone.
EVAL_TYPES = ("logprobs", *(f"{p}_{g}_{s}" for p in PARADIGMS[1:] for g in GENERATIONS for s in SHOTS))

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
