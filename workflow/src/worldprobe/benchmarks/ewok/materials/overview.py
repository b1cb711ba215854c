"""All that `materials stats` shows, as tables and as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pandas as pd

from worldprobe.benchmarks.ewok.materials.balance import compare_sides, count_templates, cross_design
from worldprobe.benchmarks.ewok.materials.cues import LEAST_CONCEPT_PAIRS, bag_of_words, word_cues

#: Below this a design feature is not confounded with domain, and above this share of turns two sides are alike.
LARGEST_V, LEAST_P = 0.25, 0.05


def overview(
    templates: pd.DataFrame, frequencies: Callable[[Collection[str]], Mapping[str, float]], seed: int
) -> tuple[dict[str, pd.DataFrame], str]:
    """The tables by name, and a text that shows them.

    Args:
        templates: a templates table.
        frequencies: of words, asked once.
        seed: of the random turns.
    """
    design, strength = cross_design(templates)
    cues = word_cues(templates, seed)
    associations = pd.DataFrame(list(strength.items()), columns=["feature", "cramers_v"])
    tables = {
        "counts": count_templates(templates),
        "design": design,
        "associations": associations,
        "sides": compare_sides(templates, frequencies, seed),
        "words": cues.table,
        "bag_of_words": bag_of_words(templates),
    }
    unlike = tables["sides"][tables["sides"]["p"] < LEAST_P]
    telling = cues.table[cues.table["pmi"] > cues.table["bound"]]
    bounds = ", ".join(f"{part}s {bound:.2f}" for part, bound in cues.bounds.items())
    parts = [
        ("Templates, concepts and different pairs of sentences", _text(tables["counts"])),
        ("Share of each design feature's values in each domain", _text(_short(design))),
        (f"Association of design feature and domain (Cramer's V; below {LARGEST_V})", _text(associations)),
        (
            "Side 1 minus side 2, mean over pairs of sentences (p: random turns of pairs of concepts)",
            _text(_wide(tables["sides"])),
        ),
        (f"Differences with p below {LEAST_P}", _text(unlike) if len(unlike) else "none"),
        (
            f"Words of {LEAST_CONCEPT_PAIRS} or more pairs of concepts that go with one side (bits; chance: {bounds})",
            _text(cues.table.groupby("part").head(5)),
        ),
        ("Words above the bound", _text(telling) if len(telling) else "none"),
        ("Accuracy of models of bare words (chance: 0.5)", _text(tables["bag_of_words"])),
    ]
    return tables, "\n\n".join(f"{title}\n{body}" for title, body in parts)


def _text(table: pd.DataFrame) -> str:
    return table.to_string(index=False, float_format=lambda value: f"{value:.3f}", max_rows=None)


def _short(design: pd.DataFrame) -> pd.DataFrame:
    return design.rename(columns=lambda name: name.replace("_", " ").replace(": ", ":\n").rpartition("\n")[2])


def _wide(sides: pd.DataFrame) -> pd.DataFrame:
    rows = sides.pivot(index=["part", "domain"], columns="measure", values=["difference", "p"])
    order = [(value, measure) for measure in ("words", "characters", "log_frequency") for value in ("difference", "p")]
    return (
        rows[order]
        .set_axis([measure if value == "difference" else f"p({measure})" for value, measure in order], axis=1)
        .reset_index()
    )
