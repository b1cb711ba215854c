"""What intervals and tests take as samples of more: pairs of concepts, and versions where all templates share their fillings.

The templates of one pair of concepts share target sentences and often contexts (1,906 built-in templates: 425 pairs of targets,
158 pairs of concepts). Taking templates as clusters treats templates that share sentences as independent, so its intervals are
narrower. The fillings of a version are in all templates (items of mode fixed), so a version moves all of them together: versions
cross with pairs of concepts. Where each item has fillings of its own (mode independent), they are part of a template's chance.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.provenance import Provenance

#: unit that is a sample of more -> columns that identify it.
CLUSTERS = {
    "concept_pair": ("domain", "concept_a", "concept_b"),
    "template": ("domain", "meta_template", "template"),
}
DEFAULT_CLUSTER = "concept_pair"
_WORDS = {"concept_pair": "pairs of concepts", "template": "templates"}


def drawn_in_words(cluster: str, has_own_fillings: bool = False) -> str:
    """What an interval is over.

    >>> drawn_in_words("concept_pair"), drawn_in_words("template", has_own_fillings=True)
    ('pairs of concepts and versions', 'templates')
    """
    return _WORDS[cluster] + ("" if has_own_fillings else " and versions")


def drawn_units(provenance: Provenance | None) -> str:
    """What a table's intervals are over, as a note says it; "clusters" where that is not known."""
    details = provenance.details if provenance else {}
    return str(details.get("drawn") or _WORDS.get(str(details.get("cluster")), "clusters"))


def status_notes(statuses: pd.Series) -> list[str]:
    """What a note below a table says of intervals that are about less than the others, or missing.

    Args:
        statuses: of the table's rows, as ``analysis.clusters`` gives them.
    """
    notes = []
    if (statuses == "one_version").any():
        notes.append("There is one version: the interval is about its fillings only, and there is no test.")
    if statuses.isin(["one_cluster", "no_spread"]).any():
        notes.append("No interval: all values are alike, or of one cluster, and nothing says how others would come out.")
    return notes


def cluster_codes(items: pd.DataFrame, cluster: str) -> np.ndarray:
    """The code of each item's cluster, 0 to the number of clusters - 1.

    Args:
        items: design columns of contracts.Judgements, one row per item or template.
        cluster: key of ``CLUSTERS``.
    """
    return items.groupby(list(CLUSTERS[cluster]), sort=True, dropna=False).ngroup().to_numpy()
