"""Tables of how the materials are built: numbers, design and families, the templates' two sides,
what bare words give away.

They are the tables of ``worldprobe materials stats``. They are computed from the templates' texts
and show none of them.
"""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.contracts import (
    Items,
    Templates,
)
from worldprobe.benchmarks.ewok.frequency import frequencies_of_wordfreq, words
from worldprobe.benchmarks.ewok.materials.balance import (
    FEATURES,
    LEAST_CONCEPT_PAIRS,
    MEASURES,
    PARTS,
    bag_of_words,
    compare_sides,
    count_templates,
    cross_design,
    word_cues,
)
from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.benchmarks.ewok.selection import (
    in_words,
)
from worldprobe.benchmarks.ewok.study import (
    has_families,
)
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    TARGET_CONTRASTS,
    contrast_group,
)
from worldprobe.report.model_names import counted
from worldprobe.report.sheet import Column, Sheet, as_text, decimals, p_value, whole_number

_COLUMNS = (
    "domain",
    "concept_a",
    "concept_b",
    "context_contrast",
    "context_type",
    "target_contrast",
    "situation",
)


@table(
    inputs=[  # the design alone: item text is never read
        Input(Templates, columns=_COLUMNS),
        Input(Items, item_table, columns=("domain", "version")),
    ],
    title="Pairs of concepts, situations and items",
    section="materials",
    caption="Pairs of concepts, situations, templates, items and contrasts by domain.",
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
        Column(
            in_words(name),
            (f"context_{name.replace(' ', '_')}",),
            whole_number,
            over="Context contrast",
        )
        for name in CONTEXT_CONTRASTS
    ]
    targets = [
        Column(
            name.split()[0], (f"target_{name.replace(' ', '_')}",), whole_number, over="Target swap"
        )
        for name in TARGET_CONTRASTS
    ]
    types = [
        Column(name, (f"type_{name}",), whole_number, over="Context type") for name in CONTEXT_TYPES
    ]
    return Sheet(
        title=(
            "The materials by domain: pairs of concepts, situations, templates, items in"
            f" {counted(versions, 'version')}."
        ),
        frame=frame,
        columns=(
            Column("Domain", ("domain",), in_words, is_number=False),
            Column("Pairs of concepts", ("n_concept_pairs",), whole_number),
            Column("Situations", ("n_situations",), whole_number),
            Column("Concepts", ("n_concepts",), whole_number),
            Column("Templates", ("n_templates",), whole_number),
            Column("Items", ("n_items",), whole_number),
            *contrasts,
            *targets,
            *types,
        ),
        notes=(
            (
                "Contrasts and context types count templates. Situations: pairs of contexts that"
                " share six words in ten count once. What two domains share counts once in the last"
                " line."
            ),
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


@table(
    inputs=[Input(Templates, "family_templates.parquet")],
    title="Levels of families",
    section="materials",
    caption=(
        "What the levels of a family have in common and in what they differ: length, and how far"
        " models of bare words get."
    ),
    when=has_families,
)
def materials_families(templates: pd.DataFrame) -> Sheet:
    """A row per family and level: bases, domains, words of a context, and the accuracy of models of
    bare words.

    Args:
        templates: Templates, those of families.
    """
    lines = []
    for (family, level), rows in templates.groupby(["family", "level"], sort=True):
        n_words = [len(words(text)) for text in (*rows["context1"], *rows["context2"])]
        bare = bag_of_words(rows).set_index("domain").loc["all"]
        counts = (rows["base"].nunique(), rows["domain"].nunique(), sum(n_words) / len(n_words))
        lines.append((family, level, *counts, bare["shared_words"], bare["side_words"]))
    names = ["family", "level", "n_bases", "n_domains", "n_words", "shared_words", "side_words"]
    return Sheet(
        title=(
            "The levels of families: their number, length, and the accuracy of models of bare"
            " words."
        ),
        frame=pd.DataFrame(lines, columns=names),
        columns=(
            Column("Family", ("family",), is_number=False, once=True),
            Column("Level", ("level",), whole_number),
            Column("Bases", ("n_bases",), whole_number),
            Column("Domains", ("n_domains",), whole_number),
            Column("Words of a context", ("n_words",), decimals(1)),
            Column("shared words", ("shared_words",), decimals(3), over="Accuracy from"),
            Column("sides' words", ("side_words",), decimals(3), over="Accuracy from"),
        ),
        notes=(
            (
                "Shared words: the context that has more words in common with the target. Sides'"
                " words: which words go with which side, learned from all other pairs of concepts."
                " Chance is one half."
            ),
        ),
        group="family",
    )


_STRENGTH = "Cramér's V"
_FEATURE_NAMES = {
    "context_type": "Context type",
    "context_contrast": "Context contrast",
    "target_contrast": "Target swap",
}
_MEASURE_NAMES = {"words": "Words", "characters": "Characters", "log_frequency": "Log frequency"}


@table(
    inputs=[Templates],
    title="Design by domain",
    section="materials",
    caption=(
        "Whether design features go with domains: the share of each value in each domain, and"
        " Cramér's V."
    ),
)
def materials_design(templates: pd.DataFrame) -> Sheet:
    """The share of each value of each design feature in each domain; the last line says how
    strongly the two go together.

    Args:
        templates: Templates, at least domain and design.
    """
    shares, strength = cross_design(templates)
    last: dict[str, object] = {"domain": _STRENGTH, "part": "strength"}
    columns = []
    for feature in FEATURES:
        names = [name for name in shares.columns if name.startswith(f"{feature}: ")]
        last[names[0]] = strength[feature]
        columns += [
            Column(
                in_words(name.partition(": ")[2]),
                (name,),
                decimals(2),
                over=_FEATURE_NAMES[feature],
            )
            for name in names
        ]
    frame = pd.concat([shares.assign(part="domain"), pd.DataFrame([last])], ignore_index=True)
    return Sheet(
        title="Design by domain: the share of each domain's templates.",
        frame=frame,
        columns=(Column("Domain", ("domain",), _domain, is_number=False), *columns),
        notes=(
            (
                f"{_STRENGTH}, below each feature's first value, is its association with domain,"
                " from 0 to 1."
            ),
        ),
        group="part",
        hidden=("part",),
    )


@table(
    inputs=[Templates],
    title="Two sides",
    section="materials",
    caption=(
        "Whether the two contexts and the two targets of a template are alike in length and word"
        " frequency, by domain."
    ),
)
def materials_sides(templates: pd.DataFrame) -> Sheet:
    """How alike Context 1 and Context 2, and Target 1 and Target 2, are in length and word
    frequency, by domain.

    Args:
        templates: Templates.
    """
    compared = compare_sides(templates, frequencies_of_wordfreq)
    values = compared.pivot(index=["part", "domain"], columns="measure", values=["difference", "p"])
    frame = values.set_axis(
        ["_".join(reversed(names)) for names in values.columns.tolist()], axis=1
    )
    frame = compared.groupby(["part", "domain"])[["pairs"]].first().join(frame).reset_index()
    frame["is_total"] = frame["domain"] == "all"
    frame = frame.sort_values(["part", "is_total", "domain"], ignore_index=True).drop(
        columns="is_total"
    )
    columns = [
        column
        for measure in MEASURES
        for column in (
            Column(
                "difference", (f"{measure}_difference",), decimals(2), over=_MEASURE_NAMES[measure]
            ),
            Column("p", (f"{measure}_p",), p_value, over=_MEASURE_NAMES[measure]),
        )
    ]
    return Sheet(
        title=(
            "The two sides of the templates: Context 1 minus Context 2, and Target 1 minus"
            " Target 2."
        ),
        frame=frame,
        columns=(
            Column("Part", ("part",), _part, is_number=False, once=True),
            Column("Domain", ("domain",), _domain, is_number=False),
            Column("Pairs", ("pairs",), whole_number),
            *columns,
        ),
        notes=(
            (
                "Means over different pairs of sentences, without fillers. Log frequency: mean over"
                " the words of ln(1 + count per billion). p: share of random turns of whole pairs"
                " of concepts whose mean difference is at least as large. These templates are no"
                " sample of others: p says only whether a difference is more than the turns would"
                " leave."
            ),
        ),
        group="part",
    )


@table(
    inputs=[Templates],
    title="Bare words",
    section="materials",
    caption=(
        "How many different sentences there are by domain, and how far models of bare words get."
    ),
)
def materials_words(templates: pd.DataFrame) -> Sheet:
    """Different pairs of sentences by domain, and the accuracy of models that know words only.

    Args:
        templates: Templates.
    """
    frame = count_templates(templates).merge(
        bag_of_words(templates), on="domain", validate="one_to_one"
    )
    frame["part"] = ["domain"] * (len(frame) - 1) + ["total"]
    return Sheet(
        title="Different sentences by domain, and the accuracy of models of bare words.",
        frame=frame.drop(columns="concepts"),
        columns=(
            Column("Domain", ("domain",), _domain, is_number=False),
            Column("concepts", ("concept_pairs",), whole_number, over="Different pairs of"),
            Column("contexts", ("context_pairs",), whole_number, over="Different pairs of"),
            Column("targets", ("target_pairs",), whole_number, over="Different pairs of"),
            Column("Situations", ("situations",), whole_number),
            Column("Templates", ("templates",), whole_number),
            Column("shared words", ("shared_words",), decimals(3), over="Accuracy from"),
            Column("sides' words", ("side_words",), decimals(3), over="Accuracy from"),
        ),
        notes=(
            (
                "Shared words: the context that has more words in common with the target. Sides'"
                " words: which words go with which side, learned from all other pairs of concepts."
                " Chance is one half. So is any model that does not read the context: it gives both"
                " contexts the same score."
            ),
        ),
        group="part",
        hidden=("part",),
    )


@table(
    inputs=[Templates],
    title="Telltale words",
    section="materials",
    caption="Whether any word alone tells the two sides of a template apart.",
)
def materials_cues(templates: pd.DataFrame) -> Sheet:
    """Whether any word tells the two sides apart: the largest pointwise mutual information and its
    bound.

    Args:
        templates: Templates.
    """
    cues = word_cues(templates)
    rows = []
    for part in PARTS:
        pmi = cues.table[cues.table["part"] == part]["pmi"]
        bound = cues.bounds[part]
        rows.append(
            (
                part,
                len(pmi),
                float(pmi.max()) if len(pmi) else float("nan"),
                bound,
                int((pmi > bound).sum()),
            )
        )
    return Sheet(
        title="Words that go with one side: pointwise mutual information in bits.",
        frame=pd.DataFrame(rows, columns=["part", "n_words", "largest_pmi", "bound", "n_above"]),
        columns=(
            Column("Part", ("part",), _part, is_number=False),
            Column("Words", ("n_words",), whole_number),
            Column("Largest", ("largest_pmi",), decimals(2)),
            Column("Bound", ("bound",), decimals(2)),
            Column("Words above", ("n_above",), whole_number),
        ),
        notes=(
            (
                f"Words that differ between the two sides in {LEAST_CONCEPT_PAIRS} or more pairs of"
                " concepts. The bound is what the largest value of all words stays below in 95 %"
                " of random turns of the pairs of concepts."
            ),
        ),
    )


def _domain(name: object) -> str:
    return as_text(name) if name == _STRENGTH else in_words(str(name))


def _part(name: object) -> str:
    return f"{str(name).capitalize()}s"
