"""The tables of how the materials are built, and of one item for each domain. The text of items is
shown only where it is ours: EWoK's terms forbid its own in plain files.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.canaries import is_own
from worldprobe.benchmarks.ewok.contracts import Items, Templates
from worldprobe.benchmarks.ewok.materials.opened import DESIGN
from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    TARGET_CONTRASTS,
    TEXTS,
    contrast_group,
)
from worldprobe.provenance import Provenance
from worldprobe.report.sheet import (
    Sheet,
    SheetColumn,
    as_text,
    is_absent,
    number_column,
    text_column,
    whole_number,
)

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


#: What sorts items into kinds.
KIND = ["context_type", "context_contrast", "target_contrast"]
NO_TEXT = "Sentences are shown of worldprobe's own materials only."


@table(
    inputs=[Input(Items, item_table)],
    title="Kinds of items",
    section="materials",
    caption=(
        "An item of each domain: its concepts, contexts and targets, and how these differ. Target 1"
        " fits Context 1 only, Target 2 Context 2 only. Like Figure 3 of the EWoK paper."
    ),
)
def sample_items(items: pd.DataFrame, provenance: Provenance) -> Sheet:
    """An item of each domain with its tags (Figure 3)."""
    frame = choose_items(items)[["item_id", "domain", "concept_a", "concept_b", *KIND, *TEXTS]]
    pairs = [
        SheetColumn(
            f"Context {number} → Target {number}",
            (f"context{number}", f"target{number}"),
            "{} → {}".format,
            is_number=False,
            letters=48,
        )
        for number in (1, 2)
    ]
    is_shown = is_own(provenance.canary)
    return Sheet(
        title="Kinds of items: one of each domain, with its tags.",
        frame=frame if is_shown else frame.drop(columns=[*TEXTS]),
        columns=(
            text_column("Domain", "domain", in_words),
            SheetColumn("Concepts", ("concept_a", "concept_b"), show_concepts, is_number=False),
            *(pairs if is_shown else []),
            text_column("Context type", "context_type"),
            text_column("Context contrast", "context_contrast"),
            text_column("Target contrast", "target_contrast"),
        ),
        notes=("Target 1 fits Context 1 only, Target 2 Context 2 only.",)
        + ((PLEASE,) if is_shown else (NO_TEXT,)),
        quotes=is_shown,
    )


PLEASE = "We wrote these items for worldprobe; please do not train on them."


def choose_items(items: pd.DataFrame) -> pd.DataFrame:
    """An item of each domain, of kinds that differ as far as they can: of the kind that the domains
    before it have least, and of these the first.
    """
    ordered = items.sort_values(["domain", "version", "meta_template", "template"])
    ordered = ordered.drop_duplicates(["domain", *KIND])
    chosen, seen = [], Counter[tuple[str, str]]()
    for _, rows in ordered.groupby("domain", sort=True):
        tags = [list(zip(KIND, row, strict=True)) for row in rows[KIND].astype(str).to_numpy()]
        best = min(range(len(rows)), key=lambda row: sum(seen[tag] for tag in tags[row]))
        seen.update(tags[best])
        chosen.append(rows.index[best])
    return ordered.loc[chosen].reset_index(drop=True)


def show_concepts(first: object, second: object) -> str:
    """A pair of concepts, or the only one.

    >>> show_concepts("left", "right"), show_concepts("help", None)
    ('left / right', 'help')
    """
    return as_text(first) if is_absent(second) else f"{first} / {second}"


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
