"""Properties of tuples beyond the paper: how deep a problem is, how many worlds it leaves open, what it asks about.

All are properties of a whole tuple, so that chance is the same in every group: a property of single trials (the depth of a
POSSIBLE description, say) would go with an answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.questions import Questions
from worldprobe.benchmarks.worldsense.problems.solver import count_worlds, depth
from worldprobe.benchmarks.worldsense.problems.worlds import normalise, read_description, read_relation
from worldprobe.benchmarks.worldsense.skins.vocabulary import NORMAL, TRIVIAL, problem_type

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
