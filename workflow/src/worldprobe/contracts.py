"""The tables between the stages: one schema each, written and read only through ``write_table`` and ``read_table``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa
import pyarrow as arrow
import pyarrow.parquet as parquet
from pandera.typing import Series

from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance
from worldprobe.vocabulary import ACCURACIES, CONTEXT_TYPES, EVAL_TYPES, TARGET_CONTRASTS

ITEM_ID = r"^[A-Za-z0-9-]+_\d+_\d+_v\d+$"
TEMPLATE_ID = r"^[A-Za-z0-9-]+_\d+_\d+$"
#: eval types of judgements: the models' and those of the yardsticks beside them.
JUDGED_TYPES = (*EVAL_TYPES, "word2vec", "human_likert")
#: what a pair of answers about one target says: a context, no preference, or nothing readable.
PREFERENCES = ("context1", "context2", "none", "missing")


class Table(pa.DataFrameModel):
    """A contract: strict columns, a unique key by which the rows are sorted, a version bumped when columns change."""

    class Config:
        strict = True
        name = ""
        metadata: dict[str, Any] = {}  # version, and the key by which rows are sorted
        coerce = False


class Templates(Table):
    """Minimal pairs of pairs with open slots, e.g. ``{object1:large=true}`` (EWoK, Section 3)."""

    template_id: Series[str] = pa.Field(str_matches=TEMPLATE_ID)
    domain: Series[str]
    meta_template: Series[int] = pa.Field(gt=0, description="Counts units per domain from 1 (target x context x segment).")
    template: Series[int] = pa.Field(gt=0, description="Counts the templates of a unit from 1.")
    concept_a: Series[str]
    concept_b: Series[str] = pa.Field(nullable=True)
    target1: Series[str]
    target2: Series[str]
    target_contrast: Series[str] = pa.Field(isin=TARGET_CONTRASTS)
    context1: Series[str]
    context2: Series[str]
    context_contrast: Series[str] = pa.Field(nullable=True, description="The materials' label; contrast_group groups it.")
    context_type: Series[str] = pa.Field(isin=CONTEXT_TYPES)

    class Config(Table.Config):
        name = "templates"
        unique = ["template_id"]
        metadata = {"version": 1, "key": ["domain", "meta_template", "template"]}


class Items(Table):
    """Templates with their slots filled: the unit that is scored."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID, description="domain_meta_template_vN")
    domain: Series[str]
    version: Series[int] = pa.Field(ge=0, description="Version of the fixed filling, or number of the independent sample.")
    meta_template: Series[int] = pa.Field(gt=0)
    template: Series[int] = pa.Field(gt=0)
    context1: Series[str]
    context2: Series[str]
    target1: Series[str]
    target2: Series[str]
    concept_a: Series[str]
    concept_b: Series[str] = pa.Field(nullable=True)
    context_contrast: Series[str] = pa.Field(nullable=True)
    context_type: Series[str] = pa.Field(isin=CONTEXT_TYPES)
    target_contrast: Series[str] = pa.Field(isin=TARGET_CONTRASTS)
    fillers: Series[str] = pa.Field(description="JSON object: slot key -> filler text, keys in code-point order.")
    tags: Series[str] = pa.Field(description="The slot keys in code-point order, joined by commas.")
    duplicate_of: Series[str] = pa.Field(nullable=True, description="item_id of an earlier item with the same four texts.")

    class Config(Table.Config):
        name = "items"
        unique = ["item_id"]
        metadata = {"version": 1, "key": ["version", "domain", "meta_template", "template"]}


class TargetScores(Table):
    """LogProbs evidence: one row per item, target and context (0: no context)."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    context: Series[int] = pa.Field(isin=[0, 1, 2])
    logprob: Series[float] = pa.Field(le=0, nullable=True, description="Sum over the target's tokens, nats; missing: see flags.")
    n_tokens: Series[int] = pa.Field(ge=0, description="Target tokens that were scored.")
    flags: Series[str] = pa.Field(description="Comma-joined: straddle, first_unscored, truncated, unknown_token, not_finite.")

    class Config(Table.Config):
        name = "target_scores"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 1, "key": ["item_id", "target", "context"]}


class TokenScores(Table):
    """LogProbs evidence, token by token, on request: the summands of ``TargetScores``. Holds item text."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    context: Series[int] = pa.Field(isin=[0, 1, 2])
    position: Series[int] = pa.Field(ge=0, description="Counts the target's scored tokens from 0.")
    token: Series[str] = pa.Field(description="As the tokenizer names it.")
    logprob: Series[float] = pa.Field(nullable=True, description="Nats.")

    class Config(Table.Config):
        name = "token_scores"
        unique = ["item_id", "target", "context", "position"]
        metadata = {"version": 1, "key": ["item_id", "target", "context", "position"]}


class Responses(Table):
    """Prompting evidence: one row per prompt (EWoK, Appendix A.4)."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES[1:])
    presentation: Series[str] = pa.Field(description="likert: t1c1 to t2c2; choice: t1, t2 and, contexts swapped, t1s, t2s.")
    prompt_digest: Series[str] = pa.Field(str_matches=r"^[0-9a-f]{64}$")
    text: Series[str] = pa.Field(description="What the model wrote.")
    value: Series[float] = pa.Field(nullable=True, description="The parsed rating or choice; missing where none was found.")
    status: Series[str] = pa.Field(isin=["ok", "no_numeral", "out_of_range", "truncated", "failed"])

    class Config(Table.Config):
        name = "responses"
        unique = ["item_id", "eval_type", "presentation"]
        metadata = {"version": 1, "key": ["item_id", "eval_type", "presentation"]}


class Judgements(Table):
    """Accuracy evidence: one row per item, target, model and eval_type, with the item's design beside it and no item text."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    model: Series[str]
    eval_type: Series[str] = pa.Field(isin=JUDGED_TYPES)
    accuracy: Series[float] = pa.Field(isin=ACCURACIES, nullable=True, description="1, 0.5 (exact tie), 0; missing: see status.")
    is_tie: Series[bool]
    is_near_tie: Series[bool] = pa.Field(description="Not a tie, but within the tolerance that the provenance states.")
    status: Series[str] = pa.Field(isin=["ok", "missing_response", "missing_score"])
    domain: Series[str]
    version: Series[int]
    meta_template: Series[int]
    template: Series[int]
    concept_a: Series[str]
    concept_b: Series[str] = pa.Field(nullable=True)
    context_contrast: Series[str] = pa.Field(nullable=True, description="As the materials label it.")
    context_type: Series[str] = pa.Field(isin=CONTEXT_TYPES)
    target_contrast: Series[str] = pa.Field(isin=TARGET_CONTRASTS)

    class Config(Table.Config):
        name = "judgements"
        unique = ["item_id", "target", "model", "eval_type"]
        metadata = {"version": 1, "key": ["model", "eval_type", "item_id", "target"]}


class SurfaceFeatures(Table):
    """Surface properties of each target sentence with its two contexts (EWoK, Appendix A.5): (C1 + C2) / 2 + T."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    n_words: Series[float] = pa.Field(gt=0, description="Words.")
    log_frequency: Series[float] = pa.Field(nullable=True, description="Mean log word frequency; provenance: source, unit.")

    class Config(Table.Config):
        name = "surface_features"
        unique = ["item_id", "target"]
        metadata = {"version": 1, "key": ["item_id", "target"]}


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
    ci_low: Series[float] = pa.Field(ge=0, le=1, nullable=True, description="95% bootstrap over items and versions (row -1).")
    ci_high: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    n_items: Series[int] = pa.Field(ge=0)
    n_ties: Series[int] = pa.Field(ge=0, description="Target rows that were exact ties.")
    n_near_ties: Series[int] = pa.Field(ge=0)
    n_missing: Series[int] = pa.Field(ge=0, description="Target rows without an answer or a score.")

    class Config(Table.Config):
        name = "summaries"
        unique = ["model", "eval_type", "metric", "grouping", "group", "version"]
        metadata = {"version": 1, "key": ["model", "eval_type", "metric", "grouping", "group", "version"]}


class Similarities(Table):
    """Baseline evidence: cosine of the bags of words of target and context (EWoK, Appendix A.5)."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    context: Series[int] = pa.Field(isin=[1, 2])
    similarity: Series[float] = pa.Field(ge=-1.000001, le=1.000001, nullable=True, description="Missing: no word has a vector.")

    class Config(Table.Config):
        name = "similarities"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 1, "key": ["item_id", "target", "context"]}


class Ratings(Table):
    """Human plausibility ratings, averaged over raters: one row per item, target and context (EWoK, Section 4)."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    context: Series[int] = pa.Field(isin=[1, 2])
    rating: Series[float] = pa.Field(nullable=True, description="Mean over raters, on the scale shown (1-5 in the paper).")

    class Config(Table.Config):
        name = "ratings"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 1, "key": ["item_id", "target", "context"]}


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
    """Accuracy beside surface features, per model, domain and version: the points of the paper's scatter panels."""

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
    ci_low: Series[float] = pa.Field(ge=-1, le=1, nullable=True, description="95% bootstrap over templates.")
    ci_high: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    p: Series[float] = pa.Field(ge=0, le=1, description="Two-sided; signs of the templates' differences flipped at random.")
    p_holm: Series[float] = pa.Field(ge=0, le=1, description="Holm's correction over the rows of the same grouping.")
    n_items: Series[int] = pa.Field(gt=0)
    n_templates: Series[int] = pa.Field(gt=0)
    n_a_better: Series[int] = pa.Field(ge=0, description="Items.")
    n_b_better: Series[int] = pa.Field(ge=0)
    n_equal: Series[int] = pa.Field(ge=0)
    sentence: Series[str] = pa.Field(description="The finding in plain words.")

    class Config(Table.Config):
        name = "comparisons"
        unique = ["model_a", "model_b", "eval_type", "grouping", "group"]
        metadata = {"version": 1, "key": ["eval_type", "model_a", "model_b", "grouping", "group"]}


class Reproduction(Table):
    """Every published number beside ours (or, compared_with: repository, beside the authors' other table)."""

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


class ControlTemplates(Table):
    """Which templates the control models' corpus leaves out (the study's own; the papers have no such models)."""

    template_id: Series[str] = pa.Field(str_matches=TEMPLATE_ID)
    domain: Series[str]
    group: Series[int] = pa.Field(ge=0, description="Templates that share a right pairing of texts are held out together.")
    status: Series[str] = pa.Field(
        isin=["held_in", "new_pairing", "new_context"],
        description="new_pairing: no story joins its contexts and targets; new_context: one of its contexts is in no story.",
    )

    class Config(Table.Config):
        name = "control_templates"
        unique = ["template_id"]
        metadata = {"version": 1, "key": ["domain", "group", "template_id"]}


class ControlFillers(Table):
    """Which fillers the control models meet in single sentences only, never in a story."""

    filler_class: Series[str]
    filler: Series[str]
    is_held_out: Series[bool]

    class Config(Table.Config):
        name = "control_fillers"
        unique = ["filler_class", "filler"]
        metadata = {"version": 1, "key": ["filler_class", "filler"]}


class ControlDocuments(Table):
    """The control models' corpus: stories (a context and its right target) and single sentences."""

    document: Series[int] = pa.Field(ge=0, description="Place in the corpus; the order is shuffled by the seed.")
    kind: Series[str] = pa.Field(isin=["story", "context", "target"])
    template_id: Series[str] = pa.Field(str_matches=TEMPLATE_ID)
    number: Series[int] = pa.Field(isin=[1, 2], description="Which context or target; in a story, of both.")
    text: Series[str]

    class Config(Table.Config):
        name = "control_documents"
        unique = ["document"]
        metadata = {"version": 1, "key": ["document"]}


class ControlAccuracies(Table):
    """Accuracy of each model by what the control models' corpus had shown: templates by fillers, over all versions."""

    model: Series[str]
    templates: Series[str] = pa.Field(
        isin=["all", "held_in", "held_out", "new_pairing", "new_context"], description="held_out: the last two together."
    )
    fillers: Series[str] = pa.Field(isin=["all", "seen", "some_unseen"], description="some_unseen: with a held-out filler.")
    mean: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    n_items: Series[int] = pa.Field(ge=0)
    n_ties: Series[int] = pa.Field(ge=0, description="Target rows that were exact ties.")
    n_missing: Series[int] = pa.Field(ge=0, description="Target rows without a score.")

    class Config(Table.Config):
        name = "control_accuracies"
        unique = ["model", "templates", "fillers"]
        metadata = {"version": 1, "key": ["model", "templates", "fillers"]}


#: the tables that can be judged.
EVIDENCE: tuple[type[Table], ...] = (TargetScores, Responses, Similarities, Ratings)


def validate(frame: pd.DataFrame, contract: type[Table]) -> pd.DataFrame:
    """The rows in the contract's column order, sorted by its key.

    Raises:
        pandera.errors.SchemaError, SchemaErrors: a bug of ours: what a stage made breaks its contract.
    """
    schema = contract.to_schema()
    known = [c for c in schema.columns if c in frame]
    ordered = frame[known + [c for c in frame if c not in known]].sort_values(contract.Config.metadata["key"], kind="stable")
    return schema.validate(ordered.reset_index(drop=True))


def write_table(frame: pd.DataFrame, contract: type[Table], path: Path | str, provenance: Provenance) -> None:
    """Validate, sort and write a table as one whole Parquet file with its provenance inside.

    Raises:
        pandera.errors.SchemaError, SchemaErrors: the rows break the contract.
        UserError: the place cannot be written.
    """
    table = arrow.Table.from_pandas(validate(frame, contract), preserve_index=False)
    metadata = {
        b"worldprobe.table": contract.Config.name.encode(),
        b"worldprobe.schema_version": str(contract.Config.metadata["version"]).encode(),
        b"worldprobe.provenance": provenance.to_json().encode(),
    }
    with whole_file(path) as temporary:
        parquet.write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd")


def read_table(path: Path | str, contract: type[Table], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table of ours, checked against its contract; ``columns`` reads fewer.

    Raises:
        UserError: no such file, not a table of ours, another table, or another version of its schema.
    """
    check_kind(path, contract)
    frame = parquet.read_table(path, columns=list(columns) if columns else None).to_pandas()
    if columns is None:
        try:
            contract.to_schema().validate(frame)
        except (pa.errors.SchemaError, pa.errors.SchemaErrors) as error:
            failed = getattr(error, "schema_errors", None) or [error]
            columns_at_fault = ", ".join(sorted({str(getattr(e.schema, "name", None) or e.column_name) for e in failed}))
            problem = f"breaks the contract of {contract.Config.name} in {columns_at_fault}."
            raise UserError(path, problem, "Make it again with this worldprobe.") from error
    return frame


def read_tables(paths: Sequence[Path | str], contract: type[Table], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read many tables of one kind as one frame; text columns come as categoricals, so a million rows stay small.

    Each file's kind and version are checked; the rows were validated when they were written and are not checked again.

    Raises:
        UserError: as ``read_table``; or no file is given.
    """
    if not paths:
        raise UserError(contract.Config.name, "no table is given.", "Name at least one file.")
    for path in paths:
        check_kind(path, contract)
    names = list(columns) if columns else list(contract.to_schema().columns)
    parts = [parquet.read_table(path, columns=names) for path in paths]
    whole = arrow.concat_tables(parts).combine_chunks()
    for position, name in enumerate(names):
        if arrow.types.is_string(whole.schema.field(name).type) or arrow.types.is_large_string(whole.schema.field(name).type):
            whole = whole.set_column(position, name, whole.column(name).dictionary_encode().unify_dictionaries())
    return whole.to_pandas()


def check_kind(path: Path | str, contract: type[Table]) -> None:
    """Raise UserError unless the file is this contract's table in this version; reads the footer only."""
    metadata = _footer(path)
    name, version = contract.Config.name, contract.Config.metadata["version"]
    found = metadata.get(b"worldprobe.table", b"").decode()
    if found != name:
        raise UserError(path, f"holds {found or 'no table of worldprobe'}, not {name}.", f"Give the {name} table here.")
    found_version = metadata.get(b"worldprobe.schema_version", b"?").decode()
    if found_version != str(version):
        raise UserError(
            path,
            f"is version {found_version} of the {name} table; this worldprobe reads version {version}.",
            "Make the file again with this worldprobe, or use the worldprobe that wrote it.",
        )


def read_provenance(path: Path | str) -> Provenance:
    """What made a table of ours.

    Raises:
        UserError: not a table of ours.
    """
    text = _footer(path).get(b"worldprobe.provenance")
    if text is None:
        raise UserError(path, "carries no provenance; it is no table of worldprobe.", "Give a table that worldprobe wrote.")
    return Provenance.from_json(json.dumps(json.loads(text)))


def table_name(path: Path | str) -> str:
    """The name of a file's table, e.g. ``items``; empty where the file is no table of ours.

    Raises:
        UserError: no such file, or no readable Parquet file.
    """
    return _footer(path).get(b"worldprobe.table", b"").decode()


def _footer(path: Path | str) -> dict[bytes, bytes]:
    try:
        return parquet.read_schema(path).metadata or {}
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Check the path, or run the stage that makes it.") from error
    except (arrow.ArrowInvalid, OSError) as error:
        raise UserError(path, "is not a readable Parquet file.", "Make it again; it may have been cut short.") from error
