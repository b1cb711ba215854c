"""The trials: abstract problem, rendered text, and gold answer in disguise."""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.problems.worlds import LARGEST, SMALLEST
from worldprobe.benchmarks.worldsense.skins.vocabulary import DISGUISES, PROBLEMS
from worldprobe.contracts import Table, column


class Trials(Table):
    """One row per question; the trials of a tuple are adjacent rows that differ in one relation only (paper, Section 3.4)."""

    number: int = column(ge=0, description="Place in the set, from 0.")
    trial_id: int = column(description="Signed 64-bit number derived from the content; the official Key.")
    tuple_id: str = column(min_length=1)
    problem: str = column(isin=PROBLEMS)
    size: int = column(ge=SMALLEST, le=LARGEST, description="Entities of the description.")
    complexity: int = column(ge=0, le=2, description="Ternary relations: none, exactly one, all but one relation.")
    arity: int = column(ge=2, le=3, description="Arguments of the query, the official query_len.")
    span: int = column(nullable=True, description="Largest minus smallest index in the query.")
    skin: str = column(min_length=1)
    wording: str = column(min_length=1, description="The question's wording, e.g. directQ1.")
    description: str = column(str_startswith="[", description="Relations in the official notation.")
    query: str = column(description="One relation; for consistency the one that the tuple's trials differ in.")
    entities: str = column(str_startswith="[", description="JSON list: the entities' names by index.")
    text: str = column(min_length=1, description="The question that a model reads.")
    gold: str = column(isin=DISGUISES, description="The right answer in disguise.")
    n_worlds: int = column(ge=0, description="Worlds that satisfy the description.")
    depth: int = column(ge=0, description="Size of the smallest set of relations that decides the trial.")

    class Config(Table.Config):
        name = "trials"
        unique = ["trial_id"]
        metadata = {"version": 1, "key": ["number"]}
