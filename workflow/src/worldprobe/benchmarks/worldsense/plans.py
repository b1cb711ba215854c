"""WorldSense's tables and figures, each declared once. Imports nothing heavy; the code is named and loaded when it is needed."""

from __future__ import annotations

from worldprobe.benchmark import Input, Plan, Registry, Section, Study

_CONTRACTS = "worldprobe.benchmarks.worldsense.contracts"
_TABLES = "worldprobe.benchmarks.worldsense.tables"
_FIGURES = "worldprobe.benchmarks.worldsense.figures"
SUMMARIES = Input("summaries", f"{_CONTRACTS}:Summaries", "summaries.parquet")
COMPARISONS = Input("comparisons", f"{_CONTRACTS}:Comparisons", "comparisons.parquet")
TRAININGS = Input("trainings", f"{_CONTRACTS}:Trainings", "finetuning/training.parquet")
REPRODUCTION = Input("reproduction", f"{_CONTRACTS}:Reproduction", "reproduction.parquet")
#: The paper's models, by the names under which a registry would have them.
LINEAR = {"Infer.normal", "Consist.normal", "Compl.normal"}

SECTIONS = (
    Section(
        "problems",
        "Problems",
        "Does a model keep a small world in mind? It draws inferences from descriptions, finds contradictions, and notices "
        "what a description leaves open. Each problem has a trivial control that needs no world. Chance is 0.5.",
    ),
    Section("promptings", "Ways of asking", "The same trials asked in other ways."),
    Section("sets", "Sets", "The test set, the training set as a test, and sets unlike both."),
    Section("finetuning", "Fine-tuning", "Models that were trained on such problems: what they learn, and how far it carries."),
    Section("difficulty", "What makes it hard", "More entities, more relations to combine, more worlds left open."),
    Section("skins", "Words and domains", "The same abstract problems in other words."),
    Section("pairs", "Pairs of models", "Is one model better than another on the same tuples?"),
    Section("published", "Published numbers", "Every number that the paper prints in tables and text, next to ours."),
)


def _asked(study: Study, registry: Registry) -> bool:
    from worldprobe.benchmarks.worldsense.targets import is_asked

    return is_asked(study)


def _prompted(study: Study, registry: Registry) -> bool:
    return _asked(study, registry) and len(study["worldsense"]["promptings"]) > 1


def _several_sets(study: Study, registry: Registry) -> bool:
    from worldprobe.benchmarks.worldsense.targets import asked_sets

    return _asked(study, registry) and len(asked_sets(study)) > 1


def _tuned(study: Study, registry: Registry) -> bool:
    from worldprobe.benchmarks.worldsense.finetuning.plan import made_models
    from worldprobe.benchmarks.worldsense.targets import asked_models

    asked = set(asked_models(study))
    return _asked(study, registry) and any("+" in model and model in asked for model in made_models(study))


def _trained(study: Study, registry: Registry) -> bool:
    from worldprobe.benchmarks.worldsense.finetuning.plan import trainings

    return bool(trainings(study))


def _has_normal(study: Study, registry: Registry) -> bool:
    wanted = set(study["worldsense"]["problems"])
    return _asked(study, registry) and (not wanted or bool(wanted & LINEAR))


def _has_places(study: Study, registry: Registry) -> bool:
    wanted = set(study["worldsense"]["problems"])
    return _asked(study, registry) and (not wanted or bool(wanted & {"Infer.normal", "Consist.normal"}))


def _has_six(study: Study, registry: Registry) -> bool:
    """Whether problems come with controls, so that the two can be compared."""
    wanted = set(study["worldsense"]["problems"])
    return _asked(study, registry) and (not wanted or any(".normal" in name or ".trivial" in name for name in wanted))


def _pairs(study: Study, registry: Registry) -> bool:
    from worldprobe.benchmarks.worldsense.targets import asked_models

    return _asked(study, registry) and len(asked_models(study)) > 1


TABLES = (
    Plan(
        "table",
        "worldsense_mean_accuracy",
        "Mean accuracy",
        "problems",
        "Accuracy of each model over all problems, with corrected gold answers, strict scores, response "
        "bias, invalid answers and "
        "consistency across skins. WorldSense, Table 2.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:mean_accuracy",
        wanted=_asked,
    ),
    Plan(
        "table",
        "worldsense_problems",
        "Accuracy and bias by problem",
        "problems",
        "Accuracy and response bias by problem, averaged over sizes. WorldSense, Table 6.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:problems",
        wanted=_asked,
    ),
    Plan(
        "table",
        "worldsense_promptings",
        "Ways of asking",
        "promptings",
        "Accuracy and response bias by problem for every way of asking. WorldSense, Table 8.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:promptings",
        wanted=_prompted,
    ),
    Plan(
        "table",
        "worldsense_sets",
        "Sets",
        "sets",
        "Accuracy and response bias by problem for every set. WorldSense, Table 9.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:sets",
        wanted=_several_sets,
    ),
    Plan(
        "table",
        "worldsense_finetuning",
        "Fine-tuned models",
        "finetuning",
        "Accuracy and response bias of fine-tuned models and their bases by problem and set, and those of the paper's. "
        "WorldSense, Table 9.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:finetuning",
        wanted=_tuned,
    ),
    Plan(
        "table",
        "worldsense_complexity",
        "Size and complexity",
        "difficulty",
        "Accuracy by problem, ternary relations of the description, arity of the query and number of "
        "entities. WorldSense, Table 10.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:complexity",
        wanted=_asked,
    ),
    Plan(
        "table",
        "worldsense_domains",
        "Domains",
        "skins",
        "Accuracy by problem and domain. WorldSense, Table 11.",
        (SUMMARIES,),
        f"{_TABLES}.accuracy:domains",
        wanted=_has_six,
    ),
    Plan(
        "table",
        "worldsense_consistency",
        "Consistency across skins",
        "skins",
        "How often one abstract problem gets the same answer in different skins, beyond chance, and what "
        "accuracy explains of it.",
        (SUMMARIES,),
        f"{_TABLES}.statistics:consistency",
        wanted=_asked,
    ),
    Plan(
        "table",
        "worldsense_comparisons",
        "Pairs of models",
        "pairs",
        "Each pair of models: the difference of their accuracies on the same tuples, with interval and p over skins and abstract "
        "problems, and Holm's correction.",
        (COMPARISONS,),
        f"{_TABLES}.statistics:comparisons",
        wanted=_pairs,
    ),
    Plan(
        "table",
        "worldsense_reproduction",
        "Published numbers",
        "published",
        "The numbers that the WorldSense paper prints in tables and text, next to those of this run.",
        (REPRODUCTION,),
        f"{_TABLES}.statistics:reproduction",
        wanted=_asked,
        extras=("provenance", "roster"),
    ),
)

FIGURES = (
    Plan(
        "figure",
        "worldsense_problems",
        "Accuracy and bias",
        "problems",
        "Accuracy and response bias by problem with 95% intervals over skins. A bias of 1: always TRUE, POSSIBLE or "
        "KNOWN; of −1: always FALSE, "
        "IMPOSSIBLE or UNKNOWN. WorldSense, Figure 3.",
        (SUMMARIES,),
        f"{_FIGURES}.dots:tidy_problems",
        f"{_FIGURES}.dots:draw",
        wanted=_asked,
    ),
    Plan(
        "figure",
        "worldsense_promptings",
        "Ways of asking",
        "promptings",
        "Accuracy over all problems, and size of the response bias averaged over them, by way of asking, with 95% "
        "intervals over skins. WorldSense, Figure 4.",
        (SUMMARIES,),
        f"{_FIGURES}.dots:tidy_promptings",
        f"{_FIGURES}.dots:draw",
        wanted=_prompted,
    ),
    Plan(
        "figure",
        "worldsense_sets",
        "Sets",
        "sets",
        "Accuracy and size of the response bias by set with 95% intervals over skins; the test set "
        "is split by whether "
        "the training sets have "
        "a skin's relation. WorldSense, Figure 5.",
        (SUMMARIES,),
        f"{_FIGURES}.dots:tidy_sets",
        f"{_FIGURES}.dots:draw",
        wanted=_several_sets,
    ),
    Plan(
        "figure",
        "worldsense_finetuning",
        "Fine-tuning",
        "finetuning",
        "Accuracy over all problems, and size of the response bias averaged over them, by what a model was fine-tuned on, with "
        "95% intervals over skins; and the same of the paper's models, from its Table 9, with its "
        "intervals over tuples, which are narrower. WorldSense, Figure 5.",
        (SUMMARIES,),
        f"{_FIGURES}.finetuning:tidy_finetuning",
        f"{_FIGURES}.finetuning:draw",
        wanted=_tuned,
    ),
    Plan(
        "figure",
        "worldsense_training",
        "Loss and learning rate",
        "finetuning",
        "Loss (nats per token that counts) and learning rate at each step of every training.",
        (TRAININGS,),
        f"{_FIGURES}.finetuning:tidy_training",
        f"{_FIGURES}.finetuning:draw_training",
        wanted=_trained,
    ),
    Plan(
        "figure",
        "worldsense_size",
        "Size and complexity",
        "difficulty",
        "Accuracy by number of entities and by number of ternary relations of description and query, for the "
        "normal problems and for "
        "their trivial controls, with 95% intervals over skins. WorldSense, Figure 6.",
        (SUMMARIES,),
        f"{_FIGURES}.lines:tidy_size",
        f"{_FIGURES}.lines:draw",
        wanted=_has_six,
    ),
    Plan(
        "figure",
        "worldsense_depth",
        "Depth and open worlds",
        "difficulty",
        "Accuracy by the smallest number of relations that decide one of a tuple's trials, and by the number of worlds that the "
        "description leaves open, with 95% intervals over skins.",
        (SUMMARIES,),
        f"{_FIGURES}.lines:tidy_depth",
        f"{_FIGURES}.lines:draw",
        wanted=_has_normal,
    ),
    Plan(
        "figure",
        "worldsense_places",
        "Where answers are wrong",
        "difficulty",
        "Share of wrong answers by the two places in the line that a binary question is about (1: first of "
        "all), averaged over models.",
        (SUMMARIES,),
        f"{_FIGURES}.maps:tidy_places",
        f"{_FIGURES}.maps:draw_places",
        wanted=_has_places,
    ),
    Plan(
        "figure",
        "worldsense_skins",
        "Skins by problem",
        "skins",
        "Accuracy by skin and problem, averaged over models. White is chance.",
        (SUMMARIES,),
        f"{_FIGURES}.maps:tidy_skins",
        f"{_FIGURES}.maps:draw_skins",
        wanted=_asked,
    ),
)
