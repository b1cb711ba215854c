"""WorldSense's part of the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from worldprobe.benchmarks.worldsense import selection
from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import Questions, from_frame
from worldprobe.benchmarks.worldsense.analysis.statistics import score_tuples
from worldprobe.benchmarks.worldsense.contracts import (
    COUNTING,
    Comparisons,
    Responses,
    Summaries,
    Trials,
)
from worldprobe.benchmarks.worldsense.known_rules import baseline_rules, known_rules
from worldprobe.benchmarks.worldsense.model_tables import (
    biases_in_words,
    described_models,
    means_against_rules,
)
from worldprobe.benchmarks.worldsense.skins.skins import IN, OUT
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY, PROBLEMS, TRIVIAL
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError
from worldprobe.report.findings import (
    compared_in_words,
    count_kinds,
    each_in_words,
    lead_in_words,
    lead_values,
    read_overall,
)
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import (
    Methods,
    TableOrigin,
    are_sampled,
    file_rows,
    model_rows,
    package_versions,
)
from worldprobe.report.page import AccuracyCell, Material, Part, cell_of, notices, render_template

PACKAGE = "worldprobe.benchmarks.worldsense"
QUESTION = "Does a language model keep a small world in mind?"
#: The printed table of the means that sentences are about.
TABLE = "worldsense_against_chance"
CITE = "WorldSense: Benchekroun et al. (2023), arXiv 2311.15930"


def compose(material: Material) -> Part:
    """The part, from the summaries, and from trials and answers where the trials are our own."""
    summaries = read_table(material.summary, Summaries)
    roster = material.roster
    overall = selection.of_main(selection.pick(summaries, OVERALL))
    models = roster.in_order(overall["model"])
    asked = described_models(overall, roster)
    by_problem = selection.of_main(selection.pick(summaries, "problem", columns=("problem",)))
    origins = material.all_origins()
    promptings = selection.main_promptings(overall)
    examples = (
        read_examples(material.item_text, origins, promptings, roster, asked)
        if material.item_text
        else []
    )
    extras = {}
    if examples:
        extras["problems"] = render_template(PACKAGE, "conversations.html.jinja", problems=examples)
    means = means_against_rules(summaries, roster)
    pairs = read_overall(material.comparisons, Comparisons)
    if len(pairs):
        is_main = pairs["condition_a"] == selection.main_set(summaries)
        for side in "ab":
            is_main &= pairs["eval_type"] == pairs[f"model_{side}"].map(promptings)
        pairs = pairs[is_main]
    rules = [rule.model for rule in baseline_rules()]
    compared = compared_in_words(
        pairs, means, roster, rules, tables=(TABLE, "worldsense_comparisons")
    )
    shown = {None, *promptings.values()}
    of_shown = [o for o in origins if o.provenance.details.get("prompting") in shown]
    sample = "trials" * are_sampled(of_shown)
    values = lead_values(means, compared=compared, sample=sample, table=TABLE)
    return Part(
        question=QUESTION,
        lead=_lead(means, values),
        findings=lead_in_words(values),
        further=[
            *each_in_words(means[means["model"].isin(rules)], TABLE, sample),
            *biases_in_words(summaries, roster),
        ],
        facts=_facts(summaries, means),
        methods=_methods(summaries, origins, roster),
        cite=CITE,
        notices=notices(origins[0].provenance, roster),
        caveats=render_template(
            PACKAGE,
            "caveats.html.jinja",
            rules={model: roster[model].name for model in models if roster[model].is_rule},
            meanings={rule.model: rule.meaning for rule in known_rules().values()},
            found=find_problems(summaries, by_problem, asked),
            asked=roster.names(asked),
        ),
        overview=_overview(
            overall,
            by_problem,
            [model for model in models if model in asked or model == COUNTING],
            roster,
        ),
        apart=frozenset(roster[model].name for model in models if roster[model].is_rule),
        extras=extras,
        has_item_text=bool(examples),
    )


def _overview(
    overall: pd.DataFrame, by_problem: pd.DataFrame, models: Sequence[str], roster: Roster
) -> dict[str, dict[str, float]]:
    columns = {ALL: overall} | {
        selection.PROBLEM_NAMES[name]: by_problem[by_problem["problem"] == name]
        for name in selection.present_problems(by_problem)
    }
    return {
        heading: {
            roster[model].name: float(rows.set_index("model")["mean"][model])
            for model in models
            if model in set(rows["model"])
        }
        for heading, rows in columns.items()
    }


def _lead(means: pd.DataFrame, values: dict[str, Any]) -> Markup:
    """The finding, and which models are not above the rule that never chains two clauses."""
    counting = means.loc[means["model"] == COUNTING, "mean"]
    below = means[means["is_counted"] & means["against_rule"].notna()]
    return render_template(
        PACKAGE,
        "findings.html.jinja",
        counting=next(iter(counting), None),
        not_above=below[below["against_rule"] != "above"]
        .groupby("against_rule")["name"]
        .agg(list)
        .to_dict(),
        **values,
    )


def find_problems(
    summaries: pd.DataFrame, by_problem: pd.DataFrame, asked: Sequence[str]
) -> dict[str, Any]:
    """Means over models by kind of trial, and in how many models the ends differ for other skins
    as well: of the problems, and of skins by whether the training sets have their relation.
    """
    skins = selection.of_main(selection.pick(summaries, "intraining", columns=("intraining",)))
    rows, skins = (part[part["model"].isin(asked)] for part in (by_problem, skins))
    means = rows.groupby("problem")["mean"].mean()
    normal, trivial = (means[means.index.isin(TRIVIAL) == is_so] for is_so in (False, True))
    by_skin = skins.groupby("intraining")["mean"].mean()
    values: dict[str, Any] = {"ends": {"n_known": 0}, "seen": {"n_known": 0}}
    if len(normal) and len(trivial):
        values |= {"normal": normal.mean(), "trivial": trivial.mean()}
    if len(normal) > 1:
        most, least = (
            rows[rows["problem"] == name].set_index("model")
            for name in (normal.idxmax(), normal.idxmin())
        )
        values["ends"] = _count_apart(most, least, _apart(most, least, len(normal)))
    if {IN, OUT} <= set(by_skin.index):
        shared, other = (
            skins[skins["intraining"] == name].set_index("model") for name in (IN, OUT)
        )
        apart = _apart(shared, other) | _apart(other, shared)
        values |= {
            "seen": _count_apart(shared, other, apart),
            "in": by_skin[IN],
            "out": by_skin[OUT],
        }
    return values


def _count_apart(first: pd.DataFrame, second: pd.DataFrame, apart: pd.Series) -> dict[str, int]:
    """In how many models the intervals of two means are apart, of those that have both."""
    with_interval = [set(side.index[side["ci_low"].notna()]) for side in (first, second)]
    both = sorted(with_interval[0] & with_interval[1])
    return {"n_apart": int(apart[both].sum()), "n_known": len(both)}


def _apart(higher: pd.DataFrame, lower: pd.DataFrame, n_compared: int = 1) -> pd.Series:
    """In which models one mean is above another for other skins as well; both by model, chosen
    among so many in each.
    """
    from worldprobe.analysis.comparisons import at_once

    models = higher.index.union(lower.index)
    below, above = (at_once(rows, n_compared * len(models)) for rows in (lower, higher))
    return above["ci_low"].reindex(models) > below["ci_high"].reindex(models)


def _facts(summaries: pd.DataFrame, means: pd.DataFrame) -> dict[str, int]:
    here = selection.pick(summaries, "problem", columns=("problem",))
    name = selection.main_set(summaries)
    overall = selection.pick(summaries, OVERALL)
    whole = selection.count_tuples(overall[overall["condition"] == name], summaries)["n"].max()
    return count_kinds(means) | {
        "problems": len(selection.present_problems(here)),
        "skins": int(means["n_clusters"].max()),
        f"tuples ({name})": int(whole),
        "ways of asking": summaries["eval_type"].nunique(),
    }


def _methods(summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster) -> Methods:
    answers = origins[0].provenance.details.get("answers", [])
    text = render_template(
        PACKAGE,
        "methods.html.jinja",
        sets=sorted(summaries["condition"].unique()),
        promptings=[
            selection.prompting_name(name) for name in sorted(summaries["eval_type"].unique())
        ],
        left_out=sum(int(row.get("incomplete_tuples", 0)) for row in answers),
        is_calibrated=any("calibrated_forms" in origin.provenance.details for origin in origins),
    )
    return Methods(
        text,
        package_versions(origins),
        model_rows(origins, ("worldsense_responses",), roster),
        file_rows(origins),
        _tokens_note(origins, roster),
    )


def _tokens_note(origins: Sequence[TableOrigin], roster: Roster) -> str:
    """The tokens of each answer where answers were compared, by the models that share them."""
    by_tokens: dict[str, dict[str, None]] = {}
    for origin in origins:
        tokens = origin.provenance.details.get("answer_tokens")
        if origin.provenance.model and tokens:
            names = by_tokens.setdefault(selection.show_tokens(tokens), {})
            names[roster[origin.provenance.model].name] = None
    listed = "; ".join(f"{tokens} ({', '.join(names)})" for tokens, names in by_tokens.items())
    return f"Tokens per answer: {listed}." if listed else ""


#: Which tuples of a problem are shown, by their place from the highest mean of the models to the
#: lowest.
SHARES = {"highest mean": 0.0, "middle": 0.5, "lowest mean": 1.0}


@dataclass(frozen=True)
class Reply:
    """A model's answer, and the conversation that led to it."""

    model: str
    answer: str
    is_right: bool
    messages: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class QuotedTrial:
    """A question, its right answer and everybody's."""

    text: str
    gold: str
    replies: Sequence[Reply]

    @property
    def n_right(self) -> int:
        """How many are right."""
        return sum(reply.is_right for reply in self.replies)


@dataclass(frozen=True)
class TupleShown:
    """A tuple: questions about one description."""

    title: str
    trials: Sequence[QuotedTrial]


@dataclass(frozen=True)
class ProblemShown:
    """A problem with the mean, lowest and highest accuracy of its models, and some of its
    tuples.
    """

    name: str
    mean: AccuracyCell
    low: float
    high: float
    tuples: Sequence[TupleShown] = field(default_factory=tuple)


def read_examples(
    path: Path,
    origins: Sequence[TableOrigin],
    promptings: Mapping[str, str],
    roster: Roster,
    averaged: Sequence[str],
) -> list[ProblemShown]:
    """Three tuples of each problem, with every model's conversations under its main prompting.

    Args:
        path: trials of ours.
        origins: tables of the study; the responses among them are read.
        promptings: model -> the prompting that is shown.
        roster: names of the models.
        averaged: models that count in means; the others are shown only.

    Raises:
        UserError: the trials are not worldprobe's own: their text must not be shown.
    """
    if (read_provenance(path).canary or "") != CANARY:
        fix = (
            "Leave the option out: the licence of the released trials keeps their text out of a"
            " report."
        )
        raise UserError(
            "--item-text",
            "these trials were not generated by worldprobe, so their text must not be shown.",
            fix,
        )
    frame = read_table(path, Trials)
    questions = from_frame(frame, str(path))
    files = [
        origin
        for origin in origins
        if origin.kind == Responses.Config.name and path.stem in origin.path.parts
    ]
    shown = {
        origin.provenance.model: origin.path
        for origin in files
        if origin.path.parent.name == promptings.get(origin.provenance.model or "")
    }
    if not set(shown) & set(averaged):
        return []
    series = read_series([shown[model] for model in shown], questions)
    scores = pd.DataFrame(
        {run.model: score_tuples(questions, run.answers)["accuracy"] for run in series}
    )
    scores = scores[roster.in_order(scores.columns)]
    counted = scores[[model for model in scores.columns if model in averaged]]
    chosen = _choose(questions, counted)
    numbers = [number for tuples in chosen.values() for number in tuples]
    wanted = frame[np.isin(questions.tuple_of, numbers)]
    conversations = {
        model: _read_conversations(shown[model], wanted["trial_id"]) for model in scores.columns
    }
    examples = []
    for problem in (name for name in PROBLEMS if name in chosen):
        inside = (questions.tuples["problem"] == problem).to_numpy()
        means = counted[inside].mean()
        tuples = []
        for title, number in zip(SHARES, chosen[problem], strict=True):
            rows = frame[questions.tuple_of == number]
            trials = [_trial(row, conversations, roster) for row in rows.to_dict("records")]
            tuples.append(
                TupleShown(
                    f"{title}, {rows['size'].iloc[0]} entities, {rows['skin'].iloc[0]}", trials
                )
            )
        examples.append(
            ProblemShown(
                selection.PROBLEM_NAMES[problem],
                cell_of(means.mean(), places=3),
                means.min(),
                means.max(),
                tuples,
            )
        )
    return examples


def _choose(questions: Questions, scores: pd.DataFrame) -> dict[str, list[int]]:
    """Numbers of a problem's tuples, at the shares of ``SHARES`` in the order of the models'
    mean.
    """
    means = scores.mean(axis=1, skipna=True)
    by_problem = {}
    for problem, numbers in questions.tuples.groupby("problem", observed=True).groups.items():
        ranked = means.loc[numbers].dropna().sort_values(ascending=False, kind="stable").index
        if len(ranked):
            by_problem[str(problem)] = [
                int(ranked[round(share * (len(ranked) - 1))]) for share in SHARES.values()
            ]
    return by_problem


def _read_conversations(
    path: Path, trials: pd.Series
) -> dict[int, tuple[str, list[tuple[str, str]]]]:
    """Trial -> answer and messages, of the first sample."""
    table = read_table(path, Responses, ["trial_id", "sample", "answer", "status", "conversation"])
    here = table[table["trial_id"].isin(trials) & (table["sample"] == 0)]
    return {
        int(row["trial_id"]): (
            str(row["answer"]) if row["status"] == "ok" else f"none ({row['status']})",
            [
                (str(message["role"]), str(message["content"]))
                for message in json.loads(row["conversation"])
            ],
        )
        for row in here.to_dict("records")
    }


def _trial(
    row: dict[object, object],
    conversations: Mapping[str, dict[int, tuple[str, list[tuple[str, str]]]]],
    roster: Roster,
) -> QuotedTrial:
    gold = ANSWER_OF[str(row["gold"])]
    replies = []
    for model, by_trial in conversations.items():
        answer, messages = by_trial.get(int(str(row["trial_id"])), ("not asked", []))
        folded = {"1": "KNOW", "2": "KNOW"}
        replies.append(
            Reply(
                roster[model].name,
                answer,
                folded.get(answer, answer) == folded.get(gold, gold),
                messages,
            )
        )
    return QuotedTrial(str(row["text"]), gold, replies)
