"""Tables of the parts of trials: problems, skins with their entities, and samples (the paper's
Tables 1, 3, 4 and 5). Text is shown of trials of ours only.
"""

from __future__ import annotations

import json

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.worldsense import outputs
from worldprobe.benchmarks.worldsense.contracts import Samples, Skins
from worldprobe.benchmarks.worldsense.problem_families import problem_families
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    SUMMARIES,
    pick,
    rank_of_name,
    sorted_by,
)
from worldprobe.benchmarks.worldsense.skins.skins import IN, TEST_SKINS
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    ANSWER_OF,
    DOMAINS,
    FAMILY_OF,
    MOVING,
    PROBLEMS,
    SETS,
    answers_of,
    problem_type,
)
from worldprobe.benchmarks.worldsense.tables import QUERIES, TERNARY
from worldprobe.report.sheet import Sheet, as_text, text_column

#: What a problem asks for, by its type.
ASKS = {
    "Infer": "Is a sentence about the described order true?",
    "Consist": "Can all that is said be true together?",
    "Compl": "Which of two sentences is right, or does the description leave it open?",
}
#: The same of problems that ask otherwise.
ASKS_OTHERWISE = {
    "Infer.trivial": "Is a sentence about a list in order true?",
    "Consist.trivial": "Is one of the sentences repeated, or contradicted outright?",
    "Compl.trivial": "Which of two sentences is right, or does the description lack their subject?",
    "Infer.extrema": "Is something the first or the last of all?",
    "Infer.parallel": "Are two lines in the plane parallel, or at a right angle?",
    **{family.control: family.control_asks for family in problem_families() if family.control},
}
PLEASE = "We generated these trials; please do not train on them."


def control_of(problem: str) -> str:
    """The control without reasoning, where a problem has one.

    >>> control_of("Compl.normal"), control_of("Infer.motion"), control_of("Infer.hard")
    ('Compl.trivial', 'Infer.before', '')
    """
    if family := FAMILY_OF.get(problem):
        return "" if problem == family.control else family.control
    kind, _, form = problem.partition(".")
    return f"{kind}.trivial" if form == "normal" else ""


@table(
    name="worldsense_trial_problems",
    inputs=[SUMMARIES],
    title="Problems and controls",
    section="trials",
    caption=(
        "The problems of each set: question, control, answers, numbers of entities, ternary"
        " relations of descriptions (in motion: changes) and queries. WorldSense, Section 3.3."
    ),
    when=outputs.is_asked,
)
def trial_problems(summaries: pd.DataFrame) -> Sheet:
    """A row per set and problem (Section 3.3)."""
    columns = ("problem", "size", "complexity", "query")
    cells = pick(summaries, "problem_size_complexity_query", columns=columns)
    lines = []
    for (name, problem), rows in cells.groupby(["condition", "problem"]):
        problem = str(problem)
        levels = sorted(rows["complexity"].str.removeprefix("Complexity_").unique())
        is_moving = problem in MOVING
        lines.append(
            {
                "set": name,
                "problem": problem,
                "asks": ASKS_OTHERWISE.get(problem, ASKS[problem_type(problem)]),
                "control": control_of(problem),
                "answers": ", ".join(answers_of(problem)),
                "sizes": ", ".join(sorted(rows["size"].unique(), key=int)),
                "complexities": ", ".join(
                    level if is_moving else TERNARY.get(level, level) for level in levels
                ),
                "queries": ", ".join(
                    QUERIES.get(query, query) for query in sorted(set(rows["query"]))
                ),
            }
        )
    frame = _in_order(pd.DataFrame(lines))
    return Sheet(
        title="The problems of each set.",
        frame=frame,
        columns=(
            text_column("Set", "set", once=True),
            text_column("Problem", "problem", _named),
            text_column("Question", "asks", letters=36),
            text_column("Control", "control", _named),
            text_column("Answers", "answers"),
            text_column("Entities", "sizes"),
            text_column(
                "Changes" if set(frame["problem"]) <= {*MOVING} else "Ternary relations",
                "complexities",
            ),
            text_column("Queries", "queries"),
        ),
        notes=(
            "Ternary relations: how many relations of a description are ternary.",
            *(  # first those in which the column means something else
                family.note
                for family in sorted(problem_families(), key=lambda family: not family.is_moving)
                if set(frame["problem"]) & {*family.problems}
            ),
        ),
        group="set",
    )


@table(
    name="worldsense_entities",
    inputs=[Input(Skins, "skins.parquet"), SUMMARIES],
    title="Relations and entities",
    section="trials",
    caption=(
        "The skins of the trials: domain, binary and ternary relations, entities, and sets. Like"
        " Tables 3 and 4 of the WorldSense paper."
    ),
    when=outputs.quotes_trials,
)
def skins(words: pd.DataFrame, summaries: pd.DataFrame) -> Sheet:
    """A row per skin that is asked (Tables 3 and 4)."""
    asked = pick(summaries, "skin", columns=("skin",)).groupby("skin")["condition"]
    sets = asked.agg(lambda names: ", ".join(sorted(set(names), key=_set_place)))
    frame = words[words["skin"].isin(sets.index)].assign(sets=words["skin"].map(sets))
    order = {name: number for number, name in enumerate((*DOMAINS, "planar"))}
    ranks = zip(
        frame["domain"].map(order),
        [rank_of_name(TEST_SKINS, skin) for skin in frame["skin"]],
        strict=True,
    )
    frame = sorted_by(frame, ranks).assign(
        binary=lambda rows: rows["relation"] + "; " + rows["converse"],
        trained=lambda rows: rows["training"].eq(IN).map({True: "yes", False: "no"}),
    )
    return Sheet(
        title="The skins of the trials: their relations and entities.",
        frame=frame,
        columns=(
            text_column("Domain", "domain", once=True),
            text_column("Skin", "skin"),
            text_column("Binary relations", "binary", letters=32),
            text_column("Ternary relation", "ternary", letters=32),
            text_column("Entities", "entities", _listed, letters=44),
            text_column("In training", "trained"),
            text_column("Sets", "sets", letters=16),
        ),
        notes=(
            "X, Y and M: entities. In training: skins of the training sets have the same relation.",
        ),
        group="domain",
        hidden=("binary", "trained"),
    )


@table(
    name="worldsense_samples",
    inputs=[Input(Samples, "samples.parquet")],
    title="Samples",
    section="trials",
    caption=(
        "A trial of each problem of each set, with the right answer. Like Tables 1 and 5 of the"
        " WorldSense paper."
    ),
    when=outputs.quotes_trials,
)
def samples(chosen: pd.DataFrame) -> Sheet:
    """A trial per set and problem (Tables 1 and 5)."""
    frame = _in_order(chosen.assign(gold=chosen["gold"].map(ANSWER_OF)))
    return Sheet(
        title="A trial of each problem.",
        frame=frame,
        columns=(
            text_column("Set", "set", once=True),
            text_column("Problem", "problem", _named),
            text_column("Trial", "text", lambda text: " ".join(str(text).split()), letters=80),
            text_column("Answer", "gold"),
        ),
        notes=(PLEASE,),
        group="set",
        quotes=True,
    )


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Sets and their problems in the paper's order."""
    ranks = [
        (_set_place(name), PROBLEMS.index(problem))
        for name, problem in zip(frame["set"], frame["problem"], strict=True)
    ]
    return sorted_by(frame, ranks)


def _set_place(name: str) -> tuple[int, str]:
    return rank_of_name(SETS, name)


def _named(problem: object) -> str:
    return as_text(PROBLEM_NAMES.get(str(problem), problem))


def _listed(entities: object) -> str:
    return ", ".join(json.loads(str(entities)))
