"""What the analysis makes of judgements."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.contracts.keys import PREFERENCES
from worldprobe.benchmarks.ewok.eval_types import JUDGED_TYPES
from worldprobe.contracts import Table, column, results


class Summaries(results.Summaries):
    """Means per model, eval type and group, over versions and in each (EWoK, Tables 1 and 2).

    Metrics: accuracy (ties 0.5), strict (ties 0), both_right, context_sensitivity. Groupings: overall, domain, concept,
    context_type, context_contrast, target_contrast.
    """

    eval_type: str = column(isin=JUDGED_TYPES)
    low: float = column(ge=0, le=1, nullable=True, description="Lowest version mean (condition all).")
    high: float = column(ge=0, le=1, nullable=True)
    n_ties: int = column(ge=0, description="Target rows that were exact ties.")
    n_near_ties: int = column(ge=0)
    n_missing: int = column(ge=0, description="Target rows without an answer or a score.")


class Coefficients(Table):
    """Fixed effects of a logistic regression on accuracy (EWoK, Appendix A.5); notes and variances are in the provenance."""

    fit: str = column(isin=["mixed_model", "fixed_effects"])
    position: int = column(ge=0, description="Order in the printed table.")
    group: str = column(isin=["domain", "context_contrast", "target_contrast", "context_type", "surface_features"])
    term: str = column(description="Level or feature: social-interactions, antonym, direct, log_frequency, ...")
    label: str = column(description="As it is printed: antonym vs. rest, number of words, ...")
    estimate: float = column(nullable=True, description="Log odds.")
    std_error: float = column(nullable=True)
    z: float = column(nullable=True)
    p: float = column(ge=0, le=1, nullable=True)
    stars: str = column(isin=["", "*", "**", "***"])
    ci_low: float = column(nullable=True, description="95% Wald interval.")
    ci_high: float = column(nullable=True)

    class Config(Table.Config):
        name = "coefficients"
        unique = ["fit", "group", "term"]
        metadata = {"version": 1, "key": ["fit", "position"]}


class FeatureMeans(Table):
    """Accuracy and surface features, per model, domain and version: the points of the paper's scatter panels."""

    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    domain: str
    version: int
    accuracy: float = column(ge=0, le=1, nullable=True)
    word2vec: float = column(ge=0, le=1, nullable=True, description="Accuracy of the word2vec baseline.")
    n_words: float = column(nullable=True)
    log_frequency: float = column(nullable=True)
    n_items: int = column(ge=0)

    class Config(Table.Config):
        name = "feature_means"
        unique = ["model", "eval_type", "domain", "version"]
        metadata = {"version": 1, "key": ["model", "eval_type", "domain", "version"]}


class Correlations(Table):
    """Pearson's r between accuracy and a surface feature, per model (EWoK, Figure 5 D-F)."""

    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    feature: str = column(isin=["word2vec", "n_words", "log_frequency"])
    unit: str = column(isin=["domain_version", "item"], description="What one point is; the paper: domain x version.")
    r: float = column(ge=-1, le=1, nullable=True, description="Missing where either side does not vary.")
    p: float = column(ge=0, le=1, nullable=True)
    stars: str = column(isin=["", "*", "**", "***"])
    ci_low: float = column(ge=-1, le=1, nullable=True, description="95%, for other clusters and versions.")
    ci_high: float = column(ge=-1, le=1, nullable=True)
    p_paper: float = column(ge=0, le=1, nullable=True, description="The paper's way: as if the points were independent.")
    n: int = column(ge=0, description="Points.")
    n_clusters: int = column(ge=0, description="Domains, or pairs of concepts for items.")

    class Config(Table.Config):
        name = "correlations"
        unique = ["model", "eval_type", "feature", "unit"]
        metadata = {"version": 2, "key": ["feature", "unit", "eval_type", "model"]}


class Agreements(Table):
    """Choice against the choice that Likert implies, per model and prompting set-up (EWoK, Figure 7): the confusion matrix."""

    model: str
    setup: str = column(description="generation_shots, e.g. constrained_two.")
    likert: str = column(isin=PREFERENCES, description="The context with the higher rating; none: equal ratings.")
    choice: str = column(isin=PREFERENCES, description="The context chosen; none: the answer followed the position.")
    n: int = column(ge=0, description="Target rows.")
    share: float = column(ge=0, le=1, nullable=True, description="Of the model's rows in this set-up.")

    class Config(Table.Config):
        name = "agreements"
        unique = ["model", "setup", "likert", "choice"]
        metadata = {"version": 1, "key": ["model", "setup", "likert", "choice"]}


class Comparisons(Table):
    """Two models on the same items: difference of mean accuracy, interval and test."""

    model_a: str
    model_b: str
    eval_type: str = column(isin=JUDGED_TYPES)
    grouping: str = column(isin=["overall", "domain"])
    group: str
    mean_a: float = column(ge=0, le=1)
    mean_b: float = column(ge=0, le=1)
    difference: float = column(ge=-1, le=1, description="mean_a - mean_b, means over versions.")
    ci_low: float = column(
        ge=-1,
        le=1,
        nullable=True,
        description="95%, for other clusters (provenance: pairs of concepts or templates) and versions.",
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    p: float = column(ge=0, le=1, nullable=True, description="Two-sided; missing where status is not ok.")
    status: str = column(isin=results.STATUSES, description="one_version: the interval is about these fillings only.")
    p_holm: float = column(ge=0, le=1, nullable=True, description="Holm's correction over the rows of the same grouping.")
    n_items: int = column(gt=0)
    n_templates: int = column(gt=0)
    n_clusters: int = column(gt=0, description="Pairs of concepts, or templates.")
    n_versions: int = column(gt=0, description="Versions, or items of each template.")
    n_a_better: int = column(ge=0, description="Items.")
    n_b_better: int = column(ge=0)
    n_equal: int = column(ge=0)
    sentence: str = column(description="The finding in plain words.")

    class Config(Table.Config):
        name = "comparisons"
        unique = ["model_a", "model_b", "eval_type", "grouping", "group"]
        metadata = {"version": 3, "key": ["eval_type", "model_a", "model_b", "grouping", "group"]}


class ConditionComparisons(Table):
    """A model in two conditions of a study, paired by template: difference of mean accuracy, interval and test."""

    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    reference: str = column(description="Name of the study's first condition.")
    condition: str = column(description="Name of the condition that is compared with it.")
    grouping: str = column(isin=["overall", "domain"])
    group: str
    mean_reference: float = column(ge=0, le=1, description="Mean over the templates that both conditions have.")
    mean_condition: float = column(ge=0, le=1)
    min_reference: float = column(ge=0, le=1, description="Lowest mean of a version over these templates.")
    max_reference: float = column(ge=0, le=1, description="Highest mean of a version.")
    min_condition: float = column(ge=0, le=1)
    max_condition: float = column(ge=0, le=1)
    n_versions_reference: int = column(gt=0, description="Versions, or samples of each template.")
    n_versions_condition: int = column(gt=0)
    difference: float = column(ge=-1, le=1, description="mean_condition - mean_reference.")
    ci_low: float = column(ge=-1, le=1, nullable=True, description="95%, as in comparisons.")
    ci_high: float = column(ge=-1, le=1, nullable=True)
    p: float = column(ge=0, le=1, nullable=True, description="Two-sided; missing where status is not ok.")
    status: str = column(isin=results.STATUSES, description="As in comparisons.")
    p_holm: float = column(ge=0, le=1, nullable=True, description="Holm's correction over the rows of the same grouping.")
    n_templates: int = column(gt=0, description="Templates with an accuracy in both conditions.")
    n_clusters: int = column(gt=0)
    n_items_reference: int = column(gt=0, description="Items of these templates.")
    n_items_condition: int = column(gt=0)
    sentence: str = column(description="The finding in plain words.")

    class Config(Table.Config):
        name = "condition_comparisons"
        unique = ["model", "eval_type", "reference", "condition", "grouping", "group"]
        metadata = {"version": 3, "key": ["eval_type", "condition", "model", "grouping", "group"]}


class Reproduction(Table):
    """Every published number next to ours (or, compared_with: repository, next to the authors' other table)."""

    position: int = column(ge=0)
    compared_with: str = column(isin=["ours", "repository"])
    block: str = column(description="Published table: table1, table2, mixed_model, ...")
    quantity: str = column(description="mean, min, max, llm_average, llm_best, human, estimate, stars, n_items, ...")
    model: str = column(nullable=True)
    eval_type: str = column(nullable=True)
    group: str = column(nullable=True, description="Domain or term.")
    printed: str = column(description="As printed.")
    published: float = column(nullable=True)
    ours: float = column(nullable=True)
    ours_printed: str = column(description="Ours, rounded as the published number is.")
    difference: float = column(nullable=True, description="ours - published.")
    tolerance: float = column(nullable=True, description="Half a unit of the last printed digit.")
    status: str = column(isin=["within_rounding", "differs", "not_run", "not_comparable"])
    reason: str = column(description="Why not, where it is known; empty otherwise.")

    class Config(Table.Config):
        name = "reproduction"
        unique = ["position"]
        metadata = {"version": 1, "key": ["position"]}
