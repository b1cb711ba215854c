"""The layout in which EWoK's authors released their results, read as judgements.

One CSV per domain under ``dataset-cfg=...vers=N/eval=E/model=M/``, its first line a canary; human ratings in CSVs of their
own, with columns such as ``response_mean_target1_context1``. A folder or a (password-protected) ZIP; a ZIP is read in memory and
never unpacked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from worldprobe.archives import Archive
from worldprobe.benchmarks.ewok.analysis.judge import NEAR_TIE, compare_scores
from worldprobe.benchmarks.ewok.vocabulary import CONTEXT_TYPES, OFFICIAL_TEXTS, TARGET_CONTRASTS
from worldprobe.benchmarks.ewok.ways import GENERATIONS
from worldprobe.commented_csv import CsvError, read_frame, read_rows
from worldprobe.errors import UserError
from worldprobe.log import LOGGER, Progress

TEXTS = list(OFFICIAL_TEXTS)
_PLACE = ["Domain", "MetaTemplateID", "TemplateID"]
DESIGN = [*_PLACE, "ConceptA", "ConceptB", "TargetDiff", "ContextDiff", "ContextType"]
#: files of the released analysis that name items with problems; found by name anywhere in the release.
FLAGGED, REMOVED = "flagged_items_human.csv", "remove_from_results.csv"
_LISTINGS = {FLAGGED: ["problem"], REMOVED: ["Domain"]}
_PASSWORD_HINT = "Give --password, or set WORLDPROBE_MATERIALS_PASSWORD."
SHOTS = {"original": "zero", "optimized": "two"}


@dataclass
class Release:
    """What a release contains.

    Attributes:
        items: TEXTS, DESIGN and ``version``, one row per item; its index is the code that ``rows`` uses.
        rows: item, target, model, eval_type, accuracy, is_tie, is_near_tie, status.
        human: the same without item, with ``texts`` (the four texts joined by tabs); empty where there are no ratings.
        features: texts, target, n_words, log_frequency; empty where the release has no controls.
        flagged: TEXTS and ``problem``, or None.
        removed: TEXTS and Domain, or None.
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
        The release before any of the released analysis's exclusions; other CSVs are listed in ``unread``.

    Raises:
        UserError: nothing there is in the layout, a file lacks a column, or the ZIP's password is wrong.
    """
    archive = Archive(source, password, _PASSWORD_HINT)
    results, human, features, unread = [], [], [], []
    special: dict[str, pd.DataFrame] = {}
    members = _members(archive)
    with Progress("Reading the release", len(members), "files") as progress:
        for path in members:
            progress.advance()
            where, content = f"{source}, {path}", archive.read(str(path))
            tags = dict(part.split("=", 1) for part in path.parts[:-1] if part.startswith(("eval=", "model=")))
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
        raise UserError(source, "contains no CSV under eval=.../model=...", "Give the folder or ZIP of released results.")
    items, rows = _split(pd.concat(results, ignore_index=True))
    for name in unread:
        LOGGER.info("not read, not in the layout: %s", name)
    return Release(
        items=items,
        rows=rows,
        human=_with_texts(human, ["target", "model", "eval_type", "accuracy", "is_tie", "is_near_tie", "status"]),
        features=_with_texts(features, ["target", "n_words", "log_frequency"]),
        flagged=special.get(FLAGGED),
        removed=special.get(REMOVED),
        unread=unread,
    )


def join_texts(frame: pd.DataFrame) -> pd.Series:
    """The four texts joined by tabs: an item's identity in the released analysis."""
    return frame["Context1"] + "\t" + frame["Context2"] + "\t" + frame["Target1"] + "\t" + frame["Target2"]


def read_listing(path: Path, name: str) -> pd.DataFrame:
    """A CSV of items that lies outside the release.

    Args:
        path: the CSV.
        name: which list it is: ``FLAGGED`` or ``REMOVED``.

    Raises:
        UserError: it cannot be read, or lacks a column.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error
    return _listing(path, read_frame(path, content), name)


def _listing(where: object, frame: pd.DataFrame, name: str) -> pd.DataFrame:
    _require(where, frame, [*_LISTINGS[name], *TEXTS])
    return frame


def clean_numbers(answers: pd.Series, highest: int) -> np.ndarray:
    """The released analysis's reading of answers: drop all but digits, points and hyphens, take the first character.

    >>> clean_numbers(pd.Series(["Answer: 2.", "7", "none", "-1"]), 5).tolist()
    [2.0, nan, nan, nan]
    """
    first = answers.str.replace(r"[^0-9.-]", "", regex=True).str.slice(0, 1)
    numbers = pd.to_numeric(first, errors="coerce").to_numpy(float)
    return np.where((numbers >= 1) & (numbers <= highest), numbers, np.nan)


def _members(archive: Archive) -> list[PurePosixPath]:
    """Every CSV's path inside the release, by name."""
    return [PurePosixPath(name) for name in archive.names if name.endswith(".csv") and "__MACOSX" not in name]


def _header(where: object, content: bytes) -> list[str]:
    """The columns of a file that may be anything; none where it is not a CSV."""
    try:
        return next(read_rows(where, content), (0, []))[1]
    except CsvError:
        return []


def _version(where: object, path: PurePosixPath) -> int:
    found = re.search(r"vers=(\d{1,9})(?!\d)", "/".join(path.parts[:-1]))
    if found is None:
        problem = "its folders do not say which version of the items it is (vers=N)."
        raise UserError(where, problem, "Keep the released folder names.")
    return int(found.group(1))


def _model(name: str) -> str:
    """The paper's short names of models."""
    return re.sub(r"_it$", "", name.replace("_v0.1", "").replace("Meta_", ""))


def _require(where: object, frame: pd.DataFrame, columns: Iterable[str]) -> None:
    absent = [column for column in columns if column not in frame]
    if absent:
        raise UserError(where, f"has no column {absent[0]}.", "Give the files as they were released.")


def _numbers(where: object, frame: pd.DataFrame, columns: list[str]) -> list[np.ndarray]:
    """Columns as numbers; cells that are not finite numbers become missing, and the log says how many."""
    _require(where, frame, [*columns, *TEXTS])
    numbers = [pd.to_numeric(frame[column], errors="coerce").to_numpy(float) for column in columns]
    n_bad = sum(int((~np.isfinite(values)).sum()) for values in numbers)
    if n_bad:
        LOGGER.warning("%s: %d cells of %s are not finite numbers; they count as missing", where, n_bad, ", ".join(columns))
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
            raise UserError(where, f"eval={released_type} is not in the layout.", "Keep the released folder names.")
        eval_type = f"{paradigm}_{generation}_{SHOTS[prompt]}"
        missing_counts = 0.0
        names = (
            [f"text_likert_target{t}_context{c}" for t, c in pairs]
            if paradigm == "likert"
            else ["text_choice_target1", "text_choice_target2"]
        )
        _require(where, frame, [*names, *TEXTS])
        answers = [clean_numbers(frame[n], 5 if paradigm == "likert" else 2) for n in names]
        if paradigm == "choice":  # right is 1 for target 1 and 2 for target 2: as scores, right against wrong
            answers = [
                part for a, right in zip(answers, (1, 2), strict=True) for part in (_where(a, right), _where(a, 3 - right))
            ]
        scores = answers
    else:
        raise UserError(where, f"eval={released_type} is not in the layout.", "Keep the released folder names.")
    if paradigm == "logprobs" and any((values > 0).any() for values in scores):
        raise UserError(where, "contains a log probability above 0.", "Give the files as they were released.")
    near_tie = NEAR_TIE if paradigm == "logprobs" else 0.0
    if frame.empty:
        raise UserError(where, "has a header but no rows.", "Fetch the release again; it may have been cut short.")
    parts = []
    _require(where, frame, _PLACE if paradigm != "human" else ())
    for target, matching, other in ((1, scores[0], scores[1]), (2, scores[2], scores[3])):
        accuracy, is_tie, is_near_tie, is_missing = compare_scores(matching, other, near_tie)
        status = "missing_response" if paradigm in ("likert", "choice", "human") else "missing_score"
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
            )
        )
    return pd.concat(parts, ignore_index=True)


def _where(answers: np.ndarray, value: int) -> np.ndarray:
    return np.where(np.isnan(answers), np.nan, answers == value)


def _features(where: object, frame: pd.DataFrame) -> pd.DataFrame:
    """Length and frequency of both targets: their own and the mean of the contexts' (released analysis, step 9)."""
    parts = []
    for target in (1, 2):
        values = {}
        for name, column in (("n_words", "Length"), ("log_frequency", "Freq")):
            own, first, second = _numbers(where, frame, [f"Target{target}_{column}", f"Context1_{column}", f"Context2_{column}"])
            values[name] = own + (first + second) / 2
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
        LOGGER.warning("%d rows repeat the texts of an earlier row with other values; the first of each is used", n_others)
    return first


def _split(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and rows that name them by code.

    Raises:
        UserError: a number or name that is not one, files that disagree on an item, or two items or results in one place.
    """
    place = [*_PLACE, "version"]
    _check_place(results)
    results[["MetaTemplateID", "TemplateID"]] = results[["MetaTemplateID", "TemplateID"]].astype("int64")
    results["item"] = results.groupby([*place, *TEXTS], sort=True).ngroup()
    items = _design_of(results)
    twice = items.duplicated(place)
    if twice.any():
        row = items[twice].iloc[0]
        problem = f"different files have different texts for {_name(row)}."
        raise UserError(_file_of(results, items.index[twice][0]), problem, "Give results of one version of the items.")
    rows = results[["item", "target", "model", "eval_type", "accuracy", "is_tie", "is_near_tie", "status"]]
    doubled = rows.duplicated(["item", "target", "model", "eval_type"])
    if doubled.any():
        row = results[doubled].iloc[0]
        problem = f"gives {row['model']} a second {row['eval_type']} result for {_name(row)}."
        raise UserError(row["file"], problem, "Give one run of each model.")
    return items, rows


def _check_place(results: pd.DataFrame) -> None:
    numbers = {"MetaTemplateID": r"[1-9]\d{0,8}", "TemplateID": r"[1-9]\d{0,8}", "Domain": "[A-Za-z0-9-]+"}
    for column, pattern in numbers.items():
        is_bad = ~results[column].str.fullmatch(pattern)
        if is_bad.any():
            row = results[is_bad].iloc[0]
            problem = f'{column}: "{row[column]}" is not a valid {"name" if column == "Domain" else "number"}.'
            raise UserError(row["file"], problem, "Give the files as they were released.")


def _design_of(results: pd.DataFrame) -> pd.DataFrame:
    """One row per item; files may lack design columns that others have, but must not disagree."""
    versions = results.drop_duplicates(["item", *(c for c in DESIGN if c in results)])
    items = versions.drop_duplicates("item").set_index("item").sort_index()
    for column in DESIGN:
        stated = versions.dropna(subset=[column]).drop_duplicates(["item", column]) if column in results else versions.iloc[:0]
        again = stated[stated.duplicated("item")]
        if len(again):
            row = again.iloc[0]
            problem = f'{column} of {_name(row)}: "{row[column]}" here, another in an earlier file.'
            raise UserError(row["file"], problem, "Give results of one version of the items.")
        items[column] = stated.set_index("item")[column].reindex(items.index)
        allowed = {"ContextType": CONTEXT_TYPES, "TargetDiff": TARGET_CONTRASTS}.get(column)
        is_bad = items[column].notna() & ~items[column].isin(allowed) if allowed else items[column] == ""
        if is_bad.any() and column in ("ConceptA", "ContextType", "TargetDiff"):
            row = items[is_bad].iloc[0]
            raise UserError(row["file"], f'{column} of {_name(row)} is "{row[column]}".', "Give the files as they were released.")
        if items[column].isna().any():
            row = items[items[column].isna()].iloc[0]
            raise UserError(row["file"], f"has no column {column}, nor has another file of the item.", "Give whole files.")
    return items[[*TEXTS, *DESIGN, "version"]]


def _file_of(results: pd.DataFrame, item: int) -> str:
    return str(results.loc[results["item"] == item, "file"].iloc[0])


def _name(row: pd.Series) -> str:
    return f"{row['Domain']} {row['MetaTemplateID']}_{row['TemplateID']}, version {row['version']}"
