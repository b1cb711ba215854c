"""The released analysis's exclusions, reversals and deduplication, each a named step that can be switched off."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.analysis.released import TEXTS, Release, join_texts
from worldprobe.benchmarks.ewok.vocabulary import contrast_group
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

VERSIONS = 5
TEMPLATE = ["Domain", "MetaTemplateID", "TemplateID"]


@dataclass
class Effect:
    """What a step did; ``note`` says why it did nothing."""

    step: str
    rows_in: int
    rows_out: int
    items_in: int
    items_out: int
    note: str = ""

    def __str__(self) -> str:
        counts = f"{self.rows_in:,} rows in, {self.rows_out:,} out; {self.items_in:,} items in, {self.items_out:,} out"
        return f"{self.step}: {counts}" + (f" ({self.note})" if self.note else "")


def apply_steps(release: Release, skip: Collection[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame, list[Effect]]:
    """Do what the paper did to its results between scoring and averaging (inspect_results.Rmd, in its order).

    Args:
        release: as it was read.
        skip: names of steps to leave out.

    Returns:
        contracts.Judgements; contracts.SurfaceFeatures (empty without controls); every step's effect.

    Raises:
        UserError: an unknown step, or a step stops (an incomplete template), or leaves nothing.
    """
    unknown = [name for name in skip if name not in STEPS]
    if unknown:
        raise UserError("--skip", f'there is no step "{unknown[0]}".', f"The steps are: {', '.join(STEPS)}.")
    effects = []
    for name, step in STEPS.items():
        before = (len(release.rows), len(release.items))
        note = "switched off"
        if name not in skip:
            release, note = step(release)
        elif name == "require_human":
            release = _join_human(release)
        effects.append(Effect(name, before[0], len(release.rows), before[1], len(release.items), note))
        if release.rows.empty:
            problem = f"leaves none of {before[1]:,} items" + (f" ({note})." if note else ".")
            raise UserError(f"step {name}", problem, f"Check the release's lists, or add --skip {name}.")
    return _judgements(release), _surface(release), effects


def recode_contrasts(release: Release) -> tuple[Release, str]:
    """Step 1: context contrasts other than antonym, negation and variable swap become "other"."""
    grouped = [contrast_group(label) for label in release.items["ContextDiff"]]
    n_recoded = int((release.items["ContextDiff"] != grouped).sum())
    return replace(release, items=release.items.assign(ContextDiff=grouped)), f"{n_recoded:,} items recoded"


def check_versions(release: Release) -> tuple[Release, str]:
    """Step 2: every template has five versions, or the analysis stops."""
    counts = release.items.groupby(TEMPLATE).size()
    wrong = counts[counts != VERSIONS]
    if len(wrong):
        domain, meta, template = wrong.index[0]
        raise UserError(
            f"{domain} {meta}_{template}",
            f"has {wrong.iloc[0]} versions, not {VERSIONS}; so have {len(wrong) - 1} other templates.",
            "Give all versions, or add --skip check_versions.",
        )
    return release, ""


def drop_duplicates(release: Release) -> tuple[Release, str]:
    """Step 3: of items with the same texts stay those with the smallest metatemplate, then template, then version (as text)."""
    items = release.items.assign(texts=join_texts(release.items), version_text=release.items["version"].astype(str))
    for column in ("MetaTemplateID", "TemplateID", "version_text"):
        smallest = items.groupby("texts")[column].transform("min")
        items = items[items[column] == smallest]
    return _keep(release, items.index), ""


def require_human(release: Release) -> tuple[Release, str]:
    """Step 4: only items with human ratings stay, and only ratings of these items."""
    if release.human.empty:
        return release, "the release has no human ratings"
    rated = release.items.index[join_texts(release.items).isin(set(release.human["texts"]))]
    return _join_human(_keep(release, rated)), "human rows joined"


def exclude_flagged(release: Release) -> tuple[Release, str]:
    """Step 5: whole templates of items flagged as mismatch, design or incomplete go."""
    flagged = _templates_with(release, ("mismatch", "design", "incomplete"))
    if flagged is None:
        return release, "no list of flagged items"
    return _keep(release, release.items.index[~flagged]), ""


def reverse_flagged(release: Release) -> tuple[Release, str]:
    """Step 6: in templates of items flagged as reverse the targets change places and an accuracy v becomes 1 - v.

    The row keeps its target's number, as in the released analysis. That analysis also turns the 0 of an unreadable answer into 1;
    so do we, and the note says how often.
    """
    flagged = _templates_with(release, ("reverse",))
    if flagged is None:
        return release, "no list of flagged items"
    items = release.items.copy()
    items.loc[flagged, ["Target1", "Target2"]] = items.loc[flagged, ["Target2", "Target1"]].to_numpy()
    turned = release.rows["item"].isin(items.index[flagged])
    accuracy = release.rows["accuracy"].where(~turned, 1 - release.rows["accuracy"])
    n_unreadable = int((turned & (release.rows["status"] != "ok") & (accuracy == 1)).sum())
    note = f"{turned.sum():,} rows reversed"
    if n_unreadable:
        note += f"; {n_unreadable:,} unreadable answers now count as right, as in the released analysis"
    return replace(release, items=items, rows=release.rows.assign(accuracy=accuracy)), note


def drop_unreleased(release: Release) -> tuple[Release, str]:
    """Step 7: items that the released materials no longer make go."""
    if release.removed is None:
        return release, "no list of removed items"
    gone = set(release.removed["Domain"] + "\t" + join_texts(release.removed))
    is_gone = (release.items["Domain"] + "\t" + join_texts(release.items)).isin(gone)
    return _keep(release, release.items.index[~is_gone]), ""


STEPS: dict[str, Callable[[Release], tuple[Release, str]]] = {
    step.__name__: step
    for step in (
        recode_contrasts,
        check_versions,
        drop_duplicates,
        require_human,
        exclude_flagged,
        reverse_flagged,
        drop_unreleased,
    )
}


def _keep(release: Release, kept: pd.Index) -> Release:
    rows = release.rows[release.rows["item"].isin(kept)]
    return replace(release, items=release.items.loc[release.items.index.isin(kept)], rows=rows)


def _join_human(release: Release) -> Release:
    """Human rows become rows of the items with the same texts."""
    if release.human.empty:
        return release
    codes = pd.DataFrame({"texts": join_texts(release.items), "item": release.items.index})
    joined = release.human.merge(codes, on="texts").drop(columns="texts")
    return replace(release, rows=pd.concat([release.rows, joined[release.rows.columns]], ignore_index=True))


def _templates_with(release: Release, problems: tuple[str, ...]) -> np.ndarray | None:
    """Which items are of a template that has an item flagged with one of the problems; None without a list."""
    if release.flagged is None:
        return None
    chosen = release.flagged[release.flagged["problem"].isin(problems)]
    is_flagged = join_texts(release.items).isin(set(join_texts(chosen[TEXTS])))
    return is_flagged.groupby([release.items[c] for c in TEMPLATE]).transform("any").to_numpy(bool)


def _item_ids(items: pd.DataFrame) -> pd.Series:
    place = items[[*TEMPLATE, "version"]].astype(str)
    return place["Domain"] + "_" + place["MetaTemplateID"] + "_" + place["TemplateID"] + "_v" + place["version"]


def _judgements(release: Release) -> pd.DataFrame:
    items = release.items
    design = pd.DataFrame(
        {
            "item_id": _item_ids(items),
            "domain": items["Domain"],
            "version": items["version"],
            "meta_template": items["MetaTemplateID"],
            "template": items["TemplateID"],
            "concept_a": items["ConceptA"],
            "concept_b": items["ConceptB"].where(~items["ConceptB"].isin(["-", ""]), None),
            "context_contrast": items["ContextDiff"].where(items["ContextDiff"] != "", None),
            "context_type": items["ContextType"],
            "target_contrast": items["TargetDiff"],
        }
    )
    return release.rows.merge(design, left_on="item", right_index=True).drop(columns="item").reset_index(drop=True)


def _surface(release: Release) -> pd.DataFrame:
    """Surface features joined by the texts as they now are, so that reversed items drop out, as in the released analysis."""
    codes = pd.DataFrame({"texts": join_texts(release.items), "item_id": _item_ids(release.items)})
    joined = codes.merge(release.features, on="texts")
    if len(release.features):
        n_without = len(codes) - joined["item_id"].nunique()
        LOGGER.info("surface features: %d of %d items have none; reversed items never do", n_without, len(codes))
    columns = ["item_id", "target", "n_words", "log_frequency"]
    return joined[columns].astype({"target": "int64", "n_words": "float64", "log_frequency": "float64"})
