"""The table of how the materials are built. It shows no template's text."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.contracts import Items, Templates
from worldprobe.benchmarks.ewok.materials.opened import DESIGN
from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    TARGET_CONTRASTS,
    contrast_group,
)
from worldprobe.report.sheet import Sheet, number_column, text_column, whole_number

_COLUMNS = ("domain", *DESIGN)


@table(
    inputs=[  # the design alone: item text is never read
        Input(Templates, columns=_COLUMNS),
        Input(Items, item_table, columns=("domain", "version")),
    ],
    title="Pairs of concepts, situations and items",
    section="materials",
    caption="Pairs of concepts, situations, concepts, templates, items and contrasts by domain.",
)
def dataset(templates: pd.DataFrame, items: pd.DataFrame) -> Sheet:
    """Pairs of concepts, situations, templates, items and contrasts per domain, with a line of
    totals.

    Args:
        templates: Templates, at least the columns of the design.
        items: Items, at least domain and version.
    """
    domains = sorted(templates.domain.unique())
    versions = items.version.nunique()
    lines = [
        _line(domain, templates[templates.domain == domain], items[items.domain == domain])
        for domain in domains
    ]
    frame = pd.DataFrame([*lines, _line("all", templates, items)])
    frame["part"] = ["domain"] * len(lines) + ["total"]
    contrasts = [
        number_column(
            in_words(name),
            f"context_{name.replace(' ', '_')}",
            whole_number,
            over="Context contrast",
        )
        for name in CONTEXT_CONTRASTS
    ]
    targets = [
        number_column(
            name.split()[0],
            f"target_{name.replace(' ', '_')}",
            whole_number,
            over="Target contrast",
        )
        for name in TARGET_CONTRASTS
    ]
    types = [
        number_column(name, f"type_{name}", whole_number, over="Context type")
        for name in CONTEXT_TYPES
    ]
    return Sheet(
        title=(f"The whole materials by domain, and this study's items (versions: {versions})."),
        frame=frame,
        columns=(
            text_column("Domain", "domain", in_words),
            number_column("Pairs of concepts", "n_concept_pairs", whole_number),
            number_column("Situations", "n_situations", whole_number),
            number_column("Concepts", "n_concepts", whole_number),
            number_column("Templates", "n_templates", whole_number),
            number_column("Items", "n_items", whole_number),
            *contrasts,
            *targets,
            *types,
        ),
        notes=(
            "Items may be made from a sample of the templates. The columns to the right of Items"
            " count templates. Pairs of contexts that share six words in ten are one situation. The"
            " last row counts once what several domains share.",
        ),
        group="part",
        hidden=("part",),
    )


def _line(domain: str, templates: pd.DataFrame, items: pd.DataFrame) -> dict[str, object]:
    contrast = templates.context_contrast.map(
        lambda label: contrast_group(label if isinstance(label, str) else None)
    )
    concepts = set(templates.concept_a.dropna()) | set(templates.concept_b.dropna())
    pairs = templates[["domain", "concept_a", "concept_b"]].drop_duplicates()
    return (
        {
            "domain": domain,
            "n_concept_pairs": len(pairs),
            "n_situations": templates.situation.nunique(),
        }
        | {"n_concepts": len(concepts), "n_templates": len(templates), "n_items": len(items)}
        | {
            f"context_{name.replace(' ', '_')}": int((contrast == name).sum())
            for name in CONTEXT_CONTRASTS
        }
        | {
            f"target_{name.replace(' ', '_')}": int((templates.target_contrast == name).sum())
            for name in TARGET_CONTRASTS
        }
        | {f"type_{name}": int((templates.context_type == name).sum()) for name in CONTEXT_TYPES}
    )
