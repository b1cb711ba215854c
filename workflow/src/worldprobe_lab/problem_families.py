"""Hard problems and worlds in motion, as WorldSense is told of them: ``hard`` and ``motion`` choose
the problems.
"""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.problem_families import ProblemFamily, SetPlan
from worldprobe.paths import RESOURCES

#: Most updates of a problem in motion.
MOST_UPDATES = 6

_HARD = {
    "Infer.hard": "Inference, hard",
    "Consist.hard": "Consistency, hard",
    "Compl.hard": "Completeness, hard",
}
_MOTION = {
    "Infer.motion": "Inference, in motion",
    "Consist.motion": "Consistency, in motion",
    "Compl.motion": "Completeness, in motion",
    "Infer.before": "Before all changes",
}
_HARD_SIZES, _FEW = (4, 5, 6), (0, 1, 2)

#: Rules that chain nothing are at chance.
HARD = ProblemFamily(
    name="hard",
    titles=_HARD,
    chosen=RESOURCES / "problems" / "hard.csv",
    complexities=(0, 1, 2),
    plans=(
        SetPlan("test-hard", "test-hard", "test", tuple(_HARD), _HARD_SIZES, 31, 31),
        SetPlan("train-hard", "train-hard", "train", tuple(_HARD), _HARD_SIZES, 31, 31),
        SetPlan("memorisation-hard", "train-hard", "train", tuple(_HARD), _HARD_SIZES, 4, 31),
        SetPlan("same-skins-hard", "same-skins-hard", "train", tuple(_HARD), _HARD_SIZES, 31, 31),
        SetPlan("ood-size-hard", "ood-size-hard", "test", tuple(_HARD), (7, 8), 10, 10),
    ),
    n_trials=49_104,
    note="Hard: no single clause decides.",
)
#: Worlds that change; the control asks about the state before all updates.
MOTION = ProblemFamily(
    name="motion",
    titles=_MOTION,
    chosen=RESOURCES / "problems" / "motion.csv",
    complexities=tuple(range(MOST_UPDATES + 1)),
    plans=(
        SetPlan("test-motion", "test-motion", "test", tuple(_MOTION), (4, 5), 12, 12),
        SetPlan("train-motion", "train-motion", "train", tuple(_MOTION), (4, 5), 60, 12, _FEW),
        SetPlan(
            "memorisation-motion", "train-motion", "train", tuple(_MOTION), (4, 5), 4, 12, _FEW
        ),
        SetPlan("same-skins-motion", "same-skins-motion", "train", tuple(_MOTION), (4, 5), 12, 12),
        SetPlan("ood-size-motion", "ood-size-motion", "test", tuple(_MOTION), (6,), 12, 12),
    ),
    n_trials=50_976,
    note="In motion: number of changes.",
    arities=(2,),
    control="Infer.before",
    control_asks="Is a sentence about the order before all changes true?",
    is_moving=True,
)
