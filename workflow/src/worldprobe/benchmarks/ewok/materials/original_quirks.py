"""Differences from the original EWoK generator, one switch per quirk.

By default every switch is off and the compiler does the right thing; ``ORIGINAL`` (``--compat``)
turns all of them on and repeats the original to the letter.

Behaviours of the original that have no switch here, with the numbers of our list: kept in both
modes are the way quantities count as objects (Q6) and the choice of variables to swap (Q11);
duplicates are flagged in both (Q9). File matters fall away: empty PairID and pkey columns (Q13,
Q27), ids from a hash of options (Q19), unread ``similar_concepts`` (Q22), canary lines (Q23), empty
files (Q24). A version with too few fillers gets a warning (Q26).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from worldprobe.benchmarks.ewok.materials.language import ENGLISH, Language


def _quirk(number: str, about: str) -> bool:
    """A switch that is off by default, for a quirk by its number and what the original does."""
    switch: bool = field(default=False, metadata={"quirk": number, "about": about})
    return switch


@dataclass(frozen=True)
class Rules:
    """Behaviours of the original that we keep only on demand; Q numbers follow the list of its
    quirks in our description of it; S numbers are rules (of its sections 2, 4, 9, 10) that the list
    does not count as quirks. They go wherever sentences are made, and so the language goes with
    them.
    """

    opposites_untrimmed: bool = _quirk(
        "Q1", 'names after the comma in "opposite_concepts: a, b" keep their space and never match'
    )
    yaml_1_1_truth: bool = _quirk(
        "Q2", "the bare words yes, no, on and off are truth values where text is meant"
    )
    one_restriction: bool = _quirk("Q3", "the compiler does not see a slot with two restrictions")
    greedy_filling: bool = _quirk(
        "Q4", "filling a slot may swallow the text up to the sentence's last slot"
    )
    type_by_last_letter: bool = _quirk(
        "Q5", "a variable's type is its name without the last character, digit or not"
    )
    repeated_templates: bool = _quirk("Q7", "templates with the same four texts are kept")
    exclude_first: bool = _quirk(
        "Q8", "the release filter excludes items before it exchanges the targets of reversed ones"
    )
    target_per_criterion: bool = _quirk("Q10", "a target that meets two criteria is used twice")
    leaking_type: bool = _quirk(
        "Q12", "a segment's own context type applies to the segments after it"
    )
    raw_contrasts: bool = _quirk("Q14", "contrast labels are kept as written (variable_swap, NA)")
    missing_words: bool = _quirk(
        "Q15", "a concept or contrast called NA, None, null or the like becomes missing"
    )
    failed_stay_failed: bool = _quirk(
        "Q16",
        "slots that could not be filled once are not tried again in the same domain and version",
    )
    prefix_swaps: bool = _quirk("Q17", "a swap replaces text prefixes instead of whole slots")
    joined_by_comma: bool = _quirk(
        "Q18",
        "restrictions of context and target are joined by a comma, which cannot be read later",
    )
    repeated_fillers: bool = _quirk("Q20", "a filler listed twice counts twice")
    careless_plural_y: bool = _quirk(
        "Q21", "the third person of a verb in -ay, -ey, -oy, -uy ends in -ies"
    )
    listed_products: bool = _quirk(
        "Q25", "sampling lists all combinations of fillers and shuffles them for each template"
    )
    narrow_restrictions: bool = _quirk(
        "S2",
        "the compiler does not see a slot whose restriction contains a hyphen, a space or the like",
    )
    forms_always_true: bool = _quirk(
        "S4", "a word form that a concept does not state meets a criterion that asks for it"
    )
    one_magnet: bool = _quirk(
        "S9", "only the restriction is_magnet=true may be met by a single filler in every version"
    )
    loose_variables: bool = _quirk(
        "S10",
        "restrictions on different mentions of a variable are met one by one, or not at all,"
        " instead of together",
    )
    language: Language = field(default=ENGLISH, compare=False)


RIGHT = Rules()
_ALL: dict[str, Any] = {kept.name: True for kept in fields(Rules) if kept.metadata}
ORIGINAL = Rules(**_ALL)
