"""What models, people and baselines say of the items, and how it is judged."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.contracts.keys import ITEM_ID
from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, JUDGED_TYPES
from worldprobe.benchmarks.ewok.vocabulary import ACCURACIES, CONTEXT_TYPES, TARGET_CONTRASTS
from worldprobe.contracts import Table, column


class TargetScores(Table):
    """LogProbs evidence: one row per item, target and context (0: no context)."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[0, 1, 2])
    logprob: float = column(le=0, nullable=True, description="Sum over the target's tokens, nats; missing: see flags.")
    n_tokens: int = column(ge=0, description="Target tokens that were scored; 0 where imported.")
    flags: str = column(description="Comma-joined, from models.engine.FLAGS.")

    class Config(Table.Config):
        name = "target_scores"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 1, "key": ["item_id", "target", "context"]}


class TokenScores(Table):
    """LogProbs evidence, token by token, on request: the summands of ``TargetScores``. Holds item text."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[0, 1, 2])
    position: int = column(ge=0, description="Counts the target's scored tokens from 0.")
    token: str = column(description="As the tokenizer names it.")
    logprob: float = column(nullable=True, description="Nats.")

    class Config(Table.Config):
        name = "token_scores"
        unique = ["item_id", "target", "context", "position"]
        metadata = {"version": 1, "key": ["item_id", "target", "context", "position"]}


class Responses(Table):
    """Prompting evidence: one row per prompt (EWoK, Appendix A.4)."""

    item_id: str = column(str_matches=ITEM_ID)
    eval_type: str = column(isin=EVAL_TYPES[1:])
    presentation: str = column(
        str_matches=r"^t[12](c[12]|s)?$", description="likert: t1c1 to t2c2; choice: t1, t2 and, contexts swapped, t1s, t2s."
    )
    prompt_digest: str = column(str_matches=r"^[0-9a-f]{64}$")
    text: str = column(description="What the model wrote.")
    value: float = column(nullable=True, description="The parsed rating or choice; missing where none was found.")
    status: str = column(isin=["ok", "no_numeral", "out_of_range", "truncated", "not_finite", "failed"])

    class Config(Table.Config):
        name = "responses"
        unique = ["item_id", "eval_type", "presentation"]
        metadata = {"version": 1, "key": ["item_id", "eval_type", "presentation"]}


class Similarities(Table):
    """Baseline evidence: cosine of the bags of words of target and context (EWoK, Appendix A.5)."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[1, 2])
    similarity: float = column(ge=-1.000001, le=1.000001, nullable=True, description="Missing: no word has a vector.")

    class Config(Table.Config):
        name = "similarities"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 1, "key": ["item_id", "target", "context"]}


class Ratings(Table):
    """Human plausibility ratings, averaged over raters: one row per item, target and context (EWoK, Section 4)."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    context: int = column(isin=[1, 2])
    rating: float = column(nullable=True, description="Mean over raters, on the scale shown (1-5 in the paper).")
    n_raters: float = column(ge=0, nullable=True, description="Ratings averaged; missing: the file gives means alone.")
    sd: float = column(ge=0, nullable=True, description="Standard deviation (n - 1) over raters; missing below two.")

    class Config(Table.Config):
        name = "ratings"
        unique = ["item_id", "target", "context"]
        metadata = {"version": 2, "key": ["item_id", "target", "context"]}


class Judgements(Table):
    """Accuracy evidence: one row per item, target, model and eval_type, with the item's design and no item text."""

    item_id: str = column(str_matches=ITEM_ID)
    target: int = column(isin=[1, 2])
    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    accuracy: float = column(isin=ACCURACIES, nullable=True, description="1, 0.5 (exact tie), 0; missing: see status.")
    is_tie: bool
    is_near_tie: bool = column(description="Not a tie, but within the tolerance that the provenance states.")
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

    class Config(Table.Config):
        name = "judgements"
        unique = ["item_id", "target", "model", "eval_type"]
        metadata = {"version": 1, "key": ["model", "eval_type", "item_id", "target"]}


#: the tables that can be judged.
EVIDENCE: tuple[type[Table], ...] = (TargetScores, Responses, Similarities, Ratings)
