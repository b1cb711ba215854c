"""The responses: what a model answered in a trial, under one prompting strategy.

One file per set, prompting and model: ``results/STUDY/worldsense/responses/SET/PROMPTING/MODEL.parquet``. The model's name is in
the provenance (``provenance.model``), as in every table of answers. A row joins its trial by ``trial_id`` (the official ``Key``).
Several samples of one trial are several rows, ``sample`` 0, 1, ...; greedy answers are sample 0.

``answer`` is there exactly where ``status`` is ok: TRUE, FALSE, POSSIBLE, IMPOSSIBLE, 1, 2 or 3, always one that the trial's
problem accepts. Every other row counts as wrong, as in the paper (the official layout writes it as an empty string):

* invalid: the last reply contains no accepted answer (constrained: the best two are exactly as likely),
* ambiguous: it contains several, or denies one of three,
* refused: it declines to answer, or says that this cannot be decided where that is no alternative,
* length: the last reply was cut by the limit of tokens, so that its end is not there,
* truncated: the prompt did not fit into the model's context, so that the question was not asked,
* not_finite: the model computed NaN or infinity.

A trial was asked twice where ``follow_up`` has a value: the first reply gave no answer for certain, or was cut. By the paper's
rule (``reading.rule`` in the provenance is last_word) the last word is the answer, and nothing is ambiguous or refused.
"""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.skins.vocabulary import DISGUISE
from worldprobe.contracts import Table, column
from worldprobe.models.engine import FINISHES

#: ok, and why there is no answer, in the order in which they are shown.
STATUSES = ("ok", "invalid", "ambiguous", "refused", "length", "truncated", "not_finite")
#: Through the model's chat template, or as text that it continues.
FORMS = ("chat", "text")


class Responses(Table):
    """One row per trial, prompting and sample; rows are in the order of the key. Holds text of trials."""

    trial_id: int = column(description="The trial's; the official Key.")
    prompting: str = column(str_matches=r"^[a-z][a-z0-9_]*$", description="Name of the prompt set, e.g. basic, icl_iid.")
    sample: int = column(ge=0, description="0 where answers are greedy; else counts the samples of a trial.")
    answer: str = column(nullable=True, isin=list(DISGUISE), description="Normalised; missing unless status is ok.")
    status: str = column(isin=STATUSES)
    reply: str = column(description="The first reply, without thoughts; constrained: the option that was chosen.")
    follow_up: str = column(nullable=True, description="The reply to the second question, where it was asked.")
    thoughts: str = column(nullable=True, description="What the model thought before its replies, never read as answers.")
    conversation: str = column(str_startswith="[", description="JSON: all messages, role and content, in order.")
    form: str = column(isin=FORMS, description="chat: through the chat template; text: as text to be continued.")
    finish: str = column(isin=FINISHES, description="Why the last reply ended.")
    n_tokens: int = column(ge=0, description="New tokens of all replies, without thoughts.")
    n_thought_tokens: int = column(ge=0, description="New tokens of thoughts.")
    margin: float = column(ge=0, nullable=True, description="Constrained: nats by which the second best option is behind.")

    class Config(Table.Config):
        name = "worldsense_responses"
        unique = ["trial_id", "prompting", "sample"]
        metadata = {"version": 1, "key": ["trial_id", "prompting", "sample"]}
