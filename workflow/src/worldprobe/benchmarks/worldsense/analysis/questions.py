"""The trials as the analysis needs them: numbers only, no text of a trial.

Of what the paper lacks (how deep a problem is, how many worlds it leaves open, what it asks about)
all are properties of a whole tuple, so that chance is the same in every group: a property of single
trials (the depth of a POSSIBLE description, say) would go with an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.problems.problems import name_moment, story_of
from worldprobe.benchmarks.worldsense.skins.skins import group_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    ANSWER_OF,
    ANSWERS,
    DISGUISE,
    MOVING,
    NORMAL,
    TRIVIAL,
    problem_type,
)
from worldprobe.benchmarks.worldsense.trials.files import places, read_trials, relations_of

#: Every answer as a number, its place here; a trial without a valid answer has INVALID, one that
#: was not asked ABSENT.
WORDS = tuple(DISGUISE)
INVALID, ABSENT = -1, -2
TYPES = tuple(ANSWERS)


@dataclass(frozen=True)
class Questions:
    """A set's trials and tuples.

    Attributes:
        trial_id: of every trial, in file order, shape (trials,).
        tuple_of: number of each trial's tuple, from 0, ascending, shape (trials,).
        gold: "released" and "corrected" -> number of the right answer in ``WORDS``, shape
            (trials,); INVALID: there is none.
        tuples: one row per tuple, what its trials have in common: tuple_id, problem, size,
            complexity, query (of its first trial), skin, domain, intraining, type, n_trials.
        abstract: number of each trial's abstract problem: those with the same problem, size,
            description and query share it.
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
    is_first = frame["tuple_id"].ne(frame["tuple_id"].shift())
    heads = frame[is_first].reset_index(drop=True)
    tuple_of = is_first.cumsum().to_numpy() - 1
    groups = group_skins(frame["skin"].unique(), skin_folder)

    def category(column: pd.Series, first: pd.Series) -> pd.Categorical[object]:
        return pd.Categorical(first, categories=pd.unique(column))

    complexity = "Complexity_" + frame["complexity"].astype(str)
    tuples = pd.DataFrame(
        {
            "tuple_id": heads["tuple_id"],
            "problem": category(frame["problem"], heads["problem"]),
            "size": heads["size"],
            "complexity": category(complexity, complexity[is_first]),
            "query": pd.Categorical.from_codes(
                (heads["arity"] == 3).astype(int), pd.Index(["bin", "tern"])
            ),
            "skin": category(frame["skin"], heads["skin"]),
            "domain": pd.Categorical([groups[name].domain for name in heads["skin"]]),
            "intraining": pd.Categorical([groups[name].training for name in heads["skin"]]),
            "n_trials": np.bincount(tuple_of),
        }
    )
    abstract, problems = _abstract_problems(frame)
    solved = [
        _number(
            worlds.gold_answer(
                *row[:2], worlds.read_description(row[2]), worlds.read_relation(row[3])
            )
        )
        for row in problems
    ]
    corrected = np.array(solved, np.int8)[abstract]
    for index in np.flatnonzero(frame["problem"] == "Infer.parallel").tolist():
        trial = frame.iloc[index]
        fields = trial[["problem", "description", "query", "text", "entities"]]
        relations = relations_of(*fields, *places(frame.iloc[[index]], name))
        corrected[index] = _number(
            worlds.gold_answer("Infer.parallel", int(trial["size"]), *relations)
        )
    released = frame["gold"].map(ANSWER_OF).map(_number).to_numpy(np.int8)
    return Questions(
        frame["trial_id"].to_numpy(),
        tuple_of,
        {"released": released, "corrected": corrected},
        tuples,
        abstract,
    )


def _number(answer: str | None) -> int:
    return INVALID if answer is None else WORDS.index(answer)


def _abstract_problems(trials: pd.DataFrame) -> tuple[np.ndarray, list[tuple[str, int, str, str]]]:
    """The number of each trial's abstract problem, and problem, size, description and query of each
    of these.
    """
    code, unique = pd.factorize(
        pd.MultiIndex.from_frame(trials[["problem", "size", "description", "query"]])
    )
    return code, [
        (problem, int(size), description, query) for problem, size, description, query in unique
    ]


#: Ternary relations are counted up to this number, as in the paper's Figure 6.
MOST_TERNARY = 2


def add_properties(questions: Questions, trials: pd.DataFrame) -> Questions:
    """The tuples with further columns, each missing where it means nothing.

    * variant: normal or trivial;
    * ternary: ternary relations of description and query as the paper's Figure 6 counts them, 2 for
      more;
    * depth: the fewest relations that decide one of the tuple's trials; not in motion, where the
      answer goes with it;
    * worlds: how many worlds the description leaves open, the most among the trials;
    * places: the two places in the line that a binary inference or consistency problem asks about,
      e.g. "1-3";
    * updates: in motion, how many updates are stated;
    * counted: in motion, how many of them count for the question: all, those before its moment, or
      all but one; in each such group, who does not follow what the updates move is at chance
      (``worldprobe_lab.motion``);
    * moment: in motion, what is asked about: after all, before all, after change, without change;
    * core: number of the abstract problem: tuples that state and ask the same, in whatever order,
      share it.

    Args:
        questions: of the set.
        trials: the same trials in our columns.
    """
    tuples = questions.tuples
    problem = tuples["problem"].astype(str)
    variant = problem.map({**dict.fromkeys(NORMAL, "normal"), **dict.fromkeys(TRIVIAL, "trivial")})
    complexity = tuples["complexity"].astype(str).str[-1].astype(int)
    properties = per_trial(trials)
    is_moving = problem.isin(MOVING)
    updates = complexity.where(is_moving).astype("Int64")
    by_tuple = properties.groupby(questions.tuple_of, sort=True)
    first = by_tuple[["places", "moment", "counted"]].first()
    added = tuples.assign(
        variant=variant,
        ternary=np.minimum(MOST_TERNARY, complexity + (tuples["query"] == "tern")),
        depth=by_tuple["depth"].min().astype("Int64").mask(is_moving.to_numpy()).to_numpy(),
        worlds=by_tuple["worlds"].max().to_numpy(),
        places=first["places"].to_numpy(),
        updates=updates,
        counted=first["counted"].astype("Int64").to_numpy(),
        moment=first["moment"].to_numpy(),
        core=_cores(trials, questions.tuple_of),
    )
    return replace(questions, tuples=added)


def per_trial(trials: pd.DataFrame) -> pd.DataFrame:
    """depth, worlds, places, moment and counted of every trial."""
    code, problems = _abstract_problems(trials)
    rows = [_properties(*key) for key in problems]
    table = (
        pd.DataFrame(rows, columns=["depth", "worlds", "places", "moment", "counted"])
        .iloc[code]
        .reset_index(drop=True)
    )
    if {"depth", "n_worlds"} <= set(trials):
        table["depth"], table["worlds"] = trials["depth"].to_numpy(), trials["n_worlds"].to_numpy()
    return table


def _properties(
    problem: str, size: int, description: str, query: str
) -> tuple[int, int, str | None, str | None, int | None]:
    relations, asked = worlds.read_description(description), worlds.read_relation(query)
    is_pair = (
        problem_type(problem) != "Compl" and asked.kind == "before" and min(asked.entities) >= 0
    )
    places = "-".join(str(entity + 1) for entity in sorted(asked.entities)) if is_pair else None
    depth, n_worlds = (
        worlds.depth(problem, size, relations, asked),
        worlds.count_worlds(size, relations),
    )
    if problem not in MOVING:
        return depth, n_worlds, places, None, None
    story = story_of(relations)
    return (
        depth,
        n_worlds,
        places,
        name_moment(story.moment).rstrip(" 0123456789"),
        len(story.counted()),
    )


def _cores(trials: pd.DataFrame, tuple_of: np.ndarray) -> np.ndarray:
    """The number of each tuple's abstract problem."""
    code, problems = _abstract_problems(trials)
    stated = [
        (
            problem,
            size,
            tuple(sorted(map(worlds.normalise, worlds.read_description(description)))),
            worlds.normalise(worlds.read_relation(query)),
        )
        for problem, size, description, query in problems
    ]
    trial = pd.factorize(pd.Series(stated))[0][code]
    order = np.lexsort((trial, tuple_of))  # the trials of a tuple in an order of their own
    starts = np.flatnonzero(np.diff(tuple_of[order], prepend=-1))
    return pd.factorize(pd.Series([part.tobytes() for part in np.split(trial[order], starts[1:])]))[
        0
    ]
