"""The layout in which EWoK's authors released their results, read as judgements.

One CSV per domain under ``dataset-cfg=...vers=N/eval=E/model=M/``, its first line a canary; human
ratings in CSVs of their own, with columns such as ``response_mean_target1_context1``. A folder or a
(password-protected) ZIP; a ZIP is read in memory and never unpacked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from worldprobe.archives import Archive
from worldprobe.benchmarks.ewok.analysis.judge import NEAR_TIE, compare_pairings, judge_scores
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_TYPES,
    GENERATIONS,
    OFFICIAL_TEXTS,
    TARGET_CONTRASTS,
    contrast_group,
)
from worldprobe.commented_csv import CsvError, read_frame, read_rows
from worldprobe.errors import UserError
from worldprobe.log import LOGGER, Progress

TEXTS = list(OFFICIAL_TEXTS)
_PLACE = ["Domain", "MetaTemplateID", "TemplateID"]
DESIGN = [*_PLACE, "ConceptA", "ConceptB", "TargetDiff", "ContextDiff", "ContextType"]
#: files of the released analysis that name items with problems; found by name anywhere in the
#: release.
FLAGGED, REMOVED = "flagged_items_human.csv", "remove_from_results.csv"
_LISTINGS = {FLAGGED: ["problem"], REMOVED: ["Domain"]}
_PASSWORD_HINT = "Set WORLDPROBE_MATERIALS_PASSWORD."
#: columns of a judged target.
JUDGED = [
    *("target", "model", "eval_type", "accuracy", "is_tie", "is_near_tie", "status"),
    *("pairing", "is_near_pairing_tie"),
]
SHOTS = {"original": "zero", "optimized": "two"}


@dataclass
class Release:
    """Contents of a release.

    Attributes:
        items: TEXTS, DESIGN and ``version``, one row per item; its index is the code that ``rows``
            uses.
        rows: item and ``JUDGED``.
        human: the same without item, with ``texts`` (the four texts joined by tabs); empty where
            there are no ratings.
        features: texts, target, n_words, log_frequency; empty where the release has no controls.
        flagged: TEXTS and ``problem``, or None.
        removed: TEXTS and Domain, or None.
        unread: files of the release that were not read.
    """

    items: pd.DataFrame
    rows: pd.DataFrame
    human: pd.DataFrame
    features: pd.DataFrame
    flagged: pd.DataFrame | None = None
    removed: pd.DataFrame | None = None
    unread: list[str] = field(default_factory=list)


def read_release(source: Path, password: str | None = None) -> Release:
    """Read every CSV of a release that is in the layout.

    Args:
        source: folder or ZIP.
        password: of the ZIP.

    Returns:
        The release before any of the released analysis's exclusions; other CSVs are listed in
        ``unread``.

    Raises:
        UserError: nothing there is in the layout, a file lacks a column, or the ZIP's password is
            wrong.
    """
    archive = Archive(source, password, _PASSWORD_HINT)
    results, human, features, unread = [], [], [], []
    special: dict[str, pd.DataFrame] = {}
    members = _members(archive)
    with Progress("Reading the release", len(members), "files") as progress:
        for path in members:
            progress.advance()
            where, content = f"{source}, {path}", archive.read(str(path))
            tags = dict(
                part.split("=", 1)
                for part in path.parts[:-1]
                if part.startswith(("eval=", "model="))
            )
            if path.name in _LISTINGS:
                special[path.name] = _listing(where, read_frame(where, content), path.name)
            elif {"eval", "model"} <= set(tags):
                frame, version = read_frame(where, content), _version(where, path)
                if tags["eval"] == "controls":
                    features.append(_features(where, frame))
                else:
                    judged = _judged(where, frame, tags["eval"], _model(tags["model"]))
                    results.append(judged.assign(version=version, file=where))
            elif "response_mean_target1_context1" in _header(where, content):
                human.append(_judged(where, read_frame(where, content), "human_likert", "human"))
            else:
                unread.append(str(path))
    if not results:
        raise UserError(
            source,
            "contains no CSV under eval=.../model=...",
            "Give the folder or ZIP of released results.",
        )
    items, rows = _split(pd.concat(results, ignore_index=True))
    for name in unread:
        LOGGER.info("ignored, as no part of the layout: %s", name)
    return Release(
        items=items,
        rows=rows,
        human=_with_texts(human, JUDGED),
        features=_with_texts(features, ["target", "n_words", "log_frequency"]),
        flagged=special.get(FLAGGED),
        removed=special.get(REMOVED),
        unread=unread,
    )


def join_texts(frame: pd.DataFrame) -> pd.Series:
    """The four texts joined by tabs: an item's identity in the released analysis."""
    return (
        frame["Context1"]
        + "\t"
        + frame["Context2"]
        + "\t"
        + frame["Target1"]
        + "\t"
        + frame["Target2"]
    )


def _listing(where: object, frame: pd.DataFrame, name: str) -> pd.DataFrame:
    _require(where, frame, [*_LISTINGS[name], *TEXTS])
    return frame


def clean_numbers(answers: pd.Series, highest: int) -> np.ndarray:
    """The released analysis's reading of answers: drop all but digits, points and hyphens, take the
    first character.

    >>> clean_numbers(pd.Series(["Answer: 2.", "7", "none", "-1"]), 5).tolist()
    [2.0, nan, nan, nan]
    """
    first = answers.str.replace(r"[^0-9.-]", "", regex=True).str.slice(0, 1)
    numbers = pd.to_numeric(first, errors="coerce").to_numpy(float)
    return np.where((numbers >= 1) & (numbers <= highest), numbers, np.nan)


def _members(archive: Archive) -> list[PurePosixPath]:
    """Every CSV's path inside the release, by name."""
    return [
        PurePosixPath(name)
        for name in archive.names
        if name.endswith(".csv") and "__MACOSX" not in name
    ]


def _header(where: object, content: bytes) -> list[str]:
    """The columns of a file that may be anything; none where it is not a CSV."""
    try:
        return next(read_rows(where, content), (0, []))[1]
    except CsvError:
        return []


def _version(where: object, path: PurePosixPath) -> int:
    match = re.search(r"vers=(\d{1,9})(?!\d)", "/".join(path.parts[:-1]))
    if match is None:
        problem = "its folders do not say which version of the items it is (vers=N)."
        raise UserError(where, problem, "Keep the released folder names.")
    return int(match.group(1))


def _model(name: str) -> str:
    """The paper's short names of models."""
    return re.sub(r"_it$", "", name.replace("_v0.1", "").replace("Meta_", ""))


def _require(where: object, frame: pd.DataFrame, columns: Iterable[str]) -> None:
    absent = [column for column in columns if column not in frame]
    if absent:
        raise UserError(
            where, f"has no column {absent[0]}.", "Give the files as they were released."
        )


def _numbers(where: object, frame: pd.DataFrame, columns: list[str]) -> list[np.ndarray]:
    """Columns as numbers; cells that are not finite numbers become missing, and the log says how
    many.
    """
    _require(where, frame, [*columns, *TEXTS])
    numbers = [pd.to_numeric(frame[column], errors="coerce").to_numpy(float) for column in columns]
    n_bad = sum(int((~np.isfinite(values)).sum()) for values in numbers)
    if n_bad:
        LOGGER.warning(
            "%s: %d cells of %s are not finite numbers; they count as missing",
            where,
            n_bad,
            ", ".join(columns),
        )
    return [np.where(np.isfinite(values), values, np.nan) for values in numbers]


def _judged(where: object, frame: pd.DataFrame, released_type: str, model: str) -> pd.DataFrame:
    """Two rows per item: the accuracy of both targets."""
    paradigm, _, rest = released_type.partition("_")
    pairs = [(1, 1), (1, 2), (2, 2), (2, 1)]  # target and context: what is compared with what
    missing_counts = np.nan
    eval_type = released_type
    if paradigm in ("logprobs", "cosine", "human"):
        pattern = {
            "logprobs": "logp_target{}_context{}",
            "cosine": "Target{}_Context{}",
            "human": "response_mean_target{}_context{}",
        }
        eval_type = {"cosine": "word2vec"}.get(paradigm, released_type)
        scores = _numbers(where, frame, [pattern[paradigm].format(t, c) for t, c in pairs])
    elif paradigm in ("likert", "choice"):
        generation, _, prompt = rest.partition("_")
        if prompt not in SHOTS or generation not in GENERATIONS:
            raise UserError(
                where,
                f"eval={released_type} is not in the layout.",
                "Keep the released folder names.",
            )
        eval_type = f"{paradigm}_{generation}_{SHOTS[prompt]}"
        missing_counts = 0.0
        names = (
            [f"text_likert_target{t}_context{c}" for t, c in pairs]
            if paradigm == "likert"
            else ["text_choice_target1", "text_choice_target2"]
        )
        _require(where, frame, [*names, *TEXTS])
        answers = [clean_numbers(frame[n], 5 if paradigm == "likert" else 2) for n in names]
        if (
            paradigm == "choice"
        ):  # right is 1 for target 1 and 2 for target 2: as scores, right against wrong
            answers = [
                part
                for a, right in zip(answers, (1, 2), strict=True)
                for part in (_where(a, right), _where(a, 3 - right))
            ]
        scores = answers
    else:
        raise UserError(
            where, f"eval={released_type} is not in the layout.", "Keep the released folder names."
        )
    if paradigm == "logprobs" and any((values > 0).any() for values in scores):
        raise UserError(
            where, "contains a log probability above 0.", "Give the files as they were released."
        )
    near_tie = NEAR_TIE if paradigm == "logprobs" else 0.0
    if frame.empty:
        raise UserError(
            where,
            "has a header but no rows.",
            "Fetch the release again; it may have been cut short.",
        )
    parts = []
    pairing, is_near_pairing = np.full(len(frame), np.nan), np.zeros(len(frame), bool)
    if paradigm != "choice":
        four = (scores[0], scores[1], scores[3], scores[2])
        pairing, is_near_pairing = compare_pairings(four, near_tie)
    _require(where, frame, _PLACE if paradigm != "human" else ())
    for target, matching, other in ((1, scores[0], scores[1]), (2, scores[2], scores[3])):
        accuracy, is_tie, is_near_tie, is_missing = judge_scores(matching, other, near_tie)
        status = (
            "missing_response" if paradigm in ("likert", "choice", "human") else "missing_score"
        )
        design = [c for c in DESIGN if c in frame]
        parts.append(
            frame[TEXTS + design].assign(
                target=target,
                model=model,
                eval_type=eval_type,
                accuracy=np.where(is_missing, missing_counts, accuracy),
                is_tie=is_tie,
                is_near_tie=is_near_tie,
                status=np.where(is_missing, status, "ok"),
                pairing=pairing,
                is_near_pairing_tie=is_near_pairing,
            )
        )
    return pd.concat(parts, ignore_index=True)


def _where(answers: np.ndarray, value: int) -> np.ndarray:
    return np.where(np.isnan(answers), np.nan, answers == value)


def _features(where: object, frame: pd.DataFrame) -> pd.DataFrame:
    """Length and frequency of both targets: their own and the mean of the contexts' (released
    analysis, step 9).
    """
    parts = []
    for target in (1, 2):
        values = {}
        for name, column in (("n_words", "Length"), ("log_frequency", "Freq")):
            base, first, second = _numbers(
                where,
                frame,
                [f"Target{target}_{column}", f"Context1_{column}", f"Context2_{column}"],
            )
            values[name] = base + (first + second) / 2
        parts.append(frame[TEXTS].assign(target=target, **values))
    return pd.concat(parts, ignore_index=True)


def _with_texts(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Rows named by their texts alone; of rows with the same texts the first counts."""
    if not parts:
        return pd.DataFrame(columns=["texts", *columns])
    whole = pd.concat(parts, ignore_index=True)
    rows = whole.assign(texts=join_texts(whole))[["texts", *columns]]
    first = rows.drop_duplicates(["texts", "target"], ignore_index=True)
    n_others = len(rows.drop_duplicates()) - len(first)
    if n_others:
        LOGGER.warning(
            "%d rows repeat the texts of an earlier row with other values; the first of each is"
            " used",
            n_others,
        )
    return first


def _split(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and rows that name them by code.

    Raises:
        UserError: a number or name that is not one, files that disagree on an item, or two items or
            results in one place.
    """
    key = [*_PLACE, "version"]
    _check_place(results)
    results[["MetaTemplateID", "TemplateID"]] = results[["MetaTemplateID", "TemplateID"]].astype(
        "int64"
    )
    results["item"] = results.groupby([*key, *TEXTS], sort=True).ngroup()
    items = _design_of(results)
    twice = items.duplicated(key)
    if twice.any():
        row = items[twice].iloc[0]
        problem = f"different files have different texts for {_name(row)}."
        file = results.loc[results["item"] == items.index[twice][0], "file"].iloc[0]
        raise UserError(file, problem, "Give results of one version of the items.")
    rows = results[["item", *JUDGED]]
    doubled = rows.duplicated(["item", "target", "model", "eval_type"])
    if doubled.any():
        row = results[doubled].iloc[0]
        problem = f"gives {row['model']} a second {row['eval_type']} result for {_name(row)}."
        raise UserError(row["file"], problem, "Give one run of each model.")
    return items, rows


def _check_place(results: pd.DataFrame) -> None:
    numbers = {
        "MetaTemplateID": r"[1-9]\d{0,8}",
        "TemplateID": r"[1-9]\d{0,8}",
        "Domain": "[A-Za-z0-9-]+",
    }
    for column, pattern in numbers.items():
        is_bad = ~results[column].str.fullmatch(pattern)
        if is_bad.any():
            row = results[is_bad].iloc[0]
            problem = (
                f'{column}: "{row[column]}" is not a valid'
                f" {'name' if column == 'Domain' else 'number'}."
            )
            raise UserError(row["file"], problem, "Give the files as they were released.")


def _design_of(results: pd.DataFrame) -> pd.DataFrame:
    """One row per item; files may lack design columns that others have, but must not disagree."""
    columns = [*TEXTS, *DESIGN, "version", "file"]
    rows = results.reindex(columns=["item", *columns]).drop_duplicates(["item", *DESIGN])
    items = rows.groupby("item")[columns].first()  # of what is stated
    for column in DESIGN:
        stated = rows.dropna(subset=[column]).drop_duplicates(["item", column])
        again = stated[stated.duplicated("item")]
        if len(again):
            row = again.iloc[0]
            problem = f'{column} of {_name(row)}: "{row[column]}" here, another in an earlier file.'
            raise UserError(row["file"], problem, "Give results of one version of the items.")
        if items[column].isna().any():
            row = items[items[column].isna()].iloc[0]
            raise UserError(
                row["file"],
                f"has no column {column}, nor has another file of the item.",
                "Give whole files.",
            )
    allowed = {
        "ContextType": "|".join(CONTEXT_TYPES),
        "TargetDiff": "|".join(TARGET_CONTRASTS),
        "ConceptA": "(?s).+",
    }
    for column, pattern in allowed.items():
        is_bad = ~items[column].str.fullmatch(pattern)
        if is_bad.any():
            row = items[is_bad].iloc[0]
            raise UserError(
                row["file"],
                f'{column} of {_name(row)} is "{row[column]}".',
                "Give the files as they were released.",
            )
    return items.drop(columns="file")


def _name(row: pd.Series) -> str:
    return f"{row['Domain']} {row['MetaTemplateID']}_{row['TemplateID']}, version {row['version']}"


VERSIONS = 5
TEMPLATE = ["Domain", "MetaTemplateID", "TemplateID"]


@dataclass
class Effect:
    """Effect of a step; ``note`` says why it did nothing."""

    step: str
    rows_in: int
    rows_out: int
    items_in: int
    items_out: int
    note: str = ""

    def __str__(self) -> str:
        counts = (
            f"{self.rows_in:,} rows in, {self.rows_out:,} out; {self.items_in:,} items in,"
            f" {self.items_out:,} out"
        )
        return f"{self.step}: {counts}" + (f" ({self.note})" if self.note else "")


def apply_steps(
    release: Release, skip: Collection[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame, list[Effect]]:
    """Do what the paper did to its results between scoring and averaging (inspect_results.Rmd, in
    its order).

    Args:
        release: as it was read.
        skip: names of steps to leave out.

    Returns:
        contracts.Judgements; contracts.SurfaceFeatures (empty without controls); every step's
        effect.

    Raises:
        UserError: an unknown step, or a step stops (an incomplete template), or leaves nothing.
    """
    unknown = [name for name in skip if name not in STEPS]
    if unknown:
        raise UserError(
            "--skip", f'there is no step "{unknown[0]}".', f"The steps are: {', '.join(STEPS)}."
        )
    effects = []
    for name, step in STEPS.items():
        before = (len(release.rows), len(release.items))
        note = "switched off"
        if name not in skip:
            release, note = step(release)
        elif name == "require_human":
            release = _join_human(release)
        effects.append(
            Effect(name, before[0], len(release.rows), before[1], len(release.items), note)
        )
        if release.rows.empty:
            problem = f"leaves none of {before[1]:,} items" + (f" ({note})." if note else ".")
            raise UserError(
                f"step {name}", problem, f"Check the release's lists, or add --skip {name}."
            )
    return _judgements(release), _surface(release), effects


def recode_contrasts(release: Release) -> tuple[Release, str]:
    """Step 1: context contrasts other than antonym, negation and variable swap become "other"."""
    grouped = [contrast_group(label) for label in release.items["ContextDiff"]]
    n_recoded = int((release.items["ContextDiff"] != grouped).sum())
    return (
        replace(release, items=release.items.assign(ContextDiff=grouped)),
        f"{n_recoded:,} items recoded",
    )


def check_versions(release: Release) -> tuple[Release, str]:
    """Step 2: every template has five versions, or the analysis stops."""
    counts = release.items.groupby(TEMPLATE).size()
    wrong = counts[counts != VERSIONS]
    if len(wrong):
        domain, meta, template = wrong.index[0]
        raise UserError(
            f"{domain} {meta}_{template}",
            f"has {wrong.iloc[0]} versions, not {VERSIONS}; so have {len(wrong) - 1} other"
            " templates.",
            "Give all versions, or add --skip check_versions.",
        )
    return release, ""


def drop_duplicates(release: Release) -> tuple[Release, str]:
    """Step 3: of items with the same texts stay those with the smallest metatemplate, then
    template, then version (as text).
    """
    items = release.items.assign(
        texts=join_texts(release.items), version_text=release.items["version"].astype(str)
    )
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
    """Step 6: in templates of items flagged as reverse the targets change places and an accuracy v
    becomes 1 - v, as does a pairing.

    The row keeps its target's number, as in the released analysis. That analysis also turns the 0
    of an unreadable answer into 1; so do we, and the note says how often.
    """
    flagged = _templates_with(release, ("reverse",))
    if flagged is None:
        return release, "no list of flagged items"
    items = release.items.copy()
    items.loc[flagged, ["Target1", "Target2"]] = items.loc[
        flagged, ["Target2", "Target1"]
    ].to_numpy()
    turned = release.rows["item"].isin(items.index[flagged])
    accuracy = release.rows["accuracy"].where(~turned, 1 - release.rows["accuracy"])
    n_unreadable = int((turned & (release.rows["status"] != "ok") & (accuracy == 1)).sum())
    note = f"{turned.sum():,} rows reversed"
    if n_unreadable:
        note += (
            f"; {n_unreadable:,} unreadable answers now count as right, as in the released analysis"
        )
    pairing = release.rows["pairing"].where(~turned, 1 - release.rows["pairing"])
    rows = release.rows.assign(accuracy=accuracy, pairing=pairing)
    return replace(release, items=items, rows=rows), note


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
    return replace(
        release, rows=pd.concat([release.rows, joined[release.rows.columns]], ignore_index=True)
    )


def _templates_with(release: Release, problems: tuple[str, ...]) -> np.ndarray | None:
    """Mask of the items of a template that has an item flagged with one of the problems; None
    without a list.
    """
    if release.flagged is None:
        return None
    chosen = release.flagged[release.flagged["problem"].isin(problems)]
    is_flagged = join_texts(release.items).isin(set(join_texts(chosen[TEXTS])))
    return is_flagged.groupby([release.items[c] for c in TEMPLATE]).transform("any").to_numpy(bool)


def _item_ids(items: pd.DataFrame) -> pd.Series:
    columns = items[[*TEMPLATE, "version"]].astype(str)
    return (
        columns["Domain"]
        + "_"
        + columns["MetaTemplateID"]
        + "_"
        + columns["TemplateID"]
        + "_v"
        + columns["version"]
    )


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
    return (
        release.rows.merge(design, left_on="item", right_index=True)
        .drop(columns="item")
        .reset_index(drop=True)
    )


def _surface(release: Release) -> pd.DataFrame:
    """Surface features joined by the texts as they now are, so that reversed items drop out, as in
    the released analysis.
    """
    codes = pd.DataFrame({"texts": join_texts(release.items), "item_id": _item_ids(release.items)})
    joined = codes.merge(release.features, on="texts")
    if len(release.features):
        n_without = len(codes) - joined["item_id"].nunique()
        LOGGER.info(
            "surface features: %d of %d items have none; reversed items never do",
            n_without,
            len(codes),
        )
    columns = ["item_id", "target", "n_words", "log_frequency"]
    return joined[columns].astype(
        {"target": "int64", "n_words": "float64", "log_frequency": "float64"}
    )
