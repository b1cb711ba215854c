"""The tables of EWoK: one schema each, written and read only through ``worldprobe.contracts``."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.vocabulary import (
    ACCURACIES,
    CONTEXT_TYPES,
    EVAL_TYPES,
    FILLINGS,
    JUDGED_TYPES,
    TARGET_CONTRASTS,
)
from worldprobe.contracts import Table, column, results
from worldprobe.models.registry import BASELINES

ITEM_ID = r"^[A-Za-z0-9-]+_\d+_\d+_v\d+$"
TEMPLATE_ID = r"^[A-Za-z0-9-]+_\d+_\d+$"
#: what a pair of answers about one target says: a context, no preference, or nothing readable.
PREFERENCES = ("context1", "context2", "none", "missing")


class Templates(
    Table,
    name="templates",
    version=2,
    key=["domain", "meta_template", "template"],
    unique=["template_id"],
):
    """Minimal pairs of pairs with open slots, e.g. ``{object1:large=true}`` (EWoK, Section 3)."""

    template_id: str = column(str_matches=TEMPLATE_ID)
    domain: str
    meta_template: int = column(
        gt=0, description="Counts units per domain from 1 (target x context x segment)."
    )
    template: int = column(gt=0, description="Counts the templates of a unit from 1.")
    concept_a: str
    concept_b: str = column(nullable=True)
    target1: str
    target2: str
    target_contrast: str = column(isin=TARGET_CONTRASTS)
    context1: str
    context2: str
    context_contrast: str = column(
        nullable=True, description="The materials' label; contrast_group groups it."
    )
    context_type: str = column(isin=CONTEXT_TYPES)
    situation: str = column(
        description="Templates whose contexts say nearly the same share it; named after the first."
    )
    family: str = column(
        optional=True,
        description="Templates that differ from others of their base in one thing, the level.",
    )
    base: str = column(optional=True, description="Its name in the family.")
    level: int = column(
        optional=True, description="How much of that thing: steps of inference, negations, ..."
    )
    culture_bound: str = column(
        optional=True,
        description="What in it not all cultures share: climate, custom, money, units.",
    )
    adversarial: str = column(
        optional=True,
        isin=["inside", "outside"],
        description="Inside: words' relatedness points the wrong way.",
    )


class Items(
    Table,
    name="items",
    version=2,
    key=["version", "domain", "meta_template", "template"],
    unique=["item_id"],
):
    """Templates with their slots filled: the unit that is scored."""

    item_id: str = column(str_matches=ITEM_ID, description="domain_meta_template_vN")
    domain: str = column(description="Domain of knowledge.")
    version: int = column(
        ge=0, description="Version of the fixed filling, or number of the independent sample."
    )
    meta_template: int = column(gt=0, description="Number of the unit within its domain, from 1.")
    template: int = column(gt=0, description="Number of the template within its unit, from 1.")
    context1: str = column(description="Target 1 fits this context, target 2 does not.")
    context2: str = column(description="Target 2 fits this context, target 1 does not.")
    target1: str = column(description="Sentence that fits context 1.")
    target2: str = column(description="Sentence that fits context 2.")
    concept_a: str = column(description="Concept that the targets ask about.")
    concept_b: str = column(
        nullable=True, description="Concept that it is contrasted with, where there is one."
    )
    context_contrast: str = column(nullable=True, description="How the two contexts differ.")
    context_type: str = column(
        isin=CONTEXT_TYPES, description="Whether the context names the concept or implies it."
    )
    target_contrast: str = column(isin=TARGET_CONTRASTS, description="How the two targets differ.")
    situation: str = column(
        optional=True, description="Items whose contexts say nearly the same share it."
    )
    family: str = column(
        optional=True,
        description="Items that differ from others of their base in one thing, the level.",
    )
    base: str = column(optional=True, description="Its name in the family.")
    level: int = column(
        optional=True, description="How much of that thing: steps of inference, negations, ..."
    )
    culture_bound: str = column(
        optional=True,
        description="What in it not all cultures share: climate, custom, money, units.",
    )
    adversarial: str = column(
        optional=True,
        isin=["inside", "outside"],
        description="Inside: words' relatedness points the wrong way.",
    )
    fillers: str = column(
        description="JSON object: slot key -> filler text, keys in code-point order."
    )
    tags: str = column(description="The slot keys in code-point order, joined by commas.")
    duplicate_of: str = column(
        nullable=True, description="item_id of an earlier item with the same four texts."
    )


class SurfaceFeatures(Table, name="surface_features", version=1, key=["item_id", "target"]):
    """Surface properties of each target sentence with its two contexts (EWoK, Appendix A.5): (C1 +
    C2) / 2 + T.
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    n_words: float = column(gt=0, description="Words.")
    log_frequency: float = column(
        nullable=True, description="Mean log word frequency; provenance: source, unit."
    )


class TargetScores(Table, name="target_scores", version=1, key=["item_id", "target", "context"]):
    """LogProbs evidence: one row per item, target and context (0: no context, where that was
    asked).
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[0, 1, 2])
    logprob: float = column(
        le=0, nullable=True, description="Sum over the target's tokens, nats; missing: see flags."
    )
    n_tokens: int = column(ge=0, description="Target tokens that were scored; 0 where imported.")
    flags: str = column(description="Comma-joined, from models.engine.FLAGS.")


class TokenScores(
    Table, name="token_scores", version=1, key=["item_id", "target", "context", "position"]
):
    """LogProbs evidence, token by token, on request: the summands of ``TargetScores``. Holds item
    text.
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[0, 1, 2])
    position: int = column(ge=0, description="Counts the target's scored tokens from 0.")
    token: str = column(description="As the tokenizer names it.")
    logprob: float = column(nullable=True, description="Nats.")


class Responses(Table, name="responses", version=1, key=["item_id", "eval_type", "presentation"]):
    """Prompting evidence: one row per prompt (EWoK, Appendix A.4)."""

    item_id: str = column(str_matches=ITEM_ID)
    eval_type: str = column(isin=EVAL_TYPES[1:])
    presentation: str = column(
        str_matches=r"^t[12](c[12]|s)?$",
        description="likert: t1c1 to t2c2; choice: t1, t2 and, contexts swapped, t1s, t2s.",
    )
    prompt_digest: str = column(str_matches=r"^[0-9a-f]{64}$")
    text: str = column(description="What the model wrote.")
    value: float = column(
        nullable=True, description="The parsed rating or choice; missing where none was found."
    )
    status: str = column(
        isin=["ok", "no_numeral", "out_of_range", "truncated", "not_finite", "failed"]
    )


class Similarities(Table, name="similarities", version=1, key=["item_id", "target", "context"]):
    """Baseline evidence: cosine of the vectors of target and context (EWoK, Appendix A.5)."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[1, 2])
    similarity: float = column(
        ge=-1.000001, le=1.000001, nullable=True, description="Missing: nothing of a text is known."
    )


class Ratings(Table, name="ratings", version=2, key=["item_id", "target", "context"]):
    """Human plausibility ratings, averaged over raters: one row per item, target and context (EWoK,
    Section 4).
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[1, 2])
    rating: float = column(
        nullable=True, description="Mean over raters, on the scale shown (1-5 in the paper)."
    )
    n_raters: float = column(
        ge=0, nullable=True, description="Ratings averaged; missing: the file gives means alone."
    )
    sd: float = column(
        ge=0,
        nullable=True,
        description="Standard deviation (n - 1) over raters; missing below two.",
    )


class Judgements(
    Table, name="judgements", version=1, key=["model", "eval_type", "item_id", "target"]
):
    """Accuracy evidence: one row per item, target, model and eval_type, with the item's design and
    no item text.
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    accuracy: float = column(
        isin=ACCURACIES, nullable=True, description="1, 0.5 (exact tie), 0; missing: see status."
    )
    is_tie: bool
    is_near_tie: bool = column(
        description="Not a tie, but within the tolerance that the provenance states."
    )
    status: str = column(isin=["ok", "missing_response", "missing_score"])
    domain: str
    version: int
    meta_template: int
    template: int
    concept_a: str
    concept_b: str = column(nullable=True)
    context_contrast: str = column(nullable=True, description="As the materials label it.")
    context_type: str = column(isin=CONTEXT_TYPES)
    target_contrast: str = column(isin=TARGET_CONTRASTS)
    filling: str = column(
        optional=True, isin=FILLINGS, description="Whether items of a version share their fillings."
    )
    dtype: str = column(optional=True, description="Precision of the log probabilities.")
    taught: str = column(
        optional=True,
        description="Kinds of documents of these materials that the model was trained on here.",
    )


#: the tables that can be judged.
EVIDENCE: tuple[type[Table], ...] = (TargetScores, Responses, Similarities, Ratings)


class Summaries(results.Summaries):
    """Means per model, eval type and group, over versions and in each (EWoK, Tables 1 and 2).

    Metrics: accuracy (ties 0.5), strict (ties 0), both_right, context_sensitivity. Groupings:
    overall, domain, concept, context_type, context_contrast and target_contrast.
    """

    eval_type: str = column(isin=JUDGED_TYPES)
    low: float = column(
        ge=0, le=1, nullable=True, description="Lowest version mean (condition all)."
    )
    high: float = column(ge=0, le=1, nullable=True)
    n_ties: int = column(ge=0, description="Target rows that were exact ties.")
    n_near_ties: int = column(ge=0)
    n_missing: int = column(ge=0, description="Target rows without an answer or a score.")


class Coefficients(
    Table, name="coefficients", version=2, key=["fit", "position"], unique=["fit", "group", "term"]
):
    """Fixed effects of a logistic regression on accuracy (EWoK, Appendix A.5); notes and variances
    are in the provenance.
    """

    fit: str = column(isin=["mixed_model", "fixed_effects"])
    position: int = column(ge=0, description="Order in the printed table.")
    group: str = column(
        isin=["domain", "context_contrast", "target_contrast", "context_type", "surface_features"]
    )
    term: str = column(
        description="Level or feature: social-interactions, antonym, direct, log_frequency, ..."
    )
    label: str = column(description="As it is printed: antonym vs. rest, number of words, ...")
    estimate: float = column(nullable=True, description="Log odds.")
    std_error: float = column(nullable=True)
    z: float = column(nullable=True)
    df: float = column(
        ge=1, nullable=True, description="Degrees of freedom of the test; missing: the normal one."
    )
    p: float = column(ge=0, le=1, nullable=True)
    stars: str = column(isin=["", "*", "**", "***"])
    detectable: float = column(
        ge=0,
        nullable=True,
        description="The smallest true effect that this test finds in 80% of such samples.",
    )
    ci_low: float = column(
        nullable=True,
        description="95%, for others of what has random effects (fixed effects: of items).",
    )
    ci_high: float = column(nullable=True)


class FeatureMeans(
    Table, name="feature_means", version=2, key=["model", "eval_type", "domain", "version"]
):
    """Accuracy and surface features, per model, domain and version: the points of the paper's
    scatter panels.
    """

    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    domain: str
    version: int
    accuracy: float = column(ge=0, le=1, nullable=True)
    word2vec: float = column(
        ge=0, le=1, nullable=True, description="Accuracy of the word2vec baseline."
    )
    wordnet: float = column(
        ge=0, le=1, nullable=True, description="Accuracy of the WordNet baseline."
    )
    sentence_vectors: float = column(
        ge=0, le=1, nullable=True, description="Accuracy of the baseline of sentence vectors."
    )
    n_words: float = column(nullable=True)
    log_frequency: float = column(nullable=True)
    n_items: int = column(ge=0)


class Correlations(
    Table, name="correlations", version=3, key=["feature", "unit", "eval_type", "model"]
):
    """Pearson's r between accuracy and a surface feature, per model (EWoK, Figure 5 D-F)."""

    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    feature: str = column(isin=[*BASELINES, "n_words", "log_frequency"])
    unit: str = column(
        isin=["domain_version", "item"],
        description="What one point is; the paper: domain x version.",
    )
    r: float = column(
        ge=-1, le=1, nullable=True, description="Missing where either side does not vary."
    )
    p: float = column(ge=0, le=1, nullable=True)
    stars: str = column(isin=["", "*", "**", "***"])
    detectable: float = column(
        ge=0,
        le=1,
        nullable=True,
        description="The smallest true r that p finds in 80% of such samples.",
    )
    ci_low: float = column(
        ge=-1, le=1, nullable=True, description="95%, for other clusters and versions."
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    p_paper: float = column(
        ge=0, le=1, nullable=True, description="The paper's way: as if the points were independent."
    )
    n: int = column(ge=0, description="Points.")
    n_clusters: int = column(ge=0, description="Domains, or pairs of concepts for items.")


class Agreements(Table, name="agreements", version=1, key=["model", "setup", "likert", "choice"]):
    """Choice against the choice that Likert implies, per model and prompting set-up (EWoK, Figure
    7): the confusion matrix.
    """

    model: str
    setup: str = column(description="generation_shots, e.g. constrained_two.")
    likert: str = column(
        isin=PREFERENCES, description="The context with the higher rating; none: equal ratings."
    )
    choice: str = column(
        isin=PREFERENCES, description="The context chosen; none: the answer followed the position."
    )
    n: int = column(ge=0, description="Target rows.")
    share: float = column(
        ge=0, le=1, nullable=True, description="Of the model's rows in this set-up."
    )


class Comparisons(results.Comparisons, version=6):
    """Two models on the same items, over versions; corrected over the rows of the same grouping."""

    grouping: str = column(isin=(results.OVERALL, "domain"))
    n_templates: int = column(gt=0)
    n_versions: int = column(gt=0, description="Versions, or items of each template.")
    n_a_better: int = column(ge=0, description="Items.")
    n_b_better: int = column(ge=0)
    n_equal: int = column(ge=0)
    n_targets: int = column(ge=0, description="Targets of these items.")
    n_tied_a: int = column(ge=0, description="Ties and near ties among them.")
    n_tied_b: int = column(ge=0)
    dtype_a: str = column(description="Precision; empty of a baseline.")
    dtype_b: str
    enough_versions: int = column(
        ge=0, description="Versions that halve the smallest difference found; 0: none do."
    )
    finding: str = column(description="What may be said.")


class Reproduction(results.Reproduction):
    """Every published number next to ours (or, compared_with: repository, next to the authors'
    other table).
    """

    compared_with: str = column(isin=["ours", "repository"])


class Likeness(Table, name="likeness", version=1, key=["model", "eval_type"]):
    """How a model's preferences follow people's: Pearson's r of differences between contexts, over
    items and targets.
    """

    model: str
    eval_type: str = column(isin=EVAL_TYPES)
    r: float = column(
        ge=-1, le=1, nullable=True, description="Missing where either side does not vary."
    )
    ci_low: float = column(
        ge=-1, le=1, nullable=True, description="95 %, pairs of concepts drawn again."
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    ceiling: float = column(
        ge=0, le=1, nullable=True, description="r that a model of people without noise would reach."
    )
    n: int = column(ge=0, description="Targets for which both have a difference.")


class HumanStatistics(
    Table, name="human_statistics", version=1, key=["quantity", "eval_type", "grouping", "group"]
):
    """Numbers about people, with intervals over templates and the people asked (EWoK, Section 4.4
    and Appendix B.1).
    """

    quantity: str = column(
        isin=[
            "accuracy",
            "split_half_r",
            "noise_ceiling_r",
            "label_r",
            "label_r_binarised",
            "likert_choice_r",
            "n_people",
        ],
        description=(
            "split_half_r: Spearman-Brown; noise_ceiling_r: its square root; likert_choice_r: over"
            " items and targets."
        ),
    )
    eval_type: str = column(isin=["likert", "choice"])
    grouping: str = column(
        description="overall, domain, version, context_type, context_contrast, target_contrast."
    )
    group: str
    value: float = column(nullable=True, description="Missing: not defined.")
    ci_low: float = column(nullable=True, description="95 %, for other items and people.")
    ci_high: float = column(nullable=True)
    n: int = column(ge=0, description="Targets, sub-items or, for n_people, answers.")


class ControlDocuments(Table, name="control_documents", version=2, key=["document"]):
    """The control models' corpus: stories and items (a context and its right target), and single
    sentences.
    """

    document: int = column(
        ge=0, description="Place in the corpus; the order is shuffled by the seed."
    )
    kind: str = column(
        isin=["story", "item", "context", "target"],
        description=(
            "story: in a filling that the default study does not ask; item: as that asks it in its"
            " first version."
        ),
    )
    template_id: str = column(str_matches=TEMPLATE_ID)
    number: int = column(
        isin=[1, 2], description="Which context or target; in a story or item, of both."
    )
    start: int = column(
        ge=0, description="Character at which begins what a model learns to continue: the target."
    )
    text: str
