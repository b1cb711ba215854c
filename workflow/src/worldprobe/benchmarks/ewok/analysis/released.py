"""The layout in which EWoK's authors released their results, read as judgements.

One CSV per domain under ``dataset-cfg=...vers=N/eval=E/model=M/``, its first line a canary; human ratings in CSVs of their
own, with columns such as ``response_mean_target1_context1``. A folder or a (password-protected) ZIP; a ZIP is read in memory and
never unpacked.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.analysis.judge import NEAR_TIE, compare_scores
from worldprobe.errors import UserError
from worldprobe.log import LOGGER, Progress

TEXTS = ["Context1", "Context2", "Target1", "Target2"]
DESIGN = ["Domain", "MetaTemplateID", "TemplateID", "ConceptA", "ConceptB", "TargetDiff", "ContextDiff", "ContextType"]
#: files of the released analysis that name items with problems; found by name anywhere in the release.
FLAGGED, REMOVED = "flagged_items_human.csv", "remove_from_results.csv"
SHOTS = {"original": "zero", "optimized": "two"}


@dataclass
class Release:
    """What a release holds.

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
    results, human, features, unread = [], [], [], []
    special: dict[str, pd.DataFrame] = {}
    members = list(_members(source, password))
    with Progress("Reading the release", len(members), "files") as progress:
        for path, read in members:
            progress.advance()
            tags = dict(part.split("=", 1) for part in path.parts[:-1] if part.startswith(("eval=", "model=")))
            if path.name in (FLAGGED, REMOVED):
                special[path.name] = _table(path, read())
            elif {"eval", "model"} <= set(tags):
                frame, version = _table(path, read()), _version(path)
                if tags["eval"] == "controls":
                    features.append(_features(path, frame))
                else:
                    results.append(_judged(path, frame, tags["eval"], _model(tags["model"])).assign(version=version))
            else:
                frame = _table(path, read())
                if "response_mean_target1_context1" in frame:
                    human.append(_judged(path, frame, "human_likert", "human"))
                else:
                    unread.append(str(path))
    if not results:
        raise UserError(source, "holds no CSV under eval=.../model=...", "Give the folder or ZIP of released results.")
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


def read_listing(path: Path) -> pd.DataFrame:
    """A CSV of items (flagged, removed) that lies outside the release."""
    try:
        return _table(PurePosixPath(path), path.read_bytes())
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error


def clean_numbers(answers: pd.Series, highest: int) -> np.ndarray:
    """The released analysis's reading of answers: drop all but digits, points and hyphens, take the first character.

    >>> clean_numbers(pd.Series(["Answer: 2.", "7", "none", "-1"]), 5).tolist()
    [2.0, nan, nan, nan]
    """
    first = answers.str.replace(r"[^0-9.-]", "", regex=True).str.slice(0, 1)
    numbers = pd.to_numeric(first, errors="coerce").to_numpy(float)
    return np.where((numbers >= 1) & (numbers <= highest), numbers, np.nan)


def _members(source: Path, password: str | None) -> Iterator[tuple[PurePosixPath, Callable[[], bytes]]]:
    """Every CSV's path inside the release and how to read it, in the order of their names."""
    if source.is_dir():
        for path in sorted(source.rglob("*.csv")):
            yield PurePosixPath(path.relative_to(source).as_posix()), path.read_bytes
        return
    try:
        archive = zipfile.ZipFile(source)
    except FileNotFoundError as error:
        raise UserError(source, "there is no such folder or file.", "Check the path.") from error
    except zipfile.BadZipFile as error:
        raise UserError(source, "is neither a folder nor a ZIP.", "Give the released results.") from error
    names = sorted(n for n in archive.namelist() if n.endswith(".csv") and "__MACOSX" not in n)

    def reader(name: str) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                return archive.read(name, pwd=password.encode() if password else None)
            except (RuntimeError, NotImplementedError) as error:
                problem = (
                    "the password is wrong or missing"
                    if isinstance(error, RuntimeError)
                    else "is encrypted in a way Python lacks"
                )
                raise UserError(
                    f"{source}, {name}", f"{problem}.", "Give --password, or unpack it and give the folder."
                ) from error

        return read

    for name in names:
        yield PurePosixPath(name), reader(name)


def _table(path: PurePosixPath, content: bytes) -> pd.DataFrame:
    """A CSV as text cells, comment lines above the header left out."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    while content.startswith(b"#"):
        content = content.partition(b"\n")[2]
    try:
        return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UserError(path, "is no readable CSV.", "Fetch the release again; it may have been cut short.") from error


def _version(path: PurePosixPath) -> int:
    found = re.search(r"vers=(\d+)", "/".join(path.parts[:-1]))
    if found is None:
        raise UserError(
            path, "its folders do not say which version of the items it is (vers=N).", "Keep the released folder names."
        )
    return int(found.group(1))


def _model(name: str) -> str:
    """The paper's short names of models."""
    return re.sub(r"_it$", "", name.replace("_v0.1", "").replace("Meta_", ""))


def _numbers(path: PurePosixPath, frame: pd.DataFrame, columns: list[str]) -> list[np.ndarray]:
    absent = [c for c in [*columns, *TEXTS] if c not in frame]
    if absent:
        raise UserError(path, f"has no column {absent[0]}.", "Give the files as they were released.")
    return [pd.to_numeric(frame[c], errors="coerce").to_numpy(float) for c in columns]


def _judged(path: PurePosixPath, frame: pd.DataFrame, released_type: str, model: str) -> pd.DataFrame:
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
        scores = _numbers(path, frame, [pattern[paradigm].format(t, c) for t, c in pairs])
    elif paradigm in ("likert", "choice"):
        generation, _, prompt = rest.partition("_")
        if prompt not in SHOTS:
            raise UserError(path, f"eval={released_type} is not in the layout.", "Keep the released folder names.")
        eval_type = f"{paradigm}_{generation}_{SHOTS[prompt]}"
        missing_counts = 0.0
        names = (
            [f"text_likert_target{t}_context{c}" for t, c in pairs]
            if paradigm == "likert"
            else ["text_choice_target1", "text_choice_target2"]
        )
        _numbers(path, frame, names)
        answers = [clean_numbers(frame[n], 5 if paradigm == "likert" else 2) for n in names]
        if paradigm == "choice":  # right is 1 for target 1 and 2 for target 2: as scores, right against wrong
            answers = [
                part for a, right in zip(answers, (1, 2), strict=True) for part in (_where(a, right), _where(a, 3 - right))
            ]
        scores = answers
    else:
        raise UserError(path, f"eval={released_type} is not in the layout.", "Keep the released folder names.")
    near_tie = NEAR_TIE if paradigm == "logprobs" else 0.0
    parts = []
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


def _features(path: PurePosixPath, frame: pd.DataFrame) -> pd.DataFrame:
    """Length and frequency of both targets: their own and the mean of the contexts' (released analysis, step 9)."""
    parts = []
    for target in (1, 2):
        values = {}
        for name, column in (("n_words", "Length"), ("log_frequency", "Freq")):
            own, first, second = _numbers(path, frame, [f"Target{target}_{column}", f"Context1_{column}", f"Context2_{column}"])
            values[name] = own + (first + second) / 2
        parts.append(frame[TEXTS].assign(target=target, **values))
    return pd.concat(parts, ignore_index=True)


def _with_texts(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Rows named by their texts alone."""
    if not parts:
        return pd.DataFrame(columns=["texts", *columns])
    whole = pd.concat(parts, ignore_index=True)
    return whole.assign(texts=join_texts(whole))[["texts", *columns]].drop_duplicates(["texts", "target"], ignore_index=True)


def _split(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and rows that name them by code.

    Raises:
        UserError: one place in the design holds two items.
    """
    place = ["Domain", "MetaTemplateID", "TemplateID", "version"]
    results[["MetaTemplateID", "TemplateID"]] = results[["MetaTemplateID", "TemplateID"]].astype(int)
    results["item"] = results.groupby([*place, *TEXTS], sort=True).ngroup()
    items = results.drop_duplicates("item").set_index("item").sort_index()[[*TEXTS, *DESIGN, "version"]]
    twice = items.duplicated(place)
    if twice.any():
        row = items[twice].iloc[0]
        where = f"{row['Domain']} {row['MetaTemplateID']}_{row['TemplateID']}, version {row['version']}"
        raise UserError(where, "holds two different items in different files.", "Give results of one version of the items.")
    rows = results[["item", "target", "model", "eval_type", "accuracy", "is_tie", "is_near_tie", "status"]]
    doubled = rows.duplicated(["item", "target", "model", "eval_type"])
    if doubled.any():
        row = rows[doubled].iloc[0]
        raise UserError(f"{row['model']}, {row['eval_type']}", "is there twice for the same item.", "Give one run of each model.")
    return items, rows
