"""Judgements as arrays, and what intervals and tests take as random factors.

A panel has series (model, eval_type) by items by targets, with the items' design: twenty models,
nine eval types and five versions are 1.6 million judgements; as arrays they are a few megabytes and
every mean is a matrix product.

Pairs of concepts are random factors, and so are versions where all templates share their fillings.
The templates of one pair of concepts share target sentences and often contexts (2,505 built-in
templates: 568 pairs of targets, 366 pairs of concepts). Taking templates as clusters treats
templates that share sentences as independent, so its intervals are narrower. The fillings of a
version are in all templates (items of mode fixed), so a version moves all of them together:
versions cross with pairs of concepts. Where each item has fillings of its own (modes balanced and
independent), they are part of a template's chance; a test of versions shows where they move all
templates all the same, and versions are then random too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.vocabulary import (
    DESIGN,
    OWN,
    contrast_group,
    has_pairing,
)
from worldprobe.contracts.results import over_in_words
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.provenance import Provenance
from worldprobe.report.findings import warn_of_few
from worldprobe.report.model_names import counted

#: unit that is a random factor -> columns that identify it.
CLUSTERS = {
    "concept_pair": ("domain", "concept_a", "concept_b"),
    "template": ("domain", "meta_template", "template"),
}
DEFAULT_CLUSTER = "concept_pair"
WORDS = {"concept_pair": "pairs of concepts", "template": "templates"}


def has_own_fillings(judgements: pd.DataFrame) -> bool:
    """Whether each item of some judgements was filled on its own, so that versions share nothing;
    as far as these say so.
    """
    return "filling" in judgements and bool((judgements["filling"] == OWN).all())


def count_clusters(number: int, cluster: str = DEFAULT_CLUSTER) -> str:
    """A number of clusters in words.

    >>> count_clusters(1), count_clusters(366)
    ('1 pair of concepts', '366 pairs of concepts')
    """
    singular = {"concept_pair": "pair of concepts"}.get(cluster, cluster)
    return counted(number, singular, WORDS[cluster])


def drawn_in_words(cluster: str, judgements: pd.DataFrame) -> str:
    """Units of an interval, by design: of one version with shared fillings, not versions."""
    are_random = judgements["version"].nunique() > 1 and not has_own_fillings(judgements)
    return over_in_words(WORDS[cluster], are_random)


def drawn_units(provenance: Provenance | None) -> str:
    """Units of a table's intervals, in words; "clusters" where they are not known."""
    details = provenance.details if provenance else {}
    return str(details.get("drawn") or WORDS.get(str(details.get("cluster")), "clusters"))


#: p of the F test of versions below which a mean's versions are said to differ.
VERSIONS_DIFFER = 0.05
#: What a second version of own fillings is worth (docs/methods.md).
TWO_VERSIONS = (
    "Two versions of items with fillings of their own find no more than one; three or more do."
)


def own_fillings_notes(comparisons: pd.DataFrame, are_own: bool) -> list[str]:
    """Notes below comparisons of items with fillings of their own.

    Args:
        comparisons: contracts.Comparisons.
        are_own: whether the items have.
    """
    over = comparisons["interval_over"].astype(str).str.contains("and versions")
    notes = []
    if are_own and over.any():
        notes.append(
            f"In {over.sum()} of {len(over)} comparisons versions may differ (F test, p < 0.25, as"
            " a quarter has by chance) and are a random factor, too."
        )
    return notes + [TWO_VERSIONS] * bool(are_own and (comparisons["n_versions"] == 2).any())


def interval_notes(rows: pd.DataFrame, names: Iterable[str] | None = None) -> list[str]:
    """Notes below a table on intervals that are about less than the others, rough or missing.

    Args:
        rows: of contracts.Summaries or contracts.Comparisons.
        names: of the rows, where there are several.
    """
    has_interval, statuses, notes = rows["ci_low"].notna(), rows["status"], warn_of_few(rows)
    called = pd.Series([""] * len(rows) if names is None else list(names), rows.index, dtype=object)
    if "p_versions" in rows:
        over = rows["interval_over"].astype(str).str.endswith(" and versions")
        for index in rows.index[has_interval & ~over & (rows["p_versions"] < VERSIONS_DIFFER)]:
            of = f"{called[index]}: versions" if called[index] else "Versions"
            p = rows["p_versions"][index]
            significance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
            notes.append(
                f"{of} differ more than chance ({significance}): the interval is about these"
                " fillings, not about others."
            )
    if (statuses == "one_version").any():
        notes.append(
            "With one version, intervals hold for its fillings only, and there is no test."
        )
    if statuses.isin(["one_cluster", "no_spread"]).any():
        notes.append("No interval: all values are alike, or of one cluster.")
    return notes


def cluster_codes(items: pd.DataFrame, cluster: str) -> np.ndarray:
    """The code of each item's cluster, 0 to the number of clusters - 1.

    Args:
        items: design columns of contracts.Judgements, one row per item or template.
        cluster: key of ``CLUSTERS``.
    """
    return items.groupby(list(CLUSTERS[cluster]), sort=True, dropna=False).ngroup().to_numpy()


#: templates that two versions must have in common to be taken for copies.
FEWEST_COPIED = 20
#: columns of contracts.Judgements that a panel is built from.
COLUMNS = (
    "item_id",
    "target",
    "model",
    "eval_type",
    "accuracy",
    "is_tie",
    "is_near_tie",
    "status",
    "pairing",
    "is_near_pairing_tie",
    "filling",
    "dtype",
    "taught",
    *DESIGN,
)


@dataclass
class Panel:
    """All judgements of a study.

    Attributes:
        series: columns model and eval_type, one row per series, sorted.
        items: item_id and the design columns, one row per item; context_contrast is grouped into
            the paper's four.
        accuracy: shape (series, items, 2); missing where there is none.
        is_present: shape (series, items, 2): the series has a row there.
        is_tie, is_near_tie, is_missing: the same shape.
        pairing: shape (series, items); missing where an item has none.
        is_near_pairing_tie: the same shape.
        has_pairing: shape (series,): not of Choice, nor of judgements without the column.
        has_own_fillings: whether each item was filled on its own, so that versions share nothing.
    """

    series: pd.DataFrame
    items: pd.DataFrame
    accuracy: np.ndarray
    is_present: np.ndarray
    is_tie: np.ndarray
    is_near_tie: np.ndarray
    is_missing: np.ndarray
    pairing: np.ndarray
    is_near_pairing_tie: np.ndarray
    has_pairing: np.ndarray
    has_own_fillings: bool

    def position(self, model: str, eval_type: str) -> int:
        """The row of a series.

        Raises:
            UserError: there is none.
        """
        matches = self.series.index[
            (self.series["model"] == model) & (self.series["eval_type"] == eval_type)
        ]
        if matches.empty:
            raise UserError(
                model,
                f"has no {eval_type} judgements here.",
                f"Known models: {', '.join(sorted(set(self.series['model'])))}.",
            )
        return int(matches[0])


def build_panel(judgements: pd.DataFrame) -> Panel:
    """Arrange judgements as arrays; versions that are copies of one another by all appearances are
    warned of.

    Args:
        judgements: contracts.Judgements, of any number of series; text may be categorical.

    Raises:
        UserError: no rows, two judgements of one target in one series, or tables of different
            items.
    """
    if judgements.empty:
        raise UserError("judgements", "there are no rows.", "Judge at least one model first.")
    item_code, item_ids = _factorize(judgements["item_id"])
    model_code, models = _factorize(judgements["model"])
    type_code, eval_types = _factorize(judgements["eval_type"])
    pair = model_code.astype(np.int64) * len(eval_types) + type_code
    pairs, series_code = np.unique(pair, return_inverse=True)
    series = pd.DataFrame(
        {
            "model": models[pairs // len(eval_types)],
            "eval_type": eval_types[pairs % len(eval_types)],
        }
    )
    target = judgements["target"].to_numpy(int) - 1
    shape = (len(series), len(item_ids), 2)
    flat = np.ravel_multi_index((series_code, item_code, target), shape)
    is_present = np.zeros(shape, bool)
    is_present.ravel()[flat] = True
    if is_present.sum() != len(judgements):
        raise UserError(
            "judgements",
            "one target is judged twice by the same model and eval type.",
            "Give each table once.",
        )
    items = _design(judgements, item_code, item_ids)

    def spread(values: np.ndarray, empty: float | bool) -> np.ndarray:
        cube = np.full(shape, empty, dtype=values.dtype)
        cube.ravel()[flat] = values
        return cube

    accuracy = spread(judgements["accuracy"].to_numpy(np.float32), np.nan)
    for first, copy in copied_versions(items, accuracy):
        LOGGER.warning(
            "versions %d and %d have the same accuracies everywhere. If their fillings are the"
            " same, give one of them: a copy makes versions look alike, and intervals narrow",
            first,
            copy,
        )
    is_missing = spread((judgements["status"] != "ok").to_numpy(bool), False)
    pairing, is_near = (
        judgements[name] if name in judgements else pd.Series(None, judgements.index, dtype=object)
        for name in ("pairing", "is_near_pairing_tie")
    )
    pairings = spread(pairing.to_numpy(np.float32), np.nan)[:, :, 0]
    return Panel(
        series=series,
        items=items,
        accuracy=accuracy,
        is_present=is_present,
        is_tie=spread(judgements["is_tie"].to_numpy(bool), False),
        is_near_tie=spread(judgements["is_near_tie"].to_numpy(bool), False),
        is_missing=is_missing,
        pairing=pairings,
        is_near_pairing_tie=spread(is_near.eq(True).to_numpy(bool), False)[:, :, 0],
        has_pairing=_have_pairing(series, pairings, (is_present & ~is_missing).all(axis=2)),
        has_own_fillings=has_own_fillings(judgements),
    )


def _have_pairing(series: pd.DataFrame, pairing: np.ndarray, is_whole: np.ndarray) -> np.ndarray:
    """Mask of the series with pairings; judgements of an earlier worldprobe have none.

    Args:
        series: as in ``Panel``.
        pairing: as in ``Panel``.
        is_whole: which items have both targets' scores, and so a pairing, the same shape.
    """
    is_asked = series["eval_type"].map(has_pairing).to_numpy(bool)
    is_old = is_asked & is_whole.any(axis=1) & np.isnan(pairing).all(axis=1)
    return is_asked & ~is_old


def copied_versions(items: pd.DataFrame, accuracy: np.ndarray) -> list[tuple[int, int]]:
    """Versions in which every series has the accuracies that it has in an earlier one, template by
    template.

    Args:
        items: as in ``Panel``.
        accuracy: as in ``Panel``.

    Returns:
        The earlier version and its copy. With fewer than ``FEWEST_COPIED`` templates, and where no
        series is right in some and wrong in others, equal accuracies say nothing.
    """
    template, version = cluster_codes(items, "template"), items["version"].to_numpy()
    seen: dict[tuple[bytes, bytes], int] = {}
    copies = []
    for number in np.unique(version):
        positions = np.flatnonzero(version == number)
        positions = positions[np.argsort(template[positions], kind="stable")]
        values = accuracy[:, positions].reshape(len(accuracy), -1)
        first = seen.setdefault((template[positions].tobytes(), values.tobytes()), int(number))
        if (
            first != number
            and len(positions) >= FEWEST_COPIED
            and (np.fmin.reduce(values, 1) < np.fmax.reduce(values, 1)).any()
        ):
            copies.append((first, int(number)))
    return copies


def _factorize(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Codes and sorted distinct values."""
    codes, values = pd.factorize(column, sort=True)
    return codes, np.asarray(values, dtype=object)


def _design(judgements: pd.DataFrame, item_code: np.ndarray, item_ids: np.ndarray) -> pd.DataFrame:
    """One row per item.

    Raises:
        UserError: the same item_id has different designs in different tables.
    """
    first = np.full(len(item_ids), -1)
    first[item_code[::-1]] = np.arange(len(item_code))[::-1]
    items = {"item_id": item_ids}
    for name in DESIGN:
        codes = pd.factorize(judgements[name])[0]
        clash = codes != codes[first][item_code]
        if clash.any():
            raise UserError(
                "judgements",
                f"item {item_ids[item_code[clash][0]]} has two values of {name}.",
                "Give tables that were judged with one items table.",
            )
        column = judgements[name].iloc[first]
        items[name] = (
            column.to_numpy(int)
            if name in ("version", "meta_template", "template")
            else column.to_numpy(object)
        )
    frame = pd.DataFrame(items)
    frame["concept_b"] = frame["concept_b"].where(frame["concept_b"].notna(), None)
    frame["context_contrast"] = [
        contrast_group(label if isinstance(label, str) else None)
        for label in frame["context_contrast"]
    ]
    return frame
