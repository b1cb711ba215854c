"""Which items are drawn and flipped together, because they are no independent evidence.

The templates of one pair of concepts share target sentences and often contexts (1,906 built-in templates: 425 pairs of targets,
158 pairs of concepts), and the versions of a template differ in fillers only. So intervals and tests draw and flip whole pairs
of concepts. Drawing templates instead treats templates that share sentences as independent, so its intervals are narrower.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.provenance import Provenance

#: unit that is drawn and flipped -> columns that identify it.
CLUSTERS = {
    "concept_pair": ("domain", "concept_a", "concept_b"),
    "template": ("domain", "meta_template", "template"),
}
DEFAULT_CLUSTER = "concept_pair"
_WORDS = {"concept_pair": "pairs of concepts", "template": "templates"}


def drawn_units(provenance: Provenance | None) -> str:
    """What was drawn as a whole for a table's intervals, as a note says it; "clusters" where that is not known."""
    return _WORDS.get(str(provenance.details.get("cluster")) if provenance else "", "clusters")


def cluster_codes(items: pd.DataFrame, cluster: str) -> np.ndarray:
    """The code of each item's cluster, 0 to the number of clusters - 1.

    Args:
        items: design columns of contracts.Judgements, one row per item or template.
        cluster: key of ``CLUSTERS``.
    """
    return items.groupby(list(CLUSTERS[cluster]), sort=True, dropna=False).ngroup().to_numpy()
