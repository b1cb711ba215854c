"""The tables of EWoK: one schema each, written and read only through ``worldprobe.contracts``."""

from worldprobe.benchmarks.ewok.contracts.controls import ControlAccuracies, ControlDocuments, ControlFillers, ControlTemplates
from worldprobe.benchmarks.ewok.contracts.keys import ITEM_ID, PREFERENCES, TEMPLATE_ID
from worldprobe.benchmarks.ewok.contracts.people import HumanStatistics, Likeness
from worldprobe.benchmarks.ewok.contracts.scores import (
    EVIDENCE,
    Judgements,
    Ratings,
    Responses,
    Similarities,
    TargetScores,
    TokenScores,
)
from worldprobe.benchmarks.ewok.contracts.statistics import (
    Agreements,
    Coefficients,
    Comparisons,
    ConditionComparisons,
    Correlations,
    FeatureMeans,
    Reproduction,
    Summaries,
)
from worldprobe.benchmarks.ewok.contracts.study import Items, SurfaceFeatures, Templates
from worldprobe.benchmarks.ewok.eval_types import JUDGED_TYPES

__all__ = [
    "EVIDENCE",
    "ITEM_ID",
    "JUDGED_TYPES",
    "PREFERENCES",
    "TEMPLATE_ID",
    "Agreements",
    "Coefficients",
    "Comparisons",
    "ConditionComparisons",
    "ControlAccuracies",
    "ControlDocuments",
    "ControlFillers",
    "ControlTemplates",
    "Correlations",
    "FeatureMeans",
    "HumanStatistics",
    "Items",
    "Judgements",
    "Likeness",
    "Ratings",
    "Reproduction",
    "Responses",
    "Similarities",
    "Summaries",
    "SurfaceFeatures",
    "TargetScores",
    "Templates",
    "TokenScores",
]
