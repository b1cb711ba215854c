"""How even materials are: design, sides, words, and what gives an answer away."""

from __future__ import annotations

from functools import partial

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.contracts import Templates
from worldprobe.benchmarks.ewok.frequency import frequencies_of_wordfreq, words
from worldprobe.benchmarks.ewok.materials.language import language_of
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import has_families
from worldprobe.provenance import Provenance
from worldprobe.report.sheet import (
    Sheet,
    as_text,
    decimals,
    number_column,
    show_p,
    text_column,
    whole_number,
)
from worldprobe_authoring.balance import (
    FEATURES,
    LEAST_CONCEPT_PAIRS,
    MEASURES,
    NO_LIST,
    PARTS,
    bag_of_words,
    compare_sides,
    count_templates,
    cross_design,
    is_known,
    word_cues,
)

_STRENGTH = "Cramér's V"
BAG_NOTE = (
    "Shared words: the baseline chooses the context that shares more words with the target. Sides'"
    " words: it learns from all other pairs of concepts which words occur on side 1 and which on"
    " side 2, and chooses the context whose words fit the target's side better. Chance is 0.5;"
    " ignoring the context also gives 0.5."
)
_FEATURE_NAMES = {
    "context_type": "Context type",
    "context_contrast": "Context contrast",
    "target_contrast": "Target contrast",
}
_MEASURE_NAMES = {"words": "Words", "characters": "Characters", "log_frequency": "Log frequency"}


@table(
    inputs=[Templates],
    title="Design by domain",
    section="materials",
    caption=(
        "Association of design features with domains: the share of each value in each domain, and"
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
            number_column(
                in_words(name.partition(": ")[2]), name, decimals(2), over=_FEATURE_NAMES[feature]
            )
            for name in names
        ]
    frame = pd.concat([shares.assign(part="domain"), pd.DataFrame([last])], ignore_index=True)
    return Sheet(
        title="Design by domain: the share of each domain's templates.",
        frame=frame,
        columns=(text_column("Domain", "domain", _domain), *columns),
        notes=(
            f"Last row, first column of a feature: association with domain ({_STRENGTH}, 0 to 1).",
        ),
        group="part",
        hidden=("part",),
    )


@table(
    inputs=[Templates],
    title="Two sides",
    section="materials",
    caption=(
        "Differences in length and word frequency between the two contexts, and between the two"
        " targets, of a template, by domain."
    ),
)
def materials_sides(templates: pd.DataFrame, provenance: Provenance | None = None) -> Sheet:
    """How alike Context 1 and Context 2, and Target 1 and Target 2, are in length and word
    frequency, by domain.

    Args:
        templates: Templates.
        provenance: of the templates; it names their language.
    """
    language = language_of(provenance.details if provenance else {}).language
    compared = compare_sides(templates, partial(frequencies_of_wordfreq, language=language))
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
            number_column(
                "difference", f"{measure}_difference", decimals(2), over=_MEASURE_NAMES[measure]
            ),
            number_column("p", f"{measure}_p", show_p, over=_MEASURE_NAMES[measure]),
        )
    ]
    return Sheet(
        title=(
            "The two sides of the templates: Context 1 minus Context 2, and Target 1 minus"
            " Target 2."
        ),
        frame=frame,
        columns=(
            text_column("Part", "part", _part, once=True),
            text_column("Domain", "domain", _domain),
            number_column("Pairs", "pairs", whole_number),
            *columns,
        ),
        notes=(
            (
                "Means over distinct pairs of sentences, without fillers. Log frequency: mean of"
                " ln(1 + count per billion) over words. p: permutation test that swaps the sides of"
                " whole pairs of concepts; it is about these templates only."
            ),
            *([] if is_known(compared) else [f"A dash: {NO_LIST}."]),
        ),
        group="part",
    )


@table(
    inputs=[Templates],
    title="Bag of words",
    section="materials",
    caption=("Number of distinct sentences by domain, and accuracy of bag-of-words models."),
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
        title="Distinct sentences by domain, and accuracy of bag-of-words models.",
        frame=frame.drop(columns="concepts"),
        columns=(
            text_column("Domain", "domain", _domain),
            number_column("concepts", "concept_pairs", whole_number, over="Distinct pairs of"),
            number_column("contexts", "context_pairs", whole_number, over="Distinct pairs of"),
            number_column("targets", "target_pairs", whole_number, over="Distinct pairs of"),
            number_column("Situations", "situations", whole_number),
            number_column("Templates", "templates", whole_number),
            number_column("shared words", "shared_words", over="Accuracy from"),
            number_column("sides' words", "side_words", over="Accuracy from"),
        ),
        notes=(BAG_NOTE,),
        group="part",
        hidden=("part",),
    )


@table(
    inputs=[Templates],
    title="Telltale words",
    section="materials",
    caption="Do single words tell the two sides of a template apart?",
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
        title="Association of words with one side: pointwise mutual information in bits.",
        frame=pd.DataFrame(rows, columns=["part", "n_words", "largest_pmi", "bound", "n_above"]),
        columns=(
            text_column("Part", "part", _part),
            number_column("Words", "n_words", whole_number),
            number_column("Largest", "largest_pmi", decimals(2)),
            number_column("Bound", "bound", decimals(2)),
            number_column("Words above", "n_above", whole_number),
        ),
        notes=(
            (
                f"Words that differ between the two sides in {LEAST_CONCEPT_PAIRS} or more pairs of"
                " concepts. Bound: the 95th percentile of the largest value under random swaps of"
                " the sides."
            ),
        ),
    )


def _domain(name: object) -> str:
    return as_text(name) if name == _STRENGTH else in_words(str(name))


def _part(name: object) -> str:
    return f"{str(name).capitalize()}s"


@table(
    inputs=[Input(Templates, "family_templates.parquet")],
    title="Levels of families",
    section="materials",
    caption=(
        "Number and length of the templates at each level of a family, and accuracy of bag-of-words"
        " models."
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
        title=("Levels of families: number, length, and accuracy of bag-of-words models."),
        frame=pd.DataFrame(lines, columns=names),
        columns=(
            text_column("Family", "family", once=True),
            number_column("Level", "level", whole_number),
            number_column("Bases", "n_bases", whole_number),
            number_column("Domains", "n_domains", whole_number),
            number_column("Words of a context", "n_words", decimals(1)),
            number_column("shared words", "shared_words", over="Accuracy from"),
            number_column("sides' words", "side_words", over="Accuracy from"),
        ),
        notes=(BAG_NOTE,),
        group="family",
    )
