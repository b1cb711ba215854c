"""What models, people and baselines say of the items, and how it is judged."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from worldprobe.benchmarks.ewok.contracts.keys import ITEM_ID
from worldprobe.benchmarks.ewok.vocabulary import ACCURACIES, CONTEXT_TYPES, TARGET_CONTRASTS
from worldprobe.benchmarks.ewok.ways import EVAL_TYPES, JUDGED_TYPES
from worldprobe.contracts.table import Table


class TargetScores(Table):
    """LogProbs evidence: one row per item, target and context (0: no context)."""

    item_id: Series[str] = pa.Field(str_matches=ITEM_ID)
    target: Series[int] = pa.Field(isin=[1, 2])
    context: Series[int] = pa.Field(isin=[0, 1, 2])
    logprob: Series[float] = pa.Field(le=0, nullable=True, description="Sum over the target's tokens, nats; missing: see flags.")
    n_tokens: Series[int] = pa.Field(ge=0, description="Target tokens that were scored; 0 where imported.")
    flags: Series[str] = pa.Field(description="Comma-joined, from models.engine.FLAGS.")

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
    presentation: Series[str] = pa.Field(
        str_matches=r"^t[12](c[12]|s)?$", description="likert: t1c1 to t2c2; choice: t1, t2 and, contexts swapped, t1s, t2s."
    )
    prompt_digest: Series[str] = pa.Field(str_matches=r"^[0-9a-f]{64}$")
    text: Series[str] = pa.Field(description="What the model wrote.")
    value: Series[float] = pa.Field(nullable=True, description="The parsed rating or choice; missing where none was found.")
    status: Series[str] = pa.Field(isin=["ok", "no_numeral", "out_of_range", "truncated", "not_finite", "failed"])

    class Config(Table.Config):
        name = "responses"
        unique = ["item_id", "eval_type", "presentation"]
        metadata = {"version": 1, "key": ["item_id", "eval_type", "presentation"]}


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
    n_raters: Series[float] = pa.Field(ge=0, nullable=True, description="Ratings averaged; missing: the file gives means alone.")
    sd: Series[float] = pa.Field(ge=0, nullable=True, description="Standard deviation (n - 1) over raters; missing below two.")

    class Config(Table.Config):
        name = "ratings"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 2, "key": ["item_id", "target", "context"]}


class Judgements(Table):
    """Accuracy evidence: one row per item, target, model and eval_type, with the item's design and no item text."""

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


#: the tables that can be judged.
EVIDENCE: tuple[type[Table], ...] = (TargetScores, Responses, Similarities, Ratings)
