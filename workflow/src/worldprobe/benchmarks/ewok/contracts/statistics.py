"""What the analysis makes of judgements."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from worldprobe.benchmarks.ewok.contracts.keys import PREFERENCES
from worldprobe.benchmarks.ewok.ways import JUDGED_TYPES
from worldprobe.contracts.table import Table


class Summaries(Table):
    """Means per model, eval_type and group, over versions (EWoK, Tables 1 and 2)."""

    model: Series[str]
    eval_type: Series[str] = pa.Field(isin=JUDGED_TYPES)
    metric: Series[str] = pa.Field(description="accuracy (ties 0.5), strict (ties 0), both_right, context_sensitivity.")
    grouping: Series[str] = pa.Field(description="overall, domain, concept, context_type, context_contrast, target_contrast.")
    group: Series[str]
    version: Series[int] = pa.Field(ge=-1, description="-1: the mean over versions.")
    mean: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    low: Series[float] = pa.Field(ge=0, le=1, nullable=True, description="Lowest version mean (row -1).")
    high: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    ci_low: Series[float] = pa.Field(ge=0, le=1, nullable=True, description="95% bootstrap over clusters and versions (row -1).")
    ci_high: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    n_items: Series[int] = pa.Field(ge=0)
    n_ties: Series[int] = pa.Field(ge=0, description="Target rows that were exact ties.")
    n_near_ties: Series[int] = pa.Field(ge=0)
    n_missing: Series[int] = pa.Field(ge=0, description="Target rows without an answer or a score.")

    class Config(Table.Config):
        name = "summaries"
        unique = ["model", "eval_type", "metric", "grouping", "group", "version"]
        metadata = {"version": 1, "key": ["model", "eval_type", "metric", "grouping", "group", "version"]}


class Coefficients(Table):
    """Fixed effects of a logistic regression on accuracy (EWoK, Appendix A.5); notes and variances are in the provenance."""

    fit: Series[str] = pa.Field(isin=["mixed_model", "fixed_effects"])
    position: Series[int] = pa.Field(ge=0, description="Order in the printed table.")
    group: Series[str] = pa.Field(isin=["domain", "context_contrast", "target_contrast", "context_type", "surface_features"])
    term: Series[str] = pa.Field(description="Level or feature: social-interactions, antonym, direct, log_frequency, ...")
    label: Series[str] = pa.Field(description="As it is printed: antonym vs. rest, number of words, ...")
    estimate: Series[float] = pa.Field(nullable=True, description="Log odds.")
    std_error: Series[float] = pa.Field(nullable=True)
    z: Series[float] = pa.Field(nullable=True)
    p: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    stars: Series[str] = pa.Field(isin=["", "*", "**", "***"])
    ci_low: Series[float] = pa.Field(nullable=True, description="95% Wald interval.")
    ci_high: Series[float] = pa.Field(nullable=True)

    class Config(Table.Config):
        name = "coefficients"
        unique = ["fit", "group", "term"]
        metadata = {"version": 1, "key": ["fit", "position"]}


class FeatureMeans(Table):
    """Accuracy and surface features, per model, domain and version: the points of the paper's scatter panels."""

    model: Series[str]
    eval_type: Series[str] = pa.Field(isin=JUDGED_TYPES)
    domain: Series[str]
    version: Series[int]
    accuracy: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    word2vec: Series[float] = pa.Field(ge=0, le=1, nullable=True, description="Accuracy of the word2vec baseline.")
    n_words: Series[float] = pa.Field(nullable=True)
    log_frequency: Series[float] = pa.Field(nullable=True)
    n_items: Series[int] = pa.Field(ge=0)

    class Config(Table.Config):
        name = "feature_means"
        unique = ["model", "eval_type", "domain", "version"]
        metadata = {"version": 1, "key": ["model", "eval_type", "domain", "version"]}


class Correlations(Table):
    """Pearson's r between accuracy and a surface feature, per model (EWoK, Figure 5 D-F)."""

    model: Series[str]
    eval_type: Series[str] = pa.Field(isin=JUDGED_TYPES)
    feature: Series[str] = pa.Field(isin=["word2vec", "n_words", "log_frequency"])
    unit: Series[str] = pa.Field(isin=["domain_version", "item"], description="What one point is; the paper: domain x version.")
    r: Series[float] = pa.Field(ge=-1, le=1, nullable=True, description="Missing where either side does not vary.")
    p: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    stars: Series[str] = pa.Field(isin=["", "*", "**", "***"])
    ci_low: Series[float] = pa.Field(ge=-1, le=1, nullable=True, description="95%, Fisher's z.")
    ci_high: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    n: Series[int] = pa.Field(ge=0, description="Points.")

    class Config(Table.Config):
        name = "correlations"
        unique = ["model", "eval_type", "feature", "unit"]
        metadata = {"version": 1, "key": ["feature", "unit", "eval_type", "model"]}


class Agreements(Table):
    """Choice against the choice that Likert implies, per model and prompting set-up (EWoK, Figure 7): the confusion matrix."""

    model: Series[str]
    setup: Series[str] = pa.Field(description="generation_shots, e.g. constrained_two.")
    likert: Series[str] = pa.Field(isin=PREFERENCES, description="The context with the higher rating; none: equal ratings.")
    choice: Series[str] = pa.Field(isin=PREFERENCES, description="The context chosen; none: the answer followed the position.")
    n: Series[int] = pa.Field(ge=0, description="Target rows.")
    share: Series[float] = pa.Field(ge=0, le=1, nullable=True, description="Of the model's rows in this set-up.")

    class Config(Table.Config):
        name = "agreements"
        unique = ["model", "setup", "likert", "choice"]
        metadata = {"version": 1, "key": ["model", "setup", "likert", "choice"]}


class Comparisons(Table):
    """Two models on the same items: difference of mean accuracy, interval and paired permutation test."""

    model_a: Series[str]
    model_b: Series[str]
    eval_type: Series[str] = pa.Field(isin=JUDGED_TYPES)
    grouping: Series[str] = pa.Field(isin=["overall", "domain"])
    group: Series[str]
    mean_a: Series[float] = pa.Field(ge=0, le=1)
    mean_b: Series[float] = pa.Field(ge=0, le=1)
    difference: Series[float] = pa.Field(ge=-1, le=1, description="mean_a - mean_b, means over versions.")
    ci_low: Series[float] = pa.Field(
        ge=-1, le=1, nullable=True, description="95% bootstrap over clusters (provenance: pairs of concepts or templates)."
    )
    ci_high: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    p: Series[float] = pa.Field(ge=0, le=1, description="Two-sided; signs of the clusters' differences flipped at random.")
    p_holm: Series[float] = pa.Field(ge=0, le=1, description="Holm's correction over the rows of the same grouping.")
    ci_low_templates: Series[float] = pa.Field(
        ge=-1, le=1, nullable=True, description="The same with every template as a cluster of its own: usually too narrow."
    )
    ci_high_templates: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    p_templates: Series[float] = pa.Field(ge=0, le=1)
    n_items: Series[int] = pa.Field(gt=0)
    n_templates: Series[int] = pa.Field(gt=0)
    n_clusters: Series[int] = pa.Field(gt=0, description="What was flipped and drawn as a whole.")
    n_a_better: Series[int] = pa.Field(ge=0, description="Items.")
    n_b_better: Series[int] = pa.Field(ge=0)
    n_equal: Series[int] = pa.Field(ge=0)
    sentence: Series[str] = pa.Field(description="The finding in plain words.")

    class Config(Table.Config):
        name = "comparisons"
        unique = ["model_a", "model_b", "eval_type", "grouping", "group"]
        metadata = {"version": 2, "key": ["eval_type", "model_a", "model_b", "grouping", "group"]}


class ConditionComparisons(Table):
    """A model in two conditions of a study, paired by template: difference of mean accuracy, interval and permutation test."""

    model: Series[str]
    eval_type: Series[str] = pa.Field(isin=JUDGED_TYPES)
    reference: Series[str] = pa.Field(description="Name of the study's first condition.")
    condition: Series[str] = pa.Field(description="Name of the condition that is compared with it.")
    grouping: Series[str] = pa.Field(isin=["overall", "domain"])
    group: Series[str]
    mean_reference: Series[float] = pa.Field(ge=0, le=1, description="Mean over the templates that both conditions have.")
    mean_condition: Series[float] = pa.Field(ge=0, le=1)
    min_reference: Series[float] = pa.Field(ge=0, le=1, description="Lowest mean of a version over these templates.")
    max_reference: Series[float] = pa.Field(ge=0, le=1, description="Highest mean of a version.")
    min_condition: Series[float] = pa.Field(ge=0, le=1)
    max_condition: Series[float] = pa.Field(ge=0, le=1)
    n_versions_reference: Series[int] = pa.Field(gt=0, description="Versions, or samples of each template.")
    n_versions_condition: Series[int] = pa.Field(gt=0)
    difference: Series[float] = pa.Field(ge=-1, le=1, description="mean_condition - mean_reference.")
    ci_low: Series[float] = pa.Field(ge=-1, le=1, nullable=True, description="95% bootstrap over clusters, as in comparisons.")
    ci_high: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    p: Series[float] = pa.Field(ge=0, le=1, description="Two-sided; signs of the clusters' differences flipped at random.")
    p_holm: Series[float] = pa.Field(ge=0, le=1, description="Holm's correction over the rows of the same grouping.")
    n_templates: Series[int] = pa.Field(gt=0, description="Templates with an accuracy in both conditions.")
    n_clusters: Series[int] = pa.Field(gt=0)
    n_items_reference: Series[int] = pa.Field(gt=0, description="Items of these templates.")
    n_items_condition: Series[int] = pa.Field(gt=0)
    sentence: Series[str] = pa.Field(description="The finding in plain words.")

    class Config(Table.Config):
        name = "condition_comparisons"
        unique = ["model", "eval_type", "reference", "condition", "grouping", "group"]
        metadata = {"version": 2, "key": ["eval_type", "condition", "model", "grouping", "group"]}


class Reproduction(Table):
    """Every published number next to ours (or, compared_with: repository, next to the authors' other table)."""

    position: Series[int] = pa.Field(ge=0)
    compared_with: Series[str] = pa.Field(isin=["ours", "repository"])
    block: Series[str] = pa.Field(description="Published table: table1, table2, mixed_model, ...")
    quantity: Series[str] = pa.Field(description="mean, min, max, llm_average, llm_best, human, estimate, stars, n_items, ...")
    model: Series[str] = pa.Field(nullable=True)
    eval_type: Series[str] = pa.Field(nullable=True)
    group: Series[str] = pa.Field(nullable=True, description="Domain or term.")
    printed: Series[str] = pa.Field(description="As printed.")
    published: Series[float] = pa.Field(nullable=True)
    ours: Series[float] = pa.Field(nullable=True)
    ours_printed: Series[str] = pa.Field(description="Ours, rounded as the published number is.")
    difference: Series[float] = pa.Field(nullable=True, description="ours - published.")
    tolerance: Series[float] = pa.Field(nullable=True, description="Half a unit of the last printed digit.")
    status: Series[str] = pa.Field(isin=["within_rounding", "differs", "not_run", "not_comparable"])
    reason: Series[str] = pa.Field(description="Why not, where it is known; empty otherwise.")

    class Config(Table.Config):
        name = "reproduction"
        unique = ["position"]
        metadata = {"version": 1, "key": ["position"]}
