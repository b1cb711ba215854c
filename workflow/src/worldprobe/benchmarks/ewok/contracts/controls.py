"""What the control models were shown, and what came of it."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.contracts.keys import TEMPLATE_ID
from worldprobe.benchmarks.ewok.vocabulary import TARGET_CONTRASTS
from worldprobe.contracts import Table, column


class ControlTemplates(Table):
    """Which templates the control models' corpus leaves out (the study's own; the papers have no such models)."""

    template_id: str = column(str_matches=TEMPLATE_ID)
    domain: str
    group: int = column(ge=0, description="Templates that share a right pairing of texts are held out together.")
    status: str = column(
        isin=["held_in", "new_pairing", "new_context"],
        description="new_pairing: no story joins its contexts and targets; new_context: one of its contexts is in no story.",
    )

    class Config(Table.Config):
        name = "control_templates"
        unique = ["template_id"]
        metadata = {"version": 1, "key": ["domain", "group", "template_id"]}


class ControlFillers(Table):
    """Which fillers the control models meet in single sentences only, never in a story."""

    filler_class: str
    filler: str
    is_held_out: bool

    class Config(Table.Config):
        name = "control_fillers"
        unique = ["filler_class", "filler"]
        metadata = {"version": 1, "key": ["filler_class", "filler"]}


class ControlDocuments(Table):
    """The control models' corpus: stories (a context and its right target) and single sentences."""

    document: int = column(ge=0, description="Place in the corpus; the order is shuffled by the seed.")
    kind: str = column(isin=["story", "context", "target"])
    template_id: str = column(str_matches=TEMPLATE_ID)
    number: int = column(isin=[1, 2], description="Which context or target; in a story, of both.")
    text: str

    class Config(Table.Config):
        name = "control_documents"
        unique = ["document"]
        metadata = {"version": 1, "key": ["document"]}


class ControlAccuracies(Table):
    """Accuracy of each model by what the control models' corpus had shown and by what is swapped, over all versions."""

    model: str
    templates: str = column(
        isin=["all", "held_in", "held_out", "new_pairing", "new_context"], description="held_out: the last two together."
    )
    fillers: str = column(isin=["all", "seen", "some_unseen"], description="some_unseen: with a held-out filler.")
    targets: str = column(isin=["all", *TARGET_CONTRASTS], description="How the two targets differ.")
    mean: float = column(ge=0, le=1, nullable=True)
    n_items: int = column(ge=0)
    n_ties: int = column(ge=0, description="Target rows that were exact ties.")
    n_missing: int = column(ge=0, description="Target rows without a score.")

    class Config(Table.Config):
        name = "control_accuracies"
        unique = ["model", "templates", "fillers", "targets"]
        metadata = {"version": 2, "key": ["model", "templates", "fillers", "targets"]}
