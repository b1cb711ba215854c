"""The rules that match single clauses or learn, as WorldSense is told of them."""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.known_rules import KnownRule

TOGETHER = KnownRule(
    "together",
    "worldprobe_lab.trained_rules:match_clause",
    "matches clauses one by one, without combining two.",
    baseline="Single clauses (rule)",
)
NGRAMS = KnownRule(
    "ngrams",
    "worldprobe_lab.trained_rules:NgramRule",
    "a classifier of word n-grams that learns from other trials.",
    baseline="N-grams (trained)",
    learns=True,
)
ROLES = KnownRule(
    "roles",
    "worldprobe_lab.trained_rules:RoleRule",
    "the same, with words replaced by relations and names by roles; its n-grams also span"
    " neighbouring clauses.",
    baseline="n-grams of roles (trained)",
    learns=True,
)
