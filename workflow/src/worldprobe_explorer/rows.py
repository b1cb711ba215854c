"""The rows of the page: items and trials with what each run of a model makes of them.

A *run* is one model asked in one way. The page gets columns: repeated texts as codes, numbers as
they are shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.canaries import is_own
from worldprobe.benchmarks.ewok.contracts import Items, Ratings, Responses, TargetScores
from worldprobe.benchmarks.worldsense.contracts import Responses as Replies
from worldprobe.benchmarks.worldsense.selection import PROBLEM_NAMES
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY
from worldprobe.benchmarks.worldsense.trials.files import is_official, read_trials
from worldprobe.contracts import read_provenance, read_table, table_name
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster

#: Columns that rows are filtered by, with their headings.
FILTERS = {
    "benchmark": "benchmark",
    "domain": "domain or problem",
    "concept": "pair of concepts, or skin",
    "context_contrast": "contrast of contexts",
    "target_contrast": "contrast of targets",
    "context_type": "contexts",
    "condition": "condition or set",
    "version": "version, or size",
    "family": "family",
    "level": "level",
}
TEXTS = ("context1", "context2", "target1", "target2")
LOGPROBS = "logprobs"
#: (target, context) in the order in which numbers of an item are kept.
PAIRINGS = ((1, 1), (1, 2), (2, 1), (2, 2))


@dataclass
class Run:
    """One model asked in one way.

    Attributes:
        model: its id.
        way: how it was asked.
        rows: places of the rows that it has answers about.
        right: accuracy there, 0 to 1; missing where it has no answer.
        margin: nats (LogProbs), points (Likert) by which it is right; below 0 where it is wrong,
            and the smaller of an item's two.
        numbers: of each of these rows, four log probabilities or ratings, or two choices.
        replies: of each of these rows, what it wrote, in the order of ``numbers``.
        again: command that asks one item again, which is in one.parquet.
    """

    model: str
    way: str
    rows: np.ndarray
    right: np.ndarray
    margin: np.ndarray
    numbers: np.ndarray | None = None
    replies: list[Any] = field(default_factory=list)
    again: str = ""


@dataclass
class Rows:
    """All rows, and the runs over them.

    Attributes:
        frame: id, the columns of ``FILTERS``, ``TEXTS`` (of a trial: its text, as context1), gold,
            table (the file).
        runs: in the order of their files.
        people: row -> mean ratings in the order of ``PAIRINGS``.
        protected: tables whose text is not ours.
        canaries: of all tables.
    """

    frame: pd.DataFrame
    runs: list[Run] = field(default_factory=list)
    people: dict[int, list[float | None]] = field(default_factory=dict)
    protected: list[str] = field(default_factory=list)
    canaries: list[str] = field(default_factory=list)

    def sort_runs(self, roster: Roster) -> None:
        """LogProbs first, and models before controls and rules, both in the registry's order."""
        order = roster.in_order(run.model for run in self.runs)
        self.runs.sort(
            key=lambda run: (
                run.way != LOGPROBS,
                roster[run.model].is_control or roster[run.model].is_rule,
                order.index(run.model),
            )
        )


def read_rows(paths: Sequence[Path]) -> Rows:
    """Rows and runs of any tables of a study.

    Args:
        paths: tables of items, target scores, responses, ratings and trials, in any order; those
            of a condition or set go with the items of the same name or of the same folder.

    Raises:
        UserError: a table is none of these, or about no item that is given; or there are no items.
    """
    kinds = {path: "trials" if is_official(path) else table_name(path) for path in paths}
    known = {"items": _items, "trials": _trials}
    answers = {
        "target_scores": _scores,
        "responses": _responses,
        "worldsense_responses": _replies,
    }
    for path, kind in kinds.items():
        if kind not in {*known, *answers, "ratings"}:
            raise UserError(
                path,
                f"is a table of {kind or 'something else'}.",
                f"Give tables of {', '.join([*known, *answers, 'ratings'])}.",
            )
    frames, found = [], Rows(pd.DataFrame())
    for path, kind in kinds.items():
        if kind in known:
            made = Provenance() if is_official(path) else read_provenance(path)
            frames.append(known[kind](path).assign(table=str(path)))
            found.canaries.append(made.canary or "")
            if not (is_own(made.canary) or CANARY in (made.canary or "")):
                found.protected.append(str(path))
    if not frames:
        raise UserError("explore", "no table of items or trials is given.", "Add one.")
    found.frame = pd.concat(frames, ignore_index=True)
    for path, kind in kinds.items():
        if kind == "ratings":
            found.people |= _people(path, found.frame)
        elif kind in answers:
            found.runs += answers[kind](path, _of(path, found.frame))
    return found


def _of(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that a table of answers may be about: those of the condition or set that its folders
    name, or all.
    """
    is_named = frame["condition"].isin(path.parts[-4:])
    return frame[is_named] if is_named.any() else frame


def _items(path: Path) -> pd.DataFrame:
    items = read_table(path, Items)
    optional = {name: items.get(name) for name in ("family", "level")}
    return pd.DataFrame(
        {
            "id": items["item_id"],
            "benchmark": "ewok",
            "domain": items["domain"],
            "concept": items["concept_a"] + (" / " + items["concept_b"]).fillna(""),
            **{name: items[name] for name in ("context_contrast", "target_contrast")},
            "context_type": items["context_type"],
            "condition": path.stem,
            "version": items["version"].astype(str),
            **optional,
            **{name: items[name] for name in TEXTS},
            "template": items["meta_template"].astype(str) + "_" + items["template"].astype(str),
        }
    )


def _trials(path: Path) -> pd.DataFrame:
    trials = read_trials(path)
    return pd.DataFrame(
        {
            "id": trials["trial_id"].astype(str),
            "benchmark": "worldsense",
            "domain": trials["problem"].map(lambda name: PROBLEM_NAMES.get(name, name)),
            "concept": trials["skin"],
            "condition": path.name.partition(".")[0],
            "version": trials["size"].astype(str),
            "context1": trials["text"],
            "gold": trials["gold"].map(ANSWER_OF),
        }
    )


def _place(ids: Iterable[Any], frame: pd.DataFrame, path: Path) -> np.ndarray:
    """The rows of ids.

    Raises:
        UserError: one has none.
    """
    places = pd.Series(frame.index, index=frame["id"])
    wanted = pd.Index(ids).astype(str)
    if not wanted.isin(places.index).all():
        raise UserError(path, "is about items that are not given.", "Add their table.")
    return places.loc[wanted].to_numpy()


def _wide(table: pd.DataFrame, value: str, keys: Sequence[str]) -> pd.DataFrame:
    return table.pivot_table(
        index="item_id", columns=list(keys), values=value, aggfunc="first", dropna=False, sort=True
    )


def _scores(path: Path, frame: pd.DataFrame) -> list[Run]:
    made = read_provenance(path)
    wide = _wide(read_table(path, TargetScores), "logprob", ["target", "context"])
    numbers = wide[list(PAIRINGS)].to_numpy(float)
    run = _paired(made, LOGPROBS, _place(wide.index, frame, path), numbers)
    run.again = f"worldprobe score logprobs one.parquet {_loading(made)} --out again.parquet"
    return [run]


def _loading(made: Provenance) -> str:
    """A model as options."""
    return f"--checkpoint {made.checkpoint or made.model} --model {made.model}"


def _paired(made: Provenance, way: str, rows: np.ndarray, numbers: np.ndarray) -> Run:
    """A run whose four numbers of an item decide."""
    margins = np.stack([numbers[:, 0] - numbers[:, 1], numbers[:, 3] - numbers[:, 2]])
    right = np.where(np.isnan(margins), np.nan, (np.sign(margins) + 1) / 2).mean(axis=0)
    return Run(str(made.model), way, rows, right, margins.min(axis=0), numbers)


def _responses(path: Path, frame: pd.DataFrame) -> list[Run]:
    made, table, runs = read_provenance(path), read_table(path, Responses), []
    for way, rows in table.groupby("eval_type", observed=True, sort=False):
        asked = sorted(rows["presentation"].unique())
        values = _wide(rows, "value", ["presentation"])[asked]
        texts = _wide(rows, "text", ["presentation"])[asked]
        place = _place(values.index, frame, path)
        numbers = values.to_numpy(float)
        if len(asked) == 4 and "c1" in asked[0]:
            run = _paired(made, str(way), place, numbers)
        else:
            # t1 is right by context 1, t2 by context 2; swapped, the numbers are exchanged
            wanted = np.array([(1 if one[1] == "1" else 2) for one in asked], float)
            wanted = np.where([one.endswith("s") for one in asked], 3 - wanted, wanted)
            hits = np.where(np.isnan(numbers), np.nan, numbers == wanted)
            right = hits.mean(axis=1)
            run = Run(str(made.model), str(way), place, right, 2 * right - 1, numbers)
        run.replies = texts.to_numpy().tolist()
        run.again = (
            f"worldprobe score all one.parquet {_loading(made)} --eval-types {way}"
            " --out again.parquet"
        )
        runs.append(run)
    return runs


def _replies(path: Path, frame: pd.DataFrame) -> list[Run]:
    made, table, runs = read_provenance(path), read_table(path, Replies), []
    for way, rows in table.groupby("prompting", observed=True, sort=False):
        first = rows[rows["sample"] == rows["sample"].min()]
        place = _place(first["trial_id"], frame, path)
        answer = first["answer"].map(lambda one: "known" if one in ("1", "2") else one)
        gold = frame.loc[place, "gold"].map(lambda one: "known" if one in ("1", "2") else one)
        right = (answer.to_numpy() == gold.to_numpy()).astype(float)
        margin = np.where(right > 0, 1.0, -1.0) * first["margin"].fillna(1).to_numpy(float)
        run = Run(str(made.model), str(way), place, right, margin)
        talks = first["conversation"].map(json.loads)
        run.replies = [
            {"talk": [[one["role"], one["content"]] for one in talk], "answer": answer}
            for talk, answer in zip(talks, first["answer"].fillna("–"), strict=True)
        ]
        run.again = (
            f"worldprobe worldsense ask one.parquet {_loading(made)} --prompting {way}"
            " --out again.parquet"
        )
        runs.append(run)
    return runs


def _people(path: Path, frame: pd.DataFrame) -> dict[int, list[float | None]]:
    wide = _wide(read_table(path, Ratings), "rating", ["target", "context"])[list(PAIRINGS)]
    known = wide[wide.index.isin(frame["id"])]
    rows = _place(known.index, frame, path)
    return {
        int(row): [None if np.isnan(one) else round(float(one), 2) for one in values]
        for row, values in zip(rows, known.to_numpy(float), strict=True)
    }


def encoded(column: pd.Series) -> dict[str, Any]:
    """A column as its different values and each row's number among them; -1: none.

    >>> encoded(pd.Series(["b", "a", None, "b"]))
    {'values': ['a', 'b'], 'codes': [1, 0, -1, 1]}
    """
    codes, values = pd.factorize(column, sort=True)
    return {"values": [str(one) for one in values], "codes": codes.tolist()}


def rounded(values: np.ndarray, places: int = 2) -> list[Any]:
    """Numbers as they are shown; none where they are missing.

    >>> rounded(np.array([[1.234, np.nan]]))
    [[1.23, None]]
    """
    kept = np.round(values.astype(float), places).astype(object)
    kept[pd.isna(kept)] = None
    return kept.tolist()


def as_data(rows: Rows, with_text: bool, roster: Roster) -> dict[str, Any]:
    """What the page's program reads.

    Args:
        rows: items and runs.
        with_text: whether texts and replies are in it; the text of protected tables otherwise is
            not.
        roster: names of the models.
    """
    frame = rows.frame
    is_shown = with_text | ~frame["table"].isin(rows.protected)
    shown = is_shown.to_numpy()
    texts = {name: frame[name].where(is_shown) for name in TEXTS if name in frame}
    return {
        "ids": frame["id"].tolist(),
        "filters": {
            name: {"heading": heading, **encoded(frame[name])}
            for name, heading in FILTERS.items()
            if name in frame and frame[name].notna().any()
        },
        "texts": {name: encoded(column) for name, column in texts.items()},
        "gold": encoded(frame["gold"]) if "gold" in frame else None,
        "tables": encoded(frame["table"]),
        "people": rows.people,
        "runs": [
            {
                "model": run.model,
                "name": roster[run.model].name,
                "way": run.way,
                "rows": run.rows.tolist(),
                "right": rounded(run.right, 3),
                "margin": rounded(run.margin),
                "numbers": None if run.numbers is None else rounded(run.numbers),
                "replies": [
                    reply if shown[row] else None
                    for row, reply in zip(run.rows, run.replies, strict=True)
                ]
                if run.replies
                else None,
                "again": run.again,
            }
            for run in rows.runs
        ],
    }
