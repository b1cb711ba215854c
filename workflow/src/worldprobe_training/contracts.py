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
    """Templates that the control models' corpus teaches (the study's own; the papers have no such
    models).
    """

    template_id: str = column(str_matches=TEMPLATE_ID)
    domain: str
    status: str = column(
        (
            "new_template: another one of a pair of concepts of which one is taught; new_concept:"
            " of the test part of the materials' split, which shares no situation and no concept"
            " with the rest; left_out: others of the training part."
        ),
        isin=["taught", "new_template", "new_concept", "left_out"],
    )
    dose: int = column(
        "How often the items of its pair of concepts that are taught occur in the corpus.", ge=0
    )


class ControlAccuracies(
    Table, name="control_accuracies", version=4, key=["model", "group", "dose", "targets"]
):
    """Accuracy of each model by what it had read of an item and by what is swapped, over all
    versions.
    """

    model: str
    group: str = column(
        (
            "read: the item itself; new_filling: its template with other fillings; new_template:"
            " other templates of its pair of concepts; new_concept: nothing of its situation or its"
            " concepts."
        ),
        isin=["read", "new_filling", "new_template", "new_concept"],
    )
    dose: int = column(
        (
            "How often the model had read the item, or else the first version's item of its"
            " template or pair."
        ),
        ge=0,
    )
    targets: str = column("How the two targets differ.", isin=["all", *TARGET_CONTRASTS])
    mean: float = column(ge=0, le=1, nullable=True)
    ci_low: float = column("95% interval over pairs of concepts.", ge=0, le=1, nullable=True)
    ci_high: float = column(ge=0, le=1, nullable=True)
    n_items: int = column(ge=0)
    n_pairs: int = column("Pairs of concepts.", ge=0)
    n_missing: int = column("Target rows without a score.", ge=0)


class Trainings(Table, name="worldsense_trainings", version=1, key=["model", "step"]):
    """One row per step of each training of a study (paper, Section 5.4)."""

    model: str = column("The model that the training makes.", min_length=1)
    step: int = column(ge=1)
    lessons: int = column("Lessons seen, with repetitions.", ge=1)
    loss: float = column("Nats per token that counts.")
    learning_rate: float = column(ge=0)
    gradient_norm: float = column("Before it is limited.", ge=0, nullable=True)
