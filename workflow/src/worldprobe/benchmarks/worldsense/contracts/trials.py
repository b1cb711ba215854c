"""The trials: abstract problem, rendered text, and gold answer in disguise."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from worldprobe.benchmarks.worldsense.vocabulary import DISGUISES, PROBLEMS
from worldprobe.benchmarks.worldsense.worlds import LARGEST, SMALLEST
from worldprobe.contracts.table import Table


class Trials(Table):
    """One row per question; the trials of a tuple are adjacent rows that differ in one relation only (paper, Section 3.4)."""

    number: Series[int] = pa.Field(ge=0, description="Place in the set, from 0.")
    trial_id: Series[int] = pa.Field(description="Signed 64-bit number derived from the content; the official Key.")
    tuple_id: Series[str] = pa.Field(str_length={"min_value": 1})
    problem: Series[str] = pa.Field(isin=PROBLEMS)
    size: Series[int] = pa.Field(ge=SMALLEST, le=LARGEST, description="Entities of the description.")
    complexity: Series[int] = pa.Field(ge=0, le=2, description="Ternary relations: none, exactly one, all but one relation.")
    arity: Series[int] = pa.Field(ge=2, le=3, description="Arguments of the query, the official query_len.")
    span: Series[pd.Int64Dtype] = pa.Field(nullable=True, description="Largest minus smallest index in the query.")
    skin: Series[str] = pa.Field(str_length={"min_value": 1})
    wording: Series[str] = pa.Field(str_length={"min_value": 1}, description="The question's wording, e.g. directQ1.")
    description: Series[str] = pa.Field(str_startswith="[", description="Relations in the official notation.")
    query: Series[str] = pa.Field(description="One relation; for consistency the one that the tuple's trials differ in.")
    entities: Series[str] = pa.Field(str_startswith="[", description="JSON list: the entities' names by index.")
    text: Series[str] = pa.Field(str_length={"min_value": 1}, description="The question that a model reads.")
    gold: Series[str] = pa.Field(isin=DISGUISES, description="The right answer in disguise.")
    n_worlds: Series[int] = pa.Field(ge=0, description="Worlds that satisfy the description.")
    depth: Series[int] = pa.Field(ge=0, description="Size of the smallest set of relations that decides the trial.")

    class Config(Table.Config):
        name = "trials"
        unique = ["trial_id"]
        metadata = {"version": 1, "key": ["number"]}
