"""What every table between the stages has in common."""

from __future__ import annotations

from typing import Any

import pandera.pandas as pa

from worldprobe.vocabulary import EVAL_TYPES

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
