"""Tables about models that are made here: what the control models' corpus teaches, what they know,
and the steps of fine-tuning.
"""

from __future__ import annotations

from worldprobe.benchmarks.ewok.contracts import TEMPLATE_ID
from worldprobe.benchmarks.ewok.vocabulary import TARGET_CONTRASTS
from worldprobe.contracts import Table, column


class ControlTemplates(
    Table,
    name="control_templates",
    version=3,
    key=["domain", "template_id"],
    unique=["template_id"],
):
    """Which templates the control models' corpus teaches (the study's own; the papers have no such
    models).
    """

    template_id: str = column(str_matches=TEMPLATE_ID)
    domain: str
    status: str = column(
        isin=["taught", "new_template", "new_concept", "left_out"],
        description=(
            "new_template: another one of a pair of concepts of which one is taught; new_concept:"
            " of the test part of the materials' split, which shares no situation and no concept"
            " with the rest; left_out: others of the training part."
        ),
    )
    dose: int = column(
        ge=0,
        description=(
            "How often the items of its pair of concepts that are taught occur in the corpus."
        ),
    )


class ControlAccuracies(
    Table, name="control_accuracies", version=4, key=["model", "group", "dose", "targets"]
):
    """Accuracy of each model by what it had read of an item and by what is swapped, over all
    versions.
    """

    model: str
    group: str = column(
        isin=["read", "new_filling", "new_template", "new_concept"],
        description=(
            "read: the item itself; new_filling: its template with other fillings; new_template:"
            " other templates of its pair of concepts; new_concept: nothing of its situation or its"
            " concepts."
        ),
    )
    dose: int = column(
        ge=0,
        description=(
            "How often the model had read the item, or else the first version's item of its"
            " template or pair."
        ),
    )
    targets: str = column(
        isin=["all", *TARGET_CONTRASTS], description="How the two targets differ."
    )
    mean: float = column(ge=0, le=1, nullable=True)
    ci_low: float = column(
        ge=0, le=1, nullable=True, description="95% interval over pairs of concepts."
    )
    ci_high: float = column(ge=0, le=1, nullable=True)
    n_items: int = column(ge=0)
    n_pairs: int = column(ge=0, description="Pairs of concepts.")
    n_missing: int = column(ge=0, description="Target rows without a score.")


class Trainings(Table, name="worldsense_trainings", version=1, key=["model", "step"]):
    """One row per step of each training of a study (paper, Section 5.4)."""

    model: str = column(min_length=1, description="The model that the training makes.")
    step: int = column(ge=1)
    lessons: int = column(ge=1, description="Lessons seen, with repetitions.")
    loss: float = column(description="Nats per token that counts.")
    learning_rate: float = column(ge=0)
    gradient_norm: float = column(ge=0, nullable=True, description="Before it is limited.")
