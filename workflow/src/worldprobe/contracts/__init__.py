"""The tables between the stages: one schema each, written and read only through ``write_table`` and ``read_table``."""

from worldprobe.contracts.controls import ControlAccuracies, ControlDocuments, ControlFillers, ControlTemplates
from worldprobe.contracts.evidence import EVIDENCE, Judgements, Ratings, Responses, Similarities, TargetScores, TokenScores
from worldprobe.contracts.statistics import (
    Agreements,
    Coefficients,
    Comparisons,
    Correlations,
    FeatureMeans,
    Reproduction,
    Summaries,
)
from worldprobe.contracts.storage import check_kind, read_provenance, read_table, read_tables, table_name, validate, write_table
from worldprobe.contracts.study import Items, SurfaceFeatures, Templates
from worldprobe.contracts.table import ITEM_ID, JUDGED_TYPES, PREFERENCES, TEMPLATE_ID, Table

__all__ = [
    "EVIDENCE",
    "ITEM_ID",
    "JUDGED_TYPES",
    "PREFERENCES",
    "TEMPLATE_ID",
    "Agreements",
    "Coefficients",
    "Comparisons",
    "ControlAccuracies",
    "ControlDocuments",
    "ControlFillers",
    "ControlTemplates",
    "Correlations",
    "FeatureMeans",
    "Items",
    "Judgements",
    "Ratings",
    "Reproduction",
    "Responses",
    "Similarities",
    "Summaries",
    "SurfaceFeatures",
    "Table",
    "TargetScores",
    "Templates",
    "TokenScores",
    "check_kind",
    "read_provenance",
    "read_table",
    "read_tables",
    "table_name",
    "validate",
    "write_table",
]
