"""The tables of EWoK: one schema each, written and read only through ``worldprobe.contracts``."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.vocabulary import (
    ACCURACIES,
    BASELINE_FEATURES,
    CONTEXT_TYPES,
    EVAL_TYPES,
    FILLINGS,
    JUDGED_TYPES,
    SURFACE_FEATURES,
    TARGET_CONTRASTS,
)
from worldprobe.contracts import Table, column, results

ITEM_ID = r"^[A-Za-z0-9-]+_\d+_\d+_v\d+$"
TEMPLATE_ID = r"^[A-Za-z0-9-]+_\d+_\d+$"
#: metrics by which models are compared, and studies planned.
COMPARED = ("accuracy", "pairing")
#: A value of each, in words.
A_VALUE = {"accuracy": "an accuracy", "pairing": "a pairing"}
#: what a pair of answers about one target says: a context, no preference, or nothing readable.
PREFERENCES = ("context1", "context2", "none", "missing")


class FillerRows(Table, name="fillers", version=1, key=["number"]):
    """Fillers of open slots, in the order of the materials' files (EWoK, Section 3)."""

    number: int = column("Counts them from 1.", gt=0)
    filler_class: str
    text: str
    restrictions: str = column("What slots can ask of it: column -> value (JSON).")


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
        "Counts units per domain from 1 (target x context x segment).", gt=0
    )
    template: int = column("Counts the templates of a unit from 1.", gt=0)
    concept_a: str
    concept_b: str = column(nullable=True)
    target1: str
    target2: str
    target_contrast: str = column(isin=TARGET_CONTRASTS)
    context1: str
    context2: str
    context_contrast: str = column("The materials' label; contrast_group groups it.", nullable=True)
    context_type: str = column(isin=CONTEXT_TYPES)
    situation: str = column(
        "Templates whose contexts say nearly the same share it; named after the first."
    )
    family: str = column(
        "Templates that differ from others of their base in one thing, the level.", optional=True
    )
    base: str = column("Its name in the family.", optional=True)
    level: int = column("How much of that thing: steps of inference, negations, ...", optional=True)
    culture_bound: str = column(
        "What in it not all cultures share: climate, custom, money, units.", optional=True
    )
    adversarial: str = column(
        "Inside: words' relatedness points the wrong way.",
        optional=True,
        isin=["inside", "outside"],
    )


class Items(
    Table,
    name="items",
    version=2,
    key=["version", "domain", "meta_template", "template"],
    unique=["item_id"],
):
    """Templates with their slots filled: the unit that is scored."""

    item_id: str = column("domain_meta_template_vN", str_matches=ITEM_ID)
    domain: str = column("Domain of knowledge.")
    version: int = column(
        "Version of the fixed filling, or number of the independent sample.", ge=0
    )
    meta_template: int = column("Number of the unit within its domain, from 1.", gt=0)
    template: int = column("Number of the template within its unit, from 1.", gt=0)
    context1: str = column("Target 1 fits this context, target 2 does not.", min_length=1)
    context2: str = column("Target 2 fits this context, target 1 does not.", min_length=1)
    target1: str = column("Sentence that fits context 1.", min_length=1)
    target2: str = column("Sentence that fits context 2.", min_length=1)
    concept_a: str = column("Concept that the targets ask about.")
    concept_b: str = column(
        "Concept that it is contrasted with, where there is one.", nullable=True
    )
    context_contrast: str = column("How the two contexts differ.", nullable=True)
    context_type: str = column(
        "Whether the context names the concept or implies it.", isin=CONTEXT_TYPES
    )
    target_contrast: str = column("How the two targets differ.", isin=TARGET_CONTRASTS)
    situation: str = column("Items whose contexts say nearly the same share it.", optional=True)
    family: str = column(
        "Items that differ from others of their base in one thing, the level.", optional=True
    )
    base: str = column("Its name in the family.", optional=True)
    level: int = column("How much of that thing: steps of inference, negations, ...", optional=True)
    culture_bound: str = column(
        "What in it not all cultures share: climate, custom, money, units.", optional=True
    )
    adversarial: str = column(
        "Inside: words' relatedness points the wrong way.",
        optional=True,
        isin=["inside", "outside"],
    )
    fillers: str = column("JSON object: slot key -> filler text, keys in code-point order.")
    tags: str = column("The slot keys in code-point order, joined by commas.")
    duplicate_of: str = column(
        "item_id of an earlier item with the same four texts.", nullable=True
    )


class SurfaceFeatures(Table, name="surface_features", version=1, key=["item_id", "target"]):
    """Surface properties of each target sentence with its two contexts (EWoK, Appendix A.5): (C1 +
    C2) / 2 + T.
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    n_words: float = column("Words.", gt=0)
    log_frequency: float = column(
        "Mean log word frequency; provenance: source, unit.", nullable=True
    )


class TargetScores(Table, name="target_scores", version=1, key=["item_id", "target", "context"]):
    """LogProbs evidence: one row per item, target and context (0: no context, where that was
    asked).
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[0, 1, 2])
    logprob: float = column(
        "Sum over the target's tokens, nats; missing: see flags.", le=0, nullable=True
    )
    n_tokens: int = column("Target tokens that were scored; 0 where imported.", ge=0)
    flags: str = column("Comma-joined, from models.engine.FLAGS.")


class TokenScores(
    Table, name="token_scores", version=1, key=["item_id", "target", "context", "position"]
):
    """LogProbs evidence, token by token, on request: the summands of ``TargetScores``. Holds item
    text.
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[0, 1, 2])
    position: int = column("Counts the target's scored tokens from 0.", ge=0)
    token: str = column("As the tokenizer names it.")
    logprob: float = column("Nats.", nullable=True)


class Responses(Table, name="responses", version=1, key=["item_id", "eval_type", "presentation"]):
    """Prompting evidence: one row per prompt (EWoK, Appendix A.4)."""

    item_id: str = column(str_matches=ITEM_ID)
    eval_type: str = column(isin=EVAL_TYPES[1:])
    presentation: str = column(
        "likert: t1c1 to t2c2; choice: t1, t2 and, contexts swapped, t1s, t2s.",
        str_matches=r"^t[12](c[12]|s)?$",
    )
    prompt_digest: str = column(str_matches=r"^[0-9a-f]{64}$")
    text: str = column("What the model wrote.")
    value: float = column(
        "The parsed rating or choice; missing where none was found.", nullable=True
    )
    status: str = column(
        isin=[
            *("ok", "no_numeral", "out_of_range", "truncated", "not_finite", "content_filter"),
            *("refused", "failed"),
        ]
    )


class Similarities(Table, name="similarities", version=1, key=["item_id", "target", "context"]):
    """Baseline evidence: cosine of the vectors of target and context (EWoK, Section 4.3)."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[1, 2])
    similarity: float = column(
        "Missing: nothing of a text is known.", ge=-1.000001, le=1.000001, nullable=True
    )


class Ratings(Table, name="ratings", version=2, key=["item_id", "target", "context"]):
    """Human plausibility ratings, averaged over raters: one row per item, target and context (EWoK,
    Section 4).
    """

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[1, 2])
    rating: float = column(
        "Mean over raters, on the scale shown (1-5 in the paper).", nullable=True
    )
    n_raters: float = column(
        "Ratings averaged; missing: the file gives means alone.", ge=0, nullable=True
    )
    sd: float = column(
        "Standard deviation (n - 1) over raters; missing below two.", ge=0, nullable=True
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
        "1, 0.5 (exact tie), 0; missing: see status.", isin=ACCURACIES, nullable=True
    )
    is_tie: bool
    is_near_tie: bool = column("Not a tie, but within the tolerance that the provenance states.")
    status: str = column(isin=["ok", "missing_response", "missing_score"])
    pairing: float = column(
        "Of the item, in both its rows: 1 if its contexts and targets fit as they belong together,"
        " 0.5 (exact tie), 0 if exchanged; missing: a score is, or it is Choice.",
        isin=ACCURACIES,
        optional=True,
    )
    is_near_pairing_tie: bool = column(
        "Not a tie, but within twice the tolerance of a target.", optional=True
    )
    domain: str
    version: int
    meta_template: int
    template: int
    concept_a: str
    concept_b: str = column(nullable=True)
    context_contrast: str = column("As the materials label it.", nullable=True)
    context_type: str = column(isin=CONTEXT_TYPES)
    target_contrast: str = column(isin=TARGET_CONTRASTS)
    filling: str = column(
        "Whether items of a version share their fillings.", optional=True, isin=FILLINGS
    )
    dtype: str = column("Precision of the log probabilities.", optional=True)
    taught: str = column(
        "Kinds of documents of these materials that the model was trained on here.", optional=True
    )


#: What became of a target, or of an item's pairing; near: within the tolerance of a tie.
VERDICTS = ("right", "wrong", "tie", "near right", "near wrong", "missing")


class References(Table, name="references", version=1, key=["item_id", "model"]):
    """What known models and baselines made of our own items, which the package brings; no item
    text.
    """

    item_id: str = column(str_matches=ITEM_ID)
    model: str = column("A reference; the provenance says what made it.", min_length=1)
    text: int = column("First 32 bits of the SHA-256 of the item's texts.", ge=0)
    target1: str = column(isin=VERDICTS)
    target2: str = column(isin=VERDICTS)
    pairing: str = column(isin=VERDICTS)


#: the tables that can be judged.
EVIDENCE: tuple[type[Table], ...] = (TargetScores, Responses, Similarities, Ratings)


class Summaries(results.Summaries):
    """Means per model, eval type and group, over versions and in each (EWoK, Tables 1 and 2).

    Metrics: accuracy (ties 0.5), strict (ties 0), both_right, context_sensitivity and, but of
    Choice, pairing. Groupings: overall, domain, concept, context_type, context_contrast and
    target_contrast.
    """

    eval_type: str = column(isin=JUDGED_TYPES)
    low: float = column("Lowest version mean (condition all).", ge=0, le=1, nullable=True)
    high: float = column(ge=0, le=1, nullable=True)
    p_versions: float = column(
        "That versions do not differ: F test of versions against versions x clusters.",
        optional=True,
        ge=0,
        le=1,
    )
    n_ties: int = column("Target rows (pairing: items) that were exact ties.", ge=0)
    n_near_ties: int = column(ge=0)
    n_missing: int = column(
        "Target rows without an answer or a score (pairing: items that lack one).", ge=0
    )


class Coefficients(
    Table, name="coefficients", version=2, key=["fit", "position"], unique=["fit", "group", "term"]
):
    """Fixed effects of a logistic regression on accuracy (EWoK, Appendix A.5); notes and variances
    are in the provenance.
    """

    fit: str = column(isin=["mixed_model", "fixed_effects"])
    position: int = column("Order in the printed table.", ge=0)
    group: str = column(
        isin=["domain", "context_contrast", "target_contrast", "context_type", "surface_features"]
    )
    term: str = column("Level or feature: social-interactions, antonym, direct, log_frequency, ...")
    label: str = column("As it is printed: antonym vs. rest, number of words, ...")
    estimate: float = column("Log odds.", nullable=True)
    std_error: float = column(nullable=True)
    z: float = column(nullable=True)
    df: float = column(
        "Degrees of freedom of the test; missing: the normal one.", ge=1, nullable=True
    )
    p: float = column(ge=0, le=1, nullable=True)
    stars: str = column(isin=["", "*", "**", "***"])
    detectable: float = column(
        "The smallest true effect that this test finds in 80% of such samples.", ge=0, nullable=True
    )
    ci_low: float = column(
        "95%, for others of what has random effects (fixed effects: of items).", nullable=True
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
    word2vec: float = column("Accuracy of the word2vec baseline.", ge=0, le=1, nullable=True)
    wordnet: float = column("Accuracy of the WordNet baseline.", ge=0, le=1, nullable=True)
    sentence_vectors: float = column(
        "Accuracy of the baseline of sentence vectors.", ge=0, le=1, nullable=True
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
    feature: str = column(isin=[*BASELINE_FEATURES, *SURFACE_FEATURES])
    unit: str = column(
        "What one point is; the paper: domain x version.", isin=["domain_version", "item"]
    )
    r: float = column("Missing where either side does not vary.", ge=-1, le=1, nullable=True)
    p: float = column(ge=0, le=1, nullable=True)
    stars: str = column(isin=["", "*", "**", "***"])
    detectable: float = column(
        "The smallest true r that p finds in 80% of such samples.", ge=0, le=1, nullable=True
    )
    ci_low: float = column("95%, for other clusters and versions.", ge=-1, le=1, nullable=True)
    ci_high: float = column(ge=-1, le=1, nullable=True)
    p_paper: float = column(
        "The paper's way: as if the points were independent.", ge=0, le=1, nullable=True
    )
    n: int = column("Points.", ge=0)
    n_clusters: int = column("Domains, or pairs of concepts for items.", ge=0)


class Agreements(Table, name="agreements", version=1, key=["model", "setup", "likert", "choice"]):
    """Choice against the choice that Likert implies, per model and prompting set-up (EWoK, Figure
    7): the confusion matrix.
    """

    model: str
    setup: str = column("generation_shots, e.g. constrained_two.")
    likert: str = column(
        "The context with the higher rating; none: equal ratings.", isin=PREFERENCES
    )
    choice: str = column(
        "The context chosen; none: the answer followed the position.", isin=PREFERENCES
    )
    n: int = column("Target rows.", ge=0)
    share: float = column("Of the model's rows in this set-up.", ge=0, le=1, nullable=True)


class Comparisons(results.Comparisons, version=8, key=[*results.Comparisons.Config.key, "metric"]):
    """Two models on the same items, over versions; corrected over the rows of the same grouping and
    metric.
    """

    grouping: str = column(isin=(results.OVERALL, "domain"))
    metric: str = column("What is compared.", isin=COMPARED)
    n_templates: int = column(gt=0)
    n_versions: int = column("Versions, or items of each template.", gt=0)
    n_a_better: int = column("Items.", ge=0)
    n_b_better: int = column(ge=0)
    n_equal: int = column(ge=0)
    n_targets: int = column("Targets that both have an accuracy of (pairing: items).", ge=0)
    n_missing_a: int = column("Left out, as only the other model has an accuracy of them.", ge=0)
    n_missing_b: int = column(ge=0)
    n_tied_a: int = column("Ties and near ties among them.", ge=0)
    n_tied_b: int = column(ge=0)
    dtype_a: str = column("Precision; empty of a baseline.")
    dtype_b: str
    enough_versions: int = column(
        "Versions that halve the smallest difference found; 0: none do.", ge=0
    )
    finding: str = column("What may be said.")


class Reproduction(results.Reproduction):
    """Every published number next to ours (or, compared_with: repository, next to the authors'
    other table).
    """

    compared_with: str = column(isin=["ours", "repository"])


class ControlDocuments(Table, name="control_documents", version=2, key=["document"]):
    """The control models' corpus: stories and items (a context and its right target), and single
    sentences.
    """

    document: int = column("Place in the corpus; the order is shuffled by the seed.", ge=0)
    kind: str = column(
        (
            "story: in a filling that the default study does not ask; item: as that asks it in its"
            " first version."
        ),
        isin=["story", "item", "context", "target"],
    )
    template_id: str = column(str_matches=TEMPLATE_ID)
    number: int = column("Which context or target; in a story or item, of both.", isin=[1, 2])
    start: int = column(
        "Character at which begins what a model learns to continue: the target.", ge=0
    )
    text: str
