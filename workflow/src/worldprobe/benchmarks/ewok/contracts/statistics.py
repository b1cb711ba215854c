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


class Comparisons(results.Comparisons):
    """Two models on the same items, over versions; corrected over the rows of the same grouping."""

    grouping: str = column(isin=(results.OVERALL, "domain"))
    n_templates: int = column(gt=0)
    n_versions: int = column(gt=0, description="Versions, or items of each template.")
    n_a_better: int = column(ge=0, description="Items.")
    n_b_better: int = column(ge=0)
    n_equal: int = column(ge=0)
    sentence: str = column(description="The finding in plain words.")


class ConditionComparisons(results.Comparisons):
    """A model in a condition (a) of a study and in its first one (b), over versions, paired by template; n: templates."""

    grouping: str = column(isin=(results.OVERALL, "domain"))
    low_a: float = column(ge=0, le=1, description="Lowest mean of a version over these templates.")
    high_a: float = column(ge=0, le=1, description="Highest mean of a version.")
    low_b: float = column(ge=0, le=1)
    high_b: float = column(ge=0, le=1)
    n_versions_a: int = column(gt=0, description="Versions, or samples of each template.")
    n_versions_b: int = column(gt=0)
    n_items_a: int = column(gt=0, description="Items of these templates.")
    n_items_b: int = column(gt=0)
    sentence: str = column(description="The finding in plain words.")

    class Config(results.Comparisons.Config):
        name = "condition_comparisons"


class Reproduction(results.Reproduction):
    """Every published number next to ours (or, compared_with: repository, next to the authors' other table)."""

    compared_with: str = column(isin=["ours", "repository"])
