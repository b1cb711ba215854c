"""The trials as the analysis needs them: numbers only, no text of a trial.

Of what the paper lacks (how deep a problem is, how many worlds it leaves open, what it asks about) all are properties of a whole
tuple, so that chance is the same in every group: a property of single trials (the depth of a POSSIBLE description, say) would go
with an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from json import loads
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow

from worldprobe.benchmarks.worldsense.problems.worlds import (
    count_worlds,
    depth,
    gold_answer,
    normalise,
    read_description,
    read_relation,
)
from worldprobe.benchmarks.worldsense.skins.rendering import read_planar_text
from worldprobe.benchmarks.worldsense.skins.skins import group_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, ANSWERS, DISGUISE, NORMAL, TRIVIAL, problem_type
from worldprobe.benchmarks.worldsense.trials.files import encode, read_trials
from worldprobe.errors import UserError

#: Every answer as a number, its place here; a trial without a valid answer has INVALID, one that was not asked ABSENT.
WORDS = tuple(DISGUISE)
INVALID, ABSENT = -1, -2
#: Official field -> our column, of those that the analysis needs.
FIELDS = {
    "Key": "trial_id",
    "problemname": "problem",
    "tuple_ID": "tuple_id",
    "descr": "description",
    "query": "query",
    "problemsize": "size",
    "skin": "skin",
    "complexity": "complexity",
    "query_len": "arity",
    "goldresp_obfusc": "gold",
}
TYPES = tuple(ANSWERS)


@dataclass(frozen=True)
class Questions:
    """A set's trials and tuples.

    Attributes:
        trial_id: of every trial, in file order, shape (trials,).
        tuple_of: number of each trial's tuple, from 0, ascending, shape (trials,).
        gold: "released" and "corrected" -> number of the right answer in ``WORDS``, shape (trials,); INVALID: there is none.
        tuples: one row per tuple, what its trials have in common: tuple_id, problem, size, complexity, query (of its first
            trial), skin, domain, intraining, type, n_trials.
        abstract: number of each trial's abstract problem: those with the same problem, size, description and query share it.
    """

    trial_id: np.ndarray
    tuple_of: np.ndarray
    gold: dict[str, np.ndarray]
    tuples: pd.DataFrame
    abstract: np.ndarray


def read_questions(path: Path | str, skin_folder: Path | str | None = None) -> Questions:
    """The trials of an official file or of our table.

    Args:
        path: ``.jsonl``, ``.jsonl.bz2``, ``.jsonl.gz`` or our table (``.parquet``).
        skin_folder: of skins that the repository does not have.

    Raises:
        UserError: as ``read_trials``.
    """
    return from_frame(read_trials(path), str(path), skin_folder)


def from_frame(frame: pd.DataFrame, name: str, skin_folder: Path | str | None = None) -> Questions:
    """The trials of a table in our columns.

    Args:
        frame: as ``read_trials`` gives it.
        name: the file's name, for messages.
        skin_folder: of skins that the repository does not have.

    Raises:
        UserError: a trial whose relations are in its text only, and cannot be read from there.
    """
    plain = frame.assign(complexity="Complexity_" + frame["complexity"].astype(str))
    table = arrow.Table.from_pandas(plain[list(FIELDS.values())], preserve_index=False)
    return _from_table(table, skin_folder, _solve_texts(frame, name))


_NUMBER = {word: number for number, word in enumerate(WORDS)}


def _from_table(
    table: arrow.Table, skin_folder: Path | str | None = None, solved: dict[int, str | None] | None = None
) -> Questions:
    tuple_code, tuple_ids = encode(table["tuple_id"])
    starts = np.flatnonzero(np.diff(tuple_code, prepend=-1))
    codes: dict[str, tuple[np.ndarray, list[str]]] = {
        name: encode(table[name]) for name in ("problem", "skin", "complexity", "gold", "description", "query")
    }
    sizes = table["size"].to_numpy()
    arity = table["arity"].to_numpy()

    def category(name: str) -> pd.Categorical[str]:
        code, values = codes[name]
        return pd.Categorical.from_codes(code[starts].astype(int), pd.Index(values))

    skin_code, skins = codes["skin"]
    groups = group_skins(skins, skin_folder)
    tuples = pd.DataFrame(
        {
            "tuple_id": tuple_ids,
            "problem": category("problem"),
            "size": sizes[starts],
            "complexity": category("complexity"),
            "query": pd.Categorical.from_codes(np.asarray(arity[starts] == 3, int), pd.Index(["bin", "tern"])),
            "skin": category("skin"),
            "domain": pd.Categorical([groups[name].domain for name in skins])[skin_code[starts]],
            "intraining": pd.Categorical([groups[name].training for name in skins])[skin_code[starts]],
            "n_trials": np.diff(np.append(starts, len(tuple_code))),
        }
    )
    gold_code, gold_words = codes["gold"]
    released = np.array([_NUMBER[ANSWER_OF[word]] for word in gold_words], np.int8)[gold_code]
    abstract, corrected = _solve(codes, sizes)
    for row, answer in (solved or {}).items():
        corrected[row] = INVALID if answer is None else _NUMBER[answer]
    return Questions(
        trial_id=table["trial_id"].to_numpy(),
        tuple_of=tuple_code,
        gold={"released": released, "corrected": corrected},
        tuples=tuples,
        abstract=abstract,
    )


def _solve(codes: dict[str, tuple[np.ndarray, list[str]]], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of each trial's abstract problem, and the solver's answers; each abstract problem is solved once."""
    (problem, problems), (description, descriptions), (query, queries) = (
        codes[name] for name in ("problem", "description", "query")
    )
    which = ((problem.astype(np.int64) * 16 + sizes) * len(descriptions) + description) * len(queries) + query
    _, first, inverse = np.unique(which, return_index=True, return_inverse=True)
    relations = [read_description(text) for text in descriptions]
    asked = [read_relation(text) for text in queries]
    solved = np.full(len(first), INVALID, np.int8)
    for number, row in enumerate(first.tolist()):
        answer = gold_answer(problems[problem[row]], int(sizes[row]), relations[description[row]], asked[query[row]])
        if answer is not None:
            solved[number] = _NUMBER[answer]
    return inverse.reshape(-1), solved[inverse.reshape(-1)]


def _solve_texts(frame: pd.DataFrame, name: str) -> dict[int, str | None]:
    """The answers by row of the trials whose relations are in their text only: the official sets of lines in the plane."""
    is_planar = (frame["problem"] == "Infer.parallel") & ~frame["description"].str.contains("p", regex=False)
    solved: dict[int, str | None] = {}
    for row in np.flatnonzero(is_planar).tolist():
        trial = frame.iloc[row]
        try:
            relations, asked = read_planar_text(trial["text"], loads(trial["entities"]))
        except ValueError as error:
            where = f"{name}, line {trial['line']}" if "line" in frame else f"{name}, trial {trial['number']}"
            raise UserError(where, f"{error}.", "Fix the text, or leave the trial out.") from error
        solved[row] = gold_answer("Infer.parallel", int(trial["size"]), relations, asked)
    return solved


#: Ternary relations are counted up to this number, as in the paper's Figure 6.
MOST_TERNARY = 2


def add_properties(questions: Questions, trials: pd.DataFrame) -> Questions:
    """The tuples with further columns, each missing where it means nothing.

    * variant: normal or trivial;
    * ternary: ternary relations of description and query as the paper's Figure 6 counts them, 2 for more;
    * depth: the fewest relations that decide one of the tuple's trials;
    * worlds: how many worlds the description leaves open, the most among the trials;
    * places: the two places in the line that a binary inference or consistency problem asks about, e.g. "1-3";
    * core: number of the abstract problem: tuples that state and ask the same, in whatever order, share it.

    Args:
        questions: of the set.
        trials: the same trials in our columns.
    """
    tuples = questions.tuples
    problem = tuples["problem"].astype(str)
    variant = problem.map({**dict.fromkeys(NORMAL, "normal"), **dict.fromkeys(TRIVIAL, "trivial")})
    complexity = tuples["complexity"].astype(str).str[-1].astype(int)
    found = per_trial(trials)
    by_tuple = found.groupby(questions.tuple_of, sort=True)
    first = found.groupby(questions.tuple_of, sort=True)["places"].first()
    added = tuples.assign(
        variant=variant,
        ternary=np.minimum(MOST_TERNARY, complexity + (tuples["query"] == "tern")),
        depth=by_tuple["depth"].min().to_numpy(),
        worlds=by_tuple["worlds"].max().to_numpy(),
        places=first.to_numpy(),
        core=_cores(trials, questions.tuple_of),
    )
    return replace(questions, tuples=added)


def per_trial(trials: pd.DataFrame) -> pd.DataFrame:
    """depth, worlds and places of every trial."""
    keys = trials[["problem", "size", "description", "query"]]
    code, unique = pd.factorize(pd.MultiIndex.from_frame(keys))
    rows = [_properties(*key) for key in unique]
    found = pd.DataFrame(rows, columns=["depth", "worlds", "places"]).iloc[code].reset_index(drop=True)
    if {"depth", "n_worlds"} <= set(trials):
        found["depth"], found["worlds"] = trials["depth"].to_numpy(), trials["n_worlds"].to_numpy()
    return found


def _properties(problem: str, size: int, description: str, query: str) -> tuple[int, int, str | None]:
    relations, asked = read_description(description), read_relation(query)
    is_pair = problem_type(problem) != "Compl" and asked.kind == "before" and min(asked.entities) >= 0
    places = "-".join(str(entity + 1) for entity in sorted(asked.entities)) if is_pair else None
    return depth(problem, size, relations, asked), count_worlds(size, relations), places


def _cores(trials: pd.DataFrame, tuple_of: np.ndarray) -> np.ndarray:
    """The number of each tuple's abstract problem."""
    code, unique = pd.factorize(pd.MultiIndex.from_frame(trials[["problem", "size", "description", "query"]]))
    stated = [
        (problem, size, tuple(sorted(map(normalise, read_description(description)))), normalise(read_relation(query)))
        for problem, size, description, query in unique
    ]
    trial = pd.factorize(pd.Series(stated))[0][code]
    order = np.lexsort((trial, tuple_of))  # the trials of a tuple in an order of their own
    starts = np.flatnonzero(np.diff(tuple_of[order], prepend=-1))
    return pd.factorize(pd.Series([part.tobytes() for part in np.split(trial[order], starts[1:])]))[0]
