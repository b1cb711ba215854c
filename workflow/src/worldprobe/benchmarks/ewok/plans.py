"""EWoK's tables and figures, each declared once. Imports nothing heavy; the code is named and loaded when it is needed."""

from __future__ import annotations

from worldprobe.benchmark import Input, Option, Plan, Registry, Study
from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, GENERATIONS, SHOTS
from worldprobe.benchmarks.ewok.human.settings import has_both_ways, has_responses
from worldprobe.benchmarks.ewok.wanted import (
    has_conditions,
    has_generalisation,
    has_known_sizes,
    has_likeness,
    has_logprobs,
    has_mixed_model,
    has_prompting,
    has_word2vec,
    is_builtin,
    prompting_setups,
)

SUMMARIES = Input("summaries", "worldprobe.benchmarks.ewok.contracts:Summaries", "summaries.parquet")
CORRELATIONS = Input("correlations", "worldprobe.benchmarks.ewok.contracts:Correlations", "correlations.parquet")
FEATURE_MEANS = Input("feature_means", "worldprobe.benchmarks.ewok.contracts:FeatureMeans", "feature_means.parquet")
COMPARISONS = Input("comparisons", "worldprobe.benchmarks.ewok.contracts:Comparisons", "comparisons.parquet")
CONDITIONS = Input("condition_comparisons", "worldprobe.benchmarks.ewok.contracts:ConditionComparisons", "conditions.parquet")
AGREEMENTS = Input("agreements", "worldprobe.benchmarks.ewok.contracts:Agreements", "agreements.parquet")
REPRODUCTION = Input("reproduction", "worldprobe.benchmarks.ewok.contracts:Reproduction", "reproduction.parquet")
GENERALISATION = Input(
    "control_accuracies", "worldprobe.benchmarks.ewok.contracts:ControlAccuracies", "control_accuracies.parquet"
)
#: The dataset table is built from the design alone: item text is never read.
TEMPLATES = Input(
    "templates",
    "worldprobe.benchmarks.ewok.contracts:Templates",
    "templates.parquet",
    ("domain", "concept_a", "concept_b", "context_contrast", "context_type", "target_contrast"),
)
#: Tables of the materials' sentences read them, and show none.
SENTENCES = Input("templates", "worldprobe.benchmarks.ewok.contracts:Templates", "templates.parquet")


def _items(study: Study) -> str:
    from worldprobe.benchmarks.ewok.targets import item_table

    return item_table(study)


ITEMS = Input("items", "worldprobe.benchmarks.ewok.contracts:Items", _items, ("domain", "version"))

HUMAN_STATISTICS = Input("human_statistics", "worldprobe.benchmarks.ewok.contracts:HumanStatistics", "human/statistics.parquet")
HUMAN_AGREEMENTS = Input("human_agreements", "worldprobe.benchmarks.ewok.contracts:Agreements", "human/agreements.parquet")

PEOPLE_COUNTS = Input("people_counts", "worldprobe.human.contracts:PeopleCounts", "human/people.parquet")
CLEANING_STEPS = Input("cleaning_steps", "worldprobe.human.contracts:CleaningSteps", "human/cleaning_steps.parquet")
LIKENESS = Input("likeness", "worldprobe.benchmarks.ewok.contracts:Likeness", "human/likeness.parquet")

EVAL_TYPE = Option("eval_type", "way of asking", EVAL_TYPES)
METRIC = Option("metric", "whether ties count one half (accuracy) or as wrong (strict)", ("accuracy", "strict"))
SETUP = Option(
    "setup",
    "prompting set-up",
    tuple(sorted((f"{g}_{s}" for g in GENERATIONS for s in SHOTS), key=lambda name: name != "constrained_two")),
)
POINTS = Option("points", "what the points are", ("domain_version", "item"))


def _responses(study: Study, registry: Registry) -> bool:
    return has_responses(study)


def _both_ways(study: Study, registry: Registry) -> bool:
    return has_both_ways(study)


def _likeness(study: Study, registry: Registry) -> bool:
    return has_likeness(study)


def _coefficients(fit: str) -> Input:
    return Input("coefficients", "worldprobe.benchmarks.ewok.contracts:Coefficients", f"regression/{fit}.parquet")


def _scored(study: Study, registry: Registry) -> bool:
    return has_logprobs(study)


def _scored_models_to_compare(study: Study, registry: Registry) -> bool:
    return has_logprobs(study) and len(study["models"]) > 1


def _conditions(study: Study, registry: Registry) -> bool:
    return has_conditions(study)


def _scored_conditions(study: Study, registry: Registry) -> bool:
    return has_conditions(study) and has_logprobs(study)


def _mixed_model(study: Study, registry: Registry) -> bool:
    return has_mixed_model(study)


def _prompted(study: Study, registry: Registry) -> bool:
    return has_prompting(study)


def _strict_likert(study: Study, registry: Registry) -> bool:
    return "likert_constrained_two" in study["ewok"]["eval_types"]


def _other_materials(study: Study, registry: Registry) -> bool:
    return not is_builtin(study)


def _word2vec(study: Study, registry: Registry) -> bool:
    return has_logprobs(study) and has_word2vec(study)


def _sizes(study: Study, registry: Registry) -> bool:
    return has_logprobs(study) and has_known_sizes(study, registry)


def _both_paradigms(study: Study, registry: Registry) -> bool:
    return "constrained_two" in prompting_setups(study)


def _all_paradigms(study: Study, registry: Registry) -> bool:
    return has_logprobs(study) and "constrained_two" in prompting_setups(study)


TABLES = (
    Plan(
        "table",
        "conditions",
        "Conditions",
        "conditions",
        "Accuracy of each model in each condition, compared with the first one: the difference over the templates that both "
        "have, with an interval and a paired test.",
        (CONDITIONS,),
        "worldprobe.benchmarks.ewok.tables.conditions:conditions",
        wanted=_conditions,
        extras=("roster", "provenance"),
    ),
    Plan(
        "table",
        "mean_accuracy",
        "Mean accuracy",
        "accuracy",
        "Mean accuracy of each model over the versions of the items, with the range over versions and an interval. "
        "Chance is one half. EWoK, Table 1.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.tables.accuracy:mean_accuracy",
        wanted=_scored,
        options=(EVAL_TYPE, METRIC),
        extras=("roster", "provenance"),
    ),
    Plan(
        "table",
        "accuracy_by_domain",
        "Accuracy by domain",
        "accuracy",
        "Accuracy by domain: the average over models without untrained controls, the best model, and humans where their ratings "
        "are part of the run. EWoK, Table 2.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.tables.accuracy:accuracy_by_domain",
        wanted=_scored,
        options=(EVAL_TYPE,),
    ),
    Plan(
        "table",
        "control_accuracy",
        "Seen and held out",
        "controls",
        "Accuracy of the control models by what their stories told and by how the two targets of a template differ. A concept "
        "swap exchanges the concept (chases, flees from), a variable swap who is who (A chases B, B chases A).",
        (GENERALISATION,),
        "worldprobe.benchmarks.ewok.tables.controls:control_accuracy",
        wanted=has_generalisation,
    ),
    Plan(
        "table",
        "correlations",
        "Correlations",
        "design",
        "Pearson's correlation of each model's accuracy with the word2vec baseline's accuracy, with the number of words and with "
        "word frequency. EWoK, Figure 5, D to F.",
        (CORRELATIONS,),
        "worldprobe.benchmarks.ewok.tables.statistics:correlations",
        wanted=_scored,
        options=(EVAL_TYPE, POINTS),
    ),
    Plan(
        "table",
        "mixed_model",
        "Mixed model",
        "design",
        "Logistic regression of accuracy on domain, design and surface features, with random intercepts, fitted by lme4. EWoK, "
        "Appendix A.5 and Table 3.",
        (_coefficients("mixed_model"),),
        "worldprobe.benchmarks.ewok.tables.statistics:mixed_model",
        wanted=_mixed_model,
        options=(Option("fit", "which fit of the table", ("mixed_model", "fixed_effects")),),
        extras=("provenance",),
    ),
    Plan(
        "table",
        "fixed_effects",
        "Fixed effects",
        "design",
        "Cross-check of the mixed model without R: its fixed effects alone. EWoK, Appendix A.5.",
        (_coefficients("fixed_effects"),),
        "worldprobe.benchmarks.ewok.tables.statistics:mixed_model",
        wanted=_scored,
        fixed={"fit": "fixed_effects"},
        extras=("provenance",),
    ),
    Plan(
        "table",
        "accuracy_by_paradigm",
        "Accuracy by way of asking",
        "paradigms",
        "Mean accuracy of every model for every way of asking.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.tables.accuracy:accuracy_by_paradigm",
        wanted=_prompted,
        options=(METRIC,),
        extras=("roster", "provenance"),
    ),
    Plan(
        "table",
        "likert_strict",
        "Likert, ties wrong",
        "paradigms",
        "Likert accuracy where equal ratings count as wrong. EWoK, Table 4.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.tables.accuracy:likert_strict",
        wanted=_strict_likert,
        options=(
            Option("eval_type", "way of asking", tuple(sorted(EVAL_TYPES, key=lambda name: name != "likert_constrained_two"))),
        ),
        extras=("roster", "provenance"),
    ),
    Plan(
        "table",
        "comparisons",
        "Pairwise comparisons",
        "comparisons",
        "Each pair of models: the difference of their mean accuracies on the same items, an interval, and a paired test with "
        "Holm's correction.",
        (COMPARISONS,),
        "worldprobe.benchmarks.ewok.tables.statistics:comparisons",
        wanted=_scored_models_to_compare,
        extras=("provenance", "roster"),
    ),
    Plan(
        "table",
        "reproduction",
        "Published numbers",
        "reproduction",
        "Every number that the EWoK paper printed, next to that of this run: the difference, whether it is within the rounding "
        "of the printed number and, where it is known, why not.",
        (REPRODUCTION,),
        "worldprobe.benchmarks.ewok.tables.statistics:reproduction",
        wanted=_other_materials,
        extras=("provenance", "roster"),
    ),
    Plan(
        "table",
        "human_accuracy",
        "People",
        "people",
        "Accuracy of people's mean answers, with intervals over people, next to the paper's; and how reliable the answers are. "
        "EWoK, Section 4.4 and Tables 1 and 2.",
        (HUMAN_STATISTICS,),
        "worldprobe.benchmarks.ewok.tables.people:human_accuracy",
        wanted=_responses,
        extras=("provenance",),
    ),
    Plan(
        "table",
        "likeness_to_people",
        "Models and people",
        "people",
        "Do models prefer one context to the other as clearly as people do? Pearson's correlation over all targets, with a "
        "bootstrap interval, below the correlation that the noise of people's ratings permits. EWoK, Section 4.4.",
        (LIKENESS,),
        "worldprobe.benchmarks.ewok.tables.likeness:likeness_to_people",
        wanted=_likeness,
        extras=("roster", "provenance"),
    ),
    Plan(
        "table",
        "human_cleaning",
        "Cleaning",
        "people",
        "The steps that decided whose answers count, in their order, with what each left out. EWoK, Appendix A.1.",
        (CLEANING_STEPS,),
        "worldprobe.benchmarks.ewok.tables.people:human_cleaning",
        wanted=_responses,
        extras=(),
    ),
    Plan(
        "table",
        "human_people",
        "Who took part",
        "people",
        "Age, gender, country and first language of the people whose answers count, as counts. EWoK, Appendix A.1.",
        (PEOPLE_COUNTS,),
        "worldprobe.benchmarks.ewok.tables.people:human_people",
        wanted=_responses,
        extras=(),
    ),
    Plan(
        "table",
        "dataset",
        "Templates and items",
        "materials",
        "Concepts, templates, items and contrasts by domain.",
        (TEMPLATES, ITEMS),
        "worldprobe.benchmarks.ewok.tables.dataset:dataset",
        extras=(),
    ),
    Plan(
        "table",
        "materials_design",
        "Design by domain",
        "materials",
        "Whether design features go with domains: the share of each value in each domain, and Cramér's V.",
        (SENTENCES,),
        "worldprobe.benchmarks.ewok.tables.materials:materials_design",
        extras=(),
    ),
    Plan(
        "table",
        "materials_sides",
        "Two sides",
        "materials",
        "Whether the two contexts and the two targets of a template are alike in length and word frequency, by domain.",
        (SENTENCES,),
        "worldprobe.benchmarks.ewok.tables.materials:materials_sides",
        extras=(),
    ),
    Plan(
        "table",
        "materials_words",
        "Bare words",
        "materials",
        "How many different sentences there are by domain, and how far models of bare words get.",
        (SENTENCES,),
        "worldprobe.benchmarks.ewok.tables.materials:materials_words",
        extras=(),
    ),
    Plan(
        "table",
        "materials_cues",
        "Telltale words",
        "materials",
        "Whether any word alone tells the two sides of a template apart.",
        (SENTENCES,),
        "worldprobe.benchmarks.ewok.tables.materials:materials_cues",
        extras=(),
    ),
)

_SETUP_WORDS = "Free: any answer; constr.: one of the scale's numerals; ex.: examples in the prompt. White is chance."

FIGURES = (
    Plan(
        "figure",
        "human_agreement",
        "People, Likert and Choice",
        "people",
        "The context that people chose against the context that other people's Likert ratings prefer, in percent of targets. No "
        "preference: mean ratings less than 1 apart, or a mean choice less than 0.2 away from the middle. EWoK, Figure 7.",
        (HUMAN_AGREEMENTS, HUMAN_STATISTICS),
        "worldprobe.benchmarks.ewok.figures.people:tidy",
        "worldprobe.benchmarks.ewok.figures.people:draw",
        _both_ways,
    ),
    Plan(
        "figure",
        "conditions",
        "Conditions",
        "conditions",
        "Left: accuracy of each model in each condition; lines: from the lowest to the highest mean of a version. Right: paired "
        "difference from the first condition with a 95% interval; filled: p < 0.05 after Holm's correction.",
        (CONDITIONS,),
        "worldprobe.benchmarks.ewok.figures.conditions:tidy",
        "worldprobe.benchmarks.ewok.figures.conditions:draw",
        _scored_conditions,
        (EVAL_TYPE,),
        extras=("roster", "provenance"),
    ),
    Plan(
        "figure",
        "accuracy_by_domain",
        "Accuracy by domain",
        "accuracy",
        "Accuracy by domain, from the easiest to the hardest for the models. Bars: mean over versions; dots: single versions; "
        "dashed line: chance; grey band, where present: range of the human ratings over versions, with their mean. "
        "EWoK, Figure 4.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.figures.by_domain:tidy",
        "worldprobe.benchmarks.ewok.figures.by_domain:draw",
        _scored,
        (EVAL_TYPE,),
    ),
    Plan(
        "figure",
        "concepts",
        "Concepts",
        "concepts",
        "Accuracy by concept and model. White is chance, blue above, orange below; within each domain, concepts are ordered "
        "from hardest to easiest.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.figures.concepts:tidy",
        "worldprobe.benchmarks.ewok.figures.concepts:draw",
        _scored,
        (EVAL_TYPE,),
    ),
    Plan(
        "figure",
        "controls",
        "Seen and held out",
        "controls",
        "Control models on templates whose pairing of context and target occurred in their training stories, and on templates "
        "whose pairing was held out; left: fillers seen in training, right: at least one held-out filler.",
        (GENERALISATION,),
        "worldprobe.benchmarks.ewok.figures.controls:tidy",
        "worldprobe.benchmarks.ewok.figures.controls:draw",
        has_generalisation,
    ),
    Plan(
        "figure",
        "scaling",
        "Model size",
        "scale",
        "Accuracy against the number of parameters. Vertical lines: range over versions; slanted lines: a family's mean at each "
        "size. Models of the same size are drawn side by side; control models are not joined.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.figures.scaling:tidy",
        "worldprobe.benchmarks.ewok.figures.scaling:draw",
        _sizes,
        (EVAL_TYPE,),
        asks_trained=True,
    ),
    Plan(
        "figure",
        "design_features",
        "Design features",
        "design",
        "A-C: accuracy by design feature, a dot per model, their mean in red. D-F: correlation of accuracy with the word2vec "
        "baseline's accuracy, the number of words and word frequency over domains and versions, with 95% intervals; filled: "
        "p < 0.05. EWoK, Figure 5.",
        (SUMMARIES, CORRELATIONS),
        "worldprobe.benchmarks.ewok.figures.design:tidy",
        "worldprobe.benchmarks.ewok.figures.design:draw",
        _scored,
        (EVAL_TYPE,),
    ),
    *(
        Plan(
            "figure",
            feature,
            title,
            "design",
            f"Accuracy against {words}, a panel per model; each point is a domain in a version.",
            (FEATURE_MEANS, CORRELATIONS),
            "worldprobe.benchmarks.ewok.figures.scatter:tidy",
            "worldprobe.benchmarks.ewok.figures.scatter:draw",
            wanted,
            (EVAL_TYPE,),
            {"feature": feature},
        )
        for feature, title, words, wanted in (
            ("word2vec", "word2vec", "the accuracy of the word2vec baseline", _word2vec),
            ("n_words", "Number of words", "the number of words", _scored),
            ("log_frequency", "Word frequency", "word frequency", _scored),
        )
    ),
    Plan(
        "figure",
        "paradigms",
        "Ways of asking",
        "paradigms",
        "LogProbs, Likert and Choice on the same items, with the range over versions. EWoK, Figure 6.",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.figures.paradigms:tidy_paradigms",
        "worldprobe.benchmarks.ewok.figures.paradigms:draw_paradigms",
        _all_paradigms,
        (SETUP,),
    ),
    Plan(
        "figure",
        "agreement",
        "Agreement",
        "paradigms",
        "The context chosen directly against the context that the Likert ratings prefer, in percent of targets. No preference: "
        "equal ratings, or a choice that follows the position (humans: mean ratings less than 1 apart, or a mean choice less "
        "than 0.2 away from the middle). Unreadable: for humans, asked in one way only. Below each name: agreement among the "
        "others. "
        "EWoK, Figure 7.",
        (AGREEMENTS,),
        "worldprobe.benchmarks.ewok.figures.agreement:tidy",
        "worldprobe.benchmarks.ewok.figures.agreement:draw",
        _both_paradigms,
        (SETUP,),
    ),
    Plan(
        "figure",
        "setups_by_model",
        "Set-ups by model",
        "paradigms",
        f"Accuracy for every prompting set-up, by model. {_SETUP_WORDS}",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.figures.paradigms:tidy_setups",
        "worldprobe.benchmarks.ewok.figures.paradigms:draw_setups",
        _prompted,
        (METRIC,),
        {"by": "model"},
    ),
    Plan(
        "figure",
        "setups_by_domain",
        "Set-ups by domain",
        "paradigms",
        f"Accuracy for every prompting set-up, by domain, averaged over models. {_SETUP_WORDS}",
        (SUMMARIES,),
        "worldprobe.benchmarks.ewok.figures.paradigms:tidy_setups",
        "worldprobe.benchmarks.ewok.figures.paradigms:draw_setups",
        _prompted,
        (METRIC,),
        {"by": "domain"},
    ),
)
