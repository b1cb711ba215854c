"""Tables of the people who took part, and of the cleaning of their answers."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import has_responses
from worldprobe.report.sheet import Sheet, number_column, text_column, whole_number
from worldprobe_survey.cleaning import FEWEST, MERGED, UNKNOWN
from worldprobe_survey.contracts import CleaningSteps, PeopleCounts

#: Steps of cleaning whose names say too little by themselves.
_STEPS = {
    "isc": "correlation with the others",
    "failed_catch": "failed catch trials",
    "minimum": "too few answers to a sub-item",
    "too_fast": "too fast",
}
#: What people were asked about themselves, in this order.
_ATTRIBUTES = {
    "age": "Age",
    "gender": "Gender",
    "country": "Country",
    "first_language": "First language",
}


@table(
    inputs=[Input(CleaningSteps, "human/cleaning_steps.parquet")],
    title="Cleaning",
    section="people",
    caption=(
        "The steps of cleaning in their order, with the people and answers that each left out."
        " EWoK, Appendix A.1."
    ),
    when=has_responses,
)
def human_cleaning(steps: pd.DataFrame) -> Sheet:
    """A row per step of cleaning, and per pass of the correlation: who and what it left out.

    Args:
        steps: contracts.CleaningSteps.
    """
    frame = steps.reset_index(drop=True)
    passes = frame["pass_number"].where(frame["pass_number"] > 0)
    frame["name"] = [
        _STEPS.get(step, in_words(step))
        + (f", pass {number:.0f}" if number > 0 else "")
        + ("" if is_on else " (off)")
        for step, number, is_on in zip(frame["step"], passes, frame["is_on"], strict=True)
    ]
    for what in ("people", "ratings"):
        frame[f"n_{what}_out"] = frame[f"n_{what}_before"] - frame[f"n_{what}_after"]
    return Sheet(
        title="Cleaning of people's answers, step by step.",
        frame=frame,
        columns=(
            text_column("Step", "name"),
            number_column("left out", "n_people_out", whole_number, over="People"),
            number_column("kept", "n_people_after", whole_number, over="People"),
            number_column("left out", "n_ratings_out", whole_number, over="Answers"),
            number_column("kept", "n_ratings_after", whole_number, over="Answers"),
        ),
        notes=("Cleaning does not affect anyone's pay.",),
    )


@table(
    inputs=[Input(PeopleCounts, "human/people.parquet")],
    title="Who took part",
    section="people",
    caption=(
        "Age, gender, country and first language of the people kept after cleaning. EWoK,"
        " Appendix A.1."
    ),
    when=has_responses,
)
def human_people(counts: pd.DataFrame) -> Sheet:
    """A row per attribute and answer: how many people, whose answers count, gave it.

    Args:
        counts: contracts.PeopleCounts.
    """
    frame = counts.assign(
        place=counts["attribute"].map(list(_ATTRIBUTES).index),
        is_merged=counts["answer"].isin([MERGED, UNKNOWN]),
    )
    young_first = frame["answer"].where(frame["attribute"] == "age", "")
    frame = frame.assign(young_first=young_first).sort_values(
        ["place", "is_merged", "young_first", "n", "answer"],
        ascending=[True, True, True, False, True],
    )
    frame = frame.drop(columns=["place", "is_merged", "young_first"]).reset_index(drop=True)
    frame["name"] = frame["attribute"].map(_ATTRIBUTES)
    frame["share"] = frame["n"] / frame.groupby("attribute")["n"].transform("sum")
    return Sheet(
        title="People kept after cleaning.",
        frame=frame,
        columns=(
            text_column("Question", "name", once=True),
            text_column("Answer", "answer"),
            number_column("People", "n", whole_number),
            number_column("Share", "share", _percent),
        ),
        notes=(f"Answers given by fewer than {FEWEST} people are merged.",),
        group="name",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
